// SPDX-License-Identifier: GPL-3.0-or-later
// See replay_card.h.
#include "views/whatif/replay_card.h"

#include "views/plot/theme.h"
#include "views/session/trace_session.h"
#include "views/words/format.h"

#include <QEvent>
#include <QVBoxLayout>

namespace fourwalls::views {

namespace {

QString offerName(const replay::ReplayOffer& offer)
{
    const QString what = QString::fromStdString(offer.what);
    switch (offer.kind) {
    case replay::OfferKind::Stragglers: return ReplayCard::tr("without stragglers");
    case replay::OfferKind::Launches: return ReplayCard::tr("launches as one graph");
    case replay::OfferKind::Link: return ReplayCard::tr("links of %1 twice as fast").arg(what);
    case replay::OfferKind::Kernel: return ReplayCard::tr("half the time: %1").arg(what);
    case replay::OfferKind::Schedule: return ReplayCard::tr("schedule %1").arg(what);
    }
    return what;
}

/// What the changed time rests on, for the tool tip.
QString offerExplanation(const replay::ReplayOffer& offer)
{
    const replay::ReplayOutcome& outcome = offer.outcome;
    QStringList lines{
        ReplayCard::tr("from %1 to %2").arg(formatDuration(outcome.low, 3), formatDuration(outcome.high, 3)),
        ReplayCard::tr("%1 of the step measured, %2 scaled")
            .arg(formatPercent(outcome.measured), formatPercent(outcome.scaled))};
    for (const std::string& assumed : outcome.assumed) lines << QString::fromStdString(assumed);
    lines << QStringLiteral("fourwalls-cli replay … --change '%1'").arg(QString::fromStdString(offer.change.text));
    return lines.join(QLatin1Char('\n'));
}

} // namespace

ReplayCard::ReplayCard(QWidget* parent)
    : QWidget(parent)
    , m_title(new QLabel(this))
    , m_sentence(new WrappedText(this))
    , m_table(new FigureTable(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    m_title->setFont(fontOf(TextRole::Body));
    m_sentence->setFont(fontOf(TextRole::Small));
    for (QWidget* widget :
         {static_cast<QWidget*>(m_title), static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_table)})
        column->addWidget(widget);
    refresh();
}

void ReplayCard::setSession(TraceSession* session)
{
    if (m_session == session) return;
    if (m_session) m_session->cancelAll(this);
    m_session = session;
    m_asked = false;
    m_offers.reset();
    m_failure.clear();
    refresh();
    if (isVisible()) ask();
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
            refresh();
        },
        Urgency::Background);
}

void ReplayCard::refresh()
{
    m_title->setText(tr("This step, run again"));
    const bool told = m_offers || !m_failure.isEmpty();
    for (QWidget* widget :
         {static_cast<QWidget*>(m_title), static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_table)})
        widget->setVisible(told && (widget != m_table || (m_offers && !m_offers->offers.empty())));
    if (!told) return;
    if (!m_offers) {
        m_sentence->setText(tr("It cannot be: %1.").arg(m_failure));
        return;
    }
    const replay::ReplayQuality& quality = m_offers->quality;
    QString sentence = tr("Unchanged, this replay is %1 off.").arg(formatPercent(quality.meanError / 100, 2));
    if (m_offers->offers.empty()) sentence += QLatin1Char(' ') + tr("None of the usual changes makes it shorter.");
    for (const std::string& note : quality.notes) sentence += QStringLiteral(" · ") + QString::fromStdString(note);
    m_sentence->setText(sentence);
    m_table->setHeadings(tr("replayed"), tr("changed"));
    std::vector<FigureTable::Row> rows;
    for (const replay::ReplayOffer& offer : m_offers->offers)
        rows.push_back({offerName(offer), formatDuration(quality.replayed, 3), formatDuration(offer.outcome.changed, 3),
                        offerExplanation(offer)});
    m_table->setRows(std::move(rows));
}

void ReplayCard::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    ask();
}

void ReplayCard::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::LanguageChange) refresh();
}

} // namespace fourwalls::views
