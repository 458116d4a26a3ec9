// SPDX-License-Identifier: Apache-2.0
// See diagnosis.h.
#include "model/diagnose/diagnosis.h"

#include "model/diagnose/causes.h"

#include <algorithm>

namespace fourwalls::diagnose {

namespace {

/// A trace without steps of its own that holds less of a device's work is no picture of a job.
constexpr std::int64_t kLeastWork = 20;

} // namespace

Result<Diagnosis> diagnose(TraceQuery& trace, std::stop_token stop, std::optional<StepIndex> wanted)
{
    CaseFacts facts(trace, stop);
    FOURWALLS_TRY(readFacts(facts, wanted));
    if (facts.summaries.empty() || facts.length() <= 0) {
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
        findHostBound(facts);
        findCopies(facts);
        findBubble(facts);
        findSmallKernels(facts);
        FOURWALLS_TRY(findLoweredClocks(facts));
        findStalls(facts);
        facts.result.compute = facts.share([](const StepSummary& s) { return s.compute; });
    }
    FOURWALLS_TRY(findMemory(facts));
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "a newer question came", "findings", {}};
    for (Finding& each : facts.result.findings)
        if (each.gain) each.urgency = each.gain->share;
    std::stable_sort(facts.result.findings.begin(), facts.result.findings.end(),
                     [](const Finding& a, const Finding& b) { return a.urgency > b.urgency; });
    return std::move(facts.result);
}

} // namespace fourwalls::diagnose
