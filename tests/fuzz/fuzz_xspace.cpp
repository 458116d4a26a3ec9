// SPDX-License-Identifier: Apache-2.0
// Fuzz target: XSpace profiles.
#include "tests/fuzz/import_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fourwalls::fuzz::importBytes(data, size, "host.xplane.pb");
    return 0;
}
