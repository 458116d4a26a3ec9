// SPDX-License-Identifier: Apache-2.0
// Turning a recording into the finished trace: sorting, lanes, levels of detail, summaries.
#pragma once

#include "model/base/result.h"
#include "model/sqlite/database.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace fourwalls::store {

struct FinishOptions {
    std::function<void(double)> progress; ///< 0..1; may be empty
    std::stop_token stop;
    bool durable = true; ///< wait until the disk has the file; needless for private copies
};

/// Whether tracks are sorted on one thread and written on another, which takes less time where there are two processors.
enum class FinishThreads : std::uint8_t { One, Two };

/// Writes the finished form of the recording that `recording` is connected to into a new file at `output`, and
/// makes sure that the disk has it. On failure nothing is left at `output`.
/// Errors: Format if the connection is not to a recording; Io; Cancelled.
Status finishRecording(sqlite::Database& recording, const std::string& output, const FinishOptions& options);

/// Finishes the recording at `path` in place: into a temporary file beside it that is then renamed over it. Its recorder
/// and whoever opens what it left may both do so.
Status finishInPlace(const std::string& path, const FinishOptions& options);

} // namespace fourwalls::store
