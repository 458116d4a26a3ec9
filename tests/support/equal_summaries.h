// SPDX-License-Identifier: Apache-2.0
// Step summaries of the same step made in two ways.
#pragma once

#include "model/trace/step_summary.h"

#include <cmath>

namespace fourwalls::test {

/// Equal but for rounding: FLOPs are sums of doubles whose last bits depend on the order (relative: how far they may be
/// apart), and the shares rounded from them may differ by a nanosecond.
inline bool equalUpToRounding(StepSummary a, const StepSummary& b, double relative)
{
    const auto near = [relative](double x, double y) { return std::abs(x - y) <= relative * y; };
    const auto nextTo = [](Duration x, Duration y) { return std::abs((x - y).ns) <= 1; };
    if (!near(a.modelFlops, b.modelFlops) || !near(a.recomputeFlops, b.recomputeFlops) ||
        !nextTo(a.memoryBoundExcess, b.memoryBoundExcess) || !nextTo(a.inefficiencyExcess, b.inefficiencyExcess))
        return false;
    a.modelFlops = b.modelFlops;
    a.recomputeFlops = b.recomputeFlops;
    a.memoryBoundExcess = b.memoryBoundExcess;
    a.inefficiencyExcess = b.inefficiencyExcess;
    return a == b;
}

} // namespace fourwalls::test
