// SPDX-License-Identifier: Apache-2.0
// A sink in front of another one: moves times onto the clock of a run and gives ranks their numbers there, so that
// several sources can write into one trace without knowing of each other.
#pragma once

#include "model/trace/allocator_text.h"
#include "model/trace/trace_sink.h"

#include <map>
#include <memory>

namespace fourwalls::importers {

/// Where a source's records go.
struct SourcePlacement {
    Duration shift;                 ///< added to every time
    std::map<RankId, RankId> ranks; ///< others keep their number
    /// Ranks (numbers of the run) whose buffers and allocator counters another source knows better.
    std::vector<RankId> buffersElsewhere;

    RankId rank(RankId own) const
    {
        const auto found = ranks.find(own);
        return found == ranks.end() ? own : found->second;
    }
    bool knowsBuffers(RankId ofRun) const;
};

/// Adds what a source knows of the allocator, as it is on the run's clock, of the ranks whose buffers it knows best. All
/// together stay within what a trace keeps; `left` counts what is left out.
void addAllocatorState(TraceClosing& run, const TraceClosing& own, const SourcePlacement& placement,
                       AllocatorLeftOut& left);
void auditLeftOut(const AllocatorLeftOut& left, TraceSink& sink);

class PlacedSink final : public TraceSink {
public:
    /// Both must outlive this and its producers.
    PlacedSink(TraceSink& target, const SourcePlacement& placement) : m_target(target), m_placement(placement) {}

    OpId defineOp(const OpInfo& info) override { return m_target.defineOp(info); }
    TrackId defineTrack(const TrackInfo& info) override;
    GroupId defineGroup(const ProcessGroupInfo& info) override;
    CounterId defineCounter(const CounterInfo& info) override;
    std::unique_ptr<TraceProducer> openProducer() override;
    /// All but the facts of one file, which are not those of the run.
    void audit(const AuditRecord& record) override;
    SinkStatistics statistics() const override { return m_target.statistics(); }
    /// Does nothing: the run's own sink is finished once, by its owner.
    Status finish(const TraceClosing&) override { return {}; }

private:
    TraceSink& m_target;
    const SourcePlacement& m_placement;
};

} // namespace fourwalls::importers
