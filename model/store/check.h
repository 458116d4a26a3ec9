// SPDX-License-Identifier: Apache-2.0
// The full scan behind `fourwalls-cli check`: every row is read, and everything that was derived when the trace was
// finished is computed again and compared.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::store {

/// One kind of damage.
struct CheckProblem {
    std::string name;       ///< stable, lower case: "slice_rows", "fence_differs"
    std::int64_t count = 0; ///< rows concerned
    std::string detail;     ///< the first of them, in words
};

struct CheckReport {
    bool sound = true;    ///< no problem found
    bool complete = true; ///< finished in order; false: an interrupted recording
    std::vector<CheckProblem> problems;
};

/// Scans a trace. progress: 0..1, may be empty. A file that openTrace refuses is reported as unsound with the
/// problem "refused". The file is never changed; memory stays bounded as in finishing.
/// Errors: NotFound or Io if the file cannot be read at all, Cancelled.
Result<CheckReport> checkTrace(const std::string& path, const std::function<void(double)>& progress = {},
                               std::stop_token stop = {});

} // namespace fourwalls::store
