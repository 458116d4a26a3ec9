// SPDX-License-Identifier: Apache-2.0
// How quick the cost model is: one closed form, one simulation, one predicted trace, a search. Prints each figure
// beside its target.
#include "model/cost/cost_model.h"
#include "model/cost/closed_form.h"
#include "model/cost/plan_search.h"
#include "model/cost/predicted_step.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

double seconds(const std::function<void()>& call, int repetitions)
{
    std::vector<double> times;
    for (int i = 0; i < repetitions; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        call();
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

double peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

/// Of all threads so far [s]; other programs on the machine do not change it.
double processorSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

/// A whole search over up to so many devices, reasons included.
void searchMany(const char* model, const char* cluster, const char* framework, int devices)
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.cluster = *loadCluster(cluster);
    spec.framework = framework;
    spec.training.batch = devices;
    spec.training.sequence = spec.model.transformer()->sequence;
    spec.training.precision = Precision::Bf16;
    SearchOptions options;
    options.devices = devices;
    options.threads = 2;
    options.objective = SearchObjective::Cost;
    options.explains = true;
    const double before = processorSeconds();
    const PlanSearchResult found =
        *searchPlans(spec, *loadFramework(framework), *loadCalibration("published"), options);
    const double took = processorSeconds() - before;
    const auto plans = static_cast<double>(found.counts.evaluated);
    std::printf("%s in %s: %.0f k plans in %.2f s of processor time, %.1f k per core and second (target 40), a million "
                "on two cores %.1f s (target 10)\n",
                model, framework, plans * 1e-3, took, plans / took * 1e-3, took / plans * 1e6 / 2);
}

} // namespace

int main()
{
    RunSpec spec;
    spec.model = *loadModel("gpt3-175b");
    spec.cluster = *loadCluster("dgx-a100");
    spec.plan = *parsePlan("tp=8 pp=16 dp=8 sp=1 recompute=selective microbatches=128");
    spec.framework = "megatron-core";
    spec.training.batch = 2048;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    const FrameworkPreset framework = *loadFramework(spec.framework);
    const Calibration calibration = *loadCalibration("published");
    CostModel model = *CostModel::create(spec, framework, calibration);

    constexpr int kPlans = 1000;
    double sum = 0;
    const double closed = seconds(
        [&] {
            ParallelPlan plan = spec.plan;
            for (int i = 0; i < kPlans; ++i) {
                plan.zero = i % 3;
                plan.pp = i % 2 ? 16 : 8;
                plan.dp = i % 2 ? 8 : 16;
                sum += closedForm(*model.stepCost(plan), calibration).seconds;
            }
        },
        9);
    std::printf("closed form            %8.2f us amortised   (target 20)\n", closed / kPlans * 1e6);

    const StepCost cost = *model.stepCost(spec.plan);
    std::printf("simulation 16 x 128    %8.3f ms             (target 5)\n",
                seconds([&] { sum += simulateSchedule(cost)->seconds; }, 51) * 1e3);
    const PredictedStep predicted = *predictStep(model, spec);
    std::printf("predicted trace        %8.2f ms\n",
                seconds([&] { sum += static_cast<double>((*traceOf(predicted))->slices.size()); }, 15) * 1e3);
    // What a slider's move costs: from the specification to the figures.
    const auto figures = [&](auto&& trace) {
        return seconds(
            [&] {
                const PredictedStep step = *predictStep(model, spec);
                InMemoryTraceQuery query(*trace(step));
                sum += computeMetrics(query)->stepTime->seconds();
            },
            15);
    };
    std::printf("prediction with its figures    %9.2f ms  (target 5)\n", figures(summaryOf) * 1e3);
    std::printf("prediction with trace and figures %6.2f ms  (target 10)\n",
                figures([](const PredictedStep& step) { return traceOf(step); }) * 1e3);

    SearchOptions options;
    options.devices = 4096;
    options.threads = 2;
    spec.training.batch = 4096;
    spec.plan = {};
    const PlanSearchResult found = *searchPlans(spec, framework, calibration, options);
    std::printf("search on 2 threads    %8.1f k evaluated/s  (target 40)\n",
                static_cast<double>(found.counts.evaluated) / found.elapsedSeconds * 1e-3);
    std::printf("                       %8.1f k considered/s (target 100)\n",
                static_cast<double>(found.counts.considered) / found.elapsedSeconds * 1e-3);
    std::printf("                       %8lld plans in %.2f s\n", static_cast<long long>(found.counts.considered),
                found.elapsedSeconds);

    searchMany("gpt3-175b", "dgx-a100", "megatron-core", 3072);
    searchMany("gpt3-175b", "dgx-a100", "fourwalls", 3072);
    searchMany("llama3-405b", "dgx-h100", "megatron-core", 16'384);
    searchMany("llama3-405b", "dgx-h100", "fourwalls", 16'384);

    options.keepAll = true;
    options.devices = 55'440; // many divisors
    options.mostPlans = 1'000'000;
    spec.training.batch = 55'440;
    const PlanSearchResult many = *searchPlans(spec, framework, calibration, options);
    std::printf("%zu plans kept         %8.0f MB peak resident (target 500 for 1 million)\n", many.all.size(),
                peakMegabytes());
    return sum > 0 ? 0 : 1;
}
