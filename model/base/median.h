// SPDX-License-Identifier: Apache-2.0
// The middle of a list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace fourwalls {

/// The value in the middle by size; of an even number of values the lower one of the two, so that it is one that the
/// list has. Linear. Precondition: not empty.
template <class T, class Less = std::less<T>>
T lowerMedian(std::vector<T> values, Less less = {})
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end(), less);
    return *middle;
}

/// The same, but of an even number of values the upper one of the two. Precondition: not empty.
template <class T>
T upperMedian(std::vector<T> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// The same, but of an even number of values the mean of the two in the middle. Precondition: not empty.
template <class T>
T median(std::vector<T> values)
{
    const bool isOdd = values.size() % 2 == 1;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (isOdd) return *middle;
    return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

} // namespace fourwalls
