// SPDX-License-Identifier: Apache-2.0
// What every stage of a pipeline does, in order, for each schedule. The engine executes these lists and the cost
// model simulates them, so that both run the same pipeline.
//
// The network is cut into `stages x chunks` positions, 0 at the input. Every stage (rank of a pipeline group) holds
// `chunks` of them. A stage works through its list: before an action it waits for the tensor that the action needs
// from a neighbouring position, after it it gives one. No schedule deadlocks when sends are buffered, nor when a send
// waits for its receiver as long as every stage keeps a receive posted per neighbour and kind of tensor. Between two
// stages the activations arrive in the order in which they are needed, and so do the gradients (of both together that
// is not true: interleaved stages need one channel, or tag, per kind).
#pragma once

#include "model/base/result.h"
#include "model/spec/parallel_plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace fourwalls {

/// Backward is input and weight gradient in one; the zero-bubble schedules take them apart.
enum class PipelinePass : std::uint8_t { Forward, Backward, BackwardInput, BackwardWeight };

/// One pass of one micro-batch through one chunk of a stage.
struct PipelineAction {
    PipelinePass pass = PipelinePass::Forward;
    std::int32_t microbatch = 0;
    std::int32_t chunk = 0; ///< of this stage, 0 .. chunks - 1; lower ones are nearer the input

    friend bool operator==(const PipelineAction&, const PipelineAction&) = default;
};

enum class PipelineTensor : std::uint8_t { Activation, Gradient };

/// A tensor that crosses from one position to a neighbouring one.
struct PipelineTransfer {
    PipelineTensor tensor = PipelineTensor::Activation;
    std::int32_t microbatch = 0;
    std::int32_t fromPosition = 0, toPosition = 0;
    std::int32_t fromStage = 0, toStage = 0;

    /// Both positions on one stage (the turn of a V-shaped schedule): nothing is sent.
    bool isLocal() const { return fromStage == toStage; }
};

/// The size of a pipeline.
struct PipelineShape {
    PipelineSchedule schedule = PipelineSchedule::OneFOneB;
    int stages = 1;
    int chunks = 1; ///< per stage; 1 but for Interleaved (the plan's vpp) and ZeroBubbleV (always 2)
    int microbatches = 1;

    int positions() const { return stages * chunks; }
    /// The position that a chunk of a stage holds: interleaved chunks go round, those of ZeroBubbleV go down and up.
    int positionOf(int stage, int chunk) const;
    int stageOf(int position) const;
    int chunkOf(int position) const;
    /// Whether backward is taken apart into input and weight gradients.
    bool splitsBackward() const;

    /// The tensor that an action of a stage waits for; absent at the network's ends and for weight gradients.
    std::optional<PipelineTransfer> needs(int stage, const PipelineAction& action) const;
    /// The tensor that an action of a stage makes for a neighbour; absent likewise.
    std::optional<PipelineTransfer> gives(int stage, const PipelineAction& action) const;

    friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

/// The shape of a plan's pipeline. Chunks of ZeroBubbleV are 2 whether or not the plan says vpp=2.
PipelineShape pipelineShape(const ParallelPlan& plan);

/// Forgets how many layers each position holds, and what each stage recomputes, where the plan has another number of them by
/// now.
void dropMisfittingStages(ParallelPlan& plan);

/// Whether the schedule exists for this shape.
/// Errors: InvalidArgument naming pp, vpp, microbatches or schedule: degrees below 1, virtual stages where the
/// schedule has none or too few, interleaved micro-batches that are no multiple of the stages.
Status checkPipeline(const PipelineShape& shape);

/// The actions of every stage, by stage, in order. Every micro-batch passes every chunk once in each pass.
/// Naive: one micro-batch after the other. GPipe: all forwards, then all backwards (arXiv:1811.06965).
/// OneFOneB and Interleaved: arXiv:2104.04473, section 2.2, in the order of Megatron-LM. ZeroBubbleH1 and
/// ZeroBubble2p: arXiv:2401.10241, section 2, figures 2 and 3 (ZB-H1, ZB-H2); ZeroBubbleV: arXiv:2405.15362.
/// Errors: those of checkPipeline; InvalidArgument for more than 50 million actions.
Result<std::vector<std::vector<PipelineAction>>> pipelineActions(const PipelineShape& shape);

/// The largest number of (micro-batch, chunk) activations that a stage holds at once when it works through `actions`:
/// from the forward to the end of the backward, or of the weight gradient where that is apart.
int mostInFlight(const std::vector<PipelineAction>& actions);

} // namespace fourwalls
