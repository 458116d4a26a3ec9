// SPDX-License-Identifier: GPL-3.0-or-later
// See replay_card.h.
#include "views/whatif/replay_card.h"

#include "views/plot/theme.h"
#include "views/session/trace_session.h"
#include "views/whatif/replay_controls.h"
#include "views/words/format.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include <cmath>
#include <span>

namespace fourwalls::views {

namespace {

QString percentChange(Duration from, Duration to)
{
    if (from.ns <= 0) return {};
    const double share = static_cast<double>((to - from).ns) / static_cast<double>(from.ns);
    return (share < 0 ? QChar(0x2212) : QLatin1Char('+')) + formatPercent(std::abs(share), 1);
}

} // namespace

ReplayCard::ReplayCard(QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel(this))
    , m_together(new QLabel(this))
    , m_sentence(new WrappedText(this))
    , m_rests(new WrappedText(this))
    , m_table(new FigureTable(this))
    , m_controls(new ReplayControls(this))
    , m_buttons(new QWidget(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    m_title->setFont(fontOf(TextRole::Body));
    m_sentence->setFont(fontOf(TextRole::Small));
    m_rests->setFont(fontOf(TextRole::Small));
    QFont bold = fontOf(TextRole::Body);
    bold.setWeight(QFont::DemiBold);
    m_together->setFont(bold);
    m_together->setWordWrap(true);
    auto* buttons = new QHBoxLayout(m_buttons);
    buttons->setContentsMargins(0, 0, 0, 0);
    buttons->setSpacing(6);
    for (QPushButton** button : {&m_reset, &m_save, &m_copy}) {
        *button = new QPushButton(m_buttons);
        (*button)->setFont(fontOf(TextRole::Small));
        buttons->addWidget(*button);
    }
    buttons->addStretch(1);
    for (QWidget* widget :
         {static_cast<QWidget*>(m_title), static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_controls),
          static_cast<QWidget*>(m_together), static_cast<QWidget*>(m_table), static_cast<QWidget*>(m_rests), m_buttons})
        column->addWidget(widget);
    connect(m_controls, &ReplayControls::changed, this, &ReplayCard::run);
    connect(m_reset, &QPushButton::clicked, m_controls, &ReplayControls::reset);
    connect(m_copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
    connect(m_save, &QPushButton::clicked, this, [this] {
        QStringList changes;
        for (const std::string& change : m_changes) changes << QString::fromStdString(change);
        emit saveRequested(changes);
    });
    refresh();
}

void ReplayCard::setSession(TraceSession* session)
{
    if (m_session == session) return;
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    m_asked = false;
    m_offers.reset();
    m_rates.reset();
    m_outcome.reset();
    m_changes.clear();
    m_failure.clear();
    m_changeFailure.clear();
    m_controls->setOffers(nullptr);
    refresh();
    if (isVisible()) ask();
}

void ReplayCard::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    refresh();
}

void ReplayCard::ask()
{
    if (!m_session || m_asked) return;
    m_asked = true;
    m_session->ask<replay::ReplayOffers>(
        this, "replay",
        [](TraceQuery& trace, std::stop_token stop) -> Result<replay::ReplayOffers> {
            const TraceSource source = trace.info().header.source;
            if (source != TraceSource::Recorded && source != TraceSource::Imported)
                return Error{ErrorCode::Unsupported, "", "", ""}; // nothing was measured: no card
            return replay::replayOffers(trace, std::nullopt, stop);
        },
        [this](const Answer<replay::ReplayOffers>& answer) {
            m_offers = answer.value;
            m_failure = answer.ok() ? QString() : QString::fromStdString(answer.error.what);
            m_controls->setOffers(m_offers);
            refresh();
            if (m_offers) emit ratesWanted();
        },
        Urgency::Background);
}

void ReplayCard::run()
{
    m_changes = m_controls->changes();
    m_changeFailure.clear();
    if (!m_session || !m_offers || m_changes.empty()) {
        if (m_session) m_session->cancel(this, "changed");
        m_outcome.reset();
        return refresh();
    }
    m_session->ask<replay::ReplayOutcome>(
        this, "changed",
        [run = m_offers->replay, rates = m_rates, texts = m_changes](TraceQuery&,
                                                                     std::stop_token) -> Result<replay::ReplayOutcome> {
            std::vector<replay::ReplayChange> changes;
            for (const std::string& text : texts) {
                FOURWALLS_TRY_ASSIGN(replay::ReplayChange change, replay::parseChange(text));
                changes.push_back(std::move(change));
            }
            return run->run(replay::DelayRule::Class, changes, rates.get());
        },
        [this](const Answer<replay::ReplayOutcome>& answer) {
            m_outcome = answer.value;
            m_changeFailure = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            refresh();
        });
}

QString ReplayCard::command() const
{
    if (m_changes.empty() || !m_session) return {};
    QString text = QStringLiteral("fourwalls-cli replay '%1'").arg(m_session->path());
    for (const std::string& change : m_changes)
        text += QStringLiteral(" --change '%1'").arg(QString::fromStdString(change));
    return text;
}

void ReplayCard::refresh()
{
    m_title->setText(tr("This step, run again"));
    m_reset->setText(tr("As recorded"));
    m_reset->setToolTip(tr("Take all changes of the replay back"));
    m_save->setText(tr("Save as trace"));
    m_save->setToolTip(tr("The changed step as a trace file: opened, compared and exported like any other"));
    m_copy->setText(tr("Copy"));
    m_copy->setToolTip(tr("The command line that says the same"));
    const bool told = m_offers || !m_failure.isEmpty();
    const bool isChanged = m_offers && !m_changes.empty();
    m_title->setVisible(told);
    m_sentence->setVisible(told);
    m_controls->setVisible(m_offers != nullptr);
    m_together->setVisible(isChanged);
    m_table->setVisible(isChanged && m_outcome);
    m_rests->setVisible(isChanged && m_outcome);
    m_buttons->setVisible(isChanged);
    m_rests->setText({});
    if (!told) return;
    if (!m_offers) {
        m_sentence->setText(tr("It cannot be: %1.").arg(m_failure));
        return;
    }
    const replay::ReplayQuality& quality = m_offers->quality;
    QString sentence = tr("Unchanged, this replay is %1 off.").arg(formatPercent(quality.meanError / 100, 2));
    sentence +=
        QLatin1Char(' ') +
        tr("Without any delay between what waits for each other it is %1 off. Recorded times that contradict it: "
           "%2. Long delays that the step did not wait for: %3.")
            .arg(formatPercent(quality.errorWithoutDelays / 100, 2))
            .arg(quality.negativeDelays)
            .arg(quality.longDelaysOffPath);
    if (m_offers->offers.empty()) sentence += QLatin1Char(' ') + tr("None of the usual changes makes it shorter.");
    for (const std::string& note : quality.notes) {
        const QString text = QString::fromStdString(note);
        sentence += QLatin1Char(' ') + text.left(1).toUpper() + text.mid(1) + QLatin1Char('.');
    }
    m_sentence->setText(sentence);
    m_save->setEnabled(m_outcome != nullptr);
    if (!isChanged) return;
    if (!m_outcome) {
        m_together->setText(m_changeFailure.isEmpty() ? tr("…") : m_changeFailure);
        return;
    }
    const replay::ReplayOutcome& outcome = *m_outcome;
    m_together->setText(tr("Together %1 (%2 to %3)")
                            .arg(percentChange(quality.replayed, outcome.changed),
                                 percentChange(quality.replayed, outcome.low),
                                 percentChange(quality.replayed, outcome.high)));
    m_table->setHeadings(tr("replayed"), tr("changed"));
    std::vector<FigureTable::Row> rows{
        {tr("step"), formatDuration(quality.replayed, 3), formatDuration(outcome.changed, 3),
         tr("from %1 to %2").arg(formatDuration(outcome.low, 3), formatDuration(outcome.high, 3))}};
    if (outcome.peakBytes)
        rows.push_back({tr("peak memory"), QString(), formatBytes(*outcome.peakBytes, m_unit), QString()});
    m_table->setRows(std::move(rows));
    QString rests = tr("%1 of the changed step measured, %2 scaled, %3 modelled.")
                        .arg(formatPercent(outcome.measured, 0), formatPercent(outcome.scaled, 0),
                             formatPercent(outcome.modelled, 0));
    for (const std::string& assumed : outcome.assumed) rests += QStringLiteral(" · ") + QString::fromStdString(assumed);
    m_rests->setText(rests);
}

void ReplayCard::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    ask();
}

void ReplayCard::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() != QEvent::LanguageChange) return;
    m_controls->retranslate();
    m_changes.clear();
    m_outcome.reset();
    refresh();
}

} // namespace fourwalls::views
