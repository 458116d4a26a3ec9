// SPDX-License-Identifier: Apache-2.0
// The border to the CUDA module, libfourwalls_cuda.so: a table of functions over plain memory. Everything above it is
// ordinary C++ that is built and tested without any toolkit; everything that needs the CUDA runtime, cuBLASLt, cuDNN or
// NCCL is below it, in profiler/cuda. The module is loaded when a run asks for a GPU, so programs start without it, and
// without a driver.
#pragma once

#include "model/base/result.h"
#include "profiler/engine/core/dtype.h"

#include <cstdint>

namespace fourwalls::engine::gpu {

/// Part of the module's mark; higher whenever a field or a function below changes its meaning but no size.
inline constexpr std::uint64_t kBorderVersion = 4;

/// What a GPU says about itself.
struct DeviceFacts {
    char name[256];
    std::int64_t memoryBytes;
    int computeMajor, computeMinor;
    int multiprocessors;
    std::int64_t cacheBytes;   ///< the second level, which all multiprocessors share; 0: not known
    std::int64_t cudnnVersion; ///< 0: not there
    char pciBus[32];           ///< by which NVML knows it; empty: not known
};

/// A stream of one GPU with what belongs to it. Whoever holds it sees the first failure of anything that was asked of
/// it: functions without a result leave it here.
struct Stream {
    int failed = 0;
    char message[256] = {};
};

/// One product, or a batch of equal ones, in the column-major words of BLAS: C[m, n] = op(A)[m, k] op(B)[k, n] + beta R
/// (+ bias per row of C). Leading dimensions and strides in elements.
struct Product {
    const void* a;
    const void* b;
    void* c;
    const void* residual; ///< R, in C's type and with its leading dimension; C itself to accumulate; null: none
    const void* bias;     ///< [m], in C's type; null: none
    std::int64_t m, n, k;
    std::int64_t lda, ldb, ldc;
    std::int64_t batch, strideA, strideB, strideC;
    DType operands, result; ///< F32 or Bf16; sums are in F32
    bool transposeA, transposeB;
    bool tf32; ///< F32 operands may be rounded to TF32
    void* workspace;
    std::int64_t workspaceBytes;
};

/// One pass of a convolution over channels-last images, weights [out, kernel, kernel, in] in the type of the images.
struct Convolution {
    int pass; ///< 0 forward: x, w to y; 1 input gradient: y, w to x; 2 weight gradient: x, y to w
    DType type;
    std::int64_t images, inChannels, height, width, outChannels, outHeight, outWidth, kernel, stride, padding;
    void* x;
    void* w;
    void* y;
    bool tf32;
    void* workspace;
    std::int64_t workspaceBytes;
};

enum class MemoryPlace : int { Device, PinnedHost };

/// One member's end of a NCCL communicator. Only the thread that the member's stream belongs to uses it.
struct GroupEnd;

enum class GroupOperation : int { Sum, Maximum, ReduceScatter, AllGather, Broadcast };

/// A collective as NCCL's manual describes it. Memory is the member's own GPU's, or pinned.
struct GroupCall {
    GroupOperation operation;
    DType type;
    const void* in;
    void* out;
    std::int64_t elements; ///< of each member's part in ReduceScatter and AllGather, else of the buffer
    int root;              ///< of Broadcast
};

/// To every other member a stretch of `in`, from every other member one of `out`, in the order of the members. The own
/// part is counted, too, but stays where it is.
struct GroupExchange {
    DType type;
    const void* in;
    void* out;
    const std::int64_t* sendElements;    ///< by member
    const std::int64_t* receiveElements; ///< likewise
};

/// Functions return 0 or false on failure where they return anything, with the reason in the stream or in `why`.
struct Module {
    std::uint64_t mark; ///< kKernelListMark of the module's build

    /// Loads the libraries and asks the driver. Fills `count`. why: one sentence.
    bool (*start)(int* count, char* why, int whySize);
    bool (*facts)(int device, DeviceFacts* facts);
    Stream* (*openStream)(int device, char* why, int whySize);
    void (*closeStream)(Stream* stream);

    void* (*allocate)(Stream* stream, std::int64_t bytes, MemoryPlace place); ///< null without a failure: no memory
    void (*release)(Stream* stream, void* memory, MemoryPlace place);
    /// What the driver says.
    void (*freeMemory)(Stream* stream, std::int64_t* free, std::int64_t* total);
    void (*copy)(Stream* stream, void* to, const void* from, std::int64_t bytes); ///< in the stream's order
    void (*clear)(Stream* stream, void* memory, std::int64_t bytes);
    void (*synchronize)(Stream* stream);
    /// Waits for the event, or without one for everything, until stops(context) is true. False: it was.
    bool (*waitUnless)(Stream* stream, void* event, bool (*stops)(void* context), void* context);

    void* (*createEvent)(Stream* stream, bool timed);
    void (*destroyEvent)(Stream* stream, void* event);
    void (*record)(Stream* stream, void* event);
    bool (*passed)(Stream* stream, void* event);
    void (*waitFor)(Stream* stream, void* event); ///< the host waits
    void (*follow)(Stream* stream,
                   void* event); ///< what is asked of the stream from now on waits, for any stream's event
    double (*nanosecondsBetween)(Stream* stream, void* first, void* second);

    /// What is asked of the stream from now on is not done but kept, until endGraph gives it as a graph: kernels alone.
    void (*beginGraph)(Stream* stream);
    void* (*endGraph)(Stream* stream); ///< null: the stream failed
    void (*launchGraph)(Stream* stream, void* graph);
    void (*destroyGraph)(void* graph);

    void (*elements)(Stream* stream, int kernel, const void* object, std::int64_t count);
    void (*rows)(Stream* stream, int kernel, const void* object, std::int64_t rows, std::int64_t columns);
    void (*product)(Stream* stream, const Product* product);
    /// Workspace that the pass wants, at most `limit`.
    std::int64_t (*convolutionWorkspace)(Stream* stream, const Convolution* convolution, std::int64_t limit);
    void (*convolve)(Stream* stream, const Convolution* convolution);

    /// Loads NCCL; `version` as in 22809 for 2.28.9. why: one sentence.
    bool (*findGroups)(int* version, char* why, int whySize);
    /// Makes a communicator with one end per stream, each on a GPU of its own, and tries it: from here on no call waits
    /// for another member on the host. Members may then copy from each other's GPU. One thread calls for all.
    bool (*openGroup)(Stream* const* members, int count, GroupEnd** ends, char* why, int whySize);
    /// In the order of the stream, which is on the end's GPU.
    void (*groupCall)(GroupEnd* end, Stream* stream, const GroupCall* call);
    void (*groupExchange)(GroupEnd* end, Stream* stream, const GroupExchange* exchange);
    /// Whether something failed after it had been asked for.
    bool (*groupFailed)(GroupEnd* end, char* why, int whySize);
    /// Ends what is under way on this end's GPU; calls fail then. Ends are closed all the same, by one thread for all.
    void (*abortGroup)(GroupEnd* end);
    void (*closeGroup)(GroupEnd* end);
};

/// The name of the module's one exported function: `const Module* fourwallsCudaModule()`.
inline constexpr const char* kModuleEntry = "fourwallsCudaModule";

/// The module, loaded and started once. GPUs: at least 1.
struct LoadedModule {
    const Module* module = nullptr;
    int devices = 0;
};

/// Looks for the module beside the program, in ../lib of it, and where FOURWALLS_CUDA_MODULE says.
/// Errors: Unsupported, one sentence that says which part is missing: the module, the driver, a library, or a GPU.
Result<LoadedModule> loadModule();

/// Makes loadModule() return this one: how the engine is tested without a GPU. Null: the real one again.
void useModule(const Module* module);

} // namespace fourwalls::engine::gpu
