// SPDX-License-Identifier: Apache-2.0
// See gate_suite.h.
#include "app/cli/gate_suite.h"

#include "app/cli/suite_run.h"
#include "model/compare/run_gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace fourwalls::cli {

namespace {

using compare::GateFigure;
using compare::GateRun;
using compare::Verdict;

Result<RunSpec> drawJob(Draw& draw, ClockKind clock)
{
    constexpr const char* kPlans[] = {"", "dp=2", "tp=2", "pp=2 microbatches=4", "dp=2 pp=2 microbatches=2"};
    constexpr const char* kPairs[] = {"", "dp=2", "pp=2 microbatches=4"}; // on the wall clock a core for every rank
    TransformerSpec network;
    network.layers = 4;
    network.hidden = 64;
    network.heads = network.kvHeads = 4;
    network.ffnHidden = 256;
    network.vocabulary = 256;
    network.sequence = 32;
    RunSpec spec;
    spec.model = {"gate", network};
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(clock == ClockKind::Wall ? draw.oneOf(kPairs) : draw.oneOf(kPlans)));
    spec.training.steps = 16;
    spec.training.batch = 8;
    spec.training.seed = 1 + static_cast<std::uint64_t>(draw.below(1000));
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster("dgx-a100"));
    FOURWALLS_TRY(resolve(spec));
    return spec;
}

/// factor: of every kernel. kernelTimes: a file of times to use; empty: measured anew.
Result<RecordedRun> recordJob(const RunSpec& spec, ClockKind clock, double factor, const std::string& kernelTimes,
                              const std::stop_token& stop)
{
    engine::RunOptions options;
    options.blind = true;
    options.clock = clock;
    options.stop = stop;
    options.kernelTimesFile = kernelTimes;
    if (factor > 1) options.disturbances.push_back({engine::DisturbanceKind::SlowRank, std::nullopt, factor, 0});
    return recordInMemory(spec, options);
}

/// [ns]
Result<double> stepOf(const RecordedRun& run)
{
    FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, run.query->jobSteps());
    const auto median = medianStepTime(steps);
    if (!median) return Error{ErrorCode::Internal, "a recording has no step time", "bench gate", "report this"};
    return static_cast<double>(median->ns);
}

/// What kernels have to take for the step to be longer by the slowdown: found with fixed kernel times, where nothing else
/// differs. Transfers do not get longer, so it is more than the slowdown itself.
Result<double> factorFor(const RunSpec& spec, const ScratchFile& times, double slowdown, double& reached,
                         const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(const RecordedRun plain, recordJob(spec, ClockKind::Device, 1, times.path(), stop));
    FOURWALLS_TRY_ASSIGN(const double plainStep, stepOf(plain));
    double factor = 1 + slowdown;
    for (int i = 0; i < 2; ++i) {
        FOURWALLS_TRY_ASSIGN(const RecordedRun slowed, recordJob(spec, ClockKind::Device, factor, times.path(), stop));
        FOURWALLS_TRY_ASSIGN(const double slowedStep, stepOf(slowed));
        reached = slowedStep / plainStep - 1;
        if (std::abs(reached - slowdown) < 0.02 * slowdown || reached <= 0) break;
        if (i == 0) factor = 1 + (factor - 1) * slowdown / reached;
    }
    return factor;
}

double deviationOf(const std::vector<GateRun>& runs)
{
    std::vector<double> values;
    values.reserve(runs.size());
    for (const GateRun& run : runs) values.push_back(run.metrics.stepTime ? run.metrics.stepTime->milliseconds() : 0);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double squares = 0;
    for (const double each : values) squares += (each - mean) * (each - mean);
    return mean > 0 && values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean : 0;
}

} // namespace

Result<GateSuiteScore> runGateSuite(const GateSuiteOptions& options, const std::function<void(double)>& progress,
                                    const std::stop_token& stop)
{
    GateSuiteScore score;
    const double slowdown = options.slowdown / 100;
    for (std::int64_t trial = 0; trial < options.trials; ++trial) {
        Draw draw(options.seed * 1'000'003u + static_cast<std::uint64_t>(trial));
        FOURWALLS_TRY_ASSIGN(const RunSpec spec, drawJob(draw, options.clock));
        double reached = 0;
        FOURWALLS_TRY_ASSIGN(const ScratchFile times, ScratchFile::create());
        FOURWALLS_TRY_ASSIGN(const double factor, factorFor(spec, times, slowdown, reached, stop));
        const bool shares = options.clock == ClockKind::Device && !options.measuresAnew;
        const std::string kernelTimes = shares ? times.path() : std::string();
        enum Side { Before, Slowed, Same };
        std::array<std::vector<GateRun>, 3> sides;
        for (int run = 0; run < options.runs; ++run)
            for (const Side side : {Before, Slowed, Same}) {
                progress((static_cast<double>(trial) + static_cast<double>(run) / options.runs) /
                         static_cast<double>(options.trials));
                FOURWALLS_TRY_ASSIGN(const RecordedRun recorded,
                                     recordJob(spec, options.clock, side == Slowed ? factor : 1, kernelTimes, stop));
                FOURWALLS_TRY_ASSIGN(GateRun read, compare::readGateRun(*recorded.query, "run", stop));
                sides[side].push_back(std::move(read));
            }
        const compare::GateReport slowed = compare::gateRuns(sides[Slowed], sides[Before]),
                                  same = compare::gateRuns(sides[Same], sides[Before]);
        const GateFigure *const a = slowed.find(Figure::StepTime), *const b = same.find(Figure::StepTime);
        if (!a || !b || !a->lowPercent() || !b->lowPercent())
            return Error{ErrorCode::Internal, "a recording has no step time", "bench gate", "report this"};
        ++score.trials;
        score.found += a->verdict() == Verdict::Worse;
        score.falseAlarms += b->verdict() == Verdict::Worse;
        score.falseReliefs += b->verdict() == Verdict::Better;
        score.truthHeld += *a->lowPercent() <= 100 * reached && 100 * reached <= *a->highPercent();
        score.deviation += 100 * deviationOf(sides[Before]);
        score.halfWidth += (*a->highPercent() - *a->lowPercent()) / 2;
        score.slowdown += 100 * reached;
        if (a->verdict() == Verdict::Worse && !slowed.carriers.empty())
            ++score.carriers[std::string(name(slowed.carriers.front().of.kind))];
    }
    for (double* mean : {&score.deviation, &score.halfWidth, &score.slowdown}) *mean /= std::max(1, score.trials);
    progress(1);
    return score;
}

} // namespace fourwalls::cli
