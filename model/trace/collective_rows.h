// SPDX-License-Identifier: Apache-2.0
// What one member of a collective sends to whom, by algorithm: how traffic is shared out where a trace only says how
// much a rank sent.
#pragma once

#include "model/spec/collective_algorithm.h"
#include "model/trace/vocabulary.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls {

/// The hop lists' word for an operation; absent for those that have none (all-to-all, messages, barriers).
std::optional<CollectiveKind> collectiveKind(CollectiveOp operation);

/// "ring", "tree", "direct", "hierarchical", upper or lower case; absent for other words.
std::optional<CollectiveAlgorithm> algorithmNamed(std::string_view word);

/// Receivers of a member, by place in the group, each with its share of the logical buffer. Unknown algorithms count
/// as rings; an all-to-all gives every other member an n-th. membersPerNode: as in CollectiveShape.
std::vector<std::pair<int, double>> sentShares(CollectiveOp operation, std::string_view algorithm, int members,
                                               int member, int membersPerNode = 0);

/// What all members together send, and what the busiest of them does, as multiples of the logical buffer. Naive: every
/// member sends its whole buffer to every other one. Sources: model/spec/collective_algorithm.h.
struct SentMultiples {
    double all = 0, busiest = 0;
};
SentMultiples naiveMultiples(int members);
SentMultiples sentMultiples(CollectiveOp operation, CollectiveAlgorithm algorithm, int members, int membersPerNode = 0);

/// Whether receives only repeat what sends say: rows with any send have both ends of each message. A receive is timed
/// from when its receiver asks, often long after the message left, so that it is no measure of a link, and its bytes are
/// the send's. operation: of a row.
template <class Rows, class Operation>
bool receivesRepeatSends(const Rows& rows, Operation operation)
{
    return std::ranges::find(rows, CollectiveOp::Send, operation) != std::ranges::end(rows);
}

} // namespace fourwalls
