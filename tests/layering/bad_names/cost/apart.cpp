// SPDX-License-Identifier: Apache-2.0
// Part of a sample: has options of its own, so CMake compiles it by itself.
namespace fourwalls::cost {
namespace {
constexpr int kMost = 5;
} // namespace
} // namespace fourwalls::cost
