// SPDX-License-Identifier: Apache-2.0
// Logs that PyTorch writes where TORCH_TRACE is set (those that tlparse reads) as rows: what its compiler did and how long
// it took, with graph breaks and recompilations as marks. A line is glog's prefix and an object; its text ("has_payload")
// follows on lines that begin with a tab. Keys: torch/_logging and torch/_dynamo of PyTorch 2.4 to 2.15.
#include "model/import/common/import_format.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/text_lines.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestTraceLine = std::size_t{1} << 20;
constexpr std::size_t kLongestPayload = std::size_t{1} << 18; ///< what is read of a text; graphs may be far larger
constexpr std::size_t kMostOpenRanges = 100'000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

/// "V1126 04:49:25.888000 29194 torch/_dynamo/utils.py:2473] {…}".
struct TraceLine {
    std::int64_t localNs = 0; ///< from the year's beginning, as the machine's clock shows it (months of 31 days)
    std::string_view object;
};

std::optional<TraceLine> traceLine(std::string_view line)
{
    constexpr std::string_view kForm = "Vdddd dd:dd:dd.dddddd ";
    if (line.size() < kForm.size()) return std::nullopt;
    for (std::size_t i = 0; i < kForm.size(); ++i)
        if (kForm[i] == 'd' ? !isDigit(line[i]) : kForm[i] != line[i]) return std::nullopt;
    const std::size_t object = line.find("] {");
    if (object == std::string_view::npos) return std::nullopt;
    const auto number = [line](std::size_t at, std::size_t digits) {
        std::int64_t value = 0;
        for (std::size_t i = at; i < at + digits; ++i) value = value * 10 + (line[i] - '0');
        return value;
    };
    const std::int64_t days = number(1, 2) * 31 + number(3, 2);
    const std::int64_t seconds = ((days * 24 + number(6, 2)) * 60 + number(9, 2)) * 60 + number(12, 2);
    return TraceLine{seconds * kNsPerSecond + number(15, 6) * 1000, line.substr(object + 2)};
}

/// What an object says, as far as it is of use.
struct TraceObject {
    std::string kind;     ///< "chromium_event", "artifact"
    std::string artifact; ///< its name
    std::string function, frame;
    std::int64_t file = -1, lineNumber = 0;
    std::optional<std::int64_t> interned; ///< of a "str"
    std::string text;                     ///< of a "str"
    std::optional<int> rank;
    bool payload = false;
};

void readStackFrame(std::string_view frame, TraceObject& to)
{
    forEachMember(frame, [&](std::string_view key, const JsonToken& value) {
        if (key == "line") to.lineNumber = integerFromText(value.text).value_or(0);
        if (key == "name") to.function = decoded(value).substr(0, 200);
        if (key == "filename") to.file = integerFromText(value.text).value_or(-1);
    });
}

TraceObject traceObject(std::string_view object)
{
    TraceObject out;
    std::string compile;
    forEachMember(object, [&](std::string_view key, const JsonToken& value) {
        if (key == "has_payload") {
            out.payload = true;
        } else if (key == "rank") {
            const auto rank = integerFromText(value.text);
            if (rank && *rank >= 0 && *rank < 1 << 24) out.rank = static_cast<int>(*rank);
        } else if (key == "frame_id" || key == "frame_compile_id") {
            out.frame += (out.frame.empty() ? "" : "/") + std::string(value.text.substr(0, 20));
        } else if (out.kind.empty()) {
            out.kind = key;
            if (key == "artifact")
                forEachMember(value.text, [&](std::string_view name, const JsonToken& text) {
                    if (name == "name") out.artifact = decoded(text);
                });
            if (key == "dynamo_start")
                forEachMember(value.text, [&](std::string_view name, const JsonToken& stack) {
                    if (name == "stack")
                        forEachElement(stack.text, [&](const JsonToken& frame) { readStackFrame(frame.text, out); });
                });
            if (key == "str")
                forEachElement(value.text, [&](const JsonToken& part) {
                    if (part.isString())
                        out.text = decoded(part).substr(0, 1000);
                    else
                        out.interned = integerFromText(part.text);
                });
        }
    });
    return out;
}

/// A text's first line that says something, without the brackets of a list of lines and the spaces before a comment.
std::string firstSentence(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t\"[")));
        line = line.substr(0, line.find("  #"));
        const std::size_t last = line.find_last_not_of(" \t\",]");
        if (last != std::string_view::npos) return validUtf8(line.substr(0, std::min<std::size_t>(last + 1, 300)));
        text.remove_prefix(std::min(text.size(), end + 1));
    }
    return {};
}

/// Where and why: the first line names the place, and of those behind it "Explanation: …" says most.
std::string breakReason(std::string_view text)
{
    std::string sentence = firstSentence(text);
    for (const std::string_view heading : {"Explanation:", "Graph Break Reason:"})
        if (const std::size_t at = text.find(heading); at != std::string_view::npos)
            return sentence + ": " + firstSentence(text.substr(at + heading.size()));
    return sentence;
}

class TorchTraceReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<TorchTraceReader>();
        ProfileDescription& description = reader->m_description;
        description.path = path;
        description.producer = "TORCH_TRACE of PyTorch";
        description.ranks.emplace_back();
        class Nobody final : public ProfileVisitor {
            void row(const ProfileRow& /*row*/) override {}
        } nobody;
        FOURWALLS_TRY(reader->read(nobody, options.stop));
        description.unixNs = reader->m_first.value_or(0);
        description.ranks.front().number = reader->m_rank;
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_events; }
    std::string whatToRecord() const override { return "run the job with TORCH_TRACE=FOLDER and torch.compile"; }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_events = m_otherEvents = m_badLines = m_unclosed = 0;
        m_breaks = m_recompilations = 0;
        m_open.clear();
        m_files.clear();
        m_frames.clear();
        FOURWALLS_TRY_ASSIGN(TextLines lines, TextLines::open(m_description.path, kLongestTraceLine));
        std::optional<TraceLine> head;
        TraceObject object;
        std::string payload;
        for (bool more = true; more;) {
            FOURWALLS_TRY_ASSIGN(more, lines.next());
            if ((lines.count() & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            const std::string_view line = lines.line();
            if (more && !line.empty() && line[0] == '\t') {
                if (object.payload && payload.size() < kLongestPayload) payload.append(line.substr(1)) += '\n';
                continue;
            }
            if (head) event(*head, object, payload, visitor);
            payload.clear();
            head.reset();
            if (more) head = traceLine(line);
            if (more && !head) ++m_badLines;
            object = head ? traceObject(head->object) : TraceObject();
        }
        for (const auto& [lane, ranges] : m_open) m_unclosed += static_cast<std::int64_t>(ranges.size());
        m_damage = lines.damage();
        return {};
    }

    void audit(TraceSink& sink) const override
    {
        sink.audit(auditRecord(AuditCounter::GraphBreaks, m_breaks));
        sink.audit(auditRecord(AuditCounter::Recompilations, m_recompilations));
        auditCount(sink, AuditCounter::EventsNotShown, m_otherEvents, "graphs, guards and tensors of the compiler");
        auditCount(sink, AuditCounter::UnreadableRows, m_badLines, "lines that are none of this log");
        auditCount(sink, AuditCounter::UnclosedSlices, m_unclosed);
        if (!m_damage.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_damage));
    }

private:
    struct OpenRange {
        std::string name;
        std::int64_t begin = 0;
    };

    void event(const TraceLine& head, const TraceObject& object, const std::string& payload, ProfileVisitor& visitor)
    {
        ++m_events;
        if (object.rank) m_rank = object.rank;
        if (object.kind == "chromium_event") {
            chromiumEvent(head, payload, visitor);
        } else if (object.kind == "str" && object.interned) {
            if (m_files.size() < kMostOpenRanges) m_files[*object.interned] = object.text;
        } else if (object.kind == "dynamo_start") {
            if (m_frames.size() < kMostOpenRanges) m_frames[object.frame] = placeOf(object);
        } else if (object.kind == "artifact" && object.artifact == "dynamo_graph_break_reason") {
            ++m_breaks;
            mark(head, "graph break in " + functionOf(object.frame) + ": " + breakReason(payload), visitor);
        } else if (object.kind == "artifact" && object.artifact == "recompile_reasons") {
            ++m_recompilations;
            mark(head, "recompiled " + functionOf(object.frame) + ": " + firstSentence(payload), visitor);
        } else {
            ++m_otherEvents;
        }
    }

    std::string functionOf(const std::string& frame) const
    {
        const auto found = m_frames.find(frame);
        return found == m_frames.end() ? "frame " + frame : found->second;
    }

    /// "f (train.py:12)".
    std::string placeOf(const TraceObject& object)
    {
        const auto file = m_files.find(object.file);
        const std::string path = file == m_files.end() ? "" : file->second;
        return object.function + " (" + path + ":" + std::to_string(object.lineNumber) + ")";
    }

    /// The begin or end of a range: {"name", "ts" [us], "ph", "tid", "pid", "args": {"fn_name", "compile_id"}}.
    void chromiumEvent(const TraceLine& head, const std::string& payload, ProfileVisitor& visitor)
    {
        std::string name, phase, lane, function, compile;
        std::optional<FineTime> at, length;
        const std::string padded = payload + std::string(8, '\0');
        forEachMember(
            std::string_view(padded).substr(0, payload.size()), [&](std::string_view key, const JsonToken& value) {
                if (key == "name") name = decoded(value).substr(0, 200);
                if (key == "ph") phase = decoded(value);
                if (key == "ts") at = fineTimeFromMicroseconds(value.text);
                if (key == "dur") length = fineTimeFromMicroseconds(value.text);
                if (key == "tid") lane = std::string(value.text.substr(0, 40));
                if (key != "args" || value.kind != JsonToken::Kind::Object) return;
                forEachMember(value.text, [&](std::string_view argument, const JsonToken& text) {
                    if (argument == "compile_id" && text.isString()) compile = decoded(text).substr(0, 40);
                    if ((argument == "fn_name" || argument == "co_name") && text.isString() && function.empty())
                        function = decoded(text).substr(0, 200);
                });
            });
        if (!at || name.empty()) return void(++m_badLines);
        if (!m_first) {
            m_first = at->ns;
            // The prefix is local time without a year: the first event says what lies between it and Unix time.
            constexpr std::int64_t kQuarterHour = 900 * kNsPerSecond;
            m_localToUnix = (at->ns - head.localNs + kQuarterHour / 2) / kQuarterHour * kQuarterHour;
        }
        const FineTime when{at->ns - m_description.unixNs.value_or(0), at->ps};
        std::vector<OpenRange>& open = m_open[lane];
        if (phase == "B" && m_open.size() + open.size() < kMostOpenRanges) {
            open.push_back({name, when.ns});
        } else if (phase == "E") {
            // Ranges that an error left open end with the one around them.
            const auto begun =
                std::find_if(open.rbegin(), open.rend(), [&](const OpenRange& each) { return each.name == name; });
            if (begun == open.rend()) return void(++m_badLines);
            while (open.back().name != name) close(open, when, lane, {}, visitor);
            std::string detail = function;
            if (!compile.empty()) detail += (detail.empty() ? "" : ", ") + std::string("compile ") + compile;
            close(open, when, lane, detail, visitor);
        } else if (phase == "X" && length) {
            range(name, when.ns, (when + *length).rounded(), lane, function, visitor);
        } else if (phase == "i" || phase == "I") {
            visitor.mark(0, when.rounded(), name);
        } else {
            ++m_otherEvents;
        }
    }

    void close(std::vector<OpenRange>& open, const FineTime& end, const std::string& lane, const std::string& detail,
               ProfileVisitor& visitor)
    {
        range(open.back().name, open.back().begin, std::max(open.back().begin, end.rounded()), lane, detail, visitor);
        open.pop_back();
    }

    static void range(const std::string& name, std::int64_t begin, std::int64_t end, const std::string& lane,
                      const std::string& detail, ProfileVisitor& visitor)
    {
        ProfileRow out;
        out.category = Category::UserAnnotation;
        out.role = LaneRole::Thread;
        out.process = "compiler";
        out.lane = lane;
        out.start = {begin, 0};
        out.end = {end, 0};
        out.name = name;
        out.detail = detail;
        visitor.row(out);
    }

    void mark(const TraceLine& head, const std::string& text, ProfileVisitor& visitor)
    {
        if (m_first) visitor.mark(0, head.localNs + m_localToUnix - m_description.unixNs.value_or(0), text);
    }

    ProfileDescription m_description;
    std::map<std::string, std::vector<OpenRange>> m_open; ///< by thread
    std::map<std::int64_t, std::string> m_files;
    std::map<std::string, std::string> m_frames; ///< the function of a frame
    std::optional<std::int64_t> m_first;         ///< Unix time of the first range
    std::int64_t m_localToUnix = 0;
    std::optional<int> m_rank;
    std::int64_t m_events = 0, m_otherEvents = 0, m_badLines = 0, m_unclosed = 0, m_breaks = 0, m_recompilations = 0;
    std::string m_damage;
};

} // namespace

bool isTorchTrace(std::string_view beginning)
{
    const std::string_view first = beginning.substr(0, beginning.find('\n'));
    return first.find("torch/") != std::string_view::npos && traceLine(first).has_value();
}

Result<std::unique_ptr<TraceImport>> openTorchTraces(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
{
    return importWith<TorchTraceReader>(paths, options);
}

Result<TraceFacts> torchTraceFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<TorchTraceReader>(path, options);
}

} // namespace fourwalls::importers
