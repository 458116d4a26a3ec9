// SPDX-License-Identifier: Apache-2.0
// Part of a sample: its own members, parameters and variables are no confusion, but kLeast is (-Wshadow).
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
    const auto [close, marked] = std::pair(1, 2);
    const auto count = [](int n) { return n; };
    for (const auto& Status : {1, 2}) total += Status;
    return count(total + half) + close + marked + m_height;
}

bool larger(const Box& a, int OnlyHere, const std::vector<int>& kLeast)
{
    return a.area() > OnlyHere && kLeast.empty();
}

} // namespace fourwalls::cost
