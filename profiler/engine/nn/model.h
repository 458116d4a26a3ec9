// SPDX-License-Identifier: Apache-2.0
// What the trainer needs of a network: a forward pass, a loss, a backward pass, parameters.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <memory>

namespace fourwalls::engine {

/// One micro-batch. Text: inputs and targets are tokens [samples, sequence] of I32. Images: inputs are
/// [samples, channels, height, width] in the compute type, targets are classes [samples] of I32.
struct Batch {
    Tensor inputs, targets;
    std::int64_t samples = 0;
};

/// What one forward pass keeps for its backward pass. Several may be alive (micro-batches in flight).
class ForwardState {
public:
    virtual ~ForwardState() = default;
};

class TrainingModel {
public:
    virtual ~TrainingModel() = default;

    virtual ParameterList& parameters() = 0;
    /// Runs the trunk of the network and returns what the other two calls need.
    virtual std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch) = 0;
    /// Runs the head, returns the mean loss over the micro-batch and keeps the gradient of lossScale * loss at the
    /// trunk's end. The head's own weights receive their gradients here.
    virtual double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) = 0;
    /// Adds the gradients of lossScale * loss to every parameter; releases what `state` holds.
    virtual void backward(RankContext& rank, const Batch& batch, ForwardState& state) = 0;
};

} // namespace fourwalls::engine
