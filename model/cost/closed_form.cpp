// SPDX-License-Identifier: Apache-2.0
// See closed_form.h.
#include "model/cost/closed_form.h"

#include "model/cost/cost_model.h"
#include "model/cost/step_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace fourwalls::cost {

namespace {

/// One micro-batch through all chunks of a stage.
struct StageWork {
    double forward = 0, backward = 0, weight = 0; ///< backward holds recomputation and the weight gradient
    double transfer = 0;                          ///< standing still for sends, both ways
    double seconds() const { return forward + backward + transfer; }
};

/// Through one position, by its kind.
std::vector<StageWork> worksOfKinds(const StepCost& cost)
{
    std::vector<StageWork> works;
    works.reserve(cost.kinds.size());
    for (const ChunkCost& kind : cost.kinds) {
        const double weight = kind.backwardWeight.seconds();
        works.push_back(
            {kind.forward.seconds(), kind.recompute.seconds() + (kind.backwardInput.seconds() + weight), weight, 0});
    }
    return works;
}

StageWork workOf(const StepCost& cost, const std::vector<StageWork>& kinds, int stage)
{
    StageWork work;
    for (int chunk = 0; chunk < cost.shape.chunks; ++chunk) {
        const int position = cost.shape.positionOf(stage, chunk);
        const StageWork& kind = kinds[cost.kindOfPosition[static_cast<std::size_t>(position)]];
        work.forward += kind.forward;
        work.weight += kind.weight;
        work.backward += kind.backward;
        if (!cost.blockingTransfers) continue;
        const auto at = static_cast<std::size_t>(position);
        if (at < cost.boundaries.size()) work.transfer += cost.boundaries[at].seconds;
        if (at > 0) work.transfer += cost.boundaries[at - 1].seconds;
    }
    return work;
}

/// Fill and drain of the pipeline [s], given the work of every stage.
double fillAndDrain(const StepCost& cost, const StageWork& slowest, double allForward, double allBackward,
                    double transfers)
{
    const int p = cost.shape.stages, v = cost.shape.chunks;
    const double m = cost.shape.microbatches;
    if (p <= 1) return 0;
    const double others = allForward + allBackward - slowest.forward - slowest.backward;
    switch (cost.shape.schedule) {
    case PipelineSchedule::Naive: return m * (others + 2 * transfers);
    case PipelineSchedule::GPipe:
    case PipelineSchedule::OneFOneB: return others + 2 * transfers;
    case PipelineSchedule::Interleaved: return others / v + 2 * transfers / v;
    case PipelineSchedule::ZeroBubbleH1:
    case PipelineSchedule::ZeroBubble2p:
    case PipelineSchedule::ZeroBubbleV: {
        const double oneP = std::max(0.0, others - 2 * (p - 1) * slowest.weight);
        // More micro-batches in flight fill what is left: half of it under 2p, nearly all in the V shape.
        const double spare = std::clamp((m - p) / p, 0.0, 1.0);
        if (cost.shape.schedule == PipelineSchedule::ZeroBubble2p) return oneP * (1 - spare / 2) + 2 * transfers;
        if (cost.shape.schedule == PipelineSchedule::ZeroBubbleV) return oneP * (1 - spare) * 2 / 3 + 2 * transfers / v;
        return oneP + 2 * transfers;
    }
    }
    return others;
}

/// The stage that fills its device most, and whether it fits.
void setFullestStage(const StepCost& cost, Prediction& result)
{
    double fullest = -1;
    for (std::size_t i = 0; i < cost.stages.size(); ++i) {
        const StageCost& stage = cost.stages[i];
        const double peak = stage.memory.total();
        if (stage.fullness(peak) <= fullest) continue;
        fullest = stage.fullness(peak);
        result.peakBytes = peak;
        result.peakReservedBytes = stage.memory.reserved();
        result.peakStage = static_cast<int>(i);
        result.feasible = stage.fits(peak);
    }
}

} // namespace

RateBand rateBandOf(RateKind kind, const Calibration& c)
{
    switch (kind) {
    case RateKind::Compute: return {c.computeLow, c.computeHigh};
    case RateKind::Memory: return {c.memoryLow, c.memoryHigh};
    case RateKind::Communication: return {c.communicationLow, c.communicationHigh};
    }
    return {};
}

double bandWidth(const RunSpec& spec, const ParallelPlan& plan, const Calibration& calibration, bool narrow)
{
    const Calibration::Band& band = calibration.band;
    if (!(band.dense > 0)) return 0;
    const bool experts = spec.model.transformer() && spec.model.transformer()->hasExperts();
    const double kind = experts ? band.experts : narrow ? band.narrow : band.dense;
    double rates = 0;
    for (std::size_t device = 0; device < spec.cluster.deviceKinds(); ++device) {
        const FamilyCalibration& family = calibration.family(spec.cluster.deviceOfKind(device).family);
        rates = std::max(rates, family.relative.empty() ? family.stepBand : band.unmeasured);
    }
    const double nodes = static_cast<double>(plan.worldSize()) / std::max(1, spec.cluster.devicesPerNode);
    const double scale = band.perDoubling * std::log2(std::max(1.0, nodes));
    return std::sqrt(kind * kind + scale * scale + rates * rates);
}

Prediction closedForm(const StepCost& cost, const Calibration& calibration)
{
    Prediction result;
    const int stages = cost.shape.stages;
    const double m = cost.shape.microbatches;
    double allForward = 0, allBackward = 0, transfers = 0;
    int slowestStage = 0;
    StageWork slowest;
    const std::vector<StageWork> kinds = worksOfKinds(cost);
    for (int i = 0; i < stages; ++i) {
        const StageWork work = workOf(cost, kinds, i);
        allForward += work.forward;
        allBackward += work.backward;
        if (i == 0 || work.seconds() > slowest.seconds()) {
            slowest = work;
            slowestStage = i;
        }
    }
    for (const BoundaryCost& boundary : cost.boundaries) transfers += boundary.seconds;
    PartSeconds& parts = result.parts;
    double wire = 0;
    for (int chunk = 0; chunk < cost.shape.chunks; ++chunk) {
        const int position = cost.shape.positionOf(slowestStage, chunk);
        const ChunkCost& kind = cost.chunk(position);
        parts.addScaled(kind.forward.parts, m);
        parts.addScaled(kind.recompute.parts, m);
        parts.addScaled(kind.backwardInput.parts, m);
        parts.addScaled(kind.backwardWeight.parts, m);
        wire += m * kind.wireBytes();
        const auto at = static_cast<std::size_t>(position);
        if (at < cost.boundaries.size()) wire += m * cost.boundaries[at].bytes;
        if (at > 0) wire += m * cost.boundaries[at - 1].bytes;
    }
    parts[CostPart::PipelineComm] += m * slowest.transfer;
    double exposed = 0, optimizer = 0, gradientWire = 0;
    for (const StageCost& stage : cost.stages) {
        exposed = std::max(exposed, stage.gradientCommExposed);
        optimizer = std::max(optimizer, stage.optimizerSeconds);
        gradientWire = std::max(gradientWire, stage.gradientWireBytes);
    }
    parts[CostPart::GradientComm] += exposed + cost.agreementSeconds;
    parts[CostPart::Optimizer] += optimizer;
    parts[CostPart::Host] += cost.fixedSeconds;
    result.wireBytes = wire + gradientWire + cost.agreementWireBytes;
    result.bubbleSeconds = fillAndDrain(cost, slowest, allForward, allBackward, transfers) + cost.unevenSeconds;
    result.seconds = parts.total() + result.bubbleSeconds;

    const std::array<RateBand, kRateKinds> bands{rateBandOf(RateKind::Compute, calibration),
                                                 rateBandOf(RateKind::Memory, calibration),
                                                 rateBandOf(RateKind::Communication, calibration)};
    double low = 0, high = 0, largest = 0;
    for (std::size_t i = 0; i < kCostParts; ++i) {
        const auto part = static_cast<CostPart>(i);
        const RateBand band = bands[static_cast<std::size_t>(rateKindOf(part))];
        low += parts[part] * band.low;
        high += parts[part] * band.high;
        if (parts[part] > largest) {
            largest = parts[part];
            result.dominant = part;
        }
    }
    const double work = std::max(parts.total(), 1e-300);
    const double width = std::exp(cost.bandWidth);
    result.low = cost.bandWidth > 0 ? result.seconds / width : result.seconds * low / work; // bubbles scale with work
    result.high = cost.bandWidth > 0 ? result.seconds * width : result.seconds * high / work;
    result.bubbleDominates = result.bubbleSeconds - cost.unevenSeconds > largest;
    result.tokensPerSecond = result.seconds > 0 ? cost.tokensPerStep / result.seconds : 0;
    if (cost.peakFlops > 0 && result.seconds > 0)
        result.mfu = cost.modelFlopsPerStep / (cost.peakFlops * cost.devices * result.seconds);
    setFullestStage(cost, result);
    return result;
}

std::vector<double> stageSeconds(const StepCost& cost)
{
    const std::vector<StageWork> kinds = worksOfKinds(cost);
    std::vector<double> seconds;
    seconds.reserve(cost.stages.size());
    for (int i = 0; i < cost.shape.stages; ++i) seconds.push_back(workOf(cost, kinds, i).seconds());
    return seconds;
}

Result<Prediction> closedForm(CostModel& model, const ParallelPlan& plan, std::int64_t batch)
{
    FOURWALLS_TRY_ASSIGN(const StepCost cost, model.stepCost(plan, batch));
    return closedForm(cost, model.calibration());
}

std::string whyInfeasible(const StepCost& cost, const Prediction& prediction)
{
    if (prediction.feasible) return {};
    const StageCost& fullest = cost.stages[static_cast<std::size_t>(prediction.peakStage)];
    const MemoryTerms& m = fullest.memory;
    const std::array<std::pair<const char*, double>, 10> terms{{{"weights", m.weights},
                                                                {"gradients", m.gradients},
                                                                {"optimizer states", m.optimizer},
                                                                {"activations", m.activations},
                                                                {"logits", m.logits},
                                                                {"temporaries", m.transient},
                                                                {"communication buffers", m.communication},
                                                                {"library buffers", m.library},
                                                                {"context", m.context},
                                                                {"allocator slack", m.slack}}};
    const auto largest =
        std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    char text[200];
    std::snprintf(text, sizeof text,
                  "stage %d needs %.1f GB and the device has %.1f GB; the largest term is %s (%.1f GB)",
                  prediction.peakStage, prediction.peakBytes * 1e-9, fullest.usableMemoryBytes * 1e-9, largest->first,
                  largest->second * 1e-9);
    return text;
}

} // namespace fourwalls::cost
