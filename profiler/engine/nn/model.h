// SPDX-License-Identifier: Apache-2.0
// What the trainer needs of a network: a forward pass, a loss, a backward pass, parameters. An object is one chunk of
// the network: all of it, or what lies between two cuts of a pipeline.
#pragma once

#include "profiler/engine/nn/parameter.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::engine {

/// One micro-batch. Text: inputs and targets are tokens [samples, sequence] of I32. Images: inputs are
/// [samples, channels, height, width] in the compute type, targets are classes [samples] of I32. Recommendation: inputs
/// are dense features [samples, features] in the compute type, rows those that each sample asks of the tables, targets
/// clicks (0 or 1). A chunk in the middle of a pipeline gets nothing.
struct Batch {
    Tensor inputs, targets;
    std::int64_t samples = 0;
    std::int64_t length = 0; ///< tokens of each sample, before any cut; 0: samples are not sequences
    double targetShare = 1;  ///< of the targets those that count; the others (masked-token loss) are -1
    Tensor rows = {};        ///< [samples, tables * look-ups per table] of I32
    /// Text: lengths of the documents that the samples are packed with, in the order of their rows; attention stays within
    /// them. Null: each sample is one.
    std::shared_ptr<const std::vector<std::int64_t>> documents = {};
};

/// Where a chunk lies in the network.
struct ChunkRange {
    std::int64_t firstLayer = 0, layers = 0; ///< of the layers that are cut over a pipeline
    bool first = true;                       ///< has what comes before the layers (embeddings, stem)
    bool last = true;                        ///< has what comes after them (final norm, head, loss)
};

/// What one forward pass keeps for its backward pass. Several may be alive (micro-batches in flight).
class ForwardState {
public:
    virtual ~ForwardState() = default;

    Tensor output; ///< what the next chunk takes in; undefined after the last chunk. Whoever sends it drops it
};

class TrainingModel {
public:
    virtual ~TrainingModel() = default;

    virtual ParameterList& parameters() = 0;
    /// Shape of what the chunk before this one gives for a micro-batch, in the compute type. Not for the first chunk.
    virtual Shape inputShape(const RankContext& rank, const Batch& batch) const = 0;
    /// A tensor for what comes from a neighbouring chunk: an input, or the gradient of an output; in the order of elements
    /// in which the chunks hand them on.
    virtual Tensor makeIncoming(const RankContext& rank, const Shape& shape, MemoryCategory category) const
    {
        return Tensor::make(rank.allocator, shape, rank.format.compute, category);
    }
    /// Runs the trunk of the chunk and returns what the other two calls need. input: the output of the chunk before;
    /// undefined for the first chunk, which reads batch.inputs.
    virtual std::unique_ptr<ForwardState> forward(RankContext& rank, const Batch& batch, const Tensor& input) = 0;
    /// Last chunk only. Runs the head, returns the mean loss over the micro-batch (as far as this rank sees it) and
    /// keeps the gradient of lossScale * loss at the trunk's end. The head's own weights receive their gradients here.
    virtual double loss(RankContext& rank, const Batch& batch, ForwardState& state, double lossScale) = 0;
    /// Last chunk only. The mean loss alone; `state` serves for nothing afterwards. Gradients may be written to, but only
    /// where they are empty.
    virtual double evaluate(RankContext& rank, const Batch& batch, ForwardState& state)
    {
        return loss(rank, batch, state, 0.0);
    }
    /// Adds the gradients of lossScale * loss to every parameter; releases what `state` holds. dOutput: the gradient
    /// with respect to `output`, may be overwritten; undefined for the last chunk. Returns the gradient with respect to
    /// the input; undefined for the first chunk. If the rank defers weight gradients, some are only put there.
    virtual Tensor backward(RankContext& rank, const Batch& batch, ForwardState& state, const Tensor& dOutput) = 0;
};

} // namespace fourwalls::engine
