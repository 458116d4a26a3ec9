// SPDX-License-Identifier: Apache-2.0
// See parameter.h.
#include "profiler/engine/nn/parameter.h"

#include "profiler/engine/core/host_access.h"

namespace fourwalls::engine {

double element(const Tensor& tensor, std::int64_t index)
{
    if (!tensor.deviceMemory()) return HostAccess::elementAt(tensor.data(), tensor.type(), index);
    const Tensor one = tensor.part(index, {1});
    return HostAccess(one, HostAccess::Mode::Read).get(0);
}

void setElement(const Tensor& tensor, std::int64_t index, double value)
{
    if (!tensor.deviceMemory()) return HostAccess::setElementAt(tensor.data(), tensor.type(), index, value);
    const Tensor one = tensor.part(index, {1});
    HostAccess(one, HostAccess::Mode::Write).set(0, value);
}

void allocate(const RankContext& rank, Parameter& p)
{
    p.weight = Tensor::make(rank.allocator, p.shape, rank.format.master, MemoryCategory::Weights);
    p.compute = p.weight;
    p.gradient = Tensor::make(rank.allocator, p.shape, rank.format.master, MemoryCategory::Gradients);
    fillElements(p.weight, p.initial);
    if (p.computeType == rank.format.master) return;
    p.compute = Tensor::make(rank.allocator, p.shape, p.computeType, MemoryCategory::Weights);
    rank.device.convert(p.weight, p.compute);
}

const ParameterUnit* ParameterList::beginUnit(std::string name, bool readInBackward, std::int64_t layer)
{
    m_units.push_back(std::make_unique<ParameterUnit>());
    m_units.back()->name = std::move(name);
    m_units.back()->readInBackward = readInBackward;
    m_units.back()->layer = layer;
    return m_units.back().get();
}

Parameter& ParameterList::add(const RankContext& rank, std::string name, const Shape& fullShape,
                              std::vector<ExternalPiece> pieces, const Shard& shard)
{
    auto parameter = std::make_unique<Parameter>();
    parameter->name = std::move(name);
    parameter->shape = fullShape;
    if (!shard.whole && fullShape.rank() == 1)
        parameter->shape = {shard.localColumns()};
    else if (!shard.whole)
        parameter->shape = {shard.rows, shard.localColumns()};
    parameter->shard = shard;
    parameter->computeType = rank.format.master;
    parameter->pieces = std::move(pieces);
    if (parameter->pieces.empty()) parameter->pieces.push_back({parameter->name, 0, fullShape.last(), false});
    if (m_units.empty()) beginUnit("all");
    parameter->unit = m_units.back().get();
    m_units.back()->parameters.push_back(parameter.get());
    m_parameters.push_back(std::move(parameter));
    return *m_parameters.back();
}

Parameter& ParameterList::addRandom(const RankContext& rank, std::uint64_t seed, std::string name,
                                    const Shape& fullShape, double deviation, std::vector<ExternalPiece> pieces,
                                    const Shard& shard)
{
    Parameter& p = add(rank, std::move(name), fullShape, std::move(pieces), shard);
    p.decays = true;
    p.computeType = rank.format.compute;
    p.initial = [random = RandomStream::named(seed, p.name), deviation, shard](std::int64_t i) {
        return deviation * random.bell(static_cast<std::uint64_t>(shard.fullIndex(i)));
    };
    if (!rank.describeOnly) allocate(rank, p);
    return p;
}

Parameter& ParameterList::addTensor(const RankContext& rank, std::uint64_t seed, std::string name, const Shape& shape,
                                    double deviation, std::vector<ExternalPiece> pieces)
{
    return addRandom(rank, seed, std::move(name), shape, deviation, std::move(pieces), {});
}

Parameter& ParameterList::addMatrix(const RankContext& rank, std::uint64_t seed, std::string name, std::int64_t rows,
                                    std::int64_t columns, double deviation, std::vector<ExternalPiece> pieces,
                                    const Shard& shard)
{
    return addRandom(rank, seed, std::move(name), {rows, columns}, deviation, std::move(pieces), shard);
}

Parameter& ParameterList::addVector(const RankContext& rank, std::string name, std::int64_t size, double value,
                                    std::vector<ExternalPiece> pieces, const Shard& shard)
{
    Parameter& p = add(rank, std::move(name), {size}, std::move(pieces), shard);
    p.initial = [value](std::int64_t) { return value; };
    if (!rank.describeOnly) allocate(rank, p);
    return p;
}

Parameter& ParameterList::addBuffer(const RankContext& rank, std::string name, std::int64_t size, double value)
{
    auto buffer = std::make_unique<Parameter>();
    buffer->name = std::move(name);
    buffer->shape = {size};
    buffer->weight = Tensor::make(rank.allocator, {size}, rank.format.master, MemoryCategory::Weights);
    buffer->compute = buffer->weight;
    buffer->pieces.push_back({buffer->name, 0, size, false});
    fillElements(buffer->weight, [value](std::int64_t) { return value; });
    m_buffers.push_back(std::move(buffer));
    return *m_buffers.back();
}

std::int64_t ParameterList::elements() const
{
    std::int64_t count = 0;
    for (const auto& p : m_parameters) count += p->shape.elements();
    return count;
}

} // namespace fourwalls::engine
