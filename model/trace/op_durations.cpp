// SPDX-License-Identifier: Apache-2.0
// See op_durations.h.
#include "model/trace/op_durations.h"

#include "model/trace/summary_builder.h"

#include <map>
#include <set>
#include <utility>

namespace fourwalls {

Result<std::vector<DurationDistribution>> opDurations(TraceQuery& trace, const std::stop_token& stop,
                                                      std::size_t mostKept)
{
    std::map<RankId, StepLookup> lookups;
    std::set<RankId> ranks;
    for (const RankInfo& rank : trace.info().header.ranks) ranks.insert(rank.rank);
    for (const TrackView& track : trace.tracks()) ranks.insert(track.info.rank);
    for (const RankId rank : ranks) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
        if (steps.empty()) continue;
        std::vector<StepRecord> records;
        for (const StepView& step : steps) records.push_back(step.record);
        lookups.emplace(rank, StepLookup(records));
    }
    std::vector<const StepLookup*> ofTrack; // null: the rank has no steps
    for (const TrackView& track : trace.tracks()) {
        const auto found = lookups.find(track.info.rank);
        ofTrack.push_back(found == lookups.end() ? nullptr : &found->second);
    }
    const auto isCounted = [&](const SliceView& slice) {
        if (lookups.empty()) return true;
        const auto track = static_cast<std::size_t>(slice.track.value);
        const StepLookup* lookup = track < ofTrack.size() ? ofTrack[track] : nullptr;
        const StepRecord* step = lookup ? lookup->find(slice.start) : nullptr;
        return step && step->measured();
    };
    std::vector<DurationDistribution> durations;
    std::size_t kept = 0;
    const auto visit = [&](const SliceView& slice) {
        const auto op = static_cast<std::size_t>(slice.op.value);
        if (slice.op.value < 0 || !isCounted(slice)) return true;
        if (op >= durations.size()) durations.resize(op + 1);
        kept += durations[op].isExact() ? 1 : 0;
        durations[op].add(slice.duration);
        if (kept <= mostKept) return true;
        for (DurationDistribution& each : durations)
            if (each.count() > 0) each.makeRough();
        kept = 0;
        return true;
    };
    FOURWALLS_TRY(trace.scanSlices(visit, stop));
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}, {}};
    return durations;
}

} // namespace fourwalls
