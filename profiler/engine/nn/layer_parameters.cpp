// SPDX-License-Identifier: Apache-2.0
// See layer_parameters.h.
#include "profiler/engine/nn/layer_parameters.h"

#include <cmath>
#include <numeric>

namespace fourwalls::engine {

namespace {

constexpr double kDeviation = 0.02;

} // namespace

bool usesLlamaNames(const TransformerSpec& spec)
{
    return spec.positions == Positions::Rotary && spec.causal;
}

bool usesBertNames(const TransformerSpec& spec)
{
    return !spec.causal;
}

LayerParameters::LayerParameters(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                                 std::int32_t index, std::uint64_t seed, bool fuse)
    : m_rank(rank)
    , m_list(list)
    , m_spec(spec)
    , m_seed(seed)
    , m_fuse(fuse)
    , m_layer(named("bert.encoder.layer.", "model.layers.", "transformer.h.") + std::to_string(index) + ".")
{}

const char* LayerParameters::named(const char* ofBert, const char* ofLlama, const char* ofGpt) const
{
    return bert() ? ofBert : llama() ? ofLlama : ofGpt;
}

Norm LayerParameters::norm(const std::string& name)
{
    Norm n;
    n.kind = m_spec.normalization == Normalization::LayerNorm ? NormKind::LayerNorm : NormKind::RmsNorm;
    n.gain = &m_list.addVector(m_rank, m_layer + name + ".weight", m_spec.hidden, 1.0);
    n.gain->partialOverTensor = rowsAreCut(m_rank);
    if (n.kind != NormKind::LayerNorm) return n;
    n.shift = &m_list.addVector(m_rank, m_layer + name + ".bias", m_spec.hidden, 0.0);
    n.shift->partialOverTensor = rowsAreCut(m_rank);
    return n;
}

Norm LayerParameters::latentNorm(const std::string& name, std::int64_t width)
{
    Norm n;
    n.kind = NormKind::RmsNorm;
    n.gain = &m_list.addVector(m_rank, m_layer + name + ".weight", width, 1.0);
    n.gain->partialOverTensor = rowsAreCut(m_rank);
    return n;
}

Linear LayerParameters::whole(const std::string& name, std::int64_t in, std::int64_t out)
{
    Linear l;
    l.fuse = m_fuse;
    const std::string full = m_layer + name + ".weight";
    l.weight = &m_list.addMatrix(m_rank, m_seed, full, in, out, kDeviation, {{full, 0, out, llama() || bert()}});
    l.weight->partialOverTensor = rowsAreCut(m_rank);
    return l;
}

ColumnLinear LayerParameters::column(const std::string& name, std::int64_t in,
                                     const std::vector<std::int64_t>& sections, const std::vector<Piece>& pieces,
                                     bool withBiases)
{
    const std::int64_t out = std::accumulate(sections.begin(), sections.end(), std::int64_t{0});
    std::vector<ExternalPiece> weights, biases;
    std::int64_t first = 0;
    for (const auto& part : pieces) {
        weights.push_back({m_layer + part.name + ".weight", first, part.columns, llama() || bert()});
        biases.push_back({m_layer + part.name + ".bias", first, part.columns, false});
        first += part.columns;
    }
    std::vector<IndexRange> columns;
    first = 0;
    for (const std::int64_t width : sections) {
        const IndexRange own = splitEvenly(width, tensorRanks(m_rank), tensorIndex(m_rank));
        columns.push_back({first + own.first, own.count});
        first += width;
    }
    ColumnLinear l;
    l.linear.fuse = m_fuse;
    l.linear.weight = &m_list.addMatrix(m_rank, m_seed, m_layer + name + ".weight", in, out, kDeviation, weights,
                                        Shard::ofColumns(in, out, columns));
    if (withBiases)
        l.linear.bias =
            &m_list.addVector(m_rank, m_layer + name + ".bias", out, 0.0, biases, Shard::ofColumns(1, out, columns));
    return l;
}

RowLinear LayerParameters::row(const std::string& name, std::int64_t in, std::int64_t out, const std::string& piece,
                               bool withBias)
{
    // Projections onto the residual stream start smaller, by the number of additions (GPT-2, section 2.3).
    const double deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(m_spec.layers));
    RowLinear l;
    l.linear.fuse = m_fuse;
    l.linear.weight =
        &m_list.addMatrix(m_rank, m_seed, m_layer + name + ".weight", in, out, deviation,
                          {{m_layer + piece + ".weight", 0, out, llama() || bert()}},
                          Shard::ofRows(in, out, splitEvenly(in, tensorRanks(m_rank), tensorIndex(m_rank))));
    if (!withBias) return l;
    Parameter* bias =
        &m_list.addVector(m_rank, m_layer + name + ".bias", out, 0.0, {{m_layer + piece + ".bias", 0, out, false}});
    bias->partialOverTensor = rowsAreCut(m_rank);
    (tensorRanks(m_rank) == 1 ? l.linear.bias : l.bias) = bias;
    return l;
}

} // namespace fourwalls::engine
