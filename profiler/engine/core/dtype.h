// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, and bfloat16 as a storage type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fourwalls::engine {

enum class DType : std::uint8_t { F32, Bf16, F64, I32 };

constexpr std::int64_t bytesOf(DType type)
{
    switch (type) {
    case DType::F32: return 4;
    case DType::Bf16: return 2;
    case DType::F64: return 8;
    case DType::I32: return 4;
    }
    return 0;
}

constexpr std::string_view name(DType type)
{
    switch (type) {
    case DType::F32: return "f32";
    case DType::Bf16: return "bf16";
    case DType::F64: return "f64";
    case DType::I32: return "i32";
    }
    return "?";
}

/// The upper half of an f32; stored only, arithmetic happens in f32.
struct Bf16 {
    std::uint16_t bits;

    constexpr float toFloat() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

    /// Rounds to nearest, ties to even; every NaN becomes the quiet one.
    static constexpr Bf16 fromFloat(float value)
    {
        if (value != value) return {0x7fc0};
        const auto u = std::bit_cast<std::uint32_t>(value);
        return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
    }
};

/// Half the distance from 1 to the next number: the largest relative error of one rounding.
constexpr double unitRoundoff(DType type)
{
    switch (type) {
    case DType::F32: return 5.9604644775390625e-8;  // 2^-24
    case DType::Bf16: return 3.90625e-3;            // 2^-8
    case DType::F64: return 1.1102230246251565e-16; // 2^-53
    case DType::I32: return 0;
    }
    return 0;
}

template <class T>
inline constexpr DType kDTypeOf = DType::F32;
template <>
inline constexpr DType kDTypeOf<float> = DType::F32;
template <>
inline constexpr DType kDTypeOf<double> = DType::F64;
template <>
inline constexpr DType kDTypeOf<Bf16> = DType::Bf16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::I32;

} // namespace fourwalls::engine
