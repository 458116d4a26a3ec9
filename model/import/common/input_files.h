// SPDX-License-Identifier: Apache-2.0
// What a person gives to import: files, folders, archives, standard input. It becomes a list of files that importers can
// read; what had to be unpacked lies in a private folder for as long as the list lives.
#pragma once

#include "model/base/result.h"
#include "model/import/common/trace_import.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

class ScratchFolder;

struct InputFile {
    std::string path;
    std::string name;   ///< as the person knows it: the path, "ARCHIVE//MEMBER" or "standard input"
    bool found = false; ///< in a folder or archive, not named by the person
};

struct InputFiles {
    std::vector<InputFile> files;
    std::vector<std::string> leftAlone; ///< names of files in folders and archives that are no profiles; the first ones
    std::int64_t leftAloneCount = 0;    ///< of them all
    std::vector<std::string>
        lost;                   ///< "NAME: why" of profiles in folders and archives that cannot be read; the first ones
    std::int64_t lostCount = 0; ///< of them all
    std::vector<AuditRecord> notes;         ///< for the trace's audit
    std::shared_ptr<ScratchFolder> scratch; ///< removes what was unpacked; made when it is needed

    std::vector<std::string> paths() const;
    void leaveAlone(std::string name);
    void lose(const std::string& name, const std::string& why);
    /// Makes the folder if there is none yet. within: see ScratchFolder::create.
    Result<ScratchFolder*> scratchFolder(const std::string& within);
    /// The error with the names that the person knows.
    Error named(Error error) const;
};

enum class InputKind {
    Other,   ///< nothing that can be imported
    Profile, ///< for an importer
    Report,  ///< for an importer once another program has converted it; of a folder only where there are no profiles
};

/// Told by a file's name and its first bytes (up to kInputBeginning, unpacked).
using InputKindOf = InputKind (*)(const std::string& name, std::string_view beginning);
inline constexpr std::size_t kInputBeginning = std::size_t{1} << 16;

/// A list of files. Folders are walked with what is below them (no links, no hidden names). Of folders and archives the
/// profiles are taken, other files are left alone; what a person names is taken whatever it is. "-" is standard input.
/// Members of archives are unpacked under names of our own, never where the archive says; links in them are left out.
/// Errors: Unsupported for addresses, and for an archive or folder without profiles, with too many, or one that unpacks
/// to far more than its size; NotFound; Io; Cancelled.
Result<InputFiles> inputFiles(const std::vector<std::string>& given, InputKindOf kindOf, const ImportOptions& options);

} // namespace fourwalls::importers
