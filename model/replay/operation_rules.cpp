// SPDX-License-Identifier: Apache-2.0
// See operation_rules.h.
#include "model/replay/operation_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace fourwalls::replay {

namespace {

enum class Kind : std::uint8_t {
    Forward,
    Backward,
    ForwardSend,
    ForwardReceive,
    BackwardSend,
    BackwardReceive,
    Gather,
    Garbage,
    LayerNorm,
    Embedding,
    Separate,
    Scatter,
    Clip,
    Optimizer,
    Count
};
constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::Count);
constexpr std::array<std::string_view, kKinds> kNames{"forward-compute",
                                                      "backward-compute",
                                                      "forward-send",
                                                      "forward-recv",
                                                      "backward-send",
                                                      "backward-recv",
                                                      "params-all-gather",
                                                      "gc",
                                                      "layernorm-grads-all-reduce",
                                                      "embedding-grads-all-reduce",
                                                      "separate-grads-all-reduce",
                                                      "grads-reduce-scatter",
                                                      "optimizer-clip-main-grad",
                                                      "optimizer"};

/// Messages whose begins and ends differ by less were one call.
constexpr Duration kOneCall{20'000};
/// Starts within this are together, ready times further apart than the other are not.
constexpr Duration kTogether{2'000'000}, kApart{20'000'000};
constexpr double kLeastTogether = 0.3;

std::optional<Kind> kindOf(std::string_view name)
{
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Kind>(found - kNames.begin());
}

bool isMessage(Kind kind)
{
    return kind >= Kind::ForwardSend && kind <= Kind::BackwardReceive;
}

/// The chunk of the model that an operation works on: what its detail says.
int chunkOf(const OpInfo& op)
{
    constexpr std::string_view kChunk = "chunk ";
    if (op.detail.substr(0, kChunk.size()) != kChunk) return -1;
    int chunk = 0;
    for (const char c : std::string_view(op.detail).substr(kChunk.size())) {
        if (c < '0' || c > '9') break;
        chunk = std::min(chunk, 100'000) * 10 + (c - '0');
    }
    return chunk;
}

/// An operation's nodes: where it begins to depend on others, and where others begin to depend on it.
struct Nodes {
    std::uint32_t piece = kNone;
    NodeIndex begin = kNone, end = kNone, met = kNone;
};

/// One rank's operations of one step, by kind, in the order in which they began.
struct RankStep {
    RankId rank;
    std::uint32_t step = 0;
    std::array<std::vector<Nodes>, kKinds> of;

    std::vector<Nodes>& operator[](Kind kind) { return of[static_cast<std::size_t>(kind)]; }
};

class Rules {
public:
    explicit Rules(const Recording& recording) : m_recording(recording), m_builder(recording.steps.front().range.begin)
    {}

    Result<GraphBuilder> build()
    {
        addNodes();
        for (auto& [key, ops] : m_ranks) FOURWALLS_TRY(chain(ops));
        FOURWALLS_TRY(meet());
        for (auto& [key, ops] : m_ranks) {
            postInOrder(ops);
            joinCalls(ops);
        }
        findBarriers();
        return std::move(m_builder);
    }

private:
    const Piece& pieceOf(const Nodes& nodes) const { return m_recording.pieces[nodes.piece]; }

    void addNodes()
    {
        std::vector<NodeIndex> sources;
        for (std::uint32_t i = 0; i < m_recording.steps.size(); ++i) {
            const RecordedStep& step = m_recording.steps[i];
            GraphStep of;
            of.step = step.step;
            of.first = (step.range.begin - m_recording.steps.front().range.begin).ns;
            of.last = (step.range.end - m_recording.steps.front().range.begin).ns;
            m_builder.addStep(std::move(of));
            sources.push_back(m_builder.source(step.range.begin, i));
        }
        std::vector<std::uint32_t> order;
        for (std::uint32_t i = 0; i < m_recording.pieces.size(); ++i)
            if (kindOf(m_recording.op(m_recording.pieces[i]).name)) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
            return m_recording.pieces[a].start < m_recording.pieces[b].start;
        });
        const RankId first =
            m_recording.info.header.ranks.empty() ? RankId{} : m_recording.info.header.ranks.front().rank;
        for (const std::uint32_t index : order) {
            const Piece& piece = m_recording.pieces[index];
            const Kind kind = *kindOf(m_recording.op(piece).name);
            RankStep& ops = m_ranks[{piece.step, piece.rank}];
            ops.rank = piece.rank;
            ops.step = piece.step;
            std::vector<Nodes>& same = ops[kind];
            NodeTag tag{NodeRole::Work, index, piece.step, 0};
            tag.delayKey = ((static_cast<std::uint64_t>(kind) << 20 | same.size()) << 16 |
                            static_cast<std::uint64_t>(m_recording.stageOf(piece.rank)))
                               << 1 |
                           (piece.rank == first ? 1u : 0u);
            Nodes nodes;
            nodes.piece = index;
            if (piece.isCollective()) {
                tag.role = NodeRole::Arrival;
                nodes.begin = m_builder.work(piece.start, piece.start, tag);
                tag.role = NodeRole::Moving;
                nodes.end = m_builder.moving(piece.end, tag);
                m_builder.edge(nodes.begin, nodes.end);
                m_operations[MeetingKey::of(m_recording.collectives[piece.collective].record)].push_back(
                    {&ops, kind, same.size()});
            } else {
                if (kind == Kind::LayerNorm) tag.role = NodeRole::Moving;
                nodes.begin = nodes.end = m_builder.work(piece.start, piece.end, tag);
            }
            m_builder.edge(sources[piece.step], nodes.begin);
            same.push_back(nodes);
        }
    }

    Error misfit(const RankStep& ops, const std::string& what) const
    {
        return {ErrorCode::Format,
                what + " (rank " + std::to_string(ops.rank.value) + ", step " +
                    std::to_string(m_recording.steps[ops.step].step.value) + ")",
                "replay", "record the operations of a step completely"};
    }

    void follow(const Nodes& before, const Nodes& after) { m_builder.edge(before.end, after.begin); }
    void inOrder(const std::vector<Nodes>& nodes)
    {
        for (std::size_t i = 1; i < nodes.size(); ++i) follow(nodes[i - 1], nodes[i]);
    }

    /// The computation that a message serves: of its chunk and micro-batch, or the one of its number where it does not say.
    std::size_t servedBy(const std::vector<Nodes>& computed, const Nodes& message, std::size_t number) const
    {
        const Piece& piece = pieceOf(message);
        if (piece.microbatch < 0) return number;
        for (std::size_t i = 0; i < computed.size(); ++i)
            if (pieceOf(computed[i]).microbatch == piece.microbatch && sameChunk(computed[i], message)) return i;
        return computed.size();
    }

    Status messages(RankStep& ops, Kind computation, Kind receive, Kind send)
    {
        const std::vector<Nodes>& computed = ops[computation];
        for (const Kind kind : {receive, send}) {
            const std::vector<Nodes>& all = ops[kind];
            inOrder(all);
            for (std::size_t i = 0; i < all.size(); ++i) {
                const std::size_t place = servedBy(computed, all[i], i);
                if (place >= computed.size())
                    return misfit(ops, std::string(kNames[static_cast<std::size_t>(kind)]) + " number " +
                                           std::to_string(i) + " belongs to no computation");
                if (kind == send) {
                    follow(computed[place], all[i]);
                } else {
                    follow(all[i], computed[place]);
                    if (place > 0) follow(computed[place - 1], all[i]);
                }
            }
        }
        return {};
    }

    Status chain(RankStep& ops)
    {
        std::vector<Nodes> computed = ops[Kind::Forward];
        const std::vector<Nodes>& backward = ops[Kind::Backward];
        computed.insert(computed.end(), backward.begin(), backward.end());
        std::stable_sort(computed.begin(), computed.end(),
                         [this](const Nodes& a, const Nodes& b) { return pieceOf(a).start < pieceOf(b).start; });
        if (computed.empty()) return misfit(ops, "no computations");
        inOrder(computed);
        FOURWALLS_TRY(messages(ops, Kind::Forward, Kind::ForwardReceive, Kind::ForwardSend));
        FOURWALLS_TRY(messages(ops, Kind::Backward, Kind::BackwardReceive, Kind::BackwardSend));
        // While the pipeline fills, gradients are asked for behind the last forward but one.
        if (!backward.empty()) {
            std::size_t filling = 0;
            while (filling < ops[Kind::Forward].size() &&
                   pieceOf(ops[Kind::Forward][filling]).start < pieceOf(backward[0]).start)
                ++filling;
            if (filling >= 2)
                for (const Kind kind : {Kind::BackwardSend, Kind::BackwardReceive})
                    if (!ops[kind].empty()) follow(ops[Kind::Forward][filling - 2], ops[kind].front());
        }
        for (const Nodes& gather : ops[Kind::Gather])
            for (const Nodes& forward : ops[Kind::Forward])
                if (sameChunk(gather, forward)) {
                    follow(gather, forward);
                    break;
                }
        // What ends the step, one behind the other.
        std::vector<std::vector<Nodes>> tail{{computed.back()}, ops[Kind::Garbage]};
        if (ops[Kind::Separate].empty()) {
            for (const Kind kind : {Kind::LayerNorm, Kind::Embedding, Kind::Scatter}) tail.push_back(ops[kind]);
        } else {
            for (const Nodes& scatter : ops[Kind::Scatter]) {
                const Nodes* last = nullptr;
                for (const Nodes& each : backward)
                    if (sameChunk(scatter, each)) last = &each;
                if (last) follow(*last, scatter);
            }
            inOrder(ops[Kind::Scatter]);
            if (!ops[Kind::Scatter].empty() && !ops[Kind::LayerNorm].empty())
                follow(ops[Kind::Scatter].back(), ops[Kind::LayerNorm].front());
            for (const Kind kind : {Kind::LayerNorm, Kind::Embedding, Kind::Separate}) tail.push_back(ops[kind]);
        }
        for (const Kind kind : {Kind::Clip, Kind::Optimizer}) tail.push_back(ops[kind]);
        const Nodes* last = nullptr;
        for (const std::vector<Nodes>& part : tail)
            for (const Nodes& each : part) {
                if (last) follow(*last, each);
                last = &each;
            }
        return {};
    }

    bool sameChunk(const Nodes& a, const Nodes& b) const
    {
        const int one = chunkOf(m_recording.op(pieceOf(a))), other = chunkOf(m_recording.op(pieceOf(b)));
        return one < 0 || other < 0 || one == other;
    }

    Status meet()
    {
        for (const auto& [key, members] : m_operations) {
            const NodeIndex met = m_builder.meeting(members.front().ops->step);
            const ProcessGroupInfo& group = m_recording.info.groups[static_cast<std::size_t>(key.group.value)];
            const bool message = isMessage(members.front().kind);
            if (members.size() < (message ? 2 : group.ranks.size()))
                return misfit(*members.front().ops,
                              std::string(kNames[static_cast<std::size_t>(members.front().kind)]) + " has " +
                                  std::to_string(members.size()) + " of " +
                                  std::to_string(message ? 2 : group.ranks.size()) + " members of group " + group.name);
            for (const Member& member : members) {
                Nodes& nodes = (*member.ops)[member.kind][member.place];
                if (nodes.piece == kNone) continue;
                m_builder.edge(nodes.begin, met);
                m_builder.edge(met, nodes.end);
                nodes.met = met;
            }
        }
        return {};
    }

    /// A message is posted behind the computation before it in the program.
    void postInOrder(RankStep& ops)
    {
        std::vector<Nodes> computed = ops[Kind::Forward];
        computed.insert(computed.end(), ops[Kind::Backward].begin(), ops[Kind::Backward].end());
        std::stable_sort(computed.begin(), computed.end(),
                         [this](const Nodes& a, const Nodes& b) { return pieceOf(a).end < pieceOf(b).end; });
        constexpr Duration kRounding{5'000}; // times were written as single-precision seconds
        for (const Kind kind : {Kind::ForwardSend, Kind::ForwardReceive, Kind::BackwardSend, Kind::BackwardReceive})
            for (const Nodes& message : ops[kind]) {
                const Instant start = pieceOf(message).start + kRounding;
                const auto behind =
                    std::upper_bound(computed.begin(), computed.end(), start,
                                     [this](Instant at, const Nodes& each) { return at < pieceOf(each).end; });
                if (behind != computed.begin()) m_builder.edge((behind - 1)->end, message.begin, EdgeOrigin::Waiting);
            }
    }

    /// Messages that a rank gave to one call end when all of them have met.
    void joinCalls(RankStep& ops)
    {
        std::vector<Nodes> all;
        for (const Kind kind : {Kind::ForwardSend, Kind::ForwardReceive, Kind::BackwardSend, Kind::BackwardReceive})
            for (const Nodes& each : ops[kind])
                if (each.met != kNone) all.push_back(each);
        std::stable_sort(all.begin(), all.end(),
                         [this](const Nodes& a, const Nodes& b) { return pieceOf(a).start < pieceOf(b).start; });
        const auto near = [](Instant a, Instant b) { return (a < b ? b - a : a - b) <= kOneCall; };
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t k = i + 1; k < all.size() && near(pieceOf(all[i]).start, pieceOf(all[k]).start); ++k)
                if (near(pieceOf(all[i]).end, pieceOf(all[k]).end)) {
                    m_builder.edge(all[i].met, all[k].end, EdgeOrigin::Waiting);
                    m_builder.edge(all[k].met, all[i].end, EdgeOrigin::Waiting);
                }
    }

    /// Ranks that were ready far apart and started the same operation together.
    void findBarriers()
    {
        for (std::uint32_t step = 0; step < m_recording.steps.size(); ++step) {
            struct Start {
                Instant at, ready;
                const Nodes *nodes, *before;
            };
            std::vector<Start> starts;
            for (auto& [key, ops] : m_ranks) {
                if (key.first != step || ops[Kind::LayerNorm].empty()) continue;
                const Nodes* before = lastBefore(ops);
                if (!before) continue;
                const Nodes& first = ops[Kind::LayerNorm].front();
                starts.push_back({pieceOf(first).start, pieceOf(*before).end, &first, before});
            }
            std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
            std::size_t begin = 0, most = 0, from = 0;
            for (std::size_t i = 0; i < starts.size(); ++i) {
                while (starts[i].at - starts[begin].at > kTogether) ++begin;
                if (i + 1 - begin > most) {
                    most = i + 1 - begin;
                    from = begin;
                }
            }
            if (most < 2 || static_cast<double>(most) < kLeastTogether * static_cast<double>(ranksIn(step))) continue;
            Instant early = starts[from].ready, late = early;
            for (std::size_t i = from; i < from + most; ++i) {
                early = std::min(early, starts[i].ready);
                late = std::max(late, starts[i].ready);
            }
            if (late - early < kApart) continue;
            const NodeIndex met = m_builder.meeting(step);
            for (std::size_t i = from; i < from + most; ++i) {
                m_builder.edge(starts[i].before->end, met, EdgeOrigin::Waiting);
                m_builder.edge(met, starts[i].nodes->begin, EdgeOrigin::Waiting);
            }
        }
    }

    std::size_t ranksIn(std::uint32_t step) const
    {
        std::size_t count = 0;
        for (const auto& [key, ops] : m_ranks) count += key.first == step ? 1 : 0;
        return count;
    }

    /// What a rank ended last before its gradients are brought together.
    const Nodes* lastBefore(RankStep& ops) const
    {
        const Nodes* last = nullptr;
        for (const Kind kind : {Kind::Forward, Kind::Backward, Kind::BackwardSend})
            for (const Nodes& each : ops[kind])
                if (pieceOf(each).start < pieceOf(ops[Kind::LayerNorm].front()).start &&
                    (!last || pieceOf(each).end > pieceOf(*last).end) &&
                    pieceOf(each).end <= pieceOf(ops[Kind::LayerNorm].front()).start)
                    last = &each;
        return last;
    }

    struct Member {
        RankStep* ops;
        Kind kind;
        std::size_t place;
    };
    const Recording& m_recording;
    GraphBuilder m_builder;
    std::map<std::pair<std::uint32_t, RankId>, RankStep> m_ranks;
    std::map<MeetingKey, std::vector<Member>> m_operations;
};

} // namespace

bool isOperationRecording(const Recording& recording)
{
    bool forward = false, backward = false;
    for (const auto& op : recording.ops) {
        if (!op) continue;
        if (op->kind == SliceKind::Kernel) return false;
        forward = forward || op->name == kNames[static_cast<std::size_t>(Kind::Forward)];
        backward = backward || op->name == kNames[static_cast<std::size_t>(Kind::Backward)];
    }
    return forward && backward;
}

std::vector<StepIndex> dropIncompleteSteps(Recording& recording)
{
    const std::size_t steps = recording.steps.size();
    std::vector<std::set<RankId>> ranks(steps);
    std::map<std::pair<std::uint32_t, MeetingKey>, std::pair<std::size_t, std::size_t>> members; // is, should be
    for (const Piece& piece : recording.pieces) {
        ranks[piece.step].insert(piece.rank);
        if (!piece.isCollective()) continue;
        const CollectiveRecord& record = recording.collectives[piece.collective].record;
        const bool message = record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
        auto& [is, should] = members[{piece.step, MeetingKey::of(record)}];
        ++is;
        should = message ? 2 : recording.info.groups[static_cast<std::size_t>(record.group.value)].ranks.size();
    }
    std::size_t most = 0;
    for (const auto& each : ranks) most = std::max(most, each.size());
    std::vector<bool> drop(steps);
    for (std::size_t i = 0; i < steps; ++i) drop[i] = ranks[i].size() < most;
    for (const auto& [key, count] : members)
        if (count.first < count.second) drop[key.first] = true;
    std::vector<StepIndex> dropped;
    if (std::all_of(drop.begin(), drop.end(), [](bool each) { return each; })) return dropped;
    std::vector<std::uint32_t> place(steps, 0);
    std::vector<RecordedStep> kept;
    for (std::size_t i = 0; i < steps; ++i) {
        place[i] = static_cast<std::uint32_t>(kept.size());
        if (drop[i])
            dropped.push_back(recording.steps[i].step);
        else
            kept.push_back(std::move(recording.steps[i]));
    }
    if (dropped.empty()) {
        recording.steps = std::move(kept);
        return dropped;
    }
    std::erase_if(recording.pieces, [&](const Piece& piece) { return drop[piece.step]; });
    for (Piece& piece : recording.pieces) piece.step = place[piece.step];
    recording.steps = std::move(kept);
    return dropped;
}

Result<GraphBuilder> operationGraph(const Recording& recording)
{
    return Rules(recording).build();
}

} // namespace fourwalls::replay
