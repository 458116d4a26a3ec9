// SPDX-License-Identifier: Apache-2.0
// The words of a trace: what a slice is, which phase it belongs to, how it counts, and what memory is for.
// The numeric values are stored in files: append, never renumber.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls {

enum class TraceSource : std::uint8_t { Recorded = 0, Imported = 1, Predicted = 2, Synthetic = 3 };

/// wall: what really happened. device: measured operator times on per-rank virtual clocks. predicted: modelled.
enum class ClockKind : std::uint8_t { Wall = 0, Device = 1, Predicted = 2 };

/// What a slice is; orders the nesting from the whole step down to one kernel.
enum class SliceKind : std::uint8_t {
    Step = 0,
    Phase = 1,
    Layer = 2,
    Operator = 3,
    Kernel = 4,
    Collective = 5,
    Hop = 6,
    Copy = 7,
    Wait = 8,
    DataLoading = 9,
    Checkpoint = 10,
    Marker = 11,
    HostCall = 12
};
inline constexpr int kSliceKindCount = 13;

enum class Phase : std::uint8_t {
    None = 0,
    Forward = 1,
    BackwardInput = 2,
    BackwardWeight = 3,
    Recompute = 4,
    Optimizer = 5,
    GradientSync = 6,
    DataLoading = 7,
    CheckpointSave = 8,
    CheckpointLoad = 9,
    Evaluation = 10,
    Setup = 11
};
inline constexpr int kPhaseCount = 12;

/// How the time of a slice counts in the partition of a step. None: structure only (steps, phases, layers, operators
/// whose kernels are recorded).
enum class Activity : std::uint8_t {
    None = 0,
    Compute = 1,
    Transfer = 2,
    CollectiveWait = 3,
    Copy = 4,
    PipelineWait = 5,
    DataLoading = 6,
    Launch = 7,
    Synchronisation = 8,
    PipelineTransfer = 9 ///< transfer of a pipeline send or receive: communication, but not busy time of its stage
};
inline constexpr int kActivityCount = 10;

enum class MemoryCategory : std::uint8_t {
    Weights = 0,
    Gradients = 1,
    OptimizerState = 2,
    Activations = 3,
    Temporaries = 4,
    CommBuffers = 5,
    Workspace = 6,
    Other = 7
};
inline constexpr int kMemoryCategoryCount = 8;

/// Static categories stay allocated between steps; the others come and go within one.
constexpr bool isStatic(MemoryCategory category)
{
    return category == MemoryCategory::Weights || category == MemoryCategory::Gradients ||
           category == MemoryCategory::OptimizerState;
}

/// Whether a step counts in the figures. Warmup: a first one. Cut: a part of it is not in the recording. Odd: its length is
/// far from that of the others. Lost: after a failure the job went back behind it, and took it again.
enum class StepState : std::uint8_t { Measured = 0, Warmup = 1, Cut = 2, Odd = 3, Lost = 4 };
inline constexpr int kStepStateCount = 5;
/// "measured", "warmup", "cut", "odd", "lost".
std::string_view name(StepState state);

/// What one row of the timeline shows.
enum class TrackKind : std::uint8_t {
    Steps = 0,
    Phases = 1,
    Operators = 2,
    ComputeStream = 3,
    CommStream = 4,
    CopyStream = 5,
    CpuThread = 6,
    Markers = 7,
    Other = 8
};

enum class CollectiveOp : std::uint8_t {
    AllReduce = 0,
    AllGather = 1,
    ReduceScatter = 2,
    Broadcast = 3,
    AllToAll = 4,
    Send = 5,
    Receive = 6,
    Reduce = 7,
    Gather = 8,
    Scatter = 9,
    Barrier = 10,
    Other = 11
};

enum class CounterUnit : std::uint8_t {
    None = 0,
    Bytes = 1,
    PerSecond = 2,
    Watt = 3,
    Celsius = 4,
    Hertz = 5,
    Percent = 6
};

enum class EventKind : std::uint8_t {
    Fault = 0,
    Checkpoint = 1,
    LossSpike = 2,
    OutOfMemory = 3,
    Annotation = 4,
    Rollback = 5
};

enum class AuditSeverity : std::uint8_t { Info = 0, Repaired = 1, Skipped = 2, Dropped = 3 };

/// Stable lower-case names with underscores (files, JSON, CSV); the screen translates them.
std::string_view name(TraceSource);
std::string_view name(ClockKind);
std::string_view name(SliceKind);
std::string_view name(Phase);
std::string_view name(Activity);
std::string_view name(MemoryCategory);
std::string_view name(TrackKind);
std::string_view name(CollectiveOp);
std::string_view name(CounterUnit);
std::string_view name(EventKind);
std::string_view name(AuditSeverity);

} // namespace fourwalls
