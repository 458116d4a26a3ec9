// SPDX-License-Identifier: Apache-2.0
// What the pipeline view asks of a trace, recorded or predicted: jobs for a worker thread. A step is read at the level
// of phases; what lies inside of them is reduced to pixels by the query. Without Qt.
#pragma once

#include "model/present/job_steps.h"
#include "model/present/stage_lanes.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/metrics.h"

#include <map>
#include <memory>
#include <stop_token>

namespace fourwalls {

/// The ranks that make up one pipeline, by stage. Ranks of tensor parallelism and data-parallel replicas each have a
/// pipeline of their own.
struct PipelineRanks {
    std::vector<RankId> byStage;
};

/// What is asked once per trace.
struct PipelineFacts {
    std::vector<PipelineRanks> pipelines;
    bool pipelined = false;
    std::optional<ParallelPlan> plan; ///< of the trace's specification
    TraceSource source = TraceSource::Recorded;
    bool stagesInferred = false; ///< from process groups: there is no specification
    TraceMetrics metrics;
    JobSteps job;
    std::vector<InferredField> inferred; ///< what the importer could tell
    struct Busy {
        Duration window, busy;
        TimeRange step;
    };
    std::map<std::pair<RankId, StepIndex>, Busy> busy;
};
/// withMetrics: fill metrics, which a prediction that is drawn many times a second need not.
Result<PipelineFacts> askPipelineFacts(TraceQuery& trace, bool withMetrics = true);

/// One step of one pipeline, drawn and listed.
struct PipelinePicture {
    JobStep step;
    std::optional<TimeRange> window;                ///< W
    std::vector<StageLane> lanes;                   ///< by stage
    std::vector<std::optional<StageShares>> shares; ///< by lane
    PassTimes times;
    int microbatches = 0, chunks = 1; ///< as counted in the passes
    bool passesInferred = false;      ///< from the direction of operators: no phases were recorded
    bool finerKnown = false;          ///< recomputation and weight gradients inside backwards are told apart
    /// Mean bubble over the lanes; absent without W.
    std::optional<double> bubble() const;
};
/// pipeline: index into facts.pipelines. Errors: those of the queries; Cancelled.
Result<PipelinePicture> askPipelinePicture(TraceQuery& trace, const PipelineFacts& facts, std::size_t pipeline,
                                           StepIndex step, std::stop_token stop = {});

} // namespace fourwalls
