// SPDX-License-Identifier: Apache-2.0
// How a training went, as curves: what it learned in each step, and where its loss jumped with what happened there. For
// many runs beside each other.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::compare {

struct CurvePoint {
    std::int64_t step = 0;
    double seconds = 0; ///< from the first step's beginning to this one's end, breaks included
    double tokens = 0;  ///< seen until then; 0: unknown
    std::optional<double> loss, gradientNorm, learningRate, lossScale, tokensPerSecond;
    std::optional<double> goodput; ///< until then: kept steps x the median step, of the time that has passed
};

/// A jump of the loss that is far above what came before.
struct LossSpike {
    std::int64_t step = 0;
    std::optional<double> loss;           ///< absent: no finite number
    double before = 0;                    ///< median of the losses before
    std::string event;                    ///< what the trace says happened there; empty: nothing
    std::optional<double> gradientFactor; ///< gradient norm there, against the median before
    /// What the trace says of the jump itself, where another event is its cause: batch, gradients by layer.
    std::string detail{};
};

struct RunCurves {
    std::string name, model, plan, producer; ///< empty: unknown
    std::optional<std::int64_t> width, batch, mupBaseWidth;
    std::optional<double> learningRate;              ///< its peak
    std::optional<double> warmup, weightDecay, clip; ///< share of the steps; as in TrainingSettings
    std::string precision, optimizer;
    std::int64_t startedUnixNs = 0; ///< 0: unknown
    bool complete = true;
    std::vector<CurvePoint> points; ///< as they were taken: after a roll-back numbers come again
    std::vector<LossSpike> spikes;
    std::vector<std::string> tags; ///< of whoever keeps the runs

    /// Mean loss of the last tenth of the steps that have one; absent without any.
    std::optional<double> finalLoss() const;
    std::optional<double> leastLoss() const;
    double tokens() const { return points.empty() ? 0 : points.back().tokens; }
    double seconds() const { return points.empty() ? 0 : points.back().seconds; }
    /// Median of the steps that say it.
    std::optional<double> tokensPerSecond() const;
    /// Whether all words of `text` stand in name, model, plan, producer or a tag, in upper or lower case.
    bool matches(std::string_view text) const;
};

/// What a trace says of its training. name: empty; whoever found the trace gives one. Errors: of the query; Cancelled.
Result<RunCurves> readRunCurves(TraceQuery& trace, const std::stop_token& stop = {});

/// Spikes of a run: a loss more than a tenth and six deviations (by the median of distances) above the median of the last
/// 16; of neighbouring steps the highest.
std::vector<LossSpike> findLossSpikes(const std::vector<CurvePoint>& points);

/// At most about `count` points for drawing: of each stretch the last one and the one of the highest loss.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points, std::size_t count);

} // namespace fourwalls::compare
