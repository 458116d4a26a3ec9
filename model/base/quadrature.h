// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace fourwalls {

/// What two errors that do not depend on each other make together: the root of the sum of their squares. (std::hypot
/// does the same for numbers whose squares overflow, and would ask for C library 2.35; the server package is for 2.34.)
inline double inQuadrature(double first, double second)
{
    return std::sqrt(first * first + second * second);
}

} // namespace fourwalls
