// SPDX-License-Identifier: Apache-2.0
// The folder that a recorded command's processes write their spools into, beside the trace that is made of them.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// Removed with what is in it unless it is kept. While this object lives the folder is locked (flock), so that what a
/// killed command line has left can be told from what another one still uses.
class SpoolFolder {
public:
    static Result<SpoolFolder> create(const std::string& output);
    /// Folders of this output with spools in them that nobody holds: their command line was killed, or kept them.
    static std::vector<std::string> leftBehind(const std::string& output);

    SpoolFolder(SpoolFolder&& other) noexcept;
    SpoolFolder& operator=(SpoolFolder&&) = delete;
    ~SpoolFolder();

    const std::string& path() const { return m_path; }
    std::vector<std::string> spools() const;
    /// The processes of these spools that still run: the command has left them behind, and they go on recording.
    std::vector<std::int32_t> running() const;
    /// The folder stays.
    void keep() { m_kept = true; }
    /// The spools stay, because no trace came of them; the error says where they are.
    Error keepFor(Error error);

private:
    SpoolFolder(std::string path, int lock) : m_path(std::move(path)), m_lock(lock) {}
    std::string m_path;
    int m_lock = -1;
    bool m_kept = false;
};

} // namespace fourwalls::cli
