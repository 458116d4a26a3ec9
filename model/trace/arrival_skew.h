// SPDX-License-Identifier: Apache-2.0
// Who comes late to collectives: the members of each operation put together, how far apart they arrived, and whom the
// others waited for. The slowest rank sets the pace of all, and this is where it shows.
#pragma once

#include "model/trace/trace_query.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// One operation with those of its members that the trace has.
struct JoinedOperation {
    CollectiveOp operation = CollectiveOp::AllReduce;
    GroupId group;
    std::int64_t sequence = 0;
    std::vector<CollectiveView> members;                 ///< by arrival; never empty
    Instant lastArrival, end;                            ///< of all members
    std::optional<std::int64_t> payloadBytes, wireBytes; ///< of the member with most; absent: unknown

    Instant firstArrival() const { return members.front().record.start; }
    TimeRange range() const { return {firstArrival(), end}; }
    /// Last arrival minus first; 0 for messages between two, whose receiver waits by design.
    Duration skew() const;
    /// The member that came last; meaningless without skew.
    RankId late() const { return members.back().rank; }
    Duration transfer() const { return end - lastArrival; }
    Duration wait() const; ///< own arrival to last arrival, added up over members
    bool isMessage() const { return operation == CollectiveOp::Send || operation == CollectiveOp::Receive; }
};

/// Puts records together: members of one operation have equal group, operation and sequence. Sends and receives stay
/// alone. By first arrival.
std::vector<JoinedOperation> joinOperations(std::span<const CollectiveView> records);

/// How a rank behaved over the operations that it took part in with others.
struct RankLateness {
    RankId rank;
    std::int64_t operations = 0; ///< with at least two members in the trace
    std::int64_t last = 0;       ///< of them, this rank came last (with a skew)
    Duration behind;             ///< own arrival minus first arrival, added up
    Duration waited;             ///< own arrival to last arrival, added up
    Duration caused;             ///< what the others waited where this rank came last, added up over them
    Duration delayed;            ///< where it came last: its arrival minus that of the one before it, added up
    double lastByChance = 0;     ///< how often it would come last if all members were alike

    double lastShare() const { return operations > 0 ? double(last) / double(operations) : 0; }
};

struct ArrivalSkew {
    std::vector<RankLateness> ranks; ///< by rank
    std::int64_t operations = 0;     ///< collectives with at least two members in the trace
    Duration medianSkew, longestSkew, totalWait;

    /// The rank that is late, if one is: it comes last more often than chance has it (binomial test over its operations,
    /// p < 0.01 for all ranks together), and what it delays the others is more than 1 % of `length`, the time that was
    /// looked at. Of several the one that delays most. Null: nobody is late.
    const RankLateness* late(Duration length) const;
};

/// What ranks wait in the range, added up over them: a rank that waits in several operations at once waits once. late: only
/// where that rank comes last. Errors cannot happen. Cost: the operations given.
Duration waitedOnce(std::span<const JoinedOperation> operations, TimeRange range, std::optional<RankId> late);

/// The probability that of n tries, each a success with `chance`, k or more succeed. Source: the binomial distribution,
/// summed from its largest term on.
double binomialTail(std::int64_t n, std::int64_t k, double chance);

/// Errors cannot happen. Cost: the operations given.
ArrivalSkew arrivalSkew(std::span<const JoinedOperation> operations);

} // namespace fourwalls
