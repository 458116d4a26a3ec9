// SPDX-License-Identifier: Apache-2.0
// See checkpoint.h.
#include "profiler/engine/train/checkpoint.h"

#include "profiler/engine/core/host_access.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/safetensors.h"
#include "profiler/engine/train/state_shard.h"

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

std::vector<ParameterPiece> piecesOf(const std::vector<Parameter*>& buffers)
{
    std::vector<ParameterPiece> pieces;
    for (Parameter* buffer : buffers) {
        pieces.emplace_back();
        pieces.back().parameter = buffer;
        pieces.back().weight = buffer->weight;
    }
    return pieces;
}

/// The network as one rank would have it: names, order and shapes of the files.
Result<Network> wholeNetwork(const RankContext& rank, const RunSpec& spec)
{
    RunSpec one = spec;
    one.plan = ParallelPlan{};
    RankContext describing = rank;
    describing.groups = nullptr;
    describing.describeOnly = true;
    return makeNetwork(describing, one);
}

void addUp(RankContext& rank, const Tensor& values)
{
    if (rank.groups) rank.groups->world->allReduce(values);
}

/// What the pieces of all ranks hold, put together in the parameters of `list`, on rank 0.
void gatherPieces(RankContext& rank, const std::vector<ParameterPiece>& pieces, const ParameterList& list)
{
    std::multimap<std::string, const ParameterPiece*> own;
    for (const ParameterPiece& piece : pieces)
        if (piece.counts) own.emplace(piece.parameter->name, &piece);
    for (const auto& p : list.all()) {
        // Everybody adds the elements that are counted with it, and zeros elsewhere.
        const Tensor values = Tensor::make(rank.allocator, p->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto [begin, end] = own.equal_range(p->name);
        for (auto at = begin; at != end; ++at) {
            const ParameterPiece& piece = *at->second;
            const HostAccess from(piece.weight, HostAccess::Mode::Read), to(values, HostAccess::Mode::ReadWrite);
            const Shard& shard = piece.parameter->shard;
            for (std::int64_t i = 0; i < piece.weight.elements(); ++i)
                to.set(shard.whole ? piece.first + i : shard.fullIndex(piece.first + i), from.get(i));
        }
        addUp(rank, values);
        if (rank.recorder.rank().value == 0) p->weight = values;
    }
}

/// Running statistics are those of the first copy of the network: every stage has its own.
void gatherBuffers(RankContext& rank, const std::vector<std::unique_ptr<TrainingModel>>& chunks,
                   const ParameterList& list)
{
    const auto buffers = buffersOf(chunks);
    for (const auto& statistics : list.buffers()) {
        const Tensor values =
            Tensor::make(rank.allocator, statistics->shape, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(values);
        const auto held = std::find_if(buffers.begin(), buffers.end(),
                                       [&](const Parameter* buffer) { return buffer->name == statistics->name; });
        const bool first = !rank.groups || rank.groups->gradient->index() == 0;
        if (held != buffers.end() && first) rank.device.convert((*held)->weight, values);
        addUp(rank, values);
        statistics->weight = values;
    }
}

std::string fileOfState(const std::string& state)
{
    return state + ".safetensors";
}

} // namespace

Status saveCheckpoint(RankContext& rank, const RunSpec& spec, const std::string& directory, const ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    if (!rank.groups) return saveWeights(directory, chunks.front()->parameters());
    FOURWALLS_TRY_ASSIGN(const Network whole, wholeNetwork(rank, spec));
    const ParameterList& list = whole.chunks.front()->parameters();
    gatherPieces(rank, store.pieces(), list);
    gatherBuffers(rank, chunks, list);
    return rank.recorder.rank().value == 0 ? saveWeights(directory, list) : Status();
}

Status loadCheckpoint(RankContext& rank, const std::string& directory, ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    FOURWALLS_TRY(loadPieces(rank, directory, store.pieces(), buffersOf(chunks)));
    store.weightsChanged();
    return {};
}

Result<StateFiles> gatherState(RankContext& rank, const RunSpec& spec, std::int64_t step,
                               std::vector<std::int64_t> skipped, const ParameterStore& store,
                               const std::vector<OptimizerState>& states,
                               const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    StateFiles files(step, std::move(skipped));
    FOURWALLS_TRY_ASSIGN(Network weights, wholeNetwork(rank, spec));
    gatherPieces(rank, store.pieces(), weights.chunks.front()->parameters());
    gatherBuffers(rank, chunks, weights.chunks.front()->parameters());
    files.add(kWeightsFile, std::move(weights));
    for (const auto& [name, pieces] : states) {
        FOURWALLS_TRY_ASSIGN(Network state, wholeNetwork(rank, spec));
        gatherPieces(rank, pieces, state.chunks.front()->parameters());
        files.add(fileOfState(name), std::move(state));
    }
    return files;
}

StateFiles copyShard(RankContext& rank, std::int64_t step, std::vector<std::int64_t> skipped, const std::string& folder,
                     const ParameterStore& store, const std::vector<OptimizerState>& states,
                     const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    const int self = rank.recorder.rank().value;
    const auto meet = [&] {
        const Tensor nothing = Tensor::make(rank.allocator, {1}, rank.format.master, MemoryCategory::CommBuffers);
        rank.device.zero(nothing);
        addUp(rank, nothing);
    };
    meet(); // nobody writes an older one any more
    if (self == 0) makeShardFolder(folder, step);
    meet();
    StateShard shard(self, rank.groups ? rank.groups->world->size() : 1);
    shard.add(kWeightsState, store.pieces());
    // Running statistics are those of the first copy of the network.
    if (!rank.groups || rank.groups->gradient->index() == 0) shard.add(kWeightsState, piecesOf(buffersOf(chunks)));
    for (const auto& [name, pieces] : states) shard.add(name, pieces);
    StateFiles files(step, std::move(skipped));
    files.add(std::move(shard));
    return files;
}

Status loadState(RankContext& rank, const SavedState& saved, ParameterStore& store,
                 const std::vector<OptimizerState>& states, const std::vector<std::unique_ptr<TrainingModel>>& chunks)
{
    if (saved.shards > 0) {
        FOURWALLS_TRY_ASSIGN(const ShardReader reader, ShardReader::open(saved.directory, saved.shards));
        for (const auto& [name, pieces] : states) FOURWALLS_TRY(reader.read(rank, name, pieces));
        FOURWALLS_TRY(reader.read(rank, kWeightsState, store.pieces()));
        FOURWALLS_TRY(reader.read(rank, kWeightsState, piecesOf(buffersOf(chunks))));
        store.weightsChanged();
        return {};
    }
    for (const auto& [name, pieces] : states)
        FOURWALLS_TRY(loadPieces(rank, saved.directory, pieces, {}, fileOfState(name)));
    return loadCheckpoint(rank, saved.directory, store, chunks);
}

} // namespace fourwalls::engine
