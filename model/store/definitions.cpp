// SPDX-License-Identifier: Apache-2.0
// Reading and writing of definitions. Numbers out of their ranges count as damage and become the neutral value.
#include "model/store/definitions.h"

#include "model/store/traffic_text.h"
#include "model/trace/allocator_text.h"

#include <charconv>
#include <limits>

namespace fourwalls::store {
namespace {

/// More definitions than any real trace has: a bound on what a stranger's file makes us hold.
constexpr std::int64_t kMostDefinitions = 4'000'000;
constexpr std::size_t kLongestName = 65536;

template <class Enum>
std::optional<Enum> enumOf(std::optional<std::int64_t> value, int count)
{
    if (!value || *value < 0 || *value >= count) return std::nullopt;
    return static_cast<Enum>(*value);
}

std::optional<std::string> textColumn(const sqlite::Statement& row, int column)
{
    const auto text = row.asText(column);
    if (!text || text->size() > kLongestName) return std::nullopt;
    return std::string(*text);
}

std::optional<std::int32_t> idColumn(const sqlite::Statement& row, int column)
{
    const auto value = row.asInteger(column);
    if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
    return static_cast<std::int32_t>(*value);
}

std::string joined(const std::vector<RankId>& ranks)
{
    std::string text;
    for (const RankId rank : ranks) text += (text.empty() ? "" : ",") + std::to_string(rank.value);
    return text;
}

std::optional<std::vector<RankId>> split(std::string_view text)
{
    std::vector<RankId> ranks;
    const char* next = text.data();
    const char* const end = text.data() + text.size();
    while (next != end) {
        std::int32_t value = 0;
        const auto [after, error] = std::from_chars(next, end, value);
        if (error != std::errc() || value < 0 || (after != end && *after != ',')) return std::nullopt;
        ranks.emplace_back(value);
        next = after == end ? end : after + 1;
    }
    return ranks;
}

/// Where a definition with that id goes; null for ids that cannot be.
template <class T>
T* slotFor(std::vector<T>& definitions, std::int64_t id, std::int64_t& damaged)
{
    // Ids are dense; a gap as large as the file's own rows could make it is damage.
    if (id < 0 || id >= kMostDefinitions || id > static_cast<std::int64_t>(definitions.size()) + 1000) {
        ++damaged;
        return nullptr;
    }
    if (static_cast<std::size_t>(id) >= definitions.size()) {
        damaged += id - static_cast<std::int64_t>(definitions.size());
        definitions.resize(static_cast<std::size_t>(id) + 1);
    }
    return &definitions[static_cast<std::size_t>(id)];
}

template <class T>
void place(std::vector<T>& definitions, std::int64_t id, std::optional<T> value, std::int64_t& damaged)
{
    T* slot = slotFor(definitions, id, damaged);
    if (!slot) return;
    if (value)
        *slot = std::move(*value);
    else
        ++damaged;
}

std::optional<RankInfo> rankOfRow(const sqlite::Statement& row)
{
    const auto id = idColumn(row, 0);
    const auto device = textColumn(row, 1), host = textColumn(row, 2);
    const auto stage = idColumn(row, 3);
    const auto memory = row.asInteger(4);
    const auto multiplicity = idColumn(row, 5);
    if (!id || !device || !host || !stage || !memory || *memory < 0 || !multiplicity) return std::nullopt;
    return RankInfo{RankId(*id), *device, *host, *stage, *memory, *multiplicity};
}

std::optional<ProcessGroupInfo> groupOfRow(const sqlite::Statement& row)
{
    const auto name = textColumn(row, 1), transport = textColumn(row, 2);
    const auto ranksText = row.asText(3);
    if (!name || !transport || !ranksText) return std::nullopt;
    const auto ranks = split(*ranksText);
    if (!ranks) return std::nullopt;
    return ProcessGroupInfo{*name, *ranks, *transport};
}

std::optional<TrackInfo> trackOfRow(const sqlite::Statement& row)
{
    const auto rank = idColumn(row, 1);
    const auto kind = enumOf<TrackKind>(row.asInteger(2), 9);
    const auto name = textColumn(row, 3);
    const auto order = row.asInteger(4);
    if (!rank || !kind || !name || !order || *order < std::numeric_limits<int>::min() ||
        *order > std::numeric_limits<int>::max())
        return std::nullopt;
    return TrackInfo{RankId(*rank), *kind, *name, static_cast<int>(*order)};
}

std::optional<CounterInfo> counterOfRow(const sqlite::Statement& row)
{
    const auto name = textColumn(row, 2);
    const auto unit = enumOf<CounterUnit>(row.asInteger(3), 7);
    if (!name || !unit) return std::nullopt;
    CounterInfo info{std::nullopt, *name, *unit};
    if (row.isNull(1)) return info;
    const auto rank = idColumn(row, 1);
    if (!rank) return std::nullopt;
    info.rank = RankId(*rank);
    return info;
}

} // namespace

Meta metaOf(const TraceHeader& header, const std::string& specJson)
{
    Meta meta;
    meta["source"] = static_cast<std::int64_t>(header.source);
    meta["clock"] = static_cast<std::int64_t>(header.clock);
    meta["producer"] = header.producer;
    meta["compute_label"] = header.computeLabel;
    meta["communication_label"] = header.communicationLabel;
    meta["origin_unix_ns"] = header.originUnixNs;
    if (header.worldSize) meta["world_size"] = std::int64_t{*header.worldSize};
    if (!specJson.empty()) meta["spec"] = specJson;
    return meta;
}

void addClosing(Meta& meta, const TraceClosing& closing)
{
    const auto add = [&](const char* key, const std::optional<double>& value) {
        if (value) meta[key] = *value;
    };
    add("peak_flops_per_device", closing.peakFlopsPerDevice);
    add("memory_bytes_per_second", closing.memoryBytesPerSecond);
    add("recorder_overhead_fraction", closing.recorderOverheadFraction);
    add("recorder_overhead_measured", closing.recorderOverheadMeasured);
    if (!closing.peakSource.empty()) meta["peak_source"] = closing.peakSource;
    if (!closing.stepsBy.empty()) meta["steps_by"] = closing.stepsBy;
    if (!closing.traffic.empty()) meta["traffic"] = trafficText(closing.traffic);
    if (!closing.segments.empty()) meta["segments"] = segmentsText(closing.segments);
    if (!closing.blocks.empty()) meta["blocks"] = blocksText(closing.blocks);
}

void putMeta(RowOutput& out, const Meta& meta)
{
    for (const auto& [key, value] : meta) {
        std::visit([&, &name = key](const auto& held) { out.put(Table::Meta, {Value(name), Value(held)}); }, value);
    }
}

void putOp(RowOutput& out, std::size_t id, const OpInfo& info)
{
    out.put(Table::Op, {static_cast<std::int64_t>(id), info.name, static_cast<int>(info.kind),
                        static_cast<int>(info.phase), static_cast<int>(info.activity),
                        info.layer ? Value(info.layer->value) : Value(), info.flops, info.bytes, info.detail});
}

void putRank(RowOutput& out, const RankInfo& info)
{
    out.put(Table::Rank,
            {info.rank.value, info.device, info.host, info.pipelineStage, info.memoryBytes, info.multiplicity});
}

void putGroup(RowOutput& out, std::size_t id, const ProcessGroupInfo& info)
{
    const std::string ranks = joined(info.ranks);
    out.put(Table::ProcessGroup, {static_cast<std::int64_t>(id), info.name, info.transport, ranks});
}

void putString(RowOutput& out, std::size_t id, const std::string& text)
{
    out.put(Table::String, {static_cast<std::int64_t>(id), text});
}

void putAudit(RowOutput& out, const AuditRecord& record)
{
    out.put(Table::Audit, {record.name, static_cast<int>(record.severity), record.count, record.detail});
}

void putRecordingTrack(RowOutput& out, std::size_t id, const TrackInfo& info)
{
    out.put(Table::Track, {static_cast<std::int64_t>(id), info.rank.value, static_cast<int>(info.kind), info.name,
                           info.order, 0, 0, 0, 0});
}

void putRecordingCounter(RowOutput& out, std::size_t id, const CounterInfo& info)
{
    out.put(Table::Counter, {static_cast<std::int64_t>(id), info.rank ? Value(info.rank->value) : Value(), info.name,
                             static_cast<int>(info.unit), 0, 0, 0});
}

Result<Meta> readMeta(sqlite::Database& database, std::int64_t& damaged)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement rows, database.prepare("SELECT key, value FROM meta LIMIT 1000"));
    Meta meta;
    while (true) {
        const int rc = rows.stepCode();
        if (rc == SQLITE_DONE) return meta;
        if (rc == SQLITE_TOOBIG) { // ends the scan: what follows in key order is taken as missing
            ++damaged;
            return meta;
        }
        if (rc != SQLITE_ROW) return database.error(rc);
        const auto key = textColumn(rows, 0);
        if (!key) {
            ++damaged;
        } else if (const auto integer = rows.asInteger(1)) {
            meta[*key] = *integer;
        } else if (const auto real = rows.asReal(1)) {
            meta[*key] = *real;
        } else if (const auto text = rows.asText(1)) {
            meta[*key] = std::string(*text);
        } else {
            ++damaged;
        }
    }
}

std::int64_t integerOf(const Meta& meta, const std::string& key, std::int64_t fallback)
{
    const auto found = meta.find(key);
    if (found == meta.end()) return fallback;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    return value ? *value : fallback;
}

std::optional<double> realOf(const Meta& meta, const std::string& key)
{
    const auto found = meta.find(key);
    if (found == meta.end()) return std::nullopt;
    if (const auto* value = std::get_if<double>(&found->second)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*value);
    return std::nullopt;
}

std::string textOf(const Meta& meta, const std::string& key)
{
    const auto found = meta.find(key);
    if (found == meta.end()) return {};
    const auto* value = std::get_if<std::string>(&found->second);
    return value ? *value : std::string();
}

std::optional<OpInfo> opOfRow(const sqlite::Statement& row)
{
    const auto name = textColumn(row, 1), detail = textColumn(row, 8);
    const auto kind = enumOf<SliceKind>(row.asInteger(2), kSliceKindCount);
    const auto phase = enumOf<Phase>(row.asInteger(3), kPhaseCount);
    const auto activity = enumOf<Activity>(row.asInteger(4), kActivityCount);
    const auto flops = row.asReal(6);
    const auto bytes = row.asInteger(7);
    if (!name || !kind || !phase || !activity || !flops || !bytes || !detail || !(*flops >= 0) || *bytes < 0)
        return std::nullopt;
    OpInfo info{*name, *kind, *phase, *activity, std::nullopt, *flops, *bytes, *detail};
    if (!row.isNull(5)) {
        const auto layer = idColumn(row, 5);
        if (!layer) return std::nullopt;
        info.layer = LayerIndex(*layer);
    }
    return info;
}

Result<std::vector<OpInfo>> readOps(sqlite::Database& database, std::int64_t& damaged)
{
    std::vector<OpInfo> ops;
    FOURWALLS_TRY(forEachRow(database, "op", "id", damaged,
                             [&](const sqlite::Statement& row) { place(ops, row.integer(0), opOfRow(row), damaged); }));
    return ops;
}

Result<Definitions> readDefinitions(sqlite::Database& database, std::int64_t& damaged)
{
    Definitions all;
    FOURWALLS_TRY_ASSIGN(const Meta meta, readMeta(database, damaged));
    const auto source = enumOf<TraceSource>(integerOf(meta, "source", -1), 4);
    const auto clock = enumOf<ClockKind>(integerOf(meta, "clock", -1), 3);
    if (!source || !clock) ++damaged;
    all.header.source = source.value_or(TraceSource::Recorded);
    all.header.clock = clock.value_or(ClockKind::Wall);
    all.header.producer = textOf(meta, "producer");
    all.header.computeLabel = textOf(meta, "compute_label");
    all.header.communicationLabel = textOf(meta, "communication_label");
    all.header.originUnixNs = integerOf(meta, "origin_unix_ns", 0);
    if (const std::int64_t size = integerOf(meta, "world_size", 0);
        size > 0 && size <= std::numeric_limits<std::int32_t>::max())
        all.header.worldSize = static_cast<int>(size);
    all.specJson = textOf(meta, "spec");
    if (!all.specJson.empty()) {
        Result<RunSpec> spec = runSpecFromJson(all.specJson);
        if (spec.ok())
            all.header.spec = std::move(*spec);
        else if (spec.error().code == ErrorCode::Unsupported)
            return Error{ErrorCode::Unsupported, spec.error().what, database.path(), spec.error().hint};
        else
            ++damaged;
    }
    all.closing = {realOf(meta, "peak_flops_per_device"),
                   textOf(meta, "peak_source"),
                   realOf(meta, "memory_bytes_per_second"),
                   realOf(meta, "recorder_overhead_fraction"),
                   realOf(meta, "recorder_overhead_measured"),
                   textOf(meta, "steps_by"),
                   {},
                   {},
                   {}};
    const auto readList = [&](const char* key, auto& list, const auto& read) {
        const std::string text = textOf(meta, key);
        if (text.empty()) return;
        if (auto found = read(text))
            list = std::move(*found);
        else
            ++damaged;
    };
    readList("traffic", all.closing.traffic, trafficOf);
    readList("segments", all.closing.segments, segmentsOf);
    readList("blocks", all.closing.blocks, blocksOf);
    sortAllocatorState(all.closing);
    all.closed = integerOf(meta, "closed", 0) == 1;
    all.windowBegin = integerOf(meta, "window_begin", 0);
    all.windowEnd = integerOf(meta, "window_end", 0);
    if (textOf(meta, "state") == "finished") {
        all.jobStepRule = textOf(meta, "job_steps") == kJobStepsByEnds ? JobStepRule::Ends : JobStepRule::Hull;
        all.marksLost = textOf(meta, "lost_steps") == kLostStepsTakenAgain;
        const std::int64_t classes = integerOf(meta, "rank_bin_classes", kClassesWithoutWaiting);
        if (classes == kClassesWithoutWaiting)
            all.activityClasses = kClassesWithoutWaiting;
        else if (classes != kActivityClassCount)
            ++damaged;
    }

    FOURWALLS_TRY(forEachRow(database, "rank", "id", damaged, [&](const sqlite::Statement& row) {
        auto rank = rankOfRow(row);
        if (rank && static_cast<std::int64_t>(all.header.ranks.size()) < kMostDefinitions)
            all.header.ranks.push_back(std::move(*rank));
        else
            ++damaged;
    }));
    FOURWALLS_TRY(forEachRow(database, "process_group", "id", damaged, [&](const sqlite::Statement& row) {
        place(all.groups, row.integer(0), groupOfRow(row), damaged);
    }));
    FOURWALLS_TRY(forEachRow(database, "track", "id", damaged, [&](const sqlite::Statement& row) {
        place(all.tracks, row.integer(0), trackOfRow(row), damaged);
    }));
    FOURWALLS_TRY(forEachRow(database, "counter", "id", damaged, [&](const sqlite::Statement& row) {
        place(all.counters, row.integer(0), counterOfRow(row), damaged);
    }));
    FOURWALLS_TRY(forEachRow(database, "string", "id", damaged, [&](const sqlite::Statement& row) {
        place(all.strings, row.integer(0), textColumn(row, 1), damaged);
    }));
    FOURWALLS_TRY_ASSIGN(sqlite::Statement audit, database.prepare("SELECT * FROM audit LIMIT 10000"));
    while (true) {
        const int rc = audit.stepCode();
        if (rc == SQLITE_DONE) break;
        if (rc == SQLITE_TOOBIG) {
            ++damaged;
            break;
        }
        if (rc != SQLITE_ROW) return database.error(rc);
        const auto name = textColumn(audit, 0), detail = textColumn(audit, 3);
        const auto severity = enumOf<AuditSeverity>(audit.asInteger(1), 4);
        const auto count = audit.asInteger(2);
        if (name && detail && severity && count)
            all.audit.push_back({*name, *severity, *count, *detail});
        else
            ++damaged;
    }
    return all;
}

} // namespace fourwalls::store
