// SPDX-License-Identifier: Apache-2.0
// What a kernel does, told from its name: communication over all generations of NCCL, RCCL and their like, and which
// collective it is where the name says so.
#pragma once

#include "model/trace/vocabulary.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace fourwalls::importers {

/// Whether a kernel (or an operator of a communication library) moves data between devices.
bool isCommunicationKernel(std::string_view name);

/// Kernels with which AMD's runtime copies and fills buffers ("__amd_rocclr_copyBuffer.kd").
bool isCopyKernel(std::string_view name);

/// The collective that a kernel's name tells ("ncclKernel_AllReduce_RING_LL_Sum_float"), or a metadata value
/// ("allreduce", "_allgather_base", "all_to_allv"); absent for generic names.
std::optional<CollectiveOp> collectiveOf(std::string_view name);

/// Algorithm and protocol as NCCL's older names have them ("RING", "LL128"); empty if the name does not tell.
std::string_view algorithmOf(std::string_view name);
std::string_view protocolOf(std::string_view name);

/// Bytes of one element of a PyTorch dtype ("Float", "BFloat16", "c10::Half", "Long"); absent if unknown.
std::optional<std::int64_t> elementBytes(std::string_view dtype);

/// Whether a kernel's name contains nccl or rccl, in any case.
bool isNcclName(std::string_view name);

} // namespace fourwalls::importers
