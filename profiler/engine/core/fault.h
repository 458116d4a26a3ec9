// SPDX-License-Identifier: Apache-2.0
// What happens to a rank once, on purpose, in a step of a run. It really happens: a process is killed, a bit is turned
// over, memory runs out.
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "model/spec/parallel_plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

enum class FaultKind : std::uint8_t {
    Kill,        ///< the rank's process ends by SIGKILL; a rank that is a thread leaves
    Hang,        ///< its program stands still before an operation, for good
    Slow,        ///< its kernels take kSlowFactor times as long in that step
    Flip,        ///< the highest bit of a weight's exponent is turned over before the step
    OutOfMemory, ///< it asks for more and more memory, until it gets none
    Spike        ///< the batch of that step spoils the weights: with it, the rate is kSpikeFactor times as high
};
/// "kill", …
std::string_view name(FaultKind kind);

inline constexpr double kSlowFactor = 3, kSpikeFactor = 1e5;

struct Fault {
    FaultKind kind = FaultKind::Kill;
    RankId rank;
    std::int64_t step = 0; ///< from 0; of a spike the number of the batch, whichever step takes it
    std::int64_t operation =
        0; ///< of a hang: of the step, from 0; a step with fewer operations goes on in the next one
};

/// "kill of rank 1 in step 5".
std::string textOf(const Fault& fault);

/// Reads "KIND:RANK:STEP", or "hang:RANK:STEP.OPERATION". Errors: InvalidArgument naming what is wrong with it.
Result<Fault> parseFault(std::string_view text);

/// Kills at chance: in every step with probability 1 / `steps between`, of any rank, as the seed decides.
std::vector<Fault> randomKills(std::int64_t steps, double stepsBetween, int ranks, std::uint64_t seed);

} // namespace fourwalls::engine
