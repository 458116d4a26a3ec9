// SPDX-License-Identifier: Apache-2.0
// One function per kind. Only fields that CUPTI of CUDA 12.0 has are read: newer records have them at the same places,
// and the iterator knows how long each is.
#include "profiler/collect/module/activity_records.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace fourwalls::collect::module {

namespace {

/// An enumeration's field as a number: a record may hold a value that the header at hand does not know.
std::uint32_t numberAt(const void* field)
{
    std::uint32_t number = 0;
    std::memcpy(&number, field, sizeof number);
    return number;
}

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
    to.memoryKind = static_cast<std::uint8_t>(numberAt(&from.memoryKind));
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
    to.operation = static_cast<std::uint8_t>(numberAt(&from.memoryOperationType));
    to.memoryKind = static_cast<std::uint8_t>(numberAt(&from.memoryKind));
    to.async = from.isAsync != 0 ? 1 : 0;
    const std::uint32_t poolType = numberAt(&from.memoryPoolConfig.memoryPoolType);
    to.poolType = static_cast<std::uint8_t>(poolType);
    if (poolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) {
        to.poolAddress = from.memoryPoolConfig.address;
    }
    if (poolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
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
    to.operation = static_cast<std::uint8_t>(numberAt(&from.memoryPoolOperationType));
    to.poolType = static_cast<std::uint8_t>(numberAt(&from.memoryPoolType));
    return to;
}

Synchronization synchronizationOf(const CUpti_ActivitySynchronization& from)
{
    Synchronization to{};
    to.start = from.start;
    to.end = from.end;
    to.type = numberAt(&from.type);
    to.context = from.contextId;
    to.stream = from.streamId;
    to.event = from.cudaEventId;
    to.correlation = from.correlationId;
    return to;
}

// What CUPTI of CUDA 12.8 has added at the end of records that are read since 12.0.
constexpr std::uint32_t kNamesEventRecords = 26;
constexpr std::size_t kEventDeviceAt = 24;
constexpr std::size_t kEventTimeAt = 40;
constexpr std::size_t kEventRecordAt = 48;
constexpr std::size_t kLongEventBytes = 56;
constexpr std::size_t kWaitRecordAt = 40;
#if CUPTI_API_VERSION >= 26
static_assert(offsetof(CUpti_ActivityCudaEvent2, deviceId) == kEventDeviceAt);
static_assert(offsetof(CUpti_ActivityCudaEvent2, deviceTimestamp) == kEventTimeAt);
static_assert(offsetof(CUpti_ActivityCudaEvent2, cudaEventSyncId) == kEventRecordAt);
static_assert(offsetof(CUpti_ActivitySynchronization2, cudaEventSyncId) == kWaitRecordAt);
#endif

constexpr std::size_t kMostPadding = 64; // behind the last record of a buffer [bytes]

template <class Number>
Number numberBehind(const void* record, std::size_t offset)
{
    Number number{};
    std::memcpy(&number, static_cast<const std::byte*>(record) + offset, sizeof number);
    return number;
}

CudaEvent eventOf(const CUpti_ActivityCudaEvent& from, bool isLong)
{
    CudaEvent to{};
    to.event = from.eventId;
    to.context = from.contextId;
    to.stream = from.streamId;
    to.correlation = from.correlationId;
    to.device = isLong ? numberBehind<std::uint32_t>(&from, kEventDeviceAt) : ~std::uint32_t{0};
    to.time = isLong ? numberBehind<std::uint64_t>(&from, kEventTimeAt) : 0;
    to.recordId = isLong ? numberBehind<std::uint64_t>(&from, kEventRecordAt) : 0;
    return to;
}

OverheadKind overheadKindOf(std::uint32_t kind)
{
    switch (kind) {
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
    to.vendorKind = numberAt(&from.overheadKind);
    to.kind = static_cast<std::uint32_t>(overheadKindOf(to.vendorKind));
    to.thread = numberAt(&from.objectKind) == CUPTI_ACTIVITY_OBJECT_THREAD ? from.objectId.pt.threadId : 0;
    return to;
}

/// A record of CUPTI as the structure of its kind.
template <class Record>
const Record& as(const CUpti_Activity* record)
{
    return *reinterpret_cast<const Record*>(record);
}

/// How much of a record of this kind is read [bytes]; of a kind that is not known, the kind alone.
std::size_t bytesRead(std::uint32_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel9);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy5);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory3);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL: return sizeof(CUpti_ActivityMemoryPool2);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return sizeof(CUpti_ActivityCudaEvent);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice4);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return sizeof(CUpti_ActivityContext);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    default: return sizeof(CUpti_Activity);
    }
}

} // namespace

const CUpti_Activity* RecordWalk::next()
{
    const CUptiResult result = m_cupti.nextRecord(m_buffer.bytes, m_buffer.valid, &m_record);
    if (result != CUPTI_SUCCESS) {
        // An empty buffer is not an error; anything but the end of the records is.
        m_malformed = result != CUPTI_ERROR_MAX_LIMIT_REACHED && m_buffer.valid > 0;
        return nullptr;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(m_buffer.bytes);
    const auto at = reinterpret_cast<std::uintptr_t>(m_record);
    const std::size_t before = m_left;
    m_left = at >= begin && at - begin < m_buffer.valid ? m_buffer.valid - (at - begin) : 0;
    const bool forward = before == 0 || m_left < before;
    if (forward && m_left >= sizeof(CUpti_Activity) && at % alignof(CUpti_Activity) == 0) return m_record;
    m_malformed = true;
    return nullptr;
}

std::uint64_t countRecords(const CuptiLibrary& cupti, const FilledBuffer& buffer)
{
    std::uint64_t count = 0;
    RecordWalk walk(cupti, buffer);
    while (walk.next() != nullptr) ++count;
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
    RecordWalk walk(m_cupti, buffer);
    std::size_t unread = buffer.valid; // behind the last record
    bool certain = true;               // it is known how long that record is, not only how much of it is read
    std::size_t* bytesOfLast = nullptr;
    std::size_t begin = 0; // of the last record, counted from the buffer's end
    while (const CUpti_Activity* record = walk.next()) {
        if (bytesOfLast != nullptr) *bytesOfLast = begin - walk.left();
        begin = walk.left();
        if (!convertOne(record, begin)) {
            m_sink.lose(LossKind::BufferMalformed, 1, begin);
            return;
        }
        const std::uint32_t kind = numberAt(&record->kind);
        bytesOfLast = kind < CUPTI_ACTIVITY_KIND_COUNT ? &m_bytesOf[kind] : nullptr;
        const bool known = bytesOfLast != nullptr && *bytesOfLast != 0;
        certain = known && *bytesOfLast <= begin;
        unread = begin - (certain ? *bytesOfLast : bytesRead(kind));
    }
    // CUPTI's iterator calls it the end, too, where a record is cut or of a kind that it does not know. A few zeros
    // are neither: buffers are zeroed, and no record begins with one.
    const std::uint8_t* const end = buffer.bytes + buffer.valid;
    const bool padding =
        unread < kMostPadding && std::all_of(end - unread, end, [](std::uint8_t byte) { return byte == 0; });
    if (walk.malformed() ? !padding || unread == 0 : certain && !padding) {
        m_sink.lose(LossKind::BufferMalformed, 1, unread);
    }
}

template <class Record>
void ActivityRecords::checkTimes(const Record& record)
{
    if (record.start == 0 && record.end == 0) {
        m_sink.lose(LossKind::TimesLost, 1);
        ++m_suspicious;
        if constexpr (requires { record.graphNode; }) m_lostNodes += record.graph != 0 ? 1 : 0;
    } else if (record.end < record.start && record.end != 0) {
        m_sink.lose(LossKind::TimesInverted, 1);
        ++m_suspicious;
    }
}

void ActivityRecords::addApi(ApiDomain domain, const CUpti_ActivityAPI* call)
{
    if (isSkipped(call->start)) {
        m_skippedCalls = std::max(m_skippedCalls, call->correlationId);
        return;
    }
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

void ActivityRecords::noteLaunch(const Kernel& kernel)
{
    if (kernel.graph != 0 && kernel.correlation == m_lastGraphLaunch) return; // a graph is launched as a whole
    if (kernel.graph != 0) m_lastGraphLaunch = kernel.correlation;
    constexpr std::uint64_t kLaunchesCountedFor = 1'000'000'000; // [ns]
    if (kernel.start == 0) return;
    if (m_launches.count == 0) m_launches.first = kernel.start;
    m_launches.over = m_launches.over || kernel.start > m_launches.first + kLaunchesCountedFor;
    m_launches.count += m_launches.over ? 0 : 1;
}

bool ActivityRecords::isSkipped(std::uint64_t start) const
{
    return m_skip != nullptr && start != 0 && m_skip->holds(start);
}

void ActivityRecords::addDevice(const CUpti_ActivityDevice4* device)
{
    Device to{};
    to.id = device->id;
    to.name = m_sink.textAt(m_texts.at(device->name));
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
    static_assert(sizeof device->migUuid == sizeof to.migUuid);
    if (device->isMigEnabled != 0) std::memcpy(to.migUuid, &device->migUuid, sizeof to.migUuid);
    m_sink.add(RecordKind::Device, to);
}

bool ActivityRecords::convertOne(const CUpti_Activity* record, std::size_t left)
{
    const std::uint32_t kind = numberAt(&record->kind);
    if (left < bytesRead(kind)) return false;
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto& from = as<CUpti_ActivityKernel9>(record);
        Kernel to = kernelOf(from);
        if (isSkipped(to.start) || isOfSkippedCall(to.correlation)) break;
        noteLaunch(to);
        to.name = m_sink.textAt(m_texts.at(from.name));
        checkTimes(to);
        m_sink.add(RecordKind::Kernel, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const Memcpy to = copyOf(as<CUpti_ActivityMemcpy5>(record));
        if (isSkipped(to.start) || isOfSkippedCall(to.correlation)) break;
        checkTimes(to);
        m_sink.add(RecordKind::Memcpy, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const auto& from = as<CUpti_ActivityMemcpyPtoP4>(record);
        Memcpy to = copyOf(from);
        if (isSkipped(to.start) || isOfSkippedCall(to.correlation)) break;
        to.sourceDevice = static_cast<std::int32_t>(from.srcDeviceId);
        to.destinationDevice = static_cast<std::int32_t>(from.dstDeviceId);
        checkTimes(to);
        m_sink.add(RecordKind::Memcpy, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const Memset to = memsetOf(as<CUpti_ActivityMemset4>(record));
        if (isSkipped(to.start) || isOfSkippedCall(to.correlation)) break;
        checkTimes(to);
        m_sink.add(RecordKind::Memset, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
        const auto& from = as<CUpti_ActivityMemory3>(record);
        Memory to = memoryOf(from);
        to.name = m_sink.textAt(m_texts.at(from.name));
        m_sink.add(RecordKind::Memory, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        m_sink.add(RecordKind::MemoryPool, poolOf(as<CUpti_ActivityMemoryPool2>(record)));
        break;
    case CUPTI_ACTIVITY_KIND_RUNTIME: addApi(ApiDomain::Runtime, &as<CUpti_ActivityAPI>(record)); break;
    case CUPTI_ACTIVITY_KIND_DRIVER: addApi(ApiDomain::Driver, &as<CUpti_ActivityAPI>(record)); break;
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& from = as<CUpti_ActivityExternalCorrelation>(record);
        const bool own = numberAt(&from.externalKind) == kOwnExternalKind;
        const auto owner = static_cast<std::uint32_t>(own ? ExternalKind::NcclKernelLaunch : ExternalKind::Other);
        m_sink.add(RecordKind::ExternalCorrelation, ExternalCorrelation{from.externalId, from.correlationId, owner});
        break;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
        Synchronization to = synchronizationOf(as<CUpti_ActivitySynchronization>(record));
        if (m_cupti.version >= kNamesEventRecords && left >= kWaitRecordAt + sizeof to.recordId) {
            to.recordId = numberBehind<std::uint64_t>(record, kWaitRecordAt);
        }
        m_sink.add(RecordKind::Synchronization, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
        const bool isLong = m_cupti.version >= kNamesEventRecords && left >= kLongEventBytes;
        m_sink.add(RecordKind::CudaEvent, eventOf(as<CUpti_ActivityCudaEvent>(record), isLong));
        break;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        m_sink.add(RecordKind::Overhead, overheadOf(as<CUpti_ActivityOverhead>(record)));
        break;
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
        const GraphTrace to = placed<GraphTrace>(as<CUpti_ActivityGraphTrace>(record));
        checkTimes(to);
        m_sink.add(RecordKind::GraphTrace, to);
        break;
    }
    case CUPTI_ACTIVITY_KIND_DEVICE: addDevice(&as<CUpti_ActivityDevice4>(record)); break;
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
        const auto& from = as<CUpti_ActivityContext>(record);
        m_sink.add(RecordKind::Context, Context{from.contextId, from.deviceId, from.nullStreamId, 0});
        break;
    }
    case CUPTI_ACTIVITY_KIND_STREAM: {
        const auto& from = as<CUpti_ActivityStream>(record);
        const std::uint32_t flag = numberAt(&from.flag);
        m_sink.add(RecordKind::Stream, Stream{from.contextId, from.streamId, static_cast<std::int32_t>(from.priority),
                                              flag <= 3 ? flag : 0});
        break;
    }
    default: m_sink.lose(LossKind::UnknownKind, 1);
    }
    return true;
}

} // namespace fourwalls::collect::module
