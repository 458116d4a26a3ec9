// SPDX-License-Identifier: Apache-2.0
// Writing of spools. A stream is buffered and appended; a ring has one segment of each sort in memory, whose new bytes
// are written in place at every flush.
#include "profiler/collect/spool_file.h"

#include "profiler/collect/spool_checksum.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <unistd.h>

namespace fourwalls::collect {

namespace {

constexpr std::size_t kStreamBufferBytes = 1 << 20;
constexpr std::uint64_t kSmallestSegmentBytes = 256 << 10; // several of the largest records
constexpr std::uint64_t kLargestSegmentBytes = 4 << 20;

constexpr std::size_t padded(std::size_t bytes)
{
    return (bytes + 7) & ~std::size_t{7};
}

} // namespace

SpoolFile::~SpoolFile()
{
    close();
}

int SpoolFile::create(const char* path, FileHeader header, std::uint64_t maxBytes)
{
    if (maxBytes > 0) {
        maxBytes = std::max(maxBytes, kSmallestRingBytes);
        const std::uint64_t share = maxBytes / 64 / 4096 * 4096;
        m_segmentBytes = static_cast<std::uint32_t>(std::clamp(share, kSmallestSegmentBytes, kLargestSegmentBytes));
        m_slotLimit = static_cast<std::size_t>((maxBytes - sizeof header) / m_segmentBytes);
    }
    const std::size_t capacity = m_segmentBytes == 0 ? kStreamBufferBytes : m_segmentBytes;
    m_events.bytes.reset(new (std::nothrow) std::byte[capacity]);
    m_kept.bytes.reset(m_segmentBytes == 0 ? nullptr : new (std::nothrow) std::byte[capacity]);
    if (!m_events.bytes || (m_segmentBytes != 0 && !m_kept.bytes)) return ENOMEM;
    m_file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (m_file < 0) return errno;

    std::memcpy(header.magic, kSpoolMagic, sizeof header.magic);
    header.version = kSpoolVersion;
    header.headerBytes = sizeof header;
    header.segmentBytes = m_segmentBytes;
    header.check = 0;
    header.check = crc32c(0, &header, sizeof header);
    std::memcpy(m_events.bytes.get(), &header, sizeof header);
    m_events.capacity = capacity;
    m_events.filled = sizeof header;
    m_bytes = sizeof header;
    if (!write(m_events)) return m_error;
    if (m_segmentBytes != 0) {
        m_kept.capacity = capacity;
        if (!beginSegment(m_kept, true) || !beginSegment(m_events, false)) return m_error;
    }
    return 0;
}

bool SpoolFile::write(Part& part)
{
    while (part.written < part.filled) {
        const ssize_t count = pwrite(m_file, part.bytes.get() + part.written, part.filled - part.written,
                                     static_cast<off_t>(part.offset + part.written));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            m_error = count < 0 ? errno : EIO;
            return false;
        }
        part.written += static_cast<std::size_t>(count);
    }
    return true;
}

bool SpoolFile::beginSegment(Part& part, bool kept)
{
    std::size_t slot = m_slots.size();
    if (kept && m_keptSlots >= m_slotLimit / 2) return false;
    if (slot < m_slotLimit) {
        m_slots.emplace_back();
    } else {
        // The oldest event segment makes room. The one being filled is the youngest, and there is always another: kept
        // segments never get more than half of the slots, and there are at least fifteen.
        slot = m_slots.size();
        for (std::size_t i = 0; i < m_slots.size(); ++i) {
            if (m_slots[i].kept || (kept && i == m_events.slot)) continue;
            if (slot == m_slots.size() || m_slots[i].sequence < m_slots[slot].sequence) slot = i;
        }
        m_overwrittenRecords += m_slots[slot].records;
        m_overwrittenBytes += m_slots[slot].bytes;
        m_overwrittenUntil = std::max(m_overwrittenUntil, m_slots[slot].time);
    }
    m_keptSlots += kept ? 1 : 0;
    m_slots[slot] = {++m_sequence, 0, 0, kept, 0};

    SegmentHeader header{};
    header.magic = kSegmentMagic;
    header.sequence = m_sequence;
    header.kept = kept ? 1 : 0;
    const auto* checked = reinterpret_cast<const std::byte*>(&header) + offsetof(SegmentHeader, sequence);
    header.check = crc32c(0, checked, sizeof header - offsetof(SegmentHeader, sequence));
    std::memcpy(part.bytes.get(), &header, sizeof header);
    part.filled = sizeof header;
    part.written = 0;
    part.offset = sizeof(FileHeader) + static_cast<std::uint64_t>(slot) * m_segmentBytes;
    part.seed = static_cast<std::uint32_t>(m_sequence);
    part.slot = slot;
    return write(part); // at once, so that nobody takes the old records for this segment's
}

bool SpoolFile::makeRoom(Part& part, bool kept, std::size_t bytes)
{
    if (part.capacity - part.filled >= bytes) return true;
    if (!write(part)) return false;
    if (m_segmentBytes != 0) return beginSegment(part, kept);
    part.offset += part.filled;
    part.filled = part.written = 0;
    return true;
}

bool SpoolFile::append(RecordKind kind, const void* structure, std::size_t structureBytes, const void* tail,
                       std::size_t tailBytes)
{
    if (m_file < 0 || m_error != 0 || tailBytes > kLongestTail) return false;
    const std::size_t payload = structureBytes + padded(tailBytes);
    if (payload > kLargestRecordBytes) return false;
    bool kept = m_segmentBytes != 0 && isKept(kind);
    const std::size_t bytes = sizeof(RecordHeader) + payload;
    // Where definitions have filled their half, what is said about the recording goes among the youngest events.
    if (kept && kind > RecordKind::Kernel && m_keptSlots >= m_slotLimit / 2 &&
        m_kept.capacity - m_kept.filled < bytes) {
        kept = false;
    }
    Part& part = kept ? m_kept : m_events;
    if (!makeRoom(part, kept, bytes)) return false;

    std::byte* to = part.bytes.get() + part.filled;
    RecordHeader header{0, static_cast<std::uint16_t>(kind), static_cast<std::uint16_t>(payload)};
    std::memcpy(to, &header, sizeof header);
    std::memcpy(to + sizeof header, structure, structureBytes);
    if (tailBytes > 0) {
        std::memcpy(to + sizeof header + structureBytes, tail, tailBytes);
        std::memset(to + sizeof header + structureBytes + tailBytes, 0, padded(tailBytes) - tailBytes);
    }
    header.check = crc32c(part.seed, to + sizeof header.check, sizeof header - sizeof header.check + payload);
    std::memcpy(to, &header.check, sizeof header.check);
    part.filled += bytes;
    ++m_records;
    m_bytes += bytes;
    if (m_segmentBytes != 0) {
        ++m_slots[part.slot].records;
        m_slots[part.slot].bytes += bytes;
    }
    return true;
}

void SpoolFile::noteTime(std::uint64_t time)
{
    if (m_segmentBytes != 0 && m_events.slot < m_slots.size()) m_slots[m_events.slot].time = time;
}

int SpoolFile::flush()
{
    if (m_file < 0 || m_error != 0) return m_error;
    if (m_segmentBytes != 0 && !write(m_kept)) return m_error; // definitions before what names them
    write(m_events);
    return m_error;
}

void SpoolFile::close()
{
    if (m_file >= 0) ::close(m_file);
    m_file = -1;
}

} // namespace fourwalls::collect
