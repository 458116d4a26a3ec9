// SPDX-License-Identifier: Apache-2.0
// FNV-1a, 64 bits: a number for bytes, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace fourwalls {

inline constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325ULL;

/// hash: of what comes before.
constexpr std::uint64_t fnvHash(std::string_view bytes, std::uint64_t hash = kFnvBasis)
{
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

} // namespace fourwalls
