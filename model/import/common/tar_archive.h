// SPDX-License-Identifier: Apache-2.0
// Members of tar archives (also packed ones), read where they lie: nothing is unpacked to disk. A member has a path of
// its own, ARCHIVE//MEMBER, which no file can have, because an archive is no folder.
#pragma once

#include "model/import/common/byte_source.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Whether bytes are the first ones (at least 512, unpacked) of a tar archive.
bool isTar(std::string_view beginning);

struct TarMember {
    std::string path;      ///< ARCHIVE//MEMBER
    std::string beginning; ///< its first bytes, as they are in the archive
};

/// The regular files in an archive, in its order, each with its first `bytes` bytes; hidden ones (names that begin with
/// a dot) and empty ones are left out. A damaged archive gives what stands before the damage. Errors: those of
/// openByteSource; Cancelled is not asked for.
Result<std::vector<TarMember>> tarMembers(const std::string& archive, std::size_t bytes);

/// ARCHIVE and MEMBER of such a path; absent for others.
std::optional<std::pair<std::string, std::string>> splitMemberPath(const std::string& path);

/// The bytes of one member. archive: the unpacked bytes of the archive from its beginning.
/// Errors: NotFound if there is no such member; those of reading.
Result<std::unique_ptr<ByteSource>> openTarMember(std::unique_ptr<ByteSource> archive, const std::string& member,
                                                  const std::string& path);

} // namespace fourwalls::importers
