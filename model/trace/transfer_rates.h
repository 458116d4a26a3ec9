// SPDX-License-Identifier: Apache-2.0
// Why a step has no figure for the rate of its transfers: the one reason that the overview and the communication view
// both say.
#pragma once

#include "model/trace/communication_step.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace fourwalls {

enum class NoRates {
    None,          ///< there are rates
    NoCollectives, ///< the trace has no collectives at all
    NotInStep,     ///< the trace has some, this step has none
    OneRankGroups, ///< all are of groups of one rank, which send nothing
    RequestsOnly,  ///< only the calls that asked for them are known
    SomeRanks,     ///< the trace lacks members: waiting and transfer cannot be told apart
    UnknownBytes,  ///< no operation says how many bytes
    NoTime         ///< all members are there, but the transfers took no time (a clock without link speeds)
};

struct TransferRates {
    NoRates why = NoRates::None;
    std::int64_t inStep = 0;             ///< operations of the step, each counted once for all its members
    std::optional<std::int64_t> inTrace; ///< of the whole trace; absent: too many to count
    std::int64_t withBytes = 0;          ///< operations of the step that say how many bytes
    std::int64_t rated = 0;              ///< operations of the step whose rate is known
    std::size_t present = 0;             ///< SomeRanks: members in the trace of the group that has fewest
    std::optional<std::size_t> members;  ///< SomeRanks: and how many it has; absent: the trace does not say
};

/// From what communicationStep has read. Errors cannot happen.
TransferRates transferRates(const TraceInfo& info, const CommunicationStep& step);

/// Whether an operation has a rate at all: bytes, time, and waiting told from transfer.
bool hasRate(const TraceInfo& info, const JoinedOperation& operation);

} // namespace fourwalls
