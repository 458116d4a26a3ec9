// SPDX-License-Identifier: Apache-2.0
// See run.h.
#include "profiler/engine/run.h"

#include "model/spec/rank_layout.h"
#include "profiler/engine/comm/cluster_links.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/machine_peak.h"
#include "profiler/engine/gpu/gpu_run.h"
#include "profiler/engine/run_limits.h"
#include "profiler/engine/train/kernel_table.h"
#include "profiler/engine/train/parameter_server.h"
#include "profiler/engine/train/rank_world.h"
#include "profiler/engine/train/served_worker.h"
#include "profiler/engine/train/trainer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <ctime>
#include <mutex>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace fourwalls::engine {

namespace {

NumberFormat formatOf(Precision precision)
{
    return precision == Precision::Bf16 ? NumberFormat{DType::Bf16, DType::F32} : NumberFormat{DType::F32, DType::F32};
}

Duration threadCpu()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return {t.tv_sec * 1'000'000'000ll + t.tv_nsec};
}

void tell(const RunCallbacks& callbacks, const std::string& message)
{
    if (callbacks.onMessage) callbacks.onMessage(message);
}

// All of one run: what its ranks share and what they come to.
class Run {
public:
    Run(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks)
        : m_spec(spec)
        , m_options(options)
        , m_callbacks(callbacks)
        , m_medians(ranksOf(spec.plan), [this] { return m_failed.load(); })
    {
        m_report.ranks.resize(static_cast<std::size_t>(ranksOf(spec.plan)));
    }

    Result<RunReport> go()
    {
        const NumberFormat format = formatOf(m_spec.training.precision);
        if (const Status probed = probe(format); !probed.ok()) {
            // Only of processes: another one was lost before this one's recording began.
            Recorder(m_options.sink, m_options.processes->rank(), m_options.origin)
                .event(EventKind::Fault, probed.error().what);
            return probed.error();
        }
        FOURWALLS_TRY(findCheckpoint());
        const bool sharesTable = m_options.clock == ClockKind::Device && !m_options.kernelTimesFile.empty();
        if (sharesTable) {
            FOURWALLS_TRY_ASSIGN(KernelMedians::Table table, readKernelTable(m_options.kernelTimesFile));
            m_medians.reuse(std::move(table));
        }
        WorldOptions world;
        world.plan = worldOf(m_spec.plan);
        world.format = format;
        world.sink = m_options.sink;
        world.origin = m_options.origin;
        world.memoryLimit = memoryLimit(m_spec);
        world.ranksPerNode = ranksPerNode(m_spec.cluster);
        world.deviceClock = m_options.clock == ClockKind::Device;
        if (world.deviceClock) {
            world.links = clusterLinks(m_spec.cluster, m_options.linkFaults);
            world.collectiveLinks = collectiveLinks(m_spec.cluster);
        }
        if (onGpu(m_spec)) useGpu(world, m_spec.training.precision == Precision::Tf32, m_options.nccl);
        m_collectives = world.collectives;
        world.onFailure = [this] { m_failed = true; };
        world.processes = m_options.processes;
        world.hang = m_options.hang;
        const Status status = runRanks(world, [this](RankSlot& slot) { return runRank(slot); });
        if (!status.ok()) return status.error();
        if (sharesTable && (!m_options.processes || m_options.processes->rank().value == 0))
            FOURWALLS_TRY(writeKernelTable(m_options.kernelTimesFile, m_medians.table()));
        summarize();
        if (m_options.processes) FOURWALLS_TRY(exchangeReports());
        return std::move(m_report);
    }

private:
    // The checkpoint to go on from, if one is asked for.
    Status findCheckpoint()
    {
        if (m_options.resumeFolder.empty()) return {};
        std::vector<std::string> torn;
        FOURWALLS_TRY_ASSIGN(m_saved, newestState(m_options.resumeFolder, m_spec, torn));
        for (const std::string& each : torn) tell(m_callbacks, "torn, and left alone: " + each);
        const std::int64_t left = m_spec.training.steps - m_saved->step;
        const std::int64_t least = m_options.clock == ClockKind::Device ? 3 : 1;
        if (left < least)
            return Error{ErrorCode::InvalidArgument,
                         "the checkpoint has " + std::to_string(m_saved->step) + " of " +
                             std::to_string(m_spec.training.steps) + " steps behind it, too many to go on",
                         m_saved->directory, "more --steps"};
        m_report.firstStep = m_saved->step;
        return {};
    }

    // Measures the machine before anything runs on it; in a thread of its own, whose OpenMP settings it changes. Of
    // several processes rank 0 does it, while the others wait.
    Status probe(const NumberFormat& format)
    {
        ProcessWorld* const processes = m_options.processes;
        const bool measures = m_options.measurePeak && (!processes || processes->rank().value == 0);
        const bool gpu = onGpu(m_spec), tf32 = m_spec.training.precision == Precision::Tf32;
        if (measures) tell(m_callbacks, gpu ? "measuring the peak of the GPU" : "measuring the peak of one core");
        Status waited;
        std::thread([&] {
            useSingleThread();
            const auto lost = [processes] { return processes && processes->meeting().lost().has_value(); };
            try {
                if (measures)
                    m_peak = gpu ? measureGpuPeak(format.compute, tf32) : measureMachinePeak(format.compute, lost);
            } catch (const EngineError&) {
                // No memory for it: the peak stays unknown.
            }
            if (processes)
                if (const auto all = processes->meeting().gather("probe", ""); !all) waited = all.error();
            if (!m_options.sink || !waited.ok()) return;
            m_eventCostNs = Recorder::calibrateEventCost();
            try {
                if (gpu) m_eventCostNs += gpuMarkCost();
            } catch (const EngineError&) {
                // The run itself will say what is wrong with the GPU.
            }
        }).join();
        return waited;
    }

    // Whether all ranks stop before a step: who gets there first decides; between processes, rank 0.
    bool stopsBefore(std::int64_t step)
    {
        if (m_options.processes) return processesStopBefore(step);
        const std::lock_guard lock(m_mutex);
        if (step >= m_decided) {
            m_decided = step + 1;
            m_stops = m_options.stop.stop_requested();
        }
        return m_stops;
    }

    // Any process may be asked to stop. Rank 0 decides a step ahead, so that the others have its word when they get there.
    bool processesStopBefore(std::int64_t step)
    {
        MeetingPoint& meeting = m_options.processes->meeting();
        const auto name = [](std::int64_t number) { return "step/" + std::to_string(number); };
        const bool wanted = m_options.stop.stop_requested();
        if (wanted && !std::exchange(m_stopTold, true)) meeting.set("stop", "");
        if (m_options.processes->rank().value == 0) {
            if (step == m_report.firstStep) {
                meeting.ask("stop");
                meeting.set(name(step), "go");
            }
            const bool stops = wanted || meeting.has("stop");
            if (step + 1 < m_spec.training.steps) meeting.set(name(step + 1), stops ? "stop" : "go");
        }
        const auto word = meeting.get(name(step));
        if (!word) throw EngineError(word.error());
        if (step + 1 < m_spec.training.steps) meeting.ask(name(step + 1));
        return *word == "stop";
    }

    // What the other processes' ranks came to, on rank 0. All of them run this program.
    static_assert(std::is_trivially_copyable_v<RankReport>);
    Status exchangeReports()
    {
        const RankReport& own = m_report.ranks[static_cast<std::size_t>(m_options.processes->rank().value)];
        FOURWALLS_TRY_ASSIGN(const auto all,
                             m_options.processes->meeting().gather(
                                 "report", std::string(reinterpret_cast<const char*>(&own), sizeof own)));
        for (std::size_t i = 0; i < all.size() && i < m_report.ranks.size(); ++i)
            if (all[i].size() == sizeof own) std::memcpy(&m_report.ranks[i], all[i].data(), sizeof own);
        summarizeMemory();
        return {};
    }

    Status runRank(RankSlot& slot)
    {
        RankContext& rank = *slot.context;
        Recorder& recorder = rank.recorder;
        recorder.beginAt(m_report.firstStep);
        recorder.disturb(RankDisturbance(m_options.disturbances, m_spec, recorder.rank()));
        if (!m_options.blind)
            for (const std::string& each : recorder.disturbance().words())
                recorder.event(EventKind::Fault, "on purpose: " + each);

        RankReport& report = m_report.ranks[static_cast<std::size_t>(recorder.rank().value)];
        report.rank = recorder.rank();
        std::shared_ptr<void> kept; // what the rank has made, until its recording is closed
        if (m_spec.plan.parameterServer == ParameterServer::None)
            FOURWALLS_TRY(train(slot, report, kept));
        else if (isServer(m_spec.plan, recorder.rank()))
            FOURWALLS_TRY(serve(slot, kept));
        else
            FOURWALLS_TRY(trainServed(slot, report, kept));
        const MemoryStatistics& memory = rank.allocator.statistics();
        report.peakBytesByCategory = memory.categoryPeaks;
        report.peakBytes = memory.peakAllocated;
        report.peakReservedBytes = memory.peakReserved;
        const std::lock_guard lock(m_mutex);
        m_fastest = std::max(m_fastest, recorder.fastestKernel());
        // Who sends what to whom, NCCL does not say: readers of the trace draw their own conclusions from the records.
        if (slot.comm && !m_collectives) addTraffic(recorder.rank(), slot.comm->traffic);
        recorder.close(); // what is torn down from here on is no part of the run
        return {};
    }

    Status train(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept)
    {
        RankContext& rank = *slot.context;
        Recorder& recorder = rank.recorder;
        const bool first = recorder.rank().value == 0;
        std::shared_ptr<Trainer> trainer;
        {
            if (first) tell(m_callbacks, "building " + m_spec.model.name);
            const Scope setup(recorder, SliceKind::Phase, "setup", Phase::Setup);
            FOURWALLS_TRY_ASSIGN(trainer, Trainer::create(rank, m_spec));
            kept = trainer;
            if (!m_options.loadWeightsDirectory.empty()) {
                const Scope load(recorder, SliceKind::Checkpoint, "load weights", Phase::CheckpointLoad, -1,
                                 trainer->loadedBytes());
                FOURWALLS_TRY(trainer->loadWeights(m_options.loadWeightsDirectory));
            }
            if (m_saved) {
                const Scope load(recorder, SliceKind::Checkpoint, "load checkpoint", Phase::CheckpointLoad, -1,
                                 trainer->loadedBytes() * trainer->tensorsPerParameter());
                FOURWALLS_TRY(trainer->loadState(*m_saved));
            }
        }
        if (m_saved && first) {
            recorder.event(EventKind::Checkpoint, "goes on from step " + std::to_string(m_saved->step));
            tell(m_callbacks, "goes on from " + m_saved->directory);
        }
        for (const auto& chunk : trainer->chunks()) report.parameters += chunk->parameters().elements();
        StateWriter writer;
        takeSteps(
            slot, [&](std::int64_t i) { return trainer->step(i); }, report,
            [&] { return trainer->evaluate(m_options.evaluateBatches); },
            [&](std::int64_t step) { saveState(*trainer, recorder, writer, step); },
            [&] { trainer->probeNoise(m_options.noiseBatches); });
        if (first) m_report.noise = trainer->noise();
        if (writer.busy()) {
            const Scope wait(recorder, SliceKind::Checkpoint, "wait for checkpoint", Phase::CheckpointSave);
            sayWritten(recorder, writer.finish());
        }
        if (trainer->hostPool()) report.peakHostBytes = trainer->hostPool()->statistics().peakAllocated;

        if (!m_options.saveWeightsDirectory.empty()) {
            const Scope save(recorder, SliceKind::Checkpoint, "save weights", Phase::CheckpointSave, -1,
                             trainer->savedBytes());
            FOURWALLS_TRY(trainer->saveWeights(m_options.saveWeightsDirectory));
            recorder.event(EventKind::Checkpoint, "weights saved");
        }
        return {};
    }

    // Beside the training only where the processor computes: another device's tensors are its own thread's.
    void saveState(Trainer& trainer, Recorder& recorder, StateWriter& writer, std::int64_t step)
    {
        const bool writes = recorder.rank().value == 0, beside = m_options.checkpointsBeside && !onGpu(m_spec);
        if (writes && writer.busy()) {
            const Scope wait(recorder, SliceKind::Checkpoint, "wait for checkpoint", Phase::CheckpointSave);
            sayWritten(recorder, writer.finish());
        }
        const Scope save(recorder, SliceKind::Checkpoint, "save checkpoint", Phase::CheckpointSave, -1,
                         trainer.savedBytes() * trainer.tensorsPerParameter());
        auto files = trainer.gatherState(step);
        if (!files.ok()) throw EngineError(files.error());
        if (!writes) return;
        m_savedStep = step;
        if (beside)
            writer.start(std::move(*files), m_options.checkpointFolder, m_spec);
        else
            sayWritten(recorder, files->write(m_options.checkpointFolder, m_spec));
    }

    // A checkpoint that cannot be written ends itself, not the run.
    void sayWritten(Recorder& recorder, const std::optional<Status>& written)
    {
        if (!written) return;
        if (written->ok())
            return recorder.event(EventKind::Checkpoint, "checkpoint after step " + std::to_string(m_savedStep - 1));
        recorder.event(EventKind::Fault, "no checkpoint: " + written->error().message());
        tell(m_callbacks, "no checkpoint: " + written->error().message());
    }

    // A worker of parameter servers.
    Status trainServed(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept)
    {
        RankContext& rank = *slot.context;
        const bool first = rank.recorder.rank().value == 0;
        std::shared_ptr<ServedWorker> worker;
        {
            if (first) tell(m_callbacks, "building " + m_spec.model.name);
            const Scope setup(rank.recorder, SliceKind::Phase, "setup", Phase::Setup);
            FOURWALLS_TRY_ASSIGN(worker, ServedWorker::create(rank, m_spec));
            kept = worker;
        }
        report.parameters = worker->parameters().elements();
        takeSteps(
            slot, [&](std::int64_t i) { return worker->step(i); }, report);
        if (first && !m_options.saveWeightsDirectory.empty()) {
            const Scope save(rank.recorder, SliceKind::Checkpoint, "save weights", Phase::CheckpointSave);
            FOURWALLS_TRY(worker->save(m_options.saveWeightsDirectory));
            rank.recorder.event(EventKind::Checkpoint, "weights saved");
        }
        worker->finish();
        return {};
    }

    Status serve(RankSlot& slot, std::shared_ptr<void>& kept)
    {
        RankContext& rank = *slot.context;
        Recorder& recorder = rank.recorder;
        std::shared_ptr<ParameterServerRank> server;
        {
            const Scope setup(recorder, SliceKind::Phase, "setup", Phase::Setup);
            FOURWALLS_TRY_ASSIGN(server, ParameterServerRank::create(rank, m_spec, m_options.loadWeightsDirectory));
            kept = server;
        }
        const std::int64_t warmup = recorder.firstMeasured(m_spec.training.steps);
        server->serve([&](std::int64_t step) {
            if (step == warmup && recorder.virtualClock()) recorder.kernelTimes().freeze(m_medians);
        });
        return {};
    }

    void takeSteps(RankSlot& slot, const std::function<StepProgress(std::int64_t)>& step, RankReport& report,
                   const std::function<double()>& evaluate = {}, const std::function<void(std::int64_t)>& save = {},
                   const std::function<void()>& probe = {})
    {
        Recorder& recorder = *slot.recorder;
        const bool first = recorder.rank().value == 0 || m_options.processes; // of those here
        const std::int64_t steps = m_spec.training.steps, measured = recorder.firstMeasured(steps);
        // The communication thread is idle between steps.
        const auto events = [&] {
            return recorder.events() + (slot.commThread ? slot.commThread->events() : 0) +
                   (m_collectives ? m_collectives->events(recorder.rank()) : 0);
        };
        const CounterId wallCounter = recorder.defineCounter("step_wall_ms", CounterUnit::None, true);
        const CounterId cpuCounter = recorder.defineCounter("step_cpu_ms", CounterUnit::None, true);
        std::int64_t eventsBefore = 0;
        std::vector<Tensor> kept; // what MemoryGrowth does not free
        for (std::int64_t i = m_report.firstStep; i < steps; ++i) {
            if (stopsBefore(i)) {
                if (first) m_report.stopped = true;
                break;
            }
            if (i == m_report.firstStep + 1 && i < measured) recorder.kernelTimes().restart();
            if (i == measured) {
                if (recorder.virtualClock()) recorder.kernelTimes().freeze(m_medians);
                eventsBefore = events();
                if (first && m_options.sink) m_sinkBefore = sinkTime();
            }
            recorder.beginStep(i);
            if (slot.flight) slot.flight->beginStep(i);
            if (const std::int64_t bytes = recorder.disturbance().growthBytes(); bytes > 0) {
                const Scope op(recorder, SliceKind::Operator, "remember");
                kept.push_back(Tensor::make(slot.context->allocator, {bytes / bytesOf(DType::F32)}, DType::F32,
                                            MemoryCategory::Other));
            }
            const Instant wall = recorder.wallNow();
            const Duration cpu = threadCpu();
            StepProgress progress = step(i);
            const Duration tookWall = recorder.wallNow() - wall, tookCpu = threadCpu() - cpu;
            recorder.counter(wallCounter, recorder.now(), tookWall.milliseconds());
            recorder.counter(cpuCounter, recorder.now(), tookCpu.milliseconds());
            if (i >= measured) {
                report.stepWall += tookWall;
                report.stepCpu += tookCpu;
            }
            if (save && m_options.checkpointEvery > 0 && (i + 1) % m_options.checkpointEvery == 0) save(i + 1);
            if (evaluate && m_options.evaluateEvery > 0 && (i + 1) % m_options.evaluateEvery == 0)
                progress.evaluationLoss = evaluate();
            if (probe && m_options.noiseEvery > 0 && (i + 1) % m_options.noiseEvery == 0) probe();
            if (!first) continue;
            m_report.steps.push_back(progress);
            if (m_callbacks.onStep) m_callbacks.onStep(progress);
        }
        report.events = events() - eventsBefore;
        if (first && m_options.sink) m_sinkTime = sinkTime() - m_sinkBefore;
    }

    void addTraffic(RankId from, const TrafficLedger& ledger)
    {
        for (const auto& [key, sum] : ledger.sums())
            m_report.closing.traffic.push_back(
                {key.first, from, key.second, std::llround(sum.payloadBytes), sum.wireBytes, sum.messages});
    }

    Duration sinkTime() const
    {
        const SinkStatistics s = m_options.sink->statistics();
        return s.waiting + s.writerCpu;
    }

    void summarize()
    {
        Duration stepping;
        std::int64_t events = 0;
        for (const RankReport& rank : m_report.ranks) {
            stepping += rank.stepWall;
            events += rank.events;
        }
        summarizeMemory();
        std::ranges::sort(m_report.closing.traffic, {},
                          [](const TrafficRecord& record) { return std::tuple(record.group, record.from, record.to); });
        m_report.parameters =
            m_report.ranks.size() == 1 ? m_report.ranks.front().parameters : parameterCount(m_spec.model);
        if (m_options.sink && stepping.ns > 0)
            m_report.closing.recorderOverheadFraction =
                (static_cast<double>(events) * m_eventCostNs + static_cast<double>(m_sinkTime.ns)) /
                static_cast<double>(stepping.ns);
        if (std::max(m_peak.flops, m_fastest) > 0) {
            m_report.closing.peakFlopsPerDevice = std::max(m_peak.flops, m_fastest);
            m_report.closing.peakSource = m_fastest > m_peak.flops ? "fastest operator" : "matrix-product sweep";
        }
        if (m_peak.bytesPerSecond > 0) m_report.closing.memoryBytesPerSecond = m_peak.bytesPerSecond;
    }

    void summarizeMemory()
    {
        for (const RankReport& rank : m_report.ranks) {
            m_report.peakReservedBytes = std::max(m_report.peakReservedBytes, rank.peakReservedBytes);
            if (rank.peakBytes < m_report.peakBytes) continue;
            m_report.peakBytes = rank.peakBytes;
            m_report.peakBytesByCategory = rank.peakBytesByCategory;
        }
    }

    const RunSpec& m_spec;
    const RunOptions& m_options;
    const RunCallbacks& m_callbacks;
    std::shared_ptr<DeviceCollectives> m_collectives; // null: none
    MachinePeak m_peak;
    double m_eventCostNs = 0;
    std::atomic<bool> m_failed{false};
    KernelMedians m_medians;
    RunReport m_report;                // each rank writes its own entry of ranks, rank 0 the steps
    Duration m_sinkBefore, m_sinkTime; // rank 0's

    std::optional<SavedState> m_saved; // to go on from
    std::int64_t m_savedStep = 0;      // rank 0's last checkpoint

    std::mutex m_mutex;
    std::int64_t m_decided = 0;
    bool m_stops = false;
    bool m_stopTold = false; // between processes
    double m_fastest = 0;
};

} // namespace

Result<RunReport> runTraining(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks)
{
    FOURWALLS_TRY(checkRunnable(spec, options));
    return Run(spec, options, callbacks).go();
}

} // namespace fourwalls::engine
