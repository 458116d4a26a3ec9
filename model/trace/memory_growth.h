// SPDX-License-Identifier: Apache-2.0
// Whose memory rises from step to step: what is alive at the ends of steps, by the maker of the buffers (the operator, or
// the call stack where it was recorded).
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace fourwalls {

/// A series of points with its trend.
struct Trend {
    double slope = 0;  ///< the median of the slopes of all pairs of points (Theil 1950, Sen 1968)
    double rising = 0; ///< share of the pairs that rise
};
/// points: by x, which differ. Of many, some hundred are taken.
Trend trendOf(const std::vector<std::pair<double, double>>& points);

/// The buffers of one maker.
struct MakerGrowth {
    std::shared_ptr<const OpInfo> op; ///< null: not known
    std::vector<std::int64_t> bytes;  ///< alive, by moment
    std::int64_t countFirst = 0, countLast = 0;
    Trend trend; ///< bytes per step (per moment where there are no steps)

    std::int64_t grown() const { return bytes.back() - bytes.front(); }
};

struct MemoryGrowth {
    RankId rank;
    bool ofSteps = false;         ///< the moments are ends of steps; else they are spread over the trace
    bool between = false;         ///< the moments are two that somebody chose
    std::vector<StepIndex> steps; ///< by moment; empty unless ofSteps
    std::vector<Instant> moments;
    std::vector<std::int64_t> total; ///< alive, by moment
    Trend trend;
    std::vector<MakerGrowth> makers; ///< what grew most first
    std::int64_t notLookedAt = 0; ///< bytes at the last moment of buffers beyond the limit: whose they are is not told
};

/// Whether a trend is growth: it rises in four of five pairs.
inline constexpr double kMostlyRising = 0.8;

/// At the ends of up to `moments` measured steps, evenly spread; of a trace without steps (a snapshot with its history) at
/// as many instants of its range. Fewer than two: no makers. Errors: those of the queries; Cancelled.
Result<MemoryGrowth> memoryGrowth(TraceQuery& trace, RankId rank, std::size_t moments = 12,
                                  const std::stop_token& stop = {});

/// The same of two moments: what was alive at each by maker, what grew most first. Errors: as memoryGrowth.
Result<MemoryGrowth> memoryBetween(TraceQuery& trace, RankId rank, Instant from, Instant to,
                                   const std::stop_token& stop = {});

} // namespace fourwalls
