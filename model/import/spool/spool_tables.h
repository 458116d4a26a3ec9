// SPDX-License-Identifier: Apache-2.0
// What a collector's spool holds besides its frequent records, as tables: filled by a first walk over the file, because
// launches, communicators and ranges are needed from the first kernel on. Times are the file's (Unix nanoseconds).
#pragma once

#include "model/import/common/busy_time.h"
#include "model/import/common/clock_alignment.h"
#include "model/import/common/lane_index.h"
#include "model/import/common/launch_links.h"
#include "model/import/common/nccl_operations.h"
#include "model/import/common/trace_facts.h"
#include "model/import/common/training_passes.h"
#include "profiler/collect/spool_format.h"

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// A closed NVTX range.
struct SpoolRange {
    std::int64_t begin = 0, end = 0;
    std::int32_t lane = 0;
    std::uint32_t name = 0; ///< string
    std::uint32_t domain = 0;
};

/// A kernel of any stream, for steps.
struct SpoolKernel {
    std::int64_t start = 0, end = 0;
    std::uint32_t correlation = 0;
    std::uint32_t name = 0; ///< string
    std::int32_t lane = 0;
};

/// A communication kernel and what it carried; or all copies of an operation of copy engines, without a name.
struct SpoolCommunication {
    std::int64_t start = 0, end = 0;
    std::int32_t lane = 0;
    std::uint32_t name = 0; ///< string
    std::uint32_t correlation = 0;
    std::int32_t operation = -1; ///< of SpoolTables::operations; -1: unknown
    bool inGraph = false;
};

/// No device has more; larger numbers mean "not available" or are damaged.
inline constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{1} << 50;

/// Memory that the program obtained or gave back.
struct SpoolMemory {
    std::int64_t time = 0;
    std::uint64_t key = 0; ///< address, or handle of physical memory (told apart where one is used again)
    std::int64_t bytes = 0;
    std::uint32_t device = 0, correlation = 0;
    bool allocates = false, physical = false, fromPool = false;
};

/// What one stream waited for in another: from the end of the last work before the event to the first work behind the wait.
struct SpoolEdge {
    std::int32_t fromLane = 0, toLane = 0;
    std::int64_t from = 0, to = 0;
};

/// One file: one process of the run.
struct SpoolTables {
    std::string path, host, executable, version;
    collect::FileHeader header{};
    std::string suffix; ///< of lanes, for a further process of the same rank

    std::unordered_map<std::uint32_t, std::string> strings;
    std::map<std::uint32_t, collect::Device> devices;
    std::map<std::uint32_t, std::uint32_t> contexts;                           ///< context: its device
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> apiNames; ///< (domain, function): string
    std::map<std::uint32_t, std::string> domains;                              ///< of NVTX
    std::map<std::uint64_t, NcclCommunicatorInfo> communicators;

    LaneIndex lanes;
    std::map<std::pair<LaneRole, std::uint32_t>, std::unordered_map<std::uint64_t, int>>
        streamLanes; ///< by device: (context, stream)
    std::unordered_map<std::uint32_t, int> threadLanes;
    std::unordered_map<int, std::uint32_t> threadOfLane;
    std::map<std::uint32_t, std::uint32_t> firstContext; ///< by device
    LaunchLinks links;
    std::vector<SpoolRange> ranges;
    std::vector<SpoolKernel> kernels;
    std::vector<SpoolCommunication> communication;
    std::vector<NcclOperation> operations;
    std::unordered_map<std::uint32_t, std::int32_t> operationOfCopy; ///< of copy engines, by the copy's correlation
    std::vector<SpoolMemory> memory;
    std::vector<collect::StepMark> stepMarks;
    std::vector<collect::StepMark> optimizerEnds; ///< marks of StepSource::Optimizer
    std::vector<collect::Window> windows;         ///< by time
    std::vector<std::pair<collect::Message, std::string>> messages;
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> losses; ///< LossKind: count, bytes
    std::optional<collect::OwnCost> cost;
    std::map<std::uint32_t, std::uint64_t> threadCost;    ///< of the recorder in the program's threads [ns]
    std::map<std::uint32_t, std::uint64_t> ownThreadCost; ///< processor time of the recorder's own threads [ns]
    std::vector<SpoolEdge> edges;
    std::unordered_map<std::uint32_t, std::uint32_t> stacks; ///< of calls that waited, by correlation: string
    std::map<std::uint32_t, double> deviceWork;              ///< time of kernels and graphs by device [ns]
    TraceFacts facts;

    std::int64_t firstNs = 0, lastNs = 0; ///< of everything with a time; 0: nothing has
    std::int64_t clockSetNs = 0;          ///< by how much the system's clock was set in between
    std::int64_t deviceClockNs = 0; ///< added to CUPTI's times, which are on another clock; 0: they are on the system's
    std::int64_t rangesLeftOpen = 0, endsWithoutBegin = 0;
    std::int64_t pairedExactly = 0, pairedByTime = 0, pairedEvenly = 0, communicationInGraphs = 0; ///< kernels of NCCL
    std::int64_t callsWithoutKernel = 0;                       ///< of communicators of one rank
    std::int64_t pairedWithCopies = 0, callsWithoutCopies = 0; ///< operations of copy engines
    std::int64_t kernelsLeftOut = 0;                           ///< beyond what `kernels` holds
    std::int64_t unknownRecords = 0, badTimes = 0, timesLost = 0;
    std::uint64_t records = 0, unreadBytes = 0, overwrittenSegments = 0, badSegments = 0;
    std::int64_t waitsWithoutEdge = 0; ///< of streams, for events of which no work is known
    bool ended = false;
    bool limited = false; ///< ended at the spool's limit or with the disk's last room
    TrainingPasses passes;
    bool phasesFromThreads = false, phasesFromRanges = false;
    bool processMemory = false; ///< the driver tells what this process alone uses of the device

    /// Empty for 0 and for ids that the file does not define.
    std::string_view string(std::uint32_t id) const
    {
        const auto found = strings.find(id);
        return found == strings.end() ? std::string_view() : std::string_view(found->second);
    }
    /// A record of that time: the file lasts at least from and to there. Times that cannot be are passed over.
    void note(std::uint64_t time);
    std::string pid() const { return std::to_string(header.pid); }
    int streamLane(LaneRole role, std::uint32_t device, std::uint32_t context, std::uint32_t stream);
    int threadLane(std::uint32_t thread);
    /// Whether capture was on at that time of the file, as its windows say; before the first of them it was.
    bool recordedAt(std::uint64_t time) const;
    /// How long capture was on, from the first to the last time of the file.
    std::int64_t recordedNs() const;
    /// Part of the recorded time that the recorder's own functions took of the program's thread where they took most;
    /// from old collectors, of all threads together.
    std::optional<double> overheadFraction() const;
    /// "main (7) 12.30 ms, pt_autograd_0 (9) 1.00 ms, 5 more 0.02 ms": the recorder's functions in the program's threads,
    /// most first.
    std::string costByThread() const;
    /// The device that the process worked on most.
    std::uint32_t mainDevice() const;
};

/// A time of the file, if it can be one: kLargestTimeNs bounds it.
std::optional<std::int64_t> spoolTime(std::uint64_t time);

/// The first walk. suffix: as SpoolTables::suffix. Errors: as SpoolReader; Cancelled.
Result<SpoolTables> surveySpool(const std::string& path, std::string suffix, std::stop_token stop,
                                const std::string& scratchFolder);

} // namespace fourwalls::importers
