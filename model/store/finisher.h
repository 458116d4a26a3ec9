// SPDX-License-Identifier: Apache-2.0
// The whole of finishing: from a source of records to the rows of every table. Used to write a trace and to check
// one, so it must give the same rows for the same records.
#pragma once

#include "model/base/chunk_store.h"
#include "model/base/result.h"
#include "model/store/finish.h"
#include "model/store/record_source.h"
#include "model/store/row_output.h"

#include <cstddef>

namespace fourwalls::store {

/// What finishing sorts [bytes in memory]; chunks beyond it go to a temporary file.
inline constexpr std::size_t kChunkBudget = std::size_t{64} << 20;

/// Puts every row. What was left out goes to the audit. threads: of two, one has the source and another one puts
/// rows, both at a time; `out` has to give its status to either.
Status finishRecords(RecordSource& source, RowOutput& out, ChunkStore& chunks, const FinishOptions& options,
                     FinishThreads threads);

} // namespace fourwalls::store
