// SPDX-License-Identifier: Apache-2.0
// Collectives between GPUs by NCCL, loaded by name. Its header is not needed: the few types are those of its manual, and
// where the header is there, the compiler compares. Communicators are made, connected and tried by one thread before any
// rank begins; afterwards each end belongs to its rank's thread.
#include "profiler/cuda/cuda_stream.h"
#include "profiler/cuda/library_plans.h"

#include <cstdlib>
#include <memory>
#include <vector>

#if __has_include(<nccl.h>)
#include <nccl.h>
#define FOURWALLS_HAVE_NCCL_HEADER
#endif

namespace fourwalls::engine::gpu {

namespace {

// NCCL's interface, as it has been since version 2.10, the first with bf16.
constexpr int kOldestVersion = 21000;
using Handle = void*;
struct UniqueId {
    char internal[128];
};
enum Result : int { kSuccess = 0, kInProgress = 7 };
enum Number : int { kInt8 = 0, kInt32 = 2, kFloat32 = 7, kFloat64 = 8, kBfloat16 = 9 };
enum Reduction : int { kSum = 0, kMax = 2 };

#ifdef FOURWALLS_HAVE_NCCL_HEADER
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && sizeof(Handle) == sizeof(ncclComm_t));
static_assert(sizeof(int) == sizeof(ncclDataType_t) && sizeof(int) == sizeof(ncclRedOp_t));
static_assert(int{kSuccess} == int{ncclSuccess} && int{kInProgress} == int{ncclInProgress});
static_assert(int{kInt8} == int{ncclInt8} && int{kInt32} == int{ncclInt32} && int{kFloat32} == int{ncclFloat32});
static_assert(int{kFloat64} == int{ncclFloat64} && int{kBfloat16} == int{ncclBfloat16});
static_assert(int{kSum} == int{ncclSum} && int{kMax} == int{ncclMax});
#endif

struct Library {
    Result (*getVersion)(int*);
    const char* (*errorString)(Result);
    Result (*getUniqueId)(UniqueId*);
    Result (*initRank)(Handle*, int members, UniqueId, int member);
    Result (*destroy)(Handle);
    Result (*abort)(Handle);
    Result (*asyncError)(Handle, Result*);
    Result (*groupStart)();
    Result (*groupEnd)();
    Result (*allReduce)(const void*, void*, std::size_t, Number, Reduction, Handle, cudaStream_t);
    Result (*reduceScatter)(const void*, void*, std::size_t, Number, Reduction, Handle, cudaStream_t);
    Result (*allGather)(const void*, void*, std::size_t, Number, Handle, cudaStream_t);
    Result (*broadcast)(const void*, void*, std::size_t, Number, int root, Handle, cudaStream_t);
    Result (*send)(const void*, std::size_t, Number, int to, Handle, cudaStream_t);
    Result (*receive)(void*, std::size_t, Number, int from, Handle, cudaStream_t);
    int version = 0;
    bool found = false, complete = false;

    static const Library& get()
    {
        static const Library library = load();
        return library;
    }
    static Library load()
    {
        Library l{};
        // Members connect when a communicator is made and not at their first operation, which would wait for the others
        // on the host, where a rank that has failed could not be noticed. Whoever sets the variable knows better.
        setenv("NCCL_RUNTIME_CONNECT", "0", 0);
        void* const file = openLibrary({"libnccl.so.2"});
        if (!file) return l;
        l.found = true;
        FunctionFinder bind{file};
        bind(l.getVersion, "ncclGetVersion");
        bind(l.errorString, "ncclGetErrorString");
        bind(l.getUniqueId, "ncclGetUniqueId");
        bind(l.initRank, "ncclCommInitRank");
        bind(l.destroy, "ncclCommDestroy");
        bind(l.abort, "ncclCommAbort");
        bind(l.asyncError, "ncclCommGetAsyncError");
        bind(l.groupStart, "ncclGroupStart");
        bind(l.groupEnd, "ncclGroupEnd");
        bind(l.allReduce, "ncclAllReduce");
        bind(l.reduceScatter, "ncclReduceScatter");
        bind(l.allGather, "ncclAllGather");
        bind(l.broadcast, "ncclBroadcast");
        bind(l.send, "ncclSend");
        bind(l.receive, "ncclRecv");
        l.complete = bind.all && l.getVersion(&l.version) == kSuccess;
        return l;
    }
};

bool succeeded(Stream* stream, Result result, const char* what)
{
    if (result == kSuccess) return true;
    fail(stream, "%s failed in NCCL: %s", what, Library::get().errorString(result));
    return false;
}

Number numberOf(DType type)
{
    switch (type) {
    case DType::F32: return kFloat32;
    case DType::F64: return kFloat64;
    case DType::I32: return kInt32;
    case DType::Bf16: return kBfloat16;
    }
    return kInt8;
}

} // namespace

struct GroupEnd {
    Handle handle = nullptr; // null: it was ended
    int member = 0, members = 0;
};

namespace {

using Ends = std::vector<std::unique_ptr<GroupEnd>>;

// Every function below that calls for several ends does so inside a group of calls: one thread, several GPUs.
class CallsOfAll {
public:
    explicit CallsOfAll(Stream* stream) : m_stream(stream)
    {
        m_open = succeeded(stream, Library::get().groupStart(), "beginning calls");
    }
    void end()
    {
        if (m_open) succeeded(m_stream, Library::get().groupEnd(), "connecting the GPUs");
        m_open = false;
    }
    ~CallsOfAll() { end(); }
    CallsOfAll(const CallsOfAll&) = delete;
    CallsOfAll& operator=(const CallsOfAll&) = delete;

private:
    Stream* m_stream;
    bool m_open = false;
};

void connect(Stream* const* streams, const Ends& ends)
{
    const Library& l = Library::get();
    UniqueId id;
    if (!succeeded(streams[0], l.getUniqueId(&id), "meeting")) return;
    CallsOfAll calls(streams[0]);
    for (const auto& end : ends) {
        CudaStream* const own = use(streams[end->member]);
        if (!succeeded(streams[0], l.initRank(&end->handle, end->members, id, end->member), "connecting a GPU")) return;
        if (own->failed) return fail(streams[0], "%s", own->message);
    }
}

// Where the machine has no way from one GPU to another one, the driver copies through the host.
void allowCopies(Stream* const* streams, int count)
{
    for (int i = 0; i < count; ++i) {
        CudaStream* const own = use(streams[i]);
        for (int j = 0; j < count; ++j) {
            const int other = static_cast<CudaStream*>(streams[j])->device;
            int possible = 0;
            if (other == own->device || cudaDeviceCanAccessPeer(&possible, own->device, other) != cudaSuccess) continue;
            if (possible) cudaDeviceEnablePeerAccess(other, 0);
            cudaGetLastError(); // it was allowed before
        }
    }
}

// Everybody adds up a one, and everybody sends everybody its number: what the first calls would set up is there then.
void tryOut(Stream* const* streams, const Ends& ends)
{
    const Library& l = Library::get();
    const std::size_t n = ends.size();
    std::int32_t* numbers = nullptr; // [n, 1 + 2n] : the sum, what is sent, what comes
    const auto at = [&](std::size_t member, std::size_t i) { return numbers + member * (1 + 2 * n) + i; };
    use(streams[0]);
    if (!succeeded(streams[0],
                   cudaHostAlloc(reinterpret_cast<void**>(&numbers), n * (1 + 2 * n) * sizeof *numbers,
                                 cudaHostAllocPortable | cudaHostAllocMapped),
                   "allocating memory"))
        return;
    for (std::size_t m = 0; m < n; ++m) {
        *at(m, 0) = 1;
        for (std::size_t i = 0; i < n; ++i) *at(m, 1 + i) = static_cast<std::int32_t>(m);
        for (std::size_t i = 0; i < n; ++i) *at(m, 1 + n + i) = -1;
    }
    const auto streamOf = [&](std::size_t m) { return use(streams[m])->stream; };
    {
        CallsOfAll calls(streams[0]);
        for (std::size_t m = 0; m < n; ++m)
            succeeded(streams[0], l.allReduce(at(m, 0), at(m, 0), 1, kInt32, kSum, ends[m]->handle, streamOf(m)),
                      "a sum");
    }
    {
        CallsOfAll calls(streams[0]);
        for (std::size_t m = 0; m < n; ++m)
            for (std::size_t i = 0; i < n; ++i) {
                if (i == m) continue;
                const int peer = static_cast<int>(i);
                succeeded(streams[0], l.send(at(m, 1 + i), 1, kInt32, peer, ends[m]->handle, streamOf(m)), "sending");
                succeeded(streams[0], l.receive(at(m, 1 + n + i), 1, kInt32, peer, ends[m]->handle, streamOf(m)),
                          "receiving");
            }
    }
    for (std::size_t m = 0; m < n && !streams[0]->failed; ++m)
        gpu::succeeded(streams[0], cudaStreamSynchronize(streamOf(m)), "the first operation between GPUs");
    for (std::size_t m = 0; m < n && !streams[0]->failed; ++m) {
        bool right = *at(m, 0) == static_cast<std::int32_t>(n);
        for (std::size_t i = 0; i < n; ++i)
            right = right && (i == m || *at(m, 1 + n + i) == static_cast<std::int32_t>(i));
        if (!right) fail(streams[0], "NCCL's first operation between %zu GPUs gave wrong numbers", n);
    }
    use(streams[0]);
    cudaFreeHost(numbers);
}

} // namespace

bool findGroups(int* version, char* why, int whySize)
{
    const Library& l = Library::get();
    *version = l.version;
    const auto size = static_cast<std::size_t>(whySize);
    if (!l.found)
        std::snprintf(why, size, "libnccl.so.2 is not found");
    else if (!l.complete || l.version < kOldestVersion)
        std::snprintf(why, size, "libnccl.so.2 is older than version 2.10");
    return l.complete && l.version >= kOldestVersion;
}

bool openGroup(Stream* const* streams, int count, GroupEnd** out, char* why, int whySize)
{
    Ends ends;
    for (int i = 0; i < count; ++i) {
        ends.push_back(std::make_unique<GroupEnd>());
        ends.back()->member = i;
        ends.back()->members = count;
    }
    connect(streams, ends);
    if (!streams[0]->failed) allowCopies(streams, count);
    if (!streams[0]->failed) tryOut(streams, ends);
    if (streams[0]->failed) {
        std::snprintf(why, static_cast<std::size_t>(whySize), "%s", streams[0]->message);
        for (const auto& end : ends)
            if (end->handle) Library::get().abort(end->handle);
        return false;
    }
    for (int i = 0; i < count; ++i) out[i] = ends[static_cast<std::size_t>(i)].release();
    return true;
}

void groupCall(GroupEnd* end, Stream* stream, const GroupCall* call)
{
    if (!end->handle) return fail(stream, "the communication was ended");
    const Library& l = Library::get();
    CudaStream* const own = use(stream);
    const auto count = static_cast<std::size_t>(call->elements);
    const Number type = numberOf(call->type);
    switch (call->operation) {
    case GroupOperation::Sum:
        succeeded(stream, l.allReduce(call->in, call->out, count, type, kSum, end->handle, own->stream),
                  "an all-reduce");
        break;
    case GroupOperation::Maximum:
        succeeded(stream, l.allReduce(call->in, call->out, count, type, kMax, end->handle, own->stream),
                  "an all-reduce");
        break;
    case GroupOperation::ReduceScatter:
        succeeded(stream, l.reduceScatter(call->in, call->out, count, type, kSum, end->handle, own->stream),
                  "a reduce-scatter");
        break;
    case GroupOperation::AllGather:
        succeeded(stream, l.allGather(call->in, call->out, count, type, end->handle, own->stream), "an all-gather");
        break;
    case GroupOperation::Broadcast:
        succeeded(stream, l.broadcast(call->in, call->out, count, type, call->root, end->handle, own->stream),
                  "a broadcast");
        break;
    }
}

void groupExchange(GroupEnd* end, Stream* stream, const GroupExchange* exchange)
{
    if (!end->handle) return fail(stream, "the communication was ended");
    const Library& l = Library::get();
    CudaStream* const own = use(stream);
    const std::int64_t width = bytesOf(exchange->type);
    const Number type = numberOf(exchange->type);
    const char* from = static_cast<const char*>(exchange->in);
    char* to = static_cast<char*>(exchange->out);
    if (!succeeded(stream, l.groupStart(), "an all-to-all")) return;
    for (int i = 0; i < end->members; ++i) {
        const std::int64_t sent = exchange->sendElements[i], received = exchange->receiveElements[i];
        if (i != end->member && sent > 0)
            succeeded(stream, l.send(from, static_cast<std::size_t>(sent), type, i, end->handle, own->stream),
                      "sending");
        if (i != end->member && received > 0)
            succeeded(stream, l.receive(to, static_cast<std::size_t>(received), type, i, end->handle, own->stream),
                      "receiving");
        from += sent * width;
        to += received * width;
    }
    succeeded(stream, l.groupEnd(), "an all-to-all");
}

bool groupFailed(GroupEnd* end, char* why, int whySize)
{
    if (!end->handle) return false;
    Result error = kSuccess;
    const Result asked = Library::get().asyncError(end->handle, &error);
    const Result result = asked != kSuccess ? asked : error;
    if (result == kSuccess || result == kInProgress) return false;
    std::snprintf(why, static_cast<std::size_t>(whySize), "NCCL failed: %s", Library::get().errorString(result));
    return true;
}

void abortGroup(GroupEnd* end)
{
    if (end->handle) Library::get().abort(end->handle);
    end->handle = nullptr;
}

void closeGroup(GroupEnd* end)
{
    if (end->handle) Library::get().destroy(end->handle);
    delete end;
}

} // namespace fourwalls::engine::gpu
