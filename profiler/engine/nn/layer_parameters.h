// SPDX-License-Identifier: Apache-2.0
// The parameters of one transformer layer: their names in GPT-2, LLaMA and BERT files, and which part of them this rank
// holds.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/nn/norm.h"
#include "profiler/engine/nn/tensor_parallel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// Switches that change how a network is computed but not what it computes.
struct ComputeOptions {
    bool fusedAttention = true;
    bool fuse = true; ///< biases and residuals inside products; loss in chunks that never hold all logits
    Recompute recompute = Recompute::None;
    MoeRouting routing = MoeRouting::Natural;
    int microbatches = 1; ///< of a step: auxiliary losses are means over them
};

/// Prefix of the names in weight files and whether the LLaMA style (rotary models) is used.
bool usesLlamaNames(const TransformerSpec& spec);
/// Whether names and the order of matrices are those of BERT's files (encoders).
bool usesBertNames(const TransformerSpec& spec);

class LayerParameters {
public:
    /// A range of a matrix's columns (and of its bias) and its name in the files.
    struct Piece {
        std::string name;
        std::int64_t columns;
    };

    LayerParameters(const RankContext& rank, ParameterList& list, const TransformerSpec& spec, std::int32_t index,
                    std::uint64_t seed, bool fuse);

    const TransformerSpec& spec() const { return m_spec; }
    /// One of three names, by the kind of file.
    const char* named(const char* bert, const char* llama, const char* gpt) const;
    bool llama() const { return usesLlamaNames(m_spec); }
    bool bert() const { return usesBertNames(m_spec); }

    Norm norm(const std::string& name);
    /// An RMS norm of a latent of that width (latent attention).
    Norm latentNorm(const std::string& name, std::int64_t width);
    /// A matrix that every rank of the tensor group holds whole, without a bias; its products are taken of held rows.
    Linear whole(const std::string& name, std::int64_t in, std::int64_t out);
    /// Columns cut over the tensor group, each of the `sections` (widths side by side) for itself.
    ColumnLinear column(const std::string& name, std::int64_t in, const std::vector<std::int64_t>& sections,
                        const std::vector<Piece>& pieces, bool biases);
    /// Rows cut over the tensor group. Projects onto the residual stream.
    RowLinear row(const std::string& name, std::int64_t in, std::int64_t out, const std::string& piece, bool biases);

private:
    const RankContext& m_rank;
    ParameterList& m_list;
    const TransformerSpec& m_spec;
    std::uint64_t m_seed;
    bool m_fuse;
    std::string m_layer;
};

} // namespace fourwalls::engine
