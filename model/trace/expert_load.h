// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in one step: the tokens that each expert of each layer got, and what it costs that some get more.
#pragma once

#include "model/trace/step_window.h"

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Recorders count an expert's tokens in counters of ranks with this name and the expert's number behind it: one sample
/// for each forward pass through a layer, taken while the layer's operator kExpertDispatch runs.
inline constexpr std::string_view kExpertTokens = "tokens of expert ";
inline constexpr std::string_view kExpertDispatch = "mixture.dispatch";
/// The operator that does the experts' products.
inline constexpr std::string_view kExpertProducts = "mixture.experts";

/// One layer over all ranks and micro-batches of the step.
struct ExpertLayer {
    std::int32_t layer = 0;
    std::vector<double> tokens; ///< by expert

    double total() const;
    double mostOverMean() const; ///< the busiest expert's tokens by the mean of all; 1 is even, 0 where there are none
};

struct ExpertRank {
    RankId rank;
    std::int64_t experts = 0; ///< that it holds, of each layer
    double tokens = 0;        ///< of its experts, all layers
    Duration products;        ///< in kExpertProducts, forward and backward
    Duration waited;          ///< for the last member of its all-to-alls
};

/// What is cut off where every expert takes at most `factor` times the mean of its pass.
struct CapacityDrop {
    double factor = 1;
    double dropped = 0; ///< share of the tokens
};

struct ExpertLoad {
    StepWindow window;
    std::vector<ExpertLayer> layers; ///< by number; empty: the trace does not count tokens
    std::vector<ExpertRank> ranks;   ///< with experts, by number
    std::vector<CapacityDrop> drops; ///< for the usual factors; no token was dropped in the recording
    bool exchanged = false;          ///< experts are shared out over ranks: an all-to-all takes tokens to them
    /// What even loads would save at most: in each pass the products of the tokens that the busiest rank has beyond the
    /// mean of the ranks that it exchanges tokens with, at the pass's time per token, added up over passes; of the ranks
    /// that exchange, those that lose most. 0 without an exchange.
    Duration lost;
    std::size_t ranksLeftOut = 0; ///< beyond kMostRanksAnalysed
    Duration shortest;            ///< see BoundedSlices; above 0 some passes may lack their layer and are left out

    std::size_t expertCount() const; ///< of the layer with most
    double mostOverMean() const;     ///< of the least even layer
};

/// The step that stepWindow chooses. Of ranks of one tensor group, which see the same tokens, the first counts.
/// Errors: those of the queries; Cancelled.
Result<ExpertLoad> expertLoad(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop = {},
                              std::int64_t mostRows = kMostSlicesAnalysed);

} // namespace fourwalls
