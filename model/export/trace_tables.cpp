// SPDX-License-Identifier: Apache-2.0
// The tables of a trace, row by row.
#include "model/export/trace_tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string>

namespace fourwalls {

namespace {

constexpr TimeRange kEverything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// Zero means unknown in the records.
template <class T>
std::optional<T> positive(T value)
{
    return value > 0 ? std::optional(value) : std::nullopt;
}

/// One table being written: remembers the first failure, so that rows need no checks.
class Table {
public:
    Table(TableOutput& output, std::string_view name, std::initializer_list<Column> columns) : m_output(output)
    {
        m_begun = output.begin(name, {columns.begin(), columns.size()});
        m_good = m_begun.ok();
    }

    template <class... Values>
    void row(const Values&... values)
    {
        const std::array<Cell, sizeof...(Values)> cells{Cell(values)...};
        m_good = m_good && m_output.row(cells);
    }

    bool good() const { return m_good; }
    Status end() { return m_begun.ok() ? m_output.end() : m_begun; }

private:
    TableOutput& m_output;
    Status m_begun;
    bool m_good = false;
};

class TableWriter {
public:
    TableWriter(TraceQuery& trace, TableOutput& output) : m_trace(trace), m_info(trace.info()), m_output(output) {}

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
        FOURWALLS_TRY(writeSegments());
        FOURWALLS_TRY(writeCounters(stop));
        FOURWALLS_TRY(writeFlows(stop));
        FOURWALLS_TRY(writeSteps());
        FOURWALLS_TRY(writeJobSteps());
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
        Table table(m_output, "trace", {{"name", CellType::Text}, {"value", CellType::Text}});
        const TraceHeader& header = m_info.header;
        const TraceClosing& closing = m_info.closing;
        table.row("source", name(header.source));
        table.row("clock", name(header.clock));
        table.row("producer", header.producer);
        table.row("compute", header.computeLabel);
        table.row("communication", header.communicationLabel);
        table.row("origin_unix_ns", header.originUnixNs);
        table.row("complete", m_info.complete ? "true" : "false");
        table.row("begin_ns", m_info.range.begin.ns);
        table.row("end_ns", m_info.range.end.ns);
        table.row("peak_flops_per_device", closing.peakFlopsPerDevice);
        table.row("peak_source", closing.peakSource);
        if (!closing.stepsBy.empty()) table.row("steps_by", closing.stepsBy);
        table.row("memory_bytes_per_second", closing.memoryBytesPerSecond);
        table.row("recorder_overhead_fraction", closing.recorderOverheadFraction);
        if (header.spec) table.row("spec", toJson(*header.spec));
        return table.end();
    }

    Status writeRanks()
    {
        Table table(m_output, "ranks",
                    {{"rank"},
                     {"device", CellType::Text},
                     {"host", CellType::Text},
                     {"pipeline_stage"},
                     {"memory_bytes"},
                     {"multiplicity"}});
        for (const RankInfo& rank : m_info.header.ranks)
            table.row(rank.rank.value, rank.device, rank.host, rank.pipelineStage, positive(rank.memoryBytes),
                      rank.multiplicity);
        return table.end();
    }

    Status writeTracks()
    {
        Table table(m_output, "tracks",
                    {{"track"},
                     {"rank"},
                     {"kind", CellType::Text},
                     {"name", CellType::Text},
                     {"position"},
                     {"lanes"},
                     {"slices"}});
        for (const TrackView& track : m_trace.tracks())
            table.row(track.id.value, track.info.rank.value, name(track.info.kind), track.info.name, track.info.order,
                      track.lanes, track.slices);
        return table.end();
    }

    Status writeOperators()
    {
        Table table(m_output, "operators",
                    {{"operator"},
                     {"name", CellType::Text},
                     {"kind", CellType::Text},
                     {"phase", CellType::Text},
                     {"activity", CellType::Text},
                     {"layer"},
                     {"flops", CellType::Real},
                     {"bytes"},
                     {"detail", CellType::Text}});
        for (std::int64_t i = 0; i < m_info.counts.ops; ++i) {
            const auto found = m_trace.op(OpId{static_cast<std::int32_t>(i)});
            if (!found) continue; // a damaged row: the trace's audit counts it
            const OpInfo& op = **found;
            table.row(i, op.name, name(op.kind), name(op.phase), name(op.activity), op.layer, positive(op.flops),
                      positive(op.bytes), op.detail);
        }
        return table.end();
    }

    Status writeSlices(const std::function<void(double)>& progress, std::stop_token stop)
    {
        Table table(m_output, "slices",
                    {{"slice"},
                     {"track"},
                     {"lane"},
                     {"operator"},
                     {"start_ns"},
                     {"duration_ns"},
                     {"microbatch"},
                     {"correlation"}});
        const auto total = static_cast<double>(std::max<std::int64_t>(1, m_info.counts.slices));
        std::int64_t seen = 0;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                table.row(slice.id.value, slice.track.value, slice.lane, slice.op.value, slice.start.ns,
                          slice.duration.ns, slice.microbatch, slice.correlation);
                if (progress && (++seen & 0xffff) == 0) progress(static_cast<double>(seen) / total);
                return table.good();
            },
            stop));
        return table.end();
    }

    Status writeGroups()
    {
        Table table(m_output, "process_groups",
                    {{"group"}, {"name", CellType::Text}, {"transport", CellType::Text}, {"ranks", CellType::Text}});
        for (std::size_t i = 0; i < m_info.groups.size(); ++i) {
            std::string ranks;
            for (const RankId rank : m_info.groups[i].ranks)
                ranks += (ranks.empty() ? "" : " ") + std::to_string(rank.value);
            table.row(i, m_info.groups[i].name, m_info.groups[i].transport, ranks);
        }
        return table.end();
    }

    Status writeCollectives()
    {
        Table table(m_output, "collectives",
                    {{"rank"},
                     {"track"},
                     {"operation", CellType::Text},
                     {"group"},
                     {"sequence"},
                     {"start_ns"},
                     {"last_arrival_ns"},
                     {"end_ns"},
                     {"payload_bytes"},
                     {"wire_bytes"},
                     {"peer"},
                     {"algorithm", CellType::Text},
                     {"protocol", CellType::Text}});
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                             m_trace.collectives(std::nullopt, kEverything, kNoLimit));
        for (const auto& [rank, c] : collectives)
            table.row(rank.value, c.track.value, name(c.operation), c.group.value, c.sequence, c.start.ns,
                      c.lastArrival.ns, c.end.ns, c.payloadBytes, c.wireBytes, c.peer, c.algorithm, c.protocol);
        return table.end();
    }

    Status writeAllocations(std::stop_token stop)
    {
        Table table(m_output, "allocations",
                    {{"rank"},
                     {"allocation"},
                     {"start_ns"},
                     {"end_ns"},
                     {"bytes"},
                     {"address"},
                     {"category", CellType::Text},
                     {"operator"},
                     {"microbatch"}});
        FOURWALLS_TRY(m_trace.scanAllocations(
            [&](const AllocationView& a) {
                table.row(a.rank.value, a.id.value, a.start.ns, a.end ? std::optional(a.end->ns) : std::nullopt,
                          a.bytes, a.address, name(a.category), a.op, a.microbatch);
                return table.good();
            },
            stop));
        return table.end();
    }

    Status writeCounters(std::stop_token stop)
    {
        Table definitions(m_output, "counters",
                          {{"counter"}, {"rank"}, {"name", CellType::Text}, {"unit", CellType::Text}});
        for (std::size_t i = 0; i < m_info.counters.size(); ++i)
            definitions.row(i, m_info.counters[i].rank, m_info.counters[i].name, name(m_info.counters[i].unit));
        FOURWALLS_TRY(definitions.end());
        Table table(m_output, "counter_samples", {{"counter"}, {"at_ns"}, {"value", CellType::Real}});
        FOURWALLS_TRY(m_trace.scanCounters(
            [&](const CounterRecord& sample) {
                table.row(sample.counter.value, sample.at.ns, sample.value);
                return table.good();
            },
            stop));
        return table.end();
    }

    Status writeFlows(std::stop_token stop)
    {
        Table table(m_output, "flows",
                    {{"kind", CellType::Text}, {"from_track"}, {"from_ns"}, {"to_track"}, {"to_ns"}});
        FOURWALLS_TRY(m_trace.scanFlows(
            [&](const FlowRecord& flow) {
                table.row(flow.kind, flow.fromTrack.value, flow.from.ns, flow.toTrack.value, flow.to.ns);
                return table.good();
            },
            stop));
        return table.end();
    }

    Status writeSteps()
    {
        Table table(m_output, "steps",
                    {{"rank"},
                     {"step"},
                     {"begin_ns"},
                     {"end_ns"},
                     {"warmup"},
                     {"state", CellType::Text},
                     {"loss", CellType::Real},
                     {"learning_rate", CellType::Real},
                     {"gradient_norm", CellType::Real},
                     {"samples"},
                     {"tokens"}});
        std::set<RankId> ranks;
        for (const RankInfo& rank : m_info.header.ranks) ranks.insert(rank.rank);
        for (const TrackView& track : m_trace.tracks()) ranks.insert(track.info.rank);
        for (const RankId rank : ranks) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank));
            for (const StepView& view : steps) {
                const StepRecord& step = view.record;
                table.row(rank.value, step.step.value, step.range.begin.ns, step.range.end.ns,
                          step.state == StepState::Warmup ? 1 : 0, name(step.state), step.loss, step.learningRate,
                          step.gradientNorm, step.samples, step.tokens);
            }
        }
        return table.end();
    }

    Status writeJobSteps()
    {
        Table table(m_output, "job_steps",
                    {{"step"},
                     {"begin_ns"},
                     {"end_ns"},
                     {"warmup"},
                     {"state", CellType::Text},
                     {"complete"},
                     {"loss", CellType::Real},
                     {"learning_rate", CellType::Real},
                     {"gradient_norm", CellType::Real},
                     {"samples"},
                     {"tokens"}});
        FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, m_trace.jobSteps());
        for (const JobStep& step : steps)
            table.row(step.step.value, step.range.begin.ns, step.range.end.ns, step.state == StepState::Warmup ? 1 : 0,
                      name(step.state), step.complete ? 1 : 0, step.loss, step.learningRate, step.gradientNorm,
                      step.samples, step.tokens);
        return table.end();
    }

    Status writeSegments()
    {
        Table table(m_output, "segments",
                    {{"rank"},
                     {"address"},
                     {"bytes"},
                     {"start_ns"},
                     {"end_ns"},
                     {"stream"},
                     {"pool", CellType::Text},
                     {"expandable"}});
        for (const AllocatorSegment& each : m_info.closing.segments)
            table.row(each.rank.value, each.address, each.bytes, each.start.ns,
                      each.end ? std::optional(each.end->ns) : std::nullopt, each.stream,
                      each.privatePool ? "private"
                      : each.small     ? "small"
                                       : "large",
                      each.expandable ? 1 : 0);
        return table.end();
    }

    Status writeEvents()
    {
        Table table(m_output, "events", {{"kind", CellType::Text}, {"rank"}, {"at_ns"}, {"text", CellType::Text}});
        FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events, m_trace.events(kEverything, kNoLimit));
        for (const EventRecord& event : events) table.row(name(event.kind), event.rank, event.at.ns, event.text);
        return table.end();
    }

    Status writeAudit()
    {
        Table table(m_output, "audit",
                    {{"name", CellType::Text}, {"severity", CellType::Text}, {"count"}, {"detail", CellType::Text}});
        for (const AuditRecord& record : m_info.audit)
            table.row(record.name, name(record.severity), record.count, record.detail);
        return table.end();
    }

    Status writeStepSummaries()
    {
        Table table(m_output, "step_summaries",
                    {{"rank"},
                     {"step"},
                     {"begin_ns"},
                     {"end_ns"},
                     {"warmup"},
                     {"state", CellType::Text},
                     {"compute_ns"},
                     {"exposed_comm_ns"},
                     {"exposed_copy_ns"},
                     {"bubble_ns"},
                     {"idle_data_loading_ns"},
                     {"idle_launch_ns"},
                     {"idle_synchronisation_ns"},
                     {"idle_other_ns"},
                     {"compute_sum_ns"},
                     {"collective_wait_ns"},
                     {"pipeline_window_ns"},
                     {"pipeline_busy_ns"},
                     {"model_flops", CellType::Real},
                     {"recompute_flops", CellType::Real},
                     {"recompute_ns"},
                     {"memory_bound_excess_ns"},
                     {"inefficiency_excess_ns"}});
        FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> summaries, m_trace.stepSummaries());
        for (const StepSummary& s : summaries)
            table.row(s.rank.value, s.step.value, s.range.begin.ns, s.range.end.ns,
                      s.state == StepState::Warmup ? 1 : 0, name(s.state), s.compute.ns, s.exposedComm.ns,
                      s.exposedCopy.ns, s.bubble.ns, s.idleDataLoading.ns, s.idleLaunch.ns, s.idleSynchronisation.ns,
                      s.idleOther.ns, s.computeSum.ns, s.collectiveWait.ns, s.pipelineWindow.ns, s.pipelineBusy.ns,
                      s.modelFlops, s.recomputeFlops, s.recomputeTime.ns, s.memoryBoundExcess.ns,
                      s.inefficiencyExcess.ns);
        return table.end();
    }

    Status writeMemorySummaries()
    {
        Table table(m_output, "memory_summaries",
                    {{"rank"},
                     {"step"},
                     {"peak_bytes"},
                     {"peak_at_ns"},
                     {"resident_bytes"},
                     {"peak_reserved_bytes"},
                     {"category", CellType::Text},
                     {"at_peak_bytes"},
                     {"category_peak_bytes"}});
        FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> summaries, m_trace.memorySummaries());
        for (const MemorySummary& s : summaries)
            for (std::size_t c = 0; c < s.atPeak.size(); ++c)
                table.row(s.rank.value, s.step, s.peakBytes, s.peakAt.ns, s.residentBytes, s.peakReservedBytes,
                          name(static_cast<MemoryCategory>(c)), s.atPeak[c], s.categoryPeaks[c]);
        return table.end();
    }

    Status writeCollectiveSummaries()
    {
        Table table(m_output, "collective_summaries",
                    {{"operation", CellType::Text},
                     {"group"},
                     {"count"},
                     {"payload_bytes"},
                     {"wire_bytes"},
                     {"time_ns"},
                     {"wait_ns"}});
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveSummary> summaries, m_trace.collectiveSummaries());
        for (const CollectiveSummary& s : summaries)
            table.row(name(s.operation), s.group.value, s.count, s.payloadBytes, s.wireBytes, s.time.ns, s.wait.ns);
        return table.end();
    }

    Status writeOperatorSummaries()
    {
        Table table(m_output, "operator_summaries", {{"operator"}, {"count"}, {"total_ns"}, {"longest_ns"}});
        FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> summaries, m_trace.opSummaries(kNoLimit));
        for (const OpSummary& s : summaries) table.row(s.op.value, s.count, s.total.ns, s.longest.ns);
        return table.end();
    }

    TraceQuery& m_trace;
    const TraceInfo& m_info;
    TableOutput& m_output;
};

} // namespace

Status writeTables(TraceQuery& trace, TableOutput& output, const std::function<void(double)>& progress,
                   std::stop_token stop)
{
    return TableWriter(trace, output).write(progress, stop);
}

} // namespace fourwalls
