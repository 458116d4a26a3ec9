// SPDX-License-Identifier: Apache-2.0
// `plan --verify`: the plans that a search puts first, and some that it puts last, trained by the engine: is the predicted
// order the real one?
#pragma once

#include "app/cli/predict_arguments.h"
#include "model/cost/plan_search.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// A plan as predicted and as trained.
struct VerifiedPlan {
    ParallelPlan plan;
    bool isBest = false;                              ///< of those that the search put first; else one of the others
    double predictedSeconds = 0, recordedSeconds = 0; ///< of a step
    double lowSeconds = 0, highSeconds = 0;       ///< of a step in single rounds, with the kernel times of these alone
    double predictedBytes = 0, recordedBytes = 0; ///< peak of the fullest rank
};

struct PlanVerification {
    std::vector<VerifiedPlan> plans; ///< in the order of what was predicted; only those that were trained
    struct Refused {
        ParallelPlan plan;
        std::string why;
    };
    std::vector<Refused> refused; ///< of the search's plans: those that the engine cannot train
    std::optional<Error> failure; ///< that ended it before all were trained; Cancelled where it was stopped

    /// How much longer the step of the plan predicted quickest takes than the least of all those trained; 0.1 is 10 %.
    /// Absent where none was trained.
    std::optional<double> regret() const;
    /// How far single rounds of a plan lie apart, the median over the plans: differences between plans below it may be those
    /// of the machine from one minute to the next. Absent where none was trained.
    std::optional<double> apart() const;
    /// Share of the pairs whose recorded times lie as the predicted ones; absent where there is no pair.
    std::optional<double> pairsInOrder() const;
};

/// Prepares what the search predicts for the device clock, on which verification trains: every rank has a device of its own.
/// Errors: InvalidArgument where the engine's rates are not those of the cluster.
Status predictDeviceClock(PredictionInputs& inputs, int devices);

/// Trains `count` of the best plans and half as many of the others (2 at least, spread over their order) on the device clock.
/// Kernel times come from three rounds through all plans, one after the other, in each of which every plan measures its own;
/// of each kernel the median counts, for all plans alike, and with these every plan is recorded. inputs: as searched. best, all: what the search found.
/// kernelTimes: a file of kernel times; those in it count as they are, and the others are written there. Empty: none.
/// What fails while they train, or is stopped, ends it; what was trained until then is kept.
/// Errors: Unsupported where the engine can train none of them; Io where no temporary file can be made.
Result<PlanVerification> verifyPlans(const PredictionInputs& inputs, std::span<const cost::SearchedPlan> best,
                                     std::span<const cost::SearchedPlan> all, std::int64_t count,
                                     const std::string& kernelTimes, const std::function<void(double)>& progress,
                                     const std::stop_token& stop);

nlohmann::json verificationJson(const PlanVerification& verification);
std::string verificationText(const PlanVerification& verification);

} // namespace fourwalls::cli
