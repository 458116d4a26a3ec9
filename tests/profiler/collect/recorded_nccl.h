// SPDX-License-Identifier: Apache-2.0
// What recorded_program.cpp does with the profiler plugin, in NCCL's place.
#pragma once

#include "profiler/collect/module/nccl_interface.h"

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <functional>

namespace nccl = fourwalls::collect::module::nccl;

inline constexpr int kOtherEvents = 64; ///< what NCCL reports before the plugin says what it wants

/// A communicator of the plugin. Says what NCCL is to report of all of them.
inline void* ncclCommunicator(const nccl::PluginV5& plugin)
{
    void* communicator = nullptr;
    int activation = kOtherEvents;
    plugin.init(&communicator, 0xabcdef, &activation, "dp", 2, 16, 3, nullptr);
    std::printf("activation %d\n", activation);
    return communicator;
}

/// One collective as NCCL 2.28 reports it. launch: its kernel.
inline void ncclCollective(const nccl::PluginV5& plugin, void* communicator, const std::function<void()>& launch)
{
    void* group = nullptr;
    nccl::DescriptionV5 description{};
    description.type = nccl::kGroupApi;
    description.groupApi.depth = 1;
    plugin.startEvent(communicator, &group, &description);

    void* api = nullptr;
    description = {};
    description.type = nccl::kCollApi;
    description.parent = group;
    description.collApi = {"AllReduce", 1000, "ncclFloat32", 0, nullptr, false};
    plugin.startEvent(communicator, &api, &description);

    void* coll = nullptr;
    description = {};
    description.type = nccl::kColl;
    description.parent = api;
    description.coll = {5, "AllReduce", nullptr, nullptr, 1000, 0, "ncclFloat32", 8, 16, "RING", "SIMPLE", nullptr};
    plugin.startEvent(communicator, &coll, &description);

    void* kernel = nullptr;
    description = {};
    description.type = nccl::kKernelLaunch;
    description.parent = group;
    description.kernelLaunch = {nullptr};
    plugin.startEvent(communicator, &kernel, &description);
    launch();
    plugin.stopEvent(kernel);

    void* p2p = nullptr;
    description = {};
    description.type = nccl::kP2p;
    description.p2p = {"Send", nullptr, "ncclFloat16", 77, 3, 2, nullptr};
    plugin.startEvent(communicator, &p2p, &description);
    plugin.stopEvent(p2p);
    plugin.stopEvent(coll);
    plugin.stopEvent(api);
    plugin.stopEvent(group);
}

inline void nccl5(void* module, const std::function<void()>& launch)
{
    const auto* plugin = static_cast<const nccl::PluginV5*>(dlsym(module, "ncclProfiler_v5"));
    void* communicator = ncclCommunicator(*plugin);
    if (communicator == nullptr) return;
    ncclCollective(*plugin, communicator, launch);
    void* open = nullptr;
    nccl::DescriptionV5 description{};
    description.type = nccl::kP2pApi;
    description.p2pApi = {"Recv", 5, "ncclInt8", nullptr, false};
    plugin->startEvent(communicator, &open, &description); // never stopped
    description.type = nccl::kProxyOp;
    plugin->startEvent(communicator, &open, &description); // not asked for
    plugin->stopEvent(open);
    plugin->finalize(communicator);
}

/// An all-gather that copy engines carry out, as NCCL 2.29 reports it. copy: one of its copies.
inline void nccl6(void* module, const std::function<void(std::uint64_t bytes)>& copy)
{
    const auto* plugin = static_cast<const nccl::PluginV5*>(dlsym(module, "ncclProfiler_v6"));
    void* communicator = ncclCommunicator(*plugin);
    if (communicator == nullptr) return;
    void* api = nullptr;
    nccl::DescriptionV5 description{};
    description.type = nccl::kCollApi;
    description.collApi = {"AllGather", 1000, "ncclFloat32", 0, nullptr, false};
    plugin->startEvent(communicator, &api, &description);
    void* copies = nullptr;
    description = {};
    description.type = nccl::kCeColl;
    description.parent = api;
    description.ceColl = {6, "AllGather", nullptr, nullptr, 1000, 0, "ncclFloat32", "MC", false, 0, 0, 6, nullptr};
    plugin->startEvent(communicator, &copies, &description);
    for (const std::uint64_t bytes : {4, 4000, 4}) copy(bytes); // ready, the data, done
    plugin->stopEvent(copies);
    plugin->stopEvent(api);
    copy(12); // the program's own
    ncclCollective(*plugin, communicator, [] {});
    plugin->finalize(communicator);
}

inline void nccl4(void* module)
{
    const auto* plugin = static_cast<const nccl::PluginV4*>(dlsym(module, "ncclProfiler_v4"));
    void* communicator = nullptr;
    int activation = kOtherEvents;
    plugin->init(&communicator, &activation, "dp", 0xabcdef, 2, 16, 3, nullptr);
    std::printf("activation %d\n", activation);
    void* event = nullptr;
    nccl::DescriptionV4 description{};
    description.type = nccl::kColl;
    description.coll = {5, "AllReduce", nullptr, nullptr, 1000, 0, "ncclFloat32", 8, 16, "TREE", "LL", nullptr};
    plugin->startEvent(communicator, &event, &description);
    plugin->stopEvent(event);
    plugin->finalize(communicator);
}
