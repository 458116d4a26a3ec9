// SPDX-License-Identifier: Apache-2.0
// See scratch_folder.h.
#include "model/import/common/scratch_folder.h"

#include "model/base/process_mark.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace fourwalls::importers {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = ".fourwalls-unpacked-";

/// One part of a path as a plain name.
std::string plainName(const std::string& part)
{
    constexpr std::size_t kLongest = 100;
    std::string name = part.size() > kLongest ? part.substr(part.size() - kLongest) : part;
    for (char& c : name)
        if (static_cast<unsigned char>(c) < ' ' || c == '/' || c == 0x7f) c = '_';
    if (name.empty() || name[0] == '.') name.insert(0, 1, '_');
    return name;
}

} // namespace

Result<std::shared_ptr<ScratchFolder>> ScratchFolder::create(const std::string& within)
{
    std::error_code error;
    const fs::path parent = within.empty() ? fs::temp_directory_path(error) : fs::path(within);
    removeAbandoned(parent.string(), kFolderPrefix);
    std::string path = (parent / (std::string(kFolderPrefix) + processMark() + "-XXXXXX")).string();
    if (error || !::mkdtemp(path.data()))
        return Error{ErrorCode::Io, std::string("no folder for unpacking can be made: ") + std::strerror(errno), path,
                     "check the folder for temporary files (TMPDIR)"};
    return std::shared_ptr<ScratchFolder>(new ScratchFolder(std::move(path)));
}

ScratchFolder::~ScratchFolder()
{
    removeTemporary(m_path);
}

Result<std::string> ScratchFolder::place(const std::string& member)
{
    std::vector<std::string> parts;
    for (const fs::path& part : fs::path(member).relative_path())
        if (part != "." && part != ".." && !part.empty()) parts.push_back(part.string());
    // Ranks are told from three names of a path: with this folder's own between, never from the machine's.
    constexpr std::size_t kKept = 3;
    fs::path to = fs::path(m_path) / "files" / std::to_string(m_places++);
    for (std::size_t i = parts.size() > kKept ? parts.size() - kKept : 0; i < parts.size(); ++i)
        to /= plainName(parts[i]);
    if (parts.empty()) to /= "member";
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (error) return Error{ErrorCode::Io, "cannot unpack: " + error.message(), m_path, "make room on the disk"};
    return to.string();
}

} // namespace fourwalls::importers
