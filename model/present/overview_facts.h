// SPDX-License-Identifier: Apache-2.0
// What the overview asks of a trace: stored summaries and pixel-bounded queries only, so that it costs the same for
// any number of slices; and what the cost model knows of its plan. Without Qt.
#pragma once

#include "model/compare/plan_suggestions.h"
#include "model/compare/wall_verdict.h"
#include "model/cost/plan_search.h"
#include "model/diagnose/diagnosis.h"
#include "model/present/job_steps.h"
#include "model/present/plan_cloud.h"
#include "model/present/recorder.h"
#include "model/present/step_spans.h"
#include "model/spec/calibration.h"
#include "model/trace/collective_timing.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/memory_facts.h"
#include "model/trace/metrics.h"
#include "model/trace/transfer_rates.h"

#include <memory>
#include <stop_token>

namespace fourwalls {

/// One collective beside the link that carries it.
struct LinkDot {
    double payloadBytes = 0;
    double busBytesPerSecond = 0;
    CollectiveOp operation = CollectiveOp::AllReduce;
};

/// One operator under the roofline.
struct RooflineDot {
    double flopsPerByte = 0; ///< 0: its bytes are not known
    double flopsPerSecond = 0;
    double share = 0; ///< of all operators' time
    bool memoryBound = false;
};

/// What the figures of the page are of.
struct OverviewScope {
    int measured = 0, warmup = 0, cut = 0, odd = 0; ///< steps of the job, as the trace has them
    bool wholeTrace = false;                        ///< it has no steps: its one step is all of it
    std::string stepsBy;                            ///< see TraceClosing::stepsBy
    /// The shortest and the longest of the ranks' own steps of that number; absent for one rank, or for more than a few.
    std::optional<std::pair<Duration, Duration>> ownLengths;
    RankScope ranks;
};

/// What the slices and collectives of the step tell; asked apart, because it costs more than stored summaries.
struct StepInsight {
    TransferRates rates;
    std::optional<double> hiddenShare;  ///< of the transfers: CommunicationStep::hiddenShare
    bool holdsWaiting = false;          ///< transfers cannot be told from waiting
    std::optional<double> waitingShare; ///< of the time in collectives, where it can be told
    std::optional<RankLateness> late;   ///< who keeps the others waiting
    diagnose::Diagnosis findings;
};

/// What is asked once per trace.
struct OverviewFacts {
    TraceSource source = TraceSource::Recorded;
    std::optional<RunSpec> spec;
    std::vector<InferredField> inferred;
    TraceMetrics metrics;
    std::optional<compare::FullestRank> fullest;
    std::vector<OutOfMemory> outOfMemory;    ///< when memory was not enough, as the trace says
    bool memoryOnly = false;                 ///< a snapshot: no steps, no kernels, no communication
    bool memoryRelative = false;             ///< bytes since the start of the profile
    bool memoryStanding = false;             ///< what is in use hardly changes: a reservation or resident data
    std::optional<AllocatorCurve> allocator; ///< where no buffers were recorded
    std::optional<RankId> allocatorRank;
    bool logOnly = false;     ///< a job's own log: lengths of steps, nothing of what was done in them
    bool orderOnly = false;   ///< operators in their order, without times
    bool threadsOnly = false; ///< slices of threads, of which none is an operator, a transfer or a copy
    OverviewScope scope;
    Recorder recorder = Recorder::Own;
    std::optional<JobStep> step;              ///< the chosen one, or the one that stands for the job
    bool isChosen = false;                    ///< the step is a person's choice
    std::shared_ptr<const StepSpans> steps;   ///< what there is to choose from; never null
    MemoryWindow memory;                      ///< of the fullest rank over that step
    std::vector<LinkDot> links;               ///< in that step; at most some hundreds
    bool communicates = false;                ///< collectives were recorded, with or without a duration
    std::optional<double> linkBytesPerSecond; ///< the fastest link of a device
    std::optional<StepInsight> insight;       ///< absent: not known yet
    std::vector<RooflineDot> roofline;        ///< all with known bytes, or none
    std::optional<double> peakFlops, bytesPerSecond;
    bool roofDisproved = false; ///< operators run above the peak: it is not theirs, and no wall is drawn
};

/// columns: of the small memory plot. wanted: the step that the page is of; absent: the one that stands for the job.
/// Errors: those of the queries.
Result<OverviewFacts> askOverview(TraceQuery& trace, int columns, std::optional<StepIndex> wanted = std::nullopt);

/// Cost: that of communicationStep and traceFindings, bounded. Errors: those of the queries; Cancelled.
Result<StepInsight> askInsight(TraceQuery& trace, std::stop_token stop = {},
                               std::optional<StepIndex> wanted = std::nullopt);

/// Changes that are suggested at most.
inline constexpr std::size_t kSuggestions = 3;

/// What the cost model says about the plan and its alternatives on the same number of devices.
struct PlanOutlook {
    RunSpec spec;
    compare::PlanSuggestions suggestions;
    std::vector<cost::SearchedPlan> plans;  ///< of the search, thinned for a plot
    std::optional<cost::SearchedPlan> best; ///< the quickest that fits
    std::int64_t searched = 0;
    bool stopped = false; ///< there are more plans than were searched

    /// The share of the predicted step that the best plan saves, 0 if none does.
    double gain() const;
};

/// Predicts the plan and its neighbours. calibration: null: the published one.
/// Errors: those of the cost model, naming what the specification lacks; Cancelled.
Result<compare::PlanSuggestions> askSuggestions(const RunSpec& spec, std::shared_ptr<const Calibration> calibration,
                                                std::stop_token stop = {});
/// That, with what a search over all plans found.
PlanOutlook outlookOf(const RunSpec& spec, compare::PlanSuggestions suggestions, const cost::PlanSearchResult& found,
                      const PlanCloud& priced);

/// The plans that no other one beats in both time and memory, quickest first.
std::vector<cost::SearchedPlan> paretoFront(const std::vector<cost::SearchedPlan>& plans);

/// The share of the step or trace in which the device is idle while the program starts up; 0 where none was found.
double startUpOf(const OverviewFacts& facts);

/// The verdict over a trace, with what a search found if it is done.
compare::WallFacts wallFactsOf(const OverviewFacts& facts, const PlanOutlook* plans);

} // namespace fourwalls
