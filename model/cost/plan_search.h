// SPDX-License-Identifier: Apache-2.0
// The search for a parallel plan: every sensible combination of degrees, micro-batches, schedule, sharding and
// recomputation for a number of devices, pruned by what does not divide, fit or change anything, priced by the closed
// form.
#pragma once

#include "model/base/result.h"
#include "model/cost/cost_model.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

namespace fourwalls::cost {

enum class SearchObjective {
    Time,   ///< shortest step on all devices
    Memory, ///< smallest peak on all devices
    Cost,   ///< fewest device-seconds per step; may leave devices idle
    Energy  ///< least energy per step, as energyOf models it; may leave devices idle
};

/// Plans of a first look: some seconds of searching. One number for all that search without being asked, so that they
/// find the same best plan.
inline constexpr std::int64_t kFirstLookPlans = 40'000;

struct SearchCounts {
    std::int64_t considered = 0; ///< combinations looked at
    std::int64_t refused = 0;    ///< of them plans that the launch arguments cannot say
    std::int64_t tooLarge = 0;   ///< of them plans whose states alone cannot fit
    std::int64_t evaluated = 0;  ///< of them priced; the others do not divide or cannot fit
    std::int64_t feasible = 0;   ///< of them priced and fitting into memory
};

/// One priced plan.
struct SearchedPlan {
    ParallelPlan plan;
    double seconds = 0;   ///< of a step
    double peakBytes = 0; ///< of the fullest rank
    bool feasible = false;
    double joules = 0; ///< of all devices in a step, modelled; 0 unknown
};

/// Whether a plan may leave devices idle: then fewer of them can be better.
constexpr bool mayUseFewer(SearchObjective objective)
{
    return objective == SearchObjective::Cost || objective == SearchObjective::Energy;
}

/// What a search makes least: seconds, bytes, device-seconds or joules.
double valueOf(const SearchedPlan& plan, SearchObjective objective);

/// What a search does not choose: the parts of a plan that its text names.
struct FixedParts {
    bool dp = false, tp = false, pp = false, cp = false, ep = false, vpp = false, microbatches = false, zero = false;
    bool sequenceParallel = false, recompute = false, schedule = false, layers = false, order = false;
    bool shard = false, expertTensor = false, offload = false; ///< not varied, but only kept where they are named
    ParallelPlan plan;

    /// text: as parsePlan reads it; plan: what it read.
    static FixedParts of(std::string_view text, const ParallelPlan& plan);
    /// The plan of what was named, and of the defaults for the rest.
    ParallelPlan named() const;
    bool allowsDegrees(const ParallelPlan& other) const
    {
        return (!dp || plan.dp == other.dp) && (!tp || plan.tp == other.tp) && (!pp || plan.pp == other.pp) &&
               (!cp || plan.cp == other.cp) && (!ep || plan.ep == other.ep);
    }
    bool allows(const ParallelPlan& other) const
    {
        return allowsDegrees(other) && (!vpp || plan.vpp == other.vpp) && (!shard || plan.shard == other.shard) &&
               (!microbatches || plan.microbatches == other.microbatches) && (!zero || plan.zero == other.zero) &&
               (!sequenceParallel || plan.sequenceParallel == other.sequenceParallel) &&
               (!recompute || (plan.recompute == other.recompute && plan.recomputeModules == other.recomputeModules &&
                               plan.stageRecompute == other.stageRecompute)) &&
               (!schedule || plan.schedule == other.schedule) && (!order || plan.order == other.order);
    }
};

struct SearchOptions {
    int devices = 1;
    FixedParts fixed;
    /// Only plans that these arguments say; absent: as the framework's preset has it.
    std::optional<LaunchTarget> launch;
    SearchObjective objective = SearchObjective::Time;
    int limit = 10;             ///< best plans to return
    int threads = 0;            ///< 0: as many as the machine has
    bool keepAll = false;       ///< also return every priced plan, for a plot
    bool explains = false;      ///< also say why the best plan is the best
    bool robust = false;        ///< the robust plan comes first; only for objectives that grow with the step's time
    std::int64_t mostPlans = 0; ///< stop after so many priced plans; 0: search all
    std::stop_token stop;       ///< ends the search; what was found until then is the result
    std::stop_token abandon;    ///< ends everything at once with Cancelled: nobody wants the result any more
    /// Called now and then from any thread, one at a time, with the counts so far; may be empty.
    std::function<void(const SearchCounts&)> progress;
    /// Called as `progress` is, with the plans priced since the last call, for plots that fill while the search runs;
    /// may be empty.
    std::function<void(std::span<const SearchedPlan>)> priced;
};

/// One alternative to the best plan.
struct PlanReason {
    std::string key, chosen, instead; ///< "tp", "8", "4"
    ParallelPlan plan;                ///< the best with it
    double seconds = 0;               ///< of its step, as predictStep says
    double peakBytes = 0;
    bool feasible = true;
    double change = 0;    ///< of what the search made least, relative to the best plan: 0.1 is 10 % more
    std::string sentence; ///< "8.1 % slower (+60 ms gradient_comm), at best with dp=16 tp=4 …"
};

/// The plan that loses least where the machine's rates are not those that were believed (expectedRegrets), among the best.
struct RobustChoice {
    SearchedPlan plan;
    bool isBest = true;      ///< it is the best one as believed, too
    double change = 0;       ///< of what the search made least, as believed, relative to the best plan
    double regret = 0;       ///< expected
    double regretOfBest = 0; ///< of the plan that is best as believed
    std::string sentence;
};

struct PlanSearchResult {
    std::vector<SearchedPlan> best;     ///< feasible ones first, best first
    std::vector<SearchedPlan> all;      ///< if asked for, in no order
    std::vector<PlanReason> reasons;    ///< if asked for: why the first of `best`, where it fits
    std::optional<RobustChoice> robust; ///< of times and device-seconds, where a plan fits
    SearchCounts counts;
    std::optional<Error> refusal; ///< of one of the plans that were refused
    double elapsedSeconds = 0;
    bool stopped = false; ///< by the stop token or mostPlans
};

/// Searches. spec: model, training settings with the batch, cluster; its plan's overlap, fuse, attention, collective
/// and routing are kept, and what options.fixed names. Only schedules and ZeRO stages that the framework has. The best
/// plans' times are simulated, so that they agree with `predict`.
/// Errors: InvalidArgument naming the field for no devices, a batch or a cluster that cannot be used, or a robust choice
/// by an objective that has none; Unsupported for the energy of devices that do not tell their power; Cancelled when it was
/// abandoned.
Result<PlanSearchResult> searchPlans(const RunSpec& spec, const FrameworkPreset& framework,
                                     const Calibration& calibration, const SearchOptions& options);

} // namespace fourwalls::cost
