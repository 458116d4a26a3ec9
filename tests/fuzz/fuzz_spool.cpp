// SPDX-License-Identifier: Apache-2.0
// Fuzz target: spools of the collector. A spool's records carry checks, so that mutants of a file would only be cut
// files: here the input is a list of records without them (kind and size, two bytes each, then the bytes), which is
// written as a sound spool first.
#include "profiler/collect/spool_file.h"
#include "tests/fuzz/import_bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using namespace fourwalls;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const std::string path =
        (std::filesystem::temp_directory_path() / ("fourwalls-fuzz-spool-" + std::to_string(::getpid()))).string();
    std::error_code none;
    std::filesystem::remove(path, none);
    {
        collect::SpoolFile file;
        collect::FileHeader header{};
        header.rank = size > 0 ? data[0] % 3 - 1 : -1;
        header.worldSize = 2;
        const bool ring = size > 1 && data[1] % 4 == 0;
        if (file.create(path.c_str(), header, ring ? collect::kSmallestRingBytes : 0) != 0) return 0;
        for (std::size_t at = 2; at + 4 <= size;) {
            std::uint16_t kind = 0, bytes = 0;
            std::memcpy(&kind, data + at, 2);
            std::memcpy(&bytes, data + at + 2, 2);
            at += 4;
            const std::size_t length = std::min<std::size_t>({bytes, size - at, collect::kLargestRecordBytes});
            // Most numbers are no kind of record.
            if (kind != 0)
                file.append(static_cast<collect::RecordKind>(kind % 128), data + at, length & ~std::size_t{7});
            at += length;
        }
        file.flush();
    }
    std::ifstream written(path, std::ios::binary);
    const std::string spool{std::istreambuf_iterator<char>(written), std::istreambuf_iterator<char>()};
    std::filesystem::remove(path, none);
    fuzz::importBytes(reinterpret_cast<const std::uint8_t*>(spool.data()), spool.size(), "fuzz.fwspool");
    return 0;
}
