// SPDX-License-Identifier: Apache-2.0
// Records of a spool (spool_format.h has the rules): strings and devices, and what CUPTI reports of them: kernels, copies,
// memory, API calls, synchronisation.
#pragma once

#include <cstdint>

namespace fourwalls::collect {

// ---- Definitions -----------------------------------------------------------------------------------------------

/// Followed by `length` bytes of text (kernel names as the compiler mangled them; anything else as the program gave it,
/// UTF-8 not guaranteed).
struct String {
    std::uint32_t id; ///< from 1
    std::uint32_t length;
};
static_assert(sizeof(String) == 8);

struct Device {
    std::uint32_t id;   ///< as the CUDA runtime of this process counts
    std::uint32_t name; ///< string
    std::uint64_t memoryBytes;
    std::uint64_t memoryBandwidth; ///< [kB/s], from the datasheet clock
    std::uint8_t uuid[16];         ///< equal across processes of one GPU
    std::uint32_t multiprocessors;
    std::uint32_t coreClockKhz;
    std::uint32_t l2Bytes;
    std::uint16_t computeMajor;
    std::uint16_t computeMinor;
    std::uint32_t maxSharedMemoryPerMultiprocessor;
    std::uint32_t maxRegistersPerMultiprocessor;
    std::uint32_t maxWarpsPerMultiprocessor;
    std::uint8_t migEnabled;
    std::uint8_t eccEnabled;
    std::uint8_t reserved[2];
    std::uint8_t migUuid[16]; ///< of the instance of a divided card (migEnabled), as the driver says it; else zero
};
static_assert(sizeof(Device) == 88);

struct Context {
    std::uint32_t id;
    std::uint32_t device;
    std::uint32_t nullStream; ///< stream id of the default stream
    std::uint32_t reserved;
};
static_assert(sizeof(Context) == 16);

enum class StreamFlag : std::uint32_t { Unknown = 0, Default = 1, NonBlocking = 2, Null = 3 };

struct Stream {
    std::uint32_t context;
    std::uint32_t id;
    std::int32_t priority; ///< CUDA's: lower is more urgent
    std::uint32_t flag;    ///< StreamFlag
};
static_assert(sizeof(Stream) == 16);

struct Thread {
    std::uint32_t id;   ///< of the operating system, as in every `thread` below
    std::uint32_t name; ///< string
};
static_assert(sizeof(Thread) == 8);

enum class ApiDomain : std::uint32_t { Driver = 1, Runtime = 2 };

struct ApiName {
    std::uint32_t domain; ///< ApiDomain
    std::uint32_t function;
    std::uint32_t name; ///< string, as "cudaLaunchKernel_v7000"
    std::uint32_t reserved;
};
static_assert(sizeof(ApiName) == 16);

// ---- CUPTI -----------------------------------------------------------------------------------------------------

/// start == end == 0: CUPTI lost the time. end == 0: it was still running when the recording ended.
struct Kernel {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t graphNode; ///< 0: not from a graph
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation; ///< of the launching call
    std::uint32_t name;        ///< string
    std::uint32_t graph;
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t cluster[3];
    std::uint32_t registersPerThread;
    std::uint32_t staticShared;   ///< [bytes]
    std::uint32_t dynamicShared;  ///< [bytes]
    std::uint32_t localPerThread; ///< [bytes]
    std::uint32_t launchType;     ///< 0 regular, 1 cooperative, 2 cooperative over several devices
};
static_assert(sizeof(Kernel) == 104);

enum class CopyKind : std::uint8_t {
    Unknown = 0,
    HostToDevice = 1,
    DeviceToHost = 2,
    HostToArray = 3,
    ArrayToHost = 4,
    ArrayToArray = 5,
    ArrayToDevice = 6,
    DeviceToArray = 7,
    DeviceToDevice = 8,
    HostToHost = 9,
    PeerToPeer = 10,
};
enum class MemoryKind : std::uint8_t {
    Unknown = 0,
    Pageable = 1,
    Pinned = 2,
    Device = 3,
    Array = 4,
    Managed = 5,
    DeviceStatic = 6,
    ManagedStatic = 7,
};

struct Memcpy {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t size; ///< [bytes]
    std::uint64_t graphNode;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
    std::uint32_t graph;
    std::int32_t sourceDevice;      ///< -1 unless between devices
    std::int32_t destinationDevice; ///< -1 unless between devices
    std::uint8_t copyKind;          ///< CopyKind
    std::uint8_t sourceKind;        ///< MemoryKind
    std::uint8_t destinationKind;   ///< MemoryKind
    std::uint8_t async;
};
static_assert(sizeof(Memcpy) == 64);

struct Memset {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t size; ///< [bytes]
    std::uint64_t graphNode;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
    std::uint32_t graph;
    std::uint32_t value;
    std::uint8_t memoryKind; ///< MemoryKind
    std::uint8_t async;
    std::uint8_t reserved[6];
};
static_assert(sizeof(Memset) == 64);

enum class MemoryOperation : std::uint8_t { Unknown = 0, Allocate = 1, Release = 2 };
enum class PoolType : std::uint8_t { None = 0, Local = 1, Imported = 2 };

/// One allocation or release as the CUDA API was asked for it (a framework's allocator hands out pieces of these).
struct Memory {
    std::uint64_t time;
    std::uint64_t address;
    std::uint64_t size;         ///< [bytes]
    std::uint64_t poolAddress;  ///< 0: not from a pool
    std::uint64_t poolSize;     ///< [bytes], of a local pool
    std::uint64_t poolUtilized; ///< [bytes], of a local pool
    std::uint64_t poolReleaseThreshold;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream; ///< asynchronous operations only
    std::uint32_t correlation;
    std::uint32_t name;      ///< string: the symbol of a static variable
    std::uint8_t operation;  ///< MemoryOperation
    std::uint8_t memoryKind; ///< MemoryKind
    std::uint8_t async;
    std::uint8_t poolType; ///< PoolType
};
static_assert(sizeof(Memory) == 80);

enum class PoolOperation : std::uint8_t { Unknown = 0, Created = 1, Destroyed = 2, Trimmed = 3 };

struct MemoryPool {
    std::uint64_t time;
    std::uint64_t address;
    std::uint64_t size;
    std::uint64_t utilized;
    std::uint64_t releaseThreshold;
    std::uint64_t minBytesToKeep;
    std::uint32_t device;
    std::uint32_t correlation;
    std::uint8_t operation; ///< PoolOperation
    std::uint8_t poolType;  ///< PoolType
    std::uint8_t reserved[6];
};
static_assert(sizeof(MemoryPool) == 64);

struct ApiCall {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t domain;   ///< ApiDomain
    std::uint32_t function; ///< see ApiName
    std::uint32_t thread;
    std::uint32_t correlation;
    std::int32_t result; ///< cudaError_t or CUresult; 0: fine
    std::uint32_t reserved;
};
static_assert(sizeof(ApiCall) == 40);

/// What an external id was pushed for. NCCL's are the collector's own: the id is that of an NcclKernelLaunch or of NcclCopies.
enum class ExternalKind : std::uint32_t { Other = 0, NcclKernelLaunch = 1 };

struct ExternalCorrelation {
    std::uint64_t external;
    std::uint32_t correlation; ///< of the API call made while the id was on the stack
    std::uint32_t kind;        ///< ExternalKind
};
static_assert(sizeof(ExternalCorrelation) == 16);

enum class SynchronizationType : std::uint32_t { Unknown = 0, Event = 1, StreamWaitEvent = 2, Stream = 3, Context = 4 };

struct Synchronization {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t type; ///< SynchronizationType
    std::uint32_t context;
    std::uint32_t stream; ///< that waits or is waited for; 0xffffffff: none
    std::uint32_t event;  ///< that is waited for, as CudaEvent::event; 0xffffffff: none
    std::uint32_t correlation;
    std::uint32_t reserved;
    std::uint64_t
        recordId; ///< CudaEvent::recordId of the record that is waited for; 0: CUPTI does not say (before 12.8)
};
static_assert(sizeof(Synchronization) == 48);

/// An event was recorded into a stream: what was launched there before is what waiters wait for. With StreamWaitEvent
/// of Synchronization, an edge from the one stream to the other.
struct CudaEvent {
    std::uint64_t time;     ///< on the device, when the stream reached it; 0: not asked for
    std::uint64_t recordId; ///< of this record alone (an event is recorded many times); 0: CUPTI does not say
    std::uint32_t event;    ///< of the event
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation; ///< of the recording call
    std::uint32_t reserved;
};
static_assert(sizeof(CudaEvent) == 40);

enum class OverheadKind : std::uint32_t {
    Unknown = 0,
    DriverCompiler = 1,
    BufferFlush = 2,
    Instrumentation = 3,
    Resource = 4,
    LazyLoading = 5,
    CommandBufferFull = 6,
    BufferRequest = 7,
    Other = 8,
};

struct Overhead {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t kind;   ///< OverheadKind
    std::uint32_t thread; ///< 0: not of one thread
    std::uint32_t correlation;
    std::uint32_t vendorKind; ///< CUPTI's own number
};
static_assert(sizeof(Overhead) == 32);

/// A replay of a whole graph (recorded so where single nodes are not).
struct GraphTrace {
    std::uint64_t start;
    std::uint64_t end;
    std::uint32_t graph;
    std::uint32_t device;
    std::uint32_t context;
    std::uint32_t stream;
    std::uint32_t correlation;
    std::uint32_t reserved;
};
static_assert(sizeof(GraphTrace) == 40);

enum class VirtualMemoryOperation : std::uint32_t { Create = 1, Release = 2, Map = 3, Unmap = 4 };

/// Physical memory obtained and given back by the driver's virtual memory calls (cuMemCreate …), which the Memory
/// records do not show. Only calls that succeeded.
struct VirtualMemory {
    std::uint64_t time;
    std::uint64_t handle;    ///< of the physical memory; 0 for Unmap
    std::uint64_t address;   ///< Map, Unmap
    std::uint64_t size;      ///< [bytes]; 0 for Release: that of its Create
    std::uint32_t operation; ///< VirtualMemoryOperation
    std::int32_t device;     ///< -1: not on a device or not known
    std::uint32_t thread;
    std::uint32_t correlation;
};
static_assert(sizeof(VirtualMemory) == 48);

} // namespace fourwalls::collect
