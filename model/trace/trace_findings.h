// SPDX-License-Identifier: Apache-2.0
// What stands out in a recorded step, from the trace alone: no model of the network has a say. One list, by what it costs;
// an empty list is an answer, too.
#pragma once

#include "model/base/result.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

enum class FindingKind {
    WaitsForRank,         ///< in collectives the others wait for `cause`, which comes last
    WaitsForEachOther,    ///< in collectives ranks wait, but no rank is late more often than by chance
    ExposedCommunication, ///< transfers that no computation hides; with waiting where that cannot be told apart
    HostBound,            ///< the device has nothing to do while the program on the processor works or launches
    Synchronising,        ///< the device has nothing to do while the program waits for it to finish
    DataLoading,          ///< the device has nothing to do while the next batch is fetched
    Copies,               ///< copies that no computation hides
    SmallKernels,         ///< kernels shorter than kSmallKernel
    PipelineBubble,       ///< stages wait for one another
    Throttling,           ///< power or temperature holds the device's clock down
    MemoryFull,           ///< the peak stands at the capacity
    OutOfMemory           ///< an allocation failed
};
inline constexpr int kFindingKindCount = 12;

/// Stable lower-case names with underscores, for JSON.
std::string_view name(FindingKind kind);

/// The view in which a finding is seen best.
enum class FindingView { Timeline, Communication, Memory, Performance };

struct FindingPlace {
    FindingView view = FindingView::Timeline;
    std::optional<RankId> rank;     ///< absent: all
    std::optional<TimeRange> range; ///< absent: the step, or the whole trace
};

/// One thing that costs a part of the step. Shares are 0..1.
struct TraceFinding {
    FindingKind kind = FindingKind::HostBound;
    double share = 0; ///< of the step's time, mean over `ranks`; of the capacity for MemoryFull; of the sampled time
                      ///< of the trace for Throttling, mean over all sampled ranks
    Duration time;    ///< that share as time per step; 0 for memory
    double gain = 0;  ///< of the step's time: what is saved at most if it went away; orders the list
    std::int64_t count =
        0; ///< per step and rank: operations, calls or kernels; of OutOfMemory: how often in the trace; of
           ///< Throttling: samples in the trace
    std::optional<StepIndex> step; ///< the step that was looked at; absent: the whole trace
    std::vector<RankId> ranks;     ///< the ranks it holds for
    std::optional<RankId> cause;   ///< of WaitsForRank: who is waited for
    std::int64_t last = 0;         ///< of WaitsForRank: operations of `count` in which `cause` came last
    double deviceIdle = 0;         ///< share of the step in which the devices do nothing; of host findings
    double launchShare = 0;        ///< of HostBound: the part of `share` in which a launch is under way
    bool includesWaiting =
        false; ///< of ExposedCommunication: other ranks are not in the trace, or may not be; waiting cannot be told
    double clock = 0, fullClock = 0; ///< of Throttling: the mean while it is lowered, the highest that was seen [Hz]
    std::string what; ///< the name that stands for it: "cudaStreamSynchronize", "Memcpy HtoD", "power cap"
    std::int64_t bytes = 0, ofBytes = 0; ///< of memory: peak and capacity
    FindingPlace show;
};

/// What could not be told of this trace, and why: short English for JSON and the command line.
struct FindingAbstention {
    FindingKind kind = FindingKind::HostBound;
    std::string because;
};

struct TraceFindings {
    std::vector<TraceFinding> findings; ///< most gain first
    std::vector<FindingAbstention> abstained;
    std::optional<StepIndex> step;         ///< that was looked at
    bool wholeTrace = false;               ///< the trace has no steps of its own: the "step" is all of it
    Duration stepTime;                     ///< 0: no step
    std::optional<double> compute;         ///< share of it in which the devices compute; absent: no step
    std::optional<double> unexplainedIdle; ///< share in which the devices do nothing, and the trace does not tell why
    std::vector<RankId> ranks;
};

/// What costs less than this share of the step is not worth a sentence.
inline constexpr double kLeastFinding = 0.05;
/// A kernel below this length costs a launch as long as itself.
inline constexpr Duration kSmallKernel{10'000};

/// The wanted step, or the one that stands for the job (typicalStep), over all its ranks. Reads stored summaries and that step's collectives:
/// costs what the step has, never the trace. Errors: those of the queries; Cancelled.
Result<TraceFindings> traceFindings(TraceQuery& trace, std::stop_token stop = {},
                                    std::optional<StepIndex> wanted = std::nullopt);

} // namespace fourwalls
