// SPDX-License-Identifier: Apache-2.0
// One pass over headers of 512 bytes; long names as GNU tar (type L) and POSIX (type x) write them.
#include "model/import/common/tar_archive.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestMemberName = 1 << 16;
constexpr std::size_t kMostMembers = 10000;

/// Octal text, or with the high bit set a big-endian number; -1 if neither.
std::int64_t sizeOf(std::string_view field)
{
    std::uint64_t value = 0;
    if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
        for (const char c : field.substr(field.size() - 8)) value = value << 8 | static_cast<unsigned char>(c);
    } else {
        for (const char c : field) {
            if (c == ' ' || c == '\0') continue;
            if (c < '0' || c > '7') return -1;
            value = value << 3 | static_cast<std::uint64_t>(c - '0');
        }
    }
    return value < (std::uint64_t{1} << 60) ? static_cast<std::int64_t>(value) : -1;
}

std::string fieldText(std::string_view field)
{
    return std::string(field.substr(0, std::min(field.find('\0'), field.size())));
}

/// The value of "path" among the records "LENGTH KEY=VALUE\n" of a POSIX header.
std::string pathOf(std::string_view records)
{
    while (!records.empty()) {
        const std::size_t space = records.find(' ');
        const std::int64_t length = space == std::string_view::npos || space > 9
                                        ? -1
                                        : std::atoll(std::string(records.substr(0, space)).c_str());
        if (length <= static_cast<std::int64_t>(space) || static_cast<std::size_t>(length) > records.size()) return {};
        const std::string_view pair = records.substr(space + 1, static_cast<std::size_t>(length) - space - 1);
        if (pair.substr(0, 5) == "path=") return std::string(pair.substr(5, pair.find('\n') - 5));
        records.remove_prefix(static_cast<std::size_t>(length));
    }
    return {};
}

class TarWalk {
public:
    explicit TarWalk(ByteSource& source) : m_source(source) {}

    /// Moves to the data of the next regular file; false at the end or at damage.
    Result<bool> next(std::string& name, std::int64_t& size)
    {
        std::string longName;
        for (std::size_t headers = 0; headers < kMostMembers; ++headers) {
            FOURWALLS_TRY(skip(m_left));
            char header[kBlock];
            FOURWALLS_TRY_ASSIGN(const std::size_t got, fill(header, kBlock));
            const std::string_view view(header, kBlock);
            if (got < kBlock || !isTar(view)) return false;
            size = sizeOf(view.substr(124, 12));
            if (size < 0) return false;
            m_left = (size + static_cast<std::int64_t>(kBlock) - 1) / static_cast<std::int64_t>(kBlock) *
                     static_cast<std::int64_t>(kBlock);
            const char type = header[156];
            if (type == 'L' || type == 'x') {
                if (size > static_cast<std::int64_t>(kLongestMemberName)) return false;
                std::string text(static_cast<std::size_t>(m_left), '\0');
                FOURWALLS_TRY_ASSIGN(const std::size_t read, fill(text.data(), text.size()));
                m_left = 0;
                if (read < text.size()) return false;
                text.resize(static_cast<std::size_t>(size));
                longName = type == 'L' ? fieldText(text) : pathOf(text);
                continue;
            }
            if (type == '0' || type == '\0') {
                const std::string prefix = view.substr(257, 6) == std::string_view("ustar\0", 6)
                                               ? fieldText(view.substr(345, 155))
                                               : std::string();
                name = !longName.empty() ? longName
                                         : (prefix.empty() ? "" : prefix + "/") + fieldText(view.substr(0, 100));
                return true;
            }
            longName.clear();
        }
        return false;
    }

    /// The next bytes of the member's data; fewer at the archive's end.
    Result<std::string> take(std::size_t bytes)
    {
        std::string data(bytes, '\0');
        FOURWALLS_TRY_ASSIGN(const std::size_t got, fill(data.data(), bytes));
        data.resize(got);
        m_left -= static_cast<std::int64_t>(got);
        return data;
    }

private:
    Result<std::size_t> fill(char* to, std::size_t size)
    {
        std::size_t done = 0;
        while (done < size) {
            FOURWALLS_TRY_ASSIGN(const std::size_t got, m_source.read(to + done, size - done));
            if (got == 0) break;
            done += got;
        }
        return done;
    }
    Status skip(std::int64_t bytes)
    {
        std::vector<char> piece(static_cast<std::size_t>(std::min<std::int64_t>(bytes, 1 << 18)));
        while (bytes > 0) {
            FOURWALLS_TRY_ASSIGN(const std::size_t got,
                                 m_source.read(piece.data(), static_cast<std::size_t>(std::min<std::int64_t>(
                                                                 bytes, static_cast<std::int64_t>(piece.size())))));
            if (got == 0) break;
            bytes -= static_cast<std::int64_t>(got);
        }
        m_left = 0;
        return {};
    }

    ByteSource& m_source;
    std::int64_t m_left = 0; ///< of the member's data and padding
};

class TarMemberSource final : public ByteSource {
public:
    TarMemberSource(std::unique_ptr<ByteSource> archive, std::int64_t size)
        : m_archive(std::move(archive))
        , m_left(size)
    {}

    Result<std::size_t> read(char* to, std::size_t size) override
    {
        const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(m_left, static_cast<std::int64_t>(size)));
        if (wanted == 0) return std::size_t{0};
        FOURWALLS_TRY_ASSIGN(const std::size_t got, m_archive->read(to, wanted));
        m_cut = got == 0;
        m_left -= static_cast<std::int64_t>(got);
        return got;
    }
    std::int64_t position() const override { return m_archive->position(); }
    std::string damage() const override
    {
        const std::string inside = m_archive->damage();
        return !inside.empty() ? inside : m_cut ? "the archive is cut" : "";
    }

private:
    std::unique_ptr<ByteSource> m_archive;
    std::int64_t m_left;
    bool m_cut = false;
};

} // namespace

bool isTar(std::string_view beginning)
{
    if (beginning.size() < kBlock || beginning.substr(257, 5) != "ustar") return false;
    // The checksum is the sum of the header's bytes with blanks in its own place.
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
        sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(beginning[i]);
    return sizeOf(beginning.substr(148, 8)) == sum;
}

std::optional<std::pair<std::string, std::string>> splitMemberPath(const std::string& path)
{
    const std::size_t at = path.find("//", 1);
    if (at == std::string::npos || at + 2 >= path.size()) return std::nullopt;
    return std::pair{path.substr(0, at), path.substr(at + 2)};
}

Result<std::vector<TarMember>> tarMembers(const std::string& archive, std::size_t bytes)
{
    FOURWALLS_TRY_ASSIGN(const auto source, openByteSource(archive));
    TarWalk walk(*source);
    std::vector<TarMember> members;
    std::string name;
    std::int64_t size = 0;
    for (;;) {
        FOURWALLS_TRY_ASSIGN(const bool found, walk.next(name, size));
        if (!found || members.size() >= kMostMembers) return members;
        const std::size_t slash = name.rfind('/');
        const std::string file = slash == std::string::npos ? name : name.substr(slash + 1);
        if (file.empty() || file[0] == '.' || size == 0) continue;
        FOURWALLS_TRY_ASSIGN(std::string beginning, walk.take(std::min(static_cast<std::size_t>(size), bytes)));
        members.push_back({archive + "//" + name, std::move(beginning)});
    }
}

Result<std::unique_ptr<ByteSource>> openTarMember(std::unique_ptr<ByteSource> archive, const std::string& member,
                                                  const std::string& path)
{
    TarWalk walk(*archive);
    std::string name;
    std::int64_t size = 0;
    for (std::size_t i = 0; i < kMostMembers; ++i) {
        FOURWALLS_TRY_ASSIGN(const bool found, walk.next(name, size));
        if (!found) break;
        if (name == member)
            return std::unique_ptr<ByteSource>(std::make_unique<TarMemberSource>(std::move(archive), size));
    }
    return Error{ErrorCode::NotFound, "no such file in the archive", path, "check the archive"};
}

} // namespace fourwalls::importers
