// SPDX-License-Identifier: Apache-2.0
// Writes what one stage of a predicted step does into a trace, from its drawable form and the costs of its passes.
#pragma once

#include "model/cost/predicted_trace.h"
#include "model/cost/step_cost.h"
#include "model/spec/rank_layout.h"
#include "model/spec/run_spec.h"
#include "model/trace/drawn_step.h"
#include "model/trace/trace_sink.h"

#include <array>
#include <map>
#include <optional>
#include <utility>
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
    StageScribe(const RunSpec& spec, const StepCost& cost, const DrawnLane& lane,
                const std::vector<StageTracks>& tracks, TraceSink& sink, TraceProducer& producer);

    void write(const OperatorsOfPass& operators);

private:
    /// A collective of a pass or of the step: what its record says beside the times.
    struct Exchange {
        CollectiveOp operation = CollectiveOp::AllReduce;
        GroupKind group = GroupKind::Tensor;
        double wireBytes = 0;
        const char* name = "";
    };

    /// Whole bytes that a rank sends for a part of the cost, by kind of collective; `rest` is of the part's own kind.
    struct KindBytes {
        double gathers = 0, rest = 0, scatters = 0;
        double total() const { return gathers + rest + scatters; }
    };
    /// Those of one pass: while it waits, and beside its computation.
    static std::pair<KindBytes, KindBytes> wireOfPass(const PassCost& pass, CostPart part);

    /// A slice of a pass, relative to its begin.
    struct Line {
        TrackId track;
        OpId op;
        Duration begin, end;
        int exchange = -1; ///< of a collective: index into Script::exchanges
    };
    /// What a pass through a position writes: the same for every micro-batch, so it is put together once.
    struct Script {
        std::vector<Line> lines;
        std::vector<std::pair<GroupKind, CollectiveRecord>> exchanges; ///< times and numbers are of the latest play
    };
    /// An operator without layer and figures, by the address of its name.
    struct PlainOp {
        const char* name = "";
        SliceKind kind{};
        Phase phase{};
        Activity activity{};
        friend bool operator==(const PlainOp&, const PlainOp&) = default;
    };

    void writeStep();
    void writePass(const DrawnPass& pass, const OperatorsOfPass& operators);
    Script& scriptOf(const DrawnInterval& interval, const ChunkCost& chunk, const OperatorsOfPass& operators);
    void addParts(Script& script, double length, const PassCost& cost, Phase phase);
    void addOperators(Script& script, double length, const PassCost& cost, Phase phase,
                      const std::vector<OperatorCost>& operators);
    void addExchange(Script& script, const Exchange& what, Phase phase, std::optional<LayerIndex> layer, double begin,
                     double end);
    /// What a part sends in `seconds` from `begin`: one exchange for each kind of collective, one after the other.
    void addExchanges(Script& script, CostPart part, const KindBytes& bytes, Phase phase, double begin, double seconds);
    void play(Script& script, const DrawnInterval& interval);
    void writeOutside(const DrawnInterval& interval);
    void writeTransfers();
    void writeReduction();
    void writeOnce(const Exchange& what, GroupId group, std::size_t members, Phase phase, TimeRange range);
    void writeStaticMemory();
    /// They live from the begin of their layer's forward to the end of its backward.
    void writeActivations();
    /// until: absent for what is never freed.
    void allocate(const char* what, Phase phase, MemoryCategory category, double bytes, Instant from,
                  std::optional<Instant> until, std::optional<Microbatch> microbatch);

    /// seconds: not negative.
    static Instant instantOf(double seconds) { return {static_cast<std::int64_t>(seconds * 1e9 + 0.5)}; }
    static Duration durationOf(double seconds) { return {instantOf(seconds).ns}; }
    void slice(TrackId track, OpId op, TimeRange range, std::optional<Microbatch> microbatch);
    OpId plainOp(const char* name, SliceKind kind, Phase phase, Activity activity);
    /// A collective's record, but for its times and number.
    CollectiveRecord recordOf(const Exchange& what);
    CollectiveRecord recordOf(const Exchange& what, GroupId group, std::size_t members) const;
    Exchange exchangeOf(CostPart part, Collective kind, double wireBytes) const;
    GroupId group(GroupKind kind);

    const RunSpec& m_spec;
    const StepCost& m_cost;
    const DrawnLane& m_lane;
    RankLayout m_layout;
    RankId m_rank;
    const std::vector<StageTracks>& m_tracks;
    const StageTracks& m_own;
    TraceSink& m_sink;
    TraceProducer& m_producer;
    std::map<GroupKind, GroupId> m_groups;
    std::map<GroupKind, std::int64_t> m_sequences;
    std::int64_t m_nextAllocation = 1;
    std::vector<std::array<std::optional<Script>, 4>> m_scripts; ///< by chunk of the stage and kind of pass
    std::vector<std::pair<PlainOp, OpId>> m_plainOps;
};

} // namespace fourwalls::cost
