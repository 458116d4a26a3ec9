// SPDX-License-Identifier: Apache-2.0
// See predicted_step.h.
#include "model/cost/predicted_step.h"

#include "model/base/format.h"
#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/drawn_prediction.h"
#include "model/cost/predicted_trace.h"
#include "model/cost/priced_step.h"
#include "model/cost/stage_memory.h"
#include "model/cost/step_energy.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fourwalls::cost {

namespace {

/// What every stage spends on average, by part.
PartSeconds meanParts(const StepCost& cost, const SimulatedStep& step)
{
    PartSeconds sum;
    for (int position = 0; position < cost.shape.positions(); ++position) {
        const ChunkCost& chunk = cost.chunk(position);
        for (const PassCost* pass : {&chunk.forward, &chunk.recompute, &chunk.backwardInput, &chunk.backwardWeight})
            sum.addScaled(pass->parts, cost.shape.microbatches);
    }
    for (std::size_t s = 0; s < cost.stages.size(); ++s) {
        sum[CostPart::GradientComm] += cost.stages[s].gradientCommExposed + cost.agreementSeconds;
        sum[CostPart::Optimizer] += cost.stages[s].optimizerSeconds;
        sum[CostPart::PipelineComm] += step.stages[s].transfer;
        sum[CostPart::Host] += cost.fixedSeconds;
    }
    PartSeconds mean;
    mean.addScaled(sum, 1.0 / cost.shape.stages);
    return mean;
}

std::string largestTerm(const MemoryTerms& memory, const SimulatedStage& stage)
{
    const std::pair<const char*, double> terms[] = {{"weights", memory.weights},
                                                    {"gradients", memory.gradients},
                                                    {"optimizer state", memory.optimizer},
                                                    {"activations", stage.peakActivations},
                                                    {"temporaries and logits", stage.peakTransient},
                                                    {"communication buffers", memory.communication},
                                                    {"buffers of the collective library", memory.library},
                                                    {"context and slack", memory.context + memory.slack}};
    const auto* largest = std::max_element(std::begin(terms), std::end(terms),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
    return std::string(largest->first) + " " + formatBytes(largest->second);
}

void judgeMemory(PredictedStep& predicted, const PricedStep& priced)
{
    const auto& stages = priced.step.stages;
    const std::size_t place = fullestStage(priced.cost, priced.step);
    const SimulatedStage* const fullest = &stages[place];
    const StageCost& stage = priced.cost.stages[place];
    predicted.fullestStage = static_cast<int>(place);
    predicted.peakBytes = fullest->peakBytes;
    const double usable = predicted.usableMemoryBytes = stage.usableMemoryBytes;
    predicted.feasible = stage.fits(predicted.peakBytes);
    const MemoryTerms& memory = stage.memory;
    const auto of = [&predicted](MemoryCategory category) -> double& {
        return predicted.peakByCategory[static_cast<std::size_t>(category)];
    };
    for (const StaticBuffer& buffer : staticBuffers(memory)) of(buffer.category) += buffer.bytes;
    of(MemoryCategory::Activations) = fullest->peakActivations;
    of(MemoryCategory::Temporaries) = fullest->peakTransient;
    std::string need = stages.size() > 1 ? "a rank of stage " + std::to_string(predicted.fullestStage) : "a rank";
    need += " needs " + formatBytes(predicted.peakBytes);
    const std::string most = ", most of it " + largestTerm(memory, *fullest);
    if (usable <= 0)
        predicted.why = need + most + "; the device's memory is not known";
    else if (predicted.feasible)
        predicted.why = "fits: " + need + " of " + formatBytes(usable) + most;
    else
        predicted.why = "out of memory: " + need + ", the device has " + formatBytes(usable) + most;
}

} // namespace

void StepCost::scaleTimes(double factor)
{
    const auto scale = [factor](PartSeconds& parts) {
        for (double& seconds : parts.seconds) seconds *= factor;
    };
    for (ChunkCost& chunk : kinds)
        for (PassCost* pass : {&chunk.forward, &chunk.recompute, &chunk.backwardInput, &chunk.backwardWeight}) {
            scale(pass->parts);
            scale(pass->hidden);
        }
    for (BoundaryCost& boundary : boundaries) boundary.seconds *= factor;
    for (StageCost& stage : stages)
        for (double* seconds :
             {&stage.gradientCommSeconds, &stage.gradientCommExposed, &stage.optimizerSeconds, &stage.layerSeconds})
            *seconds *= factor;
    unevenSeconds *= factor;
    agreementSeconds *= factor;
    fixedSeconds *= factor;
}

namespace {

Result<PredictedStep> predict(CostModel& model, const RunSpec& spec, double timeScale, bool draws)
{
    FOURWALLS_TRY_ASSIGN(StepCost cost, model.stepCost(spec.plan, spec.training.batch));
    if (timeScale != 1) cost.scaleTimes(timeScale);
    FOURWALLS_TRY_ASSIGN(SimulatedStep step, model.simulate(cost, draws));
    constexpr double kLongestStep = 1e9; // 32 years; a trace cannot hold much more
    if (!(step.seconds <= kLongestStep))
        return Error{ErrorCode::InvalidArgument, "a step of this model and batch would take longer than 30 years",
                     spec.model.name.empty() ? "model" : spec.model.name, "a smaller model, batch or sequence"};
    PredictedStep predicted;
    predicted.spec = model.spec();
    predicted.spec.plan = spec.plan;
    predicted.timeScale = timeScale;
    predicted.seconds = step.seconds;
    const Prediction band = closedForm(cost, model.calibration());
    const double scale = band.seconds > 0 ? step.seconds / band.seconds : 1;
    predicted.lowSeconds = band.low * scale;
    predicted.highSeconds = band.high * scale;
    predicted.bubbleFraction = step.bubbleFraction();

    predicted.parts = meanParts(cost, step);
    predicted.waitSeconds = std::max(0.0, step.seconds - predicted.parts.total());
    const auto& seconds = predicted.parts.seconds;
    const auto largest = std::max_element(seconds.begin(), seconds.end());
    predicted.dominantTerm = predicted.waitSeconds - cost.unevenSeconds > *largest
                                 ? "bubble"
                                 : name(static_cast<CostPart>(largest - seconds.begin()));
    predicted.tokensPerStep = cost.tokensPerStep;
    predicted.modelFlopsPerStep = cost.modelFlopsPerStep;
    predicted.peakFlops = cost.peakFlops;
    predicted.devices = cost.devices;
    predicted.joules = energyOf(cost, step.seconds);

    if (draws) predicted.drawn = drawnStep(spec.plan, cost, step);
    for (SimulatedStage& stage : step.stages) { // they are drawn
        stage.intervals = {};
        stage.sent = {};
        stage.memory = {};
    }
    const auto priced = std::make_shared<const PricedStep>(PricedStep{std::move(cost), std::move(step)});
    judgeMemory(predicted, *priced);
    predicted.priced = priced;
    return predicted;
}

} // namespace

Result<PredictedStep> predictStep(CostModel& model, const RunSpec& spec, double timeScale)
{
    return predict(model, spec, timeScale, true);
}

Result<PredictedStep> predictFigures(CostModel& model, const RunSpec& spec)
{
    return predict(model, spec, 1, false);
}

Result<PredictedStep> predictStep(const RunSpec& spec)
{
    FOURWALLS_TRY_ASSIGN(CostModel model, CostModel::create(spec));
    return predictStep(model, spec);
}

OperatorsOfPass operatorsOf(CostModel& model, const PredictedStep& predicted)
{
    return [&model, plan = predicted.spec.plan, scale = predicted.timeScale](int position,
                                                                             Phase phase) -> std::vector<OperatorCost> {
        const PipelinePass pass = phase == Phase::BackwardWeight  ? PipelinePass::BackwardWeight
                                  : phase == Phase::BackwardInput ? PipelinePass::BackwardInput
                                                                  : PipelinePass::Forward;
        auto operators = model.operators(plan, position, pass, phase == Phase::Recompute);
        if (!operators) return {};
        for (OperatorCost& each : *operators) {
            each.seconds *= scale;
            each.hiddenSeconds *= scale;
        }
        return std::move(*operators);
    };
}

Result<std::shared_ptr<const InMemoryTraceData>> traceOf(const PredictedStep& predicted, CostModel* model)
{
    return predictedTrace(predicted.spec, predicted.priced->cost, predicted.drawn,
                          model ? operatorsOf(*model, predicted) : OperatorsOfPass{});
}

Result<std::shared_ptr<const InMemoryTraceData>> summaryOf(const PredictedStep& predicted)
{
    return predictedSummary(predicted.spec, predicted.priced->cost, predicted.drawn);
}

} // namespace fourwalls::cost
