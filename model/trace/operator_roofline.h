// SPDX-License-Identifier: Apache-2.0
// Operators under the two roofs of their device: arithmetic and memory. From the stored totals per operator.
#pragma once

#include "model/trace/trace_query.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls {

/// What keeps an operator from being faster. Launch: so short that starting it takes a good part of it.
enum class BoundBy { Unknown, Compute, Memory, Launch };

/// One operator's totals over the measured steps of all ranks.
struct RooflinePoint {
    std::string name;
    Phase phase = Phase::None;
    std::optional<LayerIndex> layer; ///< absent: of none, or several together
    std::int64_t count = 0;
    Duration total;
    double flops = 0, bytes = 0; ///< all executions together; 0: none or unknown
    std::optional<double> peak;  ///< the roof of its own arithmetic [FLOP/s]; absent: unknown
    /// An import's, of a kernel that computes less than it counts (Winograd), or of a call that only launches.
    bool withoutRate = false;
    bool aboveRoof = false; ///< faster than that: the roof is wrong for it
    BoundBy bound = BoundBy::Unknown;
    double share = 0; ///< of the time of all compute operators

    Duration mean() const { return Duration{count > 0 ? total.ns / count : 0}; }
    std::optional<double> flopsPerSecond() const;
    std::optional<double> bytesPerSecond() const;
    std::optional<double> intensity() const; ///< [FLOP/byte]
};

struct OperatorRoofline {
    std::optional<double> peakFlops, bytesPerSecond; ///< the roofs, per device: of the arithmetic of most FLOPs
    std::vector<std::pair<std::string, double>>
        peaks;                         ///< of every arithmetic that ran: "tf32" and its rate; empty: one peak for all
    std::vector<RooflinePoint> points; ///< by (name, layer, phase): those with FLOPs and bytes, most time first
    std::vector<RooflinePoint> operators;            ///< by (name, phase), layers together, most time first
    Duration total;                                  ///< of all compute operators
    Duration memoryBound, computeBound, launchBound; ///< of it
    bool limited = false;                            ///< the trace has more operators than were looked at

    /// What the device could reach at an intensity under `peak`; absent without roofs.
    std::optional<double> attainable(double intensity, std::optional<double> peak) const;
};

/// Operators looked at, most time first.
inline constexpr std::size_t kMostOperators = 20'000;
/// Shorter operators are bound by their launch.
inline constexpr Duration kLaunchBound{5'000};

/// Cost: the stored operator totals. Errors: those of the queries.
Result<OperatorRoofline> operatorRoofline(TraceQuery& trace);

} // namespace fourwalls
