// SPDX-License-Identifier: Apache-2.0
// NCCL's profiler plugin: events of communicators, collectives, sends and receives, and of the launches of their
// kernels. The tables that NCCL looks for are exported by entry_points.cpp.
#pragma once

#include "profiler/collect/module/nccl_interface.h"

namespace fourwalls::collect::module {

nccl::Result ncclInitV6(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes,
                        int ranks, int rank, nccl::Log log);
nccl::Result ncclInitV5(void** context, std::uint64_t commId, int* activation, const char* commName, int nodes,
                        int ranks, int rank, nccl::Log log);
/// Of versions 5 and 6.
nccl::Result ncclStartV5(void* context, void** event, nccl::DescriptionV5* description);
nccl::Result ncclInitV4(void** context, int* activation, const char* commName, std::uint64_t commId, int nodes,
                        int ranks, int rank, nccl::Log log);
nccl::Result ncclStartV4(void* context, void** event, nccl::DescriptionV4* description);
nccl::Result ncclStop(void* event);
nccl::Result ncclState(void* event, int state, void* arguments);
nccl::Result ncclFinalize(void* context);

class Recorder;
/// At the end of a recording: events that NCCL has not stopped are written without a stop.
void writeOpenNcclEvents(Recorder& recorder);

} // namespace fourwalls::collect::module
