// SPDX-License-Identifier: Apache-2.0
// The operators of latent attention (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1), beside those of device.h: they put
// queries, keys and values of every head together from their parts, for an attention core whose heads have one width.
// Each call is recorded as one kernel slice with its bytes. One object per rank, used by its thread.
#pragma once

#include "profiler/engine/device/device.h"

#include <cstdint>

namespace fourwalls::engine {

/// A head's queries and keys are `plain` columns without positions, then `rotary` columns with them; its values are `value`
/// columns, at most plain + rotary. n: rows, `sequence` to a sample.
struct LatentShape {
    std::int64_t sequence = 0, heads = 0, plain = 0, rotary = 0, value = 0;

    std::int64_t width() const { return plain + rotary; } ///< of a head in the attention core
    std::int64_t queryColumns() const { return heads * (plain + rotary); }
    std::int64_t keyValueColumns() const { return heads * (plain + value); }
};

class LatentOperators {
public:
    explicit LatentOperators(Device& device) : m_device(device) {}

    /// qkv [n, 3 heads width]: queries and keys with their rotary parts turned (element i of it with i + rotary / 2, as
    /// Device::rotary), values filled up with zeros. queries: [n, heads (plain + rotary)]; keysValues: [n, heads (plain +
    /// value)]; rotaryKeys: [n, rotary], the same for all heads. cosines, sines: [sequence, rotary / 2], master type.
    void join(const LatentShape& shape, const Tensor& queries, const Tensor& keysValues, const Tensor& rotaryKeys,
              const Tensor& cosines, const Tensor& sines, const Tensor& qkv);
    /// The gradients of what `join` put together; that of the rotary keys is the sum over the heads here.
    void split(const LatentShape& shape, const Tensor& dqkv, const Tensor& cosines, const Tensor& sines,
               const Tensor& dQueries, const Tensor& dKeysValues, const Tensor& dRotaryKeys);

    /// The first `value` columns of every head: [n, heads width] to [n, heads value].
    void dropFilling(const LatentShape& shape, const Tensor& from, const Tensor& to);
    /// Back again, with zeros behind.
    void addFilling(const LatentShape& shape, const Tensor& from, const Tensor& to);

private:
    Device& m_device;
};

} // namespace fourwalls::engine
