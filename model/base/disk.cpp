// SPDX-License-Identifier: Apache-2.0
// fsync with words.
#include "model/base/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace fourwalls {

std::string folderOf(const std::string& path)
{
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

Status bringToDisk(const std::string& path)
{
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool synced = file >= 0 && ::fsync(file) == 0;
    const int code = errno;
    if (file >= 0) ::close(file);
    if (synced) return {};
    return Error{ErrorCode::Io, "the file cannot be brought to the disk: " + std::system_category().message(code), path,
                 "check the disk"};
}

} // namespace fourwalls
