// SPDX-License-Identifier: Apache-2.0
// What can be said about the time of a group's collectives: waiting and transfer apart, both together, or only when they
// were asked for. One answer for every view and figure.
#pragma once

#include "model/trace/trace_query.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace fourwalls {

/// Separated: all members are in the trace, on one clock, so that the last arrival is known. WaitAndTransfer: some members,
/// or how many there are, are not; what a rank spent in the operation is its waiting and the transfer together.
/// RequestsOnly: the trace has the calls that asked for them, which return before anything is sent.
enum class CollectiveTiming { Separated, WaitAndTransfer, RequestsOnly };

/// "separated", "wait_and_transfer", "requests_only".
std::string_view name(CollectiveTiming timing);

/// ProcessGroupInfo::transport of groups whose operations are known by their requests only. Such a record has no length.
inline constexpr std::string_view kRequestsOnly = "requests only";

/// ProcessGroupInfo::transport of groups whose operations the cost model wrote.
inline constexpr std::string_view kModelled = "modelled";

/// Which members of a group the trace has.
struct GroupCoverage {
    CollectiveTiming timing = CollectiveTiming::Separated;
    std::size_t present = 0;            ///< members in the trace
    std::optional<std::size_t> members; ///< of the group; absent: the trace does not say
};
GroupCoverage groupCoverage(const TraceInfo& info, GroupId group);

/// The timing of one record: a message of an import waits for a partner that was not matched.
CollectiveTiming collectiveTiming(const TraceInfo& info, GroupId group, CollectiveOp operation);

/// Ranks of the job as far as the trace says: of its header, its specification, or its largest group.
std::optional<std::size_t> jobRanks(const TraceInfo& info);

/// Whose work a figure is of.
struct RankScope {
    std::optional<RankId> one;      ///< the only rank
    std::size_t present = 0;        ///< ranks of the trace, with those that others stand for
    std::optional<std::size_t> job; ///< ranks of the job, where it is known
    bool isPart() const { return job && *job > present; }
};
/// chosen: the rank that a person looks at; absent: all of the trace.
RankScope rankScope(const TraceInfo& info, std::optional<RankId> chosen = std::nullopt);

/// Whether times of different ranks can be compared: an importer that could not put them on one clock says so.
bool ranksShareClock(const TraceInfo& info);

} // namespace fourwalls
