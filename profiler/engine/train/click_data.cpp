// SPDX-License-Identifier: Apache-2.0
// See click_data.h.
#include "profiler/engine/train/click_data.h"

#include "model/base/random.h"
#include "profiler/engine/core/host_access.h"

#include <cmath>

namespace fourwalls::engine {

namespace {

// Row r of a table is asked for with a probability that falls like r^(1/kSkew - 1): half of all look-ups go to the
// first 1/8 (for 3) of the rows.
constexpr double kSkew = 3.0;
// Standard deviations of what the dense features and the rows add to the logarithm of the odds.
constexpr double kDenseTaste = 1.0, kRowTaste = 1.5;

} // namespace

double ClickData::dense(std::int64_t sample, std::int64_t feature) const
{
    return RandomStream::named(m_seed, "click features")
        .bell(static_cast<std::uint64_t>(sample * m_spec.denseFeatures + feature));
}

std::int64_t ClickData::row(std::int64_t sample, std::int64_t table, std::int64_t lookup) const
{
    const std::int64_t at = (sample * m_spec.tables + table) * m_spec.lookupsPerTable + lookup;
    const double u = RandomStream::named(m_seed, "click rows").uniform(static_cast<std::uint64_t>(at));
    return static_cast<std::int64_t>(static_cast<double>(m_spec.rowsPerTable) * std::pow(u, kSkew));
}

double ClickData::clickProbability(std::int64_t sample) const
{
    const RandomStream taste = RandomStream::named(m_seed, "click taste");
    double fromDense = 0, fromRows = 0;
    for (std::int64_t d = 0; d < m_spec.denseFeatures; ++d)
        fromDense += dense(sample, d) * taste.bell(static_cast<std::uint64_t>(d));
    for (std::int64_t t = 0; t < m_spec.tables; ++t)
        for (std::int64_t l = 0; l < m_spec.lookupsPerTable; ++l)
            fromRows += taste.bell(
                static_cast<std::uint64_t>(m_spec.denseFeatures + t * m_spec.rowsPerTable + row(sample, t, l)));
    const auto terms = static_cast<double>(m_spec.tables * m_spec.lookupsPerTable);
    const double odds = kDenseTaste * fromDense / std::sqrt(static_cast<double>(m_spec.denseFeatures)) +
                        kRowTaste * fromRows / std::sqrt(terms);
    return 1.0 / (1.0 + std::exp(-odds));
}

Batch ClickData::batch(RankContext& rank, std::int64_t step, std::int64_t globalBatch, std::int64_t first,
                       std::int64_t count, std::int64_t) const
{
    const std::int64_t features = m_spec.denseFeatures, lookups = m_spec.tables * m_spec.lookupsPerTable;
    Batch batch;
    batch.samples = count;
    batch.inputs = Tensor::make(rank.allocator, {count, features}, rank.format.compute, MemoryCategory::Other);
    batch.targets = Tensor::make(rank.allocator, {count}, DType::I32, MemoryCategory::Other);
    batch.rows = Tensor::make(rank.allocator, {count, lookups}, DType::I32, MemoryCategory::Other);
    const RandomStream coin = RandomStream::named(m_seed, "clicks");
    const HostAccess inputs(batch.inputs, HostAccess::Mode::Write);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t sample = step * globalBatch + first + i;
        for (std::int64_t d = 0; d < features; ++d) inputs.set(i * features + d, dense(sample, d));
        std::int32_t* row = batch.rows.as<std::int32_t>() + i * lookups;
        for (std::int64_t t = 0; t < m_spec.tables; ++t)
            for (std::int64_t l = 0; l < m_spec.lookupsPerTable; ++l)
                *row++ = static_cast<std::int32_t>(this->row(sample, t, l));
        batch.targets.as<std::int32_t>()[i] =
            coin.uniform(static_cast<std::uint64_t>(sample)) < clickProbability(sample) ? 1 : 0;
    }
    return batch;
}

} // namespace fourwalls::engine
