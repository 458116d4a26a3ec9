// SPDX-License-Identifier: Apache-2.0
// Opening what others recorded: which importer takes a file is told by its first bytes.
#pragma once

#include "model/base/result.h"
#include "model/import/common/trace_facts.h"
#include "model/import/common/trace_import.h"

#include <memory>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// Looks at the files and finds out which ranks they are. Errors: NotFound, Io; Unsupported naming what a file is if it
/// is none of ours; InvalidArgument if the files are not of one run; Cancelled. Memory snapshots may stand beside files
/// of one other format: see joinSnapshots.
Result<std::unique_ptr<TraceImport>> openImport(const std::vector<std::string>& paths,
                                                const ImportOptions& options = {});

/// The facts of one foreign file, without writing a trace. Errors: as openImport.
Result<TraceFacts> factsOfFile(const std::string& path, const ImportOptions& options = {});

/// Whether a file's first bytes are those of something that can be imported: for file dialogs and the choice between
/// opening and importing.
bool looksImportable(const std::string& path);

} // namespace fourwalls::importers
