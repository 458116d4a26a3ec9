// SPDX-License-Identifier: Apache-2.0
// A sink in front of another one that finds out from what passes through when the optimizer of each rank ran, and gives
// buffers without a category the one that their lives speak for.
#pragma once

#include "model/import/common/memory_categories.h"
#include "model/trace/trace_sink.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace fourwalls::importers {

/// The optimizer's runs of every rank, from slices named "Optimizer.…" on the host.
struct OptimizerRuns {
    std::map<RankId, std::vector<TimeRange>> ranges;
    bool adam = false;
};

class CategorisingSink final : public TraceSink {
public:
    /// holdBuffers: keep buffers back until release(); else they pass like everything. Both references must outlive this.
    CategorisingSink(TraceSink& target, OptimizerRuns& runs, bool holdBuffers)
        : m_target(target)
        , m_runs(runs)
        , m_holds(holdBuffers)
    {}

    OpId defineOp(const OpInfo& info) override;
    TrackId defineTrack(const TrackInfo& info) override;
    GroupId defineGroup(const ProcessGroupInfo& info) override { return m_target.defineGroup(info); }
    CounterId defineCounter(const CounterInfo& info) override { return m_target.defineCounter(info); }
    std::unique_ptr<TraceProducer> openProducer() override;
    void audit(const AuditRecord& record) override { m_target.audit(record); }
    SinkStatistics statistics() const override { return m_target.statistics(); }
    /// Does nothing: the run's own sink is finished once, by its owner.
    Status finish(const TraceClosing&) override { return {}; }

    /// Hands the buffers over with their categories. Call once, after all producers are gone.
    void release();

private:
    friend class CategorisingProducer;
    struct Held {
        AllocationRecord record;
        std::optional<Instant> end;
    };
    TraceSink& m_target;
    OptimizerRuns& m_runs;
    bool m_holds;
    std::mutex m_lock;
    std::set<OpId> m_optimizers;
    std::map<TrackId, RankId> m_tracks;
    std::map<RankId, std::vector<Held>> m_buffers;
    std::map<RankId, std::map<AllocationId, std::size_t>> m_open;
};

} // namespace fourwalls::importers
