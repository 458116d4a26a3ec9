// SPDX-License-Identifier: Apache-2.0
// Interrupted and running recordings, made readable.
#pragma once

#include "model/store/file_data.h"
#include "model/store/trace_file.h"

#include <memory>
#include <string>

namespace fourwalls::store {

/// The finished form of the recording at `path`: a private file, or null if it was finished in place, by this or, since
/// it was looked at, by its recorder.
Result<std::shared_ptr<TemporaryFile>> recoverRecording(const std::string& path, const OpenOptions& options);

} // namespace fourwalls::store
