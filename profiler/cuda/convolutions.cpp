// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN 9, loaded by name, through its descriptor interface: images channels-last, weights likewise.
// Descriptions and the chosen algorithm are kept per shape; only algorithms with the same bits every time are taken.
#include "profiler/cuda/cuda_stream.h"
#include "profiler/cuda/library_plans.h"

#include <cudnn.h>

// The descriptor interface is marked as old; what follows it needs a graph of operations for what is one call here.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace fourwalls::engine::gpu {

namespace {

struct Library {
    decltype(&cudnnGetVersion) version;
    decltype(&cudnnGetErrorString) errorString;
    decltype(&cudnnCreate) create;
    decltype(&cudnnDestroy) destroy;
    decltype(&cudnnSetStream) setStream;
    decltype(&cudnnCreateTensorDescriptor) tensorCreate;
    decltype(&cudnnDestroyTensorDescriptor) tensorDestroy;
    decltype(&cudnnSetTensor4dDescriptor) tensorSet;
    decltype(&cudnnCreateFilterDescriptor) filterCreate;
    decltype(&cudnnDestroyFilterDescriptor) filterDestroy;
    decltype(&cudnnSetFilter4dDescriptor) filterSet;
    decltype(&cudnnCreateConvolutionDescriptor) convolutionCreate;
    decltype(&cudnnDestroyConvolutionDescriptor) convolutionDestroy;
    decltype(&cudnnSetConvolution2dDescriptor) convolutionSet;
    decltype(&cudnnSetConvolutionMathType) mathSet;
    decltype(&cudnnGetConvolutionForwardAlgorithm_v7) forwardAlgorithms;
    decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) inputAlgorithms;
    decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) weightAlgorithms;
    decltype(&cudnnConvolutionForward) forward;
    decltype(&cudnnConvolutionBackwardData) input;
    decltype(&cudnnConvolutionBackwardFilter) weight;
    bool complete = false;

    static const Library& get()
    {
        static const Library library = load();
        return library;
    }
    static Library load()
    {
        Library l{};
        void* const file = openLibrary({"libcudnn.so.9"});
        if (!file) return l;
        FunctionFinder bind{file};
        bind(l.version, "cudnnGetVersion");
        bind(l.errorString, "cudnnGetErrorString");
        bind(l.create, "cudnnCreate");
        bind(l.destroy, "cudnnDestroy");
        bind(l.setStream, "cudnnSetStream");
        bind(l.tensorCreate, "cudnnCreateTensorDescriptor");
        bind(l.tensorDestroy, "cudnnDestroyTensorDescriptor");
        bind(l.tensorSet, "cudnnSetTensor4dDescriptor");
        bind(l.filterCreate, "cudnnCreateFilterDescriptor");
        bind(l.filterDestroy, "cudnnDestroyFilterDescriptor");
        bind(l.filterSet, "cudnnSetFilter4dDescriptor");
        bind(l.convolutionCreate, "cudnnCreateConvolutionDescriptor");
        bind(l.convolutionDestroy, "cudnnDestroyConvolutionDescriptor");
        bind(l.convolutionSet, "cudnnSetConvolution2dDescriptor");
        bind(l.mathSet, "cudnnSetConvolutionMathType");
        bind(l.forwardAlgorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
        bind(l.inputAlgorithms, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
        bind(l.weightAlgorithms, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
        bind(l.forward, "cudnnConvolutionForward");
        bind(l.input, "cudnnConvolutionBackwardData");
        bind(l.weight, "cudnnConvolutionBackwardFilter");
        l.complete = bind.all;
        return l;
    }
};

struct Key {
    std::int64_t pass, images, inChannels, height, width, outChannels, kernel, stride, padding, type, tf32;

    friend bool operator==(const Key&, const Key&) = default;
};

struct Plan {
    cudnnTensorDescriptor_t x = nullptr, y = nullptr;
    cudnnFilterDescriptor_t w = nullptr;
    cudnnConvolutionDescriptor_t convolution = nullptr;
    int algorithm = 0;
    std::int64_t workspace = 0;

    Plan() = default;
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    ~Plan()
    {
        const Library& l = Library::get();
        if (x) l.tensorDestroy(x);
        if (y) l.tensorDestroy(y);
        if (w) l.filterDestroy(w);
        if (convolution) l.convolutionDestroy(convolution);
    }
};

} // namespace

class Convolutions : public LibraryPlans<Library, cudnnHandle_t, Key, Plan> {};

namespace {

bool made(Stream* stream, cudnnStatus_t status, const char* what)
{
    if (status == CUDNN_STATUS_SUCCESS) return true;
    fail(stream, "cuDNN: %s failed: %s", what, Library::get().errorString(status));
    return false;
}

// The first of cuDNN's proposals, best first, that fits and gives the same bits every time.
template <class Performance>
bool takeFirst(const Library& l, Plan& plan, const Performance* proposals, int count, std::int64_t limit, bool tf32,
               bool f32)
{
    for (int i = 0; i < count; ++i) {
        const Performance& p = proposals[i];
        if (p.status != CUDNN_STATUS_SUCCESS || p.determinism != CUDNN_DETERMINISTIC ||
            static_cast<std::int64_t>(p.memory) > limit)
            continue;
        if (f32 && !tf32 && p.mathType != CUDNN_FMA_MATH) {
            // Proposals for default arithmetic would round; ask for the same algorithm without.
            if (l.mathSet(plan.convolution, CUDNN_FMA_MATH) != CUDNN_STATUS_SUCCESS) continue;
        } else if (l.mathSet(plan.convolution, p.mathType) != CUDNN_STATUS_SUCCESS) {
            continue;
        }
        plan.algorithm = static_cast<int>(p.algo);
        plan.workspace = static_cast<std::int64_t>(p.memory);
        return true;
    }
    return false;
}

std::unique_ptr<Plan> makePlan(CudaStream* stream, const Convolution& c, std::int64_t limit)
{
    const Library& l = Library::get();
    auto plan = std::make_unique<Plan>();
    const cudnnDataType_t type = c.type == DType::Bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    const auto number = [](std::int64_t value) { return static_cast<int>(value); };
    const bool described =
        made(stream, l.tensorCreate(&plan->x), "describing images") &&
        made(stream, l.tensorCreate(&plan->y), "describing images") &&
        made(stream, l.filterCreate(&plan->w), "describing weights") &&
        made(stream, l.convolutionCreate(&plan->convolution), "describing a convolution") &&
        made(stream,
             l.tensorSet(plan->x, CUDNN_TENSOR_NHWC, type, number(c.images), number(c.inChannels), number(c.height),
                         number(c.width)),
             "describing images") &&
        made(stream,
             l.tensorSet(plan->y, CUDNN_TENSOR_NHWC, type, number(c.images), number(c.outChannels), number(c.outHeight),
                         number(c.outWidth)),
             "describing images") &&
        made(stream,
             l.filterSet(plan->w, type, CUDNN_TENSOR_NHWC, number(c.outChannels), number(c.inChannels),
                         number(c.kernel), number(c.kernel)),
             "describing weights") &&
        made(stream,
             l.convolutionSet(plan->convolution, number(c.padding), number(c.padding), number(c.stride),
                              number(c.stride), 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
             "describing a convolution");
    if (!described) return {};
    const bool f32 = c.type == DType::F32;
    l.mathSet(plan->convolution, !f32 ? CUDNN_TENSOR_OP_MATH : c.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH);
    constexpr int kProposals = 8;
    cudnnHandle_t handle = stream->convolutions->handle;
    int count = 0;
    bool found = false;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (c.pass == 0) {
        cudnnConvolutionFwdAlgoPerf_t proposals[kProposals];
        status =
            l.forwardAlgorithms(handle, plan->x, plan->w, plan->convolution, plan->y, kProposals, &count, proposals);
        found = status == CUDNN_STATUS_SUCCESS && takeFirst(l, *plan, proposals, count, limit, c.tf32, f32);
    } else if (c.pass == 1) {
        cudnnConvolutionBwdDataAlgoPerf_t proposals[kProposals];
        status = l.inputAlgorithms(handle, plan->w, plan->y, plan->convolution, plan->x, kProposals, &count, proposals);
        found = status == CUDNN_STATUS_SUCCESS && takeFirst(l, *plan, proposals, count, limit, c.tf32, f32);
    } else {
        cudnnConvolutionBwdFilterAlgoPerf_t proposals[kProposals];
        status =
            l.weightAlgorithms(handle, plan->x, plan->y, plan->convolution, plan->w, kProposals, &count, proposals);
        found = status == CUDNN_STATUS_SUCCESS && takeFirst(l, *plan, proposals, count, limit, c.tf32, f32);
    }
    if (found) return plan;
    fail(stream, "cuDNN has no algorithm for a convolution of %lld images %lldx%lldx%lld to %lld channels: %s",
         static_cast<long long>(c.images), static_cast<long long>(c.inChannels), static_cast<long long>(c.height),
         static_cast<long long>(c.width), static_cast<long long>(c.outChannels), l.errorString(status));
    return {};
}

Plan* planOf(CudaStream* stream, const Convolution& c, std::int64_t limit)
{
    const Library& l = Library::get();
    if (stream->failed) return nullptr;
    if (!l.complete) {
        fail(stream, "libcudnn.so.9 is not found; FOURWALLS_CUDA_LIBRARIES can name its folder");
        return nullptr;
    }
    if (!stream->convolutions) {
        stream->convolutions = std::make_shared<Convolutions>();
        if (!made(stream, l.create(&stream->convolutions->handle), "starting") ||
            !made(stream, l.setStream(stream->convolutions->handle, stream->stream), "taking the stream"))
            return nullptr;
    }
    const Key key{c.pass,        c.images, c.inChannels, c.height,  c.width,
                  c.outChannels, c.kernel, c.stride,     c.padding, static_cast<std::int64_t>(c.type),
                  c.tf32};
    std::unique_ptr<Plan>& plan = stream->convolutions->plans[key];
    if (!plan) plan = makePlan(stream, c, limit);
    return plan.get();
}

} // namespace

std::int64_t cudnnVersion()
{
    const Library& l = Library::get();
    return l.complete ? static_cast<std::int64_t>(l.version()) : 0;
}

std::int64_t workspaceOf(Stream* base, const Convolution* convolution, std::int64_t limit)
{
    const Plan* plan = planOf(use(base), *convolution, limit);
    return plan ? plan->workspace : 0;
}

void runConvolution(Stream* base, const Convolution* convolution)
{
    CudaStream* stream = use(base);
    const Convolution& c = *convolution;
    const Plan* plan = planOf(stream, c, c.workspaceBytes);
    if (!plan) return;
    const Library& l = Library::get();
    cudnnHandle_t handle = stream->convolutions->handle;
    const float one = 1, none = 0;
    const auto room = static_cast<std::size_t>(c.workspaceBytes);
    cudnnStatus_t status;
    if (c.pass == 0)
        status =
            l.forward(handle, &one, plan->x, c.x, plan->w, c.w, plan->convolution,
                      static_cast<cudnnConvolutionFwdAlgo_t>(plan->algorithm), c.workspace, room, &none, plan->y, c.y);
    else if (c.pass == 1)
        status = l.input(handle, &one, plan->w, c.w, plan->y, c.y, plan->convolution,
                         static_cast<cudnnConvolutionBwdDataAlgo_t>(plan->algorithm), c.workspace, room, &none, plan->x,
                         c.x);
    else
        status = l.weight(handle, &one, plan->x, c.x, plan->y, c.y, plan->convolution,
                          static_cast<cudnnConvolutionBwdFilterAlgo_t>(plan->algorithm), c.workspace, room, &none,
                          plan->w, c.w);
    made(stream, status, "a convolution");
}

} // namespace fourwalls::engine::gpu
