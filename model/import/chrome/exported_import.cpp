// SPDX-License-Identifier: Apache-2.0
// Chrome JSON that Fourwalls exported, back as the trace that it was: nothing is guessed, every field is read.
#include "model/import/chrome/chrome_reader.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/import_format.h"
#include "model/trace/allocator_text.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace fourwalls::importers {

namespace {

/// The members of an object by key; their text lives as long as the object's.
class Fields {
public:
    explicit Fields(const JsonToken& object)
    {
        if (object.kind == JsonToken::Kind::Object)
            forEachMember(object.text, [this](std::string_view key, const JsonToken& value) {
                m_values.insert_or_assign(key, value);
            });
    }

    const JsonToken& operator[](std::string_view key) const
    {
        static constexpr JsonToken kNone{};
        const auto found = m_values.find(key);
        return found == m_values.end() ? kNone : found->second;
    }
    std::optional<std::int64_t> integer(std::string_view key) const { return integerFromText((*this)[key].text); }
    std::int64_t integerOr(std::string_view key, std::int64_t otherwise) const
    {
        return integer(key).value_or(otherwise);
    }
    int small(std::string_view key, int otherwise) const
    {
        const std::int64_t value = integerOr(key, otherwise);
        return value < -(1 << 30) || value > (1 << 30) ? otherwise : static_cast<int>(value);
    }
    std::optional<std::int64_t> nanoseconds(std::string_view key) const
    {
        return nanosecondsFromMicroseconds((*this)[key].text);
    }
    std::optional<double> real(std::string_view key) const
    {
        const std::string_view text = (*this)[key].text;
        double value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        return failure == std::errc{} && end == text.data() + text.size() && value - value == 0 ? std::optional(value)
                                                                                                : std::nullopt;
    }
    std::string text(std::string_view key) const
    {
        return (*this)[key].isString() ? decoded((*this)[key]) : std::string();
    }
    /// The value of that stable name; the first one for unknown names.
    template <class Enumeration>
    Enumeration named(std::string_view key, int count) const
    {
        for (int i = 0; i < count; ++i)
            if (name(static_cast<Enumeration>(i)) == (*this)[key].text) return static_cast<Enumeration>(i);
        return Enumeration{};
    }
    template <class Visit>
    void each(std::string_view key, Visit&& visit) const
    {
        if ((*this)[key].kind == JsonToken::Kind::Array)
            forEachElement((*this)[key].text, [&](const JsonToken& element) { visit(Fields(element)); });
    }

private:
    std::map<std::string_view, JsonToken> m_values;
};

/// Everything outside the events.
struct Definitions {
    TraceHeader header;
    TraceClosing closing;
    std::vector<TrackInfo> tracks;
    std::vector<ProcessGroupInfo> groups;
    std::vector<CounterInfo> counters;
    std::vector<std::pair<RankId, StepRecord>> steps;
    std::vector<AuditRecord> audit;
    std::map<std::string, std::size_t> trackOfThread; ///< "pid\0tid" as written
    bool complete = true, found = false;
};

std::string threadKey(const ChromeEvent& event)
{
    return std::string(event[EventKey::Pid].text) + '\0' + std::string(event[EventKey::Tid].text);
}

/// The first walk: definitions, and which thread is which track.
class DefinitionsReader final : public ChromeVisitor {
public:
    explicit DefinitionsReader(Definitions& result) : m_result(result) {}

    bool wantsHeader(std::string_view key) override { return key == "otherData" || key == "fourwalls"; }
    void header(std::string_view key, const JsonToken& value) override
    {
        const Fields fields(value);
        if (key == "otherData") {
            about(fields);
        } else {
            define(fields);
            m_result.found = true;
        }
    }
    void event(const ChromeEvent& event) override
    {
        if (event.phase() != 'M' || event[EventKey::Name].text != "thread_name") return;
        const std::int64_t track = Fields(event[EventKey::Args]).integerOr("track", -1);
        if (track >= 0) m_result.trackOfThread[threadKey(event)] = static_cast<std::size_t>(track);
    }

private:
    void about(const Fields& data)
    {
        TraceHeader& header = m_result.header;
        header.source = data.named<TraceSource>("source", 4);
        header.clock = data.named<ClockKind>("clock", 3);
        header.producer = data.text("producer");
        header.computeLabel = data.text("compute");
        header.communicationLabel = data.text("communication");
        header.originUnixNs = data.integerOr("origin_unix_ns", 0);
        m_result.complete = data["complete"].text != "false";
        if (data["spec"].kind != JsonToken::Kind::Object) return;
        auto spec = runSpecFromJson(data["spec"].text);
        if (spec.ok())
            header.spec = std::move(*spec);
        else
            m_result.audit.push_back(auditRecord(AuditCounter::SpecificationUnread, 1, spec.error().what));
    }

    void define(const Fields& data)
    {
        data.each("ranks", [&](const Fields& each) {
            RankInfo rank;
            rank.rank = RankId{each.small("rank", 0)};
            rank.device = each.text("device");
            rank.host = each.text("host");
            rank.pipelineStage = each.small("stage", 0);
            rank.memoryBytes = std::max<std::int64_t>(0, each.integerOr("memory_bytes", 0));
            rank.multiplicity = std::max(1, each.small("multiplicity", 1));
            m_result.header.ranks.push_back(std::move(rank));
        });
        data.each("tracks", [&](const Fields& each) {
            m_result.tracks.push_back({RankId{each.small("rank", 0)}, each.named<TrackKind>("kind", 9),
                                       each.text("name"), each.small("order", 0)});
        });
        data.each("groups", [&](const Fields& each) {
            ProcessGroupInfo group{each.text("name"), {}, each.text("transport")};
            if (each["ranks"].kind == JsonToken::Kind::Array)
                forEachElement(each["ranks"].text, [&](const JsonToken& member) {
                    const auto rank = integerFromText(member.text);
                    if (rank && *rank >= 0 && *rank < (1 << 30))
                        group.ranks.push_back(RankId{static_cast<std::int32_t>(*rank)});
                });
            m_result.groups.push_back(std::move(group));
        });
        data.each("counters", [&](const Fields& each) {
            CounterInfo counter{std::nullopt, each.text("name"), each.named<CounterUnit>("unit", 7)};
            if (each.integer("rank")) counter.rank = RankId{each.small("rank", 0)};
            m_result.counters.push_back(std::move(counter));
        });
        data.each("steps", [&](const Fields& each) {
            const std::int64_t begin = each.integerOr("begin_ns", 0), end = each.integerOr("end_ns", 0);
            if (begin < -kLargestTimeNs || end > kLargestTimeNs || end < begin) return;
            StepRecord step{StepIndex{each.small("step", 0)},
                            {Instant{begin}, Instant{end}},
                            each.real("loss"),
                            each.real("learning_rate"),
                            each.real("gradient_norm"),
                            each.integerOr("samples", 0),
                            each.integerOr("tokens", 0),
                            each.named<StepState>("state", kStepStateCount)};
            m_result.steps.emplace_back(RankId{each.small("rank", 0)}, step);
        });
        if (data["closing"].kind == JsonToken::Kind::Object) {
            const Fields closing(data["closing"]);
            m_result.closing = {closing.real("peak_flops_per_device"),      closing.text("peak_source"),
                                closing.real("memory_bytes_per_second"),    closing.real("recorder_overhead_fraction"),
                                closing.real("recorder_overhead_measured"), closing.text("steps_by")};
            if (auto segments = segmentsOf(closing.text("segments"))) m_result.closing.segments = std::move(*segments);
            if (auto blocks = blocksOf(closing.text("blocks"))) m_result.closing.blocks = std::move(*blocks);
            sortAllocatorState(m_result.closing);
        }
        data.each("audit", [&](const Fields& each) {
            m_result.audit.push_back({each.text("name"), each.named<AuditSeverity>("severity", 4),
                                      each.integerOr("count", 0), each.text("detail")});
        });
    }

    Definitions& m_result;
};

/// The second walk.
class EventsWriter final : public ChromeVisitor {
public:
    EventsWriter(const Definitions& definitions, TraceSink& sink, std::int64_t fileSize,
                 std::function<void(double)> progress)
        : m_definitions(definitions)
        , m_sink(sink)
        , m_producer(sink.openProducer())
        , m_fileSize(fileSize)
        , m_progress(std::move(progress))
    {
        for (const TrackInfo& track : definitions.tracks) m_tracks.push_back(sink.defineTrack(track));
        for (const ProcessGroupInfo& group : definitions.groups) m_groups.push_back(sink.defineGroup(group));
        for (const CounterInfo& counter : definitions.counters) m_counters.push_back(sink.defineCounter(counter));
    }

    bool wantsHeader(std::string_view) override { return false; }
    void header(std::string_view, const JsonToken&) override {}
    void progress(std::int64_t read) override
    {
        if (m_progress && m_fileSize > 0)
            m_progress(std::min(1.0, static_cast<double>(read) / static_cast<double>(m_fileSize)));
    }

    void event(const ChromeEvent& event) override
    {
        const char phase = event.phase();
        if (phase == 'M') return announce(event);
        const auto ts = nanosecondsFromMicroseconds(event[EventKey::Ts].text);
        if (!ts || *ts < -kLargestTimeNs || *ts > kLargestTimeNs) {
            ++m_unread;
            return;
        }
        const Instant at{*ts};
        bool read = true;
        switch (phase) {
        case 'X': read = slice(event, at); break;
        case 'i': read = instant(event, at); break;
        case 'C': read = sample(event, at); break;
        case 's':
        case 'f': read = arrow(event, at, phase == 's'); break;
        case 'N': read = buffer(event, at); break;
        case 'D': read = release(event, at); break;
        default: read = false;
        }
        if (!read) ++m_unread;
    }

    void finish()
    {
        for (const auto& [rank, step] : m_definitions.steps) m_producer->step(rank, step);
        m_producer.reset();
        for (const AuditRecord& record : m_definitions.audit) m_sink.audit(record);
        auditCount(m_sink, AuditCounter::ExportEventsUnread, m_unread);
        if (!m_definitions.complete)
            m_sink.audit(auditRecord(AuditCounter::SourceIncomplete, 1, "exported from an interrupted recording"));
    }

private:
    static RankId rankOf(const ChromeEvent& event)
    {
        const auto rank = integerFromText(event[EventKey::Pid].text);
        return RankId{rank && *rank >= 0 && *rank < (1 << 30) ? static_cast<std::int32_t>(*rank) : 0};
    }
    std::optional<TrackId> trackOf(const ChromeEvent& event) const
    {
        const auto found = m_definitions.trackOfThread.find(threadKey(event));
        if (found == m_definitions.trackOfThread.end() || found->second >= m_tracks.size()) return std::nullopt;
        return m_tracks[found->second];
    }

    static OpInfo opOf(const JsonToken& opName, std::string_view category, const Fields& args)
    {
        OpInfo op;
        op.name = decoded(opName);
        for (int i = 0; i < kSliceKindCount; ++i)
            if (name(static_cast<SliceKind>(i)) == category) op.kind = static_cast<SliceKind>(i);
        op.activity = args.named<Activity>("activity", kActivityCount);
        op.phase = args.named<Phase>("phase", kPhaseCount);
        if (args.integer("layer")) op.layer = LayerIndex{args.small("layer", 0)};
        op.flops = std::max(0.0, args.real("flops").value_or(0));
        op.bytes = std::max<std::int64_t>(0, args.integerOr("bytes", 0));
        op.detail = args.text("detail");
        return op;
    }

    void announce(const ChromeEvent& event)
    {
        if (event[EventKey::Name].text != "fourwalls_op") return;
        const Fields args(event[EventKey::Args]);
        const Fields op(args["op"]);
        m_ops[args.integerOr("id", -1)] = m_sink.defineOp(opOf(op["name"], op["cat"].text, Fields(op["args"])));
    }

    std::optional<Instant> collectiveEnd(Instant at, const Fields& args, std::int64_t otherwise) const
    {
        const std::int64_t length = args.nanoseconds("collective_us").value_or(otherwise);
        return length >= 0 && at.ns + length <= kLargestTimeNs ? std::optional(Instant{at.ns + length}) : std::nullopt;
    }

    bool collective(TrackId track, Instant at, Instant end, const Fields& args)
    {
        const std::int64_t group = args.integerOr("group_id", -1);
        if (group < 0 || static_cast<std::size_t>(group) >= m_groups.size()) return false;
        CollectiveRecord record;
        record.track = track;
        record.start = at;
        record.end = end;
        record.lastArrival =
            Instant{at.ns + std::clamp<std::int64_t>(args.nanoseconds("wait_us").value_or(0), 0, (end - at).ns)};
        record.operation = args.named<CollectiveOp>("operation", 12);
        record.group = m_groups[static_cast<std::size_t>(group)];
        record.sequence = args.integerOr("sequence", 0);
        record.payloadBytes = args.integer("payload_bytes");
        record.wireBytes = args.integer("wire_bytes");
        if (args.integer("peer")) record.peer = RankId{args.small("peer", 0)};
        record.algorithm = args.text("algorithm");
        record.protocol = args.text("protocol");
        m_producer->collective(record);
        return true;
    }

    bool slice(const ChromeEvent& event, Instant at)
    {
        const auto track = trackOf(event);
        const auto length = nanosecondsFromMicroseconds(event[EventKey::Dur].text);
        if (!track || !length || *length < 0 || at.ns + *length > kLargestTimeNs) return false;
        const Fields args(event[EventKey::Args]);
        SliceRecord record{*track, m_sink.defineOp(opOf(event[EventKey::Name], event[EventKey::Cat].text, args)),
                           at,     Duration{*length},
                           {},     {}};
        if (args.integer("microbatch")) record.microbatch = Microbatch{args.small("microbatch", 0)};
        if (const auto correlation = args.integer("correlation")) record.correlation = CorrelationId{*correlation};
        m_producer->slice(record);
        if (!args["operation"]) return true;
        const auto end = collectiveEnd(at, args, *length);
        return end && collective(*track, at, *end, args);
    }

    bool instant(const ChromeEvent& event, Instant at)
    {
        if (event[EventKey::Cat].text == "collective") {
            const Fields args(event[EventKey::Args]);
            const auto track = trackOf(event);
            const auto end = collectiveEnd(at, args, 0);
            return track && end && collective(*track, at, *end, args);
        }
        EventRecord record;
        for (int i = 0; i < 6; ++i)
            if (name(static_cast<EventKind>(i)) == event[EventKey::Cat].text) record.kind = static_cast<EventKind>(i);
        if (event[EventKey::S].text == "p") record.rank = rankOf(event);
        record.at = at;
        record.text = decoded(event[EventKey::Name]);
        m_producer->event(record);
        return true;
    }

    bool sample(const ChromeEvent& event, Instant at)
    {
        constexpr std::string_view kCounter = "counter:";
        const std::string_view category = event[EventKey::Cat].text;
        if (category == "memory") return true; // a drawing of the buffers
        if (category.substr(0, kCounter.size()) != kCounter) return false;
        const auto index = integerFromText(category.substr(kCounter.size()));
        const auto value = Fields(event[EventKey::Args]).real("value");
        if (!index || *index < 0 || static_cast<std::size_t>(*index) >= m_counters.size() || !value) return false;
        m_producer->counter({m_counters[static_cast<std::size_t>(*index)], at, *value});
        return true;
    }

    bool arrow(const ChromeEvent& event, Instant at, bool start)
    {
        const auto track = trackOf(event);
        if (!track) return false;
        if (start) {
            m_arrow = {decoded(event[EventKey::Name]), *track, at, {}, {}};
            m_arrowId = std::string(event[EventKey::Id].text);
            return true;
        }
        // The export writes both ends one after the other.
        if (m_arrowId.empty() || event[EventKey::Id].text != m_arrowId) return false;
        m_arrow.toTrack = *track;
        m_arrow.to = at;
        m_producer->flow(m_arrow);
        m_arrowId.clear();
        return true;
    }

    bool buffer(const ChromeEvent& event, Instant at)
    {
        const auto id = integerFromText(event[EventKey::Id].text);
        // A buffer comes into being once, and only then can it go.
        if (!id || !m_buffers[rankOf(event)].insert(*id).second) return false;
        const Fields args(event[EventKey::Args]);
        AllocationRecord record;
        record.id = AllocationId{*id};
        record.at = at;
        record.bytes = std::max<std::int64_t>(0, args.integerOr("bytes", 0));
        record.address = std::max<std::int64_t>(0, args.integerOr("address", 0));
        record.category = MemoryCategory::Other;
        for (int i = 0; i < kMemoryCategoryCount; ++i)
            if (name(static_cast<MemoryCategory>(i)) == event[EventKey::Name].text)
                record.category = static_cast<MemoryCategory>(i);
        if (const auto op = args.integer("op"))
            if (const auto found = m_ops.find(*op); found != m_ops.end()) record.op = found->second;
        if (args.integer("microbatch")) record.microbatch = Microbatch{args.small("microbatch", 0)};
        m_producer->allocated(rankOf(event), record);
        return true;
    }

    bool release(const ChromeEvent& event, Instant at)
    {
        const auto id = integerFromText(event[EventKey::Id].text);
        if (!id || !m_buffers[rankOf(event)].contains(*id)) return false;
        m_producer->freed(rankOf(event), AllocationId{*id}, at);
        return true;
    }

    const Definitions& m_definitions;
    TraceSink& m_sink;
    std::unique_ptr<TraceProducer> m_producer;
    std::int64_t m_fileSize;
    std::function<void(double)> m_progress;
    std::vector<TrackId> m_tracks;
    std::vector<GroupId> m_groups;
    std::vector<CounterId> m_counters;
    std::unordered_map<std::int64_t, OpId> m_ops;                 ///< by number in the file
    std::map<RankId, std::unordered_set<std::int64_t>> m_buffers; ///< that were met
    FlowRecord m_arrow;
    std::string m_arrowId;
    std::int64_t m_unread = 0;
};

class ExportedImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::string& path, const ImportOptions& options)
    {
        auto import = std::make_unique<ExportedImport>();
        import->m_path = path;
        DefinitionsReader reader(import->m_definitions);
        FOURWALLS_TRY_ASSIGN(auto source, openByteSource(path));
        TextWindow window(std::move(source));
        FOURWALLS_TRY_ASSIGN(const ChromeReadReport report, readChromeTrace(window, reader, path, options.stop));
        if (!report.foundEvents || !import->m_definitions.found)
            return Error{ErrorCode::Format, "an export of Fourwalls without its definitions", path,
                         "export the trace again"};
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_definitions.header; }
    TraceClosing closing() const override { return m_definitions.closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        FOURWALLS_TRY_ASSIGN(auto source, openByteSource(m_path));
        TextWindow window(std::move(source));
        EventsWriter writer(m_definitions, sink, fileBytes(m_path), options.progress);
        FOURWALLS_TRY_ASSIGN(const ChromeReadReport report, readChromeTrace(window, writer, m_path, options.stop));
        writer.finish();
        if (report.recoveries > 0)
            sink.audit(auditRecord(AuditCounter::TextRecovered, report.recoveries,
                                   std::to_string(report.lostBytes) + " bytes passed over"));
        if (report.bytesLeft > 0 || !report.closed)
            sink.audit(auditRecord(AuditCounter::FileCut, std::max<std::int64_t>(1, report.bytesLeft),
                                   "the export ends before its events do"));
        if (!report.damage.empty()) sink.audit(damageRecord(report.damage));
        return {};
    }

private:
    std::string m_path;
    Definitions m_definitions;
};

} // namespace

Result<std::unique_ptr<TraceImport>> openExports(const std::vector<std::string>& paths, const ImportOptions& options)
{
    if (paths.size() > 1)
        return Error{ErrorCode::InvalidArgument, "exported traces are imported one by one", paths[1],
                     "import each and use 'fourwalls-cli merge'"};
    return ExportedImport::open(paths.front(), options);
}

} // namespace fourwalls::importers
