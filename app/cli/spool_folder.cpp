// SPDX-License-Identifier: Apache-2.0
// Making, finding and removing the folder of spools.
#include "app/cli/spool_folder.h"

#include "model/base/process_mark.h"
#include "profiler/collect/spool_format.h"
#include "profiler/collect/spool_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace fourwalls::cli {

namespace fs = std::filesystem;

namespace {

constexpr char kMark[] = ".spool-";

std::vector<std::string> spoolsIn(const std::string& folder)
{
    std::vector<std::string> found;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure))
        if (entry.path().extension() == collect::kSpoolSuffix) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    return found;
}

/// Opens and locks a folder; -1: somebody else holds it, or it cannot be opened.
int locked(const std::string& folder)
{
    const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    close(file);
    return -1;
}

/// When a process began, in ticks since the machine was booted; 0: there is none of this number.
std::uint64_t startOf(std::int32_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos) return 0;
    const char* at = text.c_str() + name;
    for (int field = 3; field <= 22 && at; ++field) at = std::strchr(at + 1, ' '); // "PID (NAME) S ..."
    return at ? std::strtoull(at, nullptr, 10) : 0;
}

} // namespace

Result<SpoolFolder> SpoolFolder::create(const std::string& output)
{
    std::error_code failure;
    std::string path = fs::absolute(output + kMark + "XXXXXX", failure).string();
    if (!mkdtemp(path.data()))
        return Error{ErrorCode::Io, std::string("no folder for the recording: ") + std::strerror(errno), path,
                     "another place for -o"};
    const int lock = locked(path);
    return SpoolFolder(std::move(path), lock);
}

std::vector<std::string> SpoolFolder::leftBehind(const std::string& output)
{
    std::vector<std::string> found;
    std::error_code failure;
    const fs::path whole = fs::absolute(output, failure);
    const std::string begin = whole.filename().string() + kMark;
    for (const auto& entry : fs::directory_iterator(whole.parent_path(), failure)) {
        if (!entry.path().filename().string().starts_with(begin)) continue;
        const int lock = locked(entry.path().string());
        if (lock < 0) continue;
        if (!spoolsIn(entry.path().string()).empty()) found.push_back(entry.path().string());
        close(lock);
    }
    std::sort(found.begin(), found.end());
    return found;
}

SpoolFolder::SpoolFolder(SpoolFolder&& other) noexcept
    : m_path(std::exchange(other.m_path, {}))
    , m_lock(std::exchange(other.m_lock, -1))
    , m_kept(other.m_kept)
{}

SpoolFolder::~SpoolFolder()
{
    if (!m_path.empty() && !m_kept) removeTemporary(m_path);
    if (m_lock >= 0) close(m_lock);
}

std::vector<std::string> SpoolFolder::spools() const
{
    return spoolsIn(m_path);
}

std::vector<std::int32_t> SpoolFolder::running() const
{
    std::vector<std::int32_t> found;
    for (const std::string& path : spools()) {
        const auto spool = collect::SpoolReader::open(path);
        if (!spool) continue; // the conversion says what is wrong with it
        const collect::FileHeader& header = spool->header();
        if (header.pid > 0 && header.processStart != 0 && startOf(header.pid) == header.processStart)
            found.push_back(header.pid);
    }
    return found;
}

Error SpoolFolder::keepFor(Error error)
{
    keep();
    error.what += "; what was recorded is in " + m_path;
    return error;
}

} // namespace fourwalls::cli
