// SPDX-License-Identifier: Apache-2.0
// The tables of a trace, row by row.
#include "model/export/csv_exporter.h"

#include "model/export/export_text.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <set>

namespace fourwalls {

namespace {

constexpr TimeRange kEverything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string text(std::int64_t value)
{
    return std::to_string(value);
}
std::string text(const std::optional<double>& value)
{
    return value ? shortestNumber(*value) : std::string();
}
template <class Tag, class Rep>
std::string text(const std::optional<Id<Tag, Rep>>& id)
{
    return id ? std::to_string(id->value) : std::string();
}
std::string text(std::string_view word)
{
    return csvField(word);
}

/// One file.
class Table {
public:
    Table(const std::string& folder, const std::string& name, std::initializer_list<std::string_view> columns)
        : m_path((std::filesystem::path(folder) / (name + ".csv")).string())
        , m_out(m_path, std::ios::binary)
    {
        bool first = true;
        for (const std::string_view column : columns) {
            if (!first) m_out << ',';
            m_out << column;
            first = false;
        }
        m_out << "\r\n";
    }

    template <class First, class... Rest>
    void row(const First& first, const Rest&... rest)
    {
        m_out << first;
        ((m_out << ',' << rest), ...);
        m_out << "\r\n";
    }

    bool good() const { return m_out.good(); }

    Status close()
    {
        m_out.close();
        if (m_out) return {};
        return Error{ErrorCode::Io, "cannot be written", m_path, "check permissions and free space"};
    }

private:
    std::string m_path;
    std::ofstream m_out;
};

class CsvWriter {
public:
    CsvWriter(TraceQuery& trace, const std::string& folder) : m_trace(trace), m_info(trace.info()), m_folder(folder) {}

    Status write(const std::function<void(double)>& progress, std::stop_token stop)
    {
        FOURWALLS_TRY(writeTrace());
        FOURWALLS_TRY(writeRanks());
        FOURWALLS_TRY(writeTracks());
        FOURWALLS_TRY(writeOperators());
        FOURWALLS_TRY(writeSlices(progress, stop));
        FOURWALLS_TRY(writeGroups());
        FOURWALLS_TRY(writeCollectives());
        FOURWALLS_TRY(writeAllocations(stop));
        FOURWALLS_TRY(writeCounters(stop));
        FOURWALLS_TRY(writeFlows(stop));
        FOURWALLS_TRY(writeSteps());
        FOURWALLS_TRY(writeEvents());
        FOURWALLS_TRY(writeAudit());
        FOURWALLS_TRY(writeStepSummaries());
        FOURWALLS_TRY(writeMemorySummaries());
        FOURWALLS_TRY(writeCollectiveSummaries());
        return writeOperatorSummaries();
    }

private:
    Status writeTrace()
    {
        Table table(m_folder, "trace", {"name", "value"});
        const TraceHeader& header = m_info.header;
        const TraceClosing& closing = m_info.closing;
        table.row("source", name(header.source));
        table.row("clock", name(header.clock));
        table.row("producer", text(header.producer));
        table.row("compute", text(header.computeLabel));
        table.row("communication", text(header.communicationLabel));
        table.row("origin_unix_ns", header.originUnixNs);
        table.row("complete", m_info.complete ? "true" : "false");
        table.row("begin_ns", m_info.range.begin.ns);
        table.row("end_ns", m_info.range.end.ns);
        table.row("peak_flops_per_device", text(closing.peakFlopsPerDevice));
        table.row("peak_source", text(closing.peakSource));
        table.row("memory_bytes_per_second", text(closing.memoryBytesPerSecond));
        table.row("recorder_overhead_fraction", text(closing.recorderOverheadFraction));
        if (header.spec) table.row("spec", text(toJson(*header.spec)));
        return table.close();
    }

    Status writeRanks()
    {
        Table table(m_folder, "ranks", {"rank", "device", "host", "pipeline_stage", "memory_bytes", "multiplicity"});
        for (const RankInfo& rank : m_info.header.ranks)
            table.row(rank.rank.value, text(rank.device), text(rank.host), rank.pipelineStage,
                      rank.memoryBytes > 0 ? text(rank.memoryBytes) : std::string(), rank.multiplicity);
        return table.close();
    }

    Status writeTracks()
    {
        Table table(m_folder, "tracks", {"track", "rank", "kind", "name", "position", "lanes", "slices"});
        for (const TrackView& track : m_trace.tracks())
            table.row(track.id.value, track.info.rank.value, name(track.info.kind), text(track.info.name),
                      track.info.order, track.lanes, track.slices);
        return table.close();
    }

    Status writeOperators()
    {
        Table table(m_folder, "operators",
                    {"operator", "name", "kind", "phase", "activity", "layer", "flops", "bytes", "detail"});
        for (std::int64_t i = 0; i < m_info.counts.ops; ++i) {
            const auto found = m_trace.op(OpId{static_cast<std::int32_t>(i)});
            if (!found) continue; // a damaged row: the trace's audit counts it
            const OpInfo& op = **found;
            table.row(i, text(op.name), name(op.kind), name(op.phase), name(op.activity), text(op.layer),
                      op.flops > 0 ? shortestNumber(op.flops) : std::string(),
                      op.bytes > 0 ? text(op.bytes) : std::string(), text(op.detail));
        }
        return table.close();
    }

    Status writeSlices(const std::function<void(double)>& progress, std::stop_token stop)
    {
        Table table(m_folder, "slices",
                    {"slice", "track", "lane", "operator", "start_ns", "duration_ns", "microbatch", "correlation"});
        const auto total = static_cast<double>(std::max<std::int64_t>(1, m_info.counts.slices));
        std::int64_t seen = 0;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                table.row(slice.id.value, slice.track.value, slice.lane, slice.op.value, slice.start.ns,
                          slice.duration.ns, text(slice.microbatch), text(slice.correlation));
                if (progress && (++seen & 0xffff) == 0) progress(static_cast<double>(seen) / total);
                return table.good();
            },
            stop));
        return table.close();
    }

    Status writeGroups()
    {
        Table table(m_folder, "process_groups", {"group", "name", "transport", "ranks"});
        for (std::size_t i = 0; i < m_info.groups.size(); ++i) {
            std::string ranks;
            for (const RankId rank : m_info.groups[i].ranks)
                ranks += (ranks.empty() ? "" : " ") + std::to_string(rank.value);
            table.row(i, text(m_info.groups[i].name), text(m_info.groups[i].transport), ranks);
        }
        return table.close();
    }

    Status writeCollectives()
    {
        Table table(m_folder, "collectives",
                    {"rank", "track", "operation", "group", "sequence", "start_ns", "last_arrival_ns", "end_ns",
                     "payload_bytes", "wire_bytes", "peer", "algorithm", "protocol"});
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                             m_trace.collectives(std::nullopt, kEverything, kNoLimit));
        for (const auto& [rank, c] : collectives)
            table.row(rank.value, c.track.value, name(c.operation), c.group.value, c.sequence, c.start.ns,
                      c.lastArrival.ns, c.end.ns, c.payloadBytes, c.wireBytes, text(c.peer), text(c.algorithm),
                      text(c.protocol));
        return table.close();
    }

    Status writeAllocations(std::stop_token stop)
    {
        Table table(
            m_folder, "allocations",
            {"rank", "allocation", "start_ns", "end_ns", "bytes", "address", "category", "operator", "microbatch"});
        FOURWALLS_TRY(m_trace.scanAllocations(
            [&](const AllocationView& a) {
                table.row(a.rank.value, a.id.value, a.start.ns, a.end ? text(a.end->ns) : std::string(), a.bytes,
                          a.address, name(a.category), text(a.op), text(a.microbatch));
                return table.good();
            },
            stop));
        return table.close();
    }

    Status writeCounters(std::stop_token stop)
    {
        Table definitions(m_folder, "counters", {"counter", "rank", "name", "unit"});
        for (std::size_t i = 0; i < m_info.counters.size(); ++i)
            definitions.row(i, text(m_info.counters[i].rank), text(m_info.counters[i].name),
                            name(m_info.counters[i].unit));
        FOURWALLS_TRY(definitions.close());
        Table table(m_folder, "counter_samples", {"counter", "at_ns", "value"});
        FOURWALLS_TRY(m_trace.scanCounters(
            [&](const CounterRecord& sample) {
                table.row(sample.counter.value, sample.at.ns, shortestNumber(sample.value));
                return table.good();
            },
            stop));
        return table.close();
    }

    Status writeFlows(std::stop_token stop)
    {
        Table table(m_folder, "flows", {"kind", "from_track", "from_ns", "to_track", "to_ns"});
        FOURWALLS_TRY(m_trace.scanFlows(
            [&](const FlowRecord& flow) {
                table.row(text(flow.kind), flow.fromTrack.value, flow.from.ns, flow.toTrack.value, flow.to.ns);
                return table.good();
            },
            stop));
        return table.close();
    }

    Status writeSteps()
    {
        Table table(m_folder, "steps",
                    {"rank", "step", "begin_ns", "end_ns", "warmup", "loss", "learning_rate", "gradient_norm",
                     "samples", "tokens"});
        std::set<RankId> ranks;
        for (const RankInfo& rank : m_info.header.ranks) ranks.insert(rank.rank);
        for (const TrackView& track : m_trace.tracks()) ranks.insert(track.info.rank);
        for (const RankId rank : ranks) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank));
            for (const StepView& view : steps) {
                const StepRecord& step = view.record;
                table.row(rank.value, step.step.value, step.range.begin.ns, step.range.end.ns, step.warmup ? 1 : 0,
                          text(step.loss), text(step.learningRate), text(step.gradientNorm), step.samples, step.tokens);
            }
        }
        return table.close();
    }

    Status writeEvents()
    {
        Table table(m_folder, "events", {"kind", "rank", "at_ns", "text"});
        FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events, m_trace.events(kEverything, kNoLimit));
        for (const EventRecord& event : events)
            table.row(name(event.kind), text(event.rank), event.at.ns, text(event.text));
        return table.close();
    }

    Status writeAudit()
    {
        Table table(m_folder, "audit", {"name", "severity", "count", "detail"});
        for (const AuditRecord& record : m_info.audit)
            table.row(text(record.name), name(record.severity), record.count, text(record.detail));
        return table.close();
    }

    Status writeStepSummaries()
    {
        Table table(m_folder, "step_summaries",
                    {"rank",
                     "step",
                     "begin_ns",
                     "end_ns",
                     "warmup",
                     "compute_ns",
                     "exposed_comm_ns",
                     "exposed_copy_ns",
                     "bubble_ns",
                     "idle_data_loading_ns",
                     "idle_launch_ns",
                     "idle_synchronisation_ns",
                     "idle_other_ns",
                     "compute_sum_ns",
                     "collective_wait_ns",
                     "pipeline_window_ns",
                     "pipeline_busy_ns",
                     "model_flops",
                     "recompute_flops",
                     "recompute_ns",
                     "memory_bound_excess_ns",
                     "inefficiency_excess_ns"});
        FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, m_trace.stepSummaries());
        for (const StepSummary& s : summaries)
            table.row(s.rank.value, s.step.value, s.range.begin.ns, s.range.end.ns, s.warmup ? 1 : 0, s.compute.ns,
                      s.exposedComm.ns, s.exposedCopy.ns, s.bubble.ns, s.idleDataLoading.ns, s.idleLaunch.ns,
                      s.idleSynchronisation.ns, s.idleOther.ns, s.computeSum.ns, s.collectiveWait.ns,
                      s.pipelineWindow.ns, s.pipelineBusy.ns, shortestNumber(s.modelFlops),
                      shortestNumber(s.recomputeFlops), s.recomputeTime.ns, s.memoryBoundExcess.ns,
                      s.inefficiencyExcess.ns);
        return table.close();
    }

    Status writeMemorySummaries()
    {
        Table table(m_folder, "memory_summaries",
                    {"rank", "step", "peak_bytes", "peak_at_ns", "resident_bytes", "peak_reserved_bytes", "category",
                     "at_peak_bytes", "category_peak_bytes"});
        FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> summaries, m_trace.memorySummaries());
        for (const MemorySummary& s : summaries)
            for (std::size_t c = 0; c < s.atPeak.size(); ++c)
                table.row(s.rank.value, text(s.step), s.peakBytes, s.peakAt.ns, s.residentBytes,
                          s.peakReservedBytes ? text(*s.peakReservedBytes) : std::string(),
                          name(static_cast<MemoryCategory>(c)), s.atPeak[c], s.categoryPeaks[c]);
        return table.close();
    }

    Status writeCollectiveSummaries()
    {
        Table table(m_folder, "collective_summaries",
                    {"operation", "group", "count", "payload_bytes", "wire_bytes", "time_ns", "wait_ns"});
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveSummary> summaries, m_trace.collectiveSummaries());
        for (const CollectiveSummary& s : summaries)
            table.row(name(s.operation), s.group.value, s.count, s.payloadBytes, s.wireBytes, s.time.ns, s.wait.ns);
        return table.close();
    }

    Status writeOperatorSummaries()
    {
        Table table(m_folder, "operator_summaries", {"operator", "count", "total_ns", "longest_ns"});
        FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries, m_trace.opSummaries(kNoLimit));
        for (const OpSummary& s : summaries) table.row(s.op.value, s.count, s.total.ns, s.longest.ns);
        return table.close();
    }

    TraceQuery& m_trace;
    const TraceInfo& m_info;
    const std::string& m_folder;
};

} // namespace

Status exportCsv(TraceQuery& trace, const std::string& folder, const std::function<void(double)>& progress,
                 std::stop_token stop)
{
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return Error{ErrorCode::Io, "the folder cannot be created: " + failure.message(), folder, "another place"};
    return CsvWriter(trace, folder).write(progress, stop);
}

} // namespace fourwalls
