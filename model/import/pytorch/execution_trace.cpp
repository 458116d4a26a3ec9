// SPDX-License-Identifier: Apache-2.0
// Execution traces of PyTorch (ExecutionTraceObserver) as rows: operators with their shapes and what called them, in the
// order in which they ran, without any time. Keys: torch/csrc/profiler/standalone/execution_trace_observer.cpp, schemas
// 1.0 to 1.1.1-chakra. Each operator is drawn one microsecond long, around those that it called.
#include "model/import/common/byte_source.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/import_format.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/profile_rows.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kExecutionPiece = std::size_t{1} << 18;
constexpr std::size_t kLongestExecutionNode = std::size_t{1} << 22;
constexpr std::size_t kMostExecutionNodes = 20'000'000;
constexpr std::int64_t kOperatorNs = 1000;

/// The objects in the list "nodes" of a file, one at a time.
class NodeTexts {
public:
    static Result<NodeTexts> open(const std::string& path)
    {
        NodeTexts texts;
        FOURWALLS_TRY_ASSIGN(texts.m_source, openByteSource(path));
        return texts;
    }

    /// The next one, followed by 8 bytes that may be read. Empty at the end of the list or of the file.
    Result<std::string_view> next()
    {
        m_text.clear();
        int depth = 0; // below the list
        bool quoted = false, escaped = false;
        while (!m_over) {
            if (m_at == m_piece.size()) {
                m_piece.resize(kExecutionPiece);
                FOURWALLS_TRY_ASSIGN(const std::size_t got, m_source->read(m_piece.data(), m_piece.size()));
                m_piece.resize(got);
                m_at = 0;
                if (got == 0) {
                    m_over = m_cut = true;
                    break;
                }
            }
            const char c = m_piece[m_at++];
            if (!m_inList) {
                // "nodes": [
                m_inList = c == '[' && m_key == "\"nodes\":";
                if (c > ' ') m_key = m_key.size() >= 8 ? m_key.substr(1) + c : m_key + c;
                continue;
            }
            if (depth > 0) m_text += c;
            if (m_text.size() > kLongestExecutionNode) {
                m_over = m_cut = true;
                break;
            }
            if (quoted) {
                quoted = escaped || c != '"';
                escaped = !escaped && c == '\\';
            } else if (c == '"') {
                quoted = true;
            } else if (c == '{') {
                if (depth++ == 0) m_text = c;
            } else if (c == '}' && --depth == 0) {
                const std::size_t size = m_text.size();
                m_text.append(8, '\0');
                return std::string_view(m_text.data(), size);
            } else if (c == ']' && depth == 0) {
                m_over = true;
            }
        }
        return std::string_view();
    }

    bool cut() const { return m_cut; }

private:
    std::unique_ptr<ByteSource> m_source;
    std::string m_piece, m_text, m_key;
    std::size_t m_at = 0;
    bool m_inList = false, m_over = false, m_cut = false;
};

struct ExecutedNode {
    std::uint64_t id = 0, parent = 0;
    std::string name, shapes, thread;
    bool annotation = false; ///< record_function's
};

ExecutedNode executedNode(std::string_view text)
{
    ExecutedNode node;
    const auto number = [](const JsonToken& value) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(0, integerFromText(value.text).value_or(0)));
    };
    forEachMember(text, [&](std::string_view key, const JsonToken& value) {
        if (key == "id") node.id = number(value);
        if (key == "parent" || key == "ctrl_deps") node.parent = number(value);
        if (key == "name") node.name = decoded(value).substr(0, 1000);
        if (key == "scope") node.annotation = value.text == "7";
        if (key == "tid") node.thread = std::string(value.text.substr(0, 20));
        if (key == "input_shapes") node.shapes = validUtf8(value.text.substr(0, 500));
        if (key == "inputs" && value.kind == JsonToken::Kind::Object)
            forEachMember(value.text, [&](std::string_view name, const JsonToken& shapes) {
                if (name == "shapes") node.shapes = validUtf8(shapes.text.substr(0, 500));
            });
        if (key != "attrs" || value.kind != JsonToken::Kind::Array) return;
        forEachElement(value.text, [&](const JsonToken& attribute) {
            std::string name, content;
            forEachMember(attribute.text, [&](std::string_view part, const JsonToken& of) {
                if (part == "name") name = of.text;
                if (part == "value") content = of.text.substr(0, 20);
            });
            if (name == "tid") node.thread = content;
            if (name == "scope") node.annotation = content == "7"; // RecordScope::USER_SCOPE
        });
    });
    return node;
}

class ExecutionTraceReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<ExecutionTraceReader>();
        ProfileDescription& description = reader->m_description;
        description.path = path;
        description.producer = "PyTorch execution trace";
        description.ranks.emplace_back();
        description.ranks.front().number = rankFromFileName(path);
        description.times = "none: operators in their order, 1 us each";
        // Nodes are numbered as they begin, and stand in the file as they end: the last one inside of each is looked for.
        FOURWALLS_TRY(reader->forEachNode(options.stop, [&](const ExecutedNode& node) {
            if (reader->m_nodesById.size() < kMostExecutionNodes) reader->m_nodesById[node.id] = {node.parent, 0, 0};
        }));
        reader->place();
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_nodes; }
    std::string whatToRecord() const override { return "record with torch.profiler, which has times"; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_left = 0;
        return forEachNode(stop, [&](const ExecutedNode& node) {
            const auto placed = m_nodesById.find(node.id);
            if (placed == m_nodesById.end()) return void(++m_left);
            // Processes and threads are nodes, too.
            if (node.name.find("|execution_trace|") != std::string::npos) return;
            ProfileRow out;
            out.category = node.annotation ? Category::UserAnnotation : Category::CpuOp;
            out.role = LaneRole::Thread;
            out.lane = node.thread.empty() ? "0" : std::string_view(node.thread);
            out.start = {placed->second.begin * kOperatorNs, 0};
            out.end = {placed->second.end * kOperatorNs, 0};
            out.name = node.name;
            out.detail = node.shapes == "[]" ? std::string_view() : std::string_view(node.shapes);
            visitor.row(out);
        });
    }

    void audit(TraceSink& sink) const override
    {
        sink.audit(auditRecord(AuditCounter::NoTimes, m_nodes));
        auditCount(sink, AuditCounter::EventsLeftOut, m_left, "more nodes than are held at a time");
        if (m_cut) sink.audit(auditRecord(AuditCounter::FileCut, 1, "the list of nodes does not end"));
    }

private:
    struct Place {
        std::uint64_t parent;
        std::int64_t begin, end;
    };

    template <class Visit>
    Status forEachNode(const std::stop_token& stop, Visit&& visit)
    {
        m_nodes = 0;
        FOURWALLS_TRY_ASSIGN(NodeTexts texts, NodeTexts::open(m_description.path));
        for (;;) {
            FOURWALLS_TRY_ASSIGN(const std::string_view text, texts.next());
            if (text.empty()) break;
            if ((++m_nodes & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            visit(executedNode(text));
        }
        m_cut = texts.cut();
        return {};
    }

    /// A node begins at its place in the order of numbers, and ends with the last one inside of it.
    void place()
    {
        std::vector<std::uint64_t> ids;
        ids.reserve(m_nodesById.size());
        for (const auto& [id, node] : m_nodesById) ids.push_back(id);
        std::sort(ids.begin(), ids.end());
        for (std::size_t i = 0; i < ids.size(); ++i) {
            Place& node = m_nodesById[ids[i]];
            node.begin = static_cast<std::int64_t>(i);
            node.end = node.begin + 1;
        }
        for (std::size_t i = ids.size(); i-- > 0;) {
            const Place& node = m_nodesById[ids[i]];
            // A caller has a smaller number; anything else is no caller.
            const auto parent = node.parent < ids[i] ? m_nodesById.find(node.parent) : m_nodesById.end();
            if (parent != m_nodesById.end()) parent->second.end = std::max(parent->second.end, node.end);
        }
    }

    ProfileDescription m_description;
    std::unordered_map<std::uint64_t, Place> m_nodesById;
    std::int64_t m_nodes = 0, m_left = 0;
    bool m_cut = false;
};

} // namespace

bool isExecutionTrace(std::string_view beginning)
{
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && beginning[first] == '{' &&
           beginning.substr(0, 300).find("\"schema\"") != std::string_view::npos &&
           beginning.find("\"nodes\"") != std::string_view::npos;
}

Result<std::unique_ptr<TraceImport>> openExecutionTraces(const std::vector<std::string>& paths,
                                                         const ImportOptions& options)
{
    return importWith<ExecutionTraceReader>(paths, options);
}

Result<TraceFacts> executionTraceFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<ExecutionTraceReader>(path, options);
}

} // namespace fourwalls::importers
