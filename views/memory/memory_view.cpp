// SPDX-License-Identifier: GPL-3.0-or-later
// The memory view's questions and answers; memory_view_build.cpp has its widgets, memory_view_ghost.cpp what the sliders
// add.
#include "views/memory/memory_view.h"

#include "views/memory/memory_compare_panel.h"
#include "views/memory/memory_counter_plot.h"
#include "views/memory/memory_fit_card.h"
#include "views/memory/memory_growth_card.h"
#include "views/memory/memory_map_card.h"
#include "views/memory/memory_panels.h"
#include "views/memory/memory_stack_panel.h"
#include "views/memory/memory_words.h"
#include "views/plot/plot_card.h"
#include "views/session/slice_at.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/what_if.h"
#include "views/words/words.h"

#include <QComboBox>
#include <QPainter>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>

#include <algorithm>

namespace fourwalls::views {

namespace {

/// How much more than the screen is asked for on either side, as a share of it: a pan has data at once.
constexpr double kMargin = 0.5;
/// How much wider than asked for the columns of a picture may be to stand in for it until its own answer is there.
constexpr double kCoarsest = 4;

TimeRange widened(const TimeRange& range, double share, const TimeRange& limits)
{
    const Duration by{static_cast<std::int64_t>(share * static_cast<double>(range.length().ns))};
    const TimeRange wide = TimeRange{range.begin - by, range.end + by}.intersected(limits);
    return wide.empty() ? range : wide;
}

/// Grown to whole bins of the level that a screen of this resolution is read from, by less than a pixel on either
/// side: then the store has no edges to complete from single buffers.
TimeRange aligned(const TimeRange& range, double nsPerPixel)
{
    int shift = 0;
    while (shift < 60 && static_cast<double>(std::int64_t{4} << shift) <= nsPerPixel) shift += 2;
    const std::int64_t width = std::int64_t{1} << shift;
    return {Instant{(range.begin.ns >> shift) * width}, Instant{((range.end.ns + width - 1) >> shift) * width}};
}

/// Whether `have` has the shown range and something to spare wherever the trace goes on.
bool coversWithRoom(const TimeRange& have, const TimeRange& shown, const TimeRange& limits)
{
    const Duration spare{static_cast<std::int64_t>(kMargin / 3 * static_cast<double>(shown.length().ns))};
    return have.begin <= std::max(shown.begin - spare, std::min(limits.begin, shown.begin)) &&
           have.end >= std::min(shown.end + spare, std::max(limits.end, shown.end));
}

} // namespace

template <class R, class Job, class Done>
void MemoryView::ask(const QByteArray& channel, Job job, Done done, Urgency urgency)
{
    m_pending.insert(channel);
    session()->ask<R>(
        this, channel, [job = std::move(job)](TraceQuery& trace, std::stop_token) { return job(trace); },
        [this, channel, asked = session(), done = std::move(done)](const Answer<R>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_pending.remove(channel);
            if (answer.ok())
                done(answer.value);
            else
                fail(answer.error);
        },
        urgency);
}

void MemoryView::fail(const Error& error)
{
    if (error.code == ErrorCode::Cancelled) return;
    m_error = QString::fromStdString(error.message());
    m_content->hide();
    update();
}

void MemoryView::forgetAnswers()
{
    for (const QByteArray& channel : std::as_const(m_pending)) {
        if (session()) session()->cancel(this, channel);
    }
    m_pending.clear();
    m_facts.reset();
    m_picture.reset();
    m_buffers.reset();
    m_alive.reset();
    m_marked.reset();
    m_peakKnown.reset();
    m_askedWindow = m_askedBuffers = {};
    m_askedPixels = 0;
    m_area->setAwaiting(false);
    m_area->setPicture(nullptr);
    m_area->setBuffers(nullptr);
    m_blocks->setPicture(nullptr);
    m_counted->setPicture(nullptr);
    m_stackPanel->hide();
    m_bufferPanel->setList(nullptr, {});
    m_alivePanel->setAlive(nullptr, {}, true);
    m_area->setGhost({});
    m_ghostRange = {};
    m_ghostOf.reset();
    m_fitKey.clear();
    m_growthOf.reset();
    m_growthCard->setGrowth(nullptr, 0, {});
    m_mapCard->setTrace(session());
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
    connect(selection(), &Selection::measuredChanged, this, [this] {
        if (m_growth->isChecked()) askGrowth();
    });
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
    if (session()->info().counts.allocations > 0 || hasAllocatorCurve(session()->info())) askFacts();
}

void MemoryView::askFacts()
{
    const RankId rank = selection()->rank();
    ask<MemoryFacts>(
        "facts", [rank](TraceQuery& trace) { return askMemoryFacts(trace, rank); },
        [this](std::shared_ptr<const MemoryFacts> facts) {
            m_facts = std::move(facts);
            m_content->setVisible(emptyReason().isEmpty());
            fillPickers();
            showWhatIsKnown();
            showSummary();
            showGhost();
            askInstant();
            onShownRange();
            update();
        });
}

void MemoryView::onShownRange()
{
    if (!m_facts || !isVisible()) return;
    const TimeRange shown = shownPlot().camera().range();
    const TimeRange whole = selection()->whole();
    const int columns = shownPlot().deviceColumns();
    const double wanted = static_cast<double>(shown.length().ns) / columns * 1.01;
    const bool sharp = m_askedPixels > 0 && static_cast<double>(m_askedWindow.length().ns) / m_askedPixels <= wanted;
    if (m_listing->isActive()) m_listing->start(); // the range still moves
    if (!sharp || !coversWithRoom(m_askedWindow, shown, whole)) {
        // A question on its way is not given up while its answer would serve: asking anew with every move would
        // never show anything but what was there before.
        const bool serves = m_pending.contains("window") && m_askedWindow.begin <= std::max(shown.begin, whole.begin) &&
                            m_askedWindow.end >= std::min(shown.end, whole.end) &&
                            static_cast<double>(m_askedWindow.length().ns) / m_askedPixels <= kCoarsest * wanted;
        if (!serves) askWindow();
    }
    if (m_facts->counted) return;
    refreshGhost(shown.intersected(whole));
    const bool all = m_buffers && isComplete(*m_buffers->list);
    const bool coarse = !all && m_askedBuffers.length().ns > 4 * shown.length().ns;
    const bool unplaced = showsBlocks() && m_buffers && !m_buffers->placed;
    if (coarse || unplaced || !coversWithRoom(m_askedBuffers, shown, whole)) askBuffers();
}

void MemoryView::askWindow()
{
    const TimeRange shown = shownPlot().camera().range();
    const TimeRange range = aligned(widened(shown, kMargin, selection()->whole()), shownPlot().camera().nsPerPixel());
    const double share =
        static_cast<double>(range.length().ns) / static_cast<double>(std::max<std::int64_t>(1, shown.length().ns));
    const int pixels = std::max(1, static_cast<int>(shownPlot().deviceColumns() * share + 1));
    m_askedWindow = range;
    m_askedPixels = pixels;
    ask<MemoryWindowAnswer>(
        "window",
        [facts = m_facts, range, pixels](TraceQuery& trace) { return askMemoryWindow(trace, *facts, range, pixels); },
        [this, asked = shown](std::shared_ptr<const MemoryWindowAnswer> answer) {
            m_picture = answer->picture;
            m_area->setAwaiting(false);
            m_counted->setAwaiting(false);
            m_counted->setContext(m_facts->steps, answer->phases);
            m_counted->setPicture(answer->counted);
            m_area->setContext(m_facts->steps, answer->phases);
            m_blocks->setContext(m_facts->steps, answer->phases);
            m_area->setPicture(m_picture);
            // The range may have moved on meanwhile.
            if (shownPlot().camera().range() != asked) onShownRange();
        });
    m_area->setAwaiting(true);
    m_counted->setAwaiting(true);
}

void MemoryView::askBuffers()
{
    const TimeRange range = widened(shownPlot().camera().range(), kMargin / 2, selection()->whole());
    m_askedBuffers = range;
    BlockQuestion question{m_facts->rank.rank, range, BlockQuestion::Place::None, m_buffers};
    if (showsBlocks())
        question.place = m_address->isChecked() ? BlockQuestion::Place::ByAddress : BlockQuestion::Place::Packed;
    // Placing thousands of blocks takes tens of milliseconds: never in the way of the curve.
    ask<BlockPicture>(
        "buffers", [question](TraceQuery& trace) { return askBlocks(trace, question); },
        [this](std::shared_ptr<const BlockPicture> picture) {
            m_buffers = std::move(picture);
            m_area->setBuffers(m_buffers->list);
            m_blocks->setPicture(m_buffers);
            showLegend();
            // Sorting a table is slower than a frame: not while the range still moves.
            if (m_bufferPanel->isEmpty())
                listBuffers();
            else
                m_listing->start();
        },
        showsBlocks() ? Urgency::Frame : Urgency::Background);
}

void MemoryView::listBuffers()
{
    m_listing->stop();
    if (m_buffers) m_bufferPanel->setList(m_buffers->list, selection()->whole().begin);
}

std::optional<Instant> MemoryView::instant() const
{
    if (m_marked) return m_marked;
    const MemorySummary* peak = summary();
    return peak ? std::optional(peak->peakAt) : std::nullopt;
}

const MemorySummary* MemoryView::summary() const
{
    if (!m_facts) return nullptr;
    const auto step = selection() ? selection()->step() : std::nullopt;
    const MemorySummary* own = m_facts->summary(step);
    return own ? own : m_facts->summary(std::nullopt);
}

void MemoryView::askInstant()
{
    const std::optional<Instant> at = instant();
    if (!at) return;
    mapMoment();
    ask<AliveAnswer>(
        "alive", [facts = m_facts, at = *at](TraceQuery& trace) { return askAlive(trace, *facts, at); },
        [this](std::shared_ptr<const AliveAnswer> answer) { onAlive(std::move(answer)); });
}

void MemoryView::onAlive(std::shared_ptr<const AliveAnswer> answer)
{
    m_alive = std::move(answer);
    const MemorySummary* peak = summary();
    const bool isPeak = peak && m_alive->at == peak->peakAt;
    if (isPeak) {
        const AllocationView* latest = latestAlive(m_alive->list, m_alive->at);
        m_peakLabel = latest && latest->op ? originOf(*latest, m_alive->list.ops) : QString();
        m_peakPlace = m_alive->place;
        m_peakKnown = m_alive->at;
    }
    showSummary();
}

void MemoryView::onStep()
{
    if (!m_facts) return;
    m_marked.reset();
    fillPickers();
    showSummary();
    askInstant();
}

void MemoryView::onInstantClicked(Instant at)
{
    if (!m_facts) return; // another rank's are on their way, and what is still drawn is not theirs
    m_marked = at;
    m_area->setMarked(at);
    m_blocks->setMarked(at);
    askInstant();
}

void MemoryView::selectBuffer(AllocationId id)
{
    m_blocks->setSelected(id);
    m_mapCard->setSelected(id);
    m_bufferPanel->select(id);
    showStack(id);
}

void MemoryView::showStack(AllocationId id)
{
    if (!m_buffers) return;
    const AllocationList& list = *m_buffers->list;
    const auto item = std::ranges::find(list.items, id, &AllocationView::id);
    if (item == list.items.end()) return;
    const auto op = item->op ? list.ops.find(*item->op) : list.ops.end();
    const OpInfo* info = op == list.ops.end() ? nullptr : op->second.get();
    // What Fourwalls records itself has no stacks.
    m_stackPanel->setVisible(info && !info->detail.empty() && session()->info().header.source == TraceSource::Imported);
    m_stackPanel->setBuffer(*item, info, selection()->byteUnit());
}

void MemoryView::zoomToBuffer(AllocationId id)
{
    if (!m_buffers) return;
    for (const MemoryBlock& block : m_buffers->layout.blocks) {
        if (m_buffers->list->items[block.index].id != id) continue;
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
    if (const StepSpan* step = stepAt(*m_facts->steps, *at)) length = step->range.length();
    const Duration side{std::max<std::int64_t>(1000, length.ns / 20)};
    selection()->setRange({*at - side, *at + side});
    selection()->setCursor(*at);
    ask<std::optional<SelectedSlice>>(
        "slice", [rank = m_facts->rank.rank, at = *at](TraceQuery& trace) { return askSliceAt(trace, rank, at); },
        [this](std::shared_ptr<const std::optional<SelectedSlice>> slice) {
            if (*slice) selection()->setSlice(**slice);
        });
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

void MemoryView::askFit()
{
    const std::optional<RunSpec> spec = !whatIf()              ? std::nullopt
                                        : whatIf()->isActive() ? whatIf()->spec()
                                                               : whatIf()->recorded();
    if (!session() || !spec)
        return m_fitCard->setFit(nullptr,
                                 tr("The trace does not say what ran; open the What-if sliders and choose it."));
    const auto calibration = whatIf()->calibrationOf(*spec);
    std::string key = toJson(*spec);
    if (key == m_fitKey && calibration == m_fitCalibration) return;
    m_fitKey = std::move(key);
    m_fitCalibration = calibration;
    session()->ask<MemoryFit>(
        this, "fit",
        [spec = *spec, calibration](TraceQuery&, std::stop_token stop) {
            return computeMemoryFit(spec, calibration, stop);
        },
        [this, asked = session()](const Answer<MemoryFit>& answer) {
            if (session() != asked) return;
            m_fitCard->setFit(answer.value, answer.ok() ? QString() : QString::fromStdString(answer.error.message()));
        },
        Urgency::Background);
}

void MemoryView::askGrowth()
{
    if (!session() || !session()->isOpen() || !m_facts) return;
    const RankId rank = m_facts->rank.rank;
    const std::optional<TimeRange> between = selection()->measured();
    if (m_growthOf == rank && m_growthBetween == between) return;
    m_growthOf = rank;
    m_growthBetween = between;
    m_pending.insert("growth");
    session()->ask<MemoryGrowth>(
        this, "growth",
        [rank, between](TraceQuery& trace, std::stop_token stop) {
            constexpr std::size_t kMoments = 12;
            if (between) return memoryBetween(trace, rank, between->begin, between->end, stop);
            return memoryGrowth(trace, rank, kMoments, stop);
        },
        [this, rank, asked = session()](const Answer<MemoryGrowth>& answer) {
            if (session() != asked || m_growthOf != rank || !m_facts) return;
            m_pending.remove("growth");
            shownPlot().update(); // reports that all is there
            m_growthCard->setGrowth(answer.value, m_facts->rank.memoryBytes, session()->info().range.begin,
                                    answer.ok() ? QString() : QString::fromStdString(answer.error.message()));
        },
        Urgency::Background);
}

void MemoryView::mapMoment()
{
    const std::optional<Instant> at = instant();
    if (!m_facts || !at) return;
    // What a click on the mark of an out-of-memory moment means, to a pixel.
    const Duration near{std::max<std::int64_t>(1, static_cast<std::int64_t>(4 * shownPlot().camera().nsPerPixel()))};
    const OutOfMemory* refused = nullptr;
    for (const OutOfMemory& moment : m_facts->outOfMemory)
        if (m_marked && moment.at >= *at - near && moment.at <= *at + near) refused = &moment;
    m_mapCard->setMoment(m_facts->rank.rank, refused ? refused->at : *at,
                         refused ? std::optional(*refused) : std::nullopt);
}

bool MemoryView::showsFinalData() const
{
    if (!session() || !selection() || !session()->isOpen()) return false;
    if (!emptyReason().isEmpty()) return true;
    if (m_facts && m_facts->counted) return m_pending.isEmpty() && m_counted->quality() == FrameQuality::Full;
    const FrameQuality quality = showsBlocks() ? m_blocks->quality() : m_area->quality();
    return m_facts && m_pending.isEmpty() && quality == FrameQuality::Full && m_alive && m_buffers &&
           !m_listing->isActive() && m_mapCard->isSettled();
}

QString MemoryView::tableAsCsv() const
{
    if (!m_facts) return {};
    if (m_growthCard->isVisible()) return m_growthCard->tableAsCsv();
    if (m_mapCard->isVisible()) return m_mapCard->tableAsCsv();
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
