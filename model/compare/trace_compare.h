// SPDX-License-Identifier: Apache-2.0
// Two traces side by side: the figures of `metrics`, steps aligned by their order, and layers by (layer, phase). Either
// trace may be recorded, imported or predicted.
#pragma once

#include "model/base/result.h"
#include "model/compare/memory_diff.h"
#include "model/compare/operator_diff.h"
#include "model/trace/figures.h"
#include "model/trace/metrics.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::compare {

/// One figure of both traces. Absent where a trace does not have it.
struct ComparedFigure {
    const FigureInfo* info = nullptr;
    std::optional<WaterfallPart> part; ///< present: a share of the step
    std::optional<double> a, b;

    std::string name() const;                 ///< as in the JSON of `metrics`: "step_time_ms", "waterfall.bubble"
    std::optional<double> difference() const; ///< b - a
    std::optional<double> percent() const;    ///< 100 (b - a) / a; absent where a is 0
    /// How much worse b is than a [percent]; negative where it is better, absent where unknown.
    std::optional<double> worsePercent() const;
};

/// The n-th measured step of both.
struct ComparedStep {
    int index = 0;                ///< from 0, warm-up steps left out
    std::optional<Duration> a, b; ///< last rank's end - first rank's start
};

/// Compute time of one layer and phase, per rank and step.
struct ComparedLayer {
    std::optional<LayerIndex> layer; ///< absent: what belongs to no layer
    Phase phase = Phase::None;
    std::optional<Duration> a, b;
};

struct TraceComparison {
    TraceMetrics a, b;
    std::vector<ComparedFigure> figures;
    std::vector<ComparedStep> steps;
    std::vector<ComparedLayer> layers; ///< by phase, then layer
    std::vector<ComparedOperator> operators;
    std::optional<MemoryDifference> memory;      ///< absent: a trace recorded no buffers
    std::optional<MemoryDifference> memoryAtEnd; ///< at the traces' ends, where that was asked for, too

    /// The judged figure that got worse by the most; null if none has a percentage.
    const ComparedFigure* worst() const;
};

/// Reads and compares; memory at these moments. Errors: those of the queries; InvalidArgument for a moment outside a trace;
/// Cancelled.
Result<TraceComparison> compareTraces(TraceQuery& a, TraceQuery& b, std::stop_token stop = {},
                                      const MemoryMoment& atA = {}, const MemoryMoment& atB = {});

} // namespace fourwalls::compare
