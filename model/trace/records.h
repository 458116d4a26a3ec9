// SPDX-License-Identifier: Apache-2.0
// The records of a trace as a recorder, importer or cost model hands them to a TraceSink.
// Definitions (operators, tracks, groups, counters) are interned once; the frequent records carry only ids.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/spec/run_spec.h"
#include "model/trace/vocabulary.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls {

/// What ran: everything about a slice that repeats. Equal infos are one OpId.
struct OpInfo {
    std::string name; ///< "attention.scores", "ampere_sgemm_128x64", "forward"
    SliceKind kind = SliceKind::Operator;
    Phase phase = Phase::None;
    Activity activity = Activity::None;
    std::optional<LayerIndex> layer;
    double flops = 0;       ///< of one execution [FLOP]; 0: none or unknown
    std::int64_t bytes = 0; ///< main-memory bytes one execution must move; 0: none or unknown
    std::string detail;     ///< shapes, algorithm: free text shown in the details

    friend bool operator==(const OpInfo&, const OpInfo&) = default;
};

struct RankInfo {
    RankId rank;
    std::string device; ///< "CPU core", "NVIDIA H100 80GB HBM3"
    std::string host;
    int pipelineStage = 0;
    std::int64_t memoryBytes = 0; ///< capacity; 0 unknown
    int multiplicity = 1;         ///< identical ranks that this one stands for (predictions)
};

struct TrackInfo {
    RankId rank;
    TrackKind kind = TrackKind::Operators;
    std::string name; ///< "operators", "stream 7", "thread 1375"
    int order = 0;    ///< within its rank, top to bottom

    friend bool operator==(const TrackInfo&, const TrackInfo&) = default;
};

struct ProcessGroupInfo {
    std::string name; ///< "dp", "tp", "pp", "world"
    std::vector<RankId> ranks;
    std::string transport; ///< nccl, gloo, local, modelled

    friend bool operator==(const ProcessGroupInfo&, const ProcessGroupInfo&) = default;
};

struct CounterInfo {
    std::optional<RankId> rank; ///< absent: of the whole job
    std::string name;           ///< "loss", "lr", "grad_norm", "reserved_bytes"
    CounterUnit unit = CounterUnit::None;

    friend bool operator==(const CounterInfo&, const CounterInfo&) = default;
};

/// One interval on one track. Nesting follows from containment; overlaps are kept on sub-lanes.
struct SliceRecord {
    TrackId track;
    OpId op;
    Instant start;
    Duration duration;
    std::optional<Microbatch> microbatch;
    std::optional<CorrelationId> correlation;
};

/// The detail of a collective or point-to-point operation; its slice is the Collective slice on the same
/// track with the same start.
struct CollectiveRecord {
    TrackId track;
    Instant start;       ///< own arrival
    Instant lastArrival; ///< last member's arrival: start..lastArrival is waiting
    Instant end;
    CollectiveOp operation = CollectiveOp::AllReduce;
    GroupId group;
    std::int64_t sequence = 0;                ///< the n-th operation of this group; equal on all members
    std::optional<std::int64_t> payloadBytes; ///< the buffer handed to the operation; absent: unknown
    std::optional<std::int64_t> wireBytes;    ///< what this rank really sends; absent: unknown
    std::optional<RankId> peer;               ///< of a send or receive
    std::string algorithm;                    ///< ring, tree, direct, hierarchical, …
    std::string protocol;
};

/// A buffer comes into being.
struct AllocationRecord {
    AllocationId id; ///< unique within the rank
    Instant at;
    std::int64_t bytes = 0;   ///< requested
    std::int64_t address = 0; ///< where it lies, for fragmentation; 0 unknown
    MemoryCategory category = MemoryCategory::Other;
    std::optional<OpId> op; ///< the operator that asked for it (carries layer and phase)
    std::optional<Microbatch> microbatch;
};

struct CounterRecord {
    CounterId counter;
    Instant at;
    double value = 0;
};

/// One rank's training step. Loss and the like are means over the global batch.
struct StepRecord {
    StepIndex step;
    TimeRange range;
    std::optional<double> loss, learningRate, gradientNorm;
    std::int64_t samples = 0;              ///< sequences or images, global
    std::int64_t tokens = 0;               ///< 0 for images
    StepState state = StepState::Measured; ///< only measured ones count in figures

    bool measured() const { return state == StepState::Measured; }
};

/// An arrow between two points of the timeline (launch to kernel, send to receive, forward to backward).
struct FlowRecord {
    std::string kind; ///< "launch", "message", "forward_backward"
    TrackId fromTrack;
    Instant from;
    TrackId toTrack;
    Instant to;
};

struct EventRecord {
    EventKind kind = EventKind::Annotation;
    std::optional<RankId> rank;
    Instant at;
    std::string text;
};

/// A counted imperfection of the trace: what was dropped, repaired or skipped, and why.
struct AuditRecord {
    std::string name; ///< stable, lower case: "queue_full_waits", "overlapping_slices"
    AuditSeverity severity = AuditSeverity::Info;
    std::int64_t count = 0;
    std::string detail;

    friend bool operator==(const AuditRecord&, const AuditRecord&) = default;
};

/// What a trace says about itself from the start.
struct TraceHeader {
    TraceSource source = TraceSource::Recorded;
    ClockKind clock = ClockKind::Wall;
    std::optional<RunSpec> spec;    ///< resolved; absent for imports without one
    std::string producer;           ///< "fourwalls 0.1.0", "PyTorch 2.4 Kineto"
    std::string computeLabel;       ///< "measured", "modelled"
    std::string communicationLabel; ///< "measured", "modelled", "none"
    std::int64_t originUnixNs = 0;  ///< Unix time of Instant 0 [ns]; 0 unknown
    std::optional<int> worldSize{}; ///< ranks of the job, where it says so; a trace may hold fewer
    std::vector<RankInfo> ranks;
};

/// What one rank sent to another one within a group, over the whole trace.
struct TrafficRecord {
    std::string group; ///< as in ProcessGroupInfo
    RankId from, to;
    std::int64_t payloadBytes = 0; ///< buffers handed to operations, shared out by what was sent to whom
    std::int64_t wireBytes = 0;    ///< really sent
    std::int64_t messages = 0;

    friend bool operator==(const TrafficRecord&, const TrafficRecord&) = default;
};

/// A stretch of device memory that a caching allocator took from the device and cuts buffers out of.
struct AllocatorSegment {
    RankId rank;
    std::int64_t address = 0, bytes = 0;
    Instant start;                ///< the begin of what is known, if it was there before
    std::optional<Instant> end{}; ///< given back; absent: kept to the end
    std::int64_t stream = 0;      ///< whose buffers it holds
    bool small = false;           ///< of the pool for small buffers
    bool privatePool = false;     ///< of a pool of its own, as CUDA graphs have
    bool expandable = false;      ///< a part of a reserved range of addresses, mapped when it was needed

    friend bool operator==(const AllocatorSegment&, const AllocatorSegment&) = default;
};

/// What an allocator did with a buffer, where that is not what follows from the buffer alone.
struct AllocatorBlock {
    RankId rank;
    AllocationId buffer;
    std::int64_t bytes = 0; ///< that the allocator cut out for it, more than were requested
    /// Its owner let it go, and until its end the allocator may not use it again: another stream may still read it.
    std::optional<Instant> letGo{};

    friend bool operator==(const AllocatorBlock&, const AllocatorBlock&) = default;
};

/// What is only known at the end.
struct TraceClosing {
    std::optional<double> peakFlopsPerDevice;       ///< measured peak used for MFU [FLOP/s]
    std::string peakSource;                         ///< "matrix-product sweep", "fastest operator", "datasheet"
    std::optional<double> memoryBytesPerSecond;     ///< per device
    std::optional<double> recorderOverheadFraction; ///< accounted: calibrated event cost x events + writer, / step
    std::optional<double> recorderOverheadMeasured; ///< paired against untraced runs, where taken
    std::string
        stepsBy{}; ///< what the steps were found by: "ProfilerStep", "range train_step", "whole trace"; empty: the recorder's own
    std::vector<TrafficRecord> traffic{};     ///< who sent how much to whom; empty: unknown, or one rank
    std::vector<AllocatorSegment> segments{}; ///< by rank, address and start; empty: not recorded
    std::vector<AllocatorBlock> blocks{};     ///< by rank and buffer; others are cutBytes(requested) long
};

} // namespace fourwalls
