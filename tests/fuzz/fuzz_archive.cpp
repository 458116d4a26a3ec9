// SPDX-License-Identifier: Apache-2.0
// Fuzz target: archives and packed files. Checksums of tar headers are put right first, since hardly a mutant would
// have a right one.
#include "tests/fuzz/import_bytes.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kBlock = 512, kChecksum = 148, kMagic = 257;

void rightChecksums(std::vector<std::uint8_t>& bytes)
{
    for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
        std::uint8_t* const header = bytes.data() + at;
        if (std::memcmp(header + kMagic, "ustar", 5) != 0) continue;
        std::memset(header + kChecksum, ' ', 8);
        unsigned sum = 0;
        for (std::size_t i = 0; i < kBlock; ++i) sum += header[i];
        char text[8];
        std::snprintf(text, sizeof text, "%06o", sum);
        std::memcpy(header + kChecksum, text, 7);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    std::vector<std::uint8_t> bytes(data, data + size);
    rightChecksums(bytes);
    fourwalls::fuzz::importBytes(bytes.data(), bytes.size(), "run.tar");
    return 0;
}
