// SPDX-License-Identifier: Apache-2.0
// The order of finishing: steps first (they say what is measured), then counters, tracks rank by rank, memory and
// the rest, and at last what is only known at the end.
#include "model/store/finisher.h"

#include "model/store/definitions.h"
#include "model/store/memory_finisher.h"
#include "model/store/record_finisher.h"
#include "model/store/slice_finisher.h"
#include "model/trace/audit_counter.h"

#include <map>
#include <memory>

namespace fourwalls::store {
namespace {

/// All tracks. Ranks of pipelines wait for each other: the pipeline's window is the hull over its stages.
Status finishTracks(FinishContext& context)
{
    const Definitions& definitions = context.definitions();
    std::map<std::int32_t, std::vector<std::int32_t>> tracksOfRank;
    for (const std::int32_t rank : context.source.ranks()) tracksOfRank[rank];
    for (std::size_t track = 0; track < definitions.tracks.size(); ++track)
        tracksOfRank[definitions.tracks[track].rank.value].push_back(static_cast<std::int32_t>(track));

    const bool pipelined = isPipelined(definitions.header);
    std::map<std::int32_t, std::shared_ptr<ActivityFinisher>> waiting;
    std::map<int, std::map<StepIndex, TimeRange>> hulls;
    SliceFinisher slices(context);
    std::size_t done = 0;
    for (const auto& [rank, tracks] : tracksOfRank) {
        auto activity = std::make_shared<ActivityFinisher>(context, rank);
        for (const std::int32_t track : tracks) {
            FOURWALLS_TRY(slices.finishTrack(track, *activity));
            FOURWALLS_TRY(
                context.checkpoint(0.9 * static_cast<double>(++done) / static_cast<double>(definitions.tracks.size())));
        }
        activity->seal(); // what waits is in the chunk store
        if (!pipelined) {
            FOURWALLS_TRY(slices.finishRank(std::move(activity)));
            continue;
        }
        mergePipelineWindows(hulls[pipelineOf(definitions.header, RankId(rank))], activity->pipelineWindows());
        waiting[rank] = std::move(activity);
    }
    FOURWALLS_TRY(slices.wait());
    for (auto& [rank, activity] : waiting) {
        activity->finish(hulls[pipelineOf(definitions.header, RankId(rank))]);
        activity.reset();
        FOURWALLS_TRY(context.checkpoint(-1));
    }
    slices.finish();
    return context.checkpoint(0.92);
}

void putDefinitions(FinishContext& context)
{
    const Definitions& definitions = context.definitions();
    for (const RankInfo& rank : definitions.header.ranks) putRank(context.out, rank);
    for (std::size_t i = 0; i < definitions.groups.size(); ++i) putGroup(context.out, i, definitions.groups[i]);
    for (std::size_t i = 0; i < definitions.strings.size(); ++i) putString(context.out, i, definitions.strings[i]);
    for (std::size_t i = 0; i < definitions.ops.size(); ++i) putOp(context.out, i, definitions.ops[i]);
    context.counts.ops = static_cast<std::int64_t>(definitions.ops.size());
}

void putAudits(FinishContext& context)
{
    std::map<std::pair<std::string, AuditSeverity>, AuditRecord> audits;
    const auto add = [&](const AuditRecord& record) {
        // A fact may be negative, as the distance of two clocks; a count of losses may not.
        if (record.count == 0 || (record.count < 0 && record.severity != AuditSeverity::Info)) return;
        const auto [found, isNew] = audits.try_emplace({record.name, record.severity}, record);
        if (!isNew) found->second.count += record.count;
    };
    for (const AuditRecord& record : context.definitions().audit) add(record);
    const Skipped& skipped = context.source.skipped();
    add(auditRecord(AuditCounter::InvalidRecords, context.invalid + skipped.invalid + skipped.repeatedBuffers));
    add(auditRecord(AuditCounter::UnknownFrees, skipped.frees));
    add(auditRecord(AuditCounter::UnreadableBatches, skipped.unreadable));
    add(auditRecord(AuditCounter::OverlappingSlices, context.overlapping));
    if (!context.definitions().closed) add(auditRecord(AuditCounter::RecordingInterrupted, 1));
    for (const auto& [key, record] : audits) putAudit(context.out, record);
}

void putAllMeta(FinishContext& context)
{
    const Definitions& definitions = context.definitions();
    Meta meta = metaOf(definitions.header, definitions.specJson);
    addClosing(meta, definitions.closing);
    meta["state"] = std::string("finished");
    meta["complete"] = std::int64_t{definitions.closed ? 1 : 0};
    meta["closed"] = std::int64_t{definitions.closed ? 1 : 0};
    meta["window_begin"] = definitions.windowBegin;
    meta["window_end"] = definitions.windowEnd;
    meta["range_begin"] = context.covered() ? context.firstTime : std::int64_t{0};
    meta["range_end"] = context.covered() ? context.lastTime : std::int64_t{0};
    meta["step_count"] = std::int64_t{context.stepCount};
    if (context.lostSteps > 0) meta["lost_step_count"] = std::int64_t{context.lostSteps};
    meta["slices"] = context.counts.slices;
    meta["allocations"] = context.counts.allocations;
    meta["collectives"] = context.counts.collectives;
    meta["counter_samples"] = context.counts.counterSamples;
    meta["flows"] = context.counts.flows;
    meta["events"] = context.counts.events;
    meta["ops"] = context.counts.ops;
    meta["overlapping_slices"] = context.overlapping;
    const ActivityBins bins =
        ActivityBins::over(definitions.windowBegin, std::max(definitions.windowEnd, definitions.windowBegin + 1));
    meta["rank_bin_width"] = bins.width;
    meta["rank_bin_levels"] = std::int64_t{bins.levels};
    if (definitions.jobStepRule == JobStepRule::Ends) meta["job_steps"] = std::string(kJobStepsByEnds);
    if (definitions.marksLost) meta["lost_steps"] = std::string(kLostStepsTakenAgain);
    if (definitions.activityClasses > kClassesWithoutWaiting)
        meta["rank_bin_classes"] = std::int64_t{definitions.activityClasses};
    putMeta(context.out, meta);
}

} // namespace

Status finishRecords(RecordSource& source, RowOutput& out, ChunkStore& chunks, const FinishOptions& options,
                     FinishThreads threads)
{
    FinishOptions forward = options;
    if (options.progress) {
        forward.progress = [&options](double fraction) {
            if (fraction >= 0) options.progress(fraction);
        };
    }
    FinishContext context{source, out, chunks, forward, threads};
    FOURWALLS_TRY(finishSteps(context));
    FOURWALLS_TRY(finishCounters(context));
    FOURWALLS_TRY(finishTracks(context));
    MemoryFinisher memory(context);
    for (const std::int32_t rank : source.ranks()) {
        FOURWALLS_TRY(memory.finishRank(rank));
        FOURWALLS_TRY(context.checkpoint(-1));
    }
    FOURWALLS_TRY(finishCollectives(context));
    FOURWALLS_TRY(finishFlows(context));
    FOURWALLS_TRY(finishEvents(context));
    putDefinitions(context);
    putAudits(context);
    putAllMeta(context);
    FOURWALLS_TRY(out.finish());
    return context.checkpoint(1);
}

} // namespace fourwalls::store
