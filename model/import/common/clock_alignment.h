// SPDX-License-Identifier: Apache-2.0
// How far the clocks of two ranks are apart, from the collectives that both took part in: all members end one nearly
// together, whenever they arrived.
#pragma once

#include "model/trace/trace_sink.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls::importers {

/// A communication kernel, for aligning clocks.
struct CommunicationMark {
    std::int64_t begin = 0, end = 0;
    int kind = -1; ///< of CollectiveOp; -1: the name does not tell
};

struct ClockOffset {
    std::int64_t offsetNs = 0;   ///< to add to the other rank's times
    std::int64_t residualNs = 0; ///< median distance of matched ends after that
    std::size_t matched = 0;     ///< operations that both have
    bool sameClock = false;      ///< the ends agree as they are, so that nothing needs adding
};

/// Ends that differ by no more than this are on one clock (some ten microseconds within a node): nothing is added.
inline constexpr std::int64_t kSameClockNs = 200'000;

/// The offset that differences of matched ends (reference - other) tell: their median; 0 on the same clock.
ClockOffset offsetFromDifferences(const std::vector<std::int64_t>& differences);

/// reference, other: communication kernels on the run's clock as far as the files tell it. Absent if too few
/// operations can be matched to say anything.
std::optional<ClockOffset> estimateOffset(std::vector<CommunicationMark> reference,
                                          std::vector<CommunicationMark> other);

/// What the audit says of a rank whose times an offset was added to.
void auditClock(TraceSink& sink, RankId rank, const ClockOffset& clock);

} // namespace fourwalls::importers
