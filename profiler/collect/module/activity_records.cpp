// SPDX-License-Identifier: Apache-2.0
// One function per kind. Only fields that CUPTI of CUDA 12.0 has are read: newer records have them at the same places,
// and the iterator knows how long each is.
#include "profiler/collect/module/activity_records.h"

#include <cstring>

namespace fourwalls::collect::module {

namespace {

/// When and where something ran: CUPTI's records of kernels, copies, sets and graphs name these fields alike, and so do
/// ours. Of a graph there is no node.
template <class To, class From>
To placed(const From& from)
{
    To to{};
    to.start = from.start;
    to.end = from.end;
    to.device = from.deviceId;
    to.context = from.contextId;
    to.stream = from.streamId;
    to.correlation = from.correlationId;
    to.graph = from.graphId;
    if constexpr (requires { to.graphNode; }) to.graphNode = from.graphNodeId;
    return to;
}

Kernel kernelOf(const CUpti_ActivityKernel9& from)
{
    auto to = placed<Kernel>(from);
    to.grid[0] = static_cast<std::uint32_t>(from.gridX);
    to.grid[1] = static_cast<std::uint32_t>(from.gridY);
    to.grid[2] = static_cast<std::uint32_t>(from.gridZ);
    to.block[0] = static_cast<std::uint32_t>(from.blockX);
    to.block[1] = static_cast<std::uint32_t>(from.blockY);
    to.block[2] = static_cast<std::uint32_t>(from.blockZ);
    to.cluster[0] = from.clusterX;
    to.cluster[1] = from.clusterY;
    to.cluster[2] = from.clusterZ;
    to.registersPerThread = from.registersPerThread;
    to.staticShared = static_cast<std::uint32_t>(from.staticSharedMemory);
    to.dynamicShared = static_cast<std::uint32_t>(from.dynamicSharedMemory);
    to.localPerThread = from.localMemoryPerThread;
    to.launchType = from.launchType;
    return to;
}

/// Memcpy5 and MemcpyPtoP4 share the names of these fields.
template <class Copy>
Memcpy copyOf(const Copy& from)
{
    auto to = placed<Memcpy>(from);
    to.size = from.bytes;
    to.sourceDevice = to.destinationDevice = -1;
    to.copyKind = from.copyKind;
    to.sourceKind = from.srcKind;
    to.destinationKind = from.dstKind;
    to.async = (from.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? 1 : 0;
    return to;
}

Memset memsetOf(const CUpti_ActivityMemset4& from)
{
    auto to = placed<Memset>(from);
    to.size = from.bytes;
    to.value = from.value;
    to.memoryKind = static_cast<std::uint8_t>(from.memoryKind);
    to.async = (from.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0 ? 1 : 0;
    return to;
}

Memory memoryOf(const CUpti_ActivityMemory3& from)
{
    Memory to{};
    to.time = from.timestamp;
    to.address = from.address;
    to.size = from.bytes;
    to.device = from.deviceId;
    to.context = from.contextId;
    to.stream = from.streamId;
    to.correlation = from.correlationId;
    to.operation = static_cast<std::uint8_t>(from.memoryOperationType);
    to.memoryKind = static_cast<std::uint8_t>(from.memoryKind);
    to.async = from.isAsync != 0 ? 1 : 0;
    to.poolType = static_cast<std::uint8_t>(from.memoryPoolConfig.memoryPoolType);
    if (from.memoryPoolConfig.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) {
        to.poolAddress = from.memoryPoolConfig.address;
    }
    if (from.memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
        to.poolReleaseThreshold = from.memoryPoolConfig.releaseThreshold;
        to.poolSize = from.memoryPoolConfig.pool.size;
        to.poolUtilized = from.memoryPoolConfig.utilizedSize;
    }
    return to;
}

MemoryPool poolOf(const CUpti_ActivityMemoryPool2& from)
{
    MemoryPool to{};
    to.time = from.timestamp;
    to.address = from.address;
    to.size = from.size;
    to.utilized = from.utilizedSize;
    to.releaseThreshold = from.releaseThreshold;
    to.minBytesToKeep = from.minBytesToKeep;
    to.device = from.deviceId;
    to.correlation = from.correlationId;
    to.operation = static_cast<std::uint8_t>(from.memoryPoolOperationType);
    to.poolType = static_cast<std::uint8_t>(from.memoryPoolType);
    return to;
}

Synchronization synchronizationOf(const CUpti_ActivitySynchronization& from)
{
    Synchronization to{};
    to.start = from.start;
    to.end = from.end;
    to.type = static_cast<std::uint32_t>(from.type);
    to.context = from.contextId;
    to.stream = from.streamId;
    to.event = from.cudaEventId;
    to.correlation = from.correlationId;
    return to;
}

OverheadKind overheadKindOf(CUpti_ActivityOverheadKind kind)
{
    switch (static_cast<std::uint32_t>(kind)) {
    case 0: return OverheadKind::Unknown;
    case 1: return OverheadKind::DriverCompiler;
    case 1U << 16: return OverheadKind::BufferFlush;
    case 2U << 16: return OverheadKind::Instrumentation;
    case 3U << 16: return OverheadKind::Resource;
    case 4U << 16:
    case 5U << 16: return OverheadKind::LazyLoading;
    case 6U << 16: return OverheadKind::CommandBufferFull;
    case 7U << 16: return OverheadKind::BufferRequest;
    default: return OverheadKind::Other;
    }
}

Overhead overheadOf(const CUpti_ActivityOverhead& from)
{
    Overhead to{};
    to.start = from.start;
    to.end = from.end;
    to.kind = static_cast<std::uint32_t>(overheadKindOf(from.overheadKind));
    to.thread = from.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? from.objectId.pt.threadId : 0;
    to.vendorKind = static_cast<std::uint32_t>(from.overheadKind);
    return to;
}

/// A record of CUPTI as the structure of its kind.
template <class Record>
const Record& as(const CUpti_Activity* record)
{
    return *reinterpret_cast<const Record*>(record);
}

} // namespace

std::uint64_t countRecords(const CuptiLibrary& cupti, std::uint8_t* bytes, std::size_t valid)
{
    std::uint64_t count = 0;
    CUpti_Activity* record = nullptr;
    while (cupti.getNextRecord(bytes, valid, &record) == CUPTI_SUCCESS) ++count;
    return count;
}

void ActivityRecords::ignoreThread(std::uint32_t thread)
{
    for (auto& slot : m_ignored) {
        std::uint32_t empty = 0;
        if (slot.load() == thread || slot.compare_exchange_strong(empty, thread)) return;
    }
}

void ActivityRecords::convert(const FilledBuffer& buffer)
{
    CUpti_Activity* record = nullptr;
    for (;;) {
        const CUptiResult result = m_cupti.getNextRecord(buffer.bytes, buffer.valid, &record);
        if (result == CUPTI_SUCCESS) {
            convertOne(record);
            continue;
        }
        // An empty buffer is not an error; anything but the end of the records is.
        if (result != CUPTI_ERROR_MAX_LIMIT_REACHED && buffer.valid > 0)
            m_sink.lose(LossKind::BufferMalformed, 1, buffer.valid);
        return;
    }
}

template <class Record>
void ActivityRecords::checkTimes(const Record& record)
{
    if (record.start == 0 && record.end == 0) {
        m_sink.lose(LossKind::TimesLost, 1);
        ++m_suspicious;
    } else if (record.end < record.start && record.end != 0) {
        m_sink.lose(LossKind::TimesInverted, 1);
        ++m_suspicious;
    }
}

void ActivityRecords::addApi(ApiDomain domain, const CUpti_ActivityAPI* call)
{
    if (!m_filter.wanted(domain, call->cbid)) return;
    for (const auto& ignored : m_ignored) {
        if (ignored.load(std::memory_order_relaxed) == call->threadId) return;
    }
    const std::size_t index = domain == ApiDomain::Runtime ? 1 : 0;
    if (call->cbid < ApiFilter::kMostFunctions && !m_named[index][call->cbid]) {
        m_named[index][call->cbid] = true;
        const char* name = nullptr;
        const auto callbackDomain = index == 1 ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
        if (m_cupti.getCallbackName != nullptr &&
            m_cupti.getCallbackName(callbackDomain, call->cbid, &name) == CUPTI_SUCCESS && name != nullptr) {
            m_sink.add(RecordKind::ApiName, ApiName{static_cast<std::uint32_t>(domain), call->cbid,
                                                    m_sink.text(name, std::strlen(name)), 0});
        }
    }
    ApiCall to{};
    to.start = call->start;
    to.end = call->end;
    to.domain = static_cast<std::uint32_t>(domain);
    to.function = call->cbid;
    to.thread = call->threadId;
    to.correlation = call->correlationId;
    to.result = static_cast<std::int32_t>(call->returnValue);
    m_sink.add(RecordKind::ApiCall, to);
}

void ActivityRecords::addDevice(const CUpti_ActivityDevice5* device)
{
    Device to{};
    to.id = device->id;
    to.name = m_sink.textAt(device->name);
    to.memoryBytes = device->globalMemorySize;
    to.memoryBandwidth = device->globalMemoryBandwidth;
    static_assert(sizeof device->uuid == sizeof to.uuid);
    std::memcpy(to.uuid, &device->uuid, sizeof to.uuid);
    to.multiprocessors = device->numMultiprocessors;
    to.coreClockKhz = device->coreClockRate;
    to.l2Bytes = device->l2CacheSize;
    to.computeMajor = static_cast<std::uint16_t>(device->computeCapabilityMajor);
    to.computeMinor = static_cast<std::uint16_t>(device->computeCapabilityMinor);
    to.maxSharedMemoryPerMultiprocessor = device->maxSharedMemoryPerMultiprocessor;
    to.maxRegistersPerMultiprocessor = device->maxRegistersPerMultiprocessor;
    to.maxWarpsPerMultiprocessor = device->maxWarpsPerMultiprocessor;
    to.migEnabled = device->isMigEnabled;
    to.eccEnabled = device->eccEnabled != 0 ? 1 : 0;
    m_sink.add(RecordKind::Device, to);
}

void ActivityRecords::convertOne(const CUpti_Activity* record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& from = as<CUpti_ActivityKernel9>(record);
        Kernel to = kernelOf(from);
        to.name = m_sink.textAt(from.name);
        checkTimes(to);
        return m_sink.add(RecordKind::Kernel, to);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const Memcpy to = copyOf(as<CUpti_ActivityMemcpy5>(record));
        checkTimes(to);
        return m_sink.add(RecordKind::Memcpy, to);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& from = as<CUpti_ActivityMemcpyPtoP4>(record);
        Memcpy to = copyOf(from);
        to.sourceDevice = static_cast<std::int32_t>(from.srcDeviceId);
        to.destinationDevice = static_cast<std::int32_t>(from.dstDeviceId);
        checkTimes(to);
        return m_sink.add(RecordKind::Memcpy, to);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const Memset to = memsetOf(as<CUpti_ActivityMemset4>(record));
        checkTimes(to);
        return m_sink.add(RecordKind::Memset, to);
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
        const auto& from = as<CUpti_ActivityMemory3>(record);
        Memory to = memoryOf(from);
        to.name = m_sink.textAt(from.name);
        return m_sink.add(RecordKind::Memory, to);
    }
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return m_sink.add(RecordKind::MemoryPool, poolOf(as<CUpti_ActivityMemoryPool2>(record)));
    case CUPTI_ACTIVITY_KIND_RUNTIME: return addApi(ApiDomain::Runtime, &as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_DRIVER: return addApi(ApiDomain::Driver, &as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& from = as<CUpti_ActivityExternalCorrelation>(record);
        const auto kind = from.externalKind == kOwnExternalKind ? ExternalKind::NcclKernelLaunch : ExternalKind::Other;
        return m_sink.add(RecordKind::ExternalCorrelation,
                          ExternalCorrelation{from.externalId, from.correlationId, static_cast<std::uint32_t>(kind)});
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
        return m_sink.add(RecordKind::Synchronization, synchronizationOf(as<CUpti_ActivitySynchronization>(record)));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return m_sink.add(RecordKind::Overhead, overheadOf(as<CUpti_ActivityOverhead>(record)));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
        const GraphTrace to = placed<GraphTrace>(as<CUpti_ActivityGraphTrace>(record));
        checkTimes(to);
        return m_sink.add(RecordKind::GraphTrace, to);
    }
    case CUPTI_ACTIVITY_KIND_DEVICE: return addDevice(&as<CUpti_ActivityDevice5>(record));
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
        const auto& from = as<CUpti_ActivityContext2>(record);
        return m_sink.add(RecordKind::Context, Context{from.contextId, from.deviceId, from.nullStreamId, 0});
    }
    case CUPTI_ACTIVITY_KIND_STREAM: {
        const auto& from = as<CUpti_ActivityStream>(record);
        const auto flag = static_cast<std::uint32_t>(from.flag);
        return m_sink.add(RecordKind::Stream, Stream{from.contextId, from.streamId,
                                                     static_cast<std::int32_t>(from.priority), flag <= 3 ? flag : 0});
    }
    default: m_sink.lose(LossKind::UnknownKind, 1);
    }
}

} // namespace fourwalls::collect::module
