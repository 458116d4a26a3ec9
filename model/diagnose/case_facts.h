// SPDX-License-Identifier: Apache-2.0
// What all causes look at: the step that stands for the job as stored figures, and the steps around it as a graph.
#pragma once

#include "model/diagnose/finding.h"
#include "model/diagnose/work_effects.h"
#include "model/replay/gain.h"
#include "model/trace/arrival_skew.h"
#include "model/trace/job_step.h"
#include "model/trace/step_summary.h"
#include "model/trace/trace_query.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace fourwalls::diagnose {

/// Of what a rank or a step takes longer on the wall clock a processor has to work so much: else it stood, or had no core.
inline constexpr double kLeastWorked = 0.5;

struct CaseFacts {
    CaseFacts(TraceQuery& ofTrace, std::stop_token until) : trace(ofTrace), stop(std::move(until)) {}

    TraceQuery& trace;
    std::stop_token stop;
    Diagnosis result;

    std::vector<JobStep> steps;         ///< of the job, by number
    std::vector<StepSummary> summaries; ///< of the step, by rank
    TimeRange range;                    ///< of the step
    std::int64_t runs = 1;              ///< measured steps times ranks: what op summaries were added up over
    double ownTime = 0; ///< mean over the ranks' own step [ns]: longer than the job's where they begin apart
    /// How long a rank's processor worked in each measured step, as the engine counts it (step_cpu_ms) [ns]. Empty: the
    /// recording does not say, or its clock is no wall clock.
    std::map<RankId, std::map<StepIndex, double>> worked;
    std::vector<std::pair<std::shared_ptr<const OpInfo>, OpSummary>> ops;
    std::vector<JoinedOperation> operations; ///< of the step
    bool hasDevice = false, hasHost = false;
    /// Shares of the step that findWarmUp explains: in calls that wait, in launches, and all but those that wait.
    double startUpWaits = 0, startUpLaunches = 0, startUpIdle = 0;
    std::int64_t deviceWork = 0; ///< slices of devices in the whole trace

    std::optional<replay::Replay> ofStep; ///< of the step alone; made by gainOfChange
    std::optional<replay::Replay> replay; ///< of the steps around that one; absent: see whyNoReplay
    std::string whyNoReplay;
    WorkEffects work; ///< of the replay; empty without one

    double length() const { return static_cast<double>(result.stepTime.ns); }
    double perStep(std::int64_t total) const { return static_cast<double>(total) / static_cast<double>(runs); }
    /// What op summaries added up, as a share of the ranks' own step.
    double shareOfOwn(std::int64_t total) const { return ownTime > 0 ? std::min(1.0, perStep(total) / ownTime) : 0; }
    /// Mean over the ranks, as a share of the step.
    template <class Part>
    double share(Part part) const
    {
        double sum = 0;
        for (const StepSummary& summary : summaries) sum += static_cast<double>(part(summary).ns);
        return summaries.empty() || length() <= 0 ? 0 : sum / static_cast<double>(summaries.size()) / length();
    }
    double deviceIdle() const
    {
        return share([](const StepSummary& s) { return s.idle(); });
    }
    /// The rank that has most of it.
    template <class Part>
    std::optional<RankId> most(Part part) const
    {
        const auto found = std::max_element(summaries.begin(), summaries.end(),
                                            [&](const auto& a, const auto& b) { return part(a) < part(b); });
        return found == summaries.end() ? std::nullopt : std::optional(found->rank);
    }

    /// A finding of all ranks in the step, with that share of it as evidence and as the most that can be won.
    Finding ofShare(Cause cause, double share) const;
    /// A finding of some ranks over the replayed steps.
    Finding ofRanks(Cause cause, std::vector<RankId> ranks) const;
    void add(Finding finding) { result.findings.push_back(std::move(finding)); }
    void abstain(Cause cause, Lack lack, std::string because, SourcePlace source = {})
    {
        result.abstained.push_back({cause, lack, std::move(because), std::move(source)});
    }
    /// The finding of that cause, of any of its ranks; null: none.
    Finding* found(Cause cause);

    /// How much shorter the replayed steps get if nodes take other times. rule: what delays are to begin with; what they
    /// are usually, or, for causes that are delays, as recorded. also: what changes the times before and after alike, for
    /// a cause that another one covers. Precondition: replay.
    using TimeChange = std::function<void(replay::NodeTimes&)>;
    Gain gainOf(const TimeChange& change, replay::DelayRule rule = replay::DelayRule::Class,
                const TimeChange& also = {}) const;
    /// What a change makes of the step that stands for the job: the number that `replay --steps N-N --change` and the
    /// window say, too. Errors: those of replay::gainOf; Unsupported without a replay.
    Result<replay::ChangeGain> gainOfChange(std::string_view change);
};

/// Reads what the causes need. Errors: those of the queries; Cancelled.
Status readFacts(CaseFacts& facts, std::optional<StepIndex> wanted);

} // namespace fourwalls::diagnose
