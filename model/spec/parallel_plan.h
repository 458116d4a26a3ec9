// SPDX-License-Identifier: Apache-2.0
// The parallel plan: how one training step is cut over ranks. Text form: space-separated key=value.
#pragma once

#include "model/base/result.h"
#include "model/spec/packed_documents.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls {

enum class Recompute { None, Selective, Full };
/// Modules whose insides are made again in the backward pass instead of kept; a set of them is a sum. Their words are those
/// of Megatron-LM's --recompute-modules.
enum RecomputeModule : unsigned {
    kRecomputeCoreAttention = 1,     ///< core_attn: scores, softmax and values, or the fused kernel
    kRecomputeLayerNorm = 2,         ///< layernorm: what the two norms of a layer give
    kRecomputeMlaUpProjection = 4,   ///< mla_up_proj: queries, keys and values from their latents
    kRecomputeMlp = 8,               ///< mlp: the feed-forward block of a dense layer
    kRecomputeExperts = 16,          ///< moe: all of a mixture's block, exchanges included
    kRecomputeExpertActivation = 32, ///< moe_act: the activation between the products of experts
    kRecomputeSharedExperts = 64     ///< shared_experts: the experts that every token goes to
};
enum class PipelineSchedule { Naive, GPipe, OneFOneB, Interleaved, ZeroBubbleH1, ZeroBubble2p, ZeroBubbleV };
/// Which ranks are neighbours, after those of a tensor and a context group: the replicas of a stage, or its pipeline.
enum class RankOrder { ReplicasFirst, StagesFirst };
enum class CollectiveAlgorithm { Auto, Ring, Tree, Direct, Hierarchical };
enum class ParameterServer { None, Sync, Async };
enum class MoeRouting { Balanced, Natural };
/// How context ranks get each other's keys and values, and how tokens get to experts. Auto: as the framework does it.
enum class ContextExchange { Auto, Ring, Gather };
enum class ExpertDispatch {
    Auto,
    AllToAll,   ///< every copy of a token travels
    OncePerNode ///< a token travels to each node once and there to each rank once, and is copied there
};
enum class ConvolutionAlgorithm { Auto, Direct, Winograd }; ///< Auto: what the library expects to be fastest

/// Degrees and switches of a plan; the defaults are one rank with nothing special.
struct ParallelPlan {
    int dp = 1, tp = 1, pp = 1, cp = 1, ep = 1; ///< data, tensor, pipeline, context, expert parallel degrees
    int vpp = 1;                                ///< virtual pipeline stages per rank
    RankOrder order = RankOrder::ReplicasFirst;
    std::vector<int> stageLayers; ///< layers of each position of the pipeline, from the input; none: about as many each
    int microbatches = 1;
    int zero = 0;         ///< ZeRO stage 0..3
    int shard = 0;        ///< replicas that zero cuts the states over, each group with a copy; 0: all (dp x cp)
    int expertTensor = 0; ///< tensor parallel degree of experts; 0: as the other layers
    bool reshard = true;  ///< zero=3: weights are dropped after a layer's forward pass
    bool sequenceParallel = false;
    Recompute recompute = Recompute::None; ///< on every stage of the pipeline
    unsigned recomputeModules = 0;         ///< RecomputeModule: what Selective means; 0: as the framework does it
    std::vector<Recompute> stageRecompute; ///< on each of them where they differ; then `recompute` is None
    bool offloadOptimizer = false, offloadActivations = false, offloadParameters = false;
    PipelineSchedule schedule = PipelineSchedule::OneFOneB;
    CollectiveAlgorithm collective = CollectiveAlgorithm::Auto;
    bool overlap = true;
    bool fuse = true;
    bool inPlace = true; ///< results reuse the buffers of operands that are needed no longer
    bool fusedAttention = true;
    /// Documents that sequences are packed with, which attention stays within; none: a sequence is one document.
    std::vector<DocumentLength> documents;
    MoeRouting routing = MoeRouting::Balanced;
    ContextExchange context = ContextExchange::Auto;
    ExpertDispatch dispatch = ExpertDispatch::Auto;
    bool overlapExperts = false; ///< exchanges with experts run beside the computation of another micro-batch
    ConvolutionAlgorithm convolution = ConvolutionAlgorithm::Auto;
    ParameterServer parameterServer = ParameterServer::None;
    int servers = 0;

    int worldSize() const { return dp * tp * pp * cp; }
    /// How far ranks are apart that differ in their replica, or in their stage, by one.
    int replicaStride() const { return tp * cp * (order == RankOrder::StagesFirst ? pp : 1); }
    int stageStride() const { return tp * cp * (order == RankOrder::StagesFirst ? 1 : dp); }
    /// Ranks that hold the same dense weights, and of them those that zero cuts the states over.
    int replicas() const { return dp * cp; }
    int shards() const { return shard > 0 ? shard : replicas(); }
    /// What a stage of the pipeline recomputes, and whether any of them does.
    Recompute recomputeOf(int stage) const
    {
        const auto at = static_cast<std::size_t>(stage);
        return at < stageRecompute.size() ? stageRecompute[at] : recompute;
    }
    bool recomputes() const { return recompute != Recompute::None || !stageRecompute.empty(); }
    /// The same on all stages.
    void setRecompute(Recompute everywhere)
    {
        recompute = everywhere;
        recomputeModules = 0;
        stageRecompute.clear();
    }
    /// By stage, from the input; equal ones become one for all.
    void setRecompute(std::vector<Recompute> byStage);
    int expertTensorDegree() const { return expertTensor > 0 ? expertTensor : tp; }
    /// Ranks of a stage that share out and repeat the experts' shards.
    int expertReplicas() const { return dp * cp * (tp / expertTensorDegree()); }
    friend bool operator==(const ParallelPlan&, const ParallelPlan&) = default;
};

/// Reads "dp=2 pp=4 schedule=gpipe". Empty text is the default plan.
/// Errors: InvalidArgument naming the key for an unknown or repeated key, or a value out of its set or range.
Result<ParallelPlan> parsePlan(std::string_view text);

/// The shortest text that parsePlan reads back as the same plan; keys at their default are left out.
std::string formatPlan(const ParallelPlan& plan);

/// What a list by stage is written as, each value with how often it comes in a row: long ones in runs ("25x1,22x2"), those
/// of up to eight one by one.
template <class Value>
std::vector<std::pair<Value, int>> runsOf(const std::vector<Value>& stages)
{
    constexpr std::size_t kShort = 8;
    std::vector<std::pair<Value, int>> runs;
    for (const Value& each : stages) {
        if (stages.size() > kShort && !runs.empty() && runs.back().first == each)
            ++runs.back().second;
        else
            runs.emplace_back(each, 1);
    }
    return runs;
}

/// "3x512,2048": lengths of documents, each with how often it comes; once where that is not said.
std::string documentsText(const std::vector<DocumentLength>& documents);

/// "full", by module "layernorm+moe_act", or by stage "full,none,none".
std::string recomputeText(const ParallelPlan& plan);

} // namespace fourwalls
