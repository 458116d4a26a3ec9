// SPDX-License-Identifier: Apache-2.0
// Which of the four walls stops a job: what each of them costs of the step, and which one binds.
#pragma once

#include "model/trace/metrics.h"
#include "model/trace/wall.h"

#include <array>
#include <optional>

namespace fourwalls::compare {

using fourwalls::Wall;
inline constexpr std::size_t kWallCount = 4;

/// Why a wall binds: the largest of what it costs.
enum class WallReason {
    Nothing,      ///< nothing is known, or nothing is lost
    MemoryFull,   ///< the peak stands at the capacity: nothing larger fits
    MemoryPrice,  ///< recomputation and copies that are paid so that it fits
    ExposedComm,  ///< communication that computation does not hide
    MemoryBound,  ///< kernels that wait for memory
    Inefficiency, ///< compute-bound kernels below what is attainable
    Idle,         ///< the device has nothing to do
    Bubble,       ///< stages wait for one another
    BetterPlan    ///< a plan that fits is predicted to be quicker
};

/// What is known of a step. peakBytes and capacity are of its fullest rank, see fullestRank.
struct WallFacts {
    std::optional<double> peakBytes, capacityBytes; ///< of the fullest rank
    Waterfall shares;
    double startUp = 0; ///< share of the idle time that passes while the program starts up: later steps do not have it
    std::optional<double> planGain; ///< share of the predicted step that the best plan saves
};

/// The rank whose peak is nearest to its capacity (or largest, where capacities are unknown).
struct FullestRank {
    RankId rank;
    double peakBytes = 0;
    std::optional<double> capacityBytes;
};
std::optional<FullestRank> fullestRank(const TraceMetrics& metrics, const TraceHeader& header);

struct WallVerdict {
    std::array<double, kWallCount> loss{};       ///< share of the step that the wall costs
    std::array<WallReason, kWallCount> reason{}; ///< the largest part of that
    std::optional<Wall> binding;                 ///< absent: no wall costs anything worth naming
    std::optional<Wall> next;                    ///< the costliest of the others
};

/// The peak is full above this share of the capacity: one more micro-batch in flight does not fit.
inline constexpr double kFullMemory = 0.9;
/// A wall that costs less than this share of the step binds nothing: that nothing binds is an answer, too.
inline constexpr double kLeastLoss = 0.05;
/// The best matrix products reach this share of a device's datasheet peak (docs/cost-model.md): what lies between is
/// nobody's loss.
inline constexpr double kAttainable = 0.8;

/// Memory binds where it is full, since then every other change is barred. Else the wall binds that costs most:
/// memory its price (recomputation, copies); communication what is exposed; performance memory-bound kernels, idle
/// time but for the start of the program, and inefficiency below kAttainable of peak; tuning the bubble, or what a better plan is predicted to save.
WallVerdict judgeWalls(const WallFacts& facts);

} // namespace fourwalls::compare
