// SPDX-License-Identifier: Apache-2.0
// What a sweep says at its end: every run, the best, and the loss over the learning rate for everything else held fixed.
#pragma once

#include "app/cli/sweep_run.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// Runs that differ in the learning rate only.
struct RateCurve {
    struct Place {
        double rate = 0;
        std::optional<double> loss; ///< absent: the run diverged
    };
    std::string of; ///< "width=64 batch=8"; empty where only the rate varies
    std::int64_t width = 0, batch = 0;
    std::vector<Place> places; ///< by rate

    std::optional<double> bestRate() const; ///< absent where all diverged
};

/// Those with two rates or more, by width. Runs that a halving gave up are left out.
std::vector<RateCurve> rateCurves(const std::vector<SweepOutcome>& outcomes);

/// The run with the smallest loss of those that were trained to the end; null if there is none.
const SweepOutcome* bestOf(const std::vector<SweepOutcome>& outcomes);

nlohmann::json sweepJson(const std::vector<SweepOutcome>& outcomes);
std::string sweepText(const std::vector<SweepOutcome>& outcomes);

} // namespace fourwalls::cli
