// SPDX-License-Identifier: Apache-2.0
// The binary interface of NCCL's profiler plugins, versions 4, 5 and 6, as NCCL 2.27, 2.28 and 2.29 call it. Own
// declarations of what the collector uses; names follow NCCL's documentation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module::nccl {

enum EventType : std::uint64_t {
    kGroup = 1 << 0,
    kColl = 1 << 1,
    kP2p = 1 << 2,
    kProxyOp = 1 << 3,
    kProxyStep = 1 << 4,
    kProxyCtrl = 1 << 5,
    kKernelCh = 1 << 6,
    kNetPlugin = 1 << 7,
    kGroupApi = 1 << 8,
    kCollApi = 1 << 9,
    kP2pApi = 1 << 10,
    kKernelLaunch = 1 << 11,
    kCeColl = 1 << 12, ///< from version 6 on
};

struct GroupApi {
    bool graphCaptured;
    int depth;
};
struct CollApi {
    const char* function;
    std::size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool graphCaptured;
};
struct P2pApi {
    const char* function;
    std::size_t count;
    const char* datatype;
    void* stream;
    bool graphCaptured;
};
struct KernelLaunch {
    void* stream;
};
struct Coll {
    std::uint64_t sequence;
    const char* function;
    const void* sendBuffer;
    void* receiveBuffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* parentGroup; ///< version 5 only
};
struct P2p {
    const char* function;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* parentGroup; ///< version 5 only
};

/// A collective that copy engines carry out, with no kernel. Its calls that copy lie between its start and its stop.
struct CeColl {
    std::uint64_t sequence;
    const char* function;
    const void* sendBuffer;
    void* receiveBuffer;
    std::size_t count;
    int root;
    const char* datatype;
    const char* strategy; ///< how members wait for each other: "MC", "UC"
    bool batchSync;
    std::uint32_t batchSize;
    std::uint32_t batches;
    std::uint32_t copySequence;
    void* stream;
};

/// Version 6 has the same fields in the same places, and ceColl.
struct DescriptionV5 {
    std::uint64_t type;
    void* parent;
    int rank;
    union {
        GroupApi groupApi;
        CollApi collApi;
        P2pApi p2pApi;
        KernelLaunch kernelLaunch;
        Coll coll;
        P2p p2p;
        CeColl ceColl;
    };
};

struct DescriptionV4 {
    std::uint8_t type;
    void* parent;
    int rank;
    union {
        Coll coll;
        P2p p2p;
    };
};

using Result = int; ///< ncclResult_t; 0: success
using Log = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

/// Versions 5 and 6.
struct PluginV5 {
    const char* name;
    Result (*init)(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes, int ranks,
                   int rank, Log log);
    Result (*startEvent)(void* context, void** event, DescriptionV5* description);
    Result (*stopEvent)(void* event);
    Result (*recordEventState)(void* event, int state, void* arguments);
    Result (*finalize)(void* context);
};

struct PluginV4 {
    const char* name;
    Result (*init)(void** context, int* activation, const char* commName, std::uint64_t commId, int nodes, int ranks,
                   int rank, Log log);
    Result (*startEvent)(void* context, void** event, DescriptionV4* description);
    Result (*stopEvent)(void* event);
    Result (*recordEventState)(void* event, int state, void* arguments);
    Result (*finalize)(void* context);
};

} // namespace fourwalls::collect::module::nccl
