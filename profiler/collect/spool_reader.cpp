// SPDX-License-Identifier: Apache-2.0
// Reading of spools: a stream file through a sliding buffer, a ring file segment by segment.
#include "profiler/collect/spool_reader.h"

#include "profiler/collect/spool_checksum.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fourwalls::collect {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint32_t kLargestReadableSegmentBytes = 1U << 30;

Error failure(ErrorCode code, const std::string& path, std::string what, std::string hint)
{
    return Error{code, std::move(what), path, std::move(hint)};
}

std::string textOf(const char* text, std::size_t size)
{
    return {text, strnlen(text, size)};
}

} // namespace

Result<SpoolReader> SpoolReader::open(const std::string& path)
{
    SpoolReader reader;
    reader.m_path = path;
    reader.m_file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (reader.m_file < 0 || fstat(reader.m_file, &status) != 0) {
        return failure(ErrorCode::Io, path, std::string("cannot be opened: ") + std::strerror(errno),
                       "check the name and the access rights");
    }
    if (!S_ISREG(status.st_mode)) return failure(ErrorCode::Io, path, "is not a file", "name a .fwspool file");
    reader.m_fileBytes = static_cast<std::uint64_t>(status.st_size);

    FileHeader& header = reader.m_header;
    FOURWALLS_TRY_ASSIGN(const std::size_t got, reader.readAt(0, reinterpret_cast<std::byte*>(&header), sizeof header));
    if (got < sizeof header || std::memcmp(header.magic, kSpoolMagic, sizeof kSpoolMagic) != 0) {
        return failure(ErrorCode::Format, path, "is not a spool of the collector",
                       "name a .fwspool file that a recorded process wrote");
    }
    if (header.version != kSpoolVersion) {
        return failure(ErrorCode::Unsupported, path,
                       "is a spool of version " + std::to_string(header.version) + ", and only " +
                           std::to_string(kSpoolVersion) + " can be read",
                       "use a fourwalls-cli as new as the collector");
    }
    FileHeader unchecked = header;
    unchecked.check = 0;
    const bool segmentsFit = header.segmentBytes == 0 ||
                             (header.segmentBytes % 4096 == 0 && header.segmentBytes <= kLargestReadableSegmentBytes);
    if (crc32c(0, &unchecked, sizeof unchecked) != header.check || header.headerBytes < sizeof header || !segmentsFit) {
        return failure(ErrorCode::Format, path, "has a damaged header", "the file cannot be read; record again");
    }
    if (header.segmentBytes == 0) {
        reader.m_readOffset = header.headerBytes;
        reader.m_readEnd = reader.m_fileBytes;
        reader.m_inStream = true;
        // Room for two of the largest records at least; a file that grows while it is read is read as it was found.
        reader.m_buffer.resize(std::clamp<std::size_t>(reader.m_fileBytes, 2 * 65536, kBufferBytes));
    } else {
        FOURWALLS_TRY(reader.listSegments());
    }
    reader.m_state.bytesRead = header.headerBytes;
    return reader;
}

SpoolReader::SpoolReader(SpoolReader&& other) noexcept
{
    *this = std::move(other);
}

SpoolReader& SpoolReader::operator=(SpoolReader&& other) noexcept
{
    if (this == &other) return *this;
    if (m_file >= 0) ::close(m_file);
    m_path = std::move(other.m_path);
    m_file = std::exchange(other.m_file, -1);
    m_fileBytes = other.m_fileBytes;
    m_header = other.m_header;
    m_segments = std::move(other.m_segments);
    m_nextSegment = other.m_nextSegment;
    m_seed = other.m_seed;
    m_readOffset = other.m_readOffset;
    m_readEnd = other.m_readEnd;
    m_buffer = std::move(other.m_buffer);
    m_at = other.m_at;
    m_filled = other.m_filled;
    m_inStream = other.m_inStream;
    m_state = other.m_state;
    return *this;
}

SpoolReader::~SpoolReader()
{
    if (m_file >= 0) ::close(m_file);
}

std::string SpoolReader::host() const
{
    return textOf(m_header.host, sizeof m_header.host);
}

std::string SpoolReader::executable() const
{
    return textOf(m_header.executable, sizeof m_header.executable);
}

Result<std::size_t> SpoolReader::readAt(std::uint64_t offset, std::byte* to, std::size_t size) const
{
    std::size_t got = 0;
    while (got < size) {
        const ssize_t count = pread(m_file, to + got, size - got, static_cast<off_t>(offset + got));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            return failure(ErrorCode::Io, m_path, std::string("cannot be read: ") + std::strerror(errno),
                           "check the disk and the access rights");
        }
        if (count == 0) break;
        got += static_cast<std::size_t>(count);
    }
    return got;
}

Status SpoolReader::listSegments()
{
    for (std::uint64_t offset = m_header.headerBytes; offset + sizeof(SegmentHeader) <= m_fileBytes;
         offset += m_header.segmentBytes) {
        SegmentHeader segment{};
        FOURWALLS_TRY_ASSIGN(const std::size_t got,
                             readAt(offset, reinterpret_cast<std::byte*>(&segment), sizeof segment));
        const auto* checked = reinterpret_cast<const std::byte*>(&segment) + offsetof(SegmentHeader, sequence);
        const std::size_t checkedBytes = sizeof segment - offsetof(SegmentHeader, sequence);
        if (got < sizeof segment || segment.magic != kSegmentMagic || segment.sequence == 0 ||
            crc32c(0, checked, checkedBytes) != segment.check) {
            ++m_state.badSegments;
            continue;
        }
        m_segments.push_back({offset, segment.sequence, segment.kept != 0});
    }
    std::sort(m_segments.begin(), m_segments.end(),
              [](const Segment& a, const Segment& b) { return a.kept != b.kept ? a.kept : a.sequence < b.sequence; });
    m_state.segments = m_segments.size();
    std::uint64_t youngest = 0;
    for (const Segment& segment : m_segments) youngest = std::max(youngest, segment.sequence);
    m_state.overwritten = youngest - std::min(youngest, m_state.segments);
    return {};
}

Result<bool> SpoolReader::beginSegment()
{
    if (m_nextSegment == m_segments.size()) return false;
    const Segment& segment = m_segments[m_nextSegment++];
    m_buffer.resize(m_header.segmentBytes - sizeof(SegmentHeader));
    m_seed = static_cast<std::uint32_t>(segment.sequence);
    m_readOffset = segment.offset + sizeof(SegmentHeader);
    m_readEnd = std::min(m_fileBytes, segment.offset + m_header.segmentBytes);
    m_at = m_filled = 0;
    m_inStream = true;
    m_state.bytesRead += sizeof(SegmentHeader);
    return true;
}

Result<bool> SpoolReader::refill()
{
    if (m_readOffset >= m_readEnd) return false;
    std::memmove(m_buffer.data(), m_buffer.data() + m_at, m_filled - m_at);
    m_filled -= m_at;
    m_at = 0;
    const auto room =
        static_cast<std::size_t>(std::min<std::uint64_t>(m_buffer.size() - m_filled, m_readEnd - m_readOffset));
    if (room == 0) return false;
    FOURWALLS_TRY_ASSIGN(const std::size_t got, readAt(m_readOffset, m_buffer.data() + m_filled, room));
    m_readOffset += got;
    m_filled += got;
    if (got < room) m_readEnd = m_readOffset; // it became shorter while it was read
    return got > 0;
}

Result<std::optional<SpoolRecord>> SpoolReader::next()
{
    for (;;) {
        if (!m_inStream) {
            FOURWALLS_TRY_ASSIGN(const bool more, beginSegment());
            if (!more) return std::optional<SpoolRecord>();
        }
        RecordHeader record{};
        bool whole = false;
        for (bool more = true; more;) {
            if (m_filled - m_at >= sizeof record) {
                std::memcpy(&record, m_buffer.data() + m_at, sizeof record);
                whole = m_filled - m_at - sizeof record >= record.bytes;
                if (whole) break;
            }
            FOURWALLS_TRY_ASSIGN(more, refill());
        }
        const std::byte* header = m_buffer.data() + m_at;
        if (whole && record.kind != 0 && record.bytes % 8 == 0 &&
            crc32c(m_seed, header + sizeof record.check, sizeof record - sizeof record.check + record.bytes) ==
                record.check) {
            m_at += sizeof record + record.bytes;
            ++m_state.records;
            m_state.bytesRead += sizeof record + record.bytes;
            const auto kind = static_cast<RecordKind>(record.kind);
            m_state.ended = m_state.ended || kind == RecordKind::End;
            return std::optional(SpoolRecord{kind, {header + sizeof record, record.bytes}});
        }
        m_inStream = false;
        if (m_header.segmentBytes == 0) m_state.unreadBytes = m_fileBytes - std::min(m_fileBytes, m_state.bytesRead);
    }
}

} // namespace fourwalls::collect
