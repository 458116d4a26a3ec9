// SPDX-License-Identifier: Apache-2.0
// The energy that the devices of a job take in one step, modelled from their power limits and what keeps them busy.
#pragma once

#include "model/cost/step_cost.h"

namespace fourwalls::cost {

/// What a device draws while it waits for a transfer, another stage or the host, as a share of its power limit. Assumed:
/// idle devices draw less, and kernels of collectives that wait draw more than those.
inline constexpr double kWaitingPower = 0.5;

/// Time in which ranks compute in one step, a rank of each stage added up [s].
struct ComputingSeconds {
    double passes = 0;    ///< forward, recomputation and backward, slowed by transfers beside them
    double optimizer = 0; ///< update of the weights
};
ComputingSeconds computingSeconds(const StepCost& cost);

/// Energy of all devices of the job in one step [J]; 0 where the device does not tell its power. A device draws its power
/// limit P while it computes and kWaitingPower x P else:
///     E = P x sum over ranks of (w x T + (1 - w) x computing), w = kWaitingPower, T = step.
/// Hosts, network and cooling are left out. seconds: of the step; computing: at most, of a rank of each stage added up.
double energyOf(const StepCost& cost, double seconds, double computing);
/// The same with all that the stages compute.
double energyOf(const StepCost& cost, double seconds);

} // namespace fourwalls::cost
