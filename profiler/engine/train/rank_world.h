// SPDX-License-Identifier: Apache-2.0
// The ranks of a run, each with its own recorder, allocator, device, communicators and communication thread: as threads
// of this process, or the one rank that this process is.
#pragma once

#include "model/base/result.h"
#include "model/spec/parallel_plan.h"
#include "profiler/engine/comm/device_collectives.h"
#include "profiler/engine/comm/group_communicator.h"
#include "profiler/engine/comm/parallel_groups.h"
#include "profiler/engine/comm/process_world.h"
#include "profiler/engine/core/fault.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/nn/parameter.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::engine {

using DeviceFactory = std::function<std::unique_ptr<Device>(Recorder&, Allocator&)>;

struct WorldOptions {
    ParallelPlan plan;
    NumberFormat format;
    DeviceFactory makeDevice; ///< empty: the CPU
    /// The memory of a device that is not the processor; empty: the processor's.
    std::function<std::unique_ptr<RankMemory>(RankId)> makeMemory;
    TraceSink* sink = nullptr;    ///< null: nothing is recorded
    ClockOrigin origin;           ///< used with a sink
    std::int64_t memoryLimit = 0; ///< per rank [bytes]; 0: the machine's
    int ranksPerNode = 0;         ///< neighbouring ranks that share a node; 0: all
    bool deviceClock = false;
    LinkTable links; ///< of the device clock; empty: links take no time
    /// What collective=auto goes by; absent: memory is shared, and direct is best.
    std::optional<CollectiveLinks> collectiveLinks;
    std::function<void()> onFailure; ///< called once a rank has failed, from any thread; may be empty
    std::chrono::nanoseconds patience = std::chrono::minutes(10); ///< how long a rank waits for another one
    HangOptions hang;                                             ///< of processes
    std::vector<Fault> hangs;                                     ///< those of all ranks
    std::function<void(const Fault&)> onHang;                     ///< called when one begins; may be empty
    JobNotes* notes = nullptr;                                    ///< told who has failed; may be null
    int attempt = 0;                                              ///< see Recorder::numberFor
    ProcessWorld* processes = nullptr;              ///< null: all ranks are threads here; else only its rank is
    std::shared_ptr<DeviceCollectives> collectives; ///< of ranks with a device each; null: hops over the transport
};

/// What one rank has. Its members outlive everything that the rank makes.
struct RankSlot {
    RankSlot(const WorldOptions& options, RankId rank);

    std::unique_ptr<RankMemory> memory; ///< null on the CPU
    std::unique_ptr<Recorder> recorder;
    std::unique_ptr<Allocator> allocator;
    std::unique_ptr<Device> device;
    std::unique_ptr<CommThread> commThread;
    std::unique_ptr<FlightRecorder> flight; ///< null where ranks are threads
    std::unique_ptr<CommContext> comm;
    std::unique_ptr<ParallelGroups> groups;
    std::unique_ptr<RankContext> context; ///< groups is null in a world of one
};

/// Runs `work` once per rank of the plan, each in a thread of its own with OpenMP off, and waits for all of them (of
/// processes: for the others' work as well). The first rank that fails makes the others fail at their next communication.
/// Errors: the first failure; in a world of several its `where` names the rank.
Status runRanks(const WorldOptions& options, const std::function<Status(RankSlot&)>& work);

/// The same for tests: f32 (or any format) on the CPU or another device, without recording.
Status runRanks(const ParallelPlan& plan, NumberFormat format, const std::function<void(RankContext&)>& work,
                DeviceFactory makeDevice = {});

} // namespace fourwalls::engine
