// SPDX-License-Identifier: Apache-2.0
// Reads a file of raw CUPTI buffers (profiler/collect/module/raw_keeper.h), for decoding them again.
#pragma once

#include "profiler/collect/module/raw_keeper.h"
#include "profiler/collect/spool_checksum.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::collect {

struct RawFile {
    /// A buffer and the texts that were written behind it, by the addresses that its records hold.
    struct Buffer {
        std::vector<std::uint64_t> words; ///< 8-byte aligned, as CUPTI's buffers are
        std::size_t valid = 0;            ///< [bytes]
        std::map<std::uint64_t, std::string> texts;
    };
    std::uint32_t cuptiVersion = 0;
    std::vector<Buffer> buffers;
    std::size_t unreadBytes = 0; ///< behind a cut or a damaged part
    std::string problem;         ///< not empty: it is no such file
};

inline RawFile readRawFile(const std::string& path)
{
    using namespace module;
    RawFile result;
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    RawHeader header{};
    if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, kRawMagic, sizeof kRawMagic) != 0 || header.version != kRawVersion) {
        result.problem = path + " is no file of raw buffers of version " + std::to_string(kRawVersion);
        return result;
    }
    result.cuptiVersion = header.cuptiVersion;
    std::size_t at = sizeof header;
    while (bytes.size() - at >= sizeof(RawPart)) {
        RawPart part{};
        std::memcpy(&part, bytes.data() + at, sizeof part);
        const char* const body = bytes.data() + at + sizeof part;
        const std::size_t left = bytes.size() - at - sizeof part;
        if (part.bytes > left ||
            crc32c(crc32c(0, &part.kind, sizeof part - sizeof part.check), body, part.bytes) != part.check)
            break;
        if (part.kind == static_cast<std::uint32_t>(RawKind::Buffer)) {
            RawFile::Buffer buffer;
            buffer.valid = part.bytes;
            buffer.words.resize(part.bytes / 8 + 1);
            std::memcpy(buffer.words.data(), body, part.bytes);
            result.buffers.push_back(std::move(buffer));
        } else if (part.kind == static_cast<std::uint32_t>(RawKind::Text) && !result.buffers.empty()) {
            result.buffers.back().texts[part.address] = std::string(body, part.bytes);
        }
        const std::size_t padded = (part.bytes + 7) / 8 * 8;
        if (padded > left) {
            at = bytes.size();
            break;
        }
        at += sizeof part + padded;
    }
    result.unreadBytes = bytes.size() - at;
    return result;
}

} // namespace fourwalls::collect
