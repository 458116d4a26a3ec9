// SPDX-License-Identifier: Apache-2.0
// One entry of libarchive's format without a format ("raw").
#include "model/import/common/packed_stream.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

namespace {

/// xz and bzip2 can make gigabytes of nothing. Profiles shrink to a thirtieth.
constexpr std::int64_t kMostExpansion = 1000, kAlwaysExpanded = std::int64_t{1} << 30;

class PackedStream final : public ByteSource {
public:
    explicit PackedStream(std::unique_ptr<ByteSource> packed)
        : m_packed(std::move(packed))
        , m_archive(archive_read_new())
        , m_buffer(std::size_t{1} << 18)
    {
        // Without one of the libraries libarchive would run a program for it: that filter is left out.
        for (const auto support : {archive_read_support_filter_zstd, archive_read_support_filter_xz,
                                   archive_read_support_filter_bzip2, archive_read_support_filter_lzma})
            support(m_archive);
        archive_read_support_format_raw(m_archive);
        archive_entry* entry = nullptr;
        m_sound = archive_read_open(m_archive, this, nullptr, take, nullptr) == ARCHIVE_OK &&
                  archive_read_next_header(m_archive, &entry) == ARCHIVE_OK &&
                  archive_filter_code(m_archive, 0) != ARCHIVE_FILTER_NONE; // else too short to be known
        if (!m_sound) stop();
    }
    ~PackedStream() override { archive_read_free(m_archive); }
    PackedStream(const PackedStream&) = delete;
    PackedStream& operator=(const PackedStream&) = delete;

    Result<std::size_t> read(char* to, std::size_t size) override
    {
        const la_ssize_t got = m_sound ? archive_read_data(m_archive, to, size) : 0;
        if (m_failure) return *m_failure;
        m_unpacked += std::max<la_ssize_t>(got, 0);
        if (m_unpacked > kAlwaysExpanded + kMostExpansion * m_packed->position()) {
            m_sound = false;
            m_damage = "the packed stream is cut off here: it unpacks to more than " + std::to_string(kMostExpansion) +
                       " times its size";
        }
        if (got < 0) stop();
        return got < 0 ? std::size_t{0} : static_cast<std::size_t>(got);
    }
    std::int64_t position() const override { return m_packed->position(); }
    std::string damage() const override { return m_damage; }

private:
    void stop()
    {
        const char* const why = archive_error_string(m_archive);
        m_sound = false;
        m_damage = std::string("the packed stream is cut or damaged") + (why ? std::string(": ") + why : "");
    }

    static la_ssize_t take(archive* reader, void* self, const void** bytes)
    {
        auto& stream = *static_cast<PackedStream*>(self);
        const auto got = stream.m_packed->read(stream.m_buffer.data(), stream.m_buffer.size());
        *bytes = stream.m_buffer.data();
        if (got.ok()) return static_cast<la_ssize_t>(*got);
        stream.m_failure = got.error();
        archive_set_error(reader, EIO, "%s", "cannot read");
        return ARCHIVE_FATAL;
    }

    std::unique_ptr<ByteSource> m_packed;
    archive* m_archive;
    std::vector<char> m_buffer;
    std::optional<Error> m_failure; ///< of reading the packed bytes
    std::string m_damage;
    std::int64_t m_unpacked = 0;
    bool m_sound = false;
};

} // namespace

bool isPackedStream(std::string_view beginning)
{
    using namespace std::string_view_literals;
    const auto begins = [beginning](std::string_view with) { return beginning.substr(0, with.size()) == with; };
    return begins("\x28\xb5\x2f\xfd"sv) ||
           begins("\xfd"
                  "7zXZ\0"sv) ||
           (begins("BZh"sv) && beginning.size() > 3 && beginning[3] >= '1' && beginning[3] <= '9');
}

std::unique_ptr<ByteSource> unpackStream(std::unique_ptr<ByteSource> packed)
{
    return std::make_unique<PackedStream>(std::move(packed));
}

} // namespace fourwalls::importers
