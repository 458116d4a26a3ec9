// SPDX-License-Identifier: Apache-2.0
// See memory_questions.h.
#include "model/present/memory_questions.h"

#include "model/present/rank_tracks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace fourwalls {

namespace {

constexpr int kMemoryPhasePixels = 2000;
constexpr double kMostReserved = 1.5; ///< times the peak: reserved memory up to here is in the plot

Result<std::vector<PhaseSpan>> phasesIn(TraceQuery& trace, const std::vector<TrackId>& tracks, TimeRange range)
{
    std::vector<PhaseSpan> phases;
    if (tracks.empty() || range.empty()) return phases;
    FOURWALLS_TRY_ASSIGN(SliceWindow window, trace.slices({tracks, range, kMemoryPhasePixels}));
    for (const LaneSlices& lane : window.lanes) {
        for (const SliceView& slice : lane.exact) {
            const auto op = window.ops.find(slice.op);
            if (op == window.ops.end() || op->second->phase == Phase::None) continue;
            phases.push_back({{slice.start, slice.end()}, op->second->phase, slice.microbatch});
        }
    }
    std::sort(phases.begin(), phases.end(),
              [](const PhaseSpan& a, const PhaseSpan& b) { return a.range.begin < b.range.begin; });
    return phases;
}

/// What only imports have: where a snapshot begins, what an allocator counted.
Status askImportedFacts(TraceQuery& trace, MemoryFacts& facts)
{
    const TraceInfo& info = trace.info();
    const RankId rank = facts.rank.rank;
    const TimeRange whole{info.range.begin, info.range.end + Duration{1}};
    if (facts.summaries.empty()) {
        FOURWALLS_TRY_ASSIGN(facts.counted, allocatorCurve(trace, rank, whole, kMemoryPhasePixels));
        return {};
    }
    facts.relative = isMemoryRelative(info);
    FOURWALLS_TRY_ASSIGN(const std::int64_t standing, standingMemory(trace, rank, whole));
    facts.standing = info.header.source == TraceSource::Imported && isStanding(facts.summaries.front(), standing);
    facts.fromSnapshot = hasMemorySnapshot(info);
    if (!facts.fromSnapshot) return {};
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const std::string& name = info.counters[i].name;
        if (info.counters[i].rank != rank || (name != "requested_bytes" && name != "allocated_bytes")) continue;
        FOURWALLS_TRY_ASSIGN(const std::vector<CounterSample> samples,
                             trace.counter(CounterId(static_cast<std::int32_t>(i)), whole, kMemoryPhasePixels));
        if (samples.empty()) continue;
        if (name == "allocated_bytes") facts.roundedAtEnd = static_cast<std::int64_t>(samples.back().last);
        // One at the begin of the history, one at its end.
        else if (samples.size() > 1)
            facts.atBegin = static_cast<std::int64_t>(samples.front().min);
    }
    return {};
}

} // namespace

const MemorySummary* MemoryFacts::summary(std::optional<StepIndex> step) const
{
    const auto found = std::find_if(summaries.begin(), summaries.end(),
                                    [&](const MemorySummary& summary) { return summary.step == step; });
    return found == summaries.end() ? nullptr : &*found;
}

Result<MemoryFacts> askMemoryFacts(TraceQuery& trace, RankId rank)
{
    MemoryFacts facts;
    facts.rank.rank = rank;
    for (const RankInfo& info : trace.info().header.ranks) {
        if (info.rank == rank) facts.rank = info;
    }
    FOURWALLS_TRY_ASSIGN(facts.summaries, trace.memorySummaries(rank, std::numeric_limits<std::size_t>::max()));
    std::stable_sort(facts.summaries.begin(), facts.summaries.end(),
                     [](const MemorySummary& a, const MemorySummary& b) { return a.step < b.step; });
    std::int64_t reserved = 0;
    for (const MemorySummary& summary : facts.summaries) {
        facts.highestPeak = std::max(facts.highestPeak, summary.peakBytes);
        reserved = std::max(reserved, summary.peakReservedBytes.value_or(0));
        for (std::size_t i = 0; i < facts.categoryPeaks.size(); ++i)
            facts.categoryPeaks[i] = std::max(facts.categoryPeaks[i], summary.categoryPeaks[i]);
    }
    // An allocator that holds many times what is in use would press the curve to the axis: its line then leaves the plot.
    if (static_cast<double>(reserved) <= kMostReserved * static_cast<double>(facts.highestPeak))
        facts.highestPeak = std::max(facts.highestPeak, reserved);
    FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
    facts.steps = stepSpansOf(steps);
    const auto& counters = trace.info().counters;
    for (std::size_t i = 0; i < counters.size(); ++i) {
        if (counters[i].name == "reserved_bytes" && counters[i].rank == rank) {
            facts.reserved = CounterId(static_cast<std::int32_t>(i));
        }
    }
    facts.phaseTracks = tracksOf(trace, rank, {TrackKind::Phases});
    FOURWALLS_TRY_ASSIGN(const std::vector<OutOfMemory> moments, outOfMemoryMoments(trace));
    for (const OutOfMemory& moment : moments) {
        if (!moment.rank || *moment.rank == rank)
            facts.outOfMemory.push_back(moment);
        else if (std::ranges::find(facts.othersOutOfMemory, *moment.rank) == facts.othersOutOfMemory.end())
            facts.othersOutOfMemory.push_back(*moment.rank);
    }
    FOURWALLS_TRY(askImportedFacts(trace, facts));
    return facts;
}

Result<MemoryWindowAnswer> askMemoryWindow(TraceQuery& trace, const MemoryFacts& facts, TimeRange range, int pixels)
{
    if (facts.counted) {
        MemoryWindowAnswer answer;
        CounterPicture counted;
        counted.range = range;
        counted.pixels = pixels;
        FOURWALLS_TRY_ASSIGN(std::optional<AllocatorCurve> curve,
                             allocatorCurve(trace, facts.rank.rank, range, pixels));
        if (curve) counted.curve = std::move(*curve);
        answer.counted = std::make_shared<const CounterPicture>(std::move(counted));
        FOURWALLS_TRY_ASSIGN(answer.phases, phasesIn(trace, facts.phaseTracks, range));
        return answer;
    }
    MemoryPicture picture;
    picture.pixels = pixels;
    FOURWALLS_TRY_ASSIGN(picture.window, trace.memory(facts.rank.rank, range, pixels));
    if (facts.reserved) {
        FOURWALLS_TRY_ASSIGN(picture.reserved, trace.counter(*facts.reserved, range, pixels));
    }
    MemoryWindowAnswer answer;
    FOURWALLS_TRY_ASSIGN(answer.phases, phasesIn(trace, facts.phaseTracks, range));
    answer.picture = std::make_shared<const MemoryPicture>(std::move(picture));
    return answer;
}

Result<BlockPicture> askBlocks(TraceQuery& trace, const BlockQuestion& question)
{
    FOURWALLS_TRY_ASSIGN(AllocationList list,
                         trace.allocations(question.rank, question.range, kBlockLimit, kMostBuffersRead));
    BlockPicture picture;
    picture.range = question.range;
    picture.placed = question.place != BlockQuestion::Place::None;
    const BlockPicture* previous = question.previous.get();
    if (question.place == BlockQuestion::Place::ByAddress) picture.layout = placeByAddress(list, question.range);
    if (question.place == BlockQuestion::Place::Packed) {
        picture.layout = packBlocks(list, question.range, previous ? previous->list.get() : nullptr,
                                    previous ? &previous->layout : nullptr);
    }
    picture.list = std::make_shared<const AllocationList>(std::move(list));
    return picture;
}

Result<AliveAnswer> askAlive(TraceQuery& trace, const MemoryFacts& facts, Instant at)
{
    AliveAnswer answer;
    answer.at = at;
    FOURWALLS_TRY_ASSIGN(answer.list, trace.aliveAt(facts.rank.rank, at, kAliveLimit));
    // The phases of the step around the instant decide "as backward begins".
    TimeRange around{at, at + Duration{1}};
    if (const StepSpan* step = stepAt(*facts.steps, at)) around = step->range;
    FOURWALLS_TRY_ASSIGN(std::vector<PhaseSpan> phases, phasesIn(trace, facts.phaseTracks, around));
    answer.place = placeIn(phases, at);
    const AllocationView* latest = latestAlive(answer.list, at);
    const OpInfo* op = latest ? makerOf(*latest, answer.list.ops) : nullptr;
    const Phase maker = op ? op->phase : Phase::None;
    if (answer.place.place == PhasePlace::Unknown && maker != Phase::None) {
        answer.place = {PhasePlace::During, maker};
    }
    // The loss is one phase with work of both directions; its gradients are where backward begins.
    if (answer.place.phase == Phase::Forward && (maker == Phase::BackwardInput || maker == Phase::BackwardWeight)) {
        answer.place = {PhasePlace::Begin, Phase::BackwardInput};
    }
    return answer;
}

} // namespace fourwalls
