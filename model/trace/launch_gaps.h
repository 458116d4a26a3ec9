// SPDX-License-Identifier: Apache-2.0
// Many small operators: how long operators take, how long the device is empty between them, and which sequences of
// short, memory-bound operators would be one kernel if they were fused.
#pragma once

#include "model/trace/step_window.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// Classes of operators by length: below 1 us, 10 us, 100 us, 1 ms, 10 ms, and longer.
inline constexpr std::array<std::int64_t, 5> kLengthLimits{1'000, 10'000, 100'000, 1'000'000, 10'000'000};
inline constexpr std::size_t kLengthClasses = kLengthLimits.size() + 1;

/// Operators of one length class.
struct LengthClass {
    std::int64_t count = 0;
    Duration time;
};

/// A sequence of operators that follow one another on a stream, as often as it occurs in the step.
struct FusionCandidate {
    std::vector<std::string> names; ///< in order
    Phase phase = Phase::None;
    std::int64_t occurrences = 0;
    Duration time;                     ///< of the operators, added up over occurrences
    Duration gaps;                     ///< between them, likewise
    double bytesSaved = 0;             ///< intermediates that need not be written and read; 0 where bytes are unknown
    Duration launchSaved, memorySaved; ///< estimates, added up over occurrences
    TimeRange longest;                 ///< the occurrence that takes longest, to look at

    Duration saved() const { return launchSaved + memorySaved; }
};

struct LaunchAnalysis {
    RankId rank;
    TimeRange range;
    Duration stepLength;
    std::array<LengthClass, kLengthClasses> classes{};
    std::int64_t operators = 0, gapCount = 0;
    Duration compute;    ///< operators added up
    Duration gaps;       ///< empty time between operators in which nothing was sent, copied or loaded
    Duration medianGap;  ///< over gaps of consecutive operators, those without length counted
    Duration longestGap; ///< of these, or before the first operator of the step or after its last
    TimeRange longestGapAt;
    std::vector<TimeRange> longGaps; ///< of these the longest ones, longest first
    Duration launchOverhead;         ///< what one launch is taken to cost, for the estimate
    bool overheadFromGaps = false;   ///< the median gap; else the calls that launch, or the constant below
    bool overheadFromCalls = false;  ///< what a call that launches a kernel takes on the host, where gaps are shorter
    std::vector<FusionCandidate> candidates; ///< most saved first
    Duration shortest;                       ///< see BoundedSlices; above 0 only what is longer was looked at
    bool bandwidthKnown = false;
};

/// What a launch costs where the trace does not show it (calibration: "kernel_seconds"; NVIDIA, CUDA graphs blog).
inline constexpr Duration kTypicalLaunch{5'000};
/// Gaps longer than this are not a launch.
inline constexpr Duration kLongestLaunchGap{100'000};
/// So many of the longest gaps are told one by one.
inline constexpr std::size_t kLongGapsKept = 16;
/// Operators longer than this gain nothing from fewer launches, and count only if they are bound by memory.
inline constexpr Duration kSmallOperator{50'000};

/// One rank in the step that stepWindow chooses.
/// A member of a sequence moves bytes for longer than it computes (bytes / bandwidth > flops / peak), or is shorter
/// than kSmallOperator where bytes are unknown, and begins within kLongestLaunchGap of the one before, in the same
/// phase. Saved by fusing k operators: (k - 1) launches, and at each seam what the neighbours could hand over in
/// registers, min(bytes of one, bytes of the other), over the device's memory bandwidth; never more than all but the
/// longest operator took. Cost: bounded by mostRows. Errors: those of the queries.
Result<LaunchAnalysis> launchGaps(TraceQuery& trace, RankId rank, std::optional<StepIndex> wanted,
                                  std::stop_token stop = {}, std::int64_t mostRows = kMostSlicesAnalysed);

} // namespace fourwalls
