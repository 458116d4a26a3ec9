// SPDX-License-Identifier: Apache-2.0
// See published_doubts.h.
#include "model/compare/published_doubts.h"

namespace fourwalls::compare {

namespace {

/// Another number of micro-batches for the same batch: half as many, or twice.
bool otherMicrobatches(ParallelPlan& plan, std::int64_t batch)
{
    if (plan.microbatches % 2 == 0 && (plan.microbatches / 2) % (plan.vpp > 1 ? plan.pp : 1) == 0) {
        plan.microbatches /= 2;
        return true;
    }
    const std::int64_t twice = std::int64_t{plan.dp} * plan.microbatches * 2;
    if (batch % twice != 0) return false;
    plan.microbatches *= 2;
    return true;
}

/// Two virtual stages a rank in place of one, where they divide.
bool interleave(const PublishedRow& row, ParallelPlan& plan)
{
    if (row.spec.model.transformer()->layers % (2 * plan.pp) != 0 || plan.microbatches % plan.pp != 0) return false;
    plan.vpp = 2;
    plan.schedule = PipelineSchedule::Interleaved;
    return true;
}

/// A schedule in words that were not understood has fewer bubbles than 1F1B, or as many; one that is not mentioned may
/// be interleaved.
bool otherSchedule(const Cells& cells, const PublishedRow& row, ParallelPlan& plan)
{
    if (cells.text("schedule").empty()) return interleave(row, plan);
    plan.schedule =
        plan.schedule == PipelineSchedule::OneFOneB ? PipelineSchedule::ZeroBubbleH1 : PipelineSchedule::OneFOneB;
    plan.vpp = 1;
    return true;
}

Recompute otherRecompute(const Cells& cells, Recompute taken)
{
    if (taken == Recompute::Full) return Recompute::None;
    // In words of modules: some of it. Silent, or some of the layers: what frees most (a caller knows whether memory is
    // short).
    const std::string text = cells.text("recompute");
    const bool some = !text.empty() && taken == Recompute::None && !hasAny(text, {"block", "layer", "module"});
    return some ? Recompute::Selective : Recompute::Full;
}

/// What was said and is not priced.
bool otherWork(std::string_view assumed, RunSpec& spec)
{
    auto& network = std::get<TransformerSpec>(spec.model.architecture);
    if (assumed.starts_with("heads of prediction=")) { // a layer of its own for the token after the next
        network.layers += 1;
        return true;
    }
    if (assumed.starts_with("top_k=") && network.mixture.experts > 1) {
        network.mixture.topK = network.mixture.topK == 1 ? 2 : 1;
        return true;
    }
    return false;
}

/// Whether fused attention is an option there that somebody has to set: where a page has no word of it, it may be off.
bool asksForFusedAttention(const std::string& framework)
{
    return framework == "megatron-2023" || framework.starts_with("fsdp");
}

/// Turns a doubt into its other reading. False: there is none.
bool otherReading(const Cells& cells, const PublishedRow& row, const std::string& assumed, Doubt& doubt)
{
    RunSpec& spec = doubt.spec;
    ParallelPlan& plan = spec.plan;
    const auto about = [&](std::string_view field) { return assumed.starts_with(field); };
    if (about("network=")) {
        spec.cluster.nicLink.bytesPerSecond /= 2;
    } else if (about("cluster=")) {
        spec.cluster.nodeLink.bytesPerSecond /= 2;
    } else if (about("power=")) {
        spec.cluster.device.powerWatts = spec.cluster.device.fullPowerWatts;
    } else if (about("recompute=")) {
        plan.recompute = otherRecompute(cells, plan.recompute);
    } else if (about("micro_batch=")) {
        return otherMicrobatches(plan, spec.training.batch);
    } else if (about("flash_attn=1")) {
        plan.fusedAttention = false;
        return about("flash_attn=1 (") || asksForFusedAttention(row.spec.framework);
    } else if (about("flash_attn=0")) {
        plan.fusedAttention = true;
        return row.framework.flashAttention;
    } else if (about("shard=")) {
        plan.shard = 0;
    } else if (about("zero_stage=")) {
        plan.zero = plan.zero == 3 ? 2 : 1;
    } else if (about("plan=")) {
        if (plan.zero <= row.framework.mostZeroInPipeline) return false;
        plan.zero = static_cast<int>(row.framework.mostZeroInPipeline);
    } else if (about("vpp=2")) {
        plan.vpp = 1;
        plan.schedule = PipelineSchedule::OneFOneB;
    } else if (about("schedule=")) {
        return otherSchedule(cells, row, plan);
    } else if (about("fp8=")) {
        spec.training.precision = Precision::Mxfp8;
    } else if (about("precision=bf16")) { // f16 takes as long
        spec.training.precision = Precision::Fp8;
        return spec.cluster.device.peak(Precision::Fp8).has_value();
    } else if (about("offload=")) {
        plan.offloadOptimizer = about("offload=none");
        plan.offloadActivations = plan.offloadParameters = false;
    } else {
        return otherWork(assumed, spec);
    }
    return true;
}

} // namespace

Status addDoubts(const Cells& cells, PublishedRow& row)
{
    for (const std::string& assumed : row.assumed) {
        Doubt doubt{assumed, row.spec, row.framework};
        if (assumed.starts_with("framework=")) {
            const bool megatron = row.spec.framework.starts_with("megatron");
            FOURWALLS_TRY_ASSIGN(doubt.framework, loadFramework(megatron ? "fsdp" : "megatron-core"));
            // Each shards in its own way where the row does not say.
            if (!cells.number("zero_stage")) doubt.spec.plan.zero = megatron && row.spec.plan.pp == 1 ? 3 : 0;
        } else if (!otherReading(cells, row, assumed, doubt)) {
            continue;
        }
        row.doubts.push_back(std::move(doubt));
    }
    return {};
}

} // namespace fourwalls::compare
