// SPDX-License-Identifier: Apache-2.0
// What one rank tells a TraceSink about itself: nested scopes become slices, and they are the context (operator,
// layer, phase, micro-batch) of the allocations made inside them. Without a sink every call is one branch.
#pragma once

#include "model/trace/records.h"
#include "model/trace/trace_sink.h"
#include "profiler/engine/core/clock_origin.h"
#include "profiler/engine/core/disturbance.h"
#include "profiler/engine/core/kernel_times.h"
#include "profiler/engine/core/rank_memory.h"

#include <array>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// What identifies an operator or kernel at its call site: cheap to hash and to compare. Names are string literals
/// (or otherwise outlive the recorder), so their addresses stand for them.
struct OpKey {
    const char* name = "";
    SliceKind kind = SliceKind::Operator;
    Phase phase = Phase::None;
    Activity activity = Activity::None;
    std::int32_t layer = -1; ///< -1: none
    double flops = 0;
    std::int64_t bytes = 0;
    std::array<std::int32_t, 4> shape{}; ///< shown as "shape 2048x384x1536"; zeros at the end are left out
    const char* detail = nullptr;        ///< shown as it is, in place of the shape

    friend bool operator==(const OpKey&, const OpKey&) = default;
};

/// As in OpKey::shape.
inline std::int32_t extent(std::int64_t value)
{
    return static_cast<std::int32_t>(value);
}

/// The recording side of one rank; used by its thread only. The rank's communication thread has another one.
class Recorder {
public:
    enum class Role { Rank, CommunicationThread };

    /// sink: null records nothing. origin: Instant 0 of the trace.
    Recorder(TraceSink* sink, RankId rank, const ClockOrigin& origin, Role role = Role::Rank);
    ~Recorder();
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Which attempt at the job this is, from 0: buffers and collectives of later ones have numbers of their own.
    void numberFor(int attempt) { m_firstNumber = std::int64_t{attempt} << kNumberBits; }

    bool on() const { return m_producer != nullptr; }
    RankId rank() const { return m_rank; }

    /// The time on the trace's clock: the wall clock relative to the origin, or the rank's virtual clock.
    Instant now() const { return m_virtual ? m_virtualNow : wallNow(); }
    /// The wall clock relative to the origin.
    Instant wallNow() const
    {
        timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return {t.tv_sec * 1'000'000'000ll + t.tv_nsec - m_originNs};
    }

    OpId intern(const OpKey& key);
    void slice(SliceKind kind, OpId op, Instant start, Instant end);
    void counter(CounterId id, Instant at, double value);
    CounterId defineCounter(const char* name, CounterUnit unit, bool perRank);
    /// A step is over: the rest until the next one begins is between steps.
    void step(const StepRecord& record);
    /// An arrow from a layer's forward slice (a moment inside it) to its backward slice, which is open now.
    void forwardToBackward(Instant forward);
    /// Something worth a mark on the timeline, now or then.
    void event(EventKind kind, std::string text) { event(kind, std::move(text), now()); }
    void event(EventKind kind, std::string text, Instant at);
    void allocated(AllocationId id, std::int64_t bytes, const void* address, MemoryCategory category);
    void freed(AllocationId id);

    /// From here on time is virtual: it goes on only in kernels and where somebody says so.
    void startVirtualClock()
    {
        m_virtual = true;
        m_timesKernels = true;
    }
    bool virtualClock() const { return m_virtual; }
    /// How long kernels take on the virtual clock.
    KernelTimes& kernelTimes() { return m_kernelTimes; }
    /// What is done to this rank on purpose, on either clock.
    void disturb(RankDisturbance disturbance)
    {
        m_disturbance = std::move(disturbance);
        m_timesKernels = m_virtual || !m_disturbance.empty();
    }
    const RankDisturbance& disturbance() const { return m_disturbance; }
    /// From here on it is that step.
    void beginStep(std::int64_t step);
    /// Nothing is left to do but to begin the next step.
    void rest() { m_restsSince = now(); }
    /// The step's work begins: what has passed since the last one's end, or since rest(), is a phase of its own.
    void endRest(Instant at);
    /// Nothing goes on at this rank for so long.
    void standStill(Duration duration);
    /// The step that the run goes on with.
    void beginAt(std::int64_t step) { m_firstStep = step; }
    /// The first step that counts in the metrics, of so many in all: the operators' times settle in those before.
    std::int64_t firstMeasured(std::int64_t steps) const
    {
        if (steps - m_firstStep < 3) return m_firstStep;
        return m_firstStep + (m_virtual ? 2 : 1);
    }
    bool isWarmup(std::int64_t step, std::int64_t steps) const { return step < firstMeasured(steps); }
    void advanceTo(Instant at)
    {
        if (m_virtual && at > m_virtualNow) m_virtualNow = at;
    }

    /// From here on the rank's work happens on a device of its own: slices and memory events are put where the device
    /// was at that point of its work, which is known at settle(). Communication and events stay on the host's clock.
    void followDevice(RankMemory* device) { m_device = device; }
    /// f: called by settle() with the times of the device's marks since the last one, for whoever has set marks, too.
    using MarkTimes = std::function<Instant(std::uint32_t mark)>;
    void alsoSettle(std::function<void(const MarkTimes&)> f) { m_alsoSettle = std::move(f); }
    /// Waits until the device is done, and hands over what has waited for its times. Nothing to do on the CPU. Throws
    /// EngineError if something failed on the device.
    void settle();

    /// What is done right now and for what; the communication thread takes it over with a started operation.
    struct Place {
        Phase phase = Phase::None;
        std::int32_t layer = -1;
        std::optional<Microbatch> microbatch;
    };
    Place place() const { return {m_phase, m_layer, m_microbatch}; }
    void setPlace(const Place& place)
    {
        m_phase = place.phase;
        m_layer = place.layer;
        setMicrobatch(place.microbatch);
    }

    /// The track for what this thread sends and receives. Defined when first asked for; only while on().
    TrackId communicationTrack();
    /// A slice there.
    void communication(const char* name, SliceKind kind, Activity activity, std::int64_t bytes, Instant start,
                       Instant end);
    /// A copy between the rank's memory and the host's, on a track of its own. detail: how its time came about; like a
    /// name it outlives the recorder's use of it.
    void copy(const char* name, std::int64_t bytes, Instant start, Instant end, const char* detail);
    /// What another thread wrote beside the rank's work, on a track of its own; on the wall clock only.
    void written(const char* name, std::int64_t bytes, Instant start, Instant end);
    void collective(const CollectiveRecord& record);
    void flow(const FlowRecord& record);
    GroupId defineGroup(const ProcessGroupInfo& info) { return on() ? m_sink->defineGroup(info) : GroupId{}; }

    Phase phase() const { return m_phase; }
    std::int32_t layer() const { return m_layer; } ///< of the scopes that are open; -1: none
    void setMicrobatch(std::optional<Microbatch> microbatch) { m_microbatch = microbatch; }

    /// Ends the recording: later calls do nothing.
    void close()
    {
        settle();
        m_producer.reset();
    }

    /// Highest rate among the recorded kernels that were long enough to time [FLOP/s]; 0 if there was none.
    double fastestKernel() const { return m_fastest; }

    /// Records handed over so far (slices, allocations, frees, counters, steps).
    std::int64_t events() const { return m_events; }

    /// Mean cost of recording one event [ns], measured with a producer that keeps the records in memory.
    static double calibrateEventCost();

private:
    friend class Scope;
    friend class PhaseTag;

    struct KeyHash {
        std::size_t operator()(const OpKey& key) const noexcept;
    };
    TrackId trackOf(SliceKind kind) const;
    static constexpr int kNumberBits = 40;

    // What waits for the device's times.
    struct Pending {
        enum class What : std::uint8_t { Slice, Allocated, Freed, Counter } what = What::Slice;
        std::uint32_t from = 0, to = 0; // marks
        SliceKind kind{};
        OpId op;
        std::optional<Microbatch> microbatch;
        double flops = 0; // of a slice; a counter's value
        AllocationRecord allocation;
        CounterId counter;
    };
    Pending& pend(Pending::What what, bool fresh = false);
    void handOver(const Pending& pending, Instant from, Instant to);

    TraceSink* m_sink = nullptr;
    Role m_role;
    std::unique_ptr<TraceProducer> m_producer;
    bool m_virtual = false;
    std::int64_t m_firstStep = 0; ///< see beginAt
    bool m_timesKernels = false;  // the virtual clock or a slow rank: each kernel's processor time is read
    bool m_insideKernel = false;
    double m_slowness = 1;
    RankDisturbance m_disturbance;
    std::int64_t m_step = 0;
    std::optional<Instant> m_restsSince;
    RankDisturbance::Pause m_pause;                          // of this step, until it is over
    std::int64_t m_kernelsOfStep = 0, m_kernelsLastStep = 0; // of which the pause has its place
    KernelTimes m_kernelTimes;
    Instant m_virtualNow;
    RankMemory* m_device = nullptr;
    std::vector<Pending> m_pending;
    std::vector<std::int64_t> m_marks;
    Instant m_resolved; // nothing of the device's is before it
    std::function<void(const MarkTimes&)> m_alsoSettle;
    std::optional<TrackId> m_communication, m_copies, m_writes;
    RankId m_rank;
    std::int64_t m_originNs = 0, m_firstNumber = 0;
    TrackId m_steps, m_phases, m_operators, m_kernels;
    std::unordered_map<OpKey, OpId, KeyHash> m_ops;
    std::int64_t m_events = 0;
    double m_fastest = 0;

    // Where the rank is right now.
    Phase m_phase = Phase::None;
    std::int32_t m_layer = -1;
    std::optional<OpId> m_current;
    std::optional<Microbatch> m_microbatch;
};

/// From construction to destruction one slice of the given kind. Operators and kernels inherit layer and phase from
/// the scopes around them.
class Scope {
public:
    /// A step, phase, layer or operator. flops and bytes: of the whole scope, 0 when its kernels say it.
    Scope(Recorder& recorder, SliceKind kind, const char* name, Phase phase = Phase::None, std::int32_t layer = -1,
          std::int64_t bytes = 0)
        : m_recorder(recorder)
    {
        m_savedPhase = recorder.m_phase;
        m_savedLayer = recorder.m_layer;
        if (phase != Phase::None) recorder.m_phase = phase;
        if (layer >= 0) recorder.m_layer = layer;
        if (recorder.on()) begin({name, kind, recorder.m_phase, activityOf(kind), recorder.m_layer, 0, bytes, {}});
    }
    /// A kernel: the code that really runs. flops, bytes: of this execution. fewerFlops: the algorithm gets by with
    /// fewer operations than `flops` counts (Winograd), so its rate says nothing about the processor's peak.
    Scope(Recorder& recorder, const char* kernel, double flops, std::int64_t bytes,
          std::array<std::int32_t, 4> shape = {}, bool fewerFlops = false)
        : m_recorder(recorder)
    {
        m_savedPhase = recorder.m_phase;
        m_savedLayer = recorder.m_layer;
        if (recorder.on() || recorder.m_timesKernels)
            begin({kernel, SliceKind::Kernel, recorder.m_phase, Activity::Compute, recorder.m_layer, flops, bytes,
                   shape});
        if (fewerFlops) m_flops = 0;
    }
    ~Scope()
    {
        if (m_active) end();
        m_recorder.m_phase = m_savedPhase;
        m_recorder.m_layer = m_savedLayer;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

private:
    static constexpr Activity activityOf(SliceKind kind)
    {
        return kind == SliceKind::DataLoading ? Activity::DataLoading : Activity::None;
    }
    void begin(const OpKey& key);
    void end();
    void beginKernel(const OpKey& key);
    void endKernel();

    Recorder& m_recorder;
    bool m_active = false;
    SliceKind m_kind{};
    OpId m_op;
    double m_flops = 0;
    std::optional<OpId> m_savedOp;
    std::int64_t m_cpuStart = -1;               // a kernel whose processor time counts
    KernelTimes::Entry* m_kernelTime = nullptr; // on the virtual clock
    Phase m_savedPhase;
    std::int32_t m_savedLayer;
    Instant m_start;
    std::uint32_t m_mark = 0; // in place of it, on a device of its own
};

/// Changes the phase of what is recorded inside, without a slice of its own (weight gradients inside backward).
class PhaseTag {
public:
    PhaseTag(Recorder& recorder, Phase phase) : m_recorder(recorder), m_saved(recorder.m_phase)
    {
        recorder.m_phase = phase;
    }
    ~PhaseTag() { m_recorder.m_phase = m_saved; }
    PhaseTag(const PhaseTag&) = delete;
    PhaseTag& operator=(const PhaseTag&) = delete;

private:
    Recorder& m_recorder;
    Phase m_saved;
};

} // namespace fourwalls::engine
