// SPDX-License-Identifier: Apache-2.0
// What each rank of a run does: see run_attempt.h.
#include "model/trace/job_time.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/run_attempt.h"
#include "profiler/engine/run_limits.h"
#include "profiler/engine/train/parameter_server.h"
#include "profiler/engine/train/served_worker.h"
#include "profiler/engine/train/server_protocol.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fourwalls::engine {

Status RunAttempt::runRank(RankSlot& slot)
{
    RankContext& rank = *slot.context;
    Recorder& recorder = rank.recorder;
    recorder.beginAt(m_report.firstStep);
    recorder.kernelTimes().useGiven(m_medians);
    recordRecovery(recorder);
    if (m_options.spares && recorder.rank().value == 0)
        recorder.counter(recorder.defineCounter("ranks", CounterUnit::None, false), recorder.now(),
                         ranksOf(m_spec.plan));
    std::vector<Disturbance> disturbances = m_options.disturbances;
    for (const PendingFault& each : m_faults)
        if (each.fault.kind == FaultKind::Slow)
            disturbances.push_back({DisturbanceKind::SlowStep, each.fault.rank.value, kSlowFactor, each.fault.step});
    // A slower device of the cluster is a rank that computes longer.
    if (const double slowdown = m_spec.cluster.deviceOfRank(recorder.rank().value).slowdown; slowdown > 1)
        disturbances.push_back({DisturbanceKind::SlowRank, recorder.rank().value, slowdown, 0});
    recorder.disturb(RankDisturbance(disturbances, m_spec, recorder.rank()));
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
    // Who sends what to whom, NCCL does not say, and nobody of failed attempts: readers of the trace draw their own
    // conclusions from the records.
    if (slot.comm && !m_collectives && m_start.attempt == 0) addTraffic(recorder.rank(), slot.comm->traffic);
    recorder.close(); // what is torn down from here on is no part of the run
    return {};
}

void RunAttempt::recordRecovery(Recorder& recorder) const
{
    if (m_start.attempt == 0 || !recorder.on()) return;
    const OpId detection = recorder.intern({.name = kDetectionName, .kind = SliceKind::Phase});
    recorder.slice(SliceKind::Phase, detection, m_start.failedAt, m_start.detectedAt);
    const OpId restart = recorder.intern({.name = kRestartName, .kind = SliceKind::Phase, .phase = Phase::Setup});
    recorder.slice(SliceKind::Phase, restart, m_start.detectedAt, recorder.now());
    for (const std::int64_t number : m_start.newly) {
        const Fault& fault = m_options.faults[static_cast<std::size_t>(number)];
        const bool hadNoTime = fault.kind == FaultKind::Hang; // to say so itself
        if (hadNoTime && fault.rank == recorder.rank() && !m_options.blind)
            recorder.event(EventKind::Fault, "on purpose: " + textOf(fault), m_start.failedAt);
    }
    if (recorder.rank().value != 0) return;
    const int ranks = ranksOf(m_spec.plan);
    const std::string fewer = ranks == m_start.ranksBefore ? ""
                                                           : ", with " + std::to_string(ranks) + " ranks in place of " +
                                                                 std::to_string(m_start.ranksBefore);
    recorder.event(EventKind::Rollback, "goes on from step " + std::to_string(m_report.firstStep) + fewer +
                                            " after rank " + std::to_string(m_start.failed.value) +
                                            " has failed: " + m_start.why);
}

StepProgress RunAttempt::takeStep(Trainer& trainer, FaultPoints& points, LossWatch& watch, Recorder& recorder,
                                  std::int64_t step)
{
    const bool first = recorder.rank().value == 0;
    JobNotes* const notes = first ? m_options.notes : nullptr;
    if (notes && step == m_report.firstStep)
        notes->add({.what = JobNote::What::Begun, .step = step, .at = recorder.wallNow()});
    const std::int64_t batch = batchOf(step, m_skipped);
    points.before(step, batch);
    StepProgress progress = trainer.step(step);
    if (const auto problem = watch.look(step, progress.loss, progress.gradientNorm)) {
        if (first)
            recorder.event(EventKind::LossSpike,
                           *problem + ", with batch " + std::to_string(batch) + "; " + gradientWords(progress));
        if (m_options.restarts == 0) {
            watch.remember(progress.loss);
        } else {
            // By every rank: once the first one gives up, the others may get no further.
            if (m_options.notes)
                m_options.notes->add({.what = JobNote::What::Spiked, .step = step, .at = recorder.wallNow()});
            throw EngineError(ErrorCode::Internal, *problem, "training", "a lower --lr");
        }
    }
    if (notes)
        notes->add({.what = JobNote::What::Step,
                    .isWarmup = progress.warmup,
                    .step = step,
                    .at = recorder.wallNow(),
                    .loss = progress.loss,
                    .rate = progress.learningRate,
                    .norm = progress.gradientNorm,
                    .length = progress.duration});
    return progress;
}

Status RunAttempt::train(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept)
{
    RankContext& rank = *slot.context;
    Recorder& recorder = rank.recorder;
    const bool first = recorder.rank().value == 0;
    std::shared_ptr<Trainer> trainer;
    {
        const Scope setup(recorder, SliceKind::Phase, "setup", Phase::Setup);
        if (first) say("building " + m_spec.model.name);
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
    recorder.rest();
    if (m_saved && first) {
        recorder.event(EventKind::Checkpoint, "goes on from step " + std::to_string(m_saved->step));
        say("goes on from " + m_saved->directory);
    }
    for (const auto& chunk : trainer->chunks()) report.parameters += chunk->parameters().elements();
    trainer->skipData(m_skipped);
    FaultPoints points(m_options, rank, *trainer, m_faults);
    if (!m_faults.empty()) trainer->onGradients = [&points](const Trainer&) { points.during(); };
    LossWatch watch;
    for (const JobNote& note : m_start.steps)
        if (note.step < m_report.firstStep) watch.remember(note.loss);
    StateWriter writer;
    takeSteps(
        slot, [&](std::int64_t i) { return takeStep(*trainer, points, watch, recorder, i); }, report,
        [&] { return trainer->evaluate(m_options.evaluateBatches); },
        [&](std::int64_t step) { saveState(*trainer, recorder, writer, step); },
        [&](std::int64_t probe) { trainer->probeNoise(probe, m_options.noiseBatches); });
    if (first) m_report.noise = trainer->noise();
    waitForWriter(recorder, writer);
    checkWeights(*trainer, recorder);
    if (trainer->hostPool()) report.peakHostBytes = trainer->hostPool()->statistics().peakAllocated;

    if (!m_options.saveWeightsDirectory.empty()) {
        const Scope save(recorder, SliceKind::Checkpoint, "save weights", Phase::CheckpointSave, -1,
                         trainer->savedBytes());
        FOURWALLS_TRY(trainer->saveWeights(m_options.saveWeightsDirectory));
        recorder.event(EventKind::Checkpoint, "weights saved");
    }
    return {};
}

void RunAttempt::saveState(Trainer& trainer, Recorder& recorder, StateWriter& writer, std::int64_t step)
{
    checkWeights(trainer, recorder);
    const bool sharded = m_options.checkpointShards, writes = sharded || recorder.rank().value == 0;
    waitForWriter(recorder, writer);
    const std::int64_t ofWeights = sharded ? trainer.loadedBytes() : trainer.savedBytes();
    const Scope save(recorder, SliceKind::Checkpoint, "save checkpoint", Phase::CheckpointSave, -1,
                     ofWeights * trainer.tensorsPerParameter());
    auto files =
        sharded ? Result<StateFiles>(trainer.copyShard(step, m_options.checkpointFolder)) : trainer.gatherState(step);
    if (!files.ok()) throw EngineError(files.error());
    // What the checkpoint keeps, the trace keeps, whoever is killed next.
    if (m_options.processes && m_options.restarts > 0 && m_options.sink) m_options.sink->settle();
    if (!writes) return;
    if (m_options.checkpointsBeside)
        writer.start(std::move(*files), m_options.checkpointFolder, m_spec);
    else
        sayWritten(recorder, step, files->write(m_options.checkpointFolder, m_spec));
}

void RunAttempt::waitForWriter(Recorder& recorder, StateWriter& writer)
{
    if (!writer.busy()) return;
    const Scope wait(recorder, SliceKind::Checkpoint, "wait for checkpoint", Phase::CheckpointSave);
    const std::optional<WrittenState> written = writer.finish();
    const auto at = [&](std::chrono::steady_clock::time_point time) {
        return Instant{recorder.wallNow().ns -
                       std::chrono::nanoseconds(std::chrono::steady_clock::now() - time).count()};
    };
    recorder.written("write checkpoint", written->bytes, at(written->begin), at(written->end));
    sayWritten(recorder, written->step, written->whole);
}

void RunAttempt::checkWeights(const Trainer& trainer, Recorder& recorder) const
{
    if (m_options.restarts == 0) return;
    const Scope check(recorder, SliceKind::Checkpoint, "check weights", Phase::CheckpointSave);
    if (const auto problem = trainer.weightProblem())
        throw EngineError(ErrorCode::Internal, *problem, "training", "a memory test of that machine");
}

void RunAttempt::sayWritten(Recorder& recorder, std::int64_t step, const Result<bool>& whole)
{
    if (!whole.ok()) {
        recorder.event(EventKind::Fault, "no checkpoint: " + whole.error().message());
        say("no checkpoint: " + whole.error().message());
    } else if (*whole) {
        recorder.event(EventKind::Checkpoint, "checkpoint after step " + std::to_string(step - 1));
    }
}

Status RunAttempt::trainServed(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept)
{
    RankContext& rank = *slot.context;
    const bool first = rank.recorder.rank().value == 0;
    std::shared_ptr<ServedWorker> worker;
    {
        const Scope setup(rank.recorder, SliceKind::Phase, "setup", Phase::Setup);
        if (first) say("building " + m_spec.model.name);
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

Status RunAttempt::serve(RankSlot& slot, std::shared_ptr<void>& kept)
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

void RunAttempt::takeSteps(RankSlot& slot, const std::function<StepProgress(std::int64_t)>& step, RankReport& report,
                           const std::function<double()>& evaluate, const std::function<void(std::int64_t)>& save,
                           const std::function<void(std::int64_t)>& probe)
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
        if (m_stop->stopsBefore(i)) {
            if (first) m_report.stopped = true;
            break;
        }
        if (i == m_report.firstStep + 1 && i < measured) recorder.kernelTimes().restart();
        if (i == measured) {
            if (recorder.virtualClock()) recorder.kernelTimes().freeze(m_medians);
            eventsBefore = events();
            if (first && m_options.sink) m_sinkBefore = sinkTime();
        }
        if (m_cores) m_cores->beforeStep(recorder.rank().value, i);
        recorder.beginStep(i);
        if (slot.flight) slot.flight->beginStep(i);
        if (const std::int64_t bytes = recorder.disturbance().growthBytes(); bytes > 0) {
            const Scope op(recorder, SliceKind::Operator, "remember");
            kept.push_back(Tensor::make(slot.context->allocator, {bytes / bytesOf(DType::F32)}, DType::F32,
                                        MemoryCategory::Other));
        }
        const Instant wall = recorder.wallNow();
        const std::int64_t cpu = threadProcessorTime();
        StepProgress progress = step(i);
        const Duration tookWall = recorder.wallNow() - wall, tookCpu{threadProcessorTime() - cpu};
        const Instant last{progress.end.ns - 1}; // inside the step: its end is the next one's
        recorder.counter(wallCounter, last, tookWall.milliseconds());
        recorder.counter(cpuCounter, last, tookCpu.milliseconds());
        if (i >= measured) {
            report.stepWall += tookWall;
            report.stepCpu += tookCpu;
        }
        if (save && m_options.checkpointEvery > 0 && (i + 1) % m_options.checkpointEvery == 0) save(i + 1);
        if (evaluate && m_options.evaluateEvery > 0 && (i + 1) % m_options.evaluateEvery == 0)
            progress.evaluationLoss = evaluate();
        if (probe && m_options.noiseEvery > 0 && (i + 1) % m_options.noiseEvery == 0) probe(i / m_options.noiseEvery);
        if (!first) continue;
        m_report.steps.push_back(progress);
        if (m_callbacks.onStep) m_callbacks.onStep(progress);
    }
    report.events = events() - eventsBefore;
    if (first && m_options.sink) m_sinkTime = sinkTime() - m_sinkBefore;
}

} // namespace fourwalls::engine
