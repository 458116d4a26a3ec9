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
    void attribute(const std::string& name, const std::string& value)
    {
        Message inner;
        inner.text(1, name);
        inner.text(29, value);
        message(10, inner);
    }
    /// With its length before it.
    void appendTo(std::ostream& file) const
    {
        Message length;
        length.write([&](auto& out) { out.WriteVarint32(static_cast<std::uint32_t>(m_bytes.size())); });
        file << length.m_bytes << m_bytes;
    }

private:
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

class ChakraWriter {
public:
    ChakraWriter(TraceQuery& trace, const replay::Replay& replay)
        : m_info(trace.info())
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
        for (const RankId rank : ranks) {
            const std::string name = "step." + std::to_string(rank.value) + ".et";
            std::ofstream file(folder / name, std::ios::binary);
            Message metadata;
            metadata.text(1, "0.0.4");
            metadata.appendTo(file);
            if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", name, ""};
            writeRank(rank, file, result);
            FOURWALLS_TRY(closed(file, folder / name));
            result.files.push_back(name);
        }
        std::ofstream groups(folder / "groups.json", std::ios::binary);
        groups << groupsJson().dump(1) << '\n';
        FOURWALLS_TRY(closed(groups, folder / "groups.json"));
        result.files.emplace_back("groups.json");
        return {};
    }

private:
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

    /// Names of groups are not unique: their place in the trace is.
    static std::string groupName(GroupId group) { return std::to_string(group.value); }

    nlohmann::json groupsJson() const
    {
        nlohmann::json groups = nlohmann::json::object();
        for (std::size_t i = 0; i < m_info.groups.size(); ++i) {
            nlohmann::json& ranks = groups[std::to_string(i)] = nlohmann::json::array();
            for (const RankId rank : m_info.groups[i].ranks) ranks.push_back(rank.value);
        }
        return groups;
    }

    /// Nodes of a rank by their begin. What is no work of its own hands on what it waits for.
    void writeRank(RankId rank, std::ofstream& file, ChakraExport& result)
    {
        std::vector<std::vector<NodeIndex>> waits(m_graph.nodes());      ///< what stands behind a node waits for these
        std::map<std::uint32_t, std::vector<NodeIndex>> arrivals;        ///< by piece
        std::vector<std::pair<NodeIndex, std::vector<NodeIndex>>> nodes; ///< with what they wait for
        for (NodeIndex node = 0; node < m_graph.nodes(); ++node) {
            const std::uint32_t at = m_graph.piece[node];
            const NodeRole role = m_graph.role[node];
            if (role == NodeRole::Meeting || (at != kNone && m_recording.pieces[at].rank != rank)) continue;
            std::vector<NodeIndex> before;
            for (const NodeIndex each : m_graph.before(node))
                before.insert(before.end(), waits[each].begin(), waits[each].end());
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
        for (const auto& [node, before] : nodes) {
            std::vector<std::uint64_t> names;
            for (const NodeIndex each : before) names.push_back(ids.at(each));
            writeNode(node, m_recording.pieces[m_graph.piece[node]], ids.at(node), names, file, result);
            ++result.nodes;
        }
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
        // Members of a predicted operation need not meet: then each has its own length.
        std::int64_t length = m_graph.duration[node];
        if (length < 0 && operation) length = (operation->end - operation->lastArrival).ns;
        const std::uint64_t start = microseconds(end - std::max<std::int64_t>(0, length));
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
                message.attribute("pg_name", groupName(operation->group));
            } else {
                const auto own = static_cast<std::uint64_t>(piece.rank.value);
                const auto peer = static_cast<std::uint64_t>(operation->peer->value);
                message.attribute(kInt32Value, "comm_src", type == kSendNode ? own : peer);
                message.attribute(kInt32Value, "comm_dst", type == kSendNode ? peer : own);
                message.attribute(kInt32Value, "comm_tag", tagOf(*operation));
            }
        }
        message.appendTo(file);
    }

    /// Equal on a send and its receive.
    static std::uint64_t tagOf(const CollectiveRecord& operation)
    {
        return static_cast<std::uint64_t>((operation.group.value * 1'000'000LL + operation.sequence) & 0x7fffffff);
    }

    /// From the step's begin, rounded.
    std::uint64_t microseconds(std::int64_t ns) const
    {
        return static_cast<std::uint64_t>((std::max<std::int64_t>(0, ns - m_graph.steps.front().first) + 500) / 1000);
    }

    TraceInfo m_info;
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
    for (const RankInfo& rank : trace.info().header.ranks)
        if (rank.multiplicity > 1)
            return Error{ErrorCode::Unsupported,
                         "this prediction has one rank for " + std::to_string(rank.multiplicity) +
                             " equal ones, and a simulator needs the file of every rank",
                         "export",
                         "predict a plan without dp, tp, cp and ep (pipeline stages are ranks of their own), or record "
                         "the step: fourwalls-cli record --clock device"};
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
