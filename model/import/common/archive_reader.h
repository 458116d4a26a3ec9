// SPDX-License-Identifier: Apache-2.0
// The regular files of a zip or tar archive, one after the other, by libarchive.
#pragma once

#include "model/import/common/byte_source.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct archive;
struct archive_entry;

namespace fourwalls::importers {

/// Whether bytes are the first ones (at least 512, unpacked) of a tar or zip archive.
bool isArchive(std::string_view beginning);

class ArchiveReader {
public:
    /// path: a zip is read by the directory at its end, everything else as a stream, which may be packed.
    /// Errors: those of openByteSource; Unsupported.
    static Result<std::unique_ptr<ArchiveReader>> open(const std::string& path);
    ~ArchiveReader();
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;

    /// Entries that next moves over at most, links, folders and the like included.
    static constexpr std::int64_t kMostEntries = 200'000;

    /// Moves to the next regular file and gives its name; absent at the end, where the archive is damaged, and where there
    /// are too many entries.
    std::optional<std::string> next();
    bool hasTooMany() const { return m_entries > kMostEntries; }
    /// Of the file that next moved to; 0 at its end and at damage.
    std::size_t read(char* to, std::size_t size);

    /// What was wrong with the archive, or with the file last read; empty if nothing.
    const std::string& damage() const { return m_damage; }
    /// What next passed over.
    std::int64_t links() const { return m_links; }
    std::int64_t encrypted() const { return m_encrypted; }

private:
    explicit ArchiveReader(std::unique_ptr<ByteSource> bytes);
    static std::ptrdiff_t take(archive* reader, void* self, const void** bytes);
    void damaged();

    std::unique_ptr<ByteSource> m_bytes; ///< of a stream
    archive* m_archive;
    std::vector<char> m_buffer;
    std::string_view m_block;             ///< of the file, not read yet
    std::int64_t m_at = 0, m_blockAt = 0; ///< in the file: read so far, where the block begins
    std::string m_damage;
    std::int64_t m_entries = 0, m_links = 0, m_encrypted = 0;
};

} // namespace fourwalls::importers
