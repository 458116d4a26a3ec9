// SPDX-License-Identifier: Apache-2.0
// See diagnosis.h.
#include "model/diagnose/diagnosis.h"

#include "model/diagnose/causes.h"
#include "model/diagnose/evidence_rows.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::diagnose {

namespace {

/// A trace without steps of its own that holds less of a device's work is no picture of a job.
constexpr std::int64_t kLeastWork = 20;

/// How far from the gain it may be that is promised.
void settleBand(const CaseFacts& facts, Gain& gain)
{
    if (gain.source == GainSource::UpperBound) {
        gain.band = Gain::Band{{}, gain.perStep};
    } else if (facts.result.replayError) {
        const Duration off{std::llround(*facts.result.replayError / 100 * facts.length())};
        gain.band = Gain::Band{std::max(Duration{}, gain.perStep - off), gain.perStep + off};
    }
}

/// A memory snapshot: buffers, and nothing that ran.
bool isSnapshot(const TraceInfo& info)
{
    return info.counts.slices == 0 && info.counts.allocations > 0;
}

} // namespace

Result<Diagnosis> diagnose(TraceQuery& trace, std::stop_token stop, std::optional<StepIndex> wanted)
{
    CaseFacts facts(trace, stop);
    FOURWALLS_TRY(readFacts(facts, wanted));
    if (facts.summaries.empty() || facts.length() <= 0) {
        if (isSnapshot(trace.info()))
            facts.abstain(Cause::HostBound, Lack::Snapshot,
                          "a memory snapshot has neither steps nor kernels: it tells of memory only");
        else
            facts.abstain(Cause::HostBound, Lack::Steps, "the trace has no steps");
    } else if (facts.result.wholeTrace && facts.hasDevice && facts.deviceWork < kLeastWork) {
        facts.abstain(Cause::HostBound, Lack::Steps,
                      "the trace has no steps, and what is in it of a device's work (slices: " +
                          std::to_string(facts.deviceWork) + ") stands for none");
    } else {
        findThrottling(facts);
        findSlowRanks(facts);
        findDataLoading(facts);
        findHostPauses(facts);
        findBadSteps(facts);
        findExpertImbalance(facts);
        findSequenceImbalance(facts);
        findSlowStage(facts);
        findSlowLinks(facts);
        findWaiting(facts);
        findExposedCommunication(facts);
        findWarmUp(facts);
        findHostBound(facts);
        findCopies(facts);
        findBubble(facts);
        findSmallKernels(facts);
        FOURWALLS_TRY(findLoweredClocks(facts));
        FOURWALLS_TRY(findStalls(facts));
        facts.result.compute = facts.share([](const StepSummary& s) { return s.compute; });
    }
    FOURWALLS_TRY(findMemory(facts));
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "findings", {}};
    for (Finding& each : facts.result.findings)
        if (each.gain) {
            each.urgency = each.gain->share;
            settleBand(facts, *each.gain);
        }
    std::stable_sort(facts.result.findings.begin(), facts.result.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.urgency > b.urgency; });
    for (Finding& each : facts.result.findings) settleRows(facts, each);
    return std::move(facts.result);
}

} // namespace fourwalls::diagnose
