// SPDX-License-Identifier: Apache-2.0
// Fuzz target: PyTorch memory snapshots.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fourwalls::fuzz::importBytes(data, size, "snapshot.pickle");
    return 0;
}
