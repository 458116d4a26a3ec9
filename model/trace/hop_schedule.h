// SPDX-License-Identifier: Apache-2.0
// The hops of one collective, round by round: as they were recorded, or as its algorithm makes them.
#pragma once

#include "model/trace/arrival_skew.h"
#include "model/trace/step_window.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// One message of a collective. Parts: n-ths of the buffer, n the number of members.
struct ScheduledHop {
    int round = 0;
    int from = 0, to = 0; ///< places in HopSchedule::members
    int turn = 0;         ///< so many hops of its round does the sender send before it
    int firstPart = 0, parts = 0;
    bool reduce = false; ///< added to the receiver's own, else it replaces it
    double bytes = 0;
    std::optional<TimeRange> recorded; ///< when the receiver took it
};

struct HopSchedule {
    std::vector<RankId> members;
    std::string algorithm;       ///< "ring", …; what is shown, even where it was not recorded
    bool algorithmKnown = false; ///< the record names it
    bool recorded = false;       ///< every hop has its recorded time
    int rounds = 0;
    double payloadBytes = 0;
    std::vector<ScheduledHop> hops; ///< by round

    /// Which members' contributions a member's parts hold after the first `rounds` rounds:
    /// [member][part] is a set of members as bits. For reductions everybody starts with its own, for gathers with its
    /// own part, for broadcasts the root alone. At most 64 members.
    std::vector<std::vector<std::uint64_t>> contributions(int rounds) const;
    CollectiveOp operation = CollectiveOp::AllReduce;
};

/// Operations whose hops can be shown: at most this many members.
inline constexpr int kMostHopMembers = 64;

/// The schedule of an operation; no hops for messages, all-to-alls and operations of a single known member and group.
/// Recorded hops are matched with those of the algorithm, pair by pair in order. Reads the members' tracks within the
/// operation. Errors: those of the queries.
Result<HopSchedule> hopSchedule(TraceQuery& trace, const JoinedOperation& operation, std::stop_token stop = {});

} // namespace fourwalls
