// SPDX-License-Identifier: Apache-2.0
// Opening a file, the header of a database and the hardening of a connection to it.
// Source of the layout: https://www.sqlite.org/fileformat2.html, "The Database Header".
#include "model/sqlite/stranger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

namespace fourwalls::sqlite {
namespace {

class OpenFile {
public:
    explicit OpenFile(const std::string& path) : m_fd(openForReading(path)) {}
    ~OpenFile()
    {
        if (m_fd >= 0) ::close(m_fd);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    int fd() const { return m_fd; }

private:
    int m_fd;
};

bool hasContent(const std::string& path)
{
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

} // namespace

int openForReading(const std::string& path)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 || errno != EWOULDBLOCK) return file;
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    errno = EWOULDBLOCK;
    return -1;
}

Result<FileHeader> readHeader(const std::string& path, const std::string& kind)
{
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        const int code = errno;
        if (code == ENOENT || code == ENOTDIR)
            return Error{ErrorCode::NotFound, "there is no such file", path, "check the name"};
        return Error{ErrorCode::Io, std::system_category().message(code), path, "check the permissions of its folder"};
    }
    if (S_ISDIR(info.st_mode))
        return Error{ErrorCode::Io, "this is a folder, not a " + kind, path, "name the file in it"};
    if (!S_ISREG(info.st_mode))
        return Error{ErrorCode::Io, "this is not a regular file", path, "copy it to a file first"};
    // Locks of SQLite vanish when any descriptor of the file is closed; nothing here is open under one yet.
    const OpenFile file(path);
    if (file.fd() < 0) {
        return Error{ErrorCode::Io, "the file cannot be read: " + std::system_category().message(errno), path,
                     "check its permissions"};
    }
    if (info.st_size == 0) return Error{ErrorCode::Format, "the file is empty", path, "record or fetch it again"};

    std::array<unsigned char, 108> bytes{};
    const ssize_t got = ::pread(file.fd(), bytes.data(), bytes.size(), 0);
    constexpr std::string_view kMagic("SQLite format 3\0", 16);
    if (got < 16 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
        return Error{ErrorCode::Format, "this is not a " + kind, path,
                     "import other formats with 'fourwalls-cli import'"};
    if (got < static_cast<ssize_t>(bytes.size()))
        return Error{ErrorCode::Format, "the file is truncated", path, "fetch it again"};

    const auto big = [&](std::size_t at, int length) {
        std::uint32_t value = 0;
        for (int i = 0; i < length; ++i) value = value << 8 | bytes[at + static_cast<std::size_t>(i)];
        return value;
    };
    FileHeader header;
    header.fileBytes = info.st_size;
    header.pageSize = big(16, 2) == 1 ? 65536 : big(16, 2);
    header.wal = bytes[18] == 2 || bytes[19] == 2;
    header.pageCount = big(24, 4) == big(92, 4) ? big(28, 4) : 0;
    header.userVersion = big(60, 4);
    header.applicationId = big(68, 4);
    header.schemaOnFirstPage = bytes[100] == 0x0d; // a leaf page: all of the schema is on it
    header.walBeside = hasContent(path + "-wal");
    header.journalBeside = hasContent(path + "-journal");
    return header;
}

Status harden(Database& database, std::size_t cacheBytes, int longestValue, bool writable)
{
    sqlite3* handle = database.handle();
    const auto configure = [&](int option, int value) { return sqlite3_db_config(handle, option, value, nullptr); };
    for (const auto& [option, value] :
         {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, std::pair{SQLITE_DBCONFIG_ENABLE_VIEW, 0},
          std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, std::pair{SQLITE_DBCONFIG_DQS_DML, 0},
          std::pair{SQLITE_DBCONFIG_DQS_DDL, 0}}) {
        if (const int rc = configure(option, value); rc != SQLITE_OK) return database.error(rc);
    }
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longestValue);
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, 100);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 200);
    sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
    sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
    std::string pragmas =
        "PRAGMA mmap_size=0; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-" +
        std::to_string(cacheBytes / 1024) + ";";
    if (!writable) pragmas += " PRAGMA query_only=ON;";
    return database.exec(pragmas);
}

} // namespace fourwalls::sqlite
