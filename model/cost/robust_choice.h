// SPDX-License-Identifier: Apache-2.0
// The choice among plans whose times are uncertain: which of them loses least where the machine's rates are not those that
// the model believes in.
#pragma once

#include "model/cost/closed_form.h"
#include "model/cost/cost_parts.h"
#include "model/spec/calibration.h"

#include <array>
#include <span>
#include <vector>

namespace fourwalls::cost {

/// A plan as it is believed to be. What it waits for grows with what it does.
struct UncertainPlan {
    double value = 0;                        ///< what is made least; grows with the step's time. Above 0
    std::array<double, kRateKinds> shares{}; ///< of the step's work, by kind of rate; they add up to 1
};

/// The shares of a step's parts. All 0 where it has none.
std::array<double, kRateKinds> rateShares(const PartSeconds& parts);

/// For each plan, how much worse than the best plan of the case it is on average; 0.01 is 1 %. The cases: rates of
/// computation, of memory and of communication are each at the low end of the calibration's band, as believed, or at the
/// high end, all 27 equally likely. All plans have the same machine: what slows all of them alike costs none of them.
std::vector<double> expectedRegrets(std::span<const UncertainPlan> plans, const Calibration& calibration);

} // namespace fourwalls::cost
