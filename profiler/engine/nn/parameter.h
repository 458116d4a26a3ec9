// SPDX-License-Identifier: Apache-2.0
// A trainable tensor with everything that belongs to it, and the rank that works on it.
#pragma once

#include "model/base/random.h"
#include "profiler/engine/comm/parallel_groups.h"
#include "profiler/engine/core/host_pool.h"
#include "profiler/engine/core/tensor.h"
#include "profiler/engine/device/device.h"
#include "profiler/engine/nn/shard.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

class DeferredWork;
struct ParameterUnit;

/// What the network does with a unit's parameters. Head: weights are read and gradients are added, but Backward of the
/// same micro-batch follows (a table that the output head shares with the embedding).
enum class UnitPass : std::uint8_t { Forward, Head, Backward };

/// Is told which parameters the network is about to use, so that weights can be brought in and gradients be sent off
/// in time.
class UnitHooks {
public:
    virtual ~UnitHooks() = default;
    /// The unit's weights are read from here on, and its gradients are added to (not in Forward).
    virtual void enter(const ParameterUnit& unit, UnitPass pass) = 0;
    /// The pass needs them no longer; after Backward this micro-batch adds nothing more to the gradients, but for what
    /// RankContext::deferred holds.
    virtual void leave(const ParameterUnit& unit, UnitPass pass) = 0;
};

/// What one rank computes with. References outlive every layer.
struct RankContext {
    Recorder& recorder;
    Allocator& allocator;
    Device& device;
    NumberFormat format;
    const ParallelGroups* groups = nullptr; ///< null: this rank runs alone
    UnitHooks* hooks = nullptr;             ///< null: all weights and gradients are always there
    DeferredWork* deferred = nullptr;       ///< null: weight gradients are computed at once, else put here
    /// Parameters only say what they are (Parameter::shape, initial); whoever built the network allocates them.
    bool describeOnly = false;
    /// Results go into the buffers that they are computed from where those are needed no longer; else each has its own.
    bool inPlace = true;
    bool evaluating = false;       ///< forward passes that no backward pass follows: nothing is kept for one
    bool probing = false;          ///< passes that no update follows: running statistics stay as they are
    HostPool* offloaded = nullptr; ///< where what layers keep waits for the backward pass; null: it stays here

    /// The network is about to use a unit, or is done with it; see UnitHooks.
    void enter(const ParameterUnit* unit, UnitPass pass) const
    {
        if (hooks) hooks->enter(*unit, pass);
    }
    void leave(const ParameterUnit* unit, UnitPass pass) const
    {
        if (hooks) hooks->leave(*unit, pass);
    }

    Communicator* tensorGroup() const { return groups ? groups->tensor.get() : nullptr; }
    Communicator* contextGroup() const { return groups ? groups->context.get() : nullptr; }
    Communicator* expertGroup() const { return groups ? groups->expert.get() : nullptr; }

    Tensor activation(const Shape& shape) const
    {
        return Tensor::make(allocator, shape, format.compute, MemoryCategory::Activations);
    }
    /// An intermediate result that dies within the operator or layer.
    Tensor temporary(const Shape& shape) const
    {
        return Tensor::make(allocator, shape, format.compute, MemoryCategory::Temporaries);
    }
    /// What is sent to or comes from other ranks.
    Tensor communicated(const Shape& shape) const
    {
        return Tensor::make(allocator, shape, format.compute, MemoryCategory::CommBuffers);
    }
    /// Per-row statistics and the like, in the master type.
    Tensor statistic(const Shape& shape) const
    {
        return Tensor::make(allocator, shape, format.master, MemoryCategory::Activations);
    }
};

/// How a parameter, or a range of its columns, is called and stored in a weight file.
struct ExternalPiece {
    std::string name;
    std::int64_t firstColumn = 0, columns = 0; ///< of the whole parameter seen as a matrix
    bool transposed = false;                   ///< stored as [columns, rows]
};

struct Parameter {
    std::string name;
    Shape shape; ///< of the tensors below, once they are allocated
    DType computeType = DType::F32;
    std::function<double(std::int64_t)> initial; ///< first value of an element of this rank's tensor
    const ParameterUnit* unit = nullptr;
    Shard shard;                    ///< along tensor- and expert-parallel ranks
    bool expert = false;            ///< belongs to this rank's experts: gradients add up over the expertData group only
    bool partialOverTensor = false; ///< every rank of the tensor group holds it and computes its gradient from its own
                                    ///< rows only: the gradients add up over the group (sequence parallelism)
    bool sharedByStages = false;    ///< first and last stage of a pipeline hold copies (tied embeddings)
    Tensor hostWeight, hostCompute; ///< where weight and compute are while nobody needs them, if they are offloaded
    Tensor weight;                  ///< master type
    Tensor compute;                 ///< what products read: the weight itself, or its rounded copy
    Tensor gradient;                ///< master type
    bool decays = false;            ///< weight decay applies (matrices)
    double rateScale = 1;           ///< of the scheduled learning rate, for this parameter
    double decayScale = 1;          ///< of the weight decay
    bool gradientEmpty = true;      ///< nothing was added this step: the next contribution overwrites
    std::vector<ExternalPiece> pieces;

    /// The rounded copy that the optimizer refreshes, or undefined.
    Tensor roundedCopy() const { return compute.type() == weight.type() ? Tensor() : compute; }
    /// Whether a contribution adds (true) or overwrites; the next one adds.
    bool takeAccumulate()
    {
        const bool accumulate = !gradientEmpty;
        gradientEmpty = false;
        return accumulate;
    }
};

/// Parameters that are used together, usually a layer.
struct ParameterUnit {
    std::string name;
    std::vector<Parameter*> parameters;
    bool readInBackward = true; ///< else the backward pass only adds to the gradients (a table of rows)
    std::int64_t layer = -1;    ///< of a transformer; -1: none
};

/// Gives a parameter its tensors: initial weights, their rounded copy, a gradient without contents.
void allocate(const RankContext& rank, Parameter& parameter);

/// Creates parameters and keeps them in order.
class ParameterList {
public:
    /// Parameters that follow belong to a unit of this name.
    const ParameterUnit* beginUnit(std::string name, bool readInBackward = true, std::int64_t layer = -1);

    /// A matrix [rows, columns] with entries of the given standard deviation; decays; has a copy in the compute type.
    /// rows, columns, pieces: of the whole parameter. A shard's entries are those that the whole parameter has there.
    Parameter& addMatrix(const RankContext& rank, std::uint64_t seed, std::string name, std::int64_t rows,
                         std::int64_t columns, double deviation, std::vector<ExternalPiece> pieces = {},
                         const Shard& shard = {});
    /// A vector of equal entries (norm gains: 1, biases: 0); read in the master type; no decay. size: of the whole.
    Parameter& addVector(const RankContext& rank, std::string name, std::int64_t size, double value,
                         std::vector<ExternalPiece> pieces = {}, const Shard& shard = {});
    /// A tensor of any shape with entries of the given standard deviation (convolution weights).
    Parameter& addTensor(const RankContext& rank, std::uint64_t seed, std::string name, const Shape& shape,
                         double deviation, std::vector<ExternalPiece> pieces = {});

    /// A vector of equal entries that is stored with the weights but not trained (running statistics): it has no
    /// gradient, and all() and elements() leave it out.
    Parameter& addBuffer(const RankContext& rank, std::string name, std::int64_t size, double value);

    const std::vector<std::unique_ptr<Parameter>>& all() const { return m_parameters; }
    const std::vector<std::unique_ptr<Parameter>>& buffers() const { return m_buffers; }
    const std::vector<std::unique_ptr<ParameterUnit>>& units() const { return m_units; }
    std::int64_t elements() const;

private:
    Parameter& add(const RankContext& rank, std::string name, const Shape& fullShape, std::vector<ExternalPiece> pieces,
                   const Shard& shard);
    Parameter& addRandom(const RankContext& rank, std::uint64_t seed, std::string name, const Shape& fullShape,
                         double deviation, std::vector<ExternalPiece> pieces, const Shard& shard);
    std::vector<std::unique_ptr<Parameter>> m_parameters, m_buffers;
    std::vector<std::unique_ptr<ParameterUnit>> m_units;
};

/// Reads or writes one element of a master-type tensor (set-up, files, tests; not for kernels).
double element(const Tensor& tensor, std::int64_t index);
void setElement(const Tensor& tensor, std::int64_t index, double value);

} // namespace fourwalls::engine
