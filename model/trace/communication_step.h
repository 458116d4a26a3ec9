// SPDX-License-Identifier: Apache-2.0
// The communication of one step over all ranks: its operations, and per kind and group how long they took, waited, and
// how much of that computation hid.
#pragma once

#include "model/trace/arrival_skew.h"
#include "model/trace/step_window.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// Operations of one kind in the groups of one name, in one step. Times are added up over the members of all ranks.
struct KindOfStep {
    CollectiveOp operation = CollectiveOp::AllReduce;
    std::string group;
    std::int64_t operations = 0, members = 0;
    std::int64_t payloadBytes = 0, wireBytes = 0; ///< added up over operations and over members
    Duration transfer, exposedTransfer;           ///< exposed: while the rank computed nothing
    Duration wait, exposedWait;

    Duration time() const;
    Duration exposed() const;
    Duration hidden() const { return time() - exposed(); }
    /// As CommunicationStep::hiddenShare, of this kind alone.
    std::optional<double> hiddenShare() const;
};

struct CommunicationStep {
    StepWindow window;
    std::vector<JoinedOperation> operations; ///< by first arrival
    std::vector<KindOfStep> kinds;           ///< most time first
    bool limited = false;                    ///< the step has more operations than were read
    Duration shortest;                       ///< see BoundedSlices

    Duration transfer() const;
    Duration exposedTransfer() const;
    /// Of the time of all transfers (last arrival to end, every kind, all ranks), the share during which the rank
    /// computed; absent where no transfer took time.
    std::optional<double> hiddenShare() const;
};

/// Operations of a step that are read at most, members counted.
inline constexpr std::size_t kMostOperationsAnalysed = 60'000;

/// Reads the step that stepWindow chooses. Cost: bounded by kMostOperationsAnalysed and kMostSlicesAnalysed.
/// Errors: those of the queries; Cancelled.
Result<CommunicationStep> communicationStep(TraceQuery& trace, std::optional<StepIndex> wanted,
                                            std::stop_token stop = {});

/// The name of a group, or of its number where the trace does not name it.
std::string groupName(const TraceInfo& info, GroupId group);

} // namespace fourwalls
