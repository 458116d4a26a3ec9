// SPDX-License-Identifier: Apache-2.0
// Where micro-batches come from.
#pragma once

#include "profiler/engine/nn/model.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::engine {

class DataSource {
public:
    virtual ~DataSource() = default;

    /// Bytes that one sample of so many tokens comes to in memory, inputs and targets, before any cut; 0: unknown.
    virtual std::int64_t sampleBytes(std::int64_t /*length*/) const { return 0; }

    /// Lengths of the documents in the samples that `batch` gives for the same arguments (Batch::documents), for who reads
    /// none of their tokens; null: each sample is one.
    virtual std::shared_ptr<const std::vector<std::int64_t>> documents(std::int64_t /*step*/,
                                                                       std::int64_t /*globalBatch*/,
                                                                       std::int64_t /*first*/, std::int64_t /*count*/,
                                                                       std::int64_t /*length*/ = 0) const
    {
        return {};
    }

    /// Samples first .. first + count of the global batch of `step`. What they hold depends on the seed, the step and
    /// the sample's number only, never on how the batch is cut. length: tokens of each, its first ones; 0: all.
    virtual Batch batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first,
                        std::int64_t count, std::int64_t length = 0) const = 0;
};

} // namespace fourwalls::engine
