// SPDX-License-Identifier: Apache-2.0
// What becomes of a core's speed while all cores compute: the rates of operators are measured with one at work.
#pragma once

#include <vector>

namespace fourwalls::calibrate {

/// Devices of a node that all compute, against one alone.
struct BusyDevices {
    double slowdown = 1; ///< of their mean time; at least 1
    double spread = 0;   ///< standard deviation of one's time among those at work, over their mean
};

/// What a stretch of one alone and the stretch of all of them after it took [s], for the same work.
struct BusyStretch {
    double alone = 0;
    std::vector<double> together; ///< of every thread, at least two
};

/// The median of the slowdowns and the mean of the spreads: an interruption does not last.
BusyDevices summaryOf(const std::vector<BusyStretch>& stretches);

/// Takes turns for about so many seconds: a stretch in which one thread computes products and activations of a layer's
/// size, then one in which all threads do. Times are those of the wall clock: who shares the machine is part of them.
/// Throws EngineError, std::bad_alloc.
BusyDevices measureBusyDevices(int threads, double seconds);

} // namespace fourwalls::calibrate
