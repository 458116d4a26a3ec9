// SPDX-License-Identifier: Apache-2.0
// How a training framework runs a step, as named flags of one version: what it fuses, overlaps, shards and keeps. The
// same model under the same plan takes other times and other memory under another framework.
#pragma once

#include "model/base/result.h"
#include "model/spec/parallel_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// When gradients are reduced beside the backward pass.
enum class GradientOverlap { Never, WithoutPipeline, Always };
/// What selective recomputation recomputes.
enum class SelectiveRecompute {
    AttentionCore,    ///< scores, softmax and values (arXiv:2205.05198)
    AlternateMatmuls, ///< every second matrix product and everything cheap between them (torchtitan)
    AllButProducts    ///< everything but the products with weights (JAX: dots_with_no_batch_dims_saveable)
};
/// Where the embedding and the head stand when layers are dealt out to stages.
enum class StageSplit {
    Layers,    ///< equal numbers of layers; embedding and head come on top of the end stages
    EndsCount, ///< embedding and head count as one layer each
    Automatic  ///< Layers where they divide evenly, else EndsCount where that does, else the fuller stages first
};

/// Whose launch arguments say a plan.
enum class LaunchTarget { Megatron, Torchtitan, DeepSpeed };

struct FrameworkPreset {
    static constexpr std::int64_t kAnyDegree = 1'000'000;

    std::string name;
    std::string version;

    bool runs(PipelineSchedule schedule) const
    {
        return schedules.empty() || std::find(schedules.begin(), schedules.end(), schedule) != schedules.end();
    }

    // Kernels.
    bool flashAttention = true;             ///< has a fused attention kernel; else every plan runs unfused
    std::string attentionKernel = "flash2"; ///< whose rates (calibration) the fused kernel has
    bool fusedSoftmax = true;               ///< scale, mask and softmax in one kernel (of unfused attention)
    bool fusedActivation = true;            ///< bias and activation (or gate) in one kernel
    bool fusedDropoutAdd = true;            ///< bias, dropout and residual sum in one kernel
    bool fusedNorm = true;                  ///< normalisation in one kernel
    bool residualInProduct = false; ///< bias and residual sum inside the product, where no sum over ranks follows it
    bool lossWithForward = false;   ///< the head's gradients are computed together with the loss, in the forward pass
    bool padVocabulary = true;      ///< to a multiple of 128 x tp
    bool freesAtOnce = false;       ///< a buffer goes as soon as the backward pass has read it (no graph keeps it)
    double lossAllReduces = 3;  ///< over tensor-parallel ranks: Megatron has maxima, targets and sums each for itself
    double logitsAtOnce = 0;    ///< logits that the loss holds at a time; 0: all of the micro-batch
    bool fusedRotary = true;    ///< rotary positions in one pass
    bool dropout = false;       ///< trains with dropout: masks are written and kept
    double attentionCopies = 0; ///< elements moved around fused attention, per element of its result
    double lossBytesPerLogit = 16; ///< moved by loss and its gradient, per logit

    // Execution.
    double launchSeconds = 5e-6;      ///< of the host per kernel that compiled code launches
    bool eager = false;               ///< operators of eager PyTorch launch the kernels (Calibration has their time)
    bool capturesAttention = false;   ///< attention, and the choice of experts, are replayed as CUDA graphs
    bool synchronousLaunches = false; ///< the host waits for every kernel (CUDA_LAUNCH_BLOCKING=1)
    double stepSeconds = 0;           ///< host work once per step that hides nothing
    double microbatchSeconds = 0;     ///< host work once per micro-batch and stage that hides nothing

    // Gradients.
    double gradientBytes = 2;     ///< of the buffer they accumulate in, per parameter
    double reduceBytes = 2;       ///< of what is reduced, per parameter
    double accumulationBytes = 6; ///< moved per parameter and micro-batch to accumulate; 0: in the matrix product
    GradientOverlap gradientOverlap = GradientOverlap::Always;
    bool overlapParameterGather = false; ///< gathers of updated shards run beside the next forward
    bool shardOptimizer = false;         ///< ZeRO-1 unless the plan says more
    bool shardsParameters = false;       ///< ZeRO-3 where a table of published runs does not say
    bool reducesOnce = false;            ///< ZeRO-2 in a pipeline: gradients are reduced once a step
    double bucketElements = 0;           ///< gradients of one call; 0: all of a stage's
    double bucketElementsPerReplica = 0; ///< as many more for each replica, where that is more
    double gatherCalls = 1;              ///< ZeRO-3: calls that bring one layer's weights together
    double scatterCalls = 1;             ///< ZeRO-3: calls that scatter one layer's gradients
    double recomputeGathers = 0; ///< ZeRO-3: share of a recomputed layer's weights that its backward pass gathers again
    bool waitsForShards = false; ///< ZeRO-3: nothing is computed while weights are gathered or gradients scattered
    bool copiesPerMember = false; ///< ZeRO-3: what such a call moves is copied with a kernel for each member
    bool reduceWhole = false;     ///< ZeRO-1 all-reduces whole gradients instead of scattering them

    // Optimizer.
    double optimizerBytes = 60; ///< moved per parameter in one update, gradient norm and casts included
    double weightBytes = 2;     ///< of the weights that compute, per parameter
    double stateBytes = 12;     ///< master weights and moments, per parameter

    // Tensor and pipeline parallelism.
    bool overlapTensorBackward = false; ///< collectives of the input gradient run beside the weight gradient
    bool asyncTensor = false;           ///< products are cut so that gathers and scatters run beside them
    bool copiesSequences = false;   ///< what is gathered or scattered along the sequence is put in its place by a copy
    bool blockingTransfers = false; ///< a stage waits for its sends
    bool scatterGatherTransfers = false; ///< a transfer is cut over the tensor group and gathered at the other side
    bool sortsReceivedRows = false; ///< rows that all-to-all brought are copied together expert by expert, and back
    bool groupedExperts = true;     ///< the products of all experts of a rank in one kernel
    bool addsExpertBiases = false;  ///< biases of experts are added to the results expert by expert, in 32 bits
    bool overlapsExperts = false;   ///< can run exchanges with experts beside another micro-batch's computation
    bool globalRouting = false;     ///< the balance of experts is counted over all replicas in every pass
    bool gathersEachPass = false;   ///< ZeRO-3 in a pipeline: weights come and go with every pass, not once a step
    bool sumsTableShards = false;   ///< the ends of a pipeline add up their shards of the shared table, not all of it
    bool contextInPieces = false;   ///< attention over gathered keys runs piece by piece, the gather beside the first
    bool normsByLayer = false;      ///< the ranks agree on the gradient's norm layer by layer
    bool flushMessages = false;     ///< stages tell each other that their passes are over, before anything else
    StageSplit stageSplit = StageSplit::Automatic;
    // What it can run, for the search and for plans that are started: canRun.
    std::int64_t mostZero = 3, mostZeroInPipeline = 3; ///< largest ZeRO stage that it has, and has with a pipeline
    std::int64_t mostTensor = kAnyDegree, mostPipeline = kAnyDegree, mostExperts = kAnyDegree; ///< largest degrees
    std::int64_t mostContext = kAnyDegree, mostContextInPipeline = kAnyDegree;
    std::int64_t mostContextStagesFirst = kAnyDegree; ///< where stages lie side by side (RankOrder)
    bool splitsSequences = true;                      ///< sp=1, Megatron's sequence parallelism
    bool recomputesSelected = true;                   ///< recompute=selective
    bool recomputesModules = false;                   ///< recompute=MODULE+MODULE
    std::vector<PipelineSchedule> schedules;          ///< empty: all
    /// What it has, and first what it does where a plan says `auto`. Empty: a ring, and all-to-all.
    std::vector<ContextExchange> contexts;
    std::vector<ExpertDispatch> dispatches;
    ContextExchange contextOf(const ParallelPlan& plan) const
    {
        if (plan.context != ContextExchange::Auto) return plan.context;
        return contexts.empty() ? ContextExchange::Ring : contexts.front();
    }
    ExpertDispatch dispatchOf(const ParallelPlan& plan) const
    {
        if (plan.dispatch != ExpertDispatch::Auto) return plan.dispatch;
        return dispatches.empty() ? ExpertDispatch::AllToAll : dispatches.front();
    }
    /// The search offers only plans that these arguments say; absent: a part of its plans is written in code.
    std::optional<LaunchTarget> launch;
    bool offloadsParameters = false; ///< the optimizer's states go to the host together with the parameters only
    /// Full recomputation of a layer ends with the last tensor that its backward pass reads.
    bool recomputeStopsEarly = false;
    bool recomputesFused = false; ///< selective recomputation runs the fused attention kernel again, too
    SelectiveRecompute selective = SelectiveRecompute::AttentionCore;

    // What its users leave unsaid (for tables of published runs).
    std::int64_t defaultHeads = 0; ///< 0: heads of about 128
    std::int64_t defaultVocabulary = 51200;
    bool takesLayerCounts = false;      ///< it can be told how many layers each pipeline stage has
    bool stagesFirst = false;           ///< it can lay the stages of a pipeline side by side (RankOrder)
    bool recomputesByStage = false;     ///< it can be told what each pipeline stage recomputes
    bool microbatchesAreStages = false; ///< as many micro-batches as pipeline stages, unless told

    // Memory.
    double logitBytes = 8;        ///< held per logit at the loss
    double shardedLogitBytes = 0; ///< likewise where the vocabulary is cut over the tensor group; 0: the same
    double contextBytes = 1.0e9;  ///< of driver and libraries, on the device
    double libraryBytes = 0.5e9;  ///< buffers of the collective library
    double slackFraction = 0.05;  ///< of what is allocated: reserved and unusable
};

/// Whether a framework has all that a plan asks of it. Errors: Unsupported, naming the first key that it does not have,
/// with the hint what it has.
Status canRun(const FrameworkPreset& framework, const ParallelPlan& plan);
/// Likewise of its degrees alone.
Status hasDegrees(const FrameworkPreset& framework, const ParallelPlan& plan);

/// Reads a framework description. where: file name used in errors. Errors: Format with the field.
Result<FrameworkPreset> frameworkPresetFromJson(std::string_view json, std::string_view where);

/// A preset by name, or else a JSON file by path. Errors: NotFound listing the preset names.
Result<FrameworkPreset> loadFramework(const std::string& nameOrFile);
std::vector<std::string> frameworkPresetNames();

} // namespace fourwalls
