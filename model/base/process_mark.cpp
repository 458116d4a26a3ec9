// SPDX-License-Identifier: Apache-2.0
// The machine's name is part of the mark, because folders are shared between machines and process numbers are not.
#include "model/base/process_mark.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
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

void removeAbandoned(const std::string& folder, std::string_view prefix)
{
    const std::string ours = std::string(prefix) + machineMark();
    std::vector<fs::path> abandoned;
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.starts_with(ours)) continue;
        int process = 0;
        std::from_chars(name.data() + ours.size(), name.data() + name.size(), process);
        if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) abandoned.push_back(it->path());
    }
    for (const fs::path& path : abandoned) fs::remove_all(path, error);
}

} // namespace fourwalls
