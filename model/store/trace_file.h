// SPDX-License-Identifier: Apache-2.0
// Opening a .fourwalls file. The file may come from a stranger: what is not ours is refused with one sentence, and
// damaged rows are skipped and counted.
#pragma once

#include "model/trace/trace_query.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace fourwalls::store {

/// What to do with a recording that was never finished.
enum class Recovery {
    Finish,     ///< finish it in place when it can be written and nobody records into it, else on a private copy
    PrivateCopy ///< never touch the file
};

struct OpenOptions {
    Recovery recovery = Recovery::Finish;
    std::size_t cacheBytes = std::size_t{8} << 20; ///< of pages, per connection
    std::function<void(double)> recoveryProgress;  ///< 0..1; called only while an incomplete recording is finished
    std::stop_token stop;                          ///< cancels that
};

/// Opens a trace in time that does not depend on its size (an incomplete recording is finished first).
/// Errors: NotFound, Io (no permission), Format (not a trace, truncated, changed), Unsupported (newer version),
/// Cancelled.
Result<std::unique_ptr<TraceQuery>> openTrace(const std::string& path, const OpenOptions& options = {});

/// Whether the file's first bytes are those of a trace, finished or recording: for file dialogs and importers.
bool looksLikeTrace(const std::string& path);

} // namespace fourwalls::store
