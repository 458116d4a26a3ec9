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

/// Turns a doubt into its other reading. False: there is none.
bool otherReading(const Cells& cells, const PublishedRow& row, const std::string& assumed, Doubt& doubt)
{
    ParallelPlan& plan = doubt.spec.plan;
    const auto about = [&](std::string_view field) { return assumed.starts_with(field); };
    if (about("network=")) {
        doubt.spec.cluster.nicLink.bytesPerSecond /= 2;
        return true;
    }
    if (about("recompute=none")) {
        // In words that were not understood: some of it. Silent: what frees most, if memory is short (a caller knows).
        plan.recompute = cells.text("recompute").empty() ? Recompute::Full : Recompute::Selective;
        return true;
    }
    if (about("recompute=selective")) {
        plan.recompute = Recompute::Full;
        return true;
    }
    if (about("micro_batch=")) return otherMicrobatches(plan, doubt.spec.training.batch);
    if (about("flash_attn=0") && !row.framework.flashAttention) return false;
    if (about("flash_attn=0")) {
        plan.fusedAttention = true;
        return true;
    }
    if (about("zero_stage=") || about("shard=")) {
        if (about("shard=")) plan.shard = 0;
        if (about("zero_stage=")) plan.zero = plan.zero == 3 ? 2 : 1;
        return true;
    }
    if (about("vpp=2")) {
        plan.vpp = 1;
        plan.schedule = PipelineSchedule::OneFOneB;
        return true;
    }
    if (about("fp8=")) {
        doubt.spec.training.precision = Precision::Mxfp8;
        return true;
    }
    return false;
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
