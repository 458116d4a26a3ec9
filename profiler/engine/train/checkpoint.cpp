// SPDX-License-Identifier: Apache-2.0
// See checkpoint.h.
#include "profiler/engine/train/checkpoint.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/safetensors.h"

#include <algorithm>
#include <map>

namespace fourwalls::engine {

namespace {

std::vector<Parameter*> buffersOf(const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    std::vector<Parameter*> buffers;
    for (const auto& chunk : chunks)
        for (const auto& buffer : chunk->parameters().buffers()) buffers.push_back(buffer.get());
    return buffers;
}

} // namespace

Status saveCheckpoint(RankContext& rank, const RunSpec& spec, const std::string& directory, const ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    if (!rank.groups) return saveWeights(directory, chunks.front()->parameters());
    // The network as one rank would have it: names, order and shapes of the file.
    RunSpec one = spec;
    one.plan = ParallelPlan{};
    RankContext describing = rank;
    describing.groups = nullptr;
    describing.describeOnly = true;
    FOURWALLS_TRY_ASSIGN(const Network whole, makeNetwork(describing, one));
    const ParameterList& list = whole.chunks.front()->parameters();

    std::multimap<std::string, const ParameterPiece*> own;
    for (const ParameterPiece& piece : store.pieces())
        if (piece.counts) own.emplace(piece.parameter->name, &piece);
    const bool writes = rank.recorder.rank().value == 0;
    for (const auto& p : list.all()) {
        // Everybody adds the elements that are counted with it, and zeros elsewhere.
        const Tensor values = Tensor::make(rank.allocator, p->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto [begin, end] = own.equal_range(p->name);
        for (auto at = begin; at != end; ++at) {
            const ParameterPiece& piece = *at->second;
            const HostAccess from(piece.weight, HostAccess::Mode::Read), to(values, HostAccess::Mode::ReadWrite);
            for (std::int64_t i = 0; i < piece.weight.elements(); ++i)
                to.set(piece.parameter->shard.fullIndex(piece.first + i), from.get(i));
        }
        rank.groups->world->allReduce(values);
        if (writes) p->weight = values;
    }
    // Running statistics are those of the first copy of the network: every stage has its own.
    const auto buffers = buffersOf(chunks);
    for (const auto& statistics : list.buffers()) {
        const Tensor values =
            Tensor::make(rank.allocator, statistics->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto held = std::find_if(buffers.begin(), buffers.end(),
                                       [&](const Parameter* buffer) { return buffer->name == statistics->name; });
        if (held != buffers.end() && rank.groups->gradient->index() == 0) rank.device.convert((*held)->weight, values);
        rank.groups->world->allReduce(values);
        statistics->weight = values;
    }
    return writes ? saveWeights(directory, list) : Status();
}

Status loadCheckpoint(RankContext& rank, const std::string& directory, ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    FOURWALLS_TRY(loadPieces(rank, directory, store.pieces(), buffersOf(chunks)));
    store.weightsChanged();
    return {};
}

} // namespace fourwalls::engine
