// SPDX-License-Identifier: Apache-2.0
// The table of a trace's figures and of the waterfall's parts: key, words, definition, unit, direction. JSON, text,
// comparison and report iterate it, so that one row adds a figure to those that its FigureUse names; views name their own.
#pragma once

#include "model/trace/metrics.h"
#include "model/trace/waterfall.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace fourwalls {

/// In the order in which they are told.
enum class Figure {
    StepTime,
    TokensPerSecond,
    SamplesPerSecond,
    Mfu,
    MfuFullAttention,
    Hfu,
    FlopsPerSecond,
    FlopsKnown,
    MatrixFlopsKnown,
    PeakFlops,
    PeakBytes,
    Bubble,
    ExposedComm,
    ExposedCopy,
    Idle,
    WireBytes,
    RecorderOverhead,
    RecorderOverheadMeasured
};
inline constexpr std::size_t kFigureCount = 18;

/// What a value counts. Share and OfPeak: fractions, of a time and of the devices' peak.
enum class FigureUnit { Milliseconds, Bytes, PerSecond, FlopsPerSecond, Share, OfPeak };
enum class Better { Neither, More, Less };

/// Where a figure is told, beside the table itself.
struct FigureUse {
    bool json = false;     ///< a number of `metrics --json`, not a list or an object of its own
    bool text = false;     ///< a line of `metrics`
    bool glance = false;   ///< the first figures of a report
    bool compared = false; ///< a row of a comparison
    bool judged = false;   ///< a regression when it gets worse
};

/// Texts are English, plain and lower case; the views translate them.
struct FigureInfo {
    const char* key;                                  ///< in JSON: "step_time_ms"
    const char* words;                                ///< "step time"
    const char* meaning;                              ///< a sentence or two, for tool tips and reports
    std::optional<double> (*of)(const TraceMetrics&); ///< in the unit; absent: unknown
    FigureUnit unit = FigureUnit::Share;
    Better better = Better::Less;
    FigureUse use = {};
    int decimals = 1;       ///< of a percentage
    const char* brief = ""; ///< words where there is little room; empty: as words
};

std::span<const FigureInfo, kFigureCount> figureTable();
std::span<const FigureInfo, kAllWaterfallParts> waterfallTable();
const FigureInfo& infoOf(Figure figure);
const FigureInfo& infoOf(WaterfallPart part);

/// A value with its unit, as a person reads it; a dash where it is unknown.
std::string figureText(const FigureInfo& info, std::optional<double> value, int digits = 4);

} // namespace fourwalls
