// SPDX-License-Identifier: Apache-2.0
// Part of a sample: its own members, parameters and variables are no confusion.
#include "cost/box.h"

namespace fourwalls::cost {

Box::Box() : m_height{1} {}

int Box::area() const
{
    return width() * height();
}

int Box::height() const
{
    int total = 1, half = 2;
    const auto [First, Second] = std::pair(1, 2);
    const auto count = [](int n) { return n; };
    for (const auto& kNames : {1, 2}) total += kNames;
    return count(total + half) + First + Second + m_height;
}

bool larger(const Box& a, int kMost, const std::vector<int>& kLeast)
{
    return a.area() > kMost && kLeast.empty();
}

} // namespace fourwalls::cost
