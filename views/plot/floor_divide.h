// SPDX-License-Identifier: GPL-3.0-or-later
// Division for tiles and ticks on both sides of the origin.
#pragma once

#include <cstdint>

namespace fourwalls::views {

/// a / b rounded down, also where a is negative. b > 0.
inline std::int64_t floorDivide(std::int64_t a, std::int64_t b)
{
    const auto quotient = a / b;
    return a % b < 0 ? quotient - 1 : quotient;
}

} // namespace fourwalls::views
