// SPDX-License-Identifier: Apache-2.0
// See run.h.
#include "profiler/engine/run.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/device/machine_peak.h"
#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/train/safetensors.h"
#include "profiler/engine/train/trainer.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>
#include <unistd.h>

namespace fourwalls::engine {

namespace {

Error unsupported(const std::string& field, std::string what, std::string hint)
{
    return {ErrorCode::Unsupported, std::move(what), field, std::move(hint)};
}

Status checkPlan(const ParallelPlan& plan)
{
    if (plan.worldSize() != 1 || plan.ep != 1 || plan.vpp != 1)
        return unsupported("plan", "the engine of this version runs one rank",
                           "a plan without dp, tp, pp, cp, ep, vpp");
    if (plan.zero != 0) return unsupported("zero", "there is nothing to shard over on one rank", "zero=0");
    if (plan.sequenceParallel) return unsupported("sp", "there is nothing to split over on one rank", "sp=0");
    if (plan.recompute != Recompute::None)
        return unsupported("recompute", "the engine of this version keeps all activations", "recompute=none");
    if (plan.offloadOptimizer || plan.offloadActivations || plan.offloadParameters)
        return unsupported("offload", "the engine of this version does not offload", "offload=none");
    if (plan.parameterServer != ParameterServer::None)
        return unsupported("ps", "the engine of this version has no parameter servers", "ps=none");
    return {};
}

NumberFormat formatOf(Precision precision)
{
    return precision == Precision::Bf16 ? NumberFormat{DType::Bf16, DType::F32} : NumberFormat{DType::F32, DType::F32};
}

std::string hostName()
{
    char name[256] = {};
    return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::int64_t capacityOf(const RunSpec& spec)
{
    return spec.cluster.device.memoryBytes > 0 ? spec.cluster.device.memoryBytes : machineMemoryBytes();
}

// What the engine may take: the device's capacity, but no more than the machine has.
std::int64_t memoryLimit(const RunSpec& spec)
{
    const std::int64_t machine = machineMemoryBytes();
    return machine > 0 ? std::min(machine, capacityOf(spec)) : capacityOf(spec);
}

// Bytes that the run needs in any case: parameters with gradients and optimizer state, and the widest of what every
// layer keeps for its backward pass. A lower bound, so that what is refused could not have run. In double, because a
// model file may ask for anything.
double leastMemory(const RunSpec& spec)
{
    const TrainingSettings& training = spec.training;
    const double element = training.precision == Precision::Bf16 ? 2 : 4;
    const double samples = static_cast<double>(training.batch) / spec.plan.microbatches;
    const double states = training.optimizer == Optimizer::AdamW ? 16 : 12;
    if (const TransformerSpec* t = spec.model.transformer()) {
        const double layers = static_cast<double>(t->layers), hidden = static_cast<double>(t->hidden);
        const double parameters = layers * hidden * (2 * hidden + 2 * static_cast<double>(t->ffnHidden)) +
                                  hidden * static_cast<double>(t->vocabulary);
        const double rows = samples * static_cast<double>(training.sequence);
        const double scores =
            spec.plan.fusedAttention ? 0 : static_cast<double>(t->heads) * static_cast<double>(training.sequence);
        const double kept = layers * rows * (6 * hidden + 2 * static_cast<double>(t->ffnHidden) + scores);
        return states * parameters + element * kept;
    }
    const ResNetSpec* resnet = spec.model.resnet();
    const auto shape = resnet ? ResNetShape::of(*resnet) : std::nullopt;
    if (!shape) return 0;
    const double kept = samples * static_cast<double>(shape->keptElements());
    const auto parameters = static_cast<double>(parameterCount(spec.model));
    return (training.optimizer == Optimizer::AdamW ? 16 : 12) * parameters + element * kept;
}

Status checkMemory(const RunSpec& spec)
{
    const double needed = leastMemory(spec);
    const std::int64_t capacity = memoryLimit(spec);
    if (capacity == 0 || needed <= static_cast<double>(capacity)) return {};
    char text[160];
    std::snprintf(text, sizeof text, "the run needs at least %.1f GB of memory, and there are %.1f GB", needed * 1e-9,
                  static_cast<double>(capacity) * 1e-9);
    return Error{ErrorCode::InvalidArgument, text, spec.model.name,
                 "a smaller model, batch or sequence, or more micro-batches"};
}

void tell(const RunCallbacks& callbacks, const std::string& message)
{
    if (callbacks.onMessage) callbacks.onMessage(message);
}

// What the recorder and the sink have cost between two moments.
struct RecordingCost {
    std::int64_t events = 0;
    Duration sinkTime;

    static RecordingCost read(const Recorder& recorder, const TraceSink& sink)
    {
        const SinkStatistics s = sink.statistics();
        return {recorder.events(), s.waiting + s.writerCpu};
    }
};

// All of a one-rank run, inside the rank's thread. Throws EngineError.
Result<RunReport> runRank(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks)
{
    useSingleThread();
    const NumberFormat format = formatOf(spec.training.precision);
    RunReport report;
    MachinePeak peak;
    if (options.measurePeak) {
        tell(callbacks, "measuring the peak of one core");
        peak = measureMachinePeak(format.compute);
    }
    const double eventCostNs = options.sink ? Recorder::calibrateEventCost() : 0.0;

    Recorder recorder(options.sink, RankId{0}, options.sink ? options.origin : ClockOrigin::now());
    Allocator allocator(recorder, memoryLimit(spec));
    CpuDevice device(recorder, allocator);
    RankContext rank{recorder, allocator, device, format};

    std::unique_ptr<Trainer> trainer;
    {
        tell(callbacks, "building " + spec.model.name);
        const Scope setup(recorder, SliceKind::Phase, "setup", Phase::Setup);
        FOURWALLS_TRY_ASSIGN(trainer, Trainer::create(rank, spec));
        if (!options.loadWeightsDirectory.empty()) {
            const Scope load(recorder, SliceKind::Checkpoint, "load weights", Phase::CheckpointLoad);
            FOURWALLS_TRY(loadWeights(rank, options.loadWeightsDirectory, trainer->model().parameters()));
        }
    }
    report.parameters = trainer->model().parameters().elements();

    RecordingCost before;
    Duration measured;
    const std::int64_t firstMeasured = spec.training.steps >= 3 ? 1 : 0;
    for (std::int64_t i = 0; i < spec.training.steps; ++i) {
        if (options.stop.stop_requested()) {
            report.stopped = true;
            break;
        }
        if (i == firstMeasured && options.sink) before = RecordingCost::read(recorder, *options.sink);
        report.steps.push_back(trainer->step(i));
        if (i >= firstMeasured) measured += report.steps.back().duration;
        if (callbacks.onStep) callbacks.onStep(report.steps.back());
    }
    if (options.sink && measured.ns > 0) {
        const RecordingCost after = RecordingCost::read(recorder, *options.sink);
        const double recording = static_cast<double>(after.events - before.events) * eventCostNs;
        report.closing.recorderOverheadFraction =
            (recording + static_cast<double>((after.sinkTime - before.sinkTime).ns)) / static_cast<double>(measured.ns);
    }
    if (!options.saveWeightsDirectory.empty()) {
        const Scope save(recorder, SliceKind::Checkpoint, "save weights", Phase::CheckpointSave);
        FOURWALLS_TRY(saveWeights(options.saveWeightsDirectory, trainer->model().parameters()));
        recorder.event(EventKind::Checkpoint, "weights saved");
    }

    const double fastest = recorder.fastestKernel();
    if (std::max(peak.flops, fastest) > 0) {
        report.closing.peakFlopsPerDevice = std::max(peak.flops, fastest);
        report.closing.peakSource = fastest > peak.flops ? "fastest operator" : "matrix-product sweep";
    }
    if (peak.bytesPerSecond > 0) report.closing.memoryBytesPerSecond = peak.bytesPerSecond;
    const MemoryStatistics& memory = allocator.statistics();
    report.peakBytesByCategory = memory.categoryPeaks;
    report.peakBytes = memory.peakAllocated;
    report.peakReservedBytes = memory.peakReserved;
    recorder.close(); // what is torn down from here on is no part of the run
    return report;
}

} // namespace

Status checkRunnable(const RunSpec& spec)
{
    FOURWALLS_TRY(checkPlan(spec.plan));
    FOURWALLS_TRY(checkNetwork(spec));
    if (spec.training.device != DeviceKind::Cpu)
        return unsupported("device", "this build of the engine computes on the CPU", "--device cpu");
    if (spec.training.precision == Precision::Bf16 && !OneDnnMatmul::supportsBf16())
        return unsupported("precision", "this processor has no bf16 arithmetic that oneDNN can use (AVX-512 is needed)",
                           "--precision f32");
    if (spec.training.precision != Precision::F32 && spec.training.precision != Precision::Bf16)
        return unsupported("precision", "the CPU engine computes in f32 or bf16", "--precision f32");
    return checkMemory(spec);
}

TraceHeader describeRun(const RunSpec& spec, const ClockOrigin& origin)
{
    TraceHeader header;
    header.source = TraceSource::Recorded;
    header.clock = ClockKind::Wall;
    header.spec = spec;
    header.producer = "fourwalls " FOURWALLS_VERSION;
    header.computeLabel = "measured";
    header.communicationLabel = "none";
    header.originUnixNs = origin.unixNs;
    RankInfo rank;
    rank.rank = RankId{0};
    rank.device = CpuDevice::processorName() + ", one core";
    rank.host = hostName();
    rank.memoryBytes = capacityOf(spec);
    header.ranks.push_back(rank);
    return header;
}

Result<RunReport> runTraining(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks)
{
    FOURWALLS_TRY(checkRunnable(spec));
    // A thread of its own, so that the caller's OpenMP settings stay as they are.
    std::optional<Result<RunReport>> result;
    std::thread thread([&] {
        try {
            result.emplace(runRank(spec, options, callbacks));
        } catch (const EngineError& error) {
            result.emplace(error.error());
        } catch (const std::bad_alloc&) {
            result.emplace(Error{ErrorCode::Internal, "out of memory", "training", "a smaller model or batch"});
        } catch (const std::exception& error) {
            result.emplace(Error{ErrorCode::Internal, error.what(), "training", ""});
        }
    });
    thread.join();
    return std::move(*result);
}

} // namespace fourwalls::engine
