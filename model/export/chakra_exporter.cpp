// SPDX-License-Identifier: Apache-2.0
// See chakra_exporter.h. Messages, numbers of fields and types of attributes: et_def.proto of mlcommons/chakra, and what
// its generators write for ASTRA-sim.
#include "model/export/chakra_exporter.h"

#include "model/replay/replay.h"
#include "model/trace/job_step.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

namespace fourwalls {

namespace {

using replay::kNone;
using replay::NodeIndex;
using replay::NodeRole;

enum ChakraType { kComputeNode = 4, kSendNode = 5, kReceiveNode = 6, kCollectiveNode = 7 };

/// CollectiveCommType; absent for operations that it has not.
std::optional<int> chakraKind(CollectiveOp operation)
{
    switch (operation) {
    case CollectiveOp::AllReduce: return 0;
    case CollectiveOp::Reduce: return 1;
    case CollectiveOp::AllGather: return 2;
    case CollectiveOp::Gather: return 3;
    case CollectiveOp::Scatter: return 4;
    case CollectiveOp::Broadcast: return 5;
    case CollectiveOp::AllToAll: return 6;
    case CollectiveOp::ReduceScatter: return 7;
    case CollectiveOp::Barrier: return 9;
    default: return std::nullopt;
    }
}

/// A message under construction.
class Message {
public:
    void number(int field, std::uint64_t value)
    {
        write([&](auto& out) {
            out.WriteTag(static_cast<std::uint32_t>(field) << 3);
            out.WriteVarint64(value);
        });
    }
    void text(int field, const std::string& value)
    {
        write([&](auto& out) {
            out.WriteTag((static_cast<std::uint32_t>(field) << 3) | 2);
            out.WriteVarint32(static_cast<std::uint32_t>(value.size()));
            out.WriteString(value);
        });
    }
    void message(int field, const Message& inner) { text(field, inner.m_bytes); }
    /// Packed, as repeated numbers are.
    void numbers(int field, const std::vector<std::uint64_t>& values)
    {
        if (values.empty()) return;
        Message packed;
        packed.write([&](auto& out) {
            for (const std::uint64_t value : values) out.WriteVarint64(value);
        });
        message(field, packed);
    }
    /// AttributeProto, by the field that the value's type has.
    void attribute(int typeField, const std::string& name, std::uint64_t value)
    {
        Message inner;
        inner.text(1, name);
        inner.number(typeField, value);
        message(10, inner);
    }
    void attribute(const std::string& name, const std::string& value) { message(10, named(name, value)); }
    /// Of GlobalMetadata.
    void metadataAttribute(const std::string& name, const std::string& value) { message(2, named(name, value)); }
    /// With its length before it.
    void appendTo(std::ostream& file) const
    {
        Message length;
        length.write([&](auto& out) { out.WriteVarint32(static_cast<std::uint32_t>(m_bytes.size())); });
        file << length.m_bytes << m_bytes;
    }

private:
    static Message named(const std::string& name, const std::string& value)
    {
        Message inner;
        inner.text(1, name);
        inner.text(29, value);
        return inner;
    }
    template <class Write>
    void write(Write&& write)
    {
        google::protobuf::io::StringOutputStream stream(&m_bytes);
        google::protobuf::io::CodedOutputStream out(&stream);
        write(out);
    }
    std::string m_bytes;
};

constexpr int kInt32Value = 7, kInt64Value = 9, kUint64Value = 13, kBoolValue = 27;

constexpr std::int64_t kMostFiles = 4096;

/// The ranks of a prediction that stand for equal ones, which follow them in the numbers of ranks, and the groups of these:
/// where a group's members are equally far apart, a rank further on is in the group that lies as it does.
class EqualRanks {
public:
    explicit EqualRanks(const TraceInfo& info) : m_info(info)
    {
        for (const RankInfo& rank : info.header.ranks) m_count[rank.rank] = std::max(1, rank.multiplicity);
        for (const ProcessGroupInfo& group : info.groups) {
            m_numbers.try_emplace({group.name, group.ranks}, static_cast<int>(m_groups.size()));
            m_groups.push_back(group.ranks);
        }
    }

    /// Errors: Unsupported for more ranks than files are written, or a group that does not say where others are.
    Status check() const
    {
        std::int64_t all = 0;
        for (const auto& [rank, count] : m_count) all += count;
        if (all > kMostFiles)
            return Error{ErrorCode::Unsupported, "a job of " + std::to_string(all) + " ranks, a file each", "export",
                         "predict a smaller job: at most " + std::to_string(kMostFiles) + " ranks are written"};
        if (all == static_cast<std::int64_t>(m_count.size())) return {};
        for (const ProcessGroupInfo& group : m_info.groups)
            for (std::size_t i = 2; i < group.ranks.size(); ++i)
                if (group.ranks[i].value - group.ranks[i - 1].value != strideOf(group))
                    return Error{ErrorCode::Unsupported,
                                 "the members of group " + group.name +
                                     " are not equally far apart: which groups its equal ranks have is not known",
                                 "export", "record the step: fourwalls-cli record --clock device"};
        return {};
    }

    /// How many a rank stands for, itself included.
    int countOf(RankId rank) const
    {
        const auto found = m_count.find(rank);
        return found == m_count.end() ? 1 : found->second;
    }

    /// The number in groups.json of a group's counterpart for the rank that is `further` behind its member.
    int groupOf(GroupId group, int further)
    {
        if (further == 0) return group.value;
        const ProcessGroupInfo& info = m_info.groups[static_cast<std::size_t>(group.value)];
        const int stride = strideOf(info), members = static_cast<int>(info.ranks.size());
        const int shift = stride > 0 && members > 1 ? further - further / stride % members * stride : further;
        std::vector<RankId> ranks = info.ranks;
        for (RankId& rank : ranks) rank.value += shift;
        const auto [found, isNew] = m_numbers.try_emplace({info.name, ranks}, static_cast<int>(m_groups.size()));
        if (isNew) m_groups.push_back(std::move(ranks));
        return found->second;
    }

    nlohmann::json json() const
    {
        nlohmann::json groups = nlohmann::json::object();
        for (std::size_t i = 0; i < m_groups.size(); ++i) {
            nlohmann::json& ranks = groups[std::to_string(i)] = nlohmann::json::array();
            for (const RankId rank : m_groups[i]) ranks.push_back(rank.value);
        }
        return groups;
    }

private:
    static int strideOf(const ProcessGroupInfo& group)
    {
        return group.ranks.size() < 2 ? 0 : group.ranks[1].value - group.ranks[0].value;
    }

    const TraceInfo& m_info;
    std::map<RankId, int> m_count;
    std::vector<std::vector<RankId>> m_groups;
    std::map<std::pair<std::string, std::vector<RankId>>, int> m_numbers;
};

class ChakraWriter {
public:
    ChakraWriter(TraceQuery& trace, const replay::Replay& replay)
        : m_info(trace.info())
        , m_equal(m_info)
        , m_recording(replay.recording())
        , m_graph(replay.graph(replay::DelayRule::None))
    {
        for (const replay::Piece& piece : m_recording.pieces)
            if (piece.isCollective()) ++m_members[replay::MeetingKey::of(recordOf(piece))];
    }

    Status write(const std::filesystem::path& folder, ChakraExport& result, const std::stop_token& stop)
    {
        std::set<RankId> ranks;
        for (const replay::Piece& piece : m_recording.pieces) ranks.insert(piece.rank);
        if (ranks.empty())
            return Error{ErrorCode::NotFound, "the step has no work", folder.string(),
                         "give a trace with operators or kernels"};
        FOURWALLS_TRY(m_equal.check());
        for (const RankId rank : ranks)
            for (m_further = 0; m_further < m_equal.countOf(rank); ++m_further) {
                const std::string name = "step." + std::to_string(rank.value + m_further) + ".et";
                std::ofstream file(folder / name, std::ios::binary);
                metadata().appendTo(file);
                if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", name, ""};
                writeRank(rank, file, result);
                FOURWALLS_TRY(closed(file, folder / name));
                result.files.push_back(name);
            }
        std::ofstream groups(folder / "groups.json", std::ios::binary);
        groups << m_equal.json().dump(1) << '\n';
        FOURWALLS_TRY(closed(groups, folder / "groups.json"));
        result.files.emplace_back("groups.json");
        return {};
    }

private:
    /// The format's version, and how the lengths came about: the format itself does not tell a recording from a prediction.
    Message metadata() const
    {
        const TraceHeader& header = m_info.header;
        Message all;
        all.text(1, "0.0.4");
        all.metadataAttribute("fourwalls_source", std::string(name(header.source)));
        all.metadataAttribute("fourwalls_clock", std::string(name(header.clock)));
        all.metadataAttribute("fourwalls_compute", header.computeLabel);
        all.metadataAttribute("fourwalls_communication", header.communicationLabel);
        return all;
    }

    static Status closed(std::ofstream& file, const std::filesystem::path& path)
    {
        file.close();
        if (file) return {};
        return Error{ErrorCode::Io, "cannot be written", path.string(), "check permissions and free space"};
    }

    const CollectiveRecord& recordOf(const replay::Piece& piece) const
    {
        return m_recording.collectives[piece.collective].record;
    }
    /// Whether some of its members met in another step: no simulator can wait for them.
    bool reachesOut(const replay::Piece& piece) const
    {
        const auto operation = replay::MeetingKey::of(recordOf(piece));
        return m_members.at(operation) < m_recording.membersOf(operation);
    }

    /// The transfer that a node is; null: none.
    const CollectiveRecord* movingOf(NodeIndex node) const
    {
        const std::uint32_t at = m_graph.piece[node];
        if (at == kNone || m_graph.role[node] != NodeRole::Moving || !m_recording.pieces[at].isCollective())
            return nullptr;
        return &recordOf(m_recording.pieces[at]);
    }
    /// Whether a node of a rank waits for a message to it of which the trace has the sending alone, as predictions do.
    bool awaits(RankId rank, NodeIndex node, NodeIndex sent) const
    {
        const CollectiveRecord *message = movingOf(sent), *own = movingOf(node);
        return message && message->operation == CollectiveOp::Send && message->peer == rank &&
               !(own && own->operation == CollectiveOp::Receive);
    }

    /// Nodes of a rank by their begin. What is no work of its own hands on what it waits for.
    void writeRank(RankId rank, std::ofstream& file, ChakraExport& result)
    {
        std::vector<std::vector<NodeIndex>> waits(m_graph.nodes()); ///< what stands behind a node waits for these
        std::map<std::uint32_t, std::vector<NodeIndex>> arrivals;   ///< by piece
        std::set<NodeIndex> messages;                               ///< of other ranks, which something here waits for
        std::vector<std::pair<NodeIndex, std::vector<NodeIndex>>> nodes; ///< with what they wait for
        for (NodeIndex node = 0; node < m_graph.nodes(); ++node) {
            const std::uint32_t at = m_graph.piece[node];
            const NodeRole role = m_graph.role[node];
            if (role == NodeRole::Meeting || (at != kNone && m_recording.pieces[at].rank != rank)) continue;
            std::vector<NodeIndex> before;
            for (const NodeIndex each : m_graph.before(node)) {
                before.insert(before.end(), waits[each].begin(), waits[each].end());
                if (!awaits(rank, node, each)) continue;
                before.push_back(each);
                messages.insert(each);
            }
            if (role == NodeRole::Moving && at != kNone)
                if (const auto found = arrivals.find(at); found != arrivals.end()) before = found->second;
            std::sort(before.begin(), before.end());
            before.erase(std::unique(before.begin(), before.end()), before.end());
            bool isNode = at != kNone && (role == NodeRole::Work || role == NodeRole::Host || role == NodeRole::Moving);
            if (isNode && m_graph.duration[node] == 0 && m_recording.pieces[at].isCollective())
                isNode = !reachesOut(m_recording.pieces[at]);
            if (isNode) {
                waits[node] = {node};
                nodes.emplace_back(node, std::move(before));
                continue;
            }
            if (role == NodeRole::Arrival && at != kNone) arrivals[at] = before;
            waits[node] = std::move(before);
        }
        const auto begin = [this](NodeIndex node) { return m_graph.recordedEnd[node] - m_graph.duration[node]; };
        std::stable_sort(nodes.begin(), nodes.end(),
                         [&](const auto& a, const auto& b) { return begin(a.first) < begin(b.first); });
        std::map<NodeIndex, std::uint64_t> ids;
        for (const auto& [node, before] : nodes) ids.emplace(node, ++m_lastId);
        for (const NodeIndex sent : messages) {
            ids.emplace(sent, ++m_lastId);
            writeReceive(m_recording.pieces[m_graph.piece[sent]], m_lastId, file);
            ++result.nodes;
        }
        for (const auto& [node, before] : nodes) {
            std::vector<std::uint64_t> names;
            for (const NodeIndex each : before) names.push_back(ids.at(each));
            writeNode(node, m_recording.pieces[m_graph.piece[node]], ids.at(node), names, file, result);
            ++result.nodes;
        }
    }

    /// The other end of a message of which the trace has the sending alone, as predictions do: it takes no time.
    void writeReceive(const replay::Piece& send, std::uint64_t id, std::ofstream& file)
    {
        const CollectiveRecord& operation = recordOf(send);
        Message message;
        message.number(1, id);
        message.text(2, "receive");
        message.number(3, kReceiveNode);
        message.number(6, microseconds(operation.end.ns));
        message.number(7, 0);
        message.attribute(kBoolValue, "is_cpu_op", 0);
        message.attribute(kInt64Value, "comm_size",
                          static_cast<std::uint64_t>(std::max<std::int64_t>(0, operation.payloadBytes.value_or(0))));
        writeEnds(message, operation, send.rank, *operation.peer);
        message.appendTo(file);
    }

    void writeEnds(Message& message, const CollectiveRecord& operation, RankId from, RankId to)
    {
        message.attribute(kInt32Value, "comm_src", static_cast<std::uint64_t>(from.value + m_further));
        message.attribute(kInt32Value, "comm_dst", static_cast<std::uint64_t>(to.value + m_further));
        message.attribute(kInt32Value, "comm_tag", tagOf(operation));
    }

    void writeNode(NodeIndex node, const replay::Piece& piece, std::uint64_t id,
                   const std::vector<std::uint64_t>& before, std::ofstream& file, ChakraExport& result)
    {
        const OpInfo& op = m_recording.op(piece);
        const bool onHost = m_graph.role[node] == NodeRole::Host;
        Message message;
        message.number(1, id);
        message.text(2, op.name);
        const CollectiveRecord* operation = piece.isCollective() ? &recordOf(piece) : nullptr;
        int type = kComputeNode;
        std::optional<int> kind;
        if (operation) {
            const bool whole = !reachesOut(piece), paired = whole && operation->peer.has_value();
            if (whole) kind = chakraKind(operation->operation);
            if (operation->operation == CollectiveOp::Send && paired)
                type = kSendNode;
            else if (operation->operation == CollectiveOp::Receive && paired)
                type = kReceiveNode;
            else if (kind)
                type = kCollectiveNode;
            else
                ++result.withoutKind;
        }
        message.number(3, static_cast<std::uint64_t>(type));
        message.numbers(5, before);
        const std::int64_t end = m_graph.recordedEnd[node];
        const std::uint64_t start = microseconds(end - std::max<std::int64_t>(0, m_graph.duration[node]));
        message.number(6, start);
        message.number(7, microseconds(end) - start);
        message.attribute(kBoolValue, "is_cpu_op", onHost ? 1 : 0);
        const auto bytes =
            static_cast<std::uint64_t>(operation ? std::max<std::int64_t>(0, operation->payloadBytes.value_or(0))
                                                 : std::max<std::int64_t>(0, op.bytes));
        if (type == kComputeNode) {
            message.attribute(kInt64Value, "num_ops", static_cast<std::uint64_t>(std::clamp(op.flops, 0.0, 9e18)));
            message.attribute(kUint64Value, "tensor_size", bytes);
        } else {
            message.attribute(kInt64Value, "comm_size", bytes);
            if (type == kCollectiveNode) {
                message.attribute(kInt64Value, "comm_type", static_cast<std::uint64_t>(*kind));
                // Names of groups are not unique: their place in the trace is.
                message.attribute("pg_name", std::to_string(m_equal.groupOf(operation->group, m_further)));
            } else {
                const bool sends = type == kSendNode;
                writeEnds(message, *operation, sends ? piece.rank : *operation->peer,
                          sends ? *operation->peer : piece.rank);
            }
        }
        message.appendTo(file);
    }

    /// Equal on a send and its receive.
    std::uint64_t tagOf(const CollectiveRecord& operation)
    {
        return static_cast<std::uint64_t>(
            (m_equal.groupOf(operation.group, m_further) * 1'000'000LL + operation.sequence) & 0x7fffffff);
    }

    /// From the step's begin, rounded.
    std::uint64_t microseconds(std::int64_t ns) const
    {
        return static_cast<std::uint64_t>((std::max<std::int64_t>(0, ns - m_graph.steps.front().first) + 500) / 1000);
    }

    TraceInfo m_info;
    EqualRanks m_equal;
    int m_further = 0;                                   ///< how far behind the trace's rank the one is that is written
    std::map<replay::MeetingKey, std::size_t> m_members; ///< in the step
    const replay::Recording& m_recording;
    const replay::ReplayGraph& m_graph;
    std::uint64_t m_lastId = 0;
};

} // namespace

Result<ChakraExport> exportChakra(TraceQuery& trace, const std::string& folder, std::optional<StepIndex> step,
                                  std::stop_token stop)
{
    ChakraExport result;
    if (!step) {
        FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
        if (const auto typical = typicalStep(steps)) step = typical->step;
    }
    std::optional<replay::StepChoiceRange> range;
    if (step) range = {*step, *step};
    FOURWALLS_TRY_ASSIGN(const replay::Replay replayed, replay::Replay::of(trace, range, stop));
    if (step) result.step = *step;
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) return Error{ErrorCode::Io, "cannot be created: " + failure.message(), folder, "check permissions"};
    ChakraWriter writer(trace, replayed);
    FOURWALLS_TRY(writer.write(folder, result, stop));
    return result;
}

} // namespace fourwalls
