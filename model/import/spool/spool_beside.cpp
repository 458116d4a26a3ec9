// SPDX-License-Identifier: Apache-2.0
// Magic bytes, and the name of a snapshot.
#include "model/import/spool/spool_beside.h"

#include "profiler/collect/spool_format.h"

#include <filesystem>

namespace fourwalls::importers {

bool isSpool(std::string_view beginning)
{
    return beginning.starts_with(std::string_view(collect::kSpoolMagic, sizeof collect::kSpoolMagic));
}

std::vector<std::string> snapshotsBeside(const std::vector<std::string>& spools)
{
    std::vector<std::string> found;
    for (const std::string& spool : spools) {
        const std::string_view suffix = collect::kSpoolSuffix;
        if (!spool.ends_with(suffix)) continue;
        const std::string path = spool.substr(0, spool.size() - suffix.size()) + ".memory.pickle";
        std::error_code none;
        if (std::filesystem::is_regular_file(path, none)) found.push_back(path);
    }
    return found;
}

} // namespace fourwalls::importers
