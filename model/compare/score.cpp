// SPDX-License-Identifier: Apache-2.0
// See score.h.
#include "model/compare/score.h"

#include "model/compare/csv_table.h"
#include "model/compare/published_row.h"
#include "model/cost/closed_form.h"
#include "model/cost/cost_model.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace fourwalls::compare {

namespace {

using cost::CostModel;
using cost::StepCost;

/// A layer's forward, recomputation and backward, without the ends: the first stage's layers over their number.
double layerSeconds(const StepCost& withLayers, const StepCost& withMore)
{
    const auto total = [](const StepCost& c) {
        const cost::ChunkCost& chunk = c.kinds.front();
        return chunk.forward.seconds() + chunk.recompute.seconds() + chunk.backwardSeconds();
    };
    return total(withMore) - total(withLayers);
}

Status scoreLayer(const PublishedRow& row, const Calibration& calibration, ScoredRow& scored)
{
    // The same network with one layer more: the difference is one layer.
    RunSpec spec = row.spec, longer = row.spec;
    auto& t = std::get<TransformerSpec>(longer.model.architecture);
    t.layers += 1;
    FOURWALLS_TRY_ASSIGN(CostModel one, CostModel::create(spec, row.framework, calibration));
    FOURWALLS_TRY_ASSIGN(CostModel two, CostModel::create(longer, row.framework, calibration));
    FOURWALLS_TRY_ASSIGN(const StepCost first, one.stepCost(spec.plan));
    FOURWALLS_TRY_ASSIGN(const StepCost second, two.stepCost(longer.plan));
    scored.predictedSeconds = layerSeconds(first, second);
    scored.parts = second.kinds.front().forward.parts;
    return {};
}

/// The plan of a row; without a word on the micro-batch and without a pipeline, with the largest that fits the device.
Result<StepCost> planCost(const PublishedRow& row, const Calibration& calibration, ScoredRow& scored)
{
    FOURWALLS_TRY_ASSIGN(CostModel model, CostModel::create(row.spec, row.framework, calibration));
    ParallelPlan plan = row.spec.plan;
    const int samples = plan.microbatches;
    if (!row.largestMicrobatch) return model.stepCost(plan);
    constexpr int kMostTries = 64;
    plan.microbatches = 1;
    for (int tries = 0; plan.microbatches < samples && tries < kMostTries; ++plan.microbatches) {
        if (samples % plan.microbatches != 0) continue;
        ++tries;
        FOURWALLS_TRY_ASSIGN(StepCost cost, model.stepCost(plan));
        if (!cost::closedForm(cost, calibration).feasible) continue;
        scored.assumed.push_back("micro_batch=" + std::to_string(samples / plan.microbatches));
        return cost;
    }
    scored.assumed.emplace_back("micro_batch=1");
    return model.stepCost(row.spec.plan);
}

/// Other readings of what the row leaves unsaid: by how much the time would be another [in the logarithm], and the band
/// with it. Recomputation that is not mentioned is in doubt only where memory is short.
double widen(const PublishedRow& row, const Calibration& calibration, const cost::Prediction& taken, double usable,
             ScoredRow& scored)
{
    constexpr double kCounts = 0.02, kShort = 0.95;
    double squares = 0;
    for (const Doubt& doubt : row.doubts) {
        const bool silent = doubt.assumed == "recompute=none";
        if (silent && usable > 0 && taken.peakBytes < kShort * usable) continue;
        auto model = CostModel::create(doubt.spec, doubt.framework, calibration);
        if (!model) continue;
        const auto other = cost::closedForm(*model, doubt.spec.plan, doubt.spec.training.batch);
        if (!other || !(other->seconds > 0)) continue; // it cannot have been that
        const double moved = std::log(other->seconds / taken.seconds);
        if (std::abs(moved) < kCounts) continue;
        squares += moved * moved;
        scored.widened.emplace_back(doubt.assumed, 100 * (std::exp(moved) - 1));
    }
    return squares;
}

Status scoreStep(const PublishedRow& row, const Calibration& calibration, ScoredRow& scored)
{
    FOURWALLS_TRY_ASSIGN(const StepCost cost, planCost(row, calibration, scored));
    FOURWALLS_TRY_ASSIGN(const cost::SimulatedStep step, simulateSchedule(cost));
    const cost::Prediction closed = cost::closedForm(cost, calibration);
    scored.predictedSeconds = step.seconds;
    const double more = widen(row, calibration, closed,
                              cost.stages[static_cast<std::size_t>(closed.peakStage)].usableMemoryBytes, scored);
    const double low = std::log(closed.seconds / closed.low), high = std::log(closed.high / closed.seconds);
    scored.lowSeconds = step.seconds / std::exp(std::sqrt(low * low + more));
    scored.highSeconds = step.seconds * std::exp(std::sqrt(high * high + more));
    scored.parts = closed.parts;
    scored.dominant = std::string(cost::name(closed.dominant));
    scored.feasible = closed.feasible;
    if (row.memoryKind == PublishedMemory::Device) scored.predictedMemoryGb = closed.peakBytes / row.bytesPerGb;
    if (row.memoryKind == PublishedMemory::Allocator)
        scored.predictedMemoryGb = closed.peakReservedBytes / row.bytesPerGb;
    return {};
}

/// What the layers alone add to the first stage: with twice as many layers less with as many as there are.
struct LayerMemory {
    double states = 0, activations = 0;
};

Result<LayerMemory> layerMemory(const PublishedRow& row, const ParallelPlan& plan, const Calibration& calibration)
{
    RunSpec spec = row.spec, doubled = row.spec;
    std::get<TransformerSpec>(doubled.model.architecture).layers *= 2;
    FOURWALLS_TRY_ASSIGN(CostModel one, CostModel::create(spec, row.framework, calibration));
    FOURWALLS_TRY_ASSIGN(CostModel two, CostModel::create(doubled, row.framework, calibration));
    FOURWALLS_TRY_ASSIGN(const StepCost once, one.stepCost(plan));
    FOURWALLS_TRY_ASSIGN(const StepCost twice, two.stepCost(plan));
    const cost::MemoryTerms &a = once.stages.front().memory, &b = twice.stages.front().memory;
    return LayerMemory{b.weights + b.gradients + b.optimizer - a.weights - a.gradients - a.optimizer,
                       b.activations - a.activations};
}

/// Analytic figures of the first stage count its layers and nothing of embedding and head.
Status scoreAnalyticMemory(const PublishedRow& row, const Calibration& calibration, ScoredRow& scored)
{
    const bool percent = row.memoryKind == PublishedMemory::ActivationPercent;
    if (!percent && row.memoryKind != PublishedMemory::StatesAndActivations) return {};
    FOURWALLS_TRY_ASSIGN(const LayerMemory memory, layerMemory(row, row.spec.plan, calibration));
    if (!percent) {
        scored.predictedMemoryGb = (memory.states + memory.activations) / row.bytesPerGb;
        return {};
    }
    ParallelPlan whole = row.spec.plan;
    whole.sequenceParallel = false;
    whole.setRecompute(Recompute::None);
    FOURWALLS_TRY_ASSIGN(const LayerMemory baseline, layerMemory(row, whole, calibration));
    scored.predictedMemoryGb = 100 * memory.activations / baseline.activations;
    return {};
}

ScoredRow scoreRow(const PublishedRow& row, const Calibration& calibration)
{
    ScoredRow scored;
    scored.id = row.id;
    scored.assumed = row.assumed;
    scored.skipped = row.skipped;
    scored.publishedSeconds = row.seconds;
    scored.publishedMemoryGb = row.memoryGb;
    scored.outOfMemory = row.outOfMemory;
    scored.sweep = row.sweep;
    if (row.memoryGb) (void)scoreAnalyticMemory(row, calibration, scored);
    if (!row.skipped.empty()) return scored;
    const Status status = row.oneLayer ? scoreLayer(row, calibration, scored) : scoreStep(row, calibration, scored);
    if (!status.ok()) {
        scored.skipped = status.error().message();
        return scored;
    }
    if (!row.seconds) {
        if (!row.outOfMemory) scored.skipped = "no published time";
        return scored;
    }
    scored.errorPercent = 100 * (*scored.predictedSeconds - *row.seconds) / *row.seconds;
    const double tokens =
        static_cast<double>(row.spec.training.batch) * static_cast<double>(row.spec.training.sequence);
    const double scale = row.spec.plan.worldSize() / tokens;
    scored.deviceSecondsPerToken = *row.seconds * scale;
    scored.predictedDeviceSecondsPerToken = *scored.predictedSeconds * scale;
    return scored;
}

/// Pairs inside one sweep whose published values differ by over 3 %, in the same order when predicted; ties half.
std::optional<double> rankAgreement(const std::vector<ScoredRow>& items)
{
    constexpr double kDiffer = 0.03;
    double pairs = 0, agreed = 0;
    for (std::size_t i = 0; i < items.size(); ++i)
        for (std::size_t j = i + 1; j < items.size(); ++j) {
            const ScoredRow &a = items[i], &b = items[j];
            if (!a.errorPercent || !b.errorPercent || a.sweep != b.sweep) continue;
            const double published = a.deviceSecondsPerToken - b.deviceSecondsPerToken;
            if (std::abs(published) <= kDiffer * std::min(a.deviceSecondsPerToken, b.deviceSecondsPerToken)) continue;
            const double predicted = a.predictedDeviceSecondsPerToken - b.predictedDeviceSecondsPerToken;
            pairs += 1;
            agreed += predicted == 0 ? 0.5 : (predicted > 0) == (published > 0) ? 1 : 0;
        }
    if (pairs == 0) return std::nullopt;
    return 100 * agreed / pairs;
}

void summarize(ScoredTable& table)
{
    double absolute = 0, signedSum = 0, largest = 0, memory = 0, width = 0;
    std::size_t times = 0, memories = 0, bands = 0, inside = 0;
    for (const ScoredRow& row : table.items) {
        if (row.errorPercent) {
            absolute += std::abs(*row.errorPercent);
            signedSum += *row.errorPercent;
            largest = std::max(largest, std::abs(*row.errorPercent));
            ++times;
        }
        if (row.errorPercent && row.lowSeconds && row.highSeconds) {
            ++bands;
            if (*row.publishedSeconds >= *row.lowSeconds && *row.publishedSeconds <= *row.highSeconds) ++inside;
            width += 50 * (*row.highSeconds - *row.lowSeconds) / *row.predictedSeconds;
        }
        if (row.publishedMemoryGb && row.predictedMemoryGb && *row.publishedMemoryGb > 0) {
            memory += std::abs(*row.predictedMemoryGb / *row.publishedMemoryGb - 1) * 100;
            ++memories;
        }
    }
    table.predicted = times;
    if (times > 0) {
        table.timeMaePercent = absolute / static_cast<double>(times);
        table.timeBiasPercent = signedSum / static_cast<double>(times);
        table.timeMaxPercent = largest;
    }
    if (bands > 0) {
        table.bandCoveragePercent = 100.0 * static_cast<double>(inside) / static_cast<double>(bands);
        table.bandHalfWidthPercent = width / static_cast<double>(bands);
    }
    if (memories > 0) table.memoryMaePercent = memory / static_cast<double>(memories);
    table.rankAgreementPercent = rankAgreement(table.items);
}

} // namespace

Result<ScoredTable> scoreTable(const std::string& path, const Calibration& calibration)
{
    FOURWALLS_TRY_ASSIGN(const CsvTable table, CsvTable::read(path));
    ScoredTable scored;
    scored.file = std::filesystem::path(path).filename().string();
    scored.rows = table.rows();
    if (!isTrainingTable(table)) {
        scored.notScored = "not a table of training steps: it lacks the columns of a model, a plan and a device";
        return scored;
    }
    for (std::size_t i = 0; i < table.rows(); ++i) {
        FOURWALLS_TRY_ASSIGN(const PublishedRow row, publishedRow(table, i));
        scored.items.push_back(scoreRow(row, calibration));
    }
    summarize(scored);
    return scored;
}

} // namespace fourwalls::compare
