// SPDX-License-Identifier: Apache-2.0
// The optimizers over a list of parameters, and the schedule of the learning rate.
#pragma once

#include "model/spec/training_settings.h"
#include "profiler/engine/train/parameter_bucket.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// Rate of step `step` (from 0) of `steps`: rises linearly to the peak over the first warmupFraction of the steps
/// (at least one step if the fraction is positive), then falls along a cosine to 10 % of the peak at the last step.
double learningRateAt(const TrainingSettings& settings, std::int64_t step);

/// How the update is carried out; what it computes is the same within rounding.
struct UpdateOptions {
    bool fuse = true;         ///< one kernel for all pieces of a bucket; else elementary passes, piece by piece
    HostPool* host = nullptr; ///< where offloaded parameters and states are; may be null if there are none
    /// The state lives in the host's pool with copies of the weights, and the update runs there: gradients go to the
    /// host, new weights come back (ZeRO-Offload: Ren et al. 2021, arXiv:2101.06840).
    bool offloadState = false;
};

class ParameterOptimizer {
public:
    /// Allocates the state: two tensors per piece for AdamW, one for SGD. Pieces: see ParameterStore.
    ParameterOptimizer(RankContext& rank, const std::vector<ParameterPiece>& pieces, const TrainingSettings& settings,
                       const UpdateOptions& options = {});
    /// Of whole parameters, for a rank that runs alone.
    ParameterOptimizer(RankContext& rank, ParameterList& parameters, const TrainingSettings& settings);

    /// Sum of squares over the gradients that this rank counts. Gradients that nothing was added to count as zero.
    double gradientSquares(RankContext& rank) const;
    /// The same for what is of no layer, and for each of the first `layers` layers behind it.
    std::vector<double> gradientSquaresByLayer(RankContext& rank, std::int64_t layers) const;
    /// Its root: the norm of all gradients, if this rank has all of them.
    double gradientNorm(RankContext& rank) const;

    /// Clips by scaling, updates every piece, refreshes the rounded copies, and marks the gradients as empty.
    /// gradientNorm: of this step, over all ranks; step: from 0. updated: called after each piece with its index.
    void update(RankContext& rank, double gradientNorm, std::int64_t step,
                const std::function<void(std::size_t)>& updated = {});

    /// From here on the learning rate is so many times what the schedule says.
    void setRateFactor(double factor) { m_rateFactor = factor; }

    /// What it remembers of each piece, in the place of the piece's weight, by name: "exp_avg" and "exp_avg_sq" of AdamW,
    /// "momentum_buffer" of SGD, as PyTorch calls them.
    std::vector<std::pair<std::string, std::vector<ParameterPiece>>> states() const;

    /// The pieces' weights were changed by somebody else (read from a file): takes copies of them along.
    void weightsChanged(RankContext& rank);

private:
    // Where one piece's update works, and when everything has arrived there.
    struct Work {
        UpdateTensors tensors;
        Instant ready;
    };
    Work bring(std::size_t piece) const;
    Instant takeBack(std::size_t piece, const Work& work) const;
    void run(RankContext& rank, std::span<const UpdateTensors> all, double clip, std::int64_t step) const;
    UpdateTensors inPlace(std::size_t piece) const;

    TrainingSettings m_settings;
    double m_rateFactor = 1;
    UpdateOptions m_options;
    std::vector<ParameterPiece> m_pieces;
    std::vector<Tensor> m_first, m_second;
    std::vector<Tensor> m_hostWeights, m_hostCompute; // copies of the weights beside an offloaded state
};

} // namespace fourwalls::engine
