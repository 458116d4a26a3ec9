// SPDX-License-Identifier: GPL-3.0-or-later
// See replay_card.h.
#include "views/whatif/replay_card.h"

#include "views/plot/theme.h"
#include "views/session/trace_session.h"
#include "views/whatif/gain_words.h"
#include "views/whatif/replay_controls.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"
#include "views/words/format.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include <cmath>

namespace fourwalls::views {

namespace {

QString percentChange(Duration from, Duration to)
{
    if (from.ns <= 0) return {};
    const double share = static_cast<double>((to - from).ns) / static_cast<double>(from.ns);
    return (share < 0 ? QChar(0x2212) : QLatin1Char('+')) + formatPercent(std::abs(share), 1);
}

QString inWords(const Sentence& sentence)
{
    QString text = QCoreApplication::translate("ReplaySentences", sentence.text);
    for (const std::string& value : sentence.values) text = text.arg(QString::fromStdString(value));
    return text;
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
    , m_drawn(new QCheckBox(this))
    , m_buttons(new QWidget(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    m_title->setFont(fontOf(TextRole::Body));
    m_drawn->setFont(fontOf(TextRole::Body));
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
          static_cast<QWidget*>(m_together), static_cast<QWidget*>(m_table), static_cast<QWidget*>(m_rests),
          static_cast<QWidget*>(m_drawn), m_buttons})
        column->addWidget(widget);
    connect(m_controls, &ReplayControls::changed, this, [this] {
        if (replayer()) replayer()->setChanges(m_controls->changes());
    });
    connect(m_drawn, &QCheckBox::clicked, this, [this](bool on) {
        if (m_whatIf) m_whatIf->setShowsReplay(on);
    });
    connect(m_reset, &QPushButton::clicked, m_controls, &ReplayControls::reset);
    connect(m_copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(command()); });
    connect(m_save, &QPushButton::clicked, this, [this] {
        if (!replayer()) return;
        QStringList changes;
        for (const std::string& change : replayer()->changes()) changes << QString::fromStdString(change);
        emit saveRequested(changes);
    });
    retranslate();
    refresh();
}

Replayer* ReplayCard::replayer() const
{
    return m_whatIf ? &m_whatIf->replayer() : nullptr;
}

void ReplayCard::setWhatIf(WhatIf* whatIf)
{
    if (m_whatIf == whatIf) return;
    if (m_whatIf) {
        m_whatIf->disconnect(this);
        replayer()->disconnect(this);
    }
    m_whatIf = whatIf;
    if (whatIf) {
        connect(replayer(), &Replayer::offersKnown, this, &ReplayCard::showOffers);
        connect(replayer(), &Replayer::changesChanged, this, &ReplayCard::showChanges);
        connect(replayer(), &Replayer::outcomeChanged, this, &ReplayCard::refresh);
        connect(replayer(), &Replayer::stepChanged, this, &ReplayCard::refresh);
        connect(whatIf, &WhatIf::predictedStepChanged, this, &ReplayCard::refresh);
        if (isVisible()) replayer()->ask();
    }
    showOffers();
}

void ReplayCard::showOffers()
{
    m_controls->setOffers(replayer() ? replayer()->offers() : nullptr);
    showChanges();
}

void ReplayCard::showChanges()
{
    if (replayer() && m_controls->changes() != replayer()->changes()) m_controls->showChanges(replayer()->changes());
    refresh();
}

void ReplayCard::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    refresh();
}

QString ReplayCard::command() const
{
    if (!replayer() || replayer()->changes().empty() || !replayer()->session()) return {};
    QString text = QStringLiteral("fourwalls-cli replay '%1'").arg(replayer()->session()->path());
    // The same step gives the same figures.
    if (const std::optional<StepIndex> step = replayedStep(*replayer()))
        text += QStringLiteral(" --steps %1-%1").arg(step->value);
    for (const std::string& change : replayer()->changes())
        text += QStringLiteral(" --change '%1'").arg(QString::fromStdString(change));
    return text;
}

void ReplayCard::retranslate()
{
    m_title->setText(tr("This step, run again"));
    m_drawn->setText(tr("Drawn in the views"));
    m_drawn->setToolTip(tr("The changed step beside what was recorded, in every view; else the prediction is"));
    m_reset->setText(tr("As recorded"));
    m_reset->setToolTip(tr("Take all changes of the replay back"));
    m_save->setText(tr("Save as trace"));
    m_save->setToolTip(tr("The changed step as a trace file: opened, compared and exported like any other"));
    m_copy->setText(tr("Copy"));
    m_copy->setToolTip(tr("The command line that says the same"));
}

QString ReplayCard::qualitySentence() const
{
    const replay::ReplayQuality& quality = replayer()->offers()->quality;
    QString sentence = tr("Unchanged, this replay is %1 off.").arg(formatPercent(replayer()->offers()->error / 100, 2));
    sentence +=
        QLatin1Char(' ') +
        tr("Without any delay between what waits for each other it is %1 off. Recorded times that contradict it: "
           "%2. Long delays that the step did not wait for: %3.")
            .arg(formatPercent(quality.errorWithoutDelays / 100, 2))
            .arg(quality.negativeDelays)
            .arg(quality.longDelaysOffPath);
    if (replayer()->offers()->offers.empty())
        sentence += QLatin1Char(' ') + tr("None of the usual changes makes it shorter.");
    for (const Sentence& note : quality.notes) {
        const QString text = inWords(note);
        sentence += QLatin1Char(' ') + text.left(1).toUpper() + text.mid(1) + QLatin1Char('.');
    }
    return sentence;
}

void ReplayCard::refresh()
{
    const Replayer* replayer = this->replayer();
    const bool isKnown = replayer && replayer->offers();
    const bool told = isKnown || (replayer && !replayer->failure().isEmpty());
    const bool isChanged = isKnown && !replayer->changes().empty();
    m_title->setVisible(told);
    m_sentence->setVisible(told);
    m_controls->setVisible(isKnown);
    for (QWidget* widget : {static_cast<QWidget*>(m_together), static_cast<QWidget*>(m_drawn), m_buttons})
        widget->setVisible(isChanged);
    m_table->setVisible(isChanged && replayer->outcome());
    m_rests->setVisible(isChanged && replayer->outcome());
    m_rests->setText({});
    if (!told) return;
    m_sentence->setText(isKnown ? qualitySentence() : tr("It cannot be: %1.").arg(replayer->failure()));
    if (isChanged) showOutcome();
}

void ReplayCard::showOutcome()
{
    const Replayer& replayer = *this->replayer();
    m_save->setEnabled(replayer.outcome() != nullptr);
    m_drawn->setChecked(m_whatIf->showsReplay());
    m_drawn->setEnabled(replayer.drawingProblem().isEmpty());
    if (!replayer.outcome()) {
        m_together->setText(replayer.problem().isEmpty() ? tr("…") : replayer.problem());
        return;
    }
    const Duration replayed = replayer.offers()->quality.replayed;
    const replay::ReplayOutcome& outcome = *replayer.outcome();
    m_together->setText(tr("Together %1 (%2 to %3)")
                            .arg(percentChange(replayed, outcome.changed), percentChange(replayed, outcome.low),
                                 percentChange(replayed, outcome.high)));
    m_table->setHeadings(tr("replayed"), tr("changed"));
    std::vector<FigureTable::Row> rows{
        {tr("step"), formatDuration(replayed, 3), formatDuration(outcome.changed, 3),
         tr("from %1 to %2").arg(formatDuration(outcome.low, 3), formatDuration(outcome.high, 3))}};
    if (outcome.peakBytes)
        rows.push_back({tr("peak memory"), QString(), formatBytes(*outcome.peakBytes, m_unit), QString()});
    m_table->setRows(std::move(rows));
    QString rests = tr("%1 of the changed step measured, %2 scaled, %3 modelled.")
                        .arg(formatPercent(outcome.measured, 0), formatPercent(outcome.scaled, 0),
                             formatPercent(outcome.modelled, 0));
    for (const Sentence& assumed : outcome.assumed) rests += QStringLiteral(" · ") + inWords(assumed);
    if (!replayer.drawingProblem().isEmpty())
        rests += QStringLiteral(" · ") + tr("It is not drawn: %1").arg(replayer.drawingProblem());
    m_rests->setText(rests);
}

void ReplayCard::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    if (replayer()) replayer()->ask();
}

void ReplayCard::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() != QEvent::LanguageChange) return;
    m_controls->retranslate();
    retranslate();
    refresh();
}

} // namespace fourwalls::views
