// SPDX-License-Identifier: Apache-2.0
// The machine's name is part of the mark, because folders are shared between machines and process numbers are not.
#include "model/base/process_mark.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <vector>

namespace fourwalls {

namespace fs = std::filesystem;

namespace {

std::string machineMark()
{
    char host[256] = {};
    static_cast<void>(::gethostname(host, sizeof host - 1));
    std::string mark;
    for (const char* c = host; *c; ++c) {
        const bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '.';
        mark += plain ? *c : '_';
    }
    return mark.substr(0, 64) + "-";
}

} // namespace

std::string processMark()
{
    return machineMark() + std::to_string(::getpid());
}

void removeAbandoned(const std::string& folder, std::string_view before)
{
    const std::string ours = std::string(before) + machineMark();
    std::vector<std::string> abandoned;
    // Not the standard library's iterator: without memory it ends the program.
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.empty() ? "." : folder.c_str()), ::closedir);
    while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
        const std::string_view name = entry->d_name;
        const std::size_t at = name.find(ours);
        if (at == std::string_view::npos) continue;
        int process = 0;
        std::from_chars(name.data() + at + ours.size(), name.data() + name.size(), process);
        if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) abandoned.emplace_back(name);
    }
    std::error_code ignored;
    for (const std::string& name : abandoned) fs::remove_all(fs::path(folder) / name, ignored);
}

void removeTemporary(const std::string& path) noexcept
try {
    std::error_code ignored;
    fs::remove_all(path, ignored);
    for (const char* companion : {"-wal", "-shm", "-journal"}) fs::remove(path + companion, ignored);
} catch (const std::bad_alloc&) {
    ::unlink(path.c_str());
}

} // namespace fourwalls
