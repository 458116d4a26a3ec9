// SPDX-License-Identifier: Apache-2.0
// A recommendation model (Naumov et al. 2019, arXiv:1906.00091): every sparse feature is a sum of rows of a large
// table, the dense ones pass through a small net, all meet in dot products of pairs (or lie side by side), and a second
// net says how likely a click is. The tables may live elsewhere (parameter servers): then the model works on the rows
// that a batch needs, which somebody brings.
#pragma once

#include "model/spec/model_spec.h"
#include "profiler/engine/device/sparse_operators.h"
#include "profiler/engine/nn/linear.h"
#include "profiler/engine/nn/model.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

struct RecommendationOptions {
    bool fuse = true;
    bool remoteTables = false; ///< the tables are no parameters of this rank
};

/// Name and standard deviation of the first entries of a table.
std::string tableName(std::int64_t table);
double tableDeviation(const RecommendationSpec& spec);
/// The first value of the element at `index` (row-major) of a table.
double tableEntry(const RecommendationSpec& spec, std::uint64_t seed, std::int64_t table, std::int64_t index);

class Recommendation final : public TrainingModel {
public:
    Recommendation(const RankContext& rank, const RecommendationSpec& spec, std::uint64_t seed,
                   const RecommendationOptions& options = {});

    ParameterList& parameters() override { return m_parameters; }
    Shape inputShape(const RankContext& rank, const Batch& batch) const override;
    std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch, const Tensor& input) override;
    double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) override;
    double evaluate(RankContext& rank, const Batch& batch, ForwardState& state) override;
    Tensor backward(RankContext& rank, const Batch& batch, ForwardState& state, const Tensor& dOutput) override;

    /// Remote tables: the rows that the next forward pass and its backward pass work on, one tensor per table. The
    /// batch's row numbers count within them.
    void bringRows(std::vector<Tensor> rows) { m_rows = std::move(rows); }
    /// Remote tables: the gradients of those rows after the backward pass, in the same order. Gives them away.
    std::vector<Tensor> takeRowGradients() { return std::move(m_rowGradients); }

    const RecommendationSpec& spec() const { return m_spec; }

private:
    struct State;
    static const Tensor& lastInput(const State& state);
    Tensor headLoss(RankContext& rank, const Batch& batch, const State& state, double scale, double& sum) const;
    struct Net {
        std::vector<Linear> layers;
    };
    Net makeNet(const RankContext& rank, const std::string& name, std::int64_t in,
                const std::vector<std::int64_t>& widths, std::uint64_t seed);
    /// x through all layers with a ReLU behind each (but the last if `open`); keeps what each layer gave.
    void run(RankContext& rank, const Net& net, const Tensor& x, std::size_t layers, std::vector<Tensor>& kept) const;
    /// dy: the gradient behind the last of the first `layers` layers, overwritten. Returns the gradient with respect
    /// to x if it is wanted.
    Tensor runBackward(RankContext& rank, const Net& net, const Tensor& x, std::size_t layers,
                       std::vector<Tensor>& kept, Tensor dy, bool wanted) const;
    Tensor table(std::int64_t index) const;

    RecommendationSpec m_spec;
    RecommendationOptions m_options;
    ParameterList m_parameters;
    std::vector<Parameter*> m_tables; // empty if they are remote
    Net m_bottom, m_top;
    const ParameterUnit* m_tableUnit = nullptr;
    const ParameterUnit* m_bottomUnit = nullptr;
    const ParameterUnit* m_topUnit = nullptr;
    std::vector<Tensor> m_rows, m_rowGradients;
};

} // namespace fourwalls::engine
