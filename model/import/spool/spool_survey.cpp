// SPDX-License-Identifier: Apache-2.0
// The first walk over a spool: every record once, then launches, ranges and NCCL's calls are put together.
#include "model/import/common/kernel_class.h"
#include "model/import/spool/spool_device_clock.h"
#include "model/import/spool/spool_edges.h"
#include "model/import/spool/spool_nccl.h"
#include "model/import/spool/spool_physical_memory.h"
#include "model/import/spool/spool_ranges.h"
#include "model/import/spool/spool_tables.h"
#include "model/import/spool/stream_captures.h"
#include "model/trace/operator_phase.h"
#include "model/trace/saturating_sum.h"
#include "profiler/collect/spool_reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <type_traits>

namespace fourwalls::importers {

namespace {

using collect::RecordKind;

constexpr std::size_t kMostKernels = 8'000'000; ///< kept for steps: 256 MB
constexpr std::size_t kMostMessages = 1000;

struct Extent {
    std::optional<std::int64_t> begin, end;
    void add(std::int64_t from, std::int64_t to)
    {
        begin = std::min(begin.value_or(from), from);
        end = std::max(end.value_or(to), to);
    }
    std::optional<std::int64_t> length() const { return begin ? std::optional(*end - *begin) : std::nullopt; }
};

/// As waitsForNothing (op_names.h), by what the record says.
bool keepsNobody(const collect::Memcpy& copy)
{
    const auto isLockedOrDevice = [](std::uint8_t kind) {
        const auto memory = static_cast<collect::MemoryKind>(kind);
        return memory == collect::MemoryKind::Pinned || memory == collect::MemoryKind::Device ||
               memory == collect::MemoryKind::Array || memory == collect::MemoryKind::DeviceStatic;
    };
    const auto kind = static_cast<collect::CopyKind>(copy.copyKind);
    return kind == collect::CopyKind::DeviceToDevice || kind == collect::CopyKind::PeerToPeer ||
           (isLockedOrDevice(copy.sourceKind) && isLockedOrDevice(copy.destinationKind));
}

class Survey {
public:
    Survey(SpoolTables& tables, const std::string& scratchFolder) : m_tables(tables), m_busy(scratchFolder) {}

    void take(const collect::SpoolRecord& record)
    {
        switch (record.kind) {
        case RecordKind::String: {
            const auto string = record.as<collect::String>();
            m_tables.strings[string.id] = std::string(record.text(string.length));
            break;
        }
        case RecordKind::Device: {
            const auto device = record.as<collect::Device>();
            m_tables.devices[device.id] = device;
            break;
        }
        case RecordKind::Context:
            m_tables.contexts[record.as<collect::Context>().id] = record.as<collect::Context>().device;
            break;
        case RecordKind::HostPause: {
            if (const auto pause = record.as<collect::HostPause>(); span(pause.begin, pause.end))
                m_tables.threadLane(pause.thread);
            break;
        }
        case RecordKind::SyncStack: {
            const auto stack = record.as<collect::SyncStack>();
            if (stack.correlation != 0) m_tables.stacks.emplace(stack.correlation, stack.stack);
            break;
        }
        case RecordKind::Thread: thread(record.as<collect::Thread>()); break;
        case RecordKind::ApiName: {
            const auto api = record.as<collect::ApiName>();
            m_tables.apiNames[{api.domain, api.function}] = api.name;
            break;
        }
        case RecordKind::NvtxDomain: {
            const auto domain = record.as<collect::NvtxDomain>();
            m_tables.domains[domain.id] = std::string(m_tables.string(domain.name));
            break;
        }
        case RecordKind::NvtxSchema: m_nccl.addSchema(record); break;
        case RecordKind::NcclCommunicator: m_nccl.add(record.as<collect::NcclCommunicator>()); break;
        case RecordKind::Kernel: kernel(record.as<collect::Kernel>()); break;
        case RecordKind::Memcpy: copy(record.as<collect::Memcpy>(), true); break;
        case RecordKind::Memset: copy(record.as<collect::Memset>(), false); break;
        case RecordKind::Memory: memory(record.as<collect::Memory>()); break;
        case RecordKind::VirtualMemory: memory(record.as<collect::VirtualMemory>()); break;
        case RecordKind::ApiCall: call(record.as<collect::ApiCall>()); break;
        case RecordKind::ExternalCorrelation: {
            const auto external = record.as<collect::ExternalCorrelation>();
            if (external.kind == static_cast<std::uint32_t>(collect::ExternalKind::NcclKernelLaunch))
                m_nccl.addCorrelation(external.external, external.correlation);
            break;
        }
        case RecordKind::Synchronization: {
            const auto wait = record.as<collect::Synchronization>();
            if (span(wait.start, wait.end)) m_waits.insert({wait.context, wait.stream});
            m_edges.add(wait);
            break;
        }
        case RecordKind::Overhead: {
            const auto overhead = record.as<collect::Overhead>();
            if (span(overhead.start, overhead.end))
                m_tables.lanes.find(LaneRole::Profiler, m_tables.pid(), "recording overhead" + m_tables.suffix);
            break;
        }
        case RecordKind::GraphTrace: {
            const auto graph = record.as<collect::GraphTrace>();
            if (const auto when = span(graph.start, graph.end)) {
                const int lane = m_tables.streamLane(LaneRole::Stream, graph.device, graph.context, graph.stream);
                m_tables.lanes.noteWork(lane, LaneIndex::Work::Compute, when->second - when->first);
                m_tables.deviceWork[graph.device] += static_cast<double>(when->second - when->first);
                m_gpuSpan.add(when->first, when->second);
            }
            break;
        }
        case RecordKind::NvtxPush:
        case RecordKind::NvtxRangeStart:
        case RecordKind::NvtxMark: m_ranges.begin(record); break;
        case RecordKind::NvtxPop:
        case RecordKind::NvtxRangeEnd: m_ranges.end(record.kind, record.as<collect::NvtxEnd>()); break;
        case RecordKind::NcclCollApi:
        case RecordKind::NcclP2pApi: m_nccl.add(record.as<collect::NcclApi>()); break;
        case RecordKind::NcclKernelLaunch: m_nccl.add(record.as<collect::NcclKernelLaunch>()); break;
        case RecordKind::NcclGroup: m_nccl.add(record.as<collect::NcclGroup>()); break;
        case RecordKind::NcclColl: m_nccl.add(record.as<collect::NcclColl>()); break;
        case RecordKind::NcclCopies: m_nccl.addOfCopies(record.as<collect::NcclColl>()); break;
        case RecordKind::NcclP2p: m_nccl.add(record.as<collect::NcclP2p>()); break;
        case RecordKind::NvmlSample: {
            const auto sample = record.as<collect::NvmlSample>();
            m_tables.note(sample.time);
            m_tables.processMemory = m_tables.processMemory || ((sample.valid & collect::kNvmlProcessMemory) != 0 &&
                                                                sample.processMemory <= kMostMemoryBytes);
            break;
        }
        case RecordKind::MemoryInfo: m_tables.note(record.as<collect::MemoryInfo>().time); break;
        case RecordKind::ClockPair: clock(record.as<collect::ClockPair>()); break;
        case RecordKind::StepMark: {
            const auto mark = record.as<collect::StepMark>();
            const bool counted = mark.source == static_cast<std::uint32_t>(collect::StepSource::Optimizer);
            (counted ? m_tables.optimizerEnds : m_tables.stepMarks).push_back(mark);
            break;
        }
        case RecordKind::Window: m_tables.windows.push_back(record.as<collect::Window>()); break;
        case RecordKind::Message: {
            const auto message = record.as<collect::Message>();
            if (m_tables.messages.size() < kMostMessages)
                m_tables.messages.emplace_back(message, std::string(record.text(message.length)));
            break;
        }
        case RecordKind::Loss: {
            const auto loss = record.as<collect::Loss>();
            auto& [count, bytes] = m_tables.losses[loss.kind];
            count += loss.count;
            bytes += loss.size;
            break;
        }
        case RecordKind::RecorderCost: {
            const auto cost = record.as<collect::RecorderCost>();
            auto& spent = (cost.own != 0 ? m_tables.ownThreadCost : m_tables.threadCost)[cost.thread];
            spent = std::max(spent, cost.nanoseconds); // sums so far: the last of a thread is the largest
            break;
        }
        case RecordKind::CudaEvent: m_edges.add(record.as<collect::CudaEvent>()); break;
        case RecordKind::OwnCost: m_tables.cost = record.as<collect::OwnCost>(); break;
        case RecordKind::Stream:
        case RecordKind::NvtxCategory:
        case RecordKind::MemoryPool: break;
        case RecordKind::End:
            if (record.as<collect::End>().reason == static_cast<std::uint32_t>(collect::EndReason::Limit))
                m_tables.limited = true;
            break;
        default: ++m_tables.unknownRecords; break;
        }
    }

    Status finish()
    {
        std::stable_sort(m_tables.windows.begin(), m_tables.windows.end(),
                         [](const auto& a, const auto& b) { return a.time < b.time; });
        // Only now is every context's device known.
        for (const auto& [context, stream] : m_waits)
            m_tables.streamLane(LaneRole::Synchronisation, deviceOf(context), context, stream);
        m_captures.finish();
        m_physical.finish(m_tables.memory);
        m_ranges.finish();
        for (const SpoolRange& range : m_tables.ranges) m_span.add(range.begin, range.end);
        m_nccl.tie(m_edges.copies());
        m_edges.finish(m_tables);
        phases();
        FOURWALLS_TRY(m_tables.links.resolve(m_tables.passes.otherwise()));
        m_nccl.pair();
        finishFacts();
        return {};
    }

private:
    /// Both times, if they can be; counts and refuses what has none.
    std::optional<std::pair<std::int64_t, std::int64_t>> span(std::uint64_t start, std::uint64_t end)
    {
        const auto from = spoolTime(start), to = spoolTime(end);
        if (!from || !to || *from == 0) {
            ++(start == 0 && end == 0 ? m_tables.timesLost : m_tables.badTimes);
            return std::nullopt;
        }
        if (*to != 0 && *to < *from) {
            ++m_tables.badTimes;
            return std::nullopt;
        }
        m_tables.note(start);
        m_tables.note(end);
        return std::pair(*from, std::max(*from, *to));
    }

    std::uint32_t deviceOf(std::uint32_t context) const
    {
        const auto found = m_tables.contexts.find(context);
        return found == m_tables.contexts.end() ? 0 : found->second;
    }

    void thread(const collect::Thread& thread)
    {
        const std::string name(m_tables.string(thread.name).substr(0, 200));
        m_tables.lanes.nameThread(m_tables.pid(), std::to_string(thread.id) + m_tables.suffix,
                                  name + " (" + std::to_string(thread.id) + ")" + m_tables.suffix);
        if (isGradientThread(name)) m_autograd.push_back(thread.id);
    }

    void kernel(const collect::Kernel& kernel)
    {
        const int lane = m_tables.streamLane(LaneRole::Stream, kernel.device, kernel.context, kernel.stream);
        const auto when = span(kernel.start, kernel.end);
        if (!when) return;
        const std::int64_t length = when->second - when->first;
        if (kernel.name >= m_communicates.size() && kernel.name < (1u << 24))
            m_communicates.resize(kernel.name + 1, -1);
        bool communicates = false;
        if (kernel.name < m_communicates.size()) {
            auto& known = m_communicates[kernel.name];
            if (known < 0) known = isCommunicationKernel(m_tables.string(kernel.name)) ? 1 : 0;
            communicates = known == 1;
        } else {
            communicates = isCommunicationKernel(m_tables.string(kernel.name));
        }
        m_tables.lanes.noteWork(lane, communicates ? LaneIndex::Work::Communication : LaneIndex::Work::Compute, length);
        m_tables.deviceWork[kernel.device] += static_cast<double>(length);
        m_kernels += 1;
        m_kernelTime += static_cast<std::uint64_t>(length);
        m_busy.add(when->first, when->second);
        m_gpuSpan.add(when->first, when->second);
        m_streams.insert({kernel.device, kernel.stream});
        if (communicates) {
            if (isNcclName(m_tables.string(kernel.name)))
                ++m_ncclKernels, m_ncclTime += static_cast<std::uint64_t>(length);
            m_tables.communication.push_back(
                {when->first, when->second, lane, kernel.name, kernel.correlation, -1, kernel.graph != 0});
        }
        if (m_tables.kernels.size() < kMostKernels)
            m_tables.kernels.push_back({when->first, when->second, kernel.correlation, kernel.name, lane});
        else
            ++m_tables.kernelsLeftOut;
    }

    template <class Copied>
    void copy(const Copied& copied, bool isCopy)
    {
        const int lane = m_tables.streamLane(LaneRole::Stream, copied.device, copied.context, copied.stream);
        const auto when = span(copied.start, copied.end);
        if (!when) return;
        m_tables.lanes.noteWork(lane, LaneIndex::Work::Copy, when->second - when->first);
        m_gpuSpan.add(when->first, when->second);
        m_edges.addCopy(lane, copied.correlation, when->first, when->second);
        if constexpr (std::is_same_v<Copied, collect::Memcpy>)
            if (copied.correlation != 0 && keepsNobody(copied)) m_tables.links.addFreeCopy(copied.correlation);
        if (isCopy)
            ++m_copies, m_copyTime += static_cast<std::uint64_t>(when->second - when->first);
        else
            ++m_sets;
    }

    void memory(const collect::Memory& memory)
    {
        const auto kind = static_cast<collect::MemoryKind>(memory.memoryKind);
        const auto operation = static_cast<collect::MemoryOperation>(memory.operation);
        const bool onDevice = kind == collect::MemoryKind::Device || kind == collect::MemoryKind::Array ||
                              kind == collect::MemoryKind::Managed || kind == collect::MemoryKind::DeviceStatic ||
                              kind == collect::MemoryKind::ManagedStatic;
        m_tables.note(memory.time);
        if (!onDevice ||
            (operation != collect::MemoryOperation::Allocate && operation != collect::MemoryOperation::Release))
            return;
        addMemory(memory.time, memory.address, memory.size, memory.device, memory.correlation,
                  operation == collect::MemoryOperation::Allocate, memory.poolType != 0);
    }

    void memory(const collect::VirtualMemory& memory)
    {
        m_tables.note(memory.time);
        if (!m_physical.add(memory)) ++m_tables.badTimes;
    }

    void addMemory(std::uint64_t time, std::uint64_t key, std::uint64_t bytes, std::uint32_t device,
                   std::uint32_t correlation, bool allocates, bool fromPool)
    {
        const auto at = spoolTime(time);
        if (!at || *at == 0 || bytes > kMostMemoryBytes) {
            ++m_tables.badTimes;
            return;
        }
        m_tables.memory.push_back(
            {*at, key, static_cast<std::int64_t>(bytes), device, correlation, allocates, false, fromPool});
    }

    void call(const collect::ApiCall& call)
    {
        const int lane = m_tables.threadLane(call.thread);
        const auto when = span(call.start, call.end);
        if (!when) return;
        ++m_calls;
        m_span.add(when->first, when->second);
        if (call.correlation != 0) m_tables.links.addLaunch(call.correlation, lane, when->first);
        if (const auto name = m_tables.apiNames.find({call.domain, call.function}); name != m_tables.apiNames.end())
            m_captures.call(call.thread, name->second, m_tables.string(name->second), when->first, when->second);
    }

    void clock(const collect::ClockPair& pair)
    {
        const auto real = spoolTime(pair.realtime), steady = spoolTime(pair.monotonic);
        if (!real || !steady) return;
        const std::int64_t difference = *real - *steady;
        constexpr std::int64_t kJump = 1'000'000; // the system's clock is slewed, slowly, all the time
        if (m_clock && std::abs(difference - *m_clock) > kJump) addTo(m_tables.clockSetNs, difference - *m_clock);
        m_clock = difference;
    }

    /// What ranges and threads say of forward, backward and optimizer.
    void phases()
    {
        for (const SpoolRange& range : m_tables.ranges) {
            OperatorContext context;
            context.tellPhase(m_tables.string(range.name));
            if (context.phase == Phase::None) continue;
            m_tables.phasesFromRanges = true;
            m_tables.passes.note(context.phase);
            m_tables.links.addOperator(range.lane, range.begin, range.end, context);
        }
        for (const std::uint32_t thread : m_autograd) {
            const int lane =
                m_tables.lanes.known(LaneRole::Thread, m_tables.pid(), std::to_string(thread) + m_tables.suffix);
            if (lane < 0) continue;
            OperatorContext context;
            context.phase = Phase::BackwardInput;
            m_tables.phasesFromThreads = true;
            m_tables.passes.note(context.phase);
            m_tables.links.addOperator(lane, m_tables.firstNs, m_tables.lastNs + 1, context);
        }
    }

    void finishFacts()
    {
        TraceFacts& facts = m_tables.facts;
        if (m_gpuSpan.begin) m_span.add(*m_gpuSpan.begin, *m_gpuSpan.end);
        facts.gpuKernelEvents = m_kernels;
        facts.gpuKernelTimeNs = static_cast<std::int64_t>(m_kernelTime);
        facts.gpuKernelBusyNs = m_busy.total();
        facts.ncclKernels = m_ncclKernels;
        facts.ncclTimeNs = static_cast<std::int64_t>(m_ncclTime);
        facts.memcpyEvents = m_copies;
        facts.memcpyTimeNs = static_cast<std::int64_t>(m_copyTime);
        facts.memsetEvents = m_sets;
        facts.runtimeEvents = m_calls;
        facts.nvtxRanges = static_cast<std::int64_t>(m_tables.ranges.size());
        facts.spanNs = m_span.length();
        facts.gpuSpanNs = m_gpuSpan.length();
        facts.firstEventNs = m_span.begin;
        facts.streams = static_cast<std::int64_t>(m_streams.size());
    }

    SpoolTables& m_tables;
    StreamCaptures m_captures;
    SpoolNccl m_nccl{m_tables, m_captures};
    SpoolRanges m_ranges{m_tables, m_nccl};
    SpoolEdges m_edges;
    PhysicalMemory m_physical;
    std::vector<std::uint32_t> m_autograd;   ///< threads
    std::vector<std::int8_t> m_communicates; ///< by name; -1: not looked at
    std::optional<std::int64_t> m_clock;
    std::int64_t m_kernels = 0, m_ncclKernels = 0, m_copies = 0, m_sets = 0, m_calls = 0;
    std::uint64_t m_kernelTime = 0, m_ncclTime = 0, m_copyTime = 0;
    Extent m_span, m_gpuSpan;
    BusyTime m_busy;
    std::set<std::pair<std::uint32_t, std::uint32_t>> m_streams;
    std::set<std::pair<std::uint32_t, std::uint32_t>> m_waits; ///< (context, stream)
};

} // namespace

Result<SpoolTables> surveySpool(const std::string& path, std::string suffix, std::stop_token stop,
                                const std::string& scratchFolder)
{
    FOURWALLS_TRY_ASSIGN(collect::SpoolReader reader, collect::SpoolReader::open(path));
    SpoolTables tables;
    tables.path = path;
    tables.suffix = std::move(suffix);
    tables.header = reader.header();
    tables.host = reader.host();
    tables.executable = reader.executable();
    const char* const version = tables.header.collectorVersion;
    tables.version.assign(version, strnlen(version, sizeof tables.header.collectorVersion));
    tables.links = LaunchLinks(scratchFolder);
    FOURWALLS_TRY_ASSIGN(SpoolDeviceClock clock, SpoolDeviceClock::of(path));
    tables.deviceClockNs = clock.offset();
    Survey survey(tables, scratchFolder);
    for (std::uint64_t i = 0;; ++i) {
        if (i % 4096 == 0 && stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", path, ""};
        FOURWALLS_TRY_ASSIGN(const std::optional<collect::SpoolRecord> record, reader.next());
        if (!record) break;
        survey.take(clock.place(*record));
    }
    FOURWALLS_TRY(survey.finish());
    const collect::SpoolState& state = reader.state();
    tables.records = state.records;
    tables.ended = state.ended;
    tables.unreadBytes = state.unreadBytes;
    tables.overwrittenSegments = state.overwritten;
    tables.badSegments = state.badSegments;
    return tables;
}

} // namespace fourwalls::importers
