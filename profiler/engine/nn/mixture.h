// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in place of a feed-forward block: a router chooses the experts of every token, tokens are sorted
// by expert, every expert works on its rows, and the results are put together again. No token is dropped. Experts may
// be shared out over ranks: then rows travel to their experts and back by all-to-all.
#pragma once

#include "model/spec/model_spec.h"
#include "model/spec/parallel_plan.h"
#include "profiler/engine/device/routing_operators.h"
#include "profiler/engine/nn/tensor_parallel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// How a mixture is run.
struct MixtureOptions {
    MoeRouting routing = MoeRouting::Natural; ///< Balanced: experts in turn, whatever the router says
    double microbatchShare = 1;               ///< 1 / micro-batches: the auxiliary loss is a mean over them
    bool fuse = true;
};

/// Weight of the auxiliary loss E sum over experts e of f_e P_e, where f_e is the share of the routed tokens that went
/// to e and P_e the mean probability of e, both over the tokens of all ranks that work on the same micro-batch (Fedus
/// et al. 2021, arXiv:2101.03961, equations 4 to 6).
inline constexpr double kAuxiliaryLossWeight = 0.01;

class MixtureOfExperts {
public:
    /// Adds the router and this rank's part of its experts to `list`: an expert's inner width is cut over the tensor
    /// group. prefix: of the names ("model.layers.3.mlp."). deviation, residualDeviation: of the initial entries of the first and of the second matrix.
    MixtureOfExperts(const RankContext& rank, ParameterList& list, const TransformerSpec& spec,
                     const std::string& prefix, std::uint64_t seed, double deviation, double residualDeviation,
                     const MixtureOptions& options);

    /// What the backward pass needs.
    struct Saved {
        Tensor input;                         ///< held rows
        Tensor probabilities, choices, gates; ///< [n, E], [n, k], [n, k]
        Tensor spots;                         ///< [n, k]: where a token's rows lie in `results`
        Tensor expertTerm;                    ///< [E]: gradient of the auxiliary loss by a token's probability
        Tensor rows, hidden, activated;       ///< of this rank's experts, one expert behind the other
        Tensor results;                       ///< what the experts returned for this rank's tokens
        std::vector<std::int64_t> firstRow;   ///< of each own expert in `rows`, and the end
        // With experts on several ranks:
        Tensor arrival, arrangement;              ///< row of the arrived for each row, and the other way round
        std::vector<std::int64_t> sent, received; ///< elements to and from each member
        double auxiliaryLoss = 0;                 ///< weighted, over all ranks' tokens
        double margin = 0;                        ///< see RoutingOperators::choose

        template <class F>
        void forEachTensor(F f)
        {
            for (Tensor* tensor : {&input, &probabilities, &choices, &gates, &spots, &expertTerm, &rows, &hidden,
                                   &activated, &results, &arrival, &arrangement})
                f(*tensor);
        }
    };

    /// x, residual: held rows of [batch * sequence, hidden]. Returns residual + mixture(x).
    Tensor forward(RankContext& rank, const Tensor& x, const Tensor& residual, std::int64_t batch, Saved& saved) const;
    /// Returns the gradient with respect to x (the residual's is dy itself); empties `saved`.
    Tensor backward(RankContext& rank, const Tensor& dy, Saved& saved) const;

private:
    struct Expert {
        Linear up, down;
    };
    void route(RankContext& rank, const Tensor& x, std::int64_t batch, Saved& saved) const;
    Tensor runExperts(RankContext& rank, Saved& saved) const;
    Tensor runExpertsBackward(RankContext& rank, const Tensor& dResults, Saved& saved) const;
    void balance(RankContext& rank, const std::vector<std::int64_t>& counts, Saved& saved) const;
    void bringToExperts(RankContext& rank, const Tensor& x, const std::vector<std::int64_t>& counts,
                        Saved& saved) const;
    void report(RankContext& rank, const std::vector<std::int64_t>& tokens) const;
    Tensor sendBack(RankContext& rank, const Tensor& rows, const Saved& saved) const;
    Tensor gradientOfResults(RankContext& rank, const Tensor& dy, const Tensor& dGates, const Saved& saved) const;
    /// Calls f(expert, first row, rows) for every own expert that has rows.
    template <class F>
    void forEachExpert(const Saved& saved, F f) const
    {
        for (std::size_t e = 0; e < m_own.size(); ++e)
            if (saved.firstRow[e + 1] > saved.firstRow[e])
                f(m_own[e], saved.firstRow[e], saved.firstRow[e + 1] - saved.firstRow[e]);
    }
    bool gated() const { return m_activation == Activation::SwiGlu; }
    Tensor indices(const RankContext& rank, const Shape& shape) const;

    std::int64_t m_hidden, m_experts, m_topK;
    std::int64_t m_inner; // this rank's part
    Activation m_activation;
    MixtureOptions m_options;
    std::int64_t m_firstExpert = 0;
    Linear m_router;
    std::vector<Expert> m_own;
    // One sample per pass through any layer.
    std::vector<CounterId> m_tokenCounters; // of each own expert
    CounterId m_auxiliary;                  // the auxiliary loss, weighted; it is no part of the reported loss
    CounterId m_imbalance;                  // most loaded expert over the mean, all ranks
    CounterId m_margin;                     // see RoutingOperators::choose
};

} // namespace fourwalls::engine
