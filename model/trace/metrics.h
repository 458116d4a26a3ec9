// SPDX-License-Identifier: Apache-2.0
// The figures of a trace, computed from its stored summaries: what `metrics` prints and the overview shows.
// Unknown is absent, never 0.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls {

struct CollectiveMetrics {
    CollectiveSummary summary;
    std::string group;
    std::optional<double> algorithmBytesPerSecond, busBytesPerSecond;
};

struct TraceMetrics {
    TraceSource source = TraceSource::Recorded;
    ClockKind clock = ClockKind::Wall;
    std::optional<Duration> stepTime;             ///< median over measured steps of last end - first start
    std::optional<double> tokensPerSecond;
    std::optional<double> samplesPerSecond;
    std::optional<double> mfu, mfuFullAttention, hfu;
    std::vector<std::optional<double>> loss;      ///< one per recorded step
    std::vector<MemorySummary> memory;            ///< per rank
    std::optional<double> bubbleFraction;         ///< mean over stages
    std::vector<double> bubbleByStage;
    std::optional<double> exposedCommFraction, exposedCopyFraction, idleFraction;
    std::vector<std::pair<std::string, double>> waterfall;  ///< named shares, in drawing order, add up to 1
    std::vector<CollectiveMetrics> collectives;
    std::optional<double> recorderOverheadFraction, recorderOverheadMeasured;
    std::int64_t dropped = 0;
};

Result<TraceMetrics> computeMetrics(TraceQuery& trace);

} // namespace fourwalls
