// SPDX-License-Identifier: Apache-2.0
// See run_curves.h.
#include "model/compare/run_curves.h"

#include "model/base/ascii.h"
#include "model/base/median.h"
#include "model/spec/names.h"
#include "model/spec/width_transfer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

namespace fourwalls::compare {

namespace {

constexpr std::size_t kSpikeWindow = 16, kLeastBefore = 5;
constexpr std::size_t kMostRanksAsked = 16;
constexpr std::size_t kMostRunEvents = 10'000;

/// The steps of the first rank that knows losses; without losses of the first rank that has steps.
Result<std::vector<StepRecord>> stepsOfRun(TraceQuery& trace, const std::stop_token& stop)
{
    std::vector<StepRecord> found;
    std::size_t asked = 0;
    for (const RankInfo& rank : trace.info().header.ranks) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "run", ""};
        if (asked++ == kMostRanksAsked) break;
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> views, trace.steps(rank.rank));
        std::vector<StepRecord> steps;
        bool hasLoss = false;
        for (const StepView& view : views) {
            if (view.record.state == StepState::Lost) continue; // taken again later
            steps.push_back(view.record);
            hasLoss = hasLoss || view.record.loss.has_value();
        }
        if (hasLoss || found.empty()) found = std::move(steps);
        if (hasLoss) break;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const StepRecord& a, const StepRecord& b) { return a.range.begin < b.range.begin; });
    return found;
}

/// The counter of the loss scale under one of the names that recorders give it.
std::optional<CounterId> lossScaleOf(const TraceInfo& info)
{
    for (std::size_t i = 0; i < info.counters.size(); ++i) {
        const std::string name = lowerCase(info.counters[i].name);
        for (const char* known : {"loss_scale", "loss scale", "loss-scale", "grad_scale"})
            if (name.find(known) != std::string::npos) return CounterId{static_cast<std::int32_t>(i)};
    }
    return std::nullopt;
}

Status addLossScale(TraceQuery& trace, const std::vector<StepRecord>& steps, std::vector<CurvePoint>& points)
{
    const std::optional<CounterId> counter = lossScaleOf(trace.info());
    if (!counter || steps.empty()) return {};
    constexpr int kMostSamples = 1 << 14;
    const TimeRange all{steps.front().range.begin, steps.back().range.end + Duration{1}};
    FOURWALLS_TRY_ASSIGN(const std::vector<CounterSample> samples, trace.counter(*counter, all, kMostSamples));
    std::size_t next = 0;
    std::optional<double> last;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        for (; next < samples.size() && samples[next].at <= steps[i].range.end; ++next) last = samples[next].last;
        points[i].lossScale = last;
    }
    return {};
}

std::string_view eventWord(EventKind kind)
{
    switch (kind) {
    case EventKind::Fault: return "fault";
    case EventKind::Checkpoint: return "checkpoint";
    case EventKind::LossSpike: return "loss spike";
    case EventKind::OutOfMemory: return "out of memory";
    case EventKind::Annotation: return "note";
    case EventKind::Rollback: return "roll-back";
    }
    return "event";
}

/// Names what the trace says happened in the step of each spike or in the one before it, and adds the steps whose loss is
/// no number: they have none, and the trace says so.
Status nameEvents(TraceQuery& trace, const std::vector<StepRecord>& steps, RunCurves& run)
{
    const TimeRange all{steps.front().range.begin, steps.back().range.end + Duration{1}};
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events, trace.events(all, kMostRunEvents));
    for (const EventRecord& event : events) {
        if (event.kind != EventKind::LossSpike) continue;
        const auto at = std::find_if(steps.begin(), steps.end(), [&](const StepRecord& step) {
            return step.range.begin <= event.at && event.at <= step.range.end && !step.loss;
        });
        if (at == steps.end()) continue;
        std::vector<double> losses;
        for (auto step = at; step != steps.begin() && losses.size() < kSpikeWindow;)
            if (const auto& loss = (--step)->loss) losses.push_back(*loss);
        const double before = losses.empty() ? 0 : median(std::move(losses));
        run.spikes.push_back({at->step.value, std::nullopt, before, {}, {}});
    }
    std::stable_sort(run.spikes.begin(), run.spikes.end(),
                     [](const LossSpike& a, const LossSpike& b) { return a.step < b.step; });
    for (LossSpike& spike : run.spikes) {
        const auto at = std::find_if(steps.begin(), steps.end(),
                                     [&](const StepRecord& step) { return step.step.value == spike.step; });
        if (at == steps.end()) continue;
        const Instant from = (at == steps.begin() ? at : at - 1)->range.begin;
        for (const EventRecord& event : events) {
            if (event.at < from || event.at > at->range.end || event.kind == EventKind::Checkpoint) continue;
            const std::string text = std::string(eventWord(event.kind)) + (event.text.empty() ? "" : ": " + event.text);
            if (event.kind == EventKind::LossSpike) {
                spike.detail = text;
            } else if (spike.event.empty()) {
                spike.event = text; // the first that may have caused it
            }
        }
        if (spike.event.empty()) std::swap(spike.event, spike.detail);
    }
    return {};
}

void describeCurves(const TraceHeader& header, RunCurves& run)
{
    run.producer = header.producer;
    run.startedUnixNs = header.originUnixNs;
    if (!header.spec) return;
    const RunSpec& spec = *header.spec;
    run.model = spec.model.name;
    run.plan = formatPlan(spec.plan);
    if (const TransformerSpec* network = spec.model.transformer()) run.width = network->hidden;
    if (const std::int64_t base = mupBaseWidth(spec); base > 0) run.mupBaseWidth = base;
    run.batch = spec.training.batch;
    run.learningRate = spec.training.learningRate;
    run.warmup = spec.training.warmupFraction;
    run.weightDecay = spec.training.weightDecay;
    run.clip = spec.training.clipNorm;
    run.precision = fourwalls::name(spec.training.precision);
    run.optimizer = fourwalls::name(spec.training.optimizer);
}

} // namespace

std::optional<double> RunCurves::finalLoss() const
{
    std::vector<double> losses;
    for (const CurvePoint& point : points)
        if (point.loss) losses.push_back(*point.loss);
    if (losses.empty()) return std::nullopt;
    const std::size_t last = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0;
    for (std::size_t i = losses.size() - last; i < losses.size(); ++i) sum += losses[i];
    return sum / static_cast<double>(last);
}

std::optional<double> RunCurves::leastLoss() const
{
    std::optional<double> least;
    for (const CurvePoint& point : points)
        if (point.loss && (!least || *point.loss < *least)) least = point.loss;
    return least;
}

std::optional<double> RunCurves::tokensPerSecond() const
{
    std::vector<double> rates;
    for (const CurvePoint& point : points)
        if (point.tokensPerSecond) rates.push_back(*point.tokensPerSecond);
    return rates.empty() ? std::nullopt : std::optional(median(std::move(rates)));
}

bool RunCurves::matches(std::string_view text) const
{
    std::string all = name + ' ' + model + ' ' + plan + ' ' + producer;
    for (const std::string& tag : tags) all += ' ' + tag;
    const std::string where = lowerCase(all);
    std::istringstream words(lowerCase(text));
    for (std::string word; words >> word;)
        if (where.find(word) == std::string::npos) return false;
    return true;
}

std::vector<LossSpike> findLossSpikes(const std::vector<CurvePoint>& points)
{
    constexpr double kNormalDeviation = 1.4826, kDeviations = 6, kLeastRise = 0.1;
    std::vector<LossSpike> spikes;
    std::vector<double> losses, norms; // the last ones, those of spikes among them
    std::int64_t before = -2;          // index of the last point of a spike
    for (std::size_t i = 0; i < points.size(); ++i) {
        const CurvePoint& point = points[i];
        if (point.loss && losses.size() >= kLeastBefore) {
            const double usual = median(losses);
            std::vector<double> distances;
            distances.reserve(losses.size());
            for (const double loss : losses) distances.push_back(std::abs(loss - usual));
            const double limit = usual + std::max(kDeviations * kNormalDeviation * median(std::move(distances)),
                                                  kLeastRise * std::abs(usual));
            if (*point.loss > limit) {
                LossSpike spike{point.step, point.loss, usual, {}, {}};
                if (point.gradientNorm && norms.size() >= kLeastBefore && median(norms) > 0)
                    spike.gradientFactor = *point.gradientNorm / median(norms);
                const bool continues = before + 1 == static_cast<std::int64_t>(i) && !spikes.empty();
                before = static_cast<std::int64_t>(i);
                if (!continues)
                    spikes.push_back(std::move(spike));
                else if (*point.loss > *spikes.back().loss)
                    spikes.back() = std::move(spike);
            }
        }
        if (point.loss) {
            losses.push_back(*point.loss);
            if (losses.size() > kSpikeWindow) losses.erase(losses.begin());
        }
        if (point.gradientNorm) {
            norms.push_back(*point.gradientNorm);
            if (norms.size() > kSpikeWindow) norms.erase(norms.begin());
        }
    }
    return spikes;
}

std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points, std::size_t count)
{
    if (points.size() <= count || count < 4) return points;
    std::vector<CurvePoint> few{points.front()};
    const std::size_t stretches = count / 2;
    std::size_t from = 1;
    for (std::size_t s = 1; s <= stretches; ++s) {
        const std::size_t end = 1 + (points.size() - 1) * s / stretches;
        if (end <= from) continue;
        std::size_t highest = from;
        for (std::size_t i = from; i < end; ++i)
            if (points[i].loss && (!points[highest].loss || *points[i].loss > *points[highest].loss)) highest = i;
        few.push_back(points[highest]);
        if (highest + 1 != end) few.push_back(points[end - 1]);
        from = end;
    }
    return few;
}

namespace {

/// Where steps have lengths. steps: those of the points, none of them lost.
void addGoodput(const std::vector<StepRecord>& steps, std::vector<CurvePoint>& points)
{
    std::vector<Duration> lengths;
    for (const StepRecord& step : steps)
        if (step.measured()) lengths.push_back(step.range.length());
    if (lengths.empty()) return;
    const double median = lowerMedian(std::move(lengths)).seconds();
    if (median <= 0) return;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (points[i].seconds > 0)
            points[i].goodput = std::min(1.0, static_cast<double>(i + 1) * median / points[i].seconds);
}

} // namespace

Result<RunCurves> readRunCurves(TraceQuery& trace, const std::stop_token& stop)
{
    RunCurves run;
    describeCurves(trace.info().header, run);
    run.complete = trace.info().complete;
    FOURWALLS_TRY_ASSIGN(const std::vector<StepRecord> steps, stepsOfRun(trace, stop));
    if (steps.empty()) return run;
    double tokens = 0;
    for (const StepRecord& step : steps) {
        CurvePoint point;
        point.step = step.step.value;
        point.seconds = (step.range.end - steps.front().range.begin).seconds();
        tokens += static_cast<double>(step.tokens);
        point.tokens = tokens;
        point.loss = step.loss;
        point.gradientNorm = step.gradientNorm;
        point.learningRate = step.learningRate;
        const double length = step.range.length().seconds();
        if (step.tokens > 0 && length > 0) point.tokensPerSecond = static_cast<double>(step.tokens) / length;
        run.points.push_back(point);
    }
    addGoodput(steps, run.points);
    FOURWALLS_TRY(addLossScale(trace, steps, run.points));
    run.spikes = findLossSpikes(run.points);
    FOURWALLS_TRY(nameEvents(trace, steps, run));
    return run;
}

} // namespace fourwalls::compare
