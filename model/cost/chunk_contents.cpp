// SPDX-License-Identifier: Apache-2.0
// See chunk_contents.h.
#include "model/cost/chunk_contents.h"

#include "model/cost/stage_devices.h"
#include "model/spec/stage_split.h"

#include <algorithm>

namespace fourwalls::cost {

namespace {

void add(PassCost& sum, const PassCost& part, double count = 1)
{
    sum.parts.addScaled(part.parts, count);
    sum.hidden.addScaled(part.hidden, count);
    sum.flops += count * part.flops;
    sum.modelFlops += count * part.modelFlops;
    sum.wire.addScaled(part.wire, count);
}

} // namespace

std::vector<ChunkContents> chunkContents(const RunSpec& spec, const FrameworkPreset& framework,
                                         std::span<const DeviceRates> rates, const PipelineShape& shape)
{
    const TransformerSpec* t = spec.model.transformer();
    std::int64_t units = 1;
    if (t)
        units = t->layers;
    else if (const ResNetSpec* r = spec.model.resnet())
        units = r->depth >= 152 ? 52 : r->depth >= 101 ? 35 : 18;
    const std::vector<int>& told = spec.plan.stageLayers;
    const std::vector<std::int64_t> split =
        told.empty() ? splitLayers(units, shape.positions(), t ? framework.stageSplit : StageSplit::Layers)
                     : std::vector<std::int64_t>(told.begin(), told.end());
    std::vector<ChunkContents> result(static_cast<std::size_t>(shape.positions()));
    std::int64_t next = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
        ChunkContents& what = result[i];
        if (t) {
            if (!t->hasExperts()) what.dense = split[i];
            for (std::int64_t layer = next; t->hasExperts() && layer < next + split[i]; ++layer)
                ++(t->isMixtureLayer(layer) ? what.mixture : what.dense);
        } else {
            what.dense = split[i];
            what.firstBlock = static_cast<std::size_t>(next);
        }
        what.recompute = spec.plan.recomputeOf(shape.stageOf(static_cast<int>(i)));
        what.device = stageDevice(spec.cluster, rates, spec.plan, shape.stageOf(static_cast<int>(i))).kind;
        what.embedding = i == 0;
        what.head = i + 1 == result.size();
        what.tableBelow = t && t->tiedEmbeddings && what.head && shape.stageOf(static_cast<int>(i)) == shape.stageOf(0);
        next += split[i];
    }
    return result;
}

void addLayers(ChunkCost& chunk, const LayerCost& layer, double count)
{
    add(chunk.forward, layer.forward, count);
    add(chunk.recompute, layer.recompute, count);
    add(chunk.backwardInput, layer.backwardInput, count);
    add(chunk.backwardWeight, layer.backwardWeight, count);
    chunk.activationBytes += count * layer.savedBytes;
    chunk.weightGradientBytes += count * layer.savedForWeight;
    if (!(count > 0)) return;
    // Layers come before the head: its part that is gone by then makes room for them.
    chunk.transientBackwardBytes =
        std::max({0.0, chunk.transientBackwardBytes - layer.freedBeforeBytes, layer.workingBytes});
    chunk.transientForwardBytes = std::max(chunk.transientForwardBytes, layer.workingForwardBytes);
}

void slowDown(ChunkCost& chunk, double slowest, double busy, double slowdown)
{
    for (PassCost* pass : {&chunk.forward, &chunk.recompute, &chunk.backwardInput, &chunk.backwardWeight}) {
        for (const CostPart part : {CostPart::Gemm, CostPart::Attention})
            pass->parts[part] *= slowest * busy * slowdown;
        pass->parts[CostPart::MemoryBound] *= busy * slowdown;
    }
}

} // namespace fourwalls::cost
