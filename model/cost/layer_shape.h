// SPDX-License-Identifier: Apache-2.0
// The widths that a plan leaves to one rank of a transformer layer, and the operators that depend on how a framework
// runs them. Used by layer_cost.cpp only.
#pragma once

#include "model/cost/layer_cost.h"
#include "model/cost/pass_builder.h"

#include <array>
#include <optional>

namespace fourwalls::cost {

/// Rows that every rank of the tensor group needs whole in its attention.
struct AttentionInput {
    double width = 0;
    bool ofProduct = true; ///< its product needs it again for the weight gradient
};

struct LayerShape {
    LayerShape(const CostContext& context, const LayerSetting& setting);

    double e = 2;         ///< bytes per element
    double rows = 0;      ///< tokens of a micro-batch on this rank (cut by context parallelism)
    double rowsSplit = 0; ///< of them in the parts that sequence parallelism cuts
    double hidden = 0;
    double qkvWidth = 0, keyWidth = 0, valueWidth = 0, queryWidth = 0;    ///< on this rank
    double keyValueWidth = 0;                                             ///< keys and values of its heads
    double inner = 0;                                                     ///< feed-forward width on this rank
    double gates = 1;                                                     ///< 2 for gated feed-forward blocks
    double heads = 0, scoreWidth = 0, headValueWidth = 0;                 ///< heads on this rank, widths of one
    double experts = 0, expertInner = 0, sharedInner = 0, expertRows = 0; ///< of a mixture, on this rank
    double normPasses = 1;                           ///< bytes of the normalisation against a fused one
    std::array<AttentionInput, 3> attentionInputs{}; ///< those of width 0 are not there
    bool fusedAttention = true;
    bool splitBackward = false;
    bool residualInside = false;   ///< of the product before it
    double normNumbers = 2;        ///< of a norm per channel: gain and shift
    double latentWidth = 0;        ///< columns of latents that are kept for backward; 0 without latent attention
    double normStatistics = 4;     ///< numbers per token that the layer's norms keep
    const char* normName = "norm"; ///< of the kinds of normalisation in the measured operators
    const char* normBackwardName = "norm.backward";
    /// Kinds of kernels that normalise: of their own, or element by element in several passes.
    MemoryClass normClass = MemoryClass::Norm, normBackwardClass = MemoryClass::NormBackward;
    double parameters = 0, expertParameters = 0, partialParameters = 0; ///< as in LayerCost

    double qkvAlignment = 1; ///< of the rows of the products that qkvWidth stands for

    double linearAlignment(double width) const;
    double gemmTime(const CostContext& c, const GemmShape& shape) const;
    double qkvForward() const { return m_qkvSeconds; }
    double upForward() const { return m_upSeconds; }
    double weightGradientBytes(const CostContext& c) const;

    void rotary(PassBuilder& pass, const CostContext& c) const;
    void attentionForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    void attentionBackward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    void activationForward(PassBuilder& pass, const CostContext& c, double tokens, double width) const;
    void activationBackward(PassBuilder& pass, const CostContext& c, double tokens, double width) const;
    void residualForward(PassBuilder& pass, const CostContext& c) const;
    void residualBackward(PassBuilder& pass, const CostContext& c) const;

    // Tensor and sequence parallelism. window: computation that may run beside [s].
    // width: columns of the rows, if not `hidden`.
    void gatherInput(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name, double window,
                     std::optional<double> width = {}) const;
    void reduceOutput(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    /// Several sequences lie behind each other, the parts of a gather rank by rank.
    void placeSequences(PassBuilder& pass, const CostContext& c, double bytes) const;
    void gatherGradient(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    void reduceGradient(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name, double window,
                        bool gathersAgain = true, std::optional<double> width = {}) const;
    /// What the attention's cut products take, and its gradient: one exchange of `hidden` columns, or one of each
    /// latent and of the rotary keys.
    void gatherAttentionInputs(PassBuilder& pass, const CostContext& c, const LayerSetting& s, double window) const;
    void reduceAttentionGradients(PassBuilder& pass, const CostContext& c, const LayerSetting& s, double window) const;

    void sharedForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    /// Queries, keys and values from the latents of latent attention.
    void projectLatents(PassBuilder& pass, const CostContext& c) const;
    void mixtureForward(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    void mixtureBackwardInput(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    void mixtureBackwardWeight(PassBuilder& pass, const CostContext& c, double outputBytes) const;

    void addMemory(LayerCost& cost, const CostContext& c, const LayerSetting& s) const;

private:
    void addExpertBiases(PassBuilder& pass, const CostContext& c) const;
    void addExpertBiasesBackward(PassBuilder& pass, const CostContext& c) const;
    /// Rows of experts that are cut over fewer ranks than the other layers are, brought together or summed over those.
    void gatherExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    void reduceExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    void exchangeExperts(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name,
                         Collective kind) const;
    void allToAll(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    void sortReceived(PassBuilder& pass, const CostContext& c, const LayerSetting& s, const char* name) const;
    void exchangeCounts(PassBuilder& pass, const CostContext& c, const LayerSetting& s) const;
    void exchangeKeys(PassBuilder& pass, const CostContext& c, const LayerSetting& s, bool backward,
                      double window) const;
    double shareOf(const AttentionInput& input) const;
    double keysAtOnce(const CostContext& c, const LayerSetting& s) const;
    void gatherKeys(PassBuilder& pass, const CostContext& c, const LayerSetting& s, bool backward, double window) const;
    double attentionFlops(const LayerSetting& s) const;
    /// Live beside what is saved at the peak of the backward pass, where buffers go as soon as they were read.
    double workingAtOnce(const CostContext& c, const LayerSetting& s) const;
    double savedAttention(const CostContext& c, const LayerSetting& s) const;
    double savedWithout(const CostContext& c, const LayerSetting& s) const;
    /// Of that and of the attention core's, what the named modules do not keep.
    double savedInModules(const CostContext& c, const LayerSetting& s) const;

    double m_qkvSeconds = 0, m_upSeconds = 0;
    double m_batch = 1, m_queries = 0, m_keys = 0; ///< sequences; queries on this rank and keys that they meet
    double m_attended = 0;           ///< of those keys, the ones in the documents of the queries, in the mean
    double m_topK = 1, m_routed = 0; ///< copies of tokens that this rank sends to experts
    bool m_causal = true;
};

} // namespace fourwalls::cost
