// SPDX-License-Identifier: Apache-2.0
// Raw buffers into their file, each with one call of the system and no copy.
#include "profiler/collect/module/raw_keeper.h"

#include "profiler/collect/spool_checksum.h"
#include "profiler/collect/spool_format.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

constexpr std::size_t kKnownTexts = 4096;
constexpr std::size_t kLongestKept = 64 << 10;
constexpr std::uint64_t kRoomForTexts = 1 << 20; ///< of the limit: the last buffer's names still find room

bool writeAll(int file, iovec* parts, int count)
{
    while (count > 0) {
        ssize_t wrote = writev(file, parts, count);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        for (; count > 0 && static_cast<std::size_t>(wrote) >= parts->iov_len; ++parts, --count)
            wrote -= static_cast<ssize_t>(parts->iov_len);
        if (count == 0) break;
        parts->iov_base = static_cast<std::byte*>(parts->iov_base) + wrote;
        parts->iov_len -= static_cast<std::size_t>(wrote);
    }
    return true;
}

} // namespace

RawKeeper::~RawKeeper()
{
    end(nullptr);
}

void RawKeeper::begin(const char* folder, const char* spool, std::uint64_t limitBytes)
{
    const char* slash = std::strrchr(spool, '/');
    const char* name = slash != nullptr ? slash + 1 : spool;
    const std::size_t stem = std::strlen(name) - std::strlen(kSpoolSuffix);
    m_known = static_cast<Known*>(std::calloc(kKnownTexts, sizeof *m_known));
    if (m_known == nullptr) return end("FOURWALLS_RAW: no memory");
    std::snprintf(m_path, sizeof m_path, "%s/%.*s%s", folder, static_cast<int>(stem), name, kRawSuffix);
    mkdir(folder, 0777);
    m_limit = limitBytes;
}

void RawKeeper::end(const char* problem)
{
    if (m_file >= 0) close(m_file);
    m_file = -1;
    m_path[0] = '\0';
    std::free(m_known);
    m_known = nullptr;
    m_problem = problem;
}

const char* RawKeeper::takeProblem()
{
    const char* const problem = m_problem;
    m_problem = nullptr;
    return problem;
}

bool RawKeeper::append(RawKind kind, const void* bytes, std::size_t size)
{
    RawPart part{};
    part.kind = static_cast<std::uint32_t>(kind);
    part.address = reinterpret_cast<std::uintptr_t>(bytes);
    part.bytes = size;
    part.check = crc32c(crc32c(0, &part.kind, sizeof part - sizeof part.check), bytes, size);
    std::uint64_t zero = 0;
    iovec parts[] = {{&part, sizeof part}, {const_cast<void*>(bytes), size}, {&zero, (8 - size % 8) % 8}};
    m_bytes += sizeof part + size + parts[2].iov_len;
    return writeAll(m_file, parts, 3);
}

void RawKeeper::keep(const FilledBuffer& buffer, std::uint32_t cuptiVersion)
{
    if (!on()) return;
    if (m_file < 0) {
        m_file = open(m_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        RawHeader header{};
        std::memcpy(header.magic, kRawMagic, sizeof header.magic);
        header.version = kRawVersion;
        header.cuptiVersion = cuptiVersion;
        iovec part{&header, sizeof header};
        if (m_file < 0 || !writeAll(m_file, &part, 1)) return end("FOURWALLS_RAW: no file can be made in that folder");
        m_bytes = sizeof header;
    }
    if (m_bytes + sizeof(RawPart) + buffer.valid + kRoomForTexts > m_limit)
        return end("the raw buffers reached FOURWALLS_RAW_BYTES: later ones are not kept");
    if (!append(RawKind::Buffer, buffer.bytes, buffer.valid))
        end("FOURWALLS_RAW: the raw buffers cannot be written any more");
}

void RawKeeper::keepText(const char* address)
{
    if (m_file < 0 || address == nullptr) return;
    const std::size_t length = strnlen(address, kLongestKept);
    const std::uint32_t check = crc32c(0, address, length);
    Known& known = m_known[(reinterpret_cast<std::uintptr_t>(address) >> 3) % kKnownTexts];
    if (known.address == address && known.check == check) return;
    if (m_bytes + sizeof(RawPart) + length + 8 > m_limit) return;
    known = {address, check};
    if (!append(RawKind::Text, address, length)) end("FOURWALLS_RAW: the raw buffers cannot be written any more");
}

} // namespace fourwalls::collect::module
