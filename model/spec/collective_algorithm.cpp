// SPDX-License-Identifier: Apache-2.0
// Ring, tree, direct and two-level collectives as lists of hops.
#include "model/spec/collective_algorithm.h"

#include <algorithm>
#include <bit>

namespace fourwalls {

namespace {

// Members that take part in one level of an operation, and the part of the buffer that is each one's own.
struct Range {
    std::int64_t first = 0, count = 0;
};

struct Level {
    std::vector<int> members;
    std::vector<std::vector<Range>> parts; // by position in members
};

class HopList {
public:
    std::vector<CollectiveHop> hops;
    int round = 0;

    void add(int from, int to, const Range& range, bool reduce, int atRound)
    {
        if (range.count > 0) hops.push_back({atRound, from, to, range.first, range.count, reduce});
    }
    void add(int from, int to, const std::vector<Range>& ranges, bool reduce, int atRound)
    {
        for (const Range& range : ranges) add(from, to, range, reduce, atRound);
    }
};

int modulo(int value, int n)
{
    return ((value % n) + n) % n;
}

// Each member ends with the sum of its own part: n-1 rounds, the part travels once round and ends at its owner.
void ringReduceScatter(HopList& list, const Level& level, int round)
{
    const int n = static_cast<int>(level.members.size());
    for (int k = 0; k < n - 1; ++k)
        for (int i = 0; i < n; ++i)
            list.add(level.members[static_cast<std::size_t>(i)], level.members[static_cast<std::size_t>((i + 1) % n)],
                     level.parts[static_cast<std::size_t>(modulo(i - k - 1, n))], true, round + k);
}

void ringAllGather(HopList& list, const Level& level, int round)
{
    const int n = static_cast<int>(level.members.size());
    for (int k = 0; k < n - 1; ++k)
        for (int i = 0; i < n; ++i)
            list.add(level.members[static_cast<std::size_t>(i)], level.members[static_cast<std::size_t>((i + 1) % n)],
                     level.parts[static_cast<std::size_t>(modulo(i - k, n))], false, round + k);
}

// Everybody to everybody, the nearest neighbour first so that no receiver is everybody's first.
void directReduceScatter(HopList& list, const Level& level, int round)
{
    const int n = static_cast<int>(level.members.size());
    for (int k = 1; k < n; ++k)
        for (int i = 0; i < n; ++i) {
            const auto to = static_cast<std::size_t>((i + k) % n);
            list.add(level.members[static_cast<std::size_t>(i)], level.members[to], level.parts[to], true, round);
        }
}

void directAllGather(HopList& list, const Level& level, int round)
{
    const int n = static_cast<int>(level.members.size());
    for (int k = 1; k < n; ++k)
        for (int i = 0; i < n; ++i) {
            const auto from = static_cast<std::size_t>(i);
            list.add(level.members[from], level.members[static_cast<std::size_t>((i + k) % n)], level.parts[from],
                     false, round);
        }
}

int levelsOf(int members)
{
    return members < 2 ? 0 : std::bit_width(static_cast<unsigned>(members - 1));
}

// Binomial tree; positions count from the root. In round k of the reduction, positions with the k-th bit as their
// lowest one send to the position without it.
void treeReduce(HopList& list, int n, const Range& all, int root, int round)
{
    for (int k = 0; k < levelsOf(n); ++k)
        for (int p = 1 << k; p < n; p += 2 << k)
            list.add((p + root) % n, (p - (1 << k) + root) % n, all, true, round + k);
}

void treeBroadcast(HopList& list, int n, const Range& all, int root, int round)
{
    const int levels = levelsOf(n);
    for (int k = levels - 1; k >= 0; --k)
        for (int p = 1 << k; p < n; p += 2 << k)
            list.add((p - (1 << k) + root) % n, (p + root) % n, all, false, round + levels - 1 - k);
}

Level wholeLevel(const CollectiveShape& shape)
{
    Level level;
    for (int i = 0; i < shape.members; ++i) {
        const std::int64_t begin = partBegin(shape.elements, shape.members, i);
        level.members.push_back(i);
        level.parts.push_back({{begin, partBegin(shape.elements, shape.members, i + 1) - begin}});
    }
    return level;
}

void chainBroadcast(HopList& list, const CollectiveShape& shape)
{
    const int n = shape.members;
    for (int part = 0; part < n; ++part) {
        const std::int64_t begin = partBegin(shape.elements, n, part);
        const Range range{begin, partBegin(shape.elements, n, part + 1) - begin};
        for (int k = 0; k < n - 1; ++k)
            list.add((shape.root + k) % n, (shape.root + k + 1) % n, range, false, part + k);
    }
}

// Members are (node, place): place within the node fastest.
void hierarchical(HopList& list, const CollectiveShape& shape)
{
    const int local = shape.membersPerNode;
    const int nodes = shape.members / local;
    const Range all{0, shape.elements};
    if (shape.kind == CollectiveKind::Broadcast) {
        // Between the nodes among those at the root's place, then inside each node.
        const int rootNode = shape.root / local, rootPlace = shape.root % local;
        HopList between;
        treeBroadcast(between, nodes, all, rootNode, 0);
        for (const CollectiveHop& hop : between.hops)
            list.add(hop.from * local + rootPlace, hop.to * local + rootPlace, all, false, hop.round);
        for (int node = 0; node < nodes; ++node) {
            HopList inside;
            treeBroadcast(inside, local, all, rootPlace, 0);
            for (const CollectiveHop& hop : inside.hops)
                list.add(node * local + hop.from, node * local + hop.to, all, false, levelsOf(nodes) + hop.round);
        }
        return;
    }
    const Level whole = wholeLevel(shape);
    // Inside a node, place l owns the parts of place l of every node.
    const auto inside = [&](int node) {
        Level level;
        for (int place = 0; place < local; ++place) {
            level.members.push_back(node * local + place);
            std::vector<Range> parts;
            for (int other = 0; other < nodes; ++other)
                parts.push_back(whole.parts[static_cast<std::size_t>(other * local + place)].front());
            level.parts.push_back(std::move(parts));
        }
        return level;
    };
    const auto between = [&](int place) {
        Level level;
        for (int node = 0; node < nodes; ++node) {
            level.members.push_back(node * local + place);
            level.parts.push_back(whole.parts[static_cast<std::size_t>(node * local + place)]);
        }
        return level;
    };
    int round = 0;
    if (shape.kind != CollectiveKind::AllGather) {
        for (int node = 0; node < nodes; ++node) directReduceScatter(list, inside(node), round);
        for (int place = 0; place < local; ++place) ringReduceScatter(list, between(place), round + 1);
        round += nodes;
    }
    if (shape.kind != CollectiveKind::ReduceScatter) {
        for (int place = 0; place < local; ++place) ringAllGather(list, between(place), round);
        for (int node = 0; node < nodes; ++node) directAllGather(list, inside(node), round + nodes - 1);
    }
}

} // namespace

std::int64_t partBegin(std::int64_t elements, int parts, int part)
{
    const std::int64_t each = elements / parts, longer = elements % parts;
    return part * each + std::min<std::int64_t>(part, longer);
}

CollectiveAlgorithm effectiveAlgorithm(const CollectiveShape& shape, CollectiveAlgorithm algorithm)
{
    if (algorithm == CollectiveAlgorithm::Hierarchical) {
        const int local = shape.membersPerNode;
        if (local <= 1 || local >= shape.members || shape.members % local != 0) return CollectiveAlgorithm::Ring;
    }
    if (algorithm == CollectiveAlgorithm::Tree && shape.kind != CollectiveKind::AllReduce &&
        shape.kind != CollectiveKind::Broadcast)
        return CollectiveAlgorithm::Ring;
    return algorithm;
}

std::vector<CollectiveHop> collectiveHops(const CollectiveShape& shape, CollectiveAlgorithm algorithm)
{
    HopList list;
    const int n = shape.members;
    if (n < 2 || shape.elements <= 0) return {};
    const Range all{0, shape.elements};
    switch (effectiveAlgorithm(shape, algorithm)) {
    case CollectiveAlgorithm::Tree:
        if (shape.kind == CollectiveKind::AllReduce) treeReduce(list, n, all, 0, 0);
        treeBroadcast(list, n, all, shape.kind == CollectiveKind::AllReduce ? 0 : shape.root,
                      shape.kind == CollectiveKind::AllReduce ? levelsOf(n) : 0);
        break;
    case CollectiveAlgorithm::Direct:
        if (shape.kind == CollectiveKind::Broadcast) {
            for (int k = 1; k < n; ++k) list.add(shape.root, (shape.root + k) % n, all, false, 0);
            break;
        }
        if (shape.kind != CollectiveKind::AllGather) directReduceScatter(list, wholeLevel(shape), 0);
        if (shape.kind != CollectiveKind::ReduceScatter)
            directAllGather(list, wholeLevel(shape), shape.kind == CollectiveKind::AllReduce ? 1 : 0);
        break;
    case CollectiveAlgorithm::Hierarchical: hierarchical(list, shape); break;
    default:
        if (shape.kind == CollectiveKind::Broadcast) {
            chainBroadcast(list, shape);
            break;
        }
        if (shape.kind != CollectiveKind::AllGather) ringReduceScatter(list, wholeLevel(shape), 0);
        if (shape.kind != CollectiveKind::ReduceScatter)
            ringAllGather(list, wholeLevel(shape), shape.kind == CollectiveKind::AllReduce ? n - 1 : 0);
        break;
    }
    std::stable_sort(list.hops.begin(), list.hops.end(),
                     [](const CollectiveHop& a, const CollectiveHop& b) { return a.round < b.round; });
    return list.hops;
}

std::int64_t elementsSent(const CollectiveShape& shape, CollectiveAlgorithm algorithm, int member)
{
    const int n = shape.members;
    const std::int64_t elements = shape.elements;
    if (n < 2 || elements <= 0) return 0;
    const auto own = [&](int part) {
        return partBegin(elements, n, modulo(part, n) + 1) - partBegin(elements, n, modulo(part, n));
    };
    const bool scatters = shape.kind != CollectiveKind::AllGather && shape.kind != CollectiveKind::Broadcast;
    const bool gathers = shape.kind != CollectiveKind::ReduceScatter && shape.kind != CollectiveKind::Broadcast;
    const auto childrenOf = [n](int position) {
        int children = 0;
        for (int bit = 1; bit < n && (position & bit) == 0; bit <<= 1)
            if (position + bit < n) ++children;
        return children;
    };
    switch (effectiveAlgorithm(shape, algorithm)) {
    case CollectiveAlgorithm::Tree: {
        const int position = modulo(member - (shape.kind == CollectiveKind::Broadcast ? shape.root : 0), n);
        return elements * (childrenOf(position) + (shape.kind == CollectiveKind::AllReduce && position > 0 ? 1 : 0));
    }
    case CollectiveAlgorithm::Direct:
        if (shape.kind == CollectiveKind::Broadcast) return member == shape.root ? (n - 1) * elements : 0;
        return (scatters ? elements - own(member) : 0) + (gathers ? (n - 1) * own(member) : 0);
    case CollectiveAlgorithm::Hierarchical: {
        const int local = shape.membersPerNode, nodes = n / local;
        if (shape.kind == CollectiveKind::Broadcast) {
            CollectiveShape between = shape, inside = shape;
            between.members = nodes;
            between.root = shape.root / local;
            inside.members = local;
            inside.root = shape.root % local;
            const bool forwards = member % local == inside.root;
            return (forwards ? elementsSent(between, CollectiveAlgorithm::Tree, member / local) : 0) +
                   elementsSent(inside, CollectiveAlgorithm::Tree, member % local);
        }
        std::int64_t ofPlace = 0; // all that the member's place owns inside its node
        for (int node = 0; node < nodes; ++node) ofPlace += own(node * local + member % local);
        const int node = member / local, place = member % local;
        const std::int64_t scattered = elements - ofPlace + ofPlace - own(member);
        const std::int64_t gathered = ofPlace - own(modulo(node + 1, nodes) * local + place) + (local - 1) * ofPlace;
        return (scatters ? scattered : 0) + (gathers ? gathered : 0);
    }
    default: break;
    }
    if (shape.kind == CollectiveKind::Broadcast) return modulo(member - shape.root, n) == n - 1 ? 0 : elements;
    // Scattering, a member passes on all parts but its own; gathering, all but its successor's.
    return (scatters ? elements - own(member) : 0) + (gathers ? elements - own(member + 1) : 0);
}

double collectiveSeconds(const CollectiveShape& shape, CollectiveAlgorithm algorithm, double elementBytes,
                         const CollectiveLinks& links)
{
    const int n = shape.members, local = shape.membersPerNode;
    if (n < 2) return 0;
    const double bytes = static_cast<double>(shape.elements) * elementBytes;
    const bool together = local <= 0 || local >= n;
    const LinkSpec& link = together ? links.inside : links.between;
    const bool broadcast = shape.kind == CollectiveKind::Broadcast;
    const double phases = shape.kind == CollectiveKind::AllReduce ? 2 : 1;
    const double others = n - 1, part = bytes / n;
    switch (effectiveAlgorithm(shape, algorithm)) {
    case CollectiveAlgorithm::Tree: return phases * levelsOf(n) * link.seconds(bytes);
    case CollectiveAlgorithm::Direct: return phases * link.seconds(broadcast ? others * bytes : others * part);
    case CollectiveAlgorithm::Hierarchical: {
        const int nodes = n / local;
        if (broadcast)
            return levelsOf(nodes) * links.between.seconds(bytes) + levelsOf(local) * links.inside.seconds(bytes);
        return phases * (links.inside.seconds((local - 1) * bytes / local) + (nodes - 1) * links.between.seconds(part));
    }
    default: break;
    }
    // A chain's members pass a part on while the next one comes.
    if (broadcast) return others * link.latencySeconds + 2 * (link.seconds(others * part) - link.latencySeconds);
    return phases * others * link.seconds(part);
}

CollectiveAlgorithm chooseAlgorithm(const CollectiveShape& shape, double elementBytes, const CollectiveLinks& links)
{
    using enum CollectiveAlgorithm;
    const bool together = shape.membersPerNode <= 0 || shape.membersPerNode >= shape.members;
    CollectiveAlgorithm best = Ring;
    double least = collectiveSeconds(shape, Ring, elementBytes, links);
    for (const CollectiveAlgorithm candidate : {Hierarchical, Tree, Direct}) {
        if (candidate == Direct && !(together && links.fullyConnected)) continue;
        if (effectiveAlgorithm(shape, candidate) != candidate) continue;
        const double seconds = collectiveSeconds(shape, candidate, elementBytes, links);
        if (seconds > least) continue;
        best = candidate;
        least = seconds;
    }
    return best;
}

} // namespace fourwalls
