// SPDX-License-Identifier: Apache-2.0
// See sweep_report.h.
#include "app/cli/sweep_report.h"

#include "app/cli/metrics_report.h"
#include "app/cli/noise_report.h"
#include "model/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace fourwalls::cli {

namespace {

using nlohmann::json;

double lossOrLast(const SweepOutcome& outcome)
{
    const auto loss = outcome.result ? outcome.result->finalLoss() : std::nullopt;
    return loss.value_or(HUGE_VAL);
}

double tokensPerSecond(const SweepResult& result)
{
    const double seconds = result.seconds();
    return seconds > 0 ? static_cast<double>(result.tokensPerStep) * static_cast<double>(result.taken.size()) / seconds
                       : 0;
}

/// Trained to the end first, then those that were given up; each by loss.
std::vector<const SweepOutcome*> ranked(const std::vector<SweepOutcome>& outcomes)
{
    std::vector<const SweepOutcome*> list;
    list.reserve(outcomes.size());
    for (const SweepOutcome& each : outcomes) list.push_back(&each);
    std::stable_sort(list.begin(), list.end(), [](const SweepOutcome* a, const SweepOutcome* b) {
        const std::size_t ofA = a->result ? a->result->taken.size() : 0, ofB = b->result ? b->result->taken.size() : 0;
        const bool divergedA = a->result && a->result->diverged, divergedB = b->result && b->result->diverged;
        if (divergedA != divergedB) return divergedB;
        return ofA != ofB ? ofA > ofB : lossOrLast(*a) < lossOrLast(*b);
    });
    return list;
}

std::string endOf(const SweepOutcome& outcome)
{
    if (outcome.failure) return "failed: " + outcome.failure->what;
    if (!outcome.result) return "not run";
    if (outcome.result->diverged) return fmt::format("diverged in step {}", outcome.result->taken.size());
    if (outcome.stoppedAfter > 0) return fmt::format("given up after {} steps", outcome.stoppedAfter);
    return {};
}

std::string rateTable(const std::vector<RateCurve>& curves)
{
    std::set<double> rates;
    std::size_t label = 4;
    for (const RateCurve& curve : curves) {
        label = std::max(label, curve.of.size());
        for (const RateCurve::Place& place : curve.places) rates.insert(place.rate);
    }
    std::string text = fmt::format("\n\nloss by learning rate, the best with *\n{:<{}}", "", label);
    for (const double rate : rates) text += fmt::format("  {:>9.3g}", rate);
    for (const RateCurve& curve : curves) {
        text += fmt::format("\n{:<{}}", curve.of.empty() ? "loss" : curve.of, label);
        const std::optional<double> best = curve.bestRate();
        for (const double rate : rates) {
            const auto at = std::find_if(curve.places.begin(), curve.places.end(),
                                         [rate](const RateCurve::Place& place) { return place.rate == rate; });
            const bool isBest = best && *best == rate;
            if (at == curve.places.end())
                text += fmt::format("  {:>9}", "");
            else if (!at->loss)
                text += fmt::format("  {:>9}", "diverged");
            else
                text += fmt::format("  {:>9}", fmt::format("{:.4f}{}", *at->loss, isBest ? "*" : ""));
        }
    }
    return text;
}

} // namespace

std::optional<double> RateCurve::bestRate() const
{
    const Place* best = nullptr;
    for (const Place& place : places)
        if (place.loss && (!best || *place.loss < *best->loss)) best = &place;
    return best ? std::optional(best->rate) : std::nullopt;
}

std::vector<RateCurve> rateCurves(const std::vector<SweepOutcome>& outcomes)
{
    std::map<std::string, RateCurve> byRest;
    for (const SweepOutcome& each : outcomes) {
        if (!each.result || !each.result->isWhole()) continue;
        const std::string rest = each.job.point.text(SweepAxis::LearningRate);
        RateCurve& curve = byRest[rest];
        curve.of = rest;
        curve.batch = each.job.spec.training.batch;
        const TransformerSpec* network = each.job.spec.model.transformer();
        curve.width = network ? network->hidden : 0;
        curve.places.push_back({each.job.spec.training.learningRate, each.result->finalLoss()});
    }
    std::vector<RateCurve> curves;
    for (auto& [rest, curve] : byRest) {
        if (curve.places.size() < 2) continue;
        std::sort(curve.places.begin(), curve.places.end(),
                  [](const RateCurve::Place& a, const RateCurve::Place& b) { return a.rate < b.rate; });
        curves.push_back(std::move(curve));
    }
    std::stable_sort(curves.begin(), curves.end(),
                     [](const RateCurve& a, const RateCurve& b) { return a.width < b.width; });
    return curves;
}

const SweepOutcome* bestOf(const std::vector<SweepOutcome>& outcomes)
{
    const SweepOutcome* best = nullptr;
    for (const SweepOutcome& each : outcomes) {
        if (!each.result || !each.result->isWhole() || !each.result->finalLoss()) continue;
        if (!best || lossOrLast(each) < lossOrLast(*best)) best = &each;
    }
    return best;
}

json sweepJson(const std::vector<SweepOutcome>& outcomes)
{
    json object{{"runs", json::array()}, {"curves", json::array()}, {"best", nullptr}};
    std::int64_t finished = 0, before = 0, failed = 0, diverged = 0;
    for (const SweepOutcome* each : ranked(outcomes)) {
        json run{{"name", each->job.name}, {"values", json::object()}, {"batch", each->job.spec.training.batch}};
        for (std::size_t i = 0; i < kSweepAxisCount; ++i) {
            const auto axis = static_cast<SweepAxis>(i);
            const std::string key(axisName(axis));
            if (axis == SweepAxis::Precision && !each->job.point[axis].empty())
                run["values"][key] = each->job.point[axis];
            else if (const auto value = each->job.point.number(axis))
                run["values"][key] = *value;
        }
        run["lr"] = each->job.spec.training.learningRate;
        const TransformerSpec* network = each->job.spec.model.transformer();
        run["width"] = network ? json(network->hidden) : json(nullptr);
        run["error"] = each->failure ? json(each->failure->message()) : json(nullptr);
        run["trace"] = each->result ? json(each->job.name + ".fourwalls") : json(nullptr);
        if (each->result) {
            const SweepResult& result = *each->result;
            run["loss"] = orNull(result.finalLoss());
            run["steps"] = result.taken.size();
            run["diverged"] = result.diverged;
            run["given_up_after"] = each->stoppedAfter > 0 ? json(each->stoppedAfter) : json(nullptr);
            run["seconds"] = result.seconds();
            run["tokens_per_s"] = tokensPerSecond(result);
            run["was_there"] = each->wasThere;
            run["gradient_noise"] = noiseJson(result.noise, each->job.spec, result.finalLoss().value_or(0));
            diverged += result.diverged;
            (each->wasThere ? before : finished) += 1;
        }
        failed += each->failure.has_value();
        object["runs"].push_back(std::move(run));
    }
    for (const RateCurve& curve : rateCurves(outcomes)) {
        json line{{"of", curve.of},
                  {"width", curve.width > 0 ? json(curve.width) : json(nullptr)},
                  {"batch", curve.batch},
                  {"best_lr", orNull(curve.bestRate())},
                  {"points", json::array()}};
        for (const RateCurve::Place& place : curve.places)
            line["points"].push_back({{"lr", place.rate}, {"loss", orNull(place.loss)}});
        object["curves"].push_back(std::move(line));
    }
    if (const SweepOutcome* best = bestOf(outcomes)) object["best"] = best->job.name;
    object["finished"] = finished;
    object["were_there"] = before;
    object["failed"] = failed;
    object["diverged"] = diverged;
    return object;
}

std::string sweepText(const std::vector<SweepOutcome>& outcomes)
{
    std::size_t label = 3;
    for (const SweepOutcome& each : outcomes) label = std::max(label, each.job.point.text().size());
    std::string text =
        fmt::format("{:<{}}  {:>8}  {:>6}  {:>9}  {:>8}", "run", label, "loss", "steps", "tokens/s", "time");
    for (const SweepOutcome* each : ranked(outcomes)) {
        text += fmt::format("\n{:<{}}", each->job.point.text(), label);
        if (each->result) {
            const SweepResult& result = *each->result;
            const auto loss = result.finalLoss();
            text += fmt::format("  {:>8}  {:>6}  {:>9}  {:>8}", loss ? fmt::format("{:.4f}", *loss) : "\xe2\x80\x93",
                                result.taken.size(), formatFigure(tokensPerSecond(result), 3),
                                formatTime(Duration::fromSeconds(result.seconds())));
        }
        if (const std::string end = endOf(*each); !end.empty()) text += "  " + end;
    }
    if (const std::vector<RateCurve> curves = rateCurves(outcomes); !curves.empty()) text += rateTable(curves);
    if (const SweepOutcome* best = bestOf(outcomes)) {
        text += fmt::format("\n\nbest: {}, loss {:.4f}", best->job.point.text(), *best->result->finalLoss());
        if (const std::string noise = noiseText(best->result->noise, best->job.spec, *best->result->finalLoss());
            !noise.empty())
            text += "\n" + noise;
    }
    return text;
}

} // namespace fourwalls::cli
