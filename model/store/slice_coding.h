// SPDX-License-Identifier: Apache-2.0
// A slice as bytes behind the slice before it, the same in a recording's batches and in the streams of a finish.
#pragma once

#include "model/store/codec.h"
#include "model/store/stored_rows.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fourwalls::store {

/// previous: the start of the slice before, at first 0.
inline void putSlice(std::string& out, std::int64_t& previous, const SliceRow& row)
{
    // 0 is absent; a value is its zigzag form plus one.
    const auto optional = [](std::int64_t value) { return value == kAbsent ? 0 : zigzag(value) + 1; };
    char bytes[5 * kLongestVarint];
    char* end = putVarint(bytes, zigzag(wrappingSub(row.start, previous)));
    end = putVarint(end, static_cast<std::uint64_t>(row.duration));
    end = putVarint(end, static_cast<std::uint64_t>(row.op));
    end = putVarint(end, optional(row.microbatch));
    end = putVarint(end, optional(row.correlation));
    out.append(bytes, static_cast<std::size_t>(end - bytes));
    previous = row.start;
}

inline void takeSlice(Decoder& in, std::int64_t& previous, SliceRow& row)
{
    const auto optional = [](std::uint64_t value) { return value == 0 ? kAbsent : unzigzag(value - 1); };
    previous = wrappingAdd(previous, in.signedVarint());
    row.start = previous;
    row.duration = static_cast<std::int64_t>(in.varint());
    row.op = static_cast<std::int32_t>(in.bounded(kLargestId));
    row.microbatch = optional(in.varint());
    row.correlation = optional(in.varint());
}

} // namespace fourwalls::store
