// SPDX-License-Identifier: Apache-2.0
// One function per kind of record.
#include "model/import/spool/spool_writer.h"

#include "model/import/common/demangled_name.h"
#include "model/import/spool/spool_device_clock.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <utility>

namespace fourwalls::importers {

namespace {

using collect::RecordKind;

const char* copyName(std::uint8_t kind)
{
    switch (static_cast<collect::CopyKind>(kind)) {
    case collect::CopyKind::HostToDevice:
    case collect::CopyKind::HostToArray: return "Memcpy HtoD";
    case collect::CopyKind::DeviceToHost:
    case collect::CopyKind::ArrayToHost: return "Memcpy DtoH";
    case collect::CopyKind::DeviceToDevice:
    case collect::CopyKind::ArrayToArray:
    case collect::CopyKind::ArrayToDevice:
    case collect::CopyKind::DeviceToArray: return "Memcpy DtoD";
    case collect::CopyKind::HostToHost: return "Memcpy HtoH";
    case collect::CopyKind::PeerToPeer: return "Memcpy PtoP";
    case collect::CopyKind::Unknown: break;
    }
    return "Memcpy";
}

const char* memoryName(std::uint8_t kind)
{
    static constexpr const char* kNames[] = {"unknown", "pageable", "pinned",        "device",
                                             "array",   "managed",  "device static", "managed static"};
    return kind < std::size(kNames) ? kNames[kind] : "unknown";
}

const char* waitName(std::uint32_t type)
{
    switch (static_cast<collect::SynchronizationType>(type)) {
    case collect::SynchronizationType::Event: return "event wait";
    case collect::SynchronizationType::StreamWaitEvent: return "stream waits for event";
    case collect::SynchronizationType::Stream: return "stream wait";
    case collect::SynchronizationType::Context: return "device wait";
    case collect::SynchronizationType::Unknown: break;
    }
    return "wait";
}

const char* overheadName(std::uint32_t kind)
{
    switch (static_cast<collect::OverheadKind>(kind)) {
    case collect::OverheadKind::DriverCompiler: return "driver compiler";
    case collect::OverheadKind::BufferFlush: return "buffer flush";
    case collect::OverheadKind::Instrumentation: return "instrumentation";
    case collect::OverheadKind::Resource: return "resource";
    case collect::OverheadKind::LazyLoading: return "lazy loading of kernels";
    case collect::OverheadKind::CommandBufferFull: return "command buffer full";
    case collect::OverheadKind::BufferRequest: return "buffer request";
    default: return "recording";
    }
}

/// "cudaLaunchKernel_v7000" as people know it.
std::string_view plainCall(std::string_view name)
{
    const std::size_t at = name.rfind("_v");
    const bool version = at != std::string_view::npos && at + 2 < name.size() &&
                         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 2, name.end(),
                                     [](char c) { return c >= '0' && c <= '9'; });
    return version ? name.substr(0, at) : name;
}

std::string triple(const std::uint32_t (&n)[3])
{
    return "[" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + "]";
}

} // namespace

std::size_t SpoolWriter::KernelHash::operator()(const KernelKey& key) const
{
    std::uint64_t hash = key.name;
    for (int i = 0; i < 3; ++i) hash = (hash ^ key.grid[i]) * 0x9E3779B97F4A7C15ULL + key.block[i];
    hash = (hash ^ key.graph) * 0xBF58476D1CE4E5B9ULL;
    return static_cast<std::size_t>(hash ^ (hash >> 31));
}

SpoolWriter::SpoolWriter(SpoolTables& tables, TraceSink& sink, SpoolPlacement placement)
    : m_tables(tables)
    , m_sink(sink)
    , m_placement(std::move(placement))
    , m_names(sink, false)
    , m_tracks(tables.lanes.defineTracks(sink, m_placement.rank))
    , m_producer(sink.openProducer())
{
    for (const SpoolCommunication& each : m_tables.communication)
        if (each.correlation != 0) m_operationOf[each.correlation] = each.operation;
}

TrackId SpoolWriter::track(std::int32_t lane) const
{
    const auto index = static_cast<std::size_t>(lane);
    if (index < m_tracks.size()) return m_tracks[index];
    // The file has grown since it was surveyed.
    return m_sink.defineTrack({m_placement.rank, TrackKind::Other, "other", static_cast<int>(m_tracks.size())});
}

Result<std::int64_t> SpoolWriter::write(std::int64_t firstBuffer, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(collect::SpoolReader reader, collect::SpoolReader::open(m_tables.path));
    FOURWALLS_TRY_ASSIGN(SpoolDeviceClock clock, SpoolDeviceClock::of(m_tables.path));
    SpoolMemoryWriter memory(m_tables, m_sink, *m_producer, m_placement.rank, m_placement.shiftNs, firstBuffer);
    const std::int64_t nextBuffer = memory.writeBuffers();
    for (std::uint64_t i = 0; i < m_tables.records; ++i) {
        if (i % 16384 == 0) {
            if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", m_tables.path, ""};
            if (m_placement.progress)
                m_placement.progress(static_cast<double>(i) / static_cast<double>(m_tables.records));
        }
        FOURWALLS_TRY_ASSIGN(const std::optional<collect::SpoolRecord> record, reader.next());
        if (!record) break;
        take(clock.place(*record), memory);
    }
    for (const SpoolRange& each : m_tables.ranges) range(each);
    for (const SpoolCommunication& each : m_tables.communication)
        if (each.operation >= 0 && m_tables.operations[static_cast<std::size_t>(each.operation)].byCopies)
            ofCopies(each);
    for (const SpoolEdge& edge : m_tables.edges)
        if (inRange(edge.from) && inRange(edge.to))
            m_producer->flow({"stream_wait", track(edge.fromLane), at(edge.from), track(edge.toLane), at(edge.to)});
    messages();
    memory.finish();
    m_producer.reset();
    audit();
    return nextBuffer;
}

void SpoolWriter::take(const collect::SpoolRecord& record, SpoolMemoryWriter& memory)
{
    switch (record.kind) {
    case RecordKind::Kernel: kernel(record.as<collect::Kernel>()); break;
    case RecordKind::Memcpy: {
        const auto copied = record.as<collect::Memcpy>();
        copy(copied, Category::Memcpy, copyName(copied.copyKind),
             std::string(memoryName(copied.sourceKind)) + " to " + memoryName(copied.destinationKind));
        break;
    }
    case RecordKind::Memset: {
        const auto set = record.as<collect::Memset>();
        copy(set, Category::Memset, "Memset", memoryName(set.memoryKind));
        break;
    }
    case RecordKind::GraphTrace: {
        const auto graph = record.as<collect::GraphTrace>();
        const std::int32_t lane = m_tables.streamLane(LaneRole::Stream, graph.device, graph.context, graph.stream);
        NamedWork& named = m_names.find(Category::Kernel, "CUDA graph " + std::to_string(graph.graph));
        const std::optional<Launch> launch = launchOf(graph.correlation);
        if (emit(lane, m_names.id(named, launch ? launch->phase : Phase::None), graph.start, graph.end,
                 graph.correlation))
            launched(graph.correlation, lane, graph.start, launch);
        break;
    }
    case RecordKind::ApiCall: call(record.as<collect::ApiCall>()); break;
    case RecordKind::Synchronization: {
        const auto wait = record.as<collect::Synchronization>();
        const auto device = m_tables.contexts.find(wait.context);
        const std::int32_t lane =
            m_tables.streamLane(LaneRole::Synchronisation, device == m_tables.contexts.end() ? 0 : device->second,
                                wait.context, wait.stream);
        emit(lane, m_names.id(m_names.find(Category::CudaSync, waitName(wait.type))), wait.start, wait.end,
             wait.correlation);
        break;
    }
    case RecordKind::Overhead: {
        const auto overhead = record.as<collect::Overhead>();
        const std::int32_t lane =
            m_tables.lanes.find(LaneRole::Profiler, m_tables.pid(), "recording overhead" + m_tables.suffix);
        emit(lane, m_names.id(m_names.find(Category::Overhead, overheadName(overhead.kind))), overhead.start,
             overhead.end, 0);
        break;
    }
    case RecordKind::NvtxMark: {
        const auto mark = record.as<collect::NvtxEvent>();
        const auto when = spoolTime(mark.time);
        if (!when || *when == 0 || !inRange(*when)) break;
        m_producer->event({EventKind::Annotation, m_placement.rank, at(*when),
                           std::string(m_tables.string(mark.name).substr(0, 1000))});
        ++m_marks;
        break;
    }
    case RecordKind::HostPause: pause(record.as<collect::HostPause>()); break;
    case RecordKind::NvmlSample: memory.sample(record.as<collect::NvmlSample>()); break;
    case RecordKind::MemoryInfo: memory.sample(record.as<collect::MemoryInfo>()); break;
    default: break;
    }
}

NamedWork& SpoolWriter::workOf(const collect::Kernel& kernel)
{
    KernelKey key{};
    key.name = kernel.name;
    std::copy(std::begin(kernel.grid), std::end(kernel.grid), key.grid);
    std::copy(std::begin(kernel.block), std::end(kernel.block), key.block);
    key.graph = kernel.graph;
    const auto found = m_kernels.find(key);
    if (found != m_kernels.end()) return *found->second;
    std::string detail = "grid " + triple(kernel.grid) + " block " + triple(kernel.block);
    if (kernel.cluster[0] > 1 || kernel.cluster[1] > 1 || kernel.cluster[2] > 1)
        detail += " cluster " + triple(kernel.cluster);
    detail += " registers " + std::to_string(kernel.registersPerThread);
    if (kernel.staticShared > 0 || kernel.dynamicShared > 0)
        detail +=
            " shared memory " + std::to_string(static_cast<std::uint64_t>(kernel.staticShared) + kernel.dynamicShared);
    if (kernel.graph != 0) detail += " graph " + std::to_string(kernel.graph);
    NamedWork& work = m_names.find(Category::Kernel, demangledName(m_tables.string(kernel.name)), detail);
    m_kernels.emplace(key, &work);
    return work;
}

const NcclOperation* SpoolWriter::operationOf(std::uint32_t correlation) const
{
    const auto found = correlation != 0 ? m_operationOf.find(correlation) : m_operationOf.end();
    return found != m_operationOf.end() && found->second >= 0
               ? &m_tables.operations[static_cast<std::size_t>(found->second)]
               : nullptr;
}

const NcclOperation* SpoolWriter::operationOfCopy(std::uint32_t correlation) const
{
    const auto found = correlation != 0 ? m_tables.operationOfCopy.find(correlation) : m_tables.operationOfCopy.end();
    return found != m_tables.operationOfCopy.end() ? &m_tables.operations[static_cast<std::size_t>(found->second)]
                                                   : nullptr;
}

/// An operation of copy engines, around its copies.
void SpoolWriter::ofCopies(const SpoolCommunication& whole)
{
    const NcclOperation& operation = m_tables.operations[static_cast<std::size_t>(whole.operation)];
    NamedWork& named = m_names.find(Category::CollectiveWork,
                                    "nccl " + std::string(fourwalls::name(operation.operation)) + " by copy engines",
                                    operation.protocol);
    const std::optional<Launch> launch = launchOf(whole.correlation);
    emit(whole.lane, m_names.id(named, launch ? launch->phase : Phase::None), static_cast<std::uint64_t>(whole.start),
         static_cast<std::uint64_t>(whole.end), whole.correlation);
}

/// A communication kernel with what it carried; sizes are in the collective's record.
NamedWork& SpoolWriter::workOf(const NcclOperation& operation, const collect::Kernel& kernel)
{
    std::string detail(fourwalls::name(operation.operation));
    if (operation.count > 1) detail += ", " + std::to_string(operation.count) + " operations in one launch";
    if (!operation.algorithm.empty()) detail += ", " + operation.algorithm;
    if (!operation.protocol.empty()) detail += ", " + operation.protocol;
    if (operation.channels > 0) detail += ", " + std::to_string(operation.channels) + " channels";
    auto& found = m_operations[{kernel.name, detail}];
    if (!found) found = &m_names.find(Category::Kernel, demangledName(m_tables.string(kernel.name)), detail);
    return *found;
}

void SpoolWriter::kernel(const collect::Kernel& kernel)
{
    const std::int32_t lane = m_tables.streamLane(LaneRole::Stream, kernel.device, kernel.context, kernel.stream);
    const std::optional<Launch> launch = launchOf(kernel.correlation);
    const NcclOperation* const operation = operationOf(kernel.correlation);
    NamedWork& named = operation ? workOf(*operation, kernel) : workOf(kernel);
    Phase phase = launch ? launch->phase : Phase::None;
    if (m_tables.passes.backward) {
        const Phase said = std::exchange(phase, OpNames::kernelPhase(named, phase));
        if (said != phase) ++m_byName;
    }
    if (kernel.graph != 0) ++m_replayed;
    if (emit(lane, m_names.id(named, phase), kernel.start, kernel.end, kernel.correlation))
        launched(kernel.correlation, lane, kernel.start, launch);
}

template <class Copied>
void SpoolWriter::copy(const Copied& copied, Category category, const char* name, std::string detail)
{
    const std::int32_t lane = m_tables.streamLane(LaneRole::Stream, copied.device, copied.context, copied.stream);
    const std::optional<Launch> launch = launchOf(copied.correlation);
    detail += ", " + std::to_string(copied.size) + " bytes";
    const NcclOperation* const operation = operationOfCopy(copied.correlation);
    if (operation) detail += " of nccl " + std::string(fourwalls::name(operation->operation));
    NamedWork& named = m_names.find(category, name, detail);
    if (operation) {
        named.info.kind = SliceKind::Collective;
        named.info.activity = Activity::Transfer;
    }
    if (named.info.bytes == 0 && copied.size < (std::uint64_t{1} << 50))
        named.info.bytes = static_cast<std::int64_t>(copied.size);
    if (emit(lane, m_names.id(named, launch ? launch->phase : Phase::None), copied.start, copied.end,
             copied.correlation))
        launched(copied.correlation, lane, copied.start, launch);
}

void SpoolWriter::call(const collect::ApiCall& call)
{
    const auto stack = m_tables.stacks.find(call.correlation);
    const std::uint32_t waitedIn = stack == m_tables.stacks.end() ? 0 : stack->second;
    const std::pair key{(static_cast<std::uint64_t>(call.domain) << 32) | call.function, waitedIn};
    auto found = m_calls.find(key);
    if (found == m_calls.end()) {
        const auto name = m_tables.apiNames.find({call.domain, call.function});
        const std::string_view text =
            name == m_tables.apiNames.end() ? std::string_view() : m_tables.string(name->second);
        const bool driver = call.domain == static_cast<std::uint32_t>(collect::ApiDomain::Driver);
        const std::string unnamed = (driver ? "driver call " : "runtime call ") + std::to_string(call.function);
        NamedWork& work = m_names.find(driver ? Category::Driver : Category::Runtime,
                                       text.empty() ? std::string_view(unnamed) : plainCall(text),
                                       waitedIn == 0 ? std::string_view() : m_tables.string(waitedIn));
        found = m_calls.emplace(key, &work).first;
    }
    const Duration length{static_cast<std::int64_t>(std::min<std::uint64_t>(call.end - call.start, kLargestTimeNs))};
    const std::optional<std::int64_t> copy =
        call.correlation != 0 ? std::optional<std::int64_t>(call.correlation) : std::nullopt;
    const bool kept = emit(m_tables.threadLane(call.thread),
                           m_names.id(*found->second, Phase::None, 0,
                                      callActivity(found->second->info, length, m_tables.links.isFreeCopy(copy))),
                           call.start, call.end, call.correlation);
    if (kept && waitedIn != 0) ++m_stacks;
}

void SpoolWriter::range(const SpoolRange& range)
{
    auto found = m_ranges.find(range.name);
    if (found == m_ranges.end())
        found =
            m_ranges.emplace(range.name, &m_names.find(Category::UserAnnotation, m_tables.string(range.name))).first;
    emit(range.lane, m_names.id(*found->second), static_cast<std::uint64_t>(range.begin),
         static_cast<std::uint64_t>(range.end), 0);
}

void SpoolWriter::pause(const collect::HostPause& pause)
{
    const auto kind = static_cast<collect::PauseKind>(pause.kind);
    const bool loading = kind == collect::PauseKind::DataLoading;
    std::string name = loading ? "DataLoader.__next__" : "pause of the program";
    if (kind == collect::PauseKind::GarbageCollection)
        name = "garbage collection (generation " + std::to_string(pause.detail) + ")";
    NamedWork& work = m_names.find(Category::UserAnnotation, name);
    if (loading) {
        work.info.kind = SliceKind::DataLoading;
        work.info.activity = Activity::DataLoading;
    }
    if (emit(m_tables.threadLane(pause.thread), m_names.id(work, loading ? Phase::DataLoading : Phase::None),
             pause.begin, pause.end, 0))
        ++m_pauses;
}

bool SpoolWriter::emit(std::int32_t lane, OpId op, std::uint64_t start, std::uint64_t end, std::uint32_t correlation)
{
    const auto from = spoolTime(start), to = spoolTime(end);
    if (!from || !to || *from == 0) return false; // counted by the survey
    std::int64_t until = *to;
    if (until == 0) {
        until = std::max(*from, m_tables.lastNs);
        ++m_running;
    }
    if (until < *from) return false;
    if (!inRange(*from) || !inRange(until)) {
        ++m_outOfRange;
        return false;
    }
    SliceRecord record;
    record.track = track(lane);
    record.op = op;
    record.start = at(*from);
    record.duration = Duration{until - *from};
    if (correlation != 0) record.correlation = CorrelationId{correlation};
    m_producer->slice(record);
    ++m_slices;
    return true;
}

/// An arrow from the call to its work; of a graph's replay, to the first node only.
void SpoolWriter::launched(std::uint32_t correlation, std::int32_t lane, std::uint64_t start,
                           const std::optional<Launch>& launch)
{
    if (!launch) {
        ++m_withoutLaunch;
        return;
    }
    if (correlation == m_lastReplay || !inRange(launch->at)) return;
    m_lastReplay = correlation;
    m_producer->flow(
        {"launch", track(launch->lane), at(launch->at), track(lane), at(static_cast<std::int64_t>(start))});
    ++m_arrows;
}

/// What the collector says about the recording: events on the timeline where something went wrong or was switched.
void SpoolWriter::messages()
{
    for (const auto& [message, text] : m_tables.messages) {
        const auto when = spoolTime(message.time);
        std::string line = text.substr(0, 1000);
        if (line.empty()) line = "message " + std::to_string(message.code);
        for (char& c : line)
            if (static_cast<unsigned char>(c) < ' ') c = ' ';
        const auto severity = static_cast<collect::Severity>(message.severity);
        AuditRecord record = auditRecord(AuditCounter::CollectorMessage, 1, line, std::to_string(message.code));
        if (severity == collect::Severity::Info) record.severity = AuditSeverity::Info;
        m_sink.audit(record);
        if (severity != collect::Severity::Info && when && *when != 0 && inRange(*when))
            m_producer->event({EventKind::Annotation, m_placement.rank, at(*when), line});
    }
    for (const collect::Window& window : m_tables.windows) {
        const auto when = spoolTime(window.time);
        if (!when || *when == 0 || !inRange(*when) ||
            window.reason == static_cast<std::uint32_t>(collect::WindowReason::Always))
            continue;
        m_producer->event({EventKind::Annotation, m_placement.rank, at(*when),
                           window.on != 0 ? "recording switched on" : "recording switched off"});
    }
}

} // namespace fourwalls::importers
