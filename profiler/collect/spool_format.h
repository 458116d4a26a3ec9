// SPDX-License-Identifier: Apache-2.0
// The spool: what the collector writes inside a recorded process and what is later turned into a trace. One file per
// process. Everything is a plain little-endian structure of fixed size without pointers; nothing of a vendor's
// structures gets into the file, so that a spool of any driver version reads the same.
//
// Layout
//   FileHeader (512 bytes), then
//   stream file (segmentBytes == 0): records, one after the other, until the end or the cut;
//   ring file (segmentBytes > 0): segments of exactly segmentBytes, each a SegmentHeader and records. Event segments
//   are overwritten, oldest first; kept segments (definitions, messages, losses, the end) never are. Once definitions
//   have filled half of the file, messages, losses and the end stand among the events.
//   A record is a RecordHeader, a structure of its kind (named like the kind, below) and what the structure announces:
//   text or bytes. `bytes` counts everything after the header and is a multiple of 8; padding is zero. What follows a
//   structure is found from the record's end (it occupies its length, rounded up to 8): structures may grow.
//
// Rules
//   - The check of a record is the CRC-32C over its header after the check and its bytes, seeded with the low half of
//     the segment's sequence number (0 in a stream file): what an overwritten segment leaves behind never fits.
//   - The first record whose check fails, whose kind is 0 or whose bytes run over the end is the end of the stream or
//     of the segment: a file that was cut anywhere is read up to the cut.
//   - A String, Device, Context, … is defined before the first record that names it (in a ring file the kept segments
//     are to be read first, as SpoolReader does). A later definition of the same id replaces the earlier one.
//   - Records of one thread and kind are in order; nothing else is: sort what has to be sorted.
//   - Additive changes only: a structure may grow at its end (missing fields read as zero, unknown ones are passed
//     over), kinds may be added (unknown kinds are passed over and counted). Anything else raises kSpoolVersion.
//   - Absent: string 0; rank, device, peer -1; time 0.
//   - The structures of device records are in spool_device_records.h, those of NVTX, NCCL and samples in
//     spool_host_records.h, those about the recording itself and all record kinds here.
//
// Times are nanoseconds since 1970 on the recorded machine's CLOCK_REALTIME, which is also the clock that CUPTI maps
// device times to; ClockPair records (one per second and at both ends) tie it to CLOCK_MONOTONIC, so that a clock set
// in between is seen, and to CUPTI's own reading.
#pragma once

#include "profiler/collect/spool_device_records.h"
#include "profiler/collect/spool_host_records.h"

#include <cstdint>

namespace fourwalls::collect {

inline constexpr char kSpoolMagic[8] = {'F', 'W', 'S', 'P', 'O', 'O', 'L', '\n'};
inline constexpr std::uint32_t kSpoolVersion = 1;
inline constexpr std::uint32_t kSegmentMagic = 0x47455346; ///< "FSEG"
inline constexpr std::uint32_t kLargestRecordBytes = 0xfff8;
inline constexpr std::uint32_t kLongestTail = 0xff00; ///< longer texts and payloads are cut [bytes], as is their length
/// A file's name is HOST-PID-rankR.fwspool, or HOST-PID.fwspool where no rank is known. A second recording of the same
/// process (after exec) gets "-2", "-3", … before the suffix.
inline constexpr char kSpoolSuffix[] = ".fwspool";

/// The start of the file. Never holds environment variables or arguments: only the program's own file name.
struct FileHeader {
    char magic[8];                ///< kSpoolMagic
    std::uint32_t version;        ///< kSpoolVersion
    std::uint32_t headerBytes;    ///< where records or segments begin: sizeof(FileHeader) in this version
    std::uint32_t check;          ///< CRC-32C of the header with this field 0
    std::uint32_t segmentBytes;   ///< 0: stream file; else size of a segment, a multiple of 4096
    std::uint64_t startRealtime;  ///< CLOCK_REALTIME when the file was begun
    std::uint64_t startMonotonic; ///< CLOCK_MONOTONIC at the same moment
    std::uint64_t bootHash;       ///< equal in processes of one running kernel: their clocks are the same clock
    std::int32_t pid;
    std::int32_t parentPid;
    std::int32_t rank;           ///< RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK; -1: none set
    std::int32_t worldSize;      ///< WORLD_SIZE and its like; -1: none set
    std::int32_t localRank;      ///< LOCAL_RANK and its like; -1: none set
    std::int32_t localWorldSize; ///< LOCAL_WORLD_SIZE and its like; -1: none set
    std::uint32_t entryPoints;   ///< EntryPoint bits that had been called when the file was begun
    std::uint32_t reserved;
    char host[64];        ///< zero-terminated, cut if longer, as are the others
    char executable[128]; ///< file name of the program, without its folder
    char collectorVersion[24];
    std::uint64_t processStart; ///< in ticks since the machine was booted: with the pid, one process (across exec)
    char unused[208];
};
static_assert(sizeof(FileHeader) == 512);

/// How the module came into the process.
enum EntryPoint : std::uint32_t {
    kEntryCuda = 1,
    kEntryNvtx = 2,
    kEntryNvtxExtension = 4,
    kEntryNccl = 8,
    kEntryApi = 16
};

struct SegmentHeader {
    std::uint32_t magic;    ///< kSegmentMagic
    std::uint32_t check;    ///< CRC-32C of the header after this field
    std::uint64_t sequence; ///< counts all segments ever begun, from 1; the larger is the younger
    std::uint32_t kept;     ///< 1: definitions and messages, never overwritten; 0: events
    std::uint32_t reserved[3];
};
static_assert(sizeof(SegmentHeader) == 32);

struct RecordHeader {
    std::uint32_t check;
    std::uint16_t kind;  ///< RecordKind
    std::uint16_t bytes; ///< after this header, a multiple of 8
};
static_assert(sizeof(RecordHeader) == 8);

enum class RecordKind : std::uint16_t {
    None = 0,
    // Definitions
    String = 1,
    Device = 2,
    Context = 3,
    Stream = 4,
    Thread = 5,
    ApiName = 6,
    NvtxDomain = 7,
    NvtxCategory = 8,
    NvtxSchema = 9,
    NcclCommunicator = 10,
    // CUPTI
    Kernel = 32,
    Memcpy = 33,
    Memset = 34,
    Memory = 35,
    MemoryPool = 36,
    ApiCall = 37,
    ExternalCorrelation = 38,
    Synchronization = 39,
    Overhead = 40,
    GraphTrace = 41,
    VirtualMemory = 42,
    CudaEvent = 43,
    // NVTX
    NvtxPush = 64,
    NvtxPop = 65,
    NvtxRangeStart = 66,
    NvtxRangeEnd = 67,
    NvtxMark = 68,
    // NCCL profiler plugin
    NcclGroup = 80,
    NcclCollApi = 81,
    NcclP2pApi = 82,
    NcclKernelLaunch = 83,
    NcclColl = 84,
    NcclP2p = 85,
    NcclCopies = 86,
    // Samples
    NvmlSample = 96,
    MemoryInfo = 97,
    HostPause = 98,
    SyncStack = 99,
    // The recording itself
    ClockPair = 112,
    StepMark = 113,
    Window = 114,
    Message = 115,
    Loss = 116,
    OwnCost = 117,
    End = 118,
    RecorderCost = 119,
};

// ---- The recording itself --------------------------------------------------------------------------------------

struct ClockPair {
    std::uint64_t realtime;
    std::uint64_t monotonic;   ///< read right after
    std::uint64_t cupti;       ///< cuptiGetTimestamp right after that, 0: not available
    std::uint64_t uncertainty; ///< [ns] between the first and the last reading
};
static_assert(sizeof(ClockPair) == 32);

/// Optimizer: the step before it ended with its optimizer; only where nothing else has marked a step.
enum class StepSource : std::uint32_t { Api = 1, NvtxRange = 2, NvtxMark = 3, Optimizer = 4 };

/// A step began. The one before it ends here, or at the end of the NVTX range that was its mark.
struct StepMark {
    std::uint64_t time;
    std::int64_t step;    ///< as the job numbers it, or counted from 0 where the mark carries no number
    std::uint32_t source; ///< StepSource
    std::uint32_t name;   ///< string: the mark
    std::uint32_t thread;
    std::uint32_t ends; ///< 1: this is the end of the step's range instead
};
static_assert(sizeof(StepMark) == 32);

enum class WindowReason : std::uint32_t {
    Always = 0,
    Steps = 1,
    ProfilerApi = 2,
    Signal = 3,
    Stop = 4,
    Every = 5, ///< FOURWALLS_EVERY: the steps between an `off` and the next `on` are left out, not missing
    Limit = 6, ///< the spool has reached its limit, or the disk has no more room
};

/// Capture was switched on or off. Device records of work launched before `on` may be missing.
struct Window {
    std::uint64_t time;
    std::uint32_t on;
    std::uint32_t reason; ///< WindowReason
};
static_assert(sizeof(Window) == 16);

enum class Severity : std::uint32_t { Info = 0, Warning = 1, Error = 2 };

enum class MessageCode : std::uint32_t {
    Other = 0,
    CuptiMissing = 1,     ///< no libcupti: nothing of the GPU is recorded
    CuptiBusy = 2,        ///< another subscriber holds CUPTI (error 39)
    CuptiFailed = 3,      ///< value: CUptiResult
    KindRefused = 4,      ///< an activity kind could not be enabled; value: its number
    SecondSubscriber = 5, ///< a profiler tried to attach while this one recorded
    DriverMissing = 6,
    NvmlMissing = 7,
    Fork = 8,        ///< value: the child's pid (not recorded)
    Exec = 9,        ///< the process image was replaced
    Terminated = 10, ///< value: the signal that ended the process
    Exited = 11,
    TimesSuspicious = 12, ///< zero or inverted times: value: how many so far
    ClockSet = 13,        ///< CLOCK_REALTIME jumped; value: by how much [ns]
    WindowMissed = 14,    ///< capture was never switched on
    RingWrapped = 15,     ///< value: time before which events may have been overwritten
    DiskFull = 16,        ///< value: errno
    BadSetting = 17,      ///< an environment variable could not be understood, or has no effect
    Versions = 18,        ///< text: driver, CUPTI, NCCL versions
    NcclPlugin = 19,      ///< value: version of the plugin interface in use
    Setting = 20,         ///< text: NAME=value of one of the collector's own variables that is in force
    SpoolLimit = 21,      ///< recording stopped, the program went on; value: size of the spool [bytes]
    Detail = 22,          ///< how much of each launch is recorded from here on; value: Detail
    Every = 23,           ///< only one step out of `value` is recorded
    CuptiCopies = 24,     ///< the process has loaded more than one CUPTI
    WholeGraphs = 25,     ///< from here on replays of graphs are one record each; value: nodes whose times were lost
    DeviceLost = 26,      ///< NVML calls a GPU lost; value: its ordinal
};

/// FOURWALLS_DETAIL.
enum class Detail : std::int64_t {
    Auto = 0,   ///< not decided yet
    Low = 1,    ///< kernels, copies, NCCL, NVTX: no API calls, synchronisation and events one by one
    Normal = 2, ///< also API calls, synchronisation, events
    Full = 3,   ///< also when the device reached each event
};

/// Followed by `length` bytes of UTF-8 text for a person.
struct Message {
    std::uint64_t time;
    std::int64_t value;
    std::uint32_t code;     ///< MessageCode
    std::uint32_t severity; ///< Severity
    std::uint32_t length;
    std::uint32_t reserved;
};
static_assert(sizeof(Message) == 32);

enum class LossKind : std::uint32_t {
    CuptiDropped = 1,     ///< records that CUPTI itself dropped
    BufferRefused = 2,    ///< buffers that were not handed to CUPTI because the queue was full
    QueueFull = 3,        ///< NVTX, NCCL or sampled records that found the queue full
    WriteFailed = 4,      ///< records that could not be written
    RingOverwritten = 5,  ///< event records overwritten by younger ones
    TimesLost = 6,        ///< records kept, but CUPTI gave them no time (start == end == 0)
    TimesInverted = 7,    ///< records kept, but they end before they start
    UnknownKind = 8,      ///< CUPTI records of a kind that the collector does not know
    StringsFull = 9,      ///< names that found no room
    BufferMalformed = 10, ///< CUPTI buffers whose records could not be walked to the end
};

/// Counts since the Loss before it of the same kind: add them up.
struct Loss {
    std::uint64_t time;
    std::uint64_t count;
    std::uint64_t size; ///< [bytes], where known
    std::uint32_t kind; ///< LossKind
    std::uint32_t reserved;
};
static_assert(sizeof(Loss) == 32);

/// What recording has cost so far (since the start; the last one counts).
struct OwnCost {
    std::uint64_t time;
    std::uint64_t callbackNs;  ///< in the collector's callbacks, on the program's own threads
    std::uint64_t callbacks;   ///< how many
    std::uint64_t writerCpuNs; ///< processor time of the collector's thread
    std::uint64_t flushNs;     ///< in CUPTI flushes, on the collector's thread
    std::uint64_t records;     ///< written
    std::uint64_t written;     ///< [bytes]
    std::uint64_t queuePeak;   ///< [bytes], the most that ever waited
    std::uint64_t bufferBytes; ///< [bytes], host memory held for buffers at the most
};
static_assert(sizeof(OwnCost) == 72);

/// What the recorder has cost one thread so far (the last one of a thread counts). Without those of CUPTI itself.
struct RecorderCost {
    std::uint64_t time;
    std::uint64_t nanoseconds; ///< in the collector's functions; of its own threads: processor time
    std::uint64_t calls;
    std::uint32_t thread; ///< 0: all threads that found no room in the table
    std::uint32_t own;    ///< 1: a thread of the collector, beside the program
};
static_assert(sizeof(RecorderCost) == 32);

enum class EndReason : std::uint32_t { Exit = 1, Signal = 2, Stopped = 3, WriteFailed = 4, Exec = 5, Limit = 6 };

/// The recording ended in order. A file without one was cut: the process was killed.
struct End {
    std::uint64_t time;
    std::uint64_t records; ///< written before this one
    std::uint32_t reason;  ///< EndReason
    std::uint32_t reserved;
};
static_assert(sizeof(End) == 24);

} // namespace fourwalls::collect
