// SPDX-License-Identifier: Apache-2.0
// CUPTI's buffers as they came, kept in a file beside the spool when FOURWALLS_RAW asks for it: what a program on a GPU
// makes CUPTI record can then be decoded again where there is no GPU (tests/profiler/collect/cupti_replay.cpp).
//
// The file: RawHeader, then parts, each a RawPart and its bytes, padded to 8. A part that is cut or whose check fails is
// the end. The pointers in a buffer's records mean nothing outside the process: the texts that they point at follow the
// first buffer that needs them.
#pragma once

#include "profiler/collect/module/buffer_pool.h"

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect::module {

inline constexpr char kRawMagic[8] = {'F', 'W', 'C', 'U', 'P', 'T', 'I', '\n'};
inline constexpr std::uint32_t kRawVersion = 1;
/// The file has the spool's name with this instead of kSpoolSuffix.
inline constexpr char kRawSuffix[] = ".fwcupti";

struct RawHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t cuptiVersion; ///< of the library that wrote the buffers: cuptiGetVersion
};
static_assert(sizeof(RawHeader) == 16);

enum class RawKind : std::uint32_t {
    Buffer = 1, ///< the valid bytes of a completed buffer
    Text = 2,   ///< what lay at `address`, without its zero
};

struct RawPart {
    std::uint32_t check; ///< CRC-32C of the rest of this structure and of the bytes
    std::uint32_t kind;  ///< RawKind
    std::uint64_t address;
    std::uint64_t bytes;
};
static_assert(sizeof(RawPart) == 24);

/// Writes the file. One thread: the recording's writer, never the program's own. Keeps the first buffers, up to a size.
class RawKeeper {
public:
    RawKeeper() = default;
    RawKeeper(const RawKeeper&) = delete;
    RawKeeper& operator=(const RawKeeper&) = delete;
    ~RawKeeper();

    /// Buffers are to be kept, in `folder` under the name that the spool has in its own; at most `limitBytes` of file.
    void begin(const char* folder, const char* spool, std::uint64_t limitBytes);
    bool on() const { return m_path[0] != '\0'; }

    /// Appends a buffer, before anything tries to read it. The file is made for the first one.
    void keep(const FilledBuffer& buffer, std::uint32_t cuptiVersion);
    /// Appends the text at an address unless it has been.
    void keepText(const char* address);

    /// Why no more is kept, once, in words; nullptr: nothing to say.
    const char* takeProblem();

private:
    struct Known {
        const char* address;
        std::uint32_t check;
    };

    bool append(RawKind kind, const void* bytes, std::size_t size);
    void end(const char* problem);

    char m_path[1024] = "";
    int m_file = -1;
    std::uint64_t m_limit = 0;
    std::uint64_t m_bytes = 0;
    Known* m_known = nullptr; ///< by address; a newcomer takes the place of another, whose text is then written again
    const char* m_problem = nullptr;
};

} // namespace fourwalls::collect::module
