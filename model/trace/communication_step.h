// SPDX-License-Identifier: Apache-2.0
// The communication of one step over all ranks: its operations, and per kind and group how long they took, waited, and
// how much of that computation hid.
#pragma once

#include "model/trace/arrival_skew.h"
#include "model/trace/collective_timing.h"
#include "model/trace/step_window.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// Operations of one kind in the groups of one name, in one step. Times are added up over the members that are looked at.
struct KindOfStep {
    CollectiveOp operation = CollectiveOp::AllReduce;
    std::string group;
    std::int64_t operations = 0, members = 0;
    std::optional<std::int64_t> payloadBytes = 0,
                                wireBytes = 0; ///< added up over operations and over members; absent: not all known
    GroupId anyGroup;                          ///< one of that name
    CollectiveTiming timing =
        CollectiveTiming::Separated;    ///< else the transfer holds the waiting too, and wait is empty
    Duration transfer, exposedTransfer; ///< exposed: while the rank computed nothing
    Duration wait, exposedWait;

    Duration time() const;
    Duration exposed() const;
    Duration hidden() const { return time() - exposed(); }
    /// As CommunicationStep::hiddenShare, of this kind alone.
    std::optional<double> hiddenShare() const;
};

struct CommunicationStep {
    StepWindow window;
    std::optional<RankId> rank;                    ///< the only one that is looked at; absent: all
    std::vector<JoinedOperation> operations;       ///< by first arrival
    std::vector<KindOfStep> kinds;                 ///< most time first
    bool limited = false;                          ///< the step has more operations than were read
    std::optional<std::int64_t> operationsInTrace; ///< absent: too many to count
    ArrivalSkew skew;                              ///< of operations with all members in the trace, on one clock
    std::optional<RankLateness> late; ///< see ArrivalSkew::late; absent: nobody is late, or it cannot be told
    Duration shortest;                ///< see BoundedSlices

    Duration transfer() const;
    Duration exposedTransfer() const;
    /// Whether what transfer() adds up holds waiting too, of some kind.
    bool holdsWaiting() const;
    /// Of the time of all transfers (last arrival to end, every kind, all ranks; with the waiting where it cannot be
    /// told apart), the share during which the rank computed; absent where no transfer took time.
    std::optional<double> hiddenShare() const;
};

/// Operations of a step that are read at most, members counted.
inline constexpr std::size_t kMostOperationsAnalysed = 200'000;

/// Reads the step that stepWindow chooses. rank: only the operations that it takes part in, and its own time in them;
/// who is late is still told by all. Cost: bounded by kMostOperationsAnalysed and kMostSlicesAnalysed.
/// Errors: those of the queries; Cancelled.
Result<CommunicationStep> communicationStep(TraceQuery& trace, std::optional<StepIndex> wanted,
                                            std::stop_token stop = {}, std::optional<RankId> rank = std::nullopt);

/// The same over all measured steps together; `window` says how many. Without several of them: as communicationStep.
Result<CommunicationStep> communicationOfSteps(TraceQuery& trace, std::stop_token stop = {},
                                               std::optional<RankId> rank = std::nullopt);

/// What a group is called: see groupLabel.
std::string groupName(const TraceInfo& info, GroupId group);

} // namespace fourwalls
