// SPDX-License-Identifier: Apache-2.0
// The operators of one transformer layer, of the embedding and of the head with its loss, on one rank, with the shapes
// that the plan leaves to it.
#pragma once

#include "model/cost/collective_time.h"
#include "model/cost/device_rates.h"
#include "model/cost/step_cost.h"
#include "model/spec/model_spec.h"
#include "model/spec/parallel_plan.h"

#include <cstddef>
#include <vector>

namespace fourwalls::cost {

/// What a layer's costs depend on: equal ones have equal costs.
struct LayerSetting {
    double microBatch = 1; ///< sequences
    double sequence = 0;   ///< [tokens], whole
    double attended = 0;   ///< keys that a token meets in the mean, before a causal mask; 0: the whole sequence's
    int tp = 1, cp = 1, ep = 1;
    int etp = 0; ///< tensor parallel degree of experts; 0: as the other layers
    bool sequenceParallel = false;
    bool fusedAttention = true;
    bool overlap = true;
    bool fuse = true;           ///< the plan's fuse: sums and biases inside the products where the framework can
    bool splitBackward = false; ///< weight gradients come later than the input's: what they need is not overwritten
    Recompute recompute = Recompute::None;
    unsigned recomputeModules = 0; ///< as in the plan
    bool naturalRouting = false;
    double added = 0;            ///< share of the weight gradients that is added to those of earlier micro-batches
    double addedShares = 0;      ///< of the parameters: what a pass adds to the share of gradients that a rank keeps
    GroupPlacement balanced;     ///< ranks over which the router's balance is counted in every pass
    bool mixture = false;        ///< the layer holds a mixture of experts
    double loraRank = 0;         ///< of the adapters that are trained in place of the weights; 0: these are trained
    bool gathersContext = false; ///< keys and values of all context ranks come before attention, not in a ring
    bool oncePerNode = false;    ///< a token goes to each node once, however many of its experts are there
    bool overlapExperts = false; ///< exchanges with experts run beside the computation of another micro-batch
    double besideExchange = 0;   ///< of it, for each exchange [s]
    CollectiveAlgorithm collective = CollectiveAlgorithm::Auto;
    int expertTensor() const { return etp > 0 ? etp : tp; }
    friend bool operator==(const LayerSetting&, const LayerSetting&) = default;
};

struct LayerSettingHash {
    std::size_t operator()(const LayerSetting& s) const;
};

/// What the operators are priced with.
struct CostContext {
    const TransformerSpec& model;
    const FrameworkPreset& framework;
    const Calibration& calibration;
    const DeviceRates& rates;
    const CollectiveTimes& collectives;
    int devicesPerNode = 1;
};

/// The four passes of a part of the network.
struct LayerCost {
    PassCost forward, recompute, backwardInput, backwardWeight;
    double parameters = 0;          ///< on this rank, experts left out
    double partialParameters = 0;   ///< of them: whole on every rank of the tensor group, gradients from its own rows
    double expertParameters = 0;    ///< of experts, on this rank
    double frozenParameters = 0;    ///< of `parameters`, those that are not trained
    double normParameters = 0;      ///< of the norm before the head, which stays where the table is the embedding\'s
    double savedBytes = 0;          ///< from forward to backward
    double savedForWeight = 0;      ///< of them, until the weight gradient
    double workingBytes = 0;        ///< at the peak inside the backward pass, on top of what is saved
    double workingForwardBytes = 0; ///< likewise inside the forward pass
    double freedBeforeBytes = 0;    ///< of what is saved: gone before the layers below begin their backward pass
};

/// Lists of operators to fill, by pass; null where nobody wants them.
struct OperatorLists {
    std::vector<OperatorCost>* forward = nullptr;
    std::vector<OperatorCost>* recompute = nullptr;
    std::vector<OperatorCost>* backwardInput = nullptr;
    std::vector<OperatorCost>* backwardWeight = nullptr;
};

/// One transformer layer. layer: its index, for the lists.
LayerCost layerCost(const CostContext& context, const LayerSetting& setting, std::int64_t layer = -1,
                    const OperatorLists& lists = {});

/// Token (and position) embedding.
LayerCost embeddingCost(const CostContext& context, const LayerSetting& setting, const OperatorLists& lists = {});

/// Last normalisation, logits and loss.
LayerCost headCost(const CostContext& context, const LayerSetting& setting, const OperatorLists& lists = {});

/// The vocabulary, padded to a multiple of 128 x tp where the framework does that (Megatron).
double paddedVocabulary(const CostContext& context, int tp);

/// Seconds and bytes of one rank's activations that enter a collective of the tensor group.
double tensorCollective(const CostContext& context, const LayerSetting& setting, Collective collective, double bytes);

/// Largest power of two that divides a whole number (at most 1024).
double alignmentOf(double length);

} // namespace fourwalls::cost
