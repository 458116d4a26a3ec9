// SPDX-License-Identifier: Apache-2.0
// Fuzz target: PyTorch and Chrome traces, plain or packed.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fourwalls::fuzz::importBytes(data, size, "trace.json");
    return 0;
}
