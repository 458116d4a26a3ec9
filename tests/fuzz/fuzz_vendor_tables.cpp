// SPDX-License-Identifier: Apache-2.0
// Fuzz target: tables of rocprofv3.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fourwalls::fuzz::importBytes(data, size, "1_kernel_trace.csv");
    return 0;
}
