// SPDX-License-Identifier: Apache-2.0
// See step_window.h.
#include "model/trace/step_window.h"

#include <algorithm>
#include <limits>

namespace fourwalls {

std::optional<JobStep> stepOfNumber(const std::vector<JobStep>& steps, std::optional<StepIndex> wanted)
{
    const auto found = std::find_if(steps.begin(), steps.end(),
                                    [wanted](const JobStep& step) { return wanted && step.step == *wanted; });
    return found == steps.end() ? std::nullopt : std::optional(*found);
}

Result<StepWindow> stepWindow(TraceQuery& trace, std::optional<StepIndex> wanted)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    std::optional<JobStep> step = stepOfNumber(steps, wanted);
    if (!step) step = typicalStep(steps);
    StepWindow window;
    if (!step) {
        window.range = trace.info().range;
        for (const RankInfo& rank : trace.info().header.ranks) window.ranks[rank.rank] = window.range;
        return window;
    }
    window.step = step->step;
    window.range = step->range;
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, trace.stepSummaries(step->step));
    for (const StepSummary& summary : summaries) window.ranks[summary.rank] = summary.range;
    if (trace.info().closing.stepsBy == kWholeTrace) window.step.reset(); // nobody marked a step of that number
    return window;
}

Result<BoundedSlices> boundedSlices(TraceQuery& trace, const std::vector<TrackId>& tracks, TimeRange range,
                                    std::int64_t mostRows, std::stop_token stop)
{
    BoundedSlices result;
    if (range.empty() || tracks.empty()) return result;
    std::int64_t lanes = 0, all = 0;
    for (const TrackId track : tracks) {
        const TrackView& view = trace.tracks()[static_cast<std::size_t>(track.value)];
        lanes += std::max(1, view.lanes);
        all += view.slices;
    }
    const std::int64_t nanoseconds = range.length().ns;
    const auto pixelsOf = [](std::int64_t pixels) {
        return static_cast<int>(std::clamp<std::int64_t>(pixels, 1, std::numeric_limits<int>::max()));
    };
    const auto read = [&](int pixels) { return trace.slices({tracks, range, pixels}, stop); };
    // With columns of a nanosecond every slice stands by itself; with fewer columns the bins say how many there are.
    const int finest = pixelsOf(nanoseconds);
    int pixels = finest;
    if (all > mostRows) {
        const int coarse = pixelsOf(std::min<std::int64_t>(
            nanoseconds, std::max<std::int64_t>(500, mostRows / std::max<std::int64_t>(1, 2 * lanes))));
        FOURWALLS_TRY_ASSIGN(SliceWindow window, read(coarse));
        std::int64_t inside = 0;
        for (const LaneSlices& lane : window.lanes) {
            inside += static_cast<std::int64_t>(lane.exact.size());
            for (const SliceBin& bin : lane.bins) inside += bin.count;
        }
        if (inside > mostRows || coarse == finest) {
            result.lanes = std::move(window.lanes);
            result.ops = std::move(window.ops);
            const bool binned = std::any_of(result.lanes.begin(), result.lanes.end(),
                                            [](const LaneSlices& lane) { return !lane.bins.empty(); });
            if (binned) result.shortest = Duration{std::max<std::int64_t>(1, nanoseconds / coarse)};
            return result;
        }
    }
    FOURWALLS_TRY_ASSIGN(SliceWindow window, read(pixels));
    result.lanes = std::move(window.lanes);
    result.ops = std::move(window.ops);
    for (const LaneSlices& lane : result.lanes)
        if (!lane.bins.empty()) result.shortest = Duration{std::max<std::int64_t>(1, nanoseconds / pixels)};
    return result;
}

std::vector<TrackId> workTracks(const TraceQuery& trace, RankId rank)
{
    std::vector<TrackId> streams, others;
    for (const TrackView& track : trace.tracks()) {
        if (track.info.rank != rank) continue;
        const TrackKind kind = track.info.kind;
        if (kind == TrackKind::ComputeStream || kind == TrackKind::CopyStream)
            streams.push_back(track.id);
        else if (kind != TrackKind::Steps && kind != TrackKind::Phases && kind != TrackKind::CommStream &&
                 kind != TrackKind::Markers)
            others.push_back(track.id);
    }
    const bool hasCompute = std::any_of(streams.begin(), streams.end(), [&](TrackId id) {
        return trace.tracks()[static_cast<std::size_t>(id.value)].info.kind == TrackKind::ComputeStream;
    });
    if (hasCompute) return streams;
    others.insert(others.end(), streams.begin(), streams.end());
    return others;
}

} // namespace fourwalls
