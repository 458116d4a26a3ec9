// SPDX-License-Identifier: Apache-2.0
// Cells into leaves; at the end the pages above them, up to the root.
#include "model/sqlite/table_pages.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace fourwalls::sqlite {
namespace {

constexpr char kTableLeaf = 0x0d, kTableInterior = 0x05, kIndexLeaf = 0x0a, kIndexInterior = 0x02;
constexpr std::size_t kLeafHeader = 8, kInteriorHeader = 12, kCellPlace = 2;
/// The page with the byte at this place is never used: SQLite locks it.
constexpr std::int64_t kLockByte = 1 << 30;
constexpr std::size_t kPageCountAt = 28; ///< in the file's header
/// Of a record of integers: its header's length, a type and 8 bytes for each value, the id's own empty one, a blob's type.
constexpr std::size_t kLongestRecord = 2 + 9 * TablePages::kMostColumns + 9;
constexpr std::size_t kLongestIndexCell = 1 + 1 + 9 * IndexPages::kMostColumns;
static_assert(kLongestIndexCell < 128, "its length is one byte");

void putBig(char* to, std::uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; --i, value >>= 8) to[i] = static_cast<char>(value);
}

/// SQLite's varint: seven bits a byte, the highest first; a ninth byte has eight.
char* putBigVarint(char* to, std::uint64_t value)
{
    if (value < 0x80) {
        *to = static_cast<char>(value);
        return to + 1;
    }
    if (value >> 56 != 0) {
        to[8] = static_cast<char>(value);
        value >>= 8;
        for (int i = 7; i >= 0; --i, value >>= 7) to[i] = static_cast<char>((value & 0x7f) | 0x80);
        return to + 9;
    }
    int bytes = 1;
    for (std::uint64_t rest = value >> 7; rest != 0; rest >>= 7) ++bytes;
    for (int i = bytes - 1; i >= 0; --i, value >>= 7)
        to[i] = static_cast<char>((value & 0x7f) | (i == bytes - 1 ? 0 : 0x80));
    return to + bytes;
}

/// The serial type of an integer and how many bytes it takes.
struct Serial {
    char type;
    int bytes;
};
Serial serialOf(std::int64_t value)
{
    if (value == 0 || value == 1) return {static_cast<char>(8 + value), 0};
    const std::uint64_t size = static_cast<std::uint64_t>(value < 0 ? ~value : value);
    if (size < 1U << 7) return {1, 1};
    if (size < 1U << 15) return {2, 2};
    if (size < 1U << 23) return {3, 3};
    if (size < 1U << 31) return {4, 4};
    return size < std::uint64_t{1} << 47 ? Serial{5, 6} : Serial{6, 8};
}

/// A file that pages are written into.
class PageFile {
public:
    PageFile(const std::string& path, std::size_t pageBytes) : m_path(path), m_pageBytes(pageBytes)
    {
        m_file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        struct stat about {};
        if (m_file < 0 || ::fstat(m_file, &about) != 0)
            fail();
        else
            m_pages = static_cast<std::int64_t>(about.st_size) / static_cast<std::int64_t>(pageBytes);
    }
    ~PageFile()
    {
        if (m_file >= 0) ::close(m_file);
    }
    PageFile(const PageFile&) = delete;
    PageFile& operator=(const PageFile&) = delete;

    const Status& status() const { return m_status; }
    /// Behind the last page; its number.
    std::int64_t append(std::string_view page)
    {
        if (++m_pages == kLockByte / static_cast<std::int64_t>(m_pageBytes) + 1) ++m_pages;
        write(m_pages, page);
        return m_pages;
    }
    void write(std::int64_t number, std::string_view page)
    {
        writeAt((number - 1) * static_cast<std::int64_t>(m_pageBytes), page);
    }
    void writePageCount()
    {
        char count[4];
        putBig(count, static_cast<std::uint64_t>(m_pages), 4);
        writeAt(kPageCountAt, {count, sizeof count});
    }

private:
    void writeAt(std::int64_t offset, std::string_view bytes)
    {
        while (m_status.ok() && !bytes.empty()) {
            const ssize_t n = ::pwrite(m_file, bytes.data(), bytes.size(), offset);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return fail();
            offset += n;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    void fail()
    {
        const int code = errno;
        m_status = code == ENOSPC
                       ? Error{ErrorCode::Io, "the disk is full", m_path, "free some space"}
                       : Error{ErrorCode::Io, "the file cannot be written: " + std::system_category().message(code),
                               m_path, "check the disk and the permissions of its folder"};
    }

    std::string m_path;
    std::size_t m_pageBytes;
    int m_file = -1;
    std::int64_t m_pages = 0;
    Status m_status;
};

} // namespace

TreePages::TreePages(char leaf, char interior, std::size_t longestDivider, std::size_t pageBytes,
                     const std::string& folder, std::size_t budget)
    : m_leaf(leaf)
    , m_interior(interior)
    , m_longestDivider(longestDivider)
    , m_pageBytes(pageBytes)
    , m_chunks(folder, budget)
    , m_page(pageBytes, '\0')
    , m_contentAt(pageBytes)
{}

bool TreePages::hasRoom(std::size_t cellBytes) const
{
    return m_contentAt >= kLeafHeader + kCellPlace * (m_cells + 1) + cellBytes;
}

bool TreePages::canBe(std::size_t cellBytes)
{
    // What is longer would go on in pages of its own.
    constexpr std::size_t kNeverInPage = 35;
    if (cellBytes + kNeverInPage <= m_pageBytes) return true;
    if (m_status.ok()) m_status = Error{ErrorCode::Io, "a row is too long for a page of the file", "", ""};
    return false;
}

void TreePages::put(std::string_view head, std::string_view rest)
{
    m_lastSize = head.size() + rest.size();
    m_contentAt -= m_lastSize;
    std::memcpy(m_page.data() + m_contentAt, head.data(), head.size());
    std::memcpy(m_page.data() + m_contentAt + head.size(), rest.data(), rest.size());
    putBig(m_page.data() + kLeafHeader + kCellPlace * m_cells, m_contentAt, kCellPlace);
    ++m_cells;
}

std::string TreePages::takeLast()
{
    std::string cell = m_page.substr(m_contentAt, m_lastSize);
    m_contentAt += m_lastSize;
    putBig(m_page.data() + kLeafHeader + kCellPlace * --m_cells, 0, kCellPlace);
    return cell;
}

void TreePages::sealLeaf(std::string divider)
{
    m_page[0] = m_leaf;
    putBig(m_page.data() + 3, m_cells, 2);
    putBig(m_page.data() + 5, m_contentAt, 2);
    m_leaves.tail = m_page;
    m_chunks.seal(m_leaves);
    m_dividers.push_back(std::move(divider));
    std::fill(m_page.begin(), m_page.end(), '\0');
    m_cells = 0;
    m_contentAt = m_pageBytes;
}

/// What is behind the last child stands one level higher.
std::string TreePages::interiorPage(std::span<const Child> children) const
{
    std::string page(m_pageBytes, '\0');
    std::size_t contentAt = m_pageBytes;
    for (std::size_t i = 0; i + 1 < children.size(); ++i) {
        const std::string& divider = children[i].divider;
        contentAt -= 4 + divider.size();
        putBig(page.data() + contentAt, static_cast<std::uint64_t>(children[i].page), 4);
        std::memcpy(page.data() + contentAt + 4, divider.data(), divider.size());
        putBig(page.data() + kInteriorHeader + kCellPlace * i, contentAt, kCellPlace);
    }
    page[0] = m_interior;
    putBig(page.data() + 3, children.size() - 1, 2);
    putBig(page.data() + 5, contentAt, 2);
    putBig(page.data() + 8, static_cast<std::uint64_t>(children.back().page), 4);
    return page;
}

Status TreePages::appendTo(const std::string& path, std::int64_t root)
{
    if (m_cells > 0) sealLeaf({});
    if (m_dividers.empty()) return status();
    PageFile file(path, m_pageBytes);
    std::string buffer;
    std::vector<Child> children;
    if (m_dividers.size() == 1) {
        file.write(root, m_chunks.view(m_leaves.chunks.front(), buffer));
    } else {
        for (std::size_t i = 0; i < m_dividers.size() && file.status().ok(); ++i)
            children.push_back({file.append(m_chunks.view(m_leaves.chunks[i], buffer)), std::move(m_dividers[i])});
    }
    FOURWALLS_TRY(status());
    m_chunks.drop(m_leaves);
    // Each level as evenly as it goes, so that no page has less than two children.
    const std::size_t most = (m_pageBytes - kInteriorHeader) / (kCellPlace + 4 + m_longestDivider) + 1;
    while (children.size() > 1 && file.status().ok()) {
        const std::size_t pages = (children.size() + most - 1) / most;
        std::vector<Child> above;
        for (std::size_t i = 0; i < pages; ++i) {
            const std::size_t first = children.size() * i / pages, end = children.size() * (i + 1) / pages;
            const std::string page = interiorPage(std::span(children).subspan(first, end - first));
            if (pages > 1)
                above.push_back({file.append(page), std::move(children[end - 1].divider)});
            else
                file.write(root, page);
        }
        children = std::move(above);
    }
    file.writePageCount();
    return file.status();
}

TablePages::TablePages(std::size_t pageBytes, const std::string& folder, std::size_t budget)
    : TreePages(kTableLeaf, kTableInterior, 9, pageBytes, folder, budget)
{}

void TablePages::add(std::int64_t id, std::span<const std::optional<std::int64_t>> others,
                     std::optional<std::string_view> blob)
{
    // The record: its header with the length and a type for each column (the id itself is none), then the values.
    char blobType[9];
    const auto blobTypeSize =
        static_cast<std::size_t>(blob ? putBigVarint(blobType, blob->size() * 2 + 12) - blobType : 0);
    char record[kLongestRecord];
    char* type = record;
    *type++ = static_cast<char>(others.size() + 2 + blobTypeSize);
    *type++ = 0;
    char* value = type + others.size() + blobTypeSize;
    for (const std::optional<std::int64_t>& each : others) {
        if (!each) {
            *type++ = 0;
            continue;
        }
        const Serial serial = serialOf(*each);
        *type++ = serial.type;
        putBig(value, static_cast<std::uint64_t>(*each), serial.bytes);
        value += serial.bytes;
    }
    std::memcpy(type, blobType, blobTypeSize);
    const std::string_view bytes = blob.value_or(std::string_view());
    const std::size_t size = static_cast<std::size_t>(value - record) + bytes.size();
    char head[2 * 9 + kLongestRecord];
    char* headEnd = putBigVarint(putBigVarint(head, size), static_cast<std::uint64_t>(id));
    std::memcpy(headEnd, record, static_cast<std::size_t>(value - record));
    headEnd += value - record;
    const std::string_view cell(head, static_cast<std::size_t>(headEnd - head));
    if (!canBe(cell.size() + bytes.size())) return;
    if (!hasRoom(cell.size() + bytes.size())) {
        char divider[9];
        sealLeaf({divider, putBigVarint(divider, static_cast<std::uint64_t>(m_lastId))});
    }
    put(cell, bytes);
    m_lastId = id;
}

IndexPages::IndexPages(std::size_t pageBytes, const std::string& folder, std::size_t budget)
    : TreePages(kIndexLeaf, kIndexInterior, kLongestIndexCell, pageBytes, folder, budget)
{}

void IndexPages::add(std::span<const std::int64_t> entry)
{
    char cell[kLongestIndexCell];
    char* type = cell + 1;
    *type++ = static_cast<char>(entry.size() + 1);
    char* value = type + entry.size();
    for (const std::int64_t each : entry) {
        const Serial serial = serialOf(each);
        *type++ = serial.type;
        putBig(value, static_cast<std::uint64_t>(each), serial.bytes);
        value += serial.bytes;
    }
    cell[0] = static_cast<char>(value - cell - 1);
    const std::string_view whole(cell, static_cast<std::size_t>(value - cell));
    // An entry between two pages stands above them and in neither: the last one of the page that is full.
    if (!hasRoom(whole.size())) sealLeaf(takeLast());
    put(whole, {});
}

} // namespace fourwalls::sqlite
