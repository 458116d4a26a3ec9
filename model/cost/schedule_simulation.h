// SPDX-License-Identifier: Apache-2.0
// One predicted step as a graph of work (model/graph): passes, messages between stages, reductions of gradients, the
// agreement of all ranks, the optimizer. What they cost comes from step_cost.h. Step time, bubbles, exposed transfers and
// the memory in flight are read from when its nodes end. One stage (pp=1) is a pipeline like any other.
#pragma once

#include "model/base/result.h"
#include "model/cost/step_cost.h"
#include "model/graph/pipeline_graph.h"
#include "model/spec/pipeline_schedule.h"

#include <cstdint>
#include <vector>

namespace fourwalls::cost {

/// What an interval of a stage's time is.
enum class SimulatedPart : std::uint8_t {
    Fixed, ///< what every step does outside of the model (StepCost::fixedSeconds)
    Forward,
    Recompute,
    BackwardInput,
    BackwardWeight,
    Send,          ///< the stage stands still while it sends (blocking transfers)
    Receive,       ///< the end of a wait, while the tensor is on its way
    PipelineWait,  ///< waiting for a neighbour that is not ready
    GradientSync,  ///< exposed reduction of gradients after the last backward
    OptimizerWait, ///< waiting for the other stages and replicas before the optimizer's step
    Agreement,     ///< of all ranks on the norm of the gradient
    Optimizer
};

/// One interval of one stage's time. The intervals of a stage do not overlap; waits are where it has nothing to do.
/// Unsplit backward passes appear as their two parts.
struct SimulatedInterval {
    double start = 0, end = 0;    ///< [s] from the step's begin
    std::int32_t position = -1;   ///< of passes and transfers; -1: of the stage
    std::int32_t microbatch = -1; ///< -1: of the whole step
    SimulatedPart part = SimulatedPart::Forward;
    std::int32_t peerStage = -1; ///< of sends, receives and waits for them
};

/// A tensor on its way between two stages.
struct SimulatedTransfer {
    double start = 0, end = 0;
    PipelineTransfer what;
};

/// Live bytes of a stage that come and go with the passes, from `at` on.
struct SimulatedBytes {
    double at = 0;
    double activations = 0, transient = 0;
};

struct SimulatedStage {
    double firstForward = 0, lastBackward = 0;     ///< begin and end of the passes [s]
    double busy = 0;                               ///< in passes; transfers of the pipeline and waits are not busy
    double transfer = 0;                           ///< standing still for a transfer of the pipeline
    double wait = 0;                               ///< standing still for a neighbour, between first and last pass
    double end = 0;                                ///< of its step [s]
    double peakBytes = 0;                          ///< with what is there all the time (StageCost::memory)
    double peakAt = 0;                             ///< first instant of the peak [s]
    double peakActivations = 0, peakTransient = 0; ///< parts of the peak
    std::int32_t mostInFlight = 0;                 ///< (micro-batch, chunk) activations held at once
    // Only when asked for:
    std::vector<SimulatedInterval> intervals; ///< by time
    std::vector<SimulatedTransfer> sent;      ///< by start
    std::vector<SimulatedBytes> memory;       ///< by time
};

struct SimulatedStep {
    double seconds = 0;                    ///< until the last stage's end
    double windowBegin = 0, windowEnd = 0; ///< first forward's start to last backward's end over all stages
    std::vector<SimulatedStage> stages;

    /// (W - busy) / W of a stage, and the mean over stages, as docs/metrics.md defines it.
    double bubbleFraction(std::size_t stage) const;
    double bubbleFraction() const;
};

/// The stage that fills its device most at its peak.
std::size_t fullestStage(const StepCost& cost, const SimulatedStep& step);

/// Runs steps one after the other; as long as their shape stays the same, its graph and memory are used again.
class ScheduleSimulation {
public:
    /// One step of `cost`. detailed: fill the intervals, transfers and memory of the stages. Messages of one direction
    /// between two stages go one after the other. With blocking transfers a sender stands still until its message is
    /// over, else sending costs it nothing.
    /// Errors: those of pipelineActions; InvalidArgument when the vectors of `cost` do not fit its shape or a time is
    /// negative or not finite.
    Result<SimulatedStep> run(const StepCost& cost, bool detailed = false);

private:
    /// The passes, and behind them what every stage does once in a step.
    struct Graph {
        PipelineGraph pipeline;
        std::vector<NodeIndex> reductions, optimizers; ///< by stage
    };
    /// What the passes of one kind of position take [s].
    struct KindTimes {
        double forward = 0, recompute = 0, backwardInput = 0, backwardWeight = 0;
        double forwardBusy = 0, backwardInputBusy = 0,
               backwardWeightBusy = 0; ///< recomputation with the input gradient
        int steps = 1;                 ///< in which activations climb and fall
    };
    class StageReader;

    static Result<Graph> graphOf(const PipelineShape& shape, bool blocking);
    /// Fills m_kinds and m_seconds.
    void price(const StepCost& cost);
    SimulatedStep read(const StepCost& cost, bool detailed) const;

    Graph m_graph;
    std::vector<KindTimes> m_kinds;
    std::vector<double>
        m_seconds;             ///< PipelineGraph's table of times, and after it those of the nodes behind the passes
    std::vector<double> m_end; ///< by node
};

/// The same for one step alone.
Result<SimulatedStep> simulateSchedule(const StepCost& cost, bool detailed = false);

} // namespace fourwalls::cost
