// SPDX-License-Identifier: Apache-2.0
// Windows of slices, swept by time into accumulators and columns.
#include "model/store/activity_finisher.h"

#include "model/store/duration_class.h"
#include "model/trace/activity_priority.h"
#include "model/trace/interval_union.h"

#include <cmath>
#include <optional>

namespace fourwalls::store {
namespace {

constexpr std::int64_t kMostActivityBins = 4096;
constexpr double kWholeShare = 65535;

/// The priority of an activity in a heat map of so many classes. Files from before waiting had a class of its own
/// counted waits in collectives as communication and other waits as nothing.
std::optional<int> priorityIn(int classes, Activity activity)
{
    if (classes == kActivityClassCount || activityClass(activity) != ActivityClass::Waiting)
        return activityPriority(activity);
    return activity == Activity::CollectiveWait ? activityPriority(Activity::Transfer) : std::nullopt;
}

bool isPipelinePhase(Phase phase)
{
    return phase == Phase::Forward || phase == Phase::BackwardInput || phase == Phase::BackwardWeight;
}

/// Time per class in every bin of level 0 [ns], and its output.
class HeatMap {
public:
    HeatMap(std::int64_t begin, std::int64_t end, int classes)
        : m_bins(ActivityBins::over(begin, end))
        , m_classes(classes)
    {
        m_first = floorDiv(begin);
        m_times.resize(static_cast<std::size_t>(floorDiv(end) - m_first) + 1);
    }

    void add(const TimeRange& part, int kind)
    {
        for (std::int64_t at = part.begin.ns; at < part.end.ns;) {
            const std::int64_t bin = floorDiv(at);
            const std::int64_t end = std::min(part.end.ns, (bin + 1) * m_bins.width);
            const std::int64_t slot = bin - m_first;
            if (slot >= 0 && slot < static_cast<std::int64_t>(m_times.size()))
                m_times[static_cast<std::size_t>(slot)][static_cast<std::size_t>(kind)] += end - at;
            at = end;
        }
    }

    void put(RowOutput& out, std::int32_t rank)
    {
        std::int64_t width = m_bins.width;
        for (int level = 0; level < m_bins.levels; ++level, width *= 2) {
            putLevel(out, rank, level, width);
            halve();
        }
    }

private:
    std::int64_t floorDiv(std::int64_t at) const
    {
        return at >> (63 - std::countl_zero(static_cast<std::uint64_t>(m_bins.width)));
    }

    void putLevel(RowOutput& out, std::int32_t rank, int level, std::int64_t width) const
    {
        std::vector<ActivityShares> bins;
        std::string bytes;
        for (std::size_t i = 0; i < m_times.size();) {
            const std::int64_t tile = tileOf(m_first + static_cast<std::int64_t>(i));
            const std::int64_t lead = m_first + static_cast<std::int64_t>(i) - tile * kBinsPerTile;
            bins.assign(static_cast<std::size_t>(lead), {});
            for (; i < m_times.size() && tileOf(m_first + static_cast<std::int64_t>(i)) == tile; ++i) {
                ActivityShares shares;
                for (std::size_t kind = 0; kind < shares.shares.size(); ++kind) {
                    const double share = static_cast<double>(m_times[i][kind]) / static_cast<double>(width);
                    shares.shares[kind] = static_cast<std::uint16_t>(std::lround(std::min(share, 1.0) * kWholeShare));
                }
                bins.push_back(shares);
            }
            bytes.clear();
            encodeActivityTile(bytes, bins, m_classes);
            if (!bytes.empty()) out.put(Table::RankBin, {rank, level, tile, Value::blob(bytes)});
        }
    }

    void halve()
    {
        const std::int64_t first = m_first >> 1;
        std::vector<Times> wider;
        for (std::size_t i = 0; i < m_times.size(); ++i) {
            const auto slot = static_cast<std::size_t>(((m_first + static_cast<std::int64_t>(i)) >> 1) - first);
            if (slot >= wider.size()) wider.resize(slot + 1);
            for (std::size_t kind = 0; kind < wider[slot].size(); ++kind) wider[slot][kind] += m_times[i][kind];
        }
        m_times = std::move(wider);
        m_first = first;
    }

    using Times = std::array<std::int64_t, kActivityClassCount>;

    ActivityBins m_bins;
    int m_classes;
    std::int64_t m_first = 0; ///< index of m_times[0]
    std::vector<Times> m_times;
};

void putSummary(RowOutput& out, std::int64_t seq, const StepSummary& s)
{
    std::vector<Value> row{s.rank.value,
                           seq,
                           s.step.value,
                           s.range.begin.ns,
                           s.range.end.ns,
                           static_cast<int>(s.state),
                           s.compute.ns,
                           s.exposedComm.ns,
                           s.exposedCopy.ns,
                           s.bubble.ns,
                           s.idleDataLoading.ns,
                           s.idleLaunch.ns,
                           s.idleSynchronisation.ns,
                           s.idleOther.ns,
                           s.computeSum.ns,
                           s.collectiveWait.ns,
                           s.pipelineWindow.ns,
                           s.pipelineBusy.ns,
                           s.modelFlops,
                           s.recomputeFlops,
                           s.recomputeTime.ns,
                           s.memoryBoundExcess.ns,
                           s.inefficiencyExcess.ns};
    for (const Duration phase : s.computeByPhase) row.emplace_back(phase.ns);
    out.row(Table::StepSummary, row);
}

} // namespace

ActivityBins ActivityBins::over(std::int64_t begin, std::int64_t end)
{
    ActivityBins bins;
    const std::int64_t length = std::max<std::int64_t>(1, end - begin);
    while (length / bins.width > kMostActivityBins - 2) bins.width *= 2;
    for (std::int64_t width = bins.width; width < length && bins.levels < 14; width *= 2) ++bins.levels;
    return bins;
}

void encodeActivityTile(std::string& out, const std::vector<ActivityShares>& bins, int classes)
{
    std::size_t used = bins.size();
    while (used > 0 && bins[used - 1].empty()) --used;
    for (std::size_t i = 0; i < used; ++i)
        for (const std::uint16_t share : std::span(bins[i].shares).first(static_cast<std::size_t>(classes)))
            putVarint(out, share);
}

bool decodeActivityTile(std::string_view bytes, std::vector<ActivityShares>& bins, int classes)
{
    Decoder in(bytes);
    while (!in.atEnd() && bins.size() < kBinsPerTile) {
        ActivityShares shares;
        for (std::uint16_t& share : std::span(shares.shares).first(static_cast<std::size_t>(classes)))
            share = static_cast<std::uint16_t>(in.bounded(65535));
        if (!in.ok()) return false;
        bins.push_back(shares);
    }
    return in.ok() && in.atEnd();
}

ActivityFinisher::ActivityFinisher(FinishContext& context, std::int32_t rank)
    : m_context(context)
    , m_rank(rank)
    , m_pipelined(isPipelined(context.definitions().header))
    , m_begin(context.definitions().windowBegin)
{
    const std::int64_t length = std::max<std::int64_t>(1, context.definitions().windowEnd - m_begin);
    m_windowWidth = length / kWindows + 1;
    m_windows.resize(kWindows);
    const auto lookup = context.shared.find(rank);
    if (lookup != context.shared.end()) m_lookup = &lookup->second;
}

std::int64_t ActivityFinisher::windowOf(std::int64_t at) const
{
    return std::clamp<std::int64_t>((at - m_begin) / m_windowWidth, 0, kWindows - 1);
}

void ActivityFinisher::add(const OpInfo& op, const SliceRow& slice)
{
    if (slice.duration == 0) return;
    const bool inPipeline = m_pipelined && isPipelinePhase(op.phase);
    if (op.activity == Activity::None && !inPipeline) return;
    const std::int64_t last = windowOf(slice.end() - 1);
    for (std::int64_t window = windowOf(slice.start); window <= last; ++window)
        m_windows[static_cast<std::size_t>(window)].add(m_context.chunks, slice);
    if (!inPipeline || !m_lookup) return;
    const TimeRange range{Instant{slice.start}, Instant{slice.end()}};
    const auto [first, end] = m_lookup->overlapping(range);
    for (std::size_t i = first; i < end; ++i) {
        const StepRecord& step = m_lookup->steps()[i];
        const TimeRange clipped = range.intersected(step.range);
        if (!clipped.empty()) mergePipelineWindows(m_pipelineWindows, {{step.step, clipped}});
    }
}

void ActivityFinisher::seal()
{
    for (SliceStream& window : m_windows) {
        m_context.chunks.seal(window.bytes);
        window.bytes.tail.shrink_to_fit();
    }
}

void ActivityFinisher::finish(const std::map<StepIndex, TimeRange>& hulls)
{
    const Definitions& definitions = m_context.definitions();
    const auto peak = devicePeakFlops(definitions.header, definitions.closing);
    const auto bandwidth = deviceBytesPerSecond(definitions.header, definitions.closing);
    const std::size_t stepCount = m_lookup ? m_lookup->steps().size() : 0;
    std::vector<std::optional<StepAccumulator>> open(stepCount);
    const auto accumulator = [&](std::size_t i) -> StepAccumulator& {
        if (!open[i]) open[i].emplace(RankId(m_rank), m_lookup->steps()[i], peak, bandwidth, m_pipelined);
        return *open[i];
    };
    std::size_t nextDone = 0;
    const auto finishBefore = [&](std::int64_t at) { // steps by begin: in sound traces also by end
        for (; nextDone < stepCount && m_lookup->steps()[nextDone].range.end.ns <= at; ++nextDone) {
            const auto hull = hulls.find(m_lookup->steps()[nextDone].step);
            putSummary(m_context.out, static_cast<std::int64_t>(nextDone),
                       accumulator(nextDone).finish(hull == hulls.end() ? std::nullopt : std::optional(hull->second)));
            open[nextDone].reset();
        }
    };

    const int classes = definitions.activityClasses;
    HeatMap heat(definitions.windowBegin, std::max(definitions.windowEnd, definitions.windowBegin + 1), classes);
    for (std::int64_t w = 0; w < kWindows; ++w) {
        const TimeRange window{Instant{m_begin + w * m_windowWidth}, Instant{m_begin + (w + 1) * m_windowWidth}};
        finishBefore(window.begin.ns);
        SliceStream& stream = m_windows[static_cast<std::size_t>(w)];
        std::array<IntervalUnion, kActivityPriorities> unions;
        for (SliceCursor cursor(m_context.chunks, stream); const SliceRow* slice = cursor.get(); cursor.next()) {
            const OpInfo& op = definitions.ops[static_cast<std::size_t>(slice->op)];
            const TimeRange range{Instant{slice->start}, Instant{slice->end()}};
            if (const auto kind = priorityIn(classes, op.activity))
                unions[static_cast<std::size_t>(*kind)].add(range.intersected(window));
            if (!m_lookup || windowOf(slice->start) != w) continue; // counted in its first window
            const auto [first, end] = m_lookup->overlapping(range);
            for (std::size_t i = first; i < end; ++i)
                accumulator(i).add(op, Instant{slice->start}, Duration{slice->duration});
        }
        partitionByPriority(std::span(unions), window, [&](const TimeRange& part, int kind) {
            if (kind >= 0) heat.add(part, static_cast<int>(classOfPriority(kind)));
        });
        m_context.chunks.drop(stream.bytes);
    }
    finishBefore(kLargestTimeNs);
    heat.put(m_context.out, m_rank);
}

} // namespace fourwalls::store
