// SPDX-License-Identifier: Apache-2.0
// See collective_rows.h.
#include "model/trace/collective_rows.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <map>
#include <string>

namespace fourwalls {

namespace {

/// Above this the hops of one operation are too many to list; shares then follow from the ring.
constexpr int kMostListed = 128;

/// A buffer of one element per member: the hop lists then speak in n-ths.
CollectiveShape unitShape(CollectiveKind kind, int members, int membersPerNode)
{
    return {kind, members, members, 0, membersPerNode};
}

} // namespace

std::optional<CollectiveKind> collectiveKind(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllReduce: return CollectiveKind::AllReduce;
    case CollectiveOp::AllGather: return CollectiveKind::AllGather;
    case CollectiveOp::ReduceScatter: return CollectiveKind::ReduceScatter;
    case CollectiveOp::Broadcast: return CollectiveKind::Broadcast;
    default: return std::nullopt;
    }
}

std::optional<CollectiveAlgorithm> algorithmNamed(std::string_view word)
{
    const std::string lower = lowerCase(word);
    if (lower == "ring") return CollectiveAlgorithm::Ring;
    if (lower == "tree") return CollectiveAlgorithm::Tree;
    if (lower == "direct") return CollectiveAlgorithm::Direct;
    if (lower == "hierarchical") return CollectiveAlgorithm::Hierarchical;
    return std::nullopt;
}

std::vector<std::pair<int, double>> sentShares(CollectiveOp operation, std::string_view algorithm, int members,
                                               int member, int membersPerNode)
{
    std::vector<std::pair<int, double>> shares;
    if (members < 2 || member < 0 || member >= members) return shares;
    const double part = 1.0 / members;
    if (operation == CollectiveOp::AllToAll) {
        for (int other = 0; other < members; ++other)
            if (other != member) shares.emplace_back(other, part);
        return shares;
    }
    const auto kind = collectiveKind(operation);
    const CollectiveAlgorithm asked = algorithmNamed(algorithm).value_or(CollectiveAlgorithm::Ring);
    if (!kind || members > kMostListed) {
        const double times = operation == CollectiveOp::AllReduce ? 2.0 * (members - 1) : members - 1;
        return {{(member + 1) % members, times * part}};
    }
    std::map<int, double> to;
    for (const CollectiveHop& hop : collectiveHops(unitShape(*kind, members, membersPerNode), asked))
        if (hop.from == member) to[hop.to] += static_cast<double>(hop.count) * part;
    shares.assign(to.begin(), to.end());
    return shares;
}

SentMultiples naiveMultiples(int members)
{
    if (members < 2) return {};
    return {static_cast<double>(members) * (members - 1), static_cast<double>(members - 1)};
}

SentMultiples sentMultiples(CollectiveOp operation, CollectiveAlgorithm algorithm, int members, int membersPerNode)
{
    SentMultiples sum;
    if (members < 2) return sum;
    if (operation == CollectiveOp::AllToAll) {
        sum.busiest = (members - 1.0) / members;
        sum.all = sum.busiest * members;
        return sum;
    }
    const auto kind = collectiveKind(operation);
    if (!kind) return {1, 1}; // a message is sent once
    const CollectiveShape shape = unitShape(*kind, members, membersPerNode);
    for (int member = 0; member < members; ++member) {
        const double sent = static_cast<double>(elementsSent(shape, algorithm, member)) / members;
        sum.all += sent;
        sum.busiest = std::max(sum.busiest, sent);
    }
    return sum;
}

} // namespace fourwalls
