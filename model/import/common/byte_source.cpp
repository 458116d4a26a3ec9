// SPDX-License-Identifier: Apache-2.0
// Plain files, and what unpacks them.
#include "model/import/common/byte_source.h"

#include "model/import/common/gzip_member.h"
#include "model/import/common/memory_page.h"
#include "model/import/common/packed_stream.h"
#include "model/sqlite/stranger.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace fourwalls::importers {

namespace {

class PlainSource final : public ByteSource {
public:
    PlainSource(int file, std::string path) : m_file(file), m_path(std::move(path)) {}
    ~PlainSource() override { ::close(m_file); }

    Result<std::size_t> read(char* to, std::size_t size) override
    {
        for (;;) {
            const ssize_t got = ::read(m_file, to, size);
            if (got >= 0) {
                m_position += got;
                return static_cast<std::size_t>(got);
            }
            if (errno != EINTR)
                return Error{ErrorCode::Io, std::string("cannot read: ") + std::strerror(errno), m_path, ""};
        }
    }
    std::int64_t position() const override { return m_position; }

private:
    int m_file;
    std::string m_path;
    std::atomic<std::int64_t> m_position{0};
};

class GzipSource final : public ByteSource {
public:
    explicit GzipSource(std::unique_ptr<ByteSource> packed)
        : m_packed(std::move(packed))
        , m_buffer(std::size_t{1} << 18)
    {}

    Result<std::size_t> read(char* to, std::size_t size) override
    {
        std::span<char> out(to, size);
        while (out.size() == size && !m_ended) {
            if (m_in.empty() && !m_fileEnded) {
                FOURWALLS_TRY_ASSIGN(const std::size_t got, m_packed->read(m_buffer.data(), m_buffer.size()));
                m_fileEnded = got == 0;
                m_in = std::span(m_buffer).first(got);
            }
            if (m_last == GzipMember::Outcome::Ended) {
                // Members may follow one another, and padding; anything else is counted.
                if (m_in.empty() || m_in.front() != '\x1f') {
                    m_ended = m_fileEnded;
                    if (!m_in.empty()) FOURWALLS_TRY(countBehind());
                    continue;
                }
                m_member.restart();
            }
            m_last = m_member.unpack(m_in, out);
            if (m_last == GzipMember::Outcome::ChecksumWrong) stop("the gzip checksum does not fit");
            if (m_last == GzipMember::Outcome::Damaged) stop("the gzip stream is damaged");
            if (m_last == GzipMember::Outcome::More && m_in.empty() && m_fileEnded && out.size() == size)
                stop("the gzip stream is cut");
        }
        return size - out.size();
    }
    std::int64_t position() const override { return m_packed->position(); }
    std::string damage() const override { return m_damage; }
    std::int64_t bytesBehind() const override { return m_behind + m_packed->bytesBehind(); }

private:
    /// Reads the rest, which is no gzip.
    Status countBehind()
    {
        std::int64_t bytes = 0;
        bool padding = true;
        while (!m_in.empty()) {
            bytes += static_cast<std::int64_t>(m_in.size());
            padding = padding && std::all_of(m_in.begin(), m_in.end(), [](char c) { return c == '\0'; });
            FOURWALLS_TRY_ASSIGN(const std::size_t got, m_packed->read(m_buffer.data(), m_buffer.size()));
            m_in = std::span(m_buffer).first(got);
        }
        m_behind = padding ? 0 : bytes;
        m_fileEnded = m_ended = true;
        return {};
    }

    void stop(const char* damage)
    {
        m_damage = damage;
        m_ended = true;
    }

    std::unique_ptr<ByteSource> m_packed;
    std::vector<char> m_buffer;
    std::span<char> m_in; ///< what of the buffer is not unpacked yet
    GzipMember m_member;
    GzipMember::Outcome m_last = GzipMember::Outcome::More;
    bool m_fileEnded = false, m_ended = false;
    std::int64_t m_behind = 0;
    std::string m_damage;
};

class MemorySource final : public ByteSource {
public:
    MemorySource(std::string bytes, std::size_t piece)
        : m_bytes(std::move(bytes))
        , m_piece(std::max<std::size_t>(piece, 1))
    {}
    Result<std::size_t> read(char* to, std::size_t size) override
    {
        const std::size_t got = std::min({size, m_piece, m_bytes.size() - m_at});
        std::memcpy(to, m_bytes.data() + m_at, got);
        m_at += got;
        return got;
    }
    std::int64_t position() const override { return static_cast<std::int64_t>(m_at.load()); }

private:
    std::string m_bytes;
    std::size_t m_piece;
    std::atomic<std::size_t> m_at{0};
};

/// The bytes that were looked at, and the rest.
class PeekedSource final : public ByteSource {
public:
    PeekedSource(std::string first, std::unique_ptr<ByteSource> rest)
        : m_first(std::move(first))
        , m_rest(std::move(rest))
    {}
    Result<std::size_t> read(char* to, std::size_t size) override
    {
        if (m_first.empty()) return m_rest->read(to, size);
        const std::size_t got = std::min(size, m_first.size());
        std::memcpy(to, m_first.data(), got);
        m_first.erase(0, got);
        return got;
    }
    std::int64_t position() const override { return m_rest->position(); }
    std::string damage() const override { return m_rest->damage(); }
    std::int64_t bytesBehind() const override { return m_rest->bytesBehind(); }

private:
    std::string m_first;
    std::unique_ptr<ByteSource> m_rest;
};

bool isGzip(std::string_view first)
{
    return first.substr(0, 2) == "\x1f\x8b";
}

/// What a page has in it, if it is a page that has; any other source as it is.
Result<std::unique_ptr<ByteSource>> fromPage(std::unique_ptr<ByteSource> source)
{
    FOURWALLS_TRY_ASSIGN(std::string first, firstBytes(*source, 1));
    constexpr std::string_view kBeforeTags = "<\n\r \xef"; // a page may begin with an empty line or a byte-order mark
    std::optional<std::size_t> begin;
    if (!first.empty() && kBeforeTags.find(first.front()) != kBeforeTags.npos) {
        FOURWALLS_TRY_ASSIGN(const std::string more, firstBytes(*source, kMemoryPageStart - 1));
        first += more;
        begin = snapshotInPage(first);
    }
    source = std::make_unique<PeekedSource>(first.substr(begin.value_or(0)), std::move(source));
    return begin ? decodedPage(std::move(source)) : std::move(source);
}

/// Unpacks what is packed, also what a web server packed once more.
Result<std::unique_ptr<ByteSource>> unpacked(std::unique_ptr<ByteSource> source)
{
    constexpr int kMostLayers = 2;
    constexpr std::size_t kMagicBytes = 6;
    for (int layer = 0; layer <= kMostLayers; ++layer) {
        FOURWALLS_TRY_ASSIGN(std::string first, firstBytes(*source, kMagicBytes));
        const bool gzip = isGzip(first), packed = (gzip || isPackedStream(first)) && layer < kMostLayers;
        source = std::make_unique<PeekedSource>(std::move(first), std::move(source));
        if (!packed) break;
        if (gzip)
            source = std::make_unique<GzipSource>(std::move(source));
        else
            source = unpackStream(std::move(source));
    }
    return fromPage(std::move(source));
}

} // namespace

Result<std::unique_ptr<ByteSource>> openByteSource(const std::string& path, Unpacking unpacking)
{
    const int file = sqlite::openForReading(path); // a pipe in the file's place is refused below
    if (file < 0) {
        const bool missing = errno == ENOENT || errno == ENOTDIR;
        return Error{missing ? ErrorCode::NotFound : ErrorCode::Io,
                     missing ? "no such file" : std::string("cannot open: ") + std::strerror(errno), path,
                     missing ? "check the path" : ""};
    }
    struct stat status {};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        return Error{ErrorCode::Io, "not a regular file", path, "give the profile's own file"};
    }
    auto plain = std::make_unique<PlainSource>(file, path);
    if (unpacking == Unpacking::None) return std::unique_ptr<ByteSource>(std::move(plain));
    return unpacked(std::move(plain));
}

Result<std::string> firstBytes(ByteSource& source, std::size_t size)
{
    std::string bytes(size, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        FOURWALLS_TRY_ASSIGN(const std::size_t got, source.read(bytes.data() + done, bytes.size() - done));
        if (got == 0) break;
        done += got;
    }
    bytes.resize(done);
    return bytes;
}

std::unique_ptr<ByteSource> memorySource(std::string bytes, std::size_t piece)
{
    // Memory never fails to be read.
    return std::move(*unpacked(std::make_unique<MemorySource>(std::move(bytes), piece)));
}

std::int64_t fileBytes(const std::string& path)
{
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

} // namespace fourwalls::importers
