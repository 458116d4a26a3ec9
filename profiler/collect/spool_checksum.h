// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the check of every part of a spool. Needs nothing but the processor: the module uses it too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fourwalls::collect {

/// CRC-32C of `size` bytes, continuing from `seed` (the result for what came before, or any starting value; 0 gives the
/// standard check of the bytes alone). Uses the processor's instruction where it has one.
std::uint32_t crc32c(std::uint32_t seed, const void* bytes, std::size_t size);

/// The same by tables, on any processor.
std::uint32_t crc32cByTable(std::uint32_t seed, const void* bytes, std::size_t size);

} // namespace fourwalls::collect
