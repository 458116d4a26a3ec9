// SPDX-License-Identifier: Apache-2.0
// Writes what one stage of a predicted step does into a trace.
#pragma once

#include "model/cost/predicted_trace.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/spec/rank_layout.h"
#include "model/spec/run_spec.h"
#include "model/trace/trace_sink.h"

#include <map>
#include <string>
#include <vector>

namespace fourwalls::cost {

/// The rows of one rank class, named as the engine names them.
struct StageTracks {
    TrackId steps, phases, operators, kernels, communication, copies;
};

StageTracks defineStageTracks(TraceSink& sink, RankId rank);

class StageScribe {
public:
    /// tracks: of all stages. The references must outlive the scribe.
    StageScribe(const RunSpec& spec, const StepCost& cost, const SimulatedStep& step, int stage,
                const std::vector<StageTracks>& tracks, TraceSink& sink, TraceProducer& producer);

    void write(const OperatorsOfPass& operators);

private:
    /// A pass of the schedule: its intervals [first, last) of SimulatedStage::intervals.
    struct Pass {
        std::size_t first = 0, last = 0;
    };
    /// A collective of a pass or of the step: what its record says beside the times.
    struct Exchange {
        CollectiveOp operation = CollectiveOp::AllReduce;
        GroupKind group = GroupKind::Tensor;
        double wireBytes = 0;
        const char* name = "";
    };

    std::vector<Pass> passes() const;
    void writeStep();
    void writePass(const Pass& pass, const OperatorsOfPass& operators);
    void writeParts(const SimulatedInterval& interval, const PassCost& cost, const ChunkCost& chunk, Phase phase);
    void writeOperators(const SimulatedInterval& interval, const PassCost& cost, const ChunkCost& chunk, Phase phase,
                        const std::vector<OperatorCost>& operators);
    void writeOutside(const SimulatedInterval& interval);
    void writeTransfers();
    void writeStaticMemory();
    void allocate(const std::string& what, Phase phase, MemoryCategory category, double bytes, double from,
                  double until, std::int32_t microbatch);

    void slice(TrackId track, const OpInfo& op, double start, double end, std::int32_t microbatch);
    /// A collective's slice and record.
    void exchange(const Exchange& what, Phase phase, std::optional<LayerIndex> layer, double start, double end,
                  std::int32_t microbatch);
    Exchange exchangeOf(CostPart part, double wireBytes) const;
    GroupId group(GroupKind kind);

    const RunSpec& m_spec;
    const StepCost& m_cost;
    const SimulatedStep& m_step;
    const SimulatedStage& m_stage;
    int m_index;
    RankLayout m_layout;
    RankId m_rank;
    const std::vector<StageTracks>& m_tracks;
    const StageTracks& m_own;
    TraceSink& m_sink;
    TraceProducer& m_producer;
    std::map<GroupKind, GroupId> m_groups;
    std::map<GroupKind, std::int64_t> m_sequences;
    std::int64_t m_nextAllocation = 1;
};

} // namespace fourwalls::cost
