// SPDX-License-Identifier: Apache-2.0
// See archive_reader.h. No filter of libarchive is used here: what is packed was unpacked before (byte_source.h).
#include "model/import/common/archive_reader.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

/// The header of a tar archive: its magic, and a checksum that is right.
bool isTarHeader(std::string_view block)
{
    constexpr std::size_t kBlock = 512, kMagic = 257, kChecksum = 148, kChecksumBytes = 8;
    if (block.size() < kBlock || block.substr(kMagic, 5) != "ustar") return false;
    std::uint64_t sum = 0, said = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
        const bool own = i >= kChecksum && i < kChecksum + kChecksumBytes;
        sum += own ? ' ' : static_cast<unsigned char>(block[i]);
    }
    for (const char c : block.substr(kChecksum, kChecksumBytes))
        if (c >= '0' && c <= '7') said = said * 8 + static_cast<std::uint64_t>(c - '0');
    return sum == said;
}

bool isZip(std::string_view beginning)
{
    const std::string_view four = beginning.substr(0, 4);
    return four == std::string_view("PK\x03\x04") || four == std::string_view("PK\x05\x06");
}

std::string entryName(archive_entry* entry)
{
    const char* const name = archive_entry_pathname(entry);
    return name && *name ? name : "without a name";
}

/// libarchive turns names into the locale's text; ours is UTF-8, whatever the program's is.
class Utf8Names {
public:
    Utf8Names() : m_locale(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr))
    {
        if (m_locale) m_before = ::uselocale(m_locale);
    }
    ~Utf8Names()
    {
        if (!m_locale) return;
        ::uselocale(m_before);
        ::freelocale(m_locale);
    }
    Utf8Names(const Utf8Names&) = delete;
    Utf8Names& operator=(const Utf8Names&) = delete;

private:
    locale_t m_locale, m_before = nullptr;
};

} // namespace

bool isArchive(std::string_view beginning)
{
    return isZip(beginning) || isTarHeader(beginning);
}

ArchiveReader::ArchiveReader(std::unique_ptr<ByteSource> bytes)
    : m_bytes(std::move(bytes))
    , m_archive(archive_read_new())
    , m_buffer(kBufferBytes)
{
    archive_read_support_format_tar(m_archive);
    archive_read_support_format_zip(m_archive);
}

ArchiveReader::~ArchiveReader()
{
    archive_read_free(m_archive);
}

Result<std::unique_ptr<ArchiveReader>> ArchiveReader::open(const std::string& path)
{
    FOURWALLS_TRY_ASSIGN(auto bytes, openByteSource(path, Unpacking::None));
    FOURWALLS_TRY_ASSIGN(const std::string magic, firstBytes(*bytes, 4));
    const bool zip = isZip(magic);
    bytes.reset();
    if (!zip) {
        FOURWALLS_TRY_ASSIGN(bytes, openByteSource(path));
    }
    std::unique_ptr<ArchiveReader> reader(new ArchiveReader(std::move(bytes)));
    const int rc = zip ? archive_read_open_filename(reader->m_archive, path.c_str(), kBufferBytes)
                       : archive_read_open(reader->m_archive, reader.get(), nullptr, take, nullptr);
    if (rc != ARCHIVE_OK) {
        reader->damaged();
        return Error{ErrorCode::Unsupported, "an archive that cannot be read: " + reader->m_damage, path,
                     "unpack it and give the folder"};
    }
    return reader;
}

std::ptrdiff_t ArchiveReader::take(archive* reader, void* self, const void** bytes)
{
    auto& of = *static_cast<ArchiveReader*>(self);
    const auto got = of.m_bytes->read(of.m_buffer.data(), of.m_buffer.size());
    *bytes = of.m_buffer.data();
    if (got.ok()) return static_cast<std::ptrdiff_t>(*got);
    archive_set_error(reader, EIO, "%s", got.error().what.c_str());
    return ARCHIVE_FATAL;
}

void ArchiveReader::damaged()
{
    const char* const why = archive_error_string(m_archive);
    const std::string packed = m_bytes ? m_bytes->damage() : std::string();
    m_damage = !packed.empty() ? packed : why ? why : "cut or damaged";
}

std::optional<std::string> ArchiveReader::next()
{
    m_damage.clear();
    m_block = {};
    m_at = m_blockAt = 0;
    const Utf8Names names;
    for (;;) {
        archive_entry* entry = nullptr;
        const int rc = archive_read_next_header(m_archive, &entry);
        if (rc == ARCHIVE_EOF) {
            // Only at its end a packed stream tells whether it was whole.
            for (std::size_t got = 1; m_bytes && got > 0;) {
                const auto more = m_bytes->read(m_buffer.data(), m_buffer.size());
                got = more.ok() ? *more : 0;
            }
            if (m_bytes) m_damage = m_bytes->damage();
            return std::nullopt;
        }
        if (rc == ARCHIVE_FATAL) {
            damaged();
            return std::nullopt;
        }
        if (++m_entries > kMostEntries) return std::nullopt;
        if (rc == ARCHIVE_RETRY || rc == ARCHIVE_FAILED) continue;
        if (archive_entry_hardlink(entry) || archive_entry_symlink(entry))
            ++m_links;
        else if (archive_entry_is_encrypted(entry) != 0)
            ++m_encrypted;
        else if (archive_entry_filetype(entry) == AE_IFREG)
            return entryName(entry);
    }
}

std::size_t ArchiveReader::read(char* to, std::size_t size)
{
    // By blocks: archive_read_data forgets what it has read when it meets damage.
    if (m_block.empty()) {
        if (!m_damage.empty()) return 0;
        const void* bytes = nullptr;
        std::size_t count = 0;
        int rc = ARCHIVE_OK;
        while (rc == ARCHIVE_OK && count == 0) rc = archive_read_data_block(m_archive, &bytes, &count, &m_blockAt);
        if (rc != ARCHIVE_OK && rc != ARCHIVE_EOF) damaged();
        if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN) count = 0;
        if (count == 0) return 0;
        m_block = std::string_view(static_cast<const char*>(bytes), count);
    }
    // What a sparse file leaves out is zeros.
    const bool gap = m_at < m_blockAt;
    const std::size_t count = std::min(size, gap ? static_cast<std::size_t>(m_blockAt - m_at) : m_block.size());
    if (gap) {
        std::memset(to, 0, count);
    } else {
        std::memcpy(to, m_block.data(), count);
        m_block.remove_prefix(count);
    }
    m_at += static_cast<std::int64_t>(count);
    if (!gap) m_blockAt = m_at;
    return count;
}

} // namespace fourwalls::importers
