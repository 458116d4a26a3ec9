// SPDX-License-Identifier: Apache-2.0
// Where the times of a recording begin.
#pragma once

#include "model/base/time.h"

#include <cstdint>

namespace fourwalls::engine {

/// Instant 0 of a recording, on the two clocks that are read at the same moment.
struct ClockOrigin {
    std::int64_t monotonicNs = 0; ///< CLOCK_MONOTONIC [ns]
    std::int64_t unixNs = 0;      ///< CLOCK_REALTIME [ns since 1970]

    static ClockOrigin now();
    /// The time of a recording that begins here.
    Instant instantNow() const;
};

} // namespace fourwalls::engine
