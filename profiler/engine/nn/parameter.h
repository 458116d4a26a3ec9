// SPDX-License-Identifier: Apache-2.0
// A trainable tensor with everything that belongs to it, and the rank that works on it.
#pragma once

#include "profiler/engine/comm/parallel_groups.h"
#include "profiler/engine/core/random.h"
#include "profiler/engine/core/tensor.h"
#include "profiler/engine/device/device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

/// What one rank computes with. References outlive every layer.
struct RankContext {
    Recorder& recorder;
    Allocator& allocator;
    Device& device;
    NumberFormat format;
    const ParallelGroups* groups = nullptr; ///< null: this rank runs alone

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
    /// Per-row statistics and the like, in the master type.
    Tensor statistic(const Shape& shape) const
    {
        return Tensor::make(allocator, shape, format.master, MemoryCategory::Activations);
    }
};

/// How a parameter, or a range of its columns, is called and stored in a weight file.
struct ExternalPiece {
    std::string name;
    std::int64_t firstColumn = 0, columns = 0; ///< of the parameter seen as a matrix
    bool transposed = false;                   ///< stored as [columns, rows]
};

/// Which part of the one-rank parameter a rank holds: rows [firstRow, firstRow + tensor's rows) and, side by side, the
/// given ranges of columns, of a matrix fullRows x fullColumns (a vector is a matrix of one row).
struct Shard {
    struct Columns {
        std::int64_t first = 0, count = 0;
    };
    std::int64_t fullRows = 0, fullColumns = 0;
    std::int64_t firstRow = 0;
    std::vector<Columns> columns; ///< in the order in which they lie in the rank's tensor
    bool whole = true;            ///< the rank holds everything; the other fields need not be filled
};

struct Parameter {
    std::string name;
    Shard shard;               ///< along tensor- and expert-parallel ranks
    bool expert = false;       ///< belongs to this rank's experts: gradients add up over the expertData group only
    Tensor weight;             ///< master type
    Tensor compute;            ///< what products read: the weight itself, or its rounded copy
    Tensor gradient;           ///< master type
    bool decays = false;       ///< weight decay applies (matrices)
    bool gradientEmpty = true; ///< nothing was added this step: the next contribution overwrites
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

/// Creates parameters and keeps them in order.
class ParameterList {
public:
    /// A matrix [rows, columns] with entries of the given standard deviation; decays; has a copy in the compute type.
    Parameter& addMatrix(const RankContext& rank, std::uint64_t seed, std::string name, std::int64_t rows,
                         std::int64_t columns, double deviation, std::vector<ExternalPiece> pieces = {});
    /// A vector of equal entries (norm gains: 1, biases: 0); read in the master type; no decay.
    Parameter& addVector(const RankContext& rank, std::string name, std::int64_t size, double value,
                         std::vector<ExternalPiece> pieces = {});
    /// A tensor of any shape with entries of the given standard deviation (convolution weights).
    Parameter& addTensor(const RankContext& rank, std::uint64_t seed, std::string name, const Shape& shape,
                         double deviation, std::vector<ExternalPiece> pieces = {});

    /// A vector of equal entries that is stored with the weights but not trained (running statistics): it has no
    /// gradient, and all() and elements() leave it out.
    Parameter& addBuffer(const RankContext& rank, std::string name, std::int64_t size, double value);

    const std::vector<std::unique_ptr<Parameter>>& all() const { return m_parameters; }
    const std::vector<std::unique_ptr<Parameter>>& buffers() const { return m_buffers; }
    std::int64_t elements() const;

private:
    Parameter& add(const RankContext& rank, std::string name, const Shape& shape, std::vector<ExternalPiece> pieces);
    std::vector<std::unique_ptr<Parameter>> m_parameters, m_buffers;
};

/// Reads or writes one element of a master-type tensor (set-up, files, tests; not for kernels).
double element(const Tensor& tensor, std::int64_t index);
void setElement(const Tensor& tensor, std::int64_t index, double value);

} // namespace fourwalls::engine
