// SPDX-License-Identifier: Apache-2.0
// Random numbers of the engine and of what prices its runs: counter-based, so that a value depends only on (seed, stream,
// index) and not on who asks first, on the number of ranks or on the order of evaluation.
#pragma once

#include "model/base/fnv_hash.h"

#include <cstdint>
#include <string_view>

namespace fourwalls {

/// SplitMix64's output function (Steele, Lea, Flood 2014, doi:10.1145/2660193.2660195), a bijection of 64 bits.
constexpr std::uint64_t mix64(std::uint64_t z)
{
    z += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/// One stream of random numbers. The i-th value is mix64(mix64(mix64(seed) ^ stream) + i).
class RandomStream {
public:
    constexpr RandomStream(std::uint64_t seed, std::uint64_t stream) : m_base(mix64(mix64(seed) ^ stream)) {}

    /// A stream named by text (a parameter's name), by 64-bit FNV-1a.
    static constexpr RandomStream named(std::uint64_t seed, std::string_view text) { return {seed, fnvHash(text)}; }

    constexpr std::uint64_t bits(std::uint64_t index) const { return mix64(m_base + index); }

    /// In [0, 1), 53 bits.
    constexpr double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1.0p-53; }

    /// In [0, bound). bound >= 1. The bias is below bound / 2^64.
    constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const
    {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((static_cast<Wide>(bits(index)) * bound) >> 64);
    }

    /// Mean 0, variance 1, bell-shaped: the sum of four 16-bit uniforms, so never beyond 3.47. For initial weights,
    /// where a cut-off normal is what is wanted and millions are drawn.
    constexpr double bell(std::uint64_t index) const
    {
        const std::uint64_t b = bits(index);
        const auto sum = static_cast<double>((b & 0xffff) + ((b >> 16) & 0xffff) + ((b >> 32) & 0xffff) + (b >> 48));
        // Each uniform has the variance (2^32 - 1) / 12.
        return (sum - 2.0 * 65535.0) / (65536.0 * 0.5773502691896258);
    }

private:
    std::uint64_t m_base;
};

} // namespace fourwalls
