// SPDX-License-Identifier: Apache-2.0
// See recorder.h.
#include "profiler/engine/core/recorder.h"

#include "model/trace/job_time.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

namespace fourwalls::engine {

namespace {

// Kernels below this are too short for their rate to be told from the clock's own cost.
constexpr double kTimeableFlops = 5e7;

std::int64_t readNs(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000ll + t.tv_nsec;
}

// Lets time pass on the wall clock: sleeps as long as sleeping is exact enough, then looks at the clock.
void delay(Duration duration)
{
    constexpr std::int64_t kSleepSlack = 100'000;
    const std::int64_t until = readNs(CLOCK_MONOTONIC) + duration.ns;
    if (duration.ns > kSleepSlack) {
        const std::int64_t wake = until - kSleepSlack;
        const timespec t{wake / 1'000'000'000, wake % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
    }
    while (readNs(CLOCK_MONOTONIC) < until) {
    }
}

// What a slow processor does on the wall clock: it is busy for longer.
void workOn(Duration duration)
{
    const std::int64_t until = threadProcessorTime() + duration.ns;
    while (threadProcessorTime() < until) {
    }
}

std::string shapeText(const std::array<std::int32_t, 4>& shape)
{
    std::string text;
    for (const auto extent : shape) {
        if (extent == 0) break;
        text += text.empty() ? "shape " : "x";
        text += std::to_string(extent);
    }
    return text;
}

// Keeps a bounded number of records in memory, as a queue between threads would: for calibration only.
class MemoryProducer final : public TraceProducer {
public:
    explicit MemoryProducer(std::size_t capacity) : m_slices(capacity), m_allocations(capacity) {}
    void slice(const SliceRecord& record) override { m_slices[m_next++ % m_slices.size()] = record; }
    void allocated(RankId, const AllocationRecord& record) override
    {
        m_allocations[m_next++ % m_allocations.size()] = record;
    }
    void freed(RankId, AllocationId, Instant) override { ++m_next; }
    void counter(const CounterRecord&) override { ++m_next; }
    void collective(const CollectiveRecord&) override { ++m_next; }
    void flow(const FlowRecord&) override { ++m_next; }
    void step(RankId, const StepRecord&) override { ++m_next; }
    void event(const EventRecord&) override { ++m_next; }

private:
    std::vector<SliceRecord> m_slices;
    std::vector<AllocationRecord> m_allocations;
    std::size_t m_next = 0;
};

class MemorySink final : public TraceSink {
public:
    OpId defineOp(const OpInfo&) override { return OpId{m_ops++}; }
    TrackId defineTrack(const TrackInfo&) override { return TrackId{m_tracks++}; }
    GroupId defineGroup(const ProcessGroupInfo&) override { return GroupId{0}; }
    CounterId defineCounter(const CounterInfo&) override { return CounterId{0}; }
    std::unique_ptr<TraceProducer> openProducer() override { return std::make_unique<MemoryProducer>(1 << 15); }
    void audit(const AuditRecord&) override {}
    SinkStatistics statistics() const override { return {}; }
    Status finish(const TraceClosing&) override { return {}; }

private:
    std::int32_t m_ops = 0;
    std::int32_t m_tracks = 0;
};

} // namespace

ClockOrigin ClockOrigin::now()
{
    return {readNs(CLOCK_MONOTONIC), readNs(CLOCK_REALTIME)};
}

Instant ClockOrigin::instantNow() const
{
    return {readNs(CLOCK_MONOTONIC) - monotonicNs};
}

Recorder::Recorder(TraceSink* sink, RankId rank, const ClockOrigin& origin, Role role)
    : m_sink(sink)
    , m_role(role)
    , m_rank(rank)
    , m_originNs(origin.monotonicNs)
{
    if (!sink) return;
    m_producer = sink->openProducer();
    if (role == Role::CommunicationThread) return;
    m_steps = sink->defineTrack({rank, TrackKind::Steps, "steps", 0});
    m_phases = sink->defineTrack({rank, TrackKind::Phases, "phases", 1});
    m_operators = sink->defineTrack({rank, TrackKind::Operators, "layers and operators", 2});
    m_kernels = sink->defineTrack({rank, TrackKind::ComputeStream, "kernels", 3});
    m_ops.reserve(4096);
}

Recorder::~Recorder() = default;

std::size_t Recorder::KeyHash::operator()(const OpKey& key) const noexcept
{
    // A multiplicative hash over the words of the key; the table compares keys in full.
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ull;
    std::uint64_t h = std::bit_cast<std::uintptr_t>(key.name);
    const auto add = [&h](std::uint64_t word) { h = (std::rotl(h, 23) ^ word) * factor; };
    add((static_cast<std::uint64_t>(key.kind) << 48) | (static_cast<std::uint64_t>(key.phase) << 40) |
        (static_cast<std::uint64_t>(key.activity) << 32) | static_cast<std::uint32_t>(key.layer));
    add(std::bit_cast<std::uint64_t>(key.flops));
    add(static_cast<std::uint64_t>(key.bytes));
    add((static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.shape[0])) << 32) |
        static_cast<std::uint32_t>(key.shape[1]));
    add((static_cast<std::uint64_t>(static_cast<std::uint32_t>(key.shape[2])) << 32) |
        static_cast<std::uint32_t>(key.shape[3]));
    return h ^ (h >> 32);
}

OpId Recorder::intern(const OpKey& key)
{
    const auto found = m_ops.find(key);
    if (found != m_ops.end()) return found->second;
    OpInfo info;
    info.name = key.name;
    info.kind = key.kind;
    info.phase = key.phase;
    info.activity = key.activity;
    if (key.layer >= 0) info.layer = LayerIndex{key.layer};
    info.flops = key.flops;
    info.bytes = key.bytes;
    info.detail = key.detail ? key.detail : shapeText(key.shape);
    const OpId id = m_sink->defineOp(info);
    m_ops.emplace(key, id);
    return id;
}

TrackId Recorder::trackOf(SliceKind kind) const
{
    switch (kind) {
    case SliceKind::Step: return m_steps;
    case SliceKind::Phase:
    case SliceKind::DataLoading:
    case SliceKind::Checkpoint: return m_phases;
    case SliceKind::Kernel:
    case SliceKind::Copy: return m_kernels;
    default: return m_operators;
    }
}

void Recorder::slice(SliceKind kind, OpId op, Instant start, Instant end)
{
    m_producer->slice({trackOf(kind), op, start, end - start, m_microbatch, std::nullopt});
    ++m_events;
}

void Recorder::counter(CounterId id, Instant at, double value)
{
    if (!on()) return;
    if (m_device && !m_pending.empty()) { // keeps its place among what waits
        Pending& p = pend(Pending::What::Counter);
        p.counter = id;
        p.flops = value;
        return;
    }
    m_producer->counter({id, at, value});
    ++m_events;
}

CounterId Recorder::defineCounter(const char* name, CounterUnit unit, bool perRank)
{
    if (!on()) return {};
    return m_sink->defineCounter({perRank ? std::optional(m_rank) : std::nullopt, name, unit});
}

void Recorder::step(const StepRecord& record)
{
    if (!on()) return;
    m_producer->step(m_rank, record);
    ++m_events;
    rest();
}

void Recorder::forwardToBackward(Instant forward)
{
    if (!on() || m_device) return; // the moment inside the forward slice is not one of the device's
    m_producer->flow({"forward_backward", m_operators, forward, m_operators, now()});
    ++m_events;
}

TrackId Recorder::communicationTrack()
{
    if (!m_communication)
        m_communication = m_role == Role::Rank
                              ? m_sink->defineTrack({m_rank, TrackKind::CommStream, "communication", 4})
                              : m_sink->defineTrack({m_rank, TrackKind::CommStream, "communication thread", 5});
    return *m_communication;
}

void Recorder::communication(const char* name, SliceKind kind, Activity activity, std::int64_t bytes, Instant start,
                             Instant end)
{
    if (!on()) return;
    const OpId op = intern({name, kind, m_phase, activity, m_layer, 0, bytes, {}});
    m_producer->slice({communicationTrack(), op, start, end - start, m_microbatch, std::nullopt});
    ++m_events;
}

void Recorder::copy(const char* name, std::int64_t bytes, Instant start, Instant end, const char* detail)
{
    if (!on()) return;
    if (!m_copies) m_copies = m_sink->defineTrack({m_rank, TrackKind::CopyStream, "copies", 6});
    const OpId op = intern({name, SliceKind::Copy, m_phase, Activity::Copy, m_layer, 0, bytes, {}, detail});
    m_producer->slice({*m_copies, op, start, end - start, m_microbatch, std::nullopt});
    ++m_events;
}

void Recorder::written(const char* name, std::int64_t bytes, Instant start, Instant end)
{
    if (!on() || m_virtual) return;
    if (!m_writes) m_writes = m_sink->defineTrack({m_rank, TrackKind::CpuThread, "checkpoint writer", 7});
    const OpId op = intern({name, SliceKind::Checkpoint, Phase::None, Activity::None, -1, 0, bytes, {}});
    m_producer->slice({*m_writes, op, start, end - start, std::nullopt, std::nullopt});
    ++m_events;
}

void Recorder::collective(const CollectiveRecord& record)
{
    if (!on()) return;
    if (m_firstNumber == 0) {
        m_producer->collective(record);
    } else {
        CollectiveRecord numbered = record;
        numbered.sequence += m_firstNumber;
        m_producer->collective(numbered);
    }
    ++m_events;
}

void Recorder::flow(const FlowRecord& record)
{
    if (!on()) return;
    m_producer->flow(record);
    ++m_events;
}

void Recorder::event(EventKind kind, std::string text, Instant at)
{
    if (!on()) return;
    m_producer->event({kind, m_rank, at, std::move(text)});
    ++m_events;
}

void Recorder::allocated(AllocationId id, std::int64_t bytes, const void* address, MemoryCategory category)
{
    if (!on()) return;
    id.value += m_firstNumber;
    if (m_device) {
        pend(Pending::What::Allocated).allocation = {
            id, {}, bytes, std::bit_cast<std::int64_t>(address), category, m_current, m_microbatch};
        return;
    }
    m_producer->allocated(m_rank,
                          {id, now(), bytes, std::bit_cast<std::int64_t>(address), category, m_current, m_microbatch});
    ++m_events;
}

void Recorder::freed(AllocationId id)
{
    if (!on()) return;
    id.value += m_firstNumber;
    if (m_device) {
        pend(Pending::What::Freed).allocation.id = id;
        return;
    }
    m_producer->freed(m_rank, id, now());
    ++m_events;
}

void Scope::begin(const OpKey& key)
{
    m_active = true;
    m_kind = key.kind;
    m_flops = key.flops;
    if (m_recorder.on()) {
        m_op = m_recorder.intern(key);
        m_savedOp = m_recorder.m_current;
        m_recorder.m_current = m_op;
    }
    if (m_recorder.m_device) {
        m_mark = m_recorder.m_device->mark(key.kind == SliceKind::Kernel);
        return;
    }
    if (m_recorder.m_timesKernels && key.kind == SliceKind::Kernel) beginKernel(key);
    m_start = m_recorder.now();
}

void Recorder::beginStep(std::int64_t step)
{
    m_step = step;
    if (m_disturbance.empty()) return;
    m_slowness = m_disturbance.slowness(step);
    m_pause = m_disturbance.pause(step);
    m_kernelsLastStep = m_kernelsOfStep;
    m_kernelsOfStep = 0;
}

void Recorder::endRest(Instant at)
{
    if (const auto since = std::exchange(m_restsSince, std::nullopt); since && on() && *since < at)
        slice(SliceKind::Phase, intern({.name = kBetweenStepsName, .kind = SliceKind::Phase}), *since, at);
}

void Recorder::standStill(Duration duration)
{
    if (m_virtual)
        m_virtualNow = m_virtualNow + duration;
    else
        delay(duration);
}

void Scope::beginKernel(const OpKey& key)
{
    if (m_recorder.m_insideKernel) return; // what contains this one counts
    const auto kernel = static_cast<double>(m_recorder.m_kernelsOfStep++);
    if (m_recorder.m_pause.length.ns > 0 &&
        kernel >= m_recorder.m_pause.at * static_cast<double>(m_recorder.m_kernelsLastStep))
        m_recorder.standStill(std::exchange(m_recorder.m_pause, {}).length);
    m_recorder.m_insideKernel = true;
    if (m_recorder.m_virtual)
        m_kernelTime = &m_recorder.m_kernelTimes.entry({key.name, key.flops, key.bytes, key.shape});
    m_cpuStart = threadProcessorTime() - KernelMaking::spent();
}

void Scope::endKernel()
{
    m_recorder.m_insideKernel = false;
    const Duration taken{threadProcessorTime() - KernelMaking::spent() - m_cpuStart};
    const double slowness = m_recorder.m_slowness;
    if (m_kernelTime) {
        const Duration time = m_kernelTime->take(taken);
        m_recorder.m_virtualNow =
            m_recorder.m_virtualNow + Duration{std::llround(static_cast<double>(time.ns) * slowness)};
    } else {
        workOn(Duration{std::llround(static_cast<double>(taken.ns) * (slowness - 1))});
    }
}

void Scope::end()
{
    if (m_recorder.m_device) {
        if (m_recorder.on()) {
            auto& p = m_recorder.pend(Recorder::Pending::What::Slice, m_kind == SliceKind::Kernel);
            p.from = m_mark;
            p.kind = m_kind;
            p.op = m_op;
            p.flops = m_flops;
            m_recorder.m_current = m_savedOp;
        }
        return;
    }
    if (m_cpuStart >= 0) endKernel();
    const Instant now = m_recorder.now();
    if (m_recorder.on()) m_recorder.slice(m_kind, m_op, m_start, now);
    if (m_flops >= kTimeableFlops && now > m_start)
        m_recorder.m_fastest = std::max(m_recorder.m_fastest, m_flops / (now - m_start).seconds());
    if (m_savedOp || m_recorder.on()) m_recorder.m_current = m_savedOp;
}

Recorder::Pending& Recorder::pend(Pending::What what, bool fresh)
{
    ++m_events;
    Pending& p = m_pending.emplace_back();
    p.what = what;
    p.microbatch = m_microbatch;
    p.from = p.to = m_device->mark(fresh);
    return p;
}

void Recorder::handOver(const Pending& p, Instant from, Instant to)
{
    switch (p.what) {
    case Pending::What::Slice:
        m_producer->slice({trackOf(p.kind), p.op, from, to - from, p.microbatch, std::nullopt});
        if (p.flops >= kTimeableFlops && to > from) m_fastest = std::max(m_fastest, p.flops / (to - from).seconds());
        break;
    case Pending::What::Allocated: {
        AllocationRecord record = p.allocation;
        record.at = to;
        m_producer->allocated(m_rank, record);
        break;
    }
    case Pending::What::Freed: m_producer->freed(m_rank, p.allocation.id, to); break;
    case Pending::What::Counter: m_producer->counter({p.counter, to, p.flops}); break;
    }
}

void Recorder::settle()
{
    if (!m_device) return;
    if (!on() || (m_pending.empty() && !m_alsoSettle)) return m_device->settle();
    m_device->resolveMarks(m_marks);
    if (m_marks.empty()) return m_pending.clear();
    // Two readings of the two clocks differ by microseconds; time never goes back.
    const auto at = [this](std::uint32_t mark) {
        return std::max(m_resolved, Instant{m_marks[std::min<std::size_t>(mark, m_marks.size() - 1)] - m_originNs});
    };
    for (const Pending& p : m_pending) handOver(p, at(p.from), at(p.to));
    if (m_alsoSettle) m_alsoSettle(at);
    m_resolved = at(static_cast<std::uint32_t>(m_marks.size() - 1));
    m_pending.clear();
}

double Recorder::calibrateEventCost()
{
    MemorySink sink;
    Recorder recorder(&sink, RankId{0}, ClockOrigin::now());
    const auto burst = [&recorder](int count) {
        for (int i = 0; i < count; ++i) {
            // The mix of a training step: about two slices for every allocation and free.
            Scope outer(recorder, SliceKind::Operator, "calibration", Phase::Forward, i & 31);
            Scope inner(recorder, "calibration", 1.0, 1, {1, 1, 1, 1});
            recorder.allocated(AllocationId{i}, 64, nullptr, MemoryCategory::Other);
            recorder.freed(AllocationId{i});
        }
    };
    burst(1000); // fills the table and touches the memory
    const std::int64_t eventsBefore = recorder.events();
    const std::int64_t begin = readNs(CLOCK_MONOTONIC);
    burst(10000);
    const std::int64_t end = readNs(CLOCK_MONOTONIC);
    return static_cast<double>(end - begin) / static_cast<double>(recorder.events() - eventsBefore);
}

} // namespace fourwalls::engine
