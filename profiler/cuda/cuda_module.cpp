// SPDX-License-Identifier: Apache-2.0
// The module's table: driver and GPUs, memory, order and events, and the way to the kernels.
#include "profiler/cuda/cuda_stream.h"
#include "profiler/engine/gpu/kernel_list.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <thread>

namespace fourwalls::engine::gpu {

void* openLibrary(std::initializer_list<const char*> names)
{
    std::string folders = std::getenv("FOURWALLS_CUDA_LIBRARIES") ? std::getenv("FOURWALLS_CUDA_LIBRARIES") : "";
    folders += "::/usr/local/cuda/lib64:/usr/local/cuda/lib"; // an empty one: where the system looks
    for (const char* name : names) {
        if (void* loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return loaded;
        for (std::size_t begin = 0; begin <= folders.size();) {
            const std::size_t end = std::min(folders.find(':', begin), folders.size());
            const std::string folder = folders.substr(begin, end - begin);
            const std::string path = folder.empty() ? name : folder + "/" + name;
            if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
            begin = end + 1;
        }
    }
    return nullptr;
}

namespace {

bool startModule(int* count, char* why, int whySize)
{
    *count = 0;
    // A kernel that is loaded at its first launch waits for the whole GPU, which may be waiting for another rank's kernel
    // in a collective: all are loaded at the start. Whoever sets the variable knows better.
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    int driver = 0, runtime = 0;
    cudaRuntimeGetVersion(&runtime);
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
        std::snprintf(why, static_cast<std::size_t>(whySize), "there is no NVIDIA driver on this machine");
        return false;
    }
    const cudaError_t error = cudaGetDeviceCount(count);
    if (error == cudaErrorNoDevice) {
        std::snprintf(why, static_cast<std::size_t>(whySize), "the NVIDIA driver sees no GPU");
        return false;
    }
    if (error == cudaErrorInsufficientDriver) {
        std::snprintf(why, static_cast<std::size_t>(whySize),
                      "the NVIDIA driver is for CUDA %d.%d, and this program needs one for CUDA %d.%d", driver / 1000,
                      driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
        return false;
    }
    if (error != cudaSuccess) {
        std::snprintf(why, static_cast<std::size_t>(whySize), "the NVIDIA driver does not answer: %s",
                      cudaGetErrorString(error));
        return false;
    }
    return findProducts(why, whySize);
}

bool factsOf(int device, DeviceFacts* facts)
{
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return false;
    *facts = {};
    std::snprintf(facts->name, sizeof facts->name, "%s", properties.name);
    facts->memoryBytes = static_cast<std::int64_t>(properties.totalGlobalMem);
    facts->computeMajor = properties.major;
    facts->computeMinor = properties.minor;
    facts->multiprocessors = properties.multiProcessorCount;
    facts->cacheBytes = properties.l2CacheSize;
    facts->cudnnVersion = cudnnVersion();
    if (cudaDeviceGetPCIBusId(facts->pciBus, sizeof facts->pciBus, device) != cudaSuccess) {
        facts->pciBus[0] = 0;
        cudaGetLastError(); // an answer, not an error
    }
    return true;
}

Stream* openStream(int device, char* why, int whySize)
{
    auto stream = std::make_unique<CudaStream>();
    stream->device = device;
    use(stream.get());
    succeeded(stream.get(), cudaDeviceGetAttribute(&stream->multiprocessors, cudaDevAttrMultiProcessorCount, device),
              "asking the GPU");
    if (!stream->failed)
        succeeded(stream.get(), cudaStreamCreateWithFlags(&stream->stream, cudaStreamNonBlocking), "making a stream");
    if (!stream->failed) return stream.release();
    std::snprintf(why, static_cast<std::size_t>(whySize), "%s", stream->message);
    return nullptr;
}

void closeStream(Stream* stream)
{
    CudaStream* own = use(stream);
    cudaStreamSynchronize(own->stream);
    own->products.reset();
    own->convolutions.reset();
    cudaStreamDestroy(own->stream);
    delete own;
}

void* allocate(Stream* stream, std::int64_t bytes, MemoryPlace place)
{
    use(stream);
    void* memory = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    const cudaError_t error = place == MemoryPlace::Device
                                  ? cudaMalloc(&memory, size)
                                  : cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError(); // it has been told
        return nullptr;
    }
    return succeeded(stream, error, "allocating memory") ? memory : nullptr;
}

void release(Stream* stream, void* memory, MemoryPlace place)
{
    use(stream);
    succeeded(stream, place == MemoryPlace::Device ? cudaFree(memory) : cudaFreeHost(memory), "freeing memory");
}

void freeMemory(Stream* stream, std::int64_t* free, std::int64_t* total)
{
    use(stream);
    std::size_t left = 0, all = 0;
    succeeded(stream, cudaMemGetInfo(&left, &all), "asking for the free memory");
    *free = static_cast<std::int64_t>(left);
    *total = static_cast<std::int64_t>(all);
}

void copy(Stream* stream, void* to, const void* from, std::int64_t bytes)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, own->stream),
              "copying");
}

void clear(Stream* stream, void* memory, std::int64_t bytes)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaMemsetAsync(memory, 0, static_cast<std::size_t>(bytes), own->stream), "clearing memory");
}

void synchronize(Stream* stream)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaStreamSynchronize(own->stream), "the GPU's work");
}

bool waitUnless(Stream* stream, void* event, bool (*stops)(void* context), void* context)
{
    CudaStream* own = use(stream);
    while (true) {
        const cudaError_t error =
            event ? cudaEventQuery(static_cast<cudaEvent_t>(event)) : cudaStreamQuery(own->stream);
        if (error != cudaErrorNotReady) return succeeded(stream, error, "the GPU's work"), true;
        cudaGetLastError(); // an answer, not an error
        if (stops(context)) return false;
        std::this_thread::yield();
    }
}

void* createEvent(Stream* stream, bool timed)
{
    use(stream);
    cudaEvent_t event = nullptr;
    succeeded(stream, cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
              "making an event");
    return event;
}

void destroyEvent(Stream*, void* event)
{
    cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

void record(Stream* stream, void* event)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaEventRecord(static_cast<cudaEvent_t>(event), own->stream), "recording an event");
}

bool passed(Stream* stream, void* event)
{
    use(stream);
    const cudaError_t error = cudaEventQuery(static_cast<cudaEvent_t>(event));
    if (error == cudaErrorNotReady) {
        cudaGetLastError(); // an answer, not an error
        return false;
    }
    return succeeded(stream, error, "asking for an event");
}

void waitFor(Stream* stream, void* event)
{
    use(stream);
    succeeded(stream, cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "waiting for an event");
}

void follow(Stream* stream, void* event)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaStreamWaitEvent(own->stream, static_cast<cudaEvent_t>(event), 0), "waiting on the GPU");
}

double nanosecondsBetween(Stream* stream, void* first, void* second)
{
    float milliseconds = 0;
    succeeded(stream,
              cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(first), static_cast<cudaEvent_t>(second)),
              "reading an event's time");
    return static_cast<double>(milliseconds) * 1e6;
}

void beginGraph(Stream* stream)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaStreamBeginCapture(own->stream, cudaStreamCaptureModeThreadLocal), "capturing a graph");
}

void* endGraph(Stream* stream)
{
    CudaStream* own = use(stream);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    if (!succeeded(stream, cudaStreamEndCapture(own->stream, &graph), "capturing a graph")) return nullptr;
    succeeded(stream, cudaGraphInstantiateWithFlags(&executable, graph, 0), "making a graph");
    cudaGraphDestroy(graph);
    if (executable) succeeded(stream, cudaGraphUpload(executable, own->stream), "loading a graph");
    return executable;
}

void launchGraph(Stream* stream, void* graph)
{
    CudaStream* own = use(stream);
    succeeded(stream, cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), own->stream), "launching a graph");
}

void destroyGraph(void* graph)
{
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

void launchElement(Stream* stream, int kernel, const void* object, std::int64_t count)
{
    CudaStream* own = use(stream);
    int number = kernel;
    for (const ElementLaunches& part : {elementLaunches1(), elementLaunches2(), elementLaunches3()}) {
        if (number < part.count) return part.launches[number](own, object, count);
        number -= part.count;
    }
    fail(stream, "there is no kernel %d", kernel);
}

void launchRow(Stream* stream, int kernel, const void* object, std::int64_t rows, std::int64_t columns)
{
    rowLaunches()[kernel](use(stream), object, rows, columns);
}

constexpr Module kModule = {
    kKernelListMark, startModule,  factsOf,       openStream,    closeStream,        allocate,    release,
    freeMemory,      copy,         clear,         synchronize,   waitUnless,         createEvent, destroyEvent,
    record,          passed,       waitFor,       follow,        nanosecondsBetween, beginGraph,  endGraph,
    launchGraph,     destroyGraph, launchElement, launchRow,     runProduct,         workspaceOf, runConvolution,
    findGroups,      openGroup,    groupCall,     groupExchange, groupFailed,        abortGroup,  closeGroup};

} // namespace

} // namespace fourwalls::engine::gpu

extern "C" [[gnu::visibility("default")]] const fourwalls::engine::gpu::Module* fourwallsCudaModule()
{
    return &fourwalls::engine::gpu::kModule;
}
