// SPDX-License-Identifier: Apache-2.0
// Sums over any number of records. Valid times are bounded so that two of them never overflow; damaged files may hold
// more of the longest ones.
#pragma once

#include "model/base/time.h"

#include <limits>
#include <optional>

namespace fourwalls {

/// sum += part, stopping at the ends of the range.
inline void addTo(std::int64_t& sum, std::int64_t part)
{
    if (__builtin_add_overflow(sum, part, &sum))
        sum = part < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}
inline void addTo(Duration& sum, Duration part)
{
    addTo(sum.ns, part.ns);
}
/// A sum that is only known while every part of it is. Begins at 0.
inline void addKnown(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& part)
{
    if (sum && part)
        addTo(*sum, *part);
    else
        sum.reset();
}

} // namespace fourwalls
