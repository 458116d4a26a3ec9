// SPDX-License-Identifier: Apache-2.0
// See parameter.h.
#include "profiler/engine/nn/parameter.h"

namespace fourwalls::engine {

double element(const Tensor& tensor, std::int64_t index)
{
    switch (tensor.type()) {
    case DType::F32: return static_cast<double>(tensor.as<float>()[index]);
    case DType::Bf16: return static_cast<double>(tensor.as<Bf16>()[index].toFloat());
    case DType::F64: return tensor.as<double>()[index];
    case DType::I32: return tensor.as<std::int32_t>()[index];
    }
    return 0;
}

void setElement(const Tensor& tensor, std::int64_t index, double value)
{
    switch (tensor.type()) {
    case DType::F32: tensor.as<float>()[index] = static_cast<float>(value); break;
    case DType::Bf16: tensor.as<Bf16>()[index] = Bf16::fromFloat(static_cast<float>(value)); break;
    case DType::F64: tensor.as<double>()[index] = value; break;
    case DType::I32: tensor.as<std::int32_t>()[index] = static_cast<std::int32_t>(value); break;
    }
}

Parameter& ParameterList::add(const RankContext& rank, std::string name, const Shape& shape,
                              std::vector<ExternalPiece> pieces)
{
    auto parameter = std::make_unique<Parameter>();
    parameter->name = std::move(name);
    parameter->weight = Tensor::make(rank.allocator, shape, rank.format.master, MemoryCategory::Weights);
    parameter->compute = parameter->weight;
    parameter->gradient = Tensor::make(rank.allocator, shape, rank.format.master, MemoryCategory::Gradients);
    parameter->pieces = std::move(pieces);
    if (parameter->pieces.empty())
        parameter->pieces.push_back({parameter->name, 0, parameter->weight.columns(), false});
    m_parameters.push_back(std::move(parameter));
    return *m_parameters.back();
}

Parameter& ParameterList::addTensor(const RankContext& rank, std::uint64_t seed, std::string name, const Shape& shape,
                                    double deviation, std::vector<ExternalPiece> pieces)
{
    Parameter& p = add(rank, std::move(name), shape, std::move(pieces));
    p.decays = true;
    const RandomStream random = RandomStream::named(seed, p.name);
    for (std::int64_t i = 0; i < p.weight.elements(); ++i)
        setElement(p.weight, i, deviation * random.bell(static_cast<std::uint64_t>(i)));
    if (rank.format.compute != rank.format.master) {
        p.compute = Tensor::make(rank.allocator, shape, rank.format.compute, MemoryCategory::Weights);
        rank.device.convert(p.weight, p.compute);
    }
    return p;
}

Parameter& ParameterList::addMatrix(const RankContext& rank, std::uint64_t seed, std::string name, std::int64_t rows,
                                    std::int64_t columns, double deviation, std::vector<ExternalPiece> pieces)
{
    return addTensor(rank, seed, std::move(name), {rows, columns}, deviation, std::move(pieces));
}

Parameter& ParameterList::addVector(const RankContext& rank, std::string name, std::int64_t size, double value,
                                    std::vector<ExternalPiece> pieces)
{
    Parameter& p = add(rank, std::move(name), {size}, std::move(pieces));
    for (std::int64_t i = 0; i < size; ++i) setElement(p.weight, i, value);
    return p;
}

Parameter& ParameterList::addBuffer(const RankContext& rank, std::string name, std::int64_t size, double value)
{
    auto buffer = std::make_unique<Parameter>();
    buffer->name = std::move(name);
    buffer->weight = Tensor::make(rank.allocator, {size}, rank.format.master, MemoryCategory::Weights);
    buffer->compute = buffer->weight;
    buffer->pieces.push_back({buffer->name, 0, size, false});
    for (std::int64_t i = 0; i < size; ++i) setElement(buffer->weight, i, value);
    m_buffers.push_back(std::move(buffer));
    return *m_buffers.back();
}

std::int64_t ParameterList::elements() const
{
    std::int64_t count = 0;
    for (const auto& p : m_parameters) count += p->weight.elements();
    return count;
}

} // namespace fourwalls::engine
