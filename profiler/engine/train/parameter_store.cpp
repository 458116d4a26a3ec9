// SPDX-License-Identifier: Apache-2.0
// See parameter_store.h. N = size of a bucket's group. By ZeRO stage a rank keeps
//   0: all weights, all gradients, all optimizer state
//   1: all weights, all gradients, 1/N of the optimizer state
//   2: all weights, 1/N of the gradients and the optimizer state
//   3: 1/N of everything
// Of parameters with rounded copies "all weights" are the copies: their master weights are cut from stage 1 on, too,
// because only the update reads them. Whole tensors that come and go are communication buffers.
#include "profiler/engine/train/parameter_store.h"

#include "profiler/engine/core/host_access.h"

#include <algorithm>
#include <utility>

namespace fourwalls::engine {

namespace {

// So many buckets on their way into shards, and the oldest is waited for: more would hold more whole gradients.
constexpr std::size_t kUnderWay = 2;

} // namespace

ParameterStore::ParameterStore(RankContext& rank, std::vector<ParameterList*> chunks, HostPool* host)
    : m_rank(rank)
    , m_chunks(std::move(chunks))
    , m_host(host)
{
    if (!rank.groups) {
        allocateAlone();
        for (std::size_t chunk = 0; chunk < m_chunks.size(); ++chunk) listUnits(chunk);
        if (host) m_rank.hooks = this;
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
        listUnits(chunk);
    }
    m_rank.hooks = this;
}

void ParameterStore::listUnits(std::size_t chunk)
{
    m_unitsOfChunk.emplace_back();
    for (const auto& unit : m_chunks[chunk]->units()) {
        UnitPlace& place = m_units[unit.get()];
        place.chunk = static_cast<int>(chunk);
        place.index = static_cast<int>(m_unitsOfChunk.back().size());
        m_unitsOfChunk.back().push_back(unit.get());
    }
}

ParameterStore::~ParameterStore()
{
    if (m_rank.hooks == this) m_rank.hooks = nullptr;
}

void ParameterStore::allocateAlone()
{
    for (ParameterList* list : m_chunks) {
        for (const auto& p : list->all()) {
            if (!m_host) {
                allocate(m_rank, *p);
                continue;
            }
            allocateOnHost(*p);
            fillElements(p->hostWeight, p->initial);
            if (p->hostCompute.defined()) m_rank.device.convert(p->hostWeight, p->hostCompute);
            p->gradient = Tensor::make(m_rank.allocator, p->shape, m_rank.format.master, MemoryCategory::Gradients);
        }
        if (m_host) showHome(true);
        for (auto& piece : wholePieces(*list)) {
            piece.onHost = m_host != nullptr;
            m_pieces.push_back(std::move(piece));
        }
        if (m_host) showHome(false);
    }
}

void ParameterStore::allocateOnHost(Parameter& p)
{
    p.hostWeight = m_host->make(p.shape, m_rank.format.master, MemoryCategory::Weights);
    if (p.computeType != m_rank.format.master)
        p.hostCompute = m_host->make(p.shape, p.computeType, MemoryCategory::Weights);
}

void ParameterStore::showHome(bool show)
{
    for (ParameterList* list : m_chunks)
        for (const auto& p : list->all()) {
            if (!p->hostWeight.defined()) continue;
            p->weight = show ? p->hostWeight : Tensor();
            p->compute = !show ? Tensor() : p->hostCompute.defined() ? p->hostCompute : p->hostWeight;
        }
}

// Sends for what the network reads of the unit's offloaded weights.
void ParameterStore::bringUnit(const ParameterUnit& unit, UnitPlace& place)
{
    for (Parameter* p : unit.parameters) {
        if (!p->hostWeight.defined() || p->compute.defined()) continue;
        const Tensor& home = p->hostCompute.defined() ? p->hostCompute : p->hostWeight;
        p->compute = m_host->onDevice(home, MemoryCategory::Weights);
        if (!p->hostCompute.defined()) p->weight = p->compute;
        place.arrival = m_host->toDevice(home, p->compute);
    }
}

void ParameterStore::dropUnit(const ParameterUnit& unit)
{
    for (Parameter* p : unit.parameters) {
        if (!p->hostWeight.defined()) continue;
        p->weight.reset();
        p->compute.reset();
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
            if (m_host) {
                allocateOnHost(p);
                continue;
            }
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
        const auto makeShard = [&](DType type) {
            return m_host ? m_host->make({share}, type, MemoryCategory::Weights)
                          : make(share, type, MemoryCategory::Weights);
        };
        b.weightShard = makeShard(master);
        if (b.rounded) b.roundingShard = makeShard(m_rank.format.compute);
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
    for (const ParameterBucket::Entry& entry : b.entries) {
        const Parameter& p = *entry.parameter;
        const std::int64_t n = p.shape.elements(), offset = entry.offset;
        const auto fill = [&](const Tensor& to, std::int64_t toFirst) { // `to` holds elements of the bucket from there
            if (!to.defined()) return;
            const std::int64_t from = std::max(offset, toFirst), end = std::min(offset + n, toFirst + to.elements());
            fillElements(to, from - toFirst, end - from, [&](std::int64_t i) { return p.initial(from + i - offset); });
        };
        if (stageOf(b) == 0) {
            const Tensor& weight = m_host ? p.hostWeight : p.weight;
            fill(weight.reshaped({n}), offset);
            if (p.computeType != m_rank.format.master)
                m_rank.device.convert(weight, m_host ? p.hostCompute : p.compute);
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
        piece.onHost = m_host != nullptr;
        if (!sharded(b)) {
            piece.weight = (m_host ? p.hostWeight : p.weight).reshaped({n});
            if (p.computeType != m_rank.format.master)
                piece.compute = (m_host ? p.hostCompute : p.compute).reshaped({n});
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

// Sends for an offloaded shard.
void ParameterStore::stage(ParameterBucket& b)
{
    if (!m_host || b.staged.defined() || (b.rounded ? b.rounding : b.weights).defined()) return;
    const Tensor& own = b.rounded ? b.roundingShard : b.weightShard;
    b.staged = m_host->onDevice(own, MemoryCategory::Weights);
    b.stagedAt = m_host->toDevice(own, b.staged);
}

void ParameterStore::gather(ParameterBucket& b, bool overlap)
{
    Tensor& whole = b.rounded ? b.rounding : b.weights;
    if (whole.defined()) return;
    stage(b);
    if (m_host) m_host->waitUntil(b.stagedAt);
    const Tensor& own = m_host ? b.staged : b.rounded ? b.roundingShard : b.weightShard;
    whole = Tensor::make(m_rank.allocator, {b.elements}, own.type(), MemoryCategory::CommBuffers);
    if (overlap)
        b.gathering = b.group->startAllGather(own, whole);
    else
        b.group->allGather(own, whole);
}

// Starts to bring in the unit that the pass comes to next, and the offloaded shards of the one behind it.
void ParameterStore::gatherAhead(const UnitPlace& from, UnitPass pass)
{
    if (pass == UnitPass::Head || (m_host ? !m_host->overlaps() : !m_overlap)) return;
    const auto& units = m_unitsOfChunk[static_cast<std::size_t>(from.chunk)];
    const int step = pass == UnitPass::Forward ? 1 : -1;
    for (const int ahead : {1, 2}) {
        const int next = from.index + ahead * step;
        if (next < 0 || next >= static_cast<int>(units.size())) return;
        const ParameterUnit& unit = *units[static_cast<std::size_t>(next)];
        if (pass == UnitPass::Backward && !unit.readInBackward) continue;
        UnitPlace& place = m_units.at(&unit);
        if (m_host && ahead == 1) bringUnit(unit, place);
        for (const int bucket : place.buckets) {
            ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
            if (stageOf(b) != 3) continue;
            if (ahead == 1)
                gather(b, true);
            else
                stage(b);
        }
    }
}

void ParameterStore::dropWeights(ParameterBucket& b)
{
    b.gathering.wait();
    b.staged.reset();
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
    // The first contribution to a parameter overwrites; what lies between parameters is added up, too.
    for (const auto& [first, count] : b.gaps()) m_rank.device.zero(b.gradients.part(first, {count}));
    b.bindGradients();
    for (const auto& entry : b.entries) entry.parameter->gradientEmpty = true;
}

void ParameterStore::enter(const ParameterUnit& unit, UnitPass pass)
{
    UnitPlace& place = m_units.at(&unit);
    const Phase phase = m_rank.evaluating           ? Phase::Evaluation
                        : pass == UnitPass::Forward ? Phase::Forward
                                                    : Phase::BackwardInput;
    const PhaseTag tag(m_rank.recorder, phase);
    const bool reads = pass != UnitPass::Backward || unit.readInBackward;
    bool gathers = m_host != nullptr;
    if (m_host && reads) {
        bringUnit(unit, place);
        m_host->waitUntil(place.arrival);
    }
    for (const int bucket : place.buckets) {
        ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
        const int stage = stageOf(b);
        if (stage == 3 && reads) {
            gather(b, false);
            b.gathering.wait();
            b.staged.reset();
            b.bindWeights(m_rank.format.master);
            gathers = true;
        }
        if (stage >= 2 && pass != UnitPass::Forward && !m_rank.evaluating) makeGradients(b);
    }
    if (gathers) gatherAhead(place, pass);
}

void ParameterStore::leave(const ParameterUnit& unit, UnitPass pass)
{
    const UnitPlace& place = m_units.at(&unit);
    // The backward pass begins with the unit that the forward pass (and the loss) ends with.
    const bool staysForBackward =
        pass != UnitPass::Backward &&
        (!m_reshard ||
         place.index + 1 == static_cast<int>(m_unitsOfChunk[static_cast<std::size_t>(place.chunk)].size()));
    if (m_host && !staysForBackward) dropUnit(unit);
    for (const int bucket : place.buckets) {
        ParameterBucket& b = m_buckets[static_cast<std::size_t>(bucket)];
        if (stageOf(b) == 3 && !staysForBackward) dropWeights(b);
        if (pass == UnitPass::Backward && !m_rank.deferred) unitDone(b);
    }
}

void ParameterStore::beginStep(int microbatches)
{
    // The loss is a backward pass of the head, and all losses may come before the first backward pass of a block: what is
    // complete is told by counting, not by the micro-batch that runs. Cut gradients are added up after every micro-batch.
    for (auto& b : m_buckets) b.unitsLeft = stageOf(b) >= 2 ? b.units : b.units * microbatches;
}

void ParameterStore::completeChunk(int chunk)
{
    for (auto& b : m_buckets)
        if (b.chunk == chunk && b.unitsLeft > 0) reduce(b);
}

void ParameterStore::unitDone(ParameterBucket& b)
{
    if (--b.unitsLeft > 0) return;
    if (stageOf(b) >= 2) b.unitsLeft = b.units;
    reduce(b);
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
    if (m_host) showHome(false);
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
    if (m_host) showHome(false);
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
