// SPDX-License-Identifier: GPL-3.0-or-later
// How a share of the peak is written: tiny networks reach thousandths of a percent, which are not nothing.
#pragma once

#include "model/trace/metrics.h"
#include "views/words/format.h"

namespace fourwalls::views {

/// fraction: of the peak FLOP/s. Three decimals below 1 %, else one.
inline QString formatUtilisation(double fraction)
{
    constexpr double kFew = 0.01;
    return formatPercent(fraction, fraction > 0 && fraction < kFew ? 3 : 1);
}

/// Why there is no MFU, in a few words: "no data sheet of Tesla V100-DGXS-32GB"; empty where there is one.
QString whyNoMfu(const TraceMetrics& metrics);
/// "FLOPs known for 15 % of the compute time", where it is not nearly all of it; else empty.
QString flopsKnownNote(const TraceMetrics& metrics);
/// "125 TFLOP/s, f16": the peak that MFU is of; empty without one.
QString peakNote(const PeakFacts& peak);

} // namespace fourwalls::views
