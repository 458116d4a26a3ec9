// SPDX-License-Identifier: Apache-2.0
// Writing trace events one by one; only one track's slices and one rank's buffers are held at a time.
#include "model/export/chrome_trace_exporter.h"

#include "model/export/export_text.h"
#include "model/trace/allocator_text.h"
#include "model/trace/lane_assignment.h"
#include "model/trace/memory_curve.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace fourwalls {

namespace {

/// Threads of the process that are not tracks get numbers above all tracks.
struct ThreadKey {
    TrackId track;
    int extra = 0; ///< 0: the track itself; n: its n-th thread for slices that do not nest
    friend auto operator<=>(const ThreadKey&, const ThreadKey&) = default;
};

class ChromeEvents {
public:
    ChromeEvents(TraceQuery& trace, std::ostream& out) : m_trace(trace), m_out(out) {}

    Status write(const std::function<void(double)>& progress, std::stop_token stop)
    {
        // The first key tells our own importer that nothing need be guessed; viewers pass over what they do not know.
        m_out << "{\"fourwalls_export\":1,\"displayTimeUnit\":\"ns\",\"otherData\":" << otherData()
              << ",\"fourwalls\":";
        FOURWALLS_TRY(writeDefinitions());
        m_out << ",\"traceEvents\":[";
        writeProcesses();
        FOURWALLS_TRY(readCollectives());
        FOURWALLS_TRY(writeSlices(progress, stop));
        writeCollectivesWithoutSlice();
        FOURWALLS_TRY(writeFlows(stop));
        FOURWALLS_TRY(writeCounters(stop));
        FOURWALLS_TRY(writeMemory(stop));
        FOURWALLS_TRY(writeEvents());
        m_out << "\n]}\n";
        m_out.flush();
        if (!m_out) return Error{ErrorCode::Io, "cannot be written", "Chrome JSON", "check the free space"};
        return m_failure;
    }

private:
    /// Begins an event: the caller adds fields and the closing brace.
    std::ostream& event(char phase, RankId rank)
    {
        m_out << (m_first ? "\n" : ",\n") << "{\"ph\":\"" << phase << "\",\"pid\":" << rank.value;
        m_first = false;
        return m_out;
    }

    std::string otherData() const
    {
        const TraceInfo& info = m_trace.info();
        nlohmann::json data{{"source", name(info.header.source)},
                            {"clock", name(info.header.clock)},
                            {"producer", info.header.producer},
                            {"compute", info.header.computeLabel},
                            {"communication", info.header.communicationLabel},
                            {"origin_unix_ns", info.header.originUnixNs},
                            {"complete", info.complete}};
        if (info.header.spec) data["spec"] = nlohmann::json::parse(toJson(*info.header.spec), nullptr, false);
        return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }

    /// What no event carries: ranks, tracks, groups, counters, steps, closing figures and the audit.
    Status writeDefinitions()
    {
        using nlohmann::json;
        const TraceInfo& info = m_trace.info();
        const auto orNull = [](const auto& value) { return value ? json(*value) : json(nullptr); };
        json data;
        data["ranks"] = json::array();
        std::set<RankId> ranks;
        for (const RankInfo& rank : info.header.ranks) {
            ranks.insert(rank.rank);
            data["ranks"].push_back({{"rank", rank.rank.value},
                                     {"device", rank.device},
                                     {"host", rank.host},
                                     {"stage", rank.pipelineStage},
                                     {"memory_bytes", rank.memoryBytes},
                                     {"multiplicity", rank.multiplicity}});
        }
        data["tracks"] = json::array();
        for (const TrackView& track : m_trace.tracks()) {
            ranks.insert(track.info.rank);
            data["tracks"].push_back({{"rank", track.info.rank.value},
                                      {"kind", name(track.info.kind)},
                                      {"name", track.info.name},
                                      {"order", track.info.order}});
        }
        data["groups"] = json::array();
        for (const ProcessGroupInfo& group : info.groups) {
            json members = json::array();
            for (const RankId rank : group.ranks) members.push_back(rank.value);
            data["groups"].push_back({{"name", group.name}, {"transport", group.transport}, {"ranks", members}});
        }
        data["counters"] = json::array();
        for (const CounterInfo& counter : info.counters)
            data["counters"].push_back({{"name", counter.name},
                                        {"unit", name(counter.unit)},
                                        {"rank", counter.rank ? json(counter.rank->value) : json(nullptr)}});
        data["steps"] = json::array();
        for (const RankId rank : ranks) {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, m_trace.steps(rank));
            for (const StepView& view : steps) {
                const StepRecord& step = view.record;
                data["steps"].push_back({{"rank", rank.value},
                                         {"step", step.step.value},
                                         {"begin_ns", step.range.begin.ns},
                                         {"end_ns", step.range.end.ns},
                                         {"loss", orNull(step.loss)},
                                         {"learning_rate", orNull(step.learningRate)},
                                         {"gradient_norm", orNull(step.gradientNorm)},
                                         {"samples", step.samples},
                                         {"tokens", step.tokens},
                                         {"state", name(step.state)}});
            }
        }
        const TraceClosing& closing = info.closing;
        data["closing"] = {{"peak_flops_per_device", orNull(closing.peakFlopsPerDevice)},
                           {"peak_source", closing.peakSource},
                           {"steps_by", closing.stepsBy},
                           {"memory_bytes_per_second", orNull(closing.memoryBytesPerSecond)},
                           {"recorder_overhead_fraction", orNull(closing.recorderOverheadFraction)},
                           {"recorder_overhead_measured", orNull(closing.recorderOverheadMeasured)}};
        if (!closing.segments.empty()) data["closing"]["segments"] = segmentsText(closing.segments);
        if (!closing.blocks.empty()) data["closing"]["blocks"] = blocksText(closing.blocks);
        data["audit"] = json::array();
        for (const AuditRecord& record : info.audit)
            data["audit"].push_back({{"name", record.name},
                                     {"severity", name(record.severity)},
                                     {"count", record.count},
                                     {"detail", record.detail}});
        m_out << data.dump(-1, ' ', false, json::error_handler_t::replace);
        return {};
    }

    void metadata(RankId rank, std::optional<int> thread, const char* what, const std::string& argument)
    {
        event('M', rank);
        if (thread) m_out << ",\"tid\":" << *thread;
        m_out << ",\"name\":\"" << what << "\",\"args\":{" << argument << "}}";
    }

    void writeProcesses()
    {
        std::map<RankId, std::string> labels;
        for (const TrackView& track : m_trace.tracks()) labels[track.info.rank];
        for (const RankInfo& rank : m_trace.info().header.ranks) labels[rank.rank] = rank.device;
        for (const auto& [rank, device] : labels) {
            const std::string label =
                "rank " + std::to_string(rank.value) + (device.empty() ? "" : " (" + device + ")");
            metadata(rank, std::nullopt, "process_name", "\"name\":" + jsonText(label));
            metadata(rank, std::nullopt, "process_sort_index", "\"sort_index\":" + std::to_string(rank.value));
        }
        for (const TrackView& track : m_trace.tracks()) thread({track.id, 0});
    }

    /// The thread number of a track, announced when it is used first.
    int thread(ThreadKey key)
    {
        const auto [found, isNew] = m_threads.emplace(key, static_cast<int>(m_threads.size()) + 1);
        if (isNew) {
            const TrackInfo& info = m_trace.tracks()[static_cast<std::size_t>(key.track.value)].info;
            metadata(info.rank, found->second, "thread_name",
                     "\"name\":" + jsonText(info.name) + ",\"track\":" + std::to_string(key.track.value));
            metadata(info.rank, found->second, "thread_sort_index", "\"sort_index\":" + std::to_string(info.order));
        }
        return found->second;
    }

    bool isTrack(TrackId track) const
    {
        return track.value >= 0 && static_cast<std::size_t>(track.value) < m_trace.tracks().size();
    }

    Status readCollectives()
    {
        if (m_trace.info().counts.collectives == 0) return {};
        const TimeRange everything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
        FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> collectives,
                             m_trace.collectives(std::nullopt, everything, std::numeric_limits<std::size_t>::max()));
        for (const CollectiveView& view : collectives)
            m_collectives.emplace(std::pair{view.record.track, view.record.start}, view.record);
        return {};
    }

    /// The part of a slice event that is the same for all slices of an operator.
    const std::string& opPart(OpId id)
    {
        const auto found = m_opParts.find(id);
        if (found != m_opParts.end()) return found->second;
        const auto info = m_trace.op(id);
        if (!info) {
            if (m_failure.ok()) m_failure = info.error();
            return m_opParts.emplace(id, "\"name\":\"?\",\"cat\":\"?\",\"args\":{\"op\":" + std::to_string(id.value))
                .first->second;
        }
        const OpInfo& op = **info;
        m_kinds[id] = op.kind;
        std::string part = "\"name\":" + jsonText(op.name) + ",\"cat\":\"" + std::string(name(op.kind)) +
                           "\",\"args\":{\"activity\":\"" + std::string(name(op.activity)) + '"';
        if (op.phase != Phase::None) part += ",\"phase\":\"" + std::string(name(op.phase)) + '"';
        if (op.layer) part += ",\"layer\":" + std::to_string(op.layer->value);
        if (op.flops > 0 && !shortestNumber(op.flops).empty()) part += ",\"flops\":" + shortestNumber(op.flops);
        if (op.bytes > 0) part += ",\"bytes\":" + std::to_string(op.bytes);
        if (!op.detail.empty()) part += ",\"detail\":" + jsonText(op.detail);
        return m_opParts.emplace(id, std::move(part)).first->second;
    }

    void writeCollectiveArguments(const CollectiveRecord& record)
    {
        const auto group = static_cast<std::size_t>(record.group.value);
        const auto& groups = m_trace.info().groups;
        m_out << ",\"operation\":\"" << name(record.operation) << "\",\"group_id\":" << record.group.value
              << (record.payloadBytes ? ",\"payload_bytes\":" + std::to_string(*record.payloadBytes) : std::string())
              << (record.wireBytes ? ",\"wire_bytes\":" + std::to_string(*record.wireBytes) : std::string())
              << ",\"sequence\":" << record.sequence
              << ",\"wait_us\":" << microseconds((record.lastArrival - record.start).ns);
        if (record.group.value >= 0 && group < groups.size())
            m_out << ",\"group\":" << jsonText(groups[group].name)
                  << ",\"transport\":" << jsonText(groups[group].transport);
        if (record.peer) m_out << ",\"peer\":" << record.peer->value;
        if (!record.algorithm.empty()) m_out << ",\"algorithm\":" << jsonText(record.algorithm);
        if (!record.protocol.empty()) m_out << ",\"protocol\":" << jsonText(record.protocol);
    }

    /// Collectives that no slice stands for: instants, so that nothing is lost.
    void writeCollectivesWithoutSlice()
    {
        for (const auto& [key, record] : m_collectives) {
            if (!isTrack(record.track)) continue;
            const RankId rank = m_trace.tracks()[static_cast<std::size_t>(record.track.value)].info.rank;
            const int tid = thread({record.track, 0});
            event('i', rank) << ",\"tid\":" << tid << ",\"ts\":" << microseconds(record.start.ns)
                             << ",\"s\":\"t\",\"cat\":\"collective\",\"name\":\"" << name(record.operation)
                             << "\",\"args\":{\"collective_us\":" << microseconds((record.end - record.start).ns);
            writeCollectiveArguments(record);
            m_out << "}}";
        }
        m_collectives.clear();
    }

    void writeSlice(const SliceView& slice, int extra)
    {
        const RankId rank = m_trace.tracks()[static_cast<std::size_t>(slice.track.value)].info.rank;
        const int tid = thread({slice.track, extra});
        const std::string& part = opPart(slice.op);
        event('X', rank) << ",\"tid\":" << tid << ",\"ts\":" << microseconds(slice.start.ns)
                         << ",\"dur\":" << microseconds(slice.duration.ns) << ',' << part;
        if (slice.microbatch) m_out << ",\"microbatch\":" << slice.microbatch->value;
        if (slice.correlation) m_out << ",\"correlation\":" << slice.correlation->value;
        // Of slices that begin together, the collective's own one.
        const auto collective = m_kinds[slice.op] == SliceKind::Collective
                                    ? m_collectives.find({slice.track, slice.start})
                                    : m_collectives.end();
        if (collective != m_collectives.end()) {
            writeCollectiveArguments(collective->second);
            const Duration length = collective->second.end - slice.start;
            if (length != slice.duration) m_out << ",\"collective_us\":" << microseconds(length.ns);
            m_collectives.erase(collective);
        }
        m_out << "}}";
    }

    /// The viewers draw a thread's slices as a tree: what overlaps without nesting goes to the next thread.
    void writeTrack(std::vector<SliceView>& slices)
    {
        std::sort(slices.begin(), slices.end(), [](const SliceView& a, const SliceView& b) {
            if (a.start == b.start && a.duration == b.duration) return a.lane < b.lane;
            return laneOrder(a.start, a.duration, b.start, b.duration);
        });
        std::vector<std::vector<Instant>> open; // per thread, the ends of the open slices, innermost last
        for (const SliceView& slice : slices) {
            std::size_t extra = 0;
            for (;; ++extra) {
                if (extra == open.size()) open.emplace_back();
                std::vector<Instant>& ends = open[extra];
                while (!ends.empty() && ends.back() <= slice.start) ends.pop_back();
                if (ends.empty() || slice.end() <= ends.back()) break;
            }
            open[extra].push_back(slice.end());
            writeSlice(slice, static_cast<int>(extra));
        }
        slices.clear();
    }

    Status writeSlices(const std::function<void(double)>& progress, std::stop_token stop)
    {
        const auto total = static_cast<double>(std::max<std::int64_t>(1, m_trace.info().counts.slices));
        std::int64_t seen = 0;
        std::vector<SliceView> ofTrack;
        FOURWALLS_TRY(m_trace.scanSlices(
            [&](const SliceView& slice) {
                if (!isTrack(slice.track)) return true;
                if (!ofTrack.empty() && ofTrack.back().track != slice.track) writeTrack(ofTrack);
                ofTrack.push_back(slice);
                if (progress && (++seen & 0xffff) == 0) progress(static_cast<double>(seen) / total);
                return m_failure.ok() && m_out.good();
            },
            stop));
        writeTrack(ofTrack);
        return {};
    }

    Status writeFlows(std::stop_token stop)
    {
        std::int64_t id = 0;
        const auto end = [&](char phase, const FlowRecord& flow, TrackId track, Instant at) {
            const RankId rank = m_trace.tracks()[static_cast<std::size_t>(track.value)].info.rank;
            const int tid = thread({track, 0});
            event(phase, rank) << ",\"tid\":" << tid << ",\"ts\":" << microseconds(at.ns) << ",\"id\":" << id
                               << ",\"cat\":\"flow\",\"name\":" << jsonText(flow.kind)
                               << (phase == 'f' ? ",\"bp\":\"e\"}" : "}");
        };
        return m_trace.scanFlows(
            [&](const FlowRecord& flow) {
                if (!isTrack(flow.fromTrack) || !isTrack(flow.toTrack)) return true;
                ++id;
                end('s', flow, flow.fromTrack, flow.from);
                end('f', flow, flow.toTrack, flow.to);
                return m_out.good();
            },
            stop);
    }

    Status writeCounters(std::stop_token stop)
    {
        const auto& counters = m_trace.info().counters;
        return m_trace.scanCounters(
            [&](const CounterRecord& sample) {
                const auto index = static_cast<std::size_t>(sample.counter.value);
                const std::string value = shortestNumber(sample.value);
                if (sample.counter.value < 0 || index >= counters.size() || value.empty()) return true;
                event('C', counters[index].rank.value_or(RankId{0}))
                    << ",\"cat\":\"counter:" << index << "\",\"ts\":" << microseconds(sample.at.ns)
                    << ",\"name\":" << jsonText(counters[index].name) << ",\"args\":{\"value\":" << value << "}}";
                return m_out.good();
            },
            stop);
    }

    void writeMemoryOf(RankId rank, const std::vector<AllocationView>& allocations)
    {
        for (const MemorySample& sample : memoryCurve(memoryEvents(allocations))) {
            event('C', rank) << ",\"cat\":\"memory\",\"ts\":" << microseconds(sample.at.ns)
                             << ",\"name\":\"memory\",\"args\":{";
            for (int c = 0; c < kMemoryCategoryCount; ++c)
                m_out << (c > 0 ? "," : "") << '"' << name(static_cast<MemoryCategory>(c))
                      << "\":" << sample.bytes[static_cast<std::size_t>(c)];
            m_out << "}}";
        }
    }

    /// A buffer is an object of the format: created and deleted. What asked for it is announced when it is met first.
    void writeBuffer(const AllocationView& buffer)
    {
        if (buffer.op && m_announcedOps.insert(*buffer.op).second) {
            const std::string& part = opPart(*buffer.op);
            event('M', buffer.rank) << ",\"name\":\"fourwalls_op\",\"args\":{\"id\":" << buffer.op->value << ",\"op\":{"
                                    << part << "}}}}";
        }
        const auto begin = [&](char phase, Instant at) -> std::ostream& {
            return event(phase, buffer.rank)
                   << ",\"tid\":0,\"ts\":" << microseconds(at.ns) << ",\"id\":" << buffer.id.value
                   << ",\"cat\":\"buffer\",\"name\":\"" << name(buffer.category) << '"';
        };
        begin('N', buffer.start) << ",\"args\":{\"bytes\":" << buffer.bytes << ",\"address\":" << buffer.address;
        if (buffer.op) m_out << ",\"op\":" << buffer.op->value;
        if (buffer.microbatch) m_out << ",\"microbatch\":" << buffer.microbatch->value;
        m_out << "}}";
        if (buffer.end) begin('D', *buffer.end) << '}';
    }

    Status writeMemory(std::stop_token stop)
    {
        std::map<RankId, std::vector<AllocationView>> byRank;
        FOURWALLS_TRY(m_trace.scanAllocations(
            [&](const AllocationView& allocation) {
                byRank[allocation.rank].push_back(allocation);
                return true;
            },
            stop));
        for (const auto& [rank, allocations] : byRank) {
            writeMemoryOf(rank, allocations);
            for (const AllocationView& buffer : allocations) writeBuffer(buffer);
        }
        return {};
    }

    Status writeEvents()
    {
        const TimeRange everything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
        FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events,
                             m_trace.events(everything, std::numeric_limits<std::size_t>::max()));
        for (const EventRecord& record : events)
            event('i', record.rank.value_or(RankId{0}))
                << ",\"tid\":0,\"ts\":" << microseconds(record.at.ns) << ",\"s\":\"" << (record.rank ? 'p' : 'g')
                << "\",\"cat\":\"" << name(record.kind) << "\",\"name\":" << jsonText(record.text) << '}';
        return {};
    }

    TraceQuery& m_trace;
    std::ostream& m_out;
    bool m_first = true;
    std::map<ThreadKey, int> m_threads;
    std::unordered_map<OpId, std::string> m_opParts;
    std::unordered_map<OpId, SliceKind> m_kinds;
    std::set<OpId> m_announcedOps;
    std::multimap<std::pair<TrackId, Instant>, CollectiveRecord> m_collectives;
    Status m_failure;
};

} // namespace

Status exportChromeTrace(TraceQuery& trace, std::ostream& out, const std::function<void(double)>& progress,
                         std::stop_token stop)
{
    return ChromeEvents(trace, out).write(progress, stop);
}

} // namespace fourwalls
