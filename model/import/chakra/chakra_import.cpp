// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (.et) as rows: nodes of work with what they wait for, one file per rank. Messages and numbers of
// fields: et_def.proto of mlcommons/chakra; names of attributes: those that its converters write and ASTRA-sim reads. A
// file whose nodes have no begins is a program, not a recording: its nodes are drawn where their dependencies let them.
#include "model/import/common/byte_source.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/import_format.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/protobuf_reader.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostNodes = 20'000'000;
constexpr std::size_t kMostDependencies = 100'000'000;
constexpr std::size_t kLongestChakraText = 1000;
constexpr std::int64_t kNsPerUs = 1000;

enum NodeType {
    kMetadata = 1,
    kMemoryLoad = 2,
    kMemoryStore = 3,
    kCompute = 4,
    kSend = 5,
    kReceive = 6,
    kCollective = 7
};

/// CollectiveCommType, by its number.
constexpr std::array<CollectiveOp, 10> kChakraOperations{
    CollectiveOp::AllReduce,     CollectiveOp::Reduce,    CollectiveOp::AllGather, CollectiveOp::Gather,
    CollectiveOp::Scatter,       CollectiveOp::Broadcast, CollectiveOp::AllToAll,  CollectiveOp::ReduceScatter,
    CollectiveOp::ReduceScatter, CollectiveOp::Barrier};

struct ChakraNode {
    std::uint64_t id = 0, type = 0, start = 0, duration = 0; ///< start, duration: microseconds
    std::string name, group, shapes;
    std::vector<std::uint64_t> dependencies;
    bool onHost = false;
    std::optional<std::int64_t> operation, bytes, source, destination, stream, thread;

    void clear()
    {
        const auto kept = std::exchange(dependencies, {});
        *this = {};
        dependencies = kept;
        dependencies.clear();
    }
    bool communicates() const { return type == kSend || type == kReceive || type == kCollective; }
    /// Nodes of a lane do not overlap.
    std::string lane() const
    {
        if (onHost) return thread ? std::to_string(*thread) : "host";
        if (stream) return std::to_string(*stream);
        return communicates() ? "communication" : type == kMemoryLoad || type == kMemoryStore ? "memory" : "compute";
    }
};

/// AttributeProto: a name and a value of any of a dozen types.
struct ChakraAttribute {
    std::string name, text;
    std::optional<std::int64_t> number;
};

ChakraAttribute attributeOf(ProtobufReader& reader)
{
    ChakraAttribute attribute;
    auto& [name, text, number] = attribute;
    reader.enter();
    while (reader.next()) {
        const int field = reader.field();
        if (field == 1)
            reader.text(name, kLongestChakraText);
        else if (field == 29)
            reader.text(text, kLongestChakraText);
        else if (field == 15 || field == 17) // sint: the sign is in the lowest bit
            number = static_cast<std::int64_t>((reader.bits() >> 1) ^ (~(reader.bits() & 1) + 1));
        else if (field == 3 || field == 5)
            number = static_cast<std::int64_t>(std::clamp(reader.real(), -9e18, 9e18));
        else if (!reader.isMessage())
            number = reader.integer();
    }
    reader.leave();
    return attribute;
}

/// Node.attr.
void readAttribute(ProtobufReader& reader, ChakraNode& node)
{
    const auto [name, text, number] = attributeOf(reader);
    if (name == "is_cpu_op") node.onHost = number.value_or(0) != 0;
    if (name == "comm_type") node.operation = number;
    if (name == "comm_size") node.bytes = number;
    if (name == "tensor_size" && !node.bytes) node.bytes = number;
    if (name == "comm_src") node.source = number;
    if (name == "comm_dst") node.destination = number;
    if (name == "stream") node.stream = number;
    if (name == "tid") node.thread = number;
    if (name == "pg_name") node.group = text.empty() && number ? std::to_string(*number) : text;
}

/// Numbers one by one, or packed.
void readDependencies(ProtobufReader& reader, ChakraNode& node)
{
    if (!reader.isMessage()) {
        node.dependencies.push_back(reader.bits());
        return;
    }
    std::string packed;
    reader.text(packed, std::size_t{1} << 24);
    std::uint64_t value = 0;
    int shift = 0;
    for (const char c : packed) {
        if (shift < 64) value |= static_cast<std::uint64_t>(c & 0x7f) << shift;
        shift += 7;
        if ((c & 0x80) != 0) continue;
        node.dependencies.push_back(value);
        value = 0;
        shift = 0;
    }
}

/// A node's whole message.
void readNode(ProtobufReader& reader, ChakraNode& node)
{
    node.clear();
    reader.enter();
    while (reader.next()) {
        switch (reader.field()) {
        case 1: node.id = reader.bits(); break;
        case 2: reader.text(node.name, kLongestChakraText); break;
        case 3: node.type = reader.bits(); break;
        case 4:
        case 5: readDependencies(reader, node); break;
        case 6: node.start = reader.bits(); break;
        case 7: node.duration = reader.bits(); break;
        case 8: // inputs: values, shapes, types
            reader.enter();
            while (reader.next())
                if (reader.field() == 2) reader.text(node.shapes, kLongestChakraText);
            reader.leave();
            break;
        case 10: readAttribute(reader, node); break;
        default: break;
        }
    }
    reader.leave();
}

/// Where the nodes of a program lie: each begins when what it waits for and what is before it on its lane have ended.
class ProgramOrder {
public:
    void add(const ChakraNode& node)
    {
        m_nodes.push_back({node.duration, laneOf(node.lane()), m_dependencies.size()});
        m_dependencies.insert(m_dependencies.end(), node.dependencies.begin(), node.dependencies.end());
        m_byId.emplace(node.id, static_cast<std::uint32_t>(m_nodes.size() - 1));
    }
    std::size_t dependencies() const { return m_dependencies.size(); }

    /// The begin of each node [us]; empty where dependencies go in a circle. missing: dependencies on nodes that are not there.
    std::vector<std::uint64_t> begins(std::int64_t& missing) const
    {
        const auto count = static_cast<std::uint32_t>(m_nodes.size());
        std::vector<std::uint32_t> waits(count), firstBehind(count + 1), behind;
        const auto forEachEdge = [&](auto&& visit) {
            for (std::uint32_t node = 0; node < count; ++node) {
                const std::size_t end = node + 1 < count ? m_nodes[node + 1].firstDependency : m_dependencies.size();
                for (std::size_t at = m_nodes[node].firstDependency; at < end; ++at) {
                    const auto before = m_byId.find(m_dependencies[at]);
                    if (before == m_byId.end())
                        ++missing;
                    else
                        visit(before->second, node);
                }
            }
        };
        forEachEdge([&](std::uint32_t before, std::uint32_t node) {
            ++firstBehind[before + 1];
            ++waits[node];
        });
        missing = 0;
        for (std::uint32_t node = 0; node < count; ++node) firstBehind[node + 1] += firstBehind[node];
        behind.resize(firstBehind[count]);
        std::vector<std::uint32_t> filled(firstBehind.begin(), firstBehind.end() - 1);
        forEachEdge([&](std::uint32_t before, std::uint32_t node) { behind[filled[before]++] = node; });
        // Of those that may begin, the first of the file.
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
        for (std::uint32_t node = 0; node < count; ++node)
            if (waits[node] == 0) ready.push(node);
        std::vector<std::uint64_t> begin(count), laneEnds(m_lanes.size());
        std::uint32_t done = 0;
        for (; !ready.empty(); ++done) {
            const std::uint32_t node = ready.top();
            ready.pop();
            std::uint64_t& lane = laneEnds[m_nodes[node].lane];
            begin[node] = std::max(begin[node], lane);
            lane = begin[node] + m_nodes[node].duration;
            for (std::uint32_t at = firstBehind[node]; at < firstBehind[node + 1]; ++at) {
                begin[behind[at]] = std::max(begin[behind[at]], lane);
                if (--waits[behind[at]] == 0) ready.push(behind[at]);
            }
        }
        if (done < count) begin.clear();
        return begin;
    }

private:
    struct Placed {
        std::uint64_t duration;
        std::uint32_t lane;
        std::size_t firstDependency;
    };
    std::uint32_t laneOf(const std::string& name)
    {
        return m_lanes.try_emplace(name, static_cast<std::uint32_t>(m_lanes.size())).first->second;
    }

    std::vector<Placed> m_nodes;
    std::vector<std::uint64_t> m_dependencies;
    std::unordered_map<std::uint64_t, std::uint32_t> m_byId;
    std::unordered_map<std::string, std::uint32_t> m_lanes;
};

/// "workload.3.et" is rank 3's.
std::optional<int> rankOfEt(std::string_view path)
{
    if (path.ends_with(".gz")) path.remove_suffix(3);
    if (!path.ends_with(".et")) return rankFromFileName(path);
    path.remove_suffix(3);
    const std::size_t dot = path.find_last_not_of("0123456789");
    const std::string_view digits = dot == std::string_view::npos ? path : path.substr(dot + 1);
    const bool parted = dot != std::string_view::npos && (path[dot] == '.' || path[dot] == '_' || path[dot] == '-');
    if (!parted || digits.empty() || digits.size() > 7) return rankFromFileName(path);
    return static_cast<int>(*integerFromText(digits));
}

class ChakraReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<ChakraReader>();
        ProfileDescription& description = reader->m_description;
        description.path = path;
        description.producer = "Chakra execution trace";
        // A file of a converter and one of a generator look alike.
        description.times = "as the file says, measured or not";
        description.ranks.emplace_back();
        description.ranks.front().number = rankOfEt(path);
        ProgramOrder order;
        std::uint64_t first = 0;
        std::size_t nodes = 0;
        bool tooLarge = false;
        FOURWALLS_TRY(reader->forEachNode(options.stop, [&](const ChakraNode& node) {
            ++nodes;
            if (node.start > 0 && (first == 0 || node.start < first)) first = node.start;
            tooLarge = tooLarge || nodes > kMostNodes || order.dependencies() > kMostDependencies;
            if (first == 0 && !tooLarge) order.add(node);
        }));
        // Begins that count from the file's own beginning may be 0; those of a clock are not.
        constexpr std::uint64_t kSecondUs = 1'000'000;
        reader->m_zero = first < kSecondUs ? 0 : first;
        if (first == 0) {
            if (tooLarge)
                return Error{ErrorCode::Unsupported, "a program of more nodes than are held at a time (20 million)",
                             path, "give a trace with begins (start_time_micros), or a part of it"};
            std::int64_t missing = 0;
            reader->m_begins = order.begins(missing);
            reader->m_missing = missing;
            if (nodes > 0 && reader->m_begins.empty())
                return Error{ErrorCode::Format, "what its nodes wait for goes in a circle", path, "convert it again"};
            if (description.communicationTimes.empty()) description.times = "as the program says";
        }
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_nodes; }
    std::string whatToRecord() const override { return "convert a trace with durations: chakra_converter PyTorch"; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_notCounted = m_otherNodes = m_badTimes = 0;
        std::size_t at = 0;
        return forEachNode(stop, [&](const ChakraNode& node) {
            const std::uint64_t begin = m_begins.empty()       ? node.start - std::min(node.start, m_zero)
                                        : at < m_begins.size() ? m_begins[at]
                                                               : 0;
            ++at;
            row(node, begin, visitor);
        });
    }

    void audit(TraceSink& sink) const override
    {
        if (!m_begins.empty()) sink.audit(auditRecord(AuditCounter::PlacedByDependencies, m_nodes));
        auditCount(sink, AuditCounter::NodesWithoutLength, m_notCounted);
        auditCount(sink, AuditCounter::EventsNotShown, m_otherNodes, "nodes of metadata, storage and other kinds");
        auditCount(sink, AuditCounter::DependenciesMissing, m_missing);
        auditCount(sink, AuditCounter::TimeOutOfRange, m_badTimes, "nodes whose times cannot be");
    }

private:
    template <class Visit>
    Status forEachNode(const std::stop_token& stop, Visit&& visit)
    {
        m_nodes = 0;
        FOURWALLS_TRY_ASSIGN(std::unique_ptr<ByteSource> source, openByteSource(m_description.path));
        ProtobufReader reader(std::move(source), m_description.path);
        ChakraNode node;
        // The first message says which version of the format it is.
        for (bool metadata = true; reader.nextOfFile(); metadata = false) {
            if (metadata) {
                readMetadata(reader);
                continue;
            }
            readNode(reader, node);
            if (reader.damaged()) break;
            if ((++m_nodes & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            visit(node);
        }
        if (reader.damaged()) return reader.error();
        return {};
    }

    /// What our own export says of where its times come from.
    void readMetadata(ProtobufReader& reader)
    {
        constexpr std::size_t kLongestLabel = 60;
        reader.enter();
        while (reader.next()) {
            if (reader.field() != 2) continue;
            const ChakraAttribute attribute = attributeOf(reader);
            const std::string text = attribute.text.substr(0, kLongestLabel);
            if (attribute.name == "fourwalls_source" && !text.empty())
                m_description.producer = "Chakra execution trace of Fourwalls (" + text + ")";
            if (attribute.name == "fourwalls_compute" && !text.empty()) m_description.times = text;
            if (attribute.name == "fourwalls_communication") m_description.communicationTimes = text;
            if (attribute.name != "fourwalls_clock") continue;
            for (const ClockKind clock : {ClockKind::Device, ClockKind::Predicted})
                if (text == name(clock)) m_description.clock = clock;
        }
        reader.leave();
    }

    void row(const ChakraNode& node, std::uint64_t begin, ProfileVisitor& visitor)
    {
        if (node.type < kMemoryLoad || node.type > kCollective) return void(++m_otherNodes);
        constexpr std::uint64_t kLatestUs = kLargestTimeNs / kNsPerUs / 2;
        if (begin > kLatestUs || node.duration > kLatestUs) return void(++m_badTimes);
        m_notCounted += node.duration == 0;
        m_lane = node.lane();
        CollectiveDetail detail;
        ProfileRow out;
        out.role = node.onHost ? LaneRole::Thread : LaneRole::Stream;
        out.lane = m_lane;
        out.start = {static_cast<std::int64_t>(begin) * kNsPerUs, 0};
        out.end = {static_cast<std::int64_t>(begin + node.duration) * kNsPerUs, 0};
        out.name = node.name.empty() ? "node" : std::string_view(node.name);
        out.detail = node.shapes;
        const std::optional<std::int64_t> bytes = node.bytes && *node.bytes >= 0 ? node.bytes : std::nullopt;
        if (node.communicates() && !node.onHost) {
            out.category = Category::CollectiveWork;
            detail.operation = node.type == kSend      ? CollectiveOp::Send
                               : node.type == kReceive ? CollectiveOp::Receive
                               : node.operation && *node.operation >= 0 &&
                                       *node.operation < static_cast<std::int64_t>(kChakraOperations.size())
                                   ? std::optional(kChakraOperations[static_cast<std::size_t>(*node.operation)])
                                   : std::nullopt;
            detail.groupName = node.group;
            detail.payloadBytes = bytes;
            const std::optional<std::int64_t> peer = node.type == kSend ? node.destination : node.source;
            if (node.type != kCollective && peer && *peer >= 0 && *peer < 1 << 24)
                detail.peer = static_cast<int>(*peer);
            out.collective = &detail;
        } else if (node.onHost) {
            out.category = Category::CpuOp;
        } else if (node.type == kMemoryLoad || node.type == kMemoryStore) {
            out.category = Category::Memcpy;
            out.bytes = bytes;
        } else {
            out.category = Category::Kernel;
        }
        visitor.row(out);
    }

    ProfileDescription m_description;
    std::uint64_t m_zero = 0;            ///< the first begin [us]
    std::vector<std::uint64_t> m_begins; ///< of a program's nodes, in the file's order [us]
    std::int64_t m_nodes = 0, m_missing = 0, m_notCounted = 0, m_otherNodes = 0, m_badTimes = 0;
    std::string m_lane;
};

/// A varint at a place of a text; moves the place behind it. Absent: there is none.
std::optional<std::uint64_t> varintAt(std::string_view text, std::size_t& at)
{
    std::uint64_t value = 0;
    for (int shift = 0; shift < 35 && at < text.size(); shift += 7) {
        const auto byte = static_cast<unsigned char>(text[at++]);
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
}

} // namespace

/// There is no magic number: a short message with a version, and behind it one that begins as a node does.
bool isChakra(std::string_view beginning)
{
    std::size_t at = 0;
    const auto metadata = varintAt(beginning, at);
    if (!metadata || *metadata < 3 || at + *metadata >= beginning.size() || beginning[at] != '\x0a') return false;
    const std::size_t behind = at + *metadata;
    std::size_t text = at + 1;
    const auto length = varintAt(beginning, text);
    if (!length || *length == 0 || *length > 64 || text + *length > behind) return false;
    const std::string_view version = beginning.substr(text, *length);
    if (!isDigit(version[0]) || version.find('.') == std::string_view::npos) return false;
    std::size_t node = behind;
    const auto size = varintAt(beginning, node);
    return size && *size > 0 && node < beginning.size() &&
           (beginning[node] == '\x08' || beginning[node] == '\x12' || beginning[node] == '\x18');
}

Result<std::unique_ptr<TraceImport>> openChakras(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return importWith<ChakraReader>(paths, options);
}

Result<TraceFacts> chakraFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<ChakraReader>(path, options);
}

} // namespace fourwalls::importers
