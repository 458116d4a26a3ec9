// SPDX-License-Identifier: Apache-2.0
// See launch_gaps.h.
#include "model/trace/launch_gaps.h"

#include "model/trace/saturating_sum.h"

#include "model/base/median.h"
#include "model/trace/interval_union.h"
#include "model/trace/summary_builder.h"

#include <algorithm>
#include <map>

namespace fourwalls {

namespace {

constexpr std::size_t kMostCandidates = 200;
/// Sequences longer than this are cut: a kernel holds only so much.
constexpr std::size_t kLongestSequence = 12;

struct Rates {
    std::optional<double> flops, bytes;
};

bool isMemoryBound(const OpInfo& op, const Rates& rates)
{
    if (op.bytes <= 0 || !rates.bytes) return false;
    const double moving = static_cast<double>(op.bytes) / *rates.bytes;
    return op.flops <= 0 || !rates.flops || moving > op.flops / *rates.flops;
}

bool isCandidate(const SliceView& slice, const OpInfo& op, const Rates& rates)
{
    if (op.bytes > 0 && rates.bytes) return isMemoryBound(op, rates);
    return slice.duration < kSmallOperator && op.flops <= 0;
}

std::size_t classOf(Duration duration)
{
    std::size_t index = 0;
    while (index < kLengthLimits.size() && duration.ns >= kLengthLimits[index]) ++index;
    return index;
}

/// One sequence, before equal ones are added up.
using Sequence = std::vector<const SliceView*>;

class Collector {
public:
    Collector(LaunchAnalysis& result, const OpDictionary& ops, Rates rates)
        : m_result(result)
        , m_ops(ops)
        , m_rates(rates)
    {}

    void add(const Sequence& sequence)
    {
        if (sequence.size() < 2) return;
        std::vector<std::string> names;
        for (const SliceView* slice : sequence) names.push_back(m_ops.at(slice->op)->name);
        const Phase phase = m_ops.at(sequence.front()->op)->phase;
        FusionCandidate& candidate = m_byKey[{phase, names}];
        candidate.names = std::move(names);
        candidate.phase = phase;
        ++candidate.occurrences;
        Duration time, longest, gaps;
        double bytes = 0;
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            addTo(time, sequence[i]->duration);
            longest = std::max(longest, sequence[i]->duration);
            if (i == 0) continue;
            addTo(gaps, std::max(Duration{0}, sequence[i]->start - sequence[i - 1]->end()));
            bytes +=
                static_cast<double>(std::min(m_ops.at(sequence[i - 1]->op)->bytes, m_ops.at(sequence[i]->op)->bytes));
        }
        const TimeRange range{sequence.front()->start, sequence.back()->end()};
        if (candidate.occurrences == 1 || range.length() > candidate.longest.length()) candidate.longest = range;
        addTo(candidate.time, time);
        addTo(candidate.gaps, gaps);
        candidate.bytesSaved += bytes;
        const Duration launches{m_result.launchOverhead.ns * static_cast<std::int64_t>(sequence.size() - 1)};
        addTo(candidate.launchSaved, launches);
        if (m_rates.bytes)
            candidate.memorySaved +=
                std::min(Duration::fromSeconds(std::min(1e9, bytes / *m_rates.bytes)), time - longest);
    }

    std::vector<FusionCandidate> take()
    {
        std::vector<FusionCandidate> all;
        for (auto& [key, candidate] : m_byKey) all.push_back(std::move(candidate));
        std::stable_sort(all.begin(), all.end(),
                         [](const FusionCandidate& a, const FusionCandidate& b) { return a.saved() > b.saved(); });
        std::erase_if(all, [](const FusionCandidate& candidate) { return candidate.saved().ns <= 0; });
        if (all.size() > kMostCandidates) all.resize(kMostCandidates);
        return all;
    }

private:
    LaunchAnalysis& m_result;
    const OpDictionary& m_ops;
    Rates m_rates;
    std::map<std::pair<Phase, std::vector<std::string>>, FusionCandidate> m_byKey;
};

/// When the rank communicates, copies, loads or waits: emptiness then has another reason than launches.
Result<IntervalUnion> otherActivity(TraceQuery& trace, RankId rank, TimeRange range, const BoundedSlices& slices)
{
    IntervalUnion other;
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> records,
                         trace.collectives(rank, range, static_cast<std::size_t>(kMostSlicesAnalysed)));
    for (const CollectiveView& view : records) other.add({view.record.start, view.record.end});
    for (const LaneSlices& lane : slices.lanes)
        for (const SliceView& slice : lane.exact) {
            const Activity activity = slices.ops.at(slice.op)->activity;
            if (activity != Activity::Compute && activity != Activity::None && activity != Activity::Launch)
                other.add({slice.start, slice.end()});
        }
    return other;
}

/// What a call that launches a kernel takes on the host; absent: the trace has none.
Result<std::optional<Duration>> meanLaunchCall(TraceQuery& trace)
{
    constexpr std::size_t kMostLooked = 2000;
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries, trace.opSummaries(kMostLooked));
    std::int64_t count = 0;
    Duration total;
    for (const OpSummary& summary : summaries) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        if (!op || op->kind != SliceKind::HostCall || op->activity != Activity::Launch) continue;
        if (op->name.find("LaunchKernel") == std::string::npos &&
            op->name.find("LaunchCooperative") == std::string::npos)
            continue;
        addTo(count, summary.count);
        addTo(total, summary.total);
    }
    return count > 0 ? std::optional(Duration{total.ns / count}) : std::nullopt;
}

using Streams = std::map<TrackId, std::vector<const SliceView*>>;

/// Compute by track, whatever lane: lanes only keep overlapping slices apart. Counts it in `result`, too.
Streams computeStreams(const BoundedSlices& slices, LaunchAnalysis& result, IntervalUnion& computing)
{
    Streams streams;
    for (const LaneSlices& lane : slices.lanes) {
        for (const SliceView& slice : lane.exact)
            if (slices.ops.at(slice.op)->activity == Activity::Compute) {
                streams[lane.track].push_back(&slice);
                computing.add({slice.start, slice.end()});
                LengthClass& bucket = result.classes[classOf(slice.duration)];
                ++bucket.count;
                addTo(bucket.time, slice.duration);
                ++result.operators;
                addTo(result.compute, slice.duration);
            }
        for (const SliceBin& bin : lane.bins)
            if (slices.ops.at(bin.dominant)->activity == Activity::Compute) {
                // Of what is only known together, the mean length tells the class.
                LengthClass& bucket =
                    result.classes[classOf(Duration{bin.busy.ns / std::max<std::int64_t>(1, bin.count)})];
                addTo(bucket.count, bin.count);
                addTo(bucket.time, bin.busy);
                addTo(result.operators, bin.count);
                addTo(result.compute, bin.busy);
                computing.add({bin.start, bin.start + bin.busy});
            }
    }
    for (auto& [track, stream] : streams)
        std::stable_sort(stream.begin(), stream.end(),
                         [](const SliceView* a, const SliceView* b) { return a->start < b->start; });
    return streams;
}

/// Where neither is anything computed nor is there another reason for it.
void addGaps(LaunchAnalysis& result, IntervalUnion computing, IntervalUnion other)
{
    std::array<IntervalUnion, 2> busy{std::move(computing), std::move(other)};
    const std::span<const TimeRange> computed = busy[0].ranges();
    if (computed.empty()) return;
    const TimeRange between{computed.front().begin, computed.back().end};
    std::vector<TimeRange>& longest = result.longGaps;
    const auto keepLongest = [&longest] {
        std::stable_sort(longest.begin(), longest.end(),
                         [](const TimeRange& a, const TimeRange& b) { return a.length() > b.length(); });
        longest.resize(std::min(longest.size(), kLongGapsKept));
    };
    partitionByPriority(std::span<IntervalUnion>(busy), result.range, [&](TimeRange range, int which) {
        if (which >= 0) return;
        if (range.length() > result.longestGap) {
            result.longestGap = range.length();
            result.longestGapAt = range;
        }
        longest.push_back(range);
        if (longest.size() >= 2 * kLongGapsKept) keepLongest();
        if (between.contains(range.begin)) {
            ++result.gapCount;
            result.gaps += range.length();
        }
    });
    keepLongest();
}

/// What a launch costs: by the gaps between kernels, by the calls of the host, or what is typical.
Status addLaunchCost(LaunchAnalysis& result, TraceQuery& trace, const Streams& streams)
{
    std::vector<Duration> between;
    for (const auto& [track, stream] : streams)
        for (std::size_t i = 1; i < stream.size(); ++i) {
            const Duration gap = std::max(Duration{0}, stream[i]->start - stream[i - 1]->end());
            if (gap <= kLongestLaunchGap) between.push_back(gap);
        }
    if (!between.empty()) result.medianGap = upperMedian(std::move(between));
    // On a clock of operators alone nothing is launched, and nothing can be saved there.
    const bool virtualClock = trace.info().header.clock == ClockKind::Device;
    result.overheadFromGaps = virtualClock || result.medianGap.ns > 0;
    result.launchOverhead = result.overheadFromGaps ? result.medianGap : kTypicalLaunch;
    // Kernels that wait in a queue follow one another without a gap; their launches cost the host what the calls take.
    if (trace.info().header.source == TraceSource::Imported) {
        FOURWALLS_TRY_ASSIGN(const std::optional<Duration> call, meanLaunchCall(trace));
        if (call && *call > result.launchOverhead) {
            result.launchOverhead = *call;
            result.overheadFromGaps = false;
            result.overheadFromCalls = true;
        } else if (!call && result.launchOverhead < kTypicalLaunch) {
            result.launchOverhead = kTypicalLaunch;
            result.overheadFromGaps = false;
        }
    }
    return {};
}

/// Short operators that follow one another without a pause.
void collectSequences(Collector& collector, const Streams& streams, const OpDictionary& ops, const Rates& rates)
{
    for (const auto& [track, stream] : streams) {
        Sequence sequence;
        const auto close = [&] {
            collector.add(sequence);
            sequence.clear();
        };
        for (const SliceView* slice : stream) {
            const OpInfo& op = *ops.at(slice->op);
            if (!isCandidate(*slice, op, rates)) {
                close();
                continue;
            }
            if (!sequence.empty()) {
                const SliceView& before = *sequence.back();
                const bool follows = slice->start >= before.end() && slice->start - before.end() <= kLongestLaunchGap &&
                                     ops.at(before.op)->phase == op.phase && before.microbatch == slice->microbatch;
                if (!follows || sequence.size() >= kLongestSequence) close();
            }
            sequence.push_back(slice);
        }
        close();
    }
}

} // namespace

Result<LaunchAnalysis> launchGaps(TraceQuery& trace, RankId rank, std::optional<StepIndex> wanted, std::stop_token stop,
                                  std::int64_t mostRows)
{
    LaunchAnalysis result;
    result.rank = rank;
    FOURWALLS_TRY_ASSIGN(const StepWindow window, stepWindow(trace, wanted));
    const auto own = window.ranks.find(rank);
    result.range = own == window.ranks.end() ? window.range : own->second;
    result.stepLength = result.range.length();
    if (result.range.empty()) return result;
    FOURWALLS_TRY_ASSIGN(const BoundedSlices slices,
                         boundedSlices(trace, workTracks(trace, rank), result.range, mostRows, stop));
    result.shortest = slices.shortest;
    const TraceInfo& info = trace.info();
    const Rates rates{devicePeakFlops(info.header, info.closing), deviceBytesPerSecond(info.header, info.closing)};
    result.bandwidthKnown = rates.bytes.has_value();

    IntervalUnion computing;
    const Streams streams = computeStreams(slices, result, computing);
    FOURWALLS_TRY_ASSIGN(IntervalUnion other, otherActivity(trace, rank, result.range, slices));
    addGaps(result, std::move(computing), std::move(other));
    FOURWALLS_TRY(addLaunchCost(result, trace, streams));
    Collector collector(result, slices.ops, rates);
    collectSequences(collector, streams, slices.ops, rates);
    result.candidates = collector.take();
    return result;
}

} // namespace fourwalls
