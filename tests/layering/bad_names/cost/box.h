// SPDX-License-Identifier: Apache-2.0
// Part of a sample: a class whose members are called like what another file has for itself.
#pragma once

namespace fourwalls::cost {
struct Shape {
    int width() const;
};
class Box : public Shape {
public:
    Box();
    int area() const;

private:
    int height() const;
    int m_height{0};
};
} // namespace fourwalls::cost
