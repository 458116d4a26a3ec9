// SPDX-License-Identifier: GPL-3.0-or-later
// What the memory view does with answers, clicks and moves; memory_view_build.cpp has its widgets, memory_view_ghost.cpp
// what the sliders add.
#include "views/memory/memory_view.h"

#include "views/memory/memory_answers.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_compare_panel.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_map_card.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_stack_panel.h"
#include "views/memory/memory_words.h"
#include "views/plot/plot_card.h"

#include <QPainter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

void MemoryView::fail(const Error& error)
{
    m_error = QString::fromStdString(error.message());
    m_content->hide();
    update();
}

void MemoryView::forgetAnswers()
{
    m_answers->forget();
    m_marked.reset();
    m_peakMaker = {};
    m_area->setAwaiting(false);
    m_area->setPicture(nullptr);
    m_area->setBuffers(nullptr);
    m_blocks->setPicture(nullptr);
    m_counted->setPicture(nullptr);
    m_stackPanel->hide();
    m_bufferPanel->setList(nullptr, {});
    m_alivePanel->setAlive(nullptr, {}, true);
    m_area->setGhost({});
    m_ghost.forget();
    m_cards->forget();
    m_listing->stop();
}

void MemoryView::traceChanged()
{
    forgetAnswers();
    m_error.clear();
    m_area->setSelection(selection());
    m_blocks->setSelection(selection());
    m_counted->setSelection(selection());
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::rankChanged, this, &MemoryView::onRank);
    connect(selection(), &Selection::stepChanged, this, &MemoryView::onStep);
    connect(selection(), &Selection::byteUnitChanged, this, &MemoryView::showSummary);
    connect(selection(), &Selection::measuredChanged, this, [this] { m_cards->followMeasured(); });
    if (session()->isOpen())
        onRank();
    else
        connect(session(), &TraceSession::opened, this, &MemoryView::onRank);
}

void MemoryView::onRank()
{
    if (!session() || !session()->isOpen()) return;
    forgetAnswers();
    m_content->setVisible(emptyReason().isEmpty());
    update();
    if (session()->info().counts.allocations > 0 || hasAllocatorCurve(session()->info()))
        m_answers->askFacts(selection()->rank());
}

void MemoryView::onFacts()
{
    m_content->setVisible(emptyReason().isEmpty());
    fillPickers();
    showWhatIsKnown();
    showSummary();
    showGhost();
    askInstant();
    onShownRange();
    update();
}

MemoryInSight MemoryView::inSight() const
{
    const TimePlot& plot = shownPlot();
    MemoryInSight sight{plot.camera().range(), selection()->whole(), plot.deviceColumns(), plot.camera().nsPerPixel()};
    if (showsBlocks())
        sight.place = m_address->isChecked() ? BlockQuestion::Place::ByAddress : BlockQuestion::Place::Packed;
    return sight;
}

void MemoryView::onShownRange()
{
    if (!facts() || !isVisible()) return;
    const MemoryInSight sight = inSight();
    if (m_listing->isActive()) m_listing->start(); // the range still moves
    if (m_answers->needWindow(sight)) {
        m_area->setAwaiting(true);
        m_counted->setAwaiting(true);
    }
    if (facts()->counted) return;
    refreshGhost(sight.shown.intersected(sight.whole));
    m_answers->needBuffers(sight);
}

void MemoryView::onWindow(const MemoryWindowAnswer& answer)
{
    m_area->setAwaiting(false);
    m_counted->setAwaiting(false);
    m_counted->setContext(facts()->steps, answer.phases);
    m_counted->setPicture(answer.counted);
    m_area->setContext(facts()->steps, answer.phases);
    m_blocks->setContext(facts()->steps, answer.phases);
    m_area->setPicture(answer.picture);
    onShownRange(); // the range may have moved on meanwhile, or the plot become wider
}

void MemoryView::onBuffers()
{
    m_area->setBuffers(m_answers->buffers()->list);
    m_blocks->setPicture(m_answers->buffers());
    showLegend();
    // Sorting a table is slower than a frame: not while the range still moves.
    if (m_bufferPanel->isEmpty())
        listBuffers();
    else
        m_listing->start();
}

void MemoryView::listBuffers()
{
    m_listing->stop();
    if (m_answers->buffers()) m_bufferPanel->setList(m_answers->buffers()->list, selection()->whole().begin);
}

std::optional<Instant> MemoryView::instant() const
{
    if (m_marked) return m_marked;
    const MemorySummary* peak = summary();
    return peak ? std::optional(peak->peakAt) : std::nullopt;
}

const MemorySummary* MemoryView::summary() const
{
    if (!facts()) return nullptr;
    const auto step = selection() ? selection()->step() : std::nullopt;
    const MemorySummary* own = facts()->summary(step);
    return own ? own : facts()->summary(std::nullopt);
}

void MemoryView::askInstant()
{
    const std::optional<Instant> at = instant();
    if (!at) return;
    mapMoment();
    m_answers->askAlive(*at);
}

void MemoryView::onAlive()
{
    const AliveAnswer& alive = *m_answers->alive();
    if (const MemorySummary* peak = summary(); peak && alive.at == peak->peakAt) {
        const AllocationView* latest = latestAlive(alive.list, alive.at);
        m_peakMaker = {alive.at, latest && latest->op ? originOf(*latest, alive.list.ops) : QString(), alive.place};
    }
    showSummary();
}

void MemoryView::onStep()
{
    if (!facts()) return;
    m_marked.reset();
    fillPickers();
    showSummary();
    askInstant();
}

void MemoryView::onInstantClicked(Instant at)
{
    if (!facts()) return; // another rank's are on their way, and what is still drawn is not theirs
    m_marked = at;
    m_area->setMarked(at);
    m_blocks->setMarked(at);
    askInstant();
}

void MemoryView::selectBuffer(AllocationId id)
{
    m_blocks->setSelected(id);
    m_cards->map().setSelected(id);
    m_bufferPanel->select(id);
    showStack(id);
}

void MemoryView::showStack(AllocationId id)
{
    if (!m_answers->buffers()) return;
    const AllocationList& list = *m_answers->buffers()->list;
    const auto item = std::ranges::find(list.items, id, &AllocationView::id);
    if (item == list.items.end()) return;
    const OpInfo* info = makerOf(*item, list.ops);
    // What Fourwalls records itself has no stacks.
    m_stackPanel->setVisible(info && !info->detail.empty() && session()->info().header.source == TraceSource::Imported);
    m_stackPanel->setBuffer(*item, info, selection()->byteUnit());
}

void MemoryView::zoomToBuffer(AllocationId id)
{
    const BlockPicture* buffers = m_answers->buffers().get();
    if (!buffers) return;
    for (const MemoryBlock& block : buffers->layout.blocks) {
        if (buffers->list->items[block.index].id != id) continue;
        const Duration margin{block.life.length().ns / 20 + 1};
        selection()->setRange({block.life.begin - margin, block.life.end + margin});
        m_blocks->setSelected(id);
        return;
    }
}

void MemoryView::jumpToTimeline()
{
    const std::optional<Instant> at = instant();
    if (!at) return;
    // A twentieth of the step on either side shows what ran around the instant.
    Duration length = selection()->whole().length();
    if (const StepSpan* step = stepAt(*facts()->steps, *at)) length = step->range.length();
    const Duration side{std::max<std::int64_t>(1000, length.ns / 20)};
    selection()->setRange({*at - side, *at + side});
    selection()->setCursor(*at);
    m_answers->selectSliceAt(*at);
    emit selection()->viewRequested(QStringLiteral("timeline"));
}

TimePlot& MemoryView::shownPlot() const
{
    if (m_plots->currentWidget() == m_counted) return *m_counted;
    if (showsBlocks()) return *m_blocks;
    return *m_area;
}

bool MemoryView::showsBlocks() const
{
    return m_plots->currentWidget() == m_blocks;
}

void MemoryView::mapMoment()
{
    const std::optional<Instant> at = instant();
    if (!facts() || !at) return;
    // What a click on the mark of an out-of-memory moment means, to a pixel.
    const Duration near{std::max<std::int64_t>(1, static_cast<std::int64_t>(4 * shownPlot().camera().nsPerPixel()))};
    const OutOfMemory* refused = nullptr;
    for (const OutOfMemory& moment : facts()->outOfMemory)
        if (m_marked && moment.at >= *at - near && moment.at <= *at + near) refused = &moment;
    m_cards->setMoment(refused ? refused->at : *at, refused ? std::optional(*refused) : std::nullopt);
}

bool MemoryView::isSettled() const
{
    return m_answers->isSettled() && m_cards->isSettled();
}

bool MemoryView::showsFinalData() const
{
    if (!session() || !selection() || !session()->isOpen()) return false;
    if (!emptyReason().isEmpty()) return true;
    if (facts() && facts()->counted) return isSettled() && m_counted->quality() == FrameQuality::Full;
    const FrameQuality quality = showsBlocks() ? m_blocks->quality() : m_area->quality();
    return facts() && isSettled() && quality == FrameQuality::Full && m_answers->alive() && m_answers->buffers() &&
           !m_listing->isActive();
}

QString MemoryView::tableAsCsv() const
{
    if (!facts()) return {};
    if (const std::optional<QString> own = m_cards->tableAsCsv()) return *own;
    if (m_comparePanel->isVisible() && m_comparePanel->tableHasFocus()) return m_comparePanel->tableAsCsv();
    return m_alivePanel->tableHasFocus() ? m_alivePanel->tableAsCsv() : m_bufferPanel->tableAsCsv();
}

void MemoryView::exportTo(QPainter& painter, QSizeF size)
{
    if (!m_content->isVisibleTo(this)) {
        paintEmpty(painter, QRectF(QPointF(0, 0), size).toRect(), emptyReason());
        return;
    }
    View::exportTo(painter, size);
}

void MemoryView::themeChanged()
{
    showLegend();
    showComparison();
    update();
}

void MemoryView::languageChanged()
{
    retranslate();
    fillPickers();
    showSummary();
}

void MemoryView::showEvent(QShowEvent* event)
{
    View::showEvent(event);
    onShownRange(); // the range may have moved while another view was shown
}

void MemoryView::paintEvent(QPaintEvent*)
{
    if (!m_content->isVisibleTo(this)) paintWithoutContent(); // else the plot reports the frames
}

} // namespace fourwalls::views
