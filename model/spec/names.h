// SPDX-License-Identifier: Apache-2.0
// The words for the settings of a run, as the command line, plans and JSON spell them.
#pragma once

#include "model/spec/cluster_spec.h"
#include "model/spec/model_spec.h"
#include "model/spec/parallel_plan.h"
#include "model/spec/training_settings.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fourwalls {

/// One word per enumerator; the order of a table is that of its messages.
template <class Enum, std::size_t N>
using WordTable = std::array<std::pair<Enum, std::string_view>, N>;

inline constexpr WordTable<Precision, 7> kPrecisionWords{{{Precision::F32, "f32"},
                                                          {Precision::Tf32, "tf32"},
                                                          {Precision::F16, "f16"},
                                                          {Precision::Bf16, "bf16"},
                                                          {Precision::Fp8, "fp8"},
                                                          {Precision::Mxfp8, "mxfp8"},
                                                          {Precision::Fp4, "fp4"}}};
inline constexpr WordTable<Optimizer, 2> kOptimizerWords{{{Optimizer::AdamW, "adamw"}, {Optimizer::Sgd, "sgd"}}};
inline constexpr WordTable<DeviceKind, 2> kDeviceKindWords{{{DeviceKind::Cpu, "cpu"}, {DeviceKind::Cuda, "cuda"}}};
inline constexpr WordTable<Positions, 3> kPositionWords{
    {{Positions::Learned, "learned"}, {Positions::Rotary, "rotary"}, {Positions::Alibi, "alibi"}}};
inline constexpr WordTable<Activation, 3> kActivationWords{
    {{Activation::Gelu, "gelu"}, {Activation::SwiGlu, "swiglu"}, {Activation::Relu, "relu"}}};
inline constexpr WordTable<Normalization, 2> kNormalizationWords{
    {{Normalization::LayerNorm, "layer_norm"}, {Normalization::RmsNorm, "rms_norm"}}};
inline constexpr WordTable<Recompute, 3> kRecomputeWords{
    {{Recompute::None, "none"}, {Recompute::Selective, "selective"}, {Recompute::Full, "full"}}};
inline constexpr WordTable<RecomputeModule, 7> kRecomputeModuleWords{{{kRecomputeCoreAttention, "core_attn"},
                                                                      {kRecomputeLayerNorm, "layernorm"},
                                                                      {kRecomputeMlaUpProjection, "mla_up_proj"},
                                                                      {kRecomputeMlp, "mlp"},
                                                                      {kRecomputeExperts, "moe"},
                                                                      {kRecomputeExpertActivation, "moe_act"},
                                                                      {kRecomputeSharedExperts, "shared_experts"}}};
inline constexpr WordTable<PipelineSchedule, 7> kScheduleWords{{{PipelineSchedule::OneFOneB, "1f1b"},
                                                                {PipelineSchedule::Naive, "naive"},
                                                                {PipelineSchedule::GPipe, "gpipe"},
                                                                {PipelineSchedule::Interleaved, "interleaved"},
                                                                {PipelineSchedule::ZeroBubbleH1, "zb"},
                                                                {PipelineSchedule::ZeroBubble2p, "zb2p"},
                                                                {PipelineSchedule::ZeroBubbleV, "zbv"}}};
inline constexpr WordTable<RankOrder, 2> kOrderWords{
    {{RankOrder::ReplicasFirst, "tp-cp-ep-dp-pp"}, {RankOrder::StagesFirst, "tp-cp-ep-pp-dp"}}};
inline constexpr WordTable<CollectiveAlgorithm, 5> kCollectiveWords{
    {{CollectiveAlgorithm::Auto, "auto"},
     {CollectiveAlgorithm::Ring, "ring"},
     {CollectiveAlgorithm::Tree, "tree"},
     {CollectiveAlgorithm::Direct, "direct"},
     {CollectiveAlgorithm::Hierarchical, "hierarchical"}}};
inline constexpr WordTable<ParameterServer, 3> kParameterServerWords{
    {{ParameterServer::None, "none"}, {ParameterServer::Sync, "sync"}, {ParameterServer::Async, "async"}}};
inline constexpr WordTable<MoeRouting, 2> kRoutingWords{
    {{MoeRouting::Balanced, "balanced"}, {MoeRouting::Natural, "natural"}}};

inline constexpr WordTable<ContextExchange, 3> kContextWords{
    {{ContextExchange::Auto, "auto"}, {ContextExchange::Ring, "ring"}, {ContextExchange::Gather, "gather"}}};
inline constexpr WordTable<ExpertDispatch, 3> kDispatchWords{
    {{ExpertDispatch::Auto, "auto"}, {ExpertDispatch::AllToAll, "alltoall"}, {ExpertDispatch::OncePerNode, "once"}}};

inline constexpr WordTable<ConvolutionAlgorithm, 3> kConvolutionWords{{{ConvolutionAlgorithm::Auto, "auto"},
                                                                       {ConvolutionAlgorithm::Direct, "direct"},
                                                                       {ConvolutionAlgorithm::Winograd, "winograd"}}};

inline constexpr WordTable<NodeFabric, 4> kFabricWords{{{NodeFabric::Shared, "shared"},
                                                        {NodeFabric::Pcie, "pcie"},
                                                        {NodeFabric::NvLink, "nvlink"},
                                                        {NodeFabric::NvSwitch, "nvswitch"}}};
inline constexpr WordTable<Topology, 3> kTopologyWords{
    {{Topology::FatTree, "fat_tree"}, {Topology::Torus, "torus"}, {Topology::Hypercube, "hypercube"}}};

/// The word of a value; "unknown" for one outside the table.
template <class Enum, std::size_t N>
constexpr std::string_view wordOf(const WordTable<Enum, N>& table, Enum value)
{
    for (const auto& [candidate, word] : table)
        if (candidate == value) return word;
    return "unknown";
}

/// The value of a word, if the table has it.
template <class Enum, std::size_t N>
constexpr std::optional<Enum> valueOf(const WordTable<Enum, N>& table, std::string_view word)
{
    for (const auto& [value, candidate] : table)
        if (candidate == word) return value;
    return std::nullopt;
}

/// "a, b or c": the words of a table, for messages.
template <class Enum, std::size_t N>
std::string listWords(const WordTable<Enum, N>& table)
{
    std::string list;
    for (std::size_t i = 0; i < N; ++i) {
        if (i > 0) list += i + 1 == N ? " or " : ", ";
        list += table[i].second;
    }
    return list;
}

inline std::string_view name(Precision value)
{
    return wordOf(kPrecisionWords, value);
}
inline std::string_view name(Optimizer value)
{
    return wordOf(kOptimizerWords, value);
}
inline std::string_view name(DeviceKind value)
{
    return wordOf(kDeviceKindWords, value);
}
inline std::string_view name(PipelineSchedule value)
{
    return wordOf(kScheduleWords, value);
}
inline std::string_view name(CollectiveAlgorithm value)
{
    return wordOf(kCollectiveWords, value);
}
inline std::string_view name(Recompute value)
{
    return wordOf(kRecomputeWords, value);
}

} // namespace fourwalls
