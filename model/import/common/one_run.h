// SPDX-License-Identifier: Apache-2.0
// Whether files that were opened together are of one run: what is merged by mistake becomes a trace of years.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::importers {

/// What a file says about where it belongs.
struct RunMember {
    std::string path;
    std::optional<int> rank; ///< said by the file or its name
    std::optional<int> worldSize;
    bool wallClock = false;               ///< the times below are Unix times
    std::int64_t firstNs = 0, lastNs = 0; ///< of its events
    bool empty = false;                   ///< it has no events, and no times
    bool aligned = false;                 ///< it shares operations with another of the files
};

/// Errors: InvalidArgument naming two files that cannot be of one run: one rank twice, jobs of different sizes, times that
/// lie far apart, times of different kinds, or nothing at all that joins them.
Status checkOneRun(const std::vector<RunMember>& members);

/// "3 days", "2.5 hours", "40 seconds".
std::string timeApart(std::int64_t ns);

} // namespace fourwalls::importers
