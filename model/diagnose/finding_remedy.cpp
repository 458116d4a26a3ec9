// SPDX-License-Identifier: Apache-2.0
// See finding_remedy.h.
#include "model/diagnose/finding_remedy.h"

#include "model/replay/gain.h"

namespace fourwalls::diagnose {

std::string remedyOf(const Finding& finding)
{
    switch (finding.cause) {
    case Cause::SlowRank:
        if (finding.ranks.size() != 1) return "stragglers=none";
        return replay::betterment({replay::GainSubject::Kind::Rank, {}, finding.ranks.front()});
    case Cause::SlowStage: return finding.stage ? "stage:" + std::to_string(*finding.stage) + "=fleet" : std::string();
    case Cause::SequenceImbalance:
    case Cause::ExpertImbalance: return "stragglers=none";
    case Cause::HostBound: return isOfLaunches(finding) ? "launches=graph" : "";
    case Cause::SmallKernels: return "launches=graph";
    case Cause::PipelineBubble: return "schedule=zb";
    default: return {};
    }
}

bool isOfLaunches(const Finding& finding)
{
    constexpr double kMostPerLaunch = 1;                             // [ms]
    const double kernels = finding.value(EvidenceKind::Occurrences); // a step
    return kernels <= 0 || finding.value(EvidenceKind::TimePerStep) <= kMostPerLaunch * kernels;
}

} // namespace fourwalls::diagnose
