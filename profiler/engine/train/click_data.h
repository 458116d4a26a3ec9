// SPDX-License-Identifier: Apache-2.0
// Clicks made by formula for recommendation models: some rows of every table are asked for far more often than others,
// and a hidden taste (of rows, and of the dense features) decides how likely a click is. So there is something to learn,
// without a data set to download.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/train/data_source.h"

#include <cstdint>

namespace fourwalls::engine {

class ClickData final : public DataSource {
public:
    ClickData(const RecommendationSpec& spec, std::uint64_t seed) : m_spec(spec), m_seed(seed) {}

    std::int64_t sampleBytes(std::int64_t) const override
    {
        return m_spec.denseFeatures * bytesOf(DType::F32) +
               (m_spec.tables * m_spec.lookupsPerTable + 1) * bytesOf(DType::I32);
    }
    /// inputs: [samples, dense features] in the compute type, of zero mean and unit variance; rows: [samples, tables
    /// lookups] of I32; targets: [samples] of I32, 1 for a click.
    Batch batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first, std::int64_t count,
                std::int64_t length = 0) const override;

    /// How likely a sample is clicked, for whoever knows the formula.
    double clickProbability(std::int64_t sample) const;
    /// The row that a sample asks of a table.
    std::int64_t row(std::int64_t sample, std::int64_t table, std::int64_t lookup) const;

private:
    double dense(std::int64_t sample, std::int64_t feature) const;

    RecommendationSpec m_spec;
    std::uint64_t m_seed;
};

} // namespace fourwalls::engine
