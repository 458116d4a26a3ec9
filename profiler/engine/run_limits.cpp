// SPDX-License-Identifier: Apache-2.0
// See run_limits.h, and checkRunnable in run.h.
#include "profiler/engine/run_limits.h"
#include "profiler/engine/train/server_protocol.h"

#include "model/base/format.h"
#include "model/base/machine_memory.h"
#include "profiler/engine/device/cpu_device.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/gpu/gpu_run.h"
#include "profiler/engine/nn/resnet.h"
#include "profiler/engine/plan_check.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/network.h"

#include <algorithm>
#include <string>
#include <utility>

namespace fourwalls::engine {

std::int64_t capacityOf(const RunSpec& spec)
{
    return spec.cluster.device.memoryBytes > 0 ? spec.cluster.device.memoryBytes : machineMemoryBytes();
}

bool onGpu(const RunSpec& spec)
{
    return spec.training.device == DeviceKind::Cuda;
}

// What the engine may take: the device's capacity, but no more than the machine has.
std::int64_t memoryLimit(const RunSpec& spec)
{
    if (onGpu(spec)) return spec.cluster.device.memoryBytes; // useGpu() knows what there is
    const std::int64_t machine = machineMemoryBytes();
    return machine > 0 ? std::min(machine, capacityOf(spec)) : capacityOf(spec);
}

namespace {

// Bytes that all ranks together need in any case: parameters with gradients and optimizer state, and the widest of what
// every layer keeps for its backward pass. A lower bound, so that what is refused could not have run. In double, because
// a model file may ask for anything.
double leastMemory(const RunSpec& spec)
{
    const TrainingSettings& training = spec.training;
    const double element = training.precision == Precision::Bf16 ? 2 : 4;
    const double samples = static_cast<double>(training.batch) / spec.plan.microbatches;
    const double states = training.optimizer == Optimizer::AdamW ? 16 : 12;
    if (const TransformerSpec* t = spec.model.transformer()) {
        const double layers = static_cast<double>(t->layers), hidden = static_cast<double>(t->hidden);
        // The heads' width; latent attention (two low-rank products instead of each) may take less than this counts.
        const double heads = t->latent.keyValueRank > 0 ? 0 : static_cast<double>(t->queryHidden());
        const double parameters =
            layers * hidden * (2 * std::min(hidden, heads) + 2 * static_cast<double>(t->ffnHidden)) +
            hidden * static_cast<double>(t->vocabulary);
        const double rows = samples * static_cast<double>(training.sequence);
        // Where stages differ, what the one keeps that recomputes most.
        Recompute most = spec.plan.recompute;
        for (const Recompute each : spec.plan.stageRecompute) most = std::max(most, each);
        const bool keepsScores = !spec.plan.fusedAttention && most == Recompute::None;
        const double scores = keepsScores ? static_cast<double>(t->heads) * static_cast<double>(training.sequence) : 0;
        const double perToken = most == Recompute::Full ? hidden
                                                        : 4 * hidden + 2 * std::min(hidden, heads) +
                                                              2 * static_cast<double>(t->ffnHidden) + scores;
        const double kept = layers * rows * perToken;
        return states * parameters + element * kept;
    }
    if (spec.model.recommendation()) return states * static_cast<double>(parameterCount(spec.model));
    const ResNetSpec* resnet = spec.model.resnet();
    const auto shape = resnet ? ResNetShape::of(*resnet) : std::nullopt;
    if (!shape) return 0;
    const double kept = samples * static_cast<double>(shape->keptElements());
    const auto parameters = static_cast<double>(parameterCount(spec.model));
    return (training.optimizer == Optimizer::AdamW ? 16 : 12) * parameters + element * kept;
}

Status checkMemory(const RunSpec& spec, const RunOptions& options)
{
    const bool processes = options.separateProcesses;
    const double needed = leastMemory(spec);
    const auto machine = static_cast<double>(machineMemoryBytes());
    const ParallelPlan& plan = spec.plan;
    // With offloading the host's memory counts, too. What hosts other processes may have, nobody here knows.
    const bool offloads = plan.offloadOptimizer || plan.offloadActivations || plan.offloadParameters;
    double capacity = 0; // 0: not known
    const char* whose = "there are";
    if (onGpu(spec)) {
        const auto gpu = describeGpu();
        if (!gpu || (offloads && machine <= 0)) return {};
        const bool several = options.nccl && plan.worldSize() > 1;
        capacity = static_cast<double>(gpu->memoryBytes) * (several ? plan.worldSize() : 1) + (offloads ? machine : 0);
        whose = several ? (offloads ? "the GPUs and the host have" : "the GPUs have")
                        : (offloads ? "the GPU and the host have" : "the GPU has");
    } else {
        capacity = static_cast<double>(capacityOf(spec)) * plan.worldSize();
        if (offloads) capacity = processes ? 0 : machine;
        if (machine > 0 && !processes) capacity = std::min(capacity, machine); // the ranks are threads of one process
    }
    if (capacity <= 0 || needed <= capacity) return {};
    const std::string text =
        "the run needs at least " + formatBytes(needed) + " of memory, and " + whose + " " + formatBytes(capacity);
    return Error{ErrorCode::Unsupported, text, spec.model.name,
                 "a smaller model, batch or sequence, or more micro-batches"};
}

// Beyond this, what pairs of ranks share would take gigabytes.
constexpr int kMostThreads = 128;

constexpr std::int64_t kMostEvaluationBatches = 1'000'000;

Status checkFaults(const RunSpec& spec, const RunOptions& options)
{
    const int world = ranksOf(spec.plan);
    const bool served = spec.plan.parameterServer != ParameterServer::None;
    const auto invalid = [](const Fault& fault, std::string what, std::string hint) {
        return Error{ErrorCode::InvalidArgument, std::move(what), textOf(fault), std::move(hint)};
    };
    const bool hasFewer = options.attempt > 0 && options.spares; // ranks than those whose faults these are
    for (const Fault& fault : options.faults) {
        if (hasFewer && fault.rank.value >= world) continue;
        if (fault.rank.value < 0 || fault.rank.value >= world)
            return invalid(fault, "there is no such rank", "0 to " + std::to_string(world - 1));
        if (fault.step < 0 || fault.step >= spec.training.steps)
            return invalid(fault, "there is no such step", "0 to " + std::to_string(spec.training.steps - 1));
        if (fault.kind == FaultKind::Spike && fault.step + 1 == spec.training.steps)
            return invalid(fault, "no step comes after it whose loss would show it", "an earlier step");
        if (fault.kind == FaultKind::Hang && world < 2 && !hasFewer)
            return invalid(fault, "one rank alone waits for nobody, and nobody would notice",
                           "a plan of several ranks");
        if (served && fault.kind != FaultKind::Hang && fault.kind != FaultKind::Slow)
            return Error{ErrorCode::Unsupported, "of parameter servers only hang and slow are possible", textOf(fault),
                         "ps=none"};
        const bool isAway = spec.plan.offloadParameters || spec.plan.offloadOptimizer;
        if (fault.kind == FaultKind::Flip && isAway)
            return Error{ErrorCode::Unsupported, "the weights are away in the host's memory", textOf(fault),
                         "offload=none"};
    }
    if (options.restarts < 0) return Error{ErrorCode::InvalidArgument, "cannot be negative", "restarts", "0 or more"};
    if (options.spares && (*options.spares < 0 || options.restarts == 0))
        return Error{ErrorCode::InvalidArgument, "are for a job that is restarted, and cannot be negative", "spares",
                     "0 or more, with --restarts"};
    if (options.restarts > 0 && served)
        return Error{ErrorCode::Unsupported, "parameter servers take no checkpoints to go on from", "restarts",
                     "ps=none"};
    if (options.restarts > 0 && options.clock == ClockKind::Device)
        return Error{ErrorCode::Unsupported, "failures and recovery take time of the wall clock only", "restarts",
                     "--clock wall"};
    for (const std::int64_t batch : options.skippedData)
        if (batch < 0) return Error{ErrorCode::InvalidArgument, "cannot be negative", "skipped data", "0 or more"};
    return {};
}

Status checkOptions(const RunSpec& spec, const RunOptions& options)
{
    const int world = ranksOf(spec.plan);
    const auto invalid = [](const char* field, std::string what, std::string hint) {
        return Error{ErrorCode::InvalidArgument, std::move(what), field, std::move(hint)};
    };
    const auto exists = [world](RankId rank) { return rank.value >= 0 && rank.value < world; };
    const std::string ranks = "0 to " + std::to_string(world - 1);
    RunSpec whole = spec; // the servers are ranks, too
    whole.plan = worldOf(spec.plan);
    whole.plan.parameterServer = spec.plan.parameterServer;
    for (const Disturbance& each : options.disturbances)
        if (options.attempt == 0 || !options.spares) FOURWALLS_TRY(checkDisturbance(each, whole));
    for (const LinkFault& fault : options.linkFaults) {
        if (!exists(fault.a) || !exists(fault.b) || fault.a == fault.b)
            return invalid("link", "there are no two such ranks", ranks);
        if (!(fault.bandwidthFactor > 0) || !(fault.loss >= 0) || fault.loss >= 1 || fault.addedLatency.ns < 0)
            return invalid("link", "the fault is out of range",
                           "bandwidth above 0, latency from 0, loss from 0 to below 1");
        if (options.clock != ClockKind::Device)
            return invalid("link", "links are modelled on the device clock only", "--clock device");
    }
    if (options.evaluateEvery < 0 || options.evaluateBatches < 1 || options.evaluateBatches > kMostEvaluationBatches)
        return invalid("evaluation", "the number of steps or batches is out of range",
                       "every 10 steps, for example, over 1 to " + std::to_string(kMostEvaluationBatches) + " batches");
    if (options.evaluateEvery > 0 && spec.plan.parameterServer != ParameterServer::None)
        return Error{ErrorCode::Unsupported, "workers of parameter servers have no evaluation phase", "evaluation",
                     "ps=none"};
    if (options.noiseEvery < 0 || options.noiseBatches < 2 || options.noiseBatches > kMostEvaluationBatches)
        return invalid("noise", "the number of steps or batches is out of range",
                       "every 10 steps, for example, over 2 to " + std::to_string(kMostEvaluationBatches) + " batches");
    if (options.noiseEvery > 0 && spec.plan.parameterServer != ParameterServer::None)
        return Error{ErrorCode::Unsupported, "workers of parameter servers do not measure gradient noise", "noise",
                     "ps=none"};
    const bool served = spec.plan.parameterServer != ParameterServer::None;
    if ((options.checkpointEvery > 0 || !options.resumeFolder.empty()) && served)
        return Error{ErrorCode::Unsupported, "parameter servers take no checkpoints", "checkpoint", "ps=none"};
    if (options.checkpointsBeside && !options.checkpointShards && onGpu(spec))
        return Error{ErrorCode::Unsupported, "--checkpoint-async puts the whole network together on the processor",
                     "--device cuda", "--checkpoint-async --checkpoint-sharded"};
    if (options.checkpointEvery < 0 || (options.checkpointEvery > 0 && options.checkpointFolder.empty()))
        return invalid("checkpoint", "the number of steps is out of range, or there is no folder", "every 10 steps");
    if (!options.resumeFolder.empty() && !options.loadWeightsDirectory.empty())
        return invalid("checkpoint", "weights to begin with and a checkpoint to go on from are two beginnings",
                       "one of both");
    FOURWALLS_TRY(checkFaults(spec, options));
    if (options.nccl && !onGpu(spec))
        return unsupported("transport", "NCCL is for GPUs", "--device cuda, or --transport local");
    if (options.separateProcesses) {
        if (options.processes && options.processes->size() != world)
            return invalid("plan",
                           "it has " + std::to_string(world) + " ranks, and there are " +
                               std::to_string(options.processes->size()) + " processes",
                           "as many processes as ranks");
        if (options.clock == ClockKind::Device)
            return unsupported("clock", "the device clock needs the ranks as threads of one process",
                               "--clock wall, or --transport local");
        if (spec.plan.parameterServer == ParameterServer::Async)
            return unsupported("ps", "asynchronous servers need the ranks as threads of one process",
                               "ps=sync, or --transport local");
    } else if (world > kMostThreads) {
        return unsupported("plan", "it has " + std::to_string(world) + " ranks, and each is a thread of this machine",
                           "at most " + std::to_string(kMostThreads) + " ranks");
    }
    if (options.clock == ClockKind::Device && spec.training.steps < 3)
        return invalid("clock", "the device clock needs 2 steps to measure the operators before the ones that count",
                       "at least 3 steps");
    return {};
}

} // namespace

Status checkRunnable(const RunSpec& spec, const RunOptions& options)
{
    FOURWALLS_TRY(checkPlan(spec));
    FOURWALLS_TRY(checkNetwork(spec));
    FOURWALLS_TRY(checkOptions(spec, options));
    if (onGpu(spec)) {
        FOURWALLS_TRY(checkGpu(spec, options));
        return checkMemory(spec, options);
    }
    if (spec.training.precision == Precision::Bf16 && !OneDnnMatmul::supportsBf16())
        return unsupported("precision", "oneDNN has no bf16 products for this processor (on x86-64 it needs AVX-512)",
                           "--precision f32");
    if (spec.training.precision != Precision::F32 && spec.training.precision != Precision::Bf16)
        return unsupported("precision", "the CPU engine computes in f32 or bf16", "--precision f32");
    return checkMemory(spec, options);
}

} // namespace fourwalls::engine
