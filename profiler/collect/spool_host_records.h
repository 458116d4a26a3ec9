// SPDX-License-Identifier: Apache-2.0
// Records of a spool (spool_format.h has the rules): NVTX ranges and their payloads, NCCL events of the profiler plugin,
// samples of the devices' state, pauses of the host.
#pragma once

#include <cstdint>

namespace fourwalls::collect {

// ---- Definitions of NVTX and NCCL --------------------------------------------------------------------------------

struct NvtxDomain {
    std::uint32_t id;   ///< from 1; 0 is the default domain
    std::uint32_t name; ///< string
};
static_assert(sizeof(NvtxDomain) == 8);

struct NvtxCategory {
    std::uint32_t domain;
    std::uint32_t id;
    std::uint32_t name; ///< string
    std::uint32_t reserved;
};
static_assert(sizeof(NvtxCategory) == 16);

/// The meaning of a range's extended payload. Followed by `entries` NvtxSchemaEntry.
struct NvtxSchema {
    std::uint64_t id; ///< unique in its domain
    std::uint32_t domain;
    std::uint32_t name;         ///< string
    std::uint32_t payloadBytes; ///< size of one payload, 0 where it varies
    std::uint32_t entries;
};
static_assert(sizeof(NvtxSchema) == 24);

struct NvtxSchemaEntry {
    std::uint64_t type;   ///< as NVTX numbers the types of payload entries (NVTX_PAYLOAD_ENTRY_TYPE_…)
    std::uint64_t offset; ///< in the payload [bytes]
    std::uint64_t count;  ///< array or text length, 0: one value
    std::uint32_t flags;  ///< NVTX's
    std::uint32_t name;   ///< string
};
static_assert(sizeof(NvtxSchemaEntry) == 32);

/// One communicator of this process.
struct NcclCommunicator {
    std::uint64_t id;     ///< of this communicator in this process, from 1: what the events name
    std::uint64_t commId; ///< NCCL's: equal on all ranks of the communicator
    std::uint32_t name;   ///< string, mostly absent
    std::int32_t nodes;
    std::int32_t ranks;
    std::int32_t rank; ///< of this process in it
    std::uint64_t time;
    std::uint64_t endTime; ///< 0 while it lives; defined again with the time when it is torn down
};
static_assert(sizeof(NcclCommunicator) == 48);

// ---- NVTX ------------------------------------------------------------------------------------------------------

enum class NvtxPayloadType : std::uint32_t { None = 0, Unsigned = 1, Signed = 2, Double = 3, Extended = 4 };

/// NvtxPush, NvtxRangeStart and NvtxMark. Followed by `extendedBytes` bytes whose meaning is NvtxSchema `schema`.
struct NvtxEvent {
    std::uint64_t time;
    std::uint64_t range;   ///< NvtxRangeStart: its id in the domain
    std::uint64_t payload; ///< bits of the value (NvtxPayloadType)
    std::uint64_t schema;  ///< of the extended payload, 0: none
    std::uint32_t domain;
    std::uint32_t thread;
    std::uint32_t name;        ///< string
    std::uint32_t category;    ///< 0: none
    std::uint32_t color;       ///< ARGB, 0: none
    std::uint32_t payloadType; ///< NvtxPayloadType
    std::uint32_t extendedBytes;
    std::uint32_t reserved;
};
static_assert(sizeof(NvtxEvent) == 64);

/// NvtxPop (closes the thread's innermost push in the domain) and NvtxRangeEnd.
struct NvtxEnd {
    std::uint64_t time;
    std::uint64_t range; ///< NvtxRangeEnd: as in its start
    std::uint32_t domain;
    std::uint32_t thread;
};
static_assert(sizeof(NvtxEnd) == 24);

// ---- NCCL ------------------------------------------------------------------------------------------------------
// One record per event, written when it stops; stop 0: it never did. `id` counts all NCCL events of the process from
// 1; `parent` is the id of the event that NCCL names as its parent (0: none): CollApi, P2pApi and KernelLaunch -> Group
// (the API's); Coll and Copies -> CollApi; P2p -> P2pApi. These "stop" when they are enqueued, not when they are done.

struct NcclGroup {
    std::uint64_t id;
    std::uint64_t start;
    std::uint64_t stop;
    std::uint64_t communicator; ///< NcclCommunicator
    std::uint32_t thread;
    std::int32_t depth;
    std::uint32_t captured; ///< 1: while a graph was captured
    std::uint32_t api;      ///< 1: the API's group; 0: the group of tasks behind it (plugin v4 has only this one)
};
static_assert(sizeof(NcclGroup) == 48);

/// NcclCollApi and NcclP2pApi.
struct NcclApi {
    std::uint64_t id;
    std::uint64_t parent;
    std::uint64_t start;
    std::uint64_t stop;
    std::uint64_t communicator;
    std::uint64_t count;        ///< elements, as the caller gave it
    std::uint64_t streamHandle; ///< cudaStream_t, not a stream id
    std::uint32_t function;     ///< string, as "AllReduce", "Send"
    std::uint32_t datatype;     ///< string, as "ncclFloat32"
    std::int32_t root;          ///< -1: none
    std::uint32_t captured;
    std::uint32_t thread;
    std::uint32_t reserved;
};
static_assert(sizeof(NcclApi) == 80);

/// The launch call of one NCCL kernel. `id` is also the external correlation id (ExternalKind::NcclKernelLaunch) of the
/// API call made inside: ExternalCorrelation.correlation == Kernel.correlation finds the kernel.
struct NcclKernelLaunch {
    std::uint64_t id;
    std::uint64_t parent;
    std::uint64_t start;
    std::uint64_t stop;
    std::uint64_t communicator;
    std::uint64_t streamHandle;
    std::uint32_t thread;
    std::uint32_t correlated; ///< 1: the external id was pushed
};
static_assert(sizeof(NcclKernelLaunch) == 56);

/// NcclColl, and NcclCopies: a collective that copy engines carry out. The latter's `id` is also the external correlation
/// id of the calls that copy; its sequence counts the waits of the communicator, its count elements as the caller gave it.
struct NcclColl {
    std::uint64_t id;
    std::uint64_t parent;
    std::uint64_t group; ///< the task group; 0: none
    std::uint64_t start;
    std::uint64_t stop;
    std::uint64_t communicator;
    std::uint64_t sequence; ///< of this function in the communicator: equal on all ranks
    std::uint64_t count;    ///< AllGather and Broadcast: already bytes, with datatype ncclInt8
    std::uint64_t sendBuffer;
    std::uint64_t receiveBuffer;
    std::uint32_t function;  ///< string
    std::uint32_t datatype;  ///< string
    std::uint32_t algorithm; ///< string
    std::uint32_t protocol;  ///< string
    std::int32_t root;
    std::uint16_t channels;
    std::uint16_t warps;
    std::uint32_t thread;
    std::uint32_t reserved;
};
static_assert(sizeof(NcclColl) == 112);

struct NcclP2p {
    std::uint64_t id;
    std::uint64_t parent;
    std::uint64_t group;
    std::uint64_t start;
    std::uint64_t stop;
    std::uint64_t communicator;
    std::uint64_t count;
    std::uint64_t buffer;
    std::uint32_t function; ///< string
    std::uint32_t datatype; ///< string
    std::int32_t peer;
    std::uint16_t channels;
    std::uint16_t reserved;
    std::uint32_t thread;
    std::uint32_t reserved2;
};
static_assert(sizeof(NcclP2p) == 88);

// ---- Samples ---------------------------------------------------------------------------------------------------

enum NvmlValue : std::uint32_t {
    kNvmlSmClock = 1,
    kNvmlMemoryClock = 2,
    kNvmlPower = 4,
    kNvmlThrottle = 8,
    kNvmlMemory = 16,
    kNvmlTemperature = 32,
    kNvmlUtilization = 64,
    kNvmlProcessMemory = 128,
};

struct NvmlSample {
    std::uint64_t time;
    std::uint64_t memoryUsed;      ///< whole GPU [bytes]
    std::uint64_t memoryTotal;     ///< [bytes]
    std::uint64_t processMemory;   ///< this process [bytes]
    std::uint64_t throttleReasons; ///< bits as NVML defines them ("clocks event reasons")
    std::uint8_t uuid[16];         ///< ties the sample to a Device
    std::uint32_t valid;           ///< NvmlValue bits: what is filled
    std::uint32_t smClockMhz;
    std::uint32_t memoryClockMhz;
    std::uint32_t powerMilliwatt;
    std::uint32_t temperatureC;
    std::uint32_t utilizationPercent;
};
static_assert(sizeof(NvmlSample) == 80);

/// cudaMemGetInfo of one device, taken on the collector's thread.
struct MemoryInfo {
    std::uint64_t time;
    std::uint64_t freeBytes;
    std::uint64_t totalBytes;
    std::uint64_t ownBytes; ///< device memory that the collector itself holds there, as far as known
    std::int32_t device;
    std::uint32_t reserved;
};
static_assert(sizeof(MemoryInfo) == 40);

// ---- Pauses of the program's own ------------------------------------------------------------------------------

enum class PauseKind : std::uint32_t { Unknown = 0, GarbageCollection = 1, DataLoading = 2 };

/// Time in which a thread of the program did something else than its work, told by the language's run time.
struct HostPause {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t thread;
    std::uint32_t kind;   ///< PauseKind
    std::uint64_t detail; ///< GarbageCollection: the generation
};
static_assert(sizeof(HostPause) == 32);

/// Where in a Python program a call was made that waits for the GPU.
struct SyncStack {
    std::uint64_t time; ///< the call began
    std::uint32_t thread;
    std::uint32_t correlation; ///< of the ApiCall
    std::uint32_t stack;       ///< string: "folder/file.py:line function < ...", the innermost first
    std::uint32_t more;        ///< further such calls of the thread before the stack was taken
};
static_assert(sizeof(SyncStack) == 24);

} // namespace fourwalls::collect
