// SPDX-License-Identifier: Apache-2.0
// See parameter_store.h. N = size of a bucket's group. By ZeRO stage a rank keeps
//   0: all weights, all gradients, all optimizer state
//   1: all weights, all gradients, 1/N of the optimizer state
//   2: all weights, 1/N of the gradients and the optimizer state
//   3: 1/N of everything
// Of parameters with rounded copies "all weights" are the copies: their master weights are cut from stage 1 on, too,
// because only the update reads them. Whole tensors that come and go are communication buffers.
#include "profiler/engine/train/parameter_store.h"

#include <algorithm>
#include <utility>

namespace fourwalls::engine {

namespace {

// So many buckets on their way into shards, and the oldest is waited for: more would hold more whole gradients.
constexpr std::size_t kUnderWay = 2;

} // namespace

ParameterStore::ParameterStore(RankContext& rank, std::vector<ParameterList*> chunks)
    : m_rank(rank)
    , m_chunks(std::move(chunks))
    , m_last(m_chunks.size(), false)
{
    if (!rank.groups) {
        allocateAlone();
        return;
    }
    const ParallelPlan& plan = rank.groups->plan;
    m_zero = plan.zero;
    m_overlap = plan.overlap;
    m_reshard = plan.reshard;
    for (std::size_t chunk = 0; chunk < m_chunks.size(); ++chunk) {
        auto buckets = makeBuckets(rank, static_cast<int>(chunk), *m_chunks[chunk], m_zero == 3, m_zero > 0);
        for (auto& bucket : buckets) {
            allocateBucket(bucket);
            for (const auto& entry : bucket.entries) {
                auto& at = m_units[entry.parameter->unit].buckets;
                const int index = static_cast<int>(m_buckets.size());
                if (std::find(at.begin(), at.end(), index) == at.end()) at.push_back(index);
            }
            m_buckets.push_back(std::move(bucket));
            addPieces(static_cast<int>(m_buckets.size()) - 1);
        }
        m_unitsOfChunk.emplace_back();
        for (const auto& unit : m_chunks[chunk]->units()) {
            UnitPlace& place = m_units[unit.get()];
            place.chunk = static_cast<int>(chunk);
            place.index = static_cast<int>(m_unitsOfChunk.back().size());
            m_unitsOfChunk.back().push_back(unit.get());
        }
    }
    m_rank.hooks = this;
}

ParameterStore::~ParameterStore()
{
    if (m_rank.hooks == this) m_rank.hooks = nullptr;
}

void ParameterStore::allocateAlone()
{
    for (ParameterList* list : m_chunks) {
        for (const auto& p : list->all()) allocate(m_rank, *p);
        for (auto& piece : wholePieces(*list)) m_pieces.push_back(std::move(piece));
    }
}

void ParameterStore::allocateBucket(ParameterBucket& b)
{
    const DType master = m_rank.format.master;
    const auto make = [&](std::int64_t elements, DType type, MemoryCategory category) {
        return Tensor::make(m_rank.allocator, {elements}, type, category);
    };
    const std::int64_t first = b.shardFirst(), share = b.shardElements();
    const int stage = stageOf(b);
    if (stage == 0) { // weights as if the rank were alone
        for (const auto& entry : b.entries) {
            Parameter& p = *entry.parameter;
            p.weight = p.compute = make(p.shape.elements(), master, MemoryCategory::Weights).reshaped(p.shape);
            if (p.computeType != master)
                p.compute = make(p.shape.elements(), p.computeType, MemoryCategory::Weights).reshaped(p.shape);
        }
    } else if (stage < 3 && b.rounded) {
        b.rounding = make(b.elements, m_rank.format.compute, MemoryCategory::Weights);
        b.roundingShard = b.rounding.part(first, {share});
        b.weightShard = make(share, master, MemoryCategory::Weights);
        b.bindWeights(master);
    } else if (stage < 3) {
        b.weights = make(b.elements, master, MemoryCategory::Weights);
        b.weightShard = b.weights.part(first, {share});
        b.bindWeights(master);
    } else {
        b.weightShard = make(share, master, MemoryCategory::Weights);
        if (b.rounded) b.roundingShard = make(share, m_rank.format.compute, MemoryCategory::Weights);
    }
    if (stage < 2) {
        b.gradients = make(b.elements, master, MemoryCategory::Gradients);
        m_rank.device.zero(b.gradients); // gaps between parameters are added up, too
        b.gradientShard = stage == 0 ? b.gradients : b.gradients.part(first, {share});
        b.bindGradients();
    } else {
        b.gradientShard = make(share, master, MemoryCategory::Gradients);
    }
    fillWeights(b);
}

void ParameterStore::fillWeights(const ParameterBucket& b)
{
    for (const auto& [parameter, offset] : b.entries) {
        const Parameter& p = *parameter;
        const std::int64_t n = p.shape.elements();
        const auto fill = [&](const Tensor& to, std::int64_t toFirst) { // `to` holds elements of the bucket from there
            if (!to.defined()) return;
            const std::int64_t from = std::max(offset, toFirst), end = std::min(offset + n, toFirst + to.elements());
            for (std::int64_t i = from; i < end; ++i) setElement(to, i - toFirst, p.initial(i - offset));
        };
        if (stageOf(b) == 0) {
            fill(p.weight.reshaped({n}), offset);
            if (p.computeType != m_rank.format.master) m_rank.device.convert(p.weight, p.compute);
            continue;
        }
        fill(b.weights.defined() ? b.weights : b.weightShard, b.weights.defined() ? 0 : b.shardFirst());
        fill(b.rounding.defined() ? b.rounding : b.roundingShard, b.rounding.defined() ? 0 : b.shardFirst());
    }
}

bool ParameterStore::counts(const Parameter& p) const
{
    const ParallelGroups& groups = *m_rank.groups;
    if (p.shard.whole && groups.tensor->index() != 0) return false;
    return !p.sharedByStages || groups.pipeline->index() == 0;
}

void ParameterStore::addPieces(int index)
{
    const ParameterBucket& b = m_buckets[static_cast<std::size_t>(index)];
    for (const auto& [parameter, offset] : b.entries) {
        Parameter& p = *parameter;
        const std::int64_t n = p.shape.elements();
        ParameterPiece piece;
        piece.parameter = &p;
        piece.bucket = index;
        if (!sharded(b)) {
            piece.weight = p.weight.reshaped({n});
            if (p.computeType != m_rank.format.master) piece.compute = p.compute.reshaped({n});
            piece.gradient = b.gradients.part(offset, {n});
            piece.counts = counts(p) && b.group->index() == 0;
        } else {
            const std::int64_t first = b.shardFirst(), from = std::max(offset, first);
            const std::int64_t count = std::min(offset + n, first + b.shardElements()) - from;
            if (count <= 0) continue;
            piece.first = from - offset;
            piece.weight = b.weightShard.part(from - first, {count});
            if (b.rounded) piece.compute = b.roundingShard.part(from - first, {count});
            piece.gradient = b.gradientShard.part(from - first, {count});
            piece.counts = counts(p);
        }
        m_pieces.push_back(std::move(piece));
    }
}

void ParameterStore::gather(ParameterBucket& b, bool overlap)
{
    Tensor& whole = b.rounded ? b.rounding : b.weights;
    if (whole.defined()) return;
    const Tensor& own = b.rounded ? b.roundingShard : b.weightShard;
    whole = Tensor::make(m_rank.allocator, {b.elements}, own.type(), MemoryCategory::CommBuffers);
    if (overlap)
        b.gathering = b.group->startAllGather(own, whole);
    else
        b.group->allGather(own, whole);
}

// Starts to bring in the unit that the pass comes to next.
void ParameterStore::gatherAhead(const UnitPlace& from, UnitPass pass)
{
    if (!m_overlap || pass == UnitPass::Head) return;
    const auto& units = m_unitsOfChunk[static_cast<std::size_t>(from.chunk)];
    const int next = from.index + (pass == UnitPass::Forward ? 1 : -1);
    if (next < 0 || next >= static_cast<int>(units.size())) return;
    for (const int bucket : m_units[units[static_cast<std::size_t>(next)]].buckets) {
        ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
        if (stageOf(b) == 3) gather(b, true);
    }
}

void ParameterStore::dropWeights(ParameterBucket& b)
{
    b.gathering.wait();
    b.weights.reset();
    b.rounding.reset();
    b.bindWeights(m_rank.format.master);
}

void ParameterStore::makeGradients(ParameterBucket& b)
{
    while (b.reduction.running()) finishOldest(1); // those of the micro-batch before
    if (b.gradients.defined()) return;
    finishOldest(kUnderWay);
    b.gradients = Tensor::make(m_rank.allocator, {b.elements}, m_rank.format.master, MemoryCategory::CommBuffers);
    m_rank.device.zero(b.gradients);
    b.bindGradients();
    for (const auto& entry : b.entries) entry.parameter->gradientEmpty = true;
}

void ParameterStore::enter(const ParameterUnit& unit, UnitPass pass)
{
    const UnitPlace& place = m_units.at(&unit);
    const PhaseTag tag(m_rank.recorder, pass == UnitPass::Forward ? Phase::Forward : Phase::BackwardInput);
    bool gathers = false;
    for (const int bucket : place.buckets) {
        ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
        const int stage = stageOf(b);
        if (stage == 3) {
            gather(b, false);
            b.gathering.wait();
            b.bindWeights(m_rank.format.master);
            gathers = true;
        }
        if (stage >= 2 && pass != UnitPass::Forward) makeGradients(b);
    }
    if (gathers) gatherAhead(place, pass);
}

void ParameterStore::leave(const ParameterUnit& unit, UnitPass pass)
{
    const UnitPlace& place = m_units.at(&unit);
    // The backward pass begins with the unit that the forward pass ends with.
    const bool staysForBackward =
        pass == UnitPass::Forward &&
        (!m_reshard ||
         place.index + 1 == static_cast<int>(m_unitsOfChunk[static_cast<std::size_t>(place.chunk)].size()));
    for (const int bucket : place.buckets) {
        ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
        if (stageOf(b) == 3 && !staysForBackward) dropWeights(b);
        if (pass == UnitPass::Backward && !m_rank.deferred) unitDone(b);
    }
}

void ParameterStore::beginBackward(int chunk, bool last)
{
    m_last[static_cast<std::size_t>(chunk)] = last;
}

void ParameterStore::completeChunk(int chunk)
{
    for (auto& b : m_buckets)
        if (b.chunk == chunk) reduce(b);
}

void ParameterStore::unitDone(ParameterBucket& b)
{
    if (--b.unitsLeft > 0) return;
    b.unitsLeft = b.units;
    if (stageOf(b) >= 2 || m_last[static_cast<std::size_t>(b.chunk)]) reduce(b);
}

void ParameterStore::reduce(ParameterBucket& b)
{
    const PhaseTag tag(m_rank.recorder, Phase::GradientSync);
    for (const auto& [parameter, offset] : b.entries)
        if (std::exchange(parameter->gradientEmpty, false))
            m_rank.device.zero(b.gradients.part(offset, parameter->shape));
    if (b.partialElements > 0) m_rank.groups->tensor->allReduce(b.gradients.part(0, {b.partialElements}));
    const int stage = stageOf(b);
    if (stage == 0) {
        if (m_overlap)
            b.reduction = b.group->startAllReduce(b.gradients);
        else
            b.group->allReduce(b.gradients);
        return;
    }
    b.reduced = b.gradientShard;
    if (stage >= 2) {
        finishOldest(kUnderWay);
        if (!b.shardEmpty)
            b.reduced =
                Tensor::make(m_rank.allocator, {b.shardElements()}, m_rank.format.master, MemoryCategory::CommBuffers);
    }
    if (m_overlap)
        b.reduction = b.group->startReduceScatter(b.gradients, b.reduced);
    else
        b.group->reduceScatter(b.gradients, b.reduced);
    if (stage < 2) return;
    if (m_overlap)
        m_underWay.push_back(static_cast<int>(&b - m_buckets.data()));
    else
        finishReduction(b);
}

void ParameterStore::finishReduction(ParameterBucket& b)
{
    b.reduction.wait();
    if (stageOf(b) < 2 || !b.reduced.defined()) return;
    if (!b.shardEmpty) m_rank.device.add(b.gradientShard, b.reduced, b.gradientShard);
    b.shardEmpty = false;
    b.reduced.reset();
    b.gradients.reset();
    b.bindGradients();
}

void ParameterStore::finishOldest(std::size_t mostUnderWay)
{
    while (m_underWay.size() >= mostUnderWay) {
        if (m_underWay.empty()) return;
        const PhaseTag tag(m_rank.recorder, Phase::GradientSync);
        finishReduction(m_buckets[static_cast<std::size_t>(m_underWay.front())]);
        m_underWay.pop_front();
    }
}

void ParameterStore::finishGradients()
{
    if (!m_rank.groups) return;
    const PhaseTag tag(m_rank.recorder, Phase::GradientSync);
    finishOldest(0);
    for (auto& b : m_buckets) {
        b.reduction.wait();
        // First and last stage cut a shared table alike, so that shards fit together.
        if (b.shared) m_rank.groups->embedding->allReduce(b.gradientShard);
        if (stageOf(b) == 3) dropWeights(b);
        b.shardEmpty = true; // for the next step
    }
}

void ParameterStore::publish(ParameterBucket& b)
{
    if (const int stage = stageOf(b); stage == 0 || stage == 3) return;
    const Tensor& whole = b.rounded ? b.rounding : b.weights;
    const Tensor& own = b.rounded ? b.roundingShard : b.weightShard;
    if (m_overlap)
        b.gathering = b.group->startAllGather(own, whole);
    else
        b.group->allGather(own, whole);
}

void ParameterStore::pieceUpdated(std::size_t index)
{
    const int bucket = m_pieces[index].bucket;
    const bool last = index + 1 == m_pieces.size() || m_pieces[index + 1].bucket != bucket;
    // All ranks in the same order, whether or not they have pieces of a bucket.
    if (last && bucket >= 0)
        while (m_published <= static_cast<std::size_t>(bucket)) publish(m_buckets[m_published++]);
}

void ParameterStore::finishUpdate()
{
    while (m_published < m_buckets.size()) publish(m_buckets[m_published++]);
    m_published = 0;
    for (auto& b : m_buckets) {
        b.gathering.wait();
        for (const auto& entry : b.entries) entry.parameter->gradientEmpty = true; // whether or not a piece is ours
    }
}

void ParameterStore::afterEvaluation()
{
    for (auto& b : m_buckets) {
        if (stageOf(b) == 3) dropWeights(b);
        if (stageOf(b) < 2) continue;
        b.gradients.reset();
        b.bindGradients();
    }
    for (const ParameterList* list : m_chunks)
        for (const auto& p : list->all()) p->gradientEmpty = true; // losses were taken without gradients
}

void ParameterStore::weightsChanged()
{
    for (const auto& piece : m_pieces)
        if (piece.compute.defined()) m_rank.device.convert(piece.weight, piece.compute);
    finishUpdate();
}

} // namespace fourwalls::engine
