// SPDX-License-Identifier: Apache-2.0
// See gpu_run.h. GPUs are counted as CUDA_VISIBLE_DEVICES has them: all ranks share the first one, or with NCCL rank r has
// the r-th for itself.
#include "profiler/engine/gpu/gpu_run.h"

#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/gpu/gpu_description.h"
#include "profiler/engine/gpu/gpu_device.h"
#include "profiler/engine/gpu/nccl_world.h"
#include "profiler/engine/train/server_protocol.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace fourwalls::engine {

namespace {

constexpr int kGpu = 0;

// Left to the CUDA context and to what the libraries take for themselves, and to NCCL's buffers.
constexpr std::int64_t kLeftOver = 768ll << 20;
constexpr std::int64_t kLeftToNccl = 1ll << 30;

Result<gpu::DeviceFacts> factsOfGpu()
{
    FOURWALLS_TRY_ASSIGN(const gpu::LoadedModule loaded, gpu::loadModule());
    gpu::DeviceFacts facts{};
    if (!loaded.module->facts(kGpu, &facts))
        return unsupported("device", "the NVIDIA driver does not describe its GPU", "--device cpu");
    return facts;
}

// NCCL's version.
Result<int> findNccl(const gpu::Module& module)
{
    int version = 0;
    char why[256] = {};
    if (!module.findGroups(&version, why, sizeof why))
        return unsupported("transport", why, "FOURWALLS_CUDA_LIBRARIES=its folder, or --transport local");
    return version;
}

// first: what the first GPU says.
Status checkNccl(int ranks, const gpu::DeviceFacts& first)
{
    FOURWALLS_TRY_ASSIGN(const gpu::LoadedModule loaded, gpu::loadModule());
    if (ranks > loaded.devices)
        return unsupported("transport",
                           "the plan has " + std::to_string(ranks) + " ranks, and NCCL wants a GPU for each: there " +
                               (loaded.devices == 1 ? "is 1" : "are " + std::to_string(loaded.devices)),
                           "a plan of fewer ranks, or --transport local, where they share a GPU");
    for (int device = 1; device < ranks; ++device) {
        gpu::DeviceFacts facts{};
        if (!loaded.module->facts(device, &facts) || std::string(facts.name) != first.name)
            return unsupported("transport",
                               "GPU " + std::to_string(device) + " (" + facts.name + ") and GPU 0 (" + first.name +
                                   ") differ, and a trace knows one kind",
                               "equal ones in CUDA_VISIBLE_DEVICES");
    }
    FOURWALLS_TRY(findNccl(*loaded.module));
    return {};
}

const gpu::Module& moduleOrThrow()
{
    const auto loaded = gpu::loadModule();
    if (!loaded) throw EngineError(loaded.error());
    return *loaded->module;
}

// A stream, a silent recorder and a device on it, to measure with.
struct Bench {
    GpuStream stream{moduleOrThrow(), kGpu};
    Recorder recorder{nullptr, RankId{0}, ClockOrigin::now()};
    Allocator allocator{recorder, 0, Allocator::Pool::Device, &stream};
    GpuDevice device;

    explicit Bench(bool tf32) : device(recorder, allocator, stream, tf32) {}

    // Seconds of f by the GPU's own clock, the quickest of `rounds`.
    template <class F>
    double seconds(int rounds, F f)
    {
        f(); // chooses algorithms
        std::vector<std::int64_t> times;
        for (int i = 0; i < rounds; ++i) {
            stream.mark(true);
            f();
            stream.mark(true);
        }
        stream.resolveMarks(times);
        std::int64_t least = INT64_MAX;
        for (std::size_t i = 1; i < times.size(); i += 2) least = std::min(least, times[i] - times[i - 1]);
        return static_cast<double>(std::max<std::int64_t>(least, 1)) * 1e-9;
    }
};

} // namespace

Result<GpuDescription> describeGpu()
{
    FOURWALLS_TRY_ASSIGN(const gpu::DeviceFacts facts, factsOfGpu());
    GpuDescription description;
    description.name = facts.name;
    description.memoryBytes = facts.memoryBytes;
    description.multiprocessors = facts.multiprocessors;
    description.family = facts.computeMajor == 8    ? facts.computeMinor == 9 ? "ada" : "ampere"
                         : facts.computeMajor == 9  ? "hopper"
                         : facts.computeMajor == 10 ? "blackwell"
                                                    : "";
    return description;
}

Status checkGpu(const RunSpec& spec, const RunOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const gpu::DeviceFacts facts, factsOfGpu());
    if (facts.computeMajor < 8)
        return unsupported("device",
                           std::string(facts.name) + " is older than what the kernels are compiled for (compute "
                                                     "capability 8.0)",
                           "an A100 or newer, or --device cpu");
    if (options.separateProcesses)
        return unsupported("transport", "ranks on a GPU are threads of one process", "--transport local, or nccl");
    if (options.nccl) FOURWALLS_TRY(checkNccl(ranksOf(spec.plan), facts));
    if (options.clock == ClockKind::Device)
        return unsupported("clock",
                           "the device clock takes the processor's time of the operators, and a GPU has its own",
                           "--clock wall");
    if (!options.disturbances.empty()) return unsupported("disturbance", "a GPU cannot be slowed down", "--device cpu");
    const Precision precision = spec.training.precision;
    if (precision != Precision::F32 && precision != Precision::Tf32 && precision != Precision::Bf16)
        return unsupported("precision", "the CUDA engine computes in f32, tf32 or bf16", "--precision bf16");
    if (spec.model.resnet() && facts.cudnnVersion == 0)
        return unsupported("device", "libcudnn.so.9 is not found, and convolutions need it",
                           "FOURWALLS_CUDA_LIBRARIES=its folder, or --device cpu");
    return {};
}

void useGpu(WorldOptions& world, bool tf32, bool nccl)
{
    world.makeMemory = [nccl](RankId rank) {
        return std::make_unique<GpuStream>(moduleOrThrow(), nccl ? rank.value : kGpu);
    };
    world.makeDevice = [tf32](Recorder& recorder, Allocator& allocator) -> std::unique_ptr<Device> {
        // cuBLAS and cuDNN obey it whatever they are asked for.
        if (const char* forced = std::getenv("NVIDIA_TF32_OVERRIDE"))
            recorder.event(EventKind::Annotation, "NVIDIA_TF32_OVERRIDE=" + std::string(forced));
        return std::make_unique<GpuDevice>(recorder, allocator, static_cast<GpuStream&>(*allocator.memory()), tf32);
    };
    if (nccl) world.collectives = std::make_shared<NcclWorld>(moduleOrThrow(), *findNccl(moduleOrThrow()));
    if (const auto description = describeGpu()) {
        const std::int64_t whole = description->memoryBytes - kLeftOver;
        const std::int64_t share = nccl ? whole - kLeftToNccl : whole / std::max(1, world.plan.worldSize());
        world.memoryLimit = world.memoryLimit > 0 ? std::min(world.memoryLimit, share) : share;
    }
}

MachinePeak measureGpuPeak(DType compute, bool tf32)
{
    Bench bench(tf32);
    MachinePeak peak;
    const auto make = [&](std::int64_t n) {
        const Tensor t = Tensor::make(bench.allocator, {n, n}, compute, MemoryCategory::Other);
        bench.device.zero(t);
        return t;
    };
    for (const std::int64_t n : {4096, 8192}) {
        const Tensor a = make(n), b = make(n), c = make(n);
        const double seconds = bench.seconds(4, [&] { bench.device.matmul(matrix(a), matrix(b), matrix(c)); });
        peak.flops = std::max(peak.flops, 2.0 * static_cast<double>(n * n * n) / seconds);
    }
    constexpr std::int64_t elements = 64 << 20; // beyond any second-level cache
    const auto array = [&] {
        const Tensor t = Tensor::make(bench.allocator, {elements}, DType::F32, MemoryCategory::Other);
        bench.device.zero(t);
        return t;
    };
    const Tensor x = array(), y = array(), z = array();
    const double seconds = bench.seconds(4, [&] { bench.device.add(x, y, z); });
    peak.bytesPerSecond = static_cast<double>(3 * x.bytes()) / seconds;
    return peak;
}

double gpuMarkCost()
{
    GpuStream stream(moduleOrThrow(), kGpu);
    return 2 * stream.markCost();
}

} // namespace fourwalls::engine
