// SPDX-License-Identifier: Apache-2.0
// How a rank keeps its parameters: whole, or with gradients, optimizer state and weights cut over the ranks that would
// hold the same (ZeRO stages 1, 2, 3: Rajbhandari et al. 2020, arXiv:1910.02054). Reduces gradients and gathers weights
// as the network comes by, beside the computation if the plan says overlap.
#pragma once

#include "profiler/engine/train/parameter_bucket.h"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace fourwalls::engine {

class ParameterStore final : public UnitHooks {
public:
    /// chunks: the parameters of this rank's chunks, only described; they get their tensors and first values here. Both
    /// rank and lists outlive the store. The rank's hooks point to it where the network has to tell it something.
    /// host: where weights live while the network does not use them (offloaded parameters); null: here.
    ParameterStore(RankContext& rank, std::vector<ParameterList*> chunks, HostPool* host = nullptr);
    ~ParameterStore() override;

    /// What this rank updates, those of one bucket together.
    std::vector<ParameterPiece>& pieces() { return m_pieces; }
    const std::vector<ParameterPiece>& pieces() const { return m_pieces; }

    /// Before the passes of a step's micro-batches through all chunks.
    void beginStep(int microbatches);
    /// After the deferred weight gradients of a chunk's last micro-batch.
    void completeChunk(int chunk);
    /// After all backward passes: returns when every piece has its gradient, added up over all ranks.
    void finishGradients();
    /// After a piece was updated; once the last one of a bucket is, its new weights go out to the other ranks.
    void pieceUpdated(std::size_t piece);
    /// After all pieces: returns when the weights are everywhere.
    void finishUpdate();
    /// After forward passes that no backward pass follows.
    void afterEvaluation();
    /// Lets parameters stand for their offloaded weights where those are (files), or for none again.
    void showHome(bool show);
    /// Weights were written into the pieces (from a file): refreshes copies and what other ranks hold.
    void weightsChanged();

    void enter(const ParameterUnit& unit, UnitPass pass) override;
    void leave(const ParameterUnit& unit, UnitPass pass) override;

private:
    struct UnitPlace {
        int chunk = 0;
        int index = 0; // in the order of the forward pass
        std::vector<int> buckets;
        Instant arrival; // of offloaded weights that were sent for
    };

    bool sharded(const ParameterBucket& bucket) const { return m_zero > 0 && bucket.group->size() > 1; }
    int stageOf(const ParameterBucket& bucket) const { return sharded(bucket) ? m_zero : 0; }
    void allocateAlone();
    void allocateOnHost(Parameter& parameter);
    void listUnits(std::size_t chunk);
    void bringUnit(const ParameterUnit& unit, UnitPlace& place);
    void dropUnit(const ParameterUnit& unit);
    void stage(ParameterBucket& bucket);
    void allocateBucket(ParameterBucket& bucket);
    void fillWeights(const ParameterBucket& bucket);
    void addPieces(int bucket);
    bool counts(const Parameter& parameter) const;

    void gather(ParameterBucket& bucket, bool overlap);
    void gatherAhead(const UnitPlace& from, UnitPass pass);
    void dropWeights(ParameterBucket& bucket);
    void makeGradients(ParameterBucket& bucket);
    void unitDone(ParameterBucket& bucket);
    void reduce(ParameterBucket& bucket);
    void finishReduction(ParameterBucket& bucket);
    void finishOldest(std::size_t mostUnderWay);
    void publish(ParameterBucket& bucket);

    RankContext& m_rank;
    std::vector<ParameterList*> m_chunks;
    HostPool* m_host;
    int m_zero = 0;
    bool m_overlap = true;
    bool m_reshard = true;
    std::vector<ParameterBucket> m_buckets;
    std::map<const ParameterUnit*, UnitPlace> m_units;
    std::vector<std::vector<const ParameterUnit*>> m_unitsOfChunk;
    std::deque<int> m_underWay; // buckets being reduced into shards, oldest first
    std::vector<ParameterPiece> m_pieces;
    std::size_t m_published = 0; // buckets whose new weights are out, in order
};

} // namespace fourwalls::engine
