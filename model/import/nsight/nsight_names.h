// SPDX-License-Identifier: Apache-2.0
// What things of an Nsight Systems export are called in a trace.
#pragma once

#include "model/import/nsight/nsight_tables.h"

#include <string>
#include <string_view>

namespace fourwalls::importers {

const char* nsightCopyName(std::int64_t kind);
const char* nsightWaitName(std::int64_t kind);

/// "cudaLaunchKernel_v7000_ptsz" -> "cudaLaunchKernel".
std::string callName(const std::string& name);

/// "grid [4, 1, 1] block [128, 1, 1]".
std::string launchText(const NsightWork& work);

/// "aten::mm, op_id = 7, sizes = [[2, 3]]", as PyTorch's emit_nvtx writes it, without the numbers that make every text
/// another one: millions of names would be.
struct RangeText {
    std::string_view name, detail;
    bool numbered = false;
};
RangeText rangeText(std::string_view text);

} // namespace fourwalls::importers
