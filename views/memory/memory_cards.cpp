// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_cards.h.
#include "views/memory/memory_cards.h"

#include "views/memory/memory_fit_card.h"
#include "views/memory/memory_growth_card.h"
#include "views/memory/memory_map_card.h"
#include "views/whatif/what_if.h"

#include <QSplitter>
#include <QToolButton>
#include <QVBoxLayout>

namespace fourwalls::views {

MemoryCards::MemoryCards(View& view, QWidget* parent)
    : QWidget(parent)
    , m_view(view)
    , m_tables(cardSplitter(Qt::Horizontal, this))
    , m_fitCard(new MemoryFitCard(this))
    , m_growthCard(new MemoryGrowthCard(this))
    , m_mapCard(new MemoryMapCard(this))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_tables);
    for (QWidget* card :
         {static_cast<QWidget*>(m_fitCard), static_cast<QWidget*>(m_growthCard), static_cast<QWidget*>(m_mapCard)}) {
        column->addWidget(card);
        card->hide();
    }
    connect(m_mapCard, &MemoryMapCard::bufferClicked, this, &MemoryCards::bufferClicked);
    connect(m_mapCard, &MemoryMapCard::settled, this, &MemoryCards::settled);
    connect(&m_fitCard->plot(), &MemoryFitPlot::valueClicked, this, [this](Knob knob, double value) {
        WhatIf* whatIf = m_view.whatIf();
        const auto& spec = whatIf->isActive() ? whatIf->spec() : whatIf->recorded();
        if (!spec) return;
        if (const auto changed = withValue(*spec, knob, value, KnobLocks())) whatIf->propose(*changed, fitName(knob));
    });
}

std::array<QToolButton*, MemoryCards::kCards> MemoryCards::makeButtons(QWidget* row)
{
    for (std::size_t i = 0; i < kCards; ++i) {
        m_buttons[i] = choiceButton(row);
        connect(m_buttons[i], &QToolButton::toggled, this, [this, i](bool on) { choose(static_cast<Card>(i), on); });
    }
    return m_buttons;
}

QStringList MemoryCards::names()
{
    return {QStringLiteral("fit"), QStringLiteral("growth"), QStringLiteral("segments")};
}

bool MemoryCards::isChosen(Card card) const
{
    return button(card).isChecked();
}

QString MemoryCards::shown() const
{
    for (std::size_t i = 0; i < kCards; ++i)
        if (m_buttons[i]->isChecked()) return names()[static_cast<qsizetype>(i)];
    return {};
}

void MemoryCards::setShown(const QString& name)
{
    for (std::size_t i = 0; i < kCards; ++i) m_buttons[i]->setChecked(name == names()[static_cast<qsizetype>(i)]);
}

void MemoryCards::toggle(Card card)
{
    button(card).toggle();
}

void MemoryCards::choose(Card card, bool on)
{
    for (QToolButton* other : m_buttons)
        if (on && other != &button(card)) other->setChecked(false);
    place();
    if (!on) return;
    switch (card) {
    case Card::Fit: return askFit();
    case Card::Growth: return askGrowth();
    case Card::Segments: emit momentWanted();
    }
}

void MemoryCards::place()
{
    const bool hasBuffers = !m_facts || !m_facts->counted;
    for (QToolButton* each : m_buttons) each->setVisible(hasBuffers);
    m_tables->setVisible(hasBuffers && shown().isEmpty());
    m_fitCard->setVisible(isChosen(Card::Fit));
    m_growthCard->setVisible(hasBuffers && isChosen(Card::Growth));
    m_mapCard->setVisible(hasBuffers && isChosen(Card::Segments));
    setVisible(hasBuffers || isChosen(Card::Fit));
}

void MemoryCards::forget()
{
    if (m_growthPending && m_view.session()) m_view.session()->cancel(&m_view, "growth");
    m_growthPending = false;
    m_facts.reset();
    m_fitKey.clear();
    m_growthOf.reset();
    m_growthCard->setGrowth(nullptr, 0, {});
    m_mapCard->setTrace(m_view.session());
}

void MemoryCards::setFacts(std::shared_ptr<const MemoryFacts> facts)
{
    m_facts = std::move(facts);
    place();
    if (!m_facts->counted && isChosen(Card::Growth)) askGrowth();
}

void MemoryCards::setMoment(Instant at, std::optional<OutOfMemory> refused)
{
    m_mapCard->setMoment(m_facts->rank.rank, at, refused);
}

void MemoryCards::setByteUnit(ByteUnit unit)
{
    m_fitCard->setByteUnit(unit);
    m_growthCard->setByteUnit(unit);
    m_mapCard->setByteUnit(unit);
}

void MemoryCards::followPrediction()
{
    if (isChosen(Card::Fit)) askFit();
}

void MemoryCards::followMeasured()
{
    if (isChosen(Card::Growth)) askGrowth();
}

void MemoryCards::askFit()
{
    const WhatIf* whatIf = m_view.whatIf();
    const std::optional<RunSpec> spec = !whatIf              ? std::nullopt
                                        : whatIf->isActive() ? whatIf->spec()
                                                             : whatIf->recorded();
    TraceSession* session = m_view.session();
    if (!session || !spec)
        return m_fitCard->setFit(nullptr,
                                 tr("The trace does not say what ran; open the What-if sliders and choose it."));
    const auto calibration = whatIf->calibrationOf(*spec);
    std::string key = toJson(*spec);
    if (key == m_fitKey && calibration == m_fitCalibration) return;
    m_fitKey = std::move(key);
    m_fitCalibration = calibration;
    session->ask<MemoryFit>(
        &m_view, "fit",
        [spec = *spec, calibration](TraceQuery&, std::stop_token stop) {
            return computeMemoryFit(spec, calibration, stop);
        },
        [this, session](const Answer<MemoryFit>& answer) {
            if (m_view.session() != session) return;
            m_fitCard->setFit(answer.value, answer.ok() ? QString() : QString::fromStdString(answer.error.message()));
        },
        Urgency::Background);
}

void MemoryCards::askGrowth()
{
    TraceSession* session = m_view.session();
    if (!session || !session->isOpen() || !m_facts) return;
    const RankId rank = m_facts->rank.rank;
    const std::optional<TimeRange> between = m_view.selection()->measured();
    if (m_growthOf == rank && m_growthBetween == between) return;
    m_growthOf = rank;
    m_growthBetween = between;
    m_growthPending = true;
    session->ask<MemoryGrowth>(
        &m_view, "growth",
        [rank, between](TraceQuery& trace, std::stop_token stop) {
            constexpr std::size_t kMoments = 12;
            if (between) return memoryBetween(trace, rank, between->begin, between->end, stop);
            return memoryGrowth(trace, rank, kMoments, stop);
        },
        [this, rank, session](const Answer<MemoryGrowth>& answer) {
            if (m_view.session() != session || m_growthOf != rank || !m_facts) return;
            m_growthPending = false;
            emit settled();
            m_growthCard->setGrowth(answer.value, m_facts->rank.memoryBytes, session->info().range.begin,
                                    answer.ok() ? QString() : QString::fromStdString(answer.error.message()));
        },
        Urgency::Background);
}

bool MemoryCards::isSettled() const
{
    return !m_growthPending && m_mapCard->isSettled();
}

std::optional<QString> MemoryCards::tableAsCsv() const
{
    if (m_growthCard->isVisible()) return m_growthCard->tableAsCsv();
    return m_mapCard->isVisible() ? std::optional(m_mapCard->tableAsCsv()) : std::nullopt;
}

void MemoryCards::retranslate()
{
    button(Card::Fit).setText(tr("What fits"));
    button(Card::Fit).setToolTip(
        tr("Predicted peak against micro-batch, sequence, sharding and degrees, instead of the tables"));
    button(Card::Growth).setText(tr("Growth"));
    button(Card::Growth)
        .setToolTip(tr("What is alive after the steps by who made it, and what rises, instead of the tables"));
    button(Card::Segments).setText(tr("Segments"));
    button(Card::Segments)
        .setToolTip(tr("What the allocator took from the device, the buffers in it and the holes between, at the "
                       "marked moment, instead of the tables"));
    m_fitCard->retranslate();
    m_growthCard->retranslate();
    m_mapCard->retranslate();
}

} // namespace fourwalls::views
