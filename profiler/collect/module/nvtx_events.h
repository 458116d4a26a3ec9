// SPDX-License-Identifier: Apache-2.0
// NVTX calls of the program as events of the recording.
#pragma once

#include "profiler/collect/module/nvtx_interface.h"

namespace fourwalls::collect::module {

/// Fills the slots of NVTX's core tables. Called once for each library of the program that brings NVTX with it. False:
/// the tables are not there.
bool attachNvtx(nvtx::GetExportTable getExportTable);
/// Fills the slots of the payload extension. False: another extension, which nobody here understands.
bool attachNvtxPayloads(nvtx::ExtensionModule* extension);

} // namespace fourwalls::collect::module
