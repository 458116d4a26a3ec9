// SPDX-License-Identifier: Apache-2.0
// Opening what others recorded: which importer takes a file is told by its first bytes.
#pragma once

#include "model/base/result.h"
#include "model/import/common/trace_facts.h"
#include "model/import/common/trace_import.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// Looks at the files and finds out which ranks they are. A path may be a folder, an archive, ARCHIVE//MEMBER or "-" for
/// standard input: see inputFiles. Errors: NotFound, Io; Unsupported naming what a file is if it
/// is none of ours; InvalidArgument if the files are not of one run; Cancelled. Memory snapshots may stand beside files
/// of one other format: see joinSnapshots.
Result<std::unique_ptr<TraceImport>> openImport(const std::vector<std::string>& paths,
                                                const ImportOptions& options = {});

/// What an import of these paths would read.
struct ImportListing {
    struct File {
        std::string name; ///< as openImport's errors call it
        std::string format;
        std::optional<int> rank; ///< as far as its name or its beginning tells; the rest is told by the import
        std::int64_t bytes = 0;
    };
    std::vector<File> files;
    std::vector<std::string> leftAlone; ///< files of folders and archives that are no profiles; the first ones
    std::int64_t leftAloneCount = 0;
    std::vector<std::string> lost; ///< "NAME: why" of profiles that cannot be read; the first ones
    std::int64_t lostCount = 0;
};
Result<ImportListing> listImport(const std::vector<std::string>& paths, const ImportOptions& options = {});

/// The facts of one foreign file, without writing a trace. Errors: as openImport.
Result<TraceFacts> factsOfFile(const std::string& path, const ImportOptions& options = {});

} // namespace fourwalls::importers
