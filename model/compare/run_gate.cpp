// SPDX-License-Identifier: Apache-2.0
// See run_gate.h.
#include "model/compare/run_gate.h"

#include "model/spec/parallel_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace fourwalls::compare {

namespace {

/// Carriers whose difference is smaller than this share of the step are not listed.
constexpr double kLeastCarrier = 0.0005;

/// Each run's value; absent: a run does not have it.
std::optional<RunValues> valuesOf(std::span<const GateRun> runs, const FigureInfo& info)
{
    RunValues values;
    for (const GateRun& run : runs) {
        if (&info == &infoOf(Figure::StepTime) && !run.steps.empty()) {
            values.push_back(run.steps);
            continue;
        }
        const auto value = info.of(run.metrics);
        if (!value) return std::nullopt;
        values.push_back({*value});
    }
    return values;
}

GateFigure figureOf(std::span<const GateRun> runs, std::span<const GateRun> against, const FigureInfo& info,
                    std::optional<WaterfallPart> part, const GateOptions& options)
{
    GateFigure figure{&info, part, {}, false};
    const auto a = valuesOf(runs, info), b = valuesOf(against, info);
    figure.isMissing = a.has_value() != b.has_value();
    if (a && b) figure.values = differenceOfRuns(*a, *b, RunMiddle::Median, options.confidence);
    return figure;
}

/// By run and step, what one carrier takes [ms].
RunValues valuesOf(std::span<const GateRun> runs, const StepCarrier& carrier)
{
    RunValues values;
    for (const GateRun& run : runs) {
        std::vector<double>& steps = values.emplace_back();
        for (const auto& parts : run.parts) {
            const auto found = parts.find(carrier);
            steps.push_back(found == parts.end() ? 0 : found->second * 1e-6);
        }
    }
    return values;
}

/// The steps that have parts [ms].
RunValues stepsOf(std::span<const GateRun> runs)
{
    RunValues values;
    for (const GateRun& run : runs) {
        std::vector<double>& steps = values.emplace_back();
        for (const auto& parts : run.parts) {
            double sum = 0;
            for (const auto& [carrier, time] : parts) sum += time;
            steps.push_back(sum * 1e-6);
        }
    }
    return values;
}

/// Mean over the runs of the mean over their steps, of every carrier [ns].
std::map<StepCarrier, double> meansOf(std::span<const GateRun> runs)
{
    std::map<StepCarrier, double> means;
    for (const GateRun& run : runs)
        for (const auto& parts : run.parts)
            for (const auto& [carrier, time] : parts)
                means[carrier] += time / static_cast<double>(run.parts.size()) / static_cast<double>(runs.size());
    return means;
}

void addCarriers(GateReport& report, std::span<const GateRun> runs, std::span<const GateRun> against,
                 const GateOptions& options)
{
    for (const auto side : {runs, against})
        for (const GateRun& run : side)
            if (run.parts.empty()) {
                report.notes.push_back("What carries the difference is not told: " + run.file + ": " + run.whyNoParts +
                                       ".");
                return;
            }
    report.meanStep = differenceOfRuns(stepsOf(runs), stepsOf(against), RunMiddle::Mean, options.confidence);
    std::map<StepCarrier, double> differences = meansOf(runs);
    for (const auto& [carrier, mean] : meansOf(against)) differences[carrier] -= mean;
    std::vector<std::pair<StepCarrier, double>> sorted(differences.begin(), differences.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
    const double least = kLeastCarrier * report.meanStep.against * 1e6;
    report.rest = report.meanStep.difference();
    for (const auto& [carrier, difference] : sorted) {
        if (report.carriers.size() == options.mostCarriers || std::abs(difference) < least) break;
        report.carriers.push_back({carrier, differenceOfRuns(valuesOf(runs, carrier), valuesOf(against, carrier),
                                                             RunMiddle::Mean, options.confidence)});
        report.rest -= report.carriers.back().values.difference();
    }
}

void addNotes(GateReport& report, std::span<const GateRun> runs, std::span<const GateRun> against)
{
    std::set<std::string> jobs, clocks;
    for (const auto side : {runs, against})
        for (const GateRun& run : side) {
            if (!run.job.empty()) jobs.insert(run.job);
            clocks.insert(std::string(fourwalls::name(run.clock)));
        }
    if (clocks.size() > 1)
        report.notes.emplace_back("The runs have different clocks: their times are not of one kind.");
    if (jobs.size() > 1)
        report.notes.push_back("The runs are not of one job: " + *jobs.begin() + "; " + *std::next(jobs.begin()) +
                               (jobs.size() > 2 ? "; ..." : "") + ".");
    if (runs.size() == 1 || against.size() == 1)
        report.notes.emplace_back("A side has one run: its interval holds how its steps differ, not how runs do. With "
                                  "three runs and more a side the interval can be trusted.");
}

} // namespace

std::string_view name(Verdict verdict)
{
    switch (verdict) {
    case Verdict::Worse: return "worse";
    case Verdict::Better: return "better";
    case Verdict::Changed: return "changed";
    case Verdict::NotShown: return "not_shown";
    case Verdict::Unknown: return "unknown";
    }
    return "";
}

std::string GateFigure::name() const
{
    return part ? std::string("waterfall.") + info->key : info->key;
}

Verdict GateFigure::verdict() const
{
    if (!values || !values->low) return Verdict::Unknown;
    if (*values->low <= 0 && *values->high >= 0) return Verdict::NotShown;
    if (info->better == Better::Neither) return Verdict::Changed;
    return (*values->low > 0) == (info->better == Better::Less) ? Verdict::Worse : Verdict::Better;
}

namespace {

std::optional<double> percentOf(const std::optional<RunDifference>& values, std::optional<double> what)
{
    return what && values->against != 0 ? std::optional(100 * *what / values->against) : std::nullopt;
}

} // namespace

std::optional<double> GateFigure::lowPercent() const
{
    return values ? percentOf(values, values->low) : std::nullopt;
}

std::optional<double> GateFigure::highPercent() const
{
    return values ? percentOf(values, values->high) : std::nullopt;
}

std::optional<double> GateFigure::percent() const
{
    return values ? percentOf(values, values->difference()) : std::nullopt;
}

std::optional<double> GateFigure::leastWorsePercent() const
{
    if (info->better == Better::Neither || !percent()) return std::nullopt;
    if (info->better == Better::Less) return lowPercent() ? lowPercent() : percent();
    return -(highPercent() ? *highPercent() : *percent());
}

const GateFigure* GateReport::find(Figure figure) const
{
    const auto found = std::find_if(figures.begin(), figures.end(),
                                    [&](const GateFigure& each) { return each.info == &infoOf(figure); });
    return found == figures.end() ? nullptr : &*found;
}

const GateFigure* GateReport::worst() const
{
    const GateFigure* worst = nullptr;
    for (const GateFigure& each : figures) {
        const auto least = each.leastWorsePercent();
        if (!each.info->use.judged || !least || *least <= 0) continue;
        if (!worst || *least > *worst->leastWorsePercent()) worst = &each;
    }
    return worst;
}

Result<GateRun> readGateRun(TraceQuery& trace, std::string file, std::stop_token stop)
{
    GateRun run;
    run.file = std::move(file);
    const TraceHeader& header = trace.info().header;
    run.clock = header.clock;
    if (header.spec) run.job = header.spec->model.name + " " + formatPlan(header.spec->plan);
    FOURWALLS_TRY_ASSIGN(run.metrics, computeMetrics(trace));
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
    for (const JobStep& step : steps)
        if (step.state == StepState::Measured && step.complete) run.steps.push_back(step.range.length().milliseconds());
    if (run.steps.empty()) {
        run.whyNoParts = "the trace has no measured step";
        return run;
    }
    auto parts = stepParts(trace, std::move(stop));
    if (parts.ok())
        run.parts = std::move(*parts);
    else if (parts.error().code == ErrorCode::Cancelled)
        return parts.error();
    else
        run.whyNoParts = parts.error().what;
    return run;
}

GateReport gateRuns(std::span<const GateRun> runs, std::span<const GateRun> against, const GateOptions& options)
{
    GateReport report;
    for (const FigureInfo& info : figureTable()) {
        if (!info.use.compared) continue;
        GateFigure figure = figureOf(runs, against, info, {}, options);
        if (figure.values || figure.isMissing) report.figures.push_back(std::move(figure));
    }
    for (std::size_t i = 0; i < kWaterfallParts; ++i) {
        const auto part = static_cast<WaterfallPart>(i);
        GateFigure figure = figureOf(runs, against, infoOf(part), part, options);
        if (figure.values && (figure.values->runs != 0 || figure.values->against != 0))
            report.figures.push_back(std::move(figure));
    }
    addCarriers(report, runs, against, options);
    addNotes(report, runs, against);
    return report;
}

} // namespace fourwalls::compare
