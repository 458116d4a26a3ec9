// SPDX-License-Identifier: Apache-2.0
// Writes a spool (spool_format.h): a stream, or a ring of segments that stays below a size. One thread at a time. Lives
// inside other people's programs: no exceptions come out, errors are values of errno.
#pragma once

#include "profiler/collect/spool_format.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::collect {

/// Smallest size that a ring can be limited to [bytes].
inline constexpr std::uint64_t kSmallestRingBytes = 4 << 20;

/// True for records that a ring never overwrites: definitions and what is said about the recording as a whole (the
/// latter as long as there is room for more of them).
constexpr bool isKept(RecordKind kind)
{
    return static_cast<std::uint16_t>(kind) < static_cast<std::uint16_t>(RecordKind::Kernel) ||
           kind == RecordKind::Window || kind == RecordKind::Message || kind == RecordKind::Loss ||
           kind == RecordKind::End;
}

class SpoolFile {
public:
    SpoolFile() = default;
    SpoolFile(const SpoolFile&) = delete;
    SpoolFile& operator=(const SpoolFile&) = delete;
    /// Closes without flushing: what was flushed is a valid, cut spool.
    ~SpoolFile();

    /// Begins the file, which must not exist yet. The header's magic, version, sizes and check are filled in here.
    /// maxBytes: 0 for a stream; else the largest size of the file, raised to kSmallestRingBytes.
    /// Returns 0 or an errno (EEXIST: the name is taken).
    int create(const char* path, FileHeader header, std::uint64_t maxBytes);
    bool isOpen() const { return m_file >= 0; }

    /// Appends a record to the buffer, writing the buffer out when it is full. `tail` follows the structure, which
    /// announces its length. False: it was not kept (the disk is full, the kept part of a ring is full, it is too large).
    bool append(RecordKind kind, const void* structure, std::size_t structureBytes, const void* tail = nullptr,
                std::size_t tailBytes = 0);
    template <class T>
    bool add(RecordKind kind, const T& structure, const void* tail = nullptr, std::size_t tailBytes = 0)
    {
        static_assert(sizeof(T) % 8 == 0);
        return append(kind, &structure, sizeof(T), tail, tailBytes);
    }

    /// Hands everything appended to the operating system. Returns 0 or an errno; after an error nothing more is written.
    int flush();
    void close();

    std::uint64_t records() const { return m_records; }
    std::uint64_t bytes() const { return m_bytes; } ///< handed to append, with headers
    int error() const { return m_error; }           ///< the errno that ended writing, 0: none
    std::uint64_t overwrittenRecords() const { return m_overwrittenRecords; }
    std::uint64_t overwrittenBytes() const { return m_overwrittenBytes; }
    /// Notes the time up to which events have been appended, so that it is known what an overwritten segment held.
    void noteTime(std::uint64_t time);
    /// The latest time noted for an overwritten segment, 0: none was overwritten.
    std::uint64_t overwrittenUntil() const { return m_overwrittenUntil; }

private:
    /// A part of the file that is being filled: the stream's next bytes, or one segment.
    struct Part {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
        std::size_t filled = 0;
        std::size_t written = 0;  // of filled, already in the file
        std::uint64_t offset = 0; // in the file, of bytes[0]
        std::uint32_t seed = 0;
        std::size_t slot = 0;
    };
    struct Slot {
        std::uint64_t sequence = 0;
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        bool kept = false;
        std::uint64_t time = 0;
    };

    bool makeRoom(Part& part, bool kept, std::size_t bytes);
    bool beginSegment(Part& part, bool kept);
    bool write(Part& part);

    int m_file = -1;
    int m_error = 0;
    std::uint32_t m_segmentBytes = 0;
    std::size_t m_slotLimit = 0;
    std::size_t m_keptSlots = 0;
    std::uint64_t m_sequence = 0;
    std::vector<Slot> m_slots;
    Part m_events; // of a stream file: everything
    Part m_kept;
    std::uint64_t m_records = 0;
    std::uint64_t m_bytes = 0;
    std::uint64_t m_overwrittenRecords = 0;
    std::uint64_t m_overwrittenBytes = 0;
    std::uint64_t m_overwrittenUntil = 0;
};

} // namespace fourwalls::collect
