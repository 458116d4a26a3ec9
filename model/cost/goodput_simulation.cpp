// SPDX-License-Identifier: Apache-2.0
// See goodput_simulation.h.
#include "model/cost/goodput_simulation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace fourwalls::cost {

namespace {

constexpr int kMostSimulatedJobs = 1'000'000;
/// Failures of all jobs together that one call simulates: some seconds of a processor.
constexpr double kMostSimulatedFailures = 2e8;

/// A job that has kept nothing after so many never ends.
constexpr double kMostFailuresWithoutWork = 20'000;

/// The same numbers with every standard library: its distributions are not.
class Chance {
public:
    explicit Chance(std::uint64_t seed) : m_bits(seed) {}
    /// In (0, 1].
    double uniform() { return (static_cast<double>(m_bits() >> 11) + 1) * 0x1.0p-53; }

private:
    std::mt19937_64 m_bits;
};

struct SimulatedJob {
    double worked = 0, writing = 0, recovering = 0, lost = 0;
    double failures = 0;
    double seconds() const { return worked + writing + recovering + lost; }
};

/// What of the job is known before anything is drawn.
struct SimulatedPlan {
    double interval = 0, scale = 0;
};

Error outOfRange(const char* field, const char* what, const char* hint)
{
    return {ErrorCode::InvalidArgument, what, field, hint};
}

Result<SimulatedPlan> planOf(const GoodputSimulation& simulation)
{
    FOURWALLS_TRY_ASSIGN(const Goodput goodput, computeGoodput(simulation.job));
    if (simulation.jobs < 1 || simulation.jobs > kMostSimulatedJobs)
        return outOfRange("simulate", "the number of jobs is out of range", "1 to 1000000");
    if (!(simulation.failureShape >= 0.2 && simulation.failureShape <= 10))
        return outOfRange("failure-shape", "is out of range", "1, or from 0.2 to 10");
    if (!(std::isfinite(simulation.periodSeconds) && simulation.periodSeconds >= 0))
        return outOfRange("days", "is out of range", "0 (until the work is done) or more");
    if (simulation.periodSeconds <= 0 && simulation.job.trainingSeconds <= 0)
        return outOfRange("training time", "there is neither a period nor work", "--days or --tokens");
    SimulatedPlan plan;
    const double shape = simulation.failureShape;
    plan.scale = goodput.jobMtbfSeconds / std::tgamma(1 + 1 / shape);
    // Free checkpoints are taken all the time; a step of the simulation is short then, and no work is lost.
    plan.interval = goodput.intervalSeconds > 0 ? goodput.intervalSeconds : 1e-3 * goodput.jobMtbfSeconds;
    const double seconds = simulation.periodSeconds > 0 ? simulation.periodSeconds : goodput.secondsToTrain;
    if (!(seconds / goodput.jobMtbfSeconds * simulation.jobs < kMostSimulatedFailures))
        return outOfRange("simulate", "so many jobs have too many failures to simulate", "fewer jobs or days");
    return plan;
}

/// From one failure to the next until the work is done or the period over. Absent: that takes more failures than so many,
/// or never comes.
std::optional<SimulatedJob> simulateOne(const GoodputSimulation& simulation, const SimulatedPlan& plan,
                                        std::uint64_t number, double mostFailures)
{
    Chance chance(simulation.seed * 0x9e3779b97f4a7c15ull + number);
    const GoodputInput& input = simulation.job;
    const bool hasPeriod = simulation.periodSeconds > 0;
    const double round = plan.interval + input.checkpointSeconds;
    SimulatedJob job;
    for (double restart = 0;; restart = input.restartSeconds) {
        double until = plan.scale * std::pow(-std::log(chance.uniform()), 1 / simulation.failureShape);
        const double left = hasPeriod ? simulation.periodSeconds - job.seconds() : 0;
        const bool isLast = hasPeriod && until >= left;
        if (isLast) until = left;
        const double recovering = std::min(restart, until);
        job.recovering += recovering;
        double up = until - recovering;
        if (!hasPeriod) {
            const double work = input.trainingSeconds - job.worked;
            const double needed = work + std::ceil(work / plan.interval) * input.checkpointSeconds;
            if (up >= needed) {
                job.worked += work;
                job.writing += needed - work;
                return job;
            }
        }
        const double rounds = std::floor(up / round);
        job.worked += rounds * plan.interval;
        job.writing += rounds * input.checkpointSeconds;
        up -= rounds * round;
        if (isLast) { // nothing has failed: what is under way stays
            job.worked += std::min(up, plan.interval);
            job.writing += std::max(0.0, up - plan.interval);
            return job;
        }
        job.lost += up;
        ++job.failures;
        const bool getsNowhere = !hasPeriod && job.worked <= 0 && job.failures >= kMostFailuresWithoutWork;
        if (getsNowhere || job.failures > mostFailures) return std::nullopt;
    }
}

Band bandOf(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const auto at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
    };
    Band band{at(0.05), at(0.5), at(0.95), 0};
    for (const double value : values) band.mean += value / static_cast<double>(values.size());
    return band;
}

} // namespace

Result<SimulatedGoodput> simulateGoodput(const GoodputSimulation& simulation)
{
    FOURWALLS_TRY_ASSIGN(const SimulatedPlan plan, planOf(simulation));
    std::vector<double> goodputs, failures, seconds;
    SimulatedGoodput result;
    result.intervalSeconds = plan.interval;
    double left = kMostSimulatedFailures;
    for (int i = 0; i < simulation.jobs; ++i) {
        const auto simulated = simulateOne(simulation, plan, static_cast<std::uint64_t>(i), left);
        if (!simulated)
            return outOfRange("simulate", "the jobs have too many failures to simulate",
                              "fewer jobs or days, or a shorter interval");
        const SimulatedJob& job = *simulated;
        left -= job.failures;
        const double whole = job.seconds();
        goodputs.push_back(job.worked / whole);
        failures.push_back(job.failures);
        seconds.push_back(whole);
        result.checkpointShare += job.writing / whole / simulation.jobs;
        result.recoveryShare += job.recovering / whole / simulation.jobs;
        result.recomputationShare += job.lost / whole / simulation.jobs;
    }
    result.goodput = bandOf(std::move(goodputs));
    result.interruptions = bandOf(std::move(failures));
    result.seconds = bandOf(std::move(seconds));
    return result;
}

Result<double> simulatedBestInterval(const GoodputSimulation& simulation)
{
    // The same draws at each interval, so that they differ by it alone.
    constexpr double kStep = 1.1, kWidest = 16;
    FOURWALLS_TRY_ASSIGN(const SimulatedPlan middle, planOf(simulation));
    double best = middle.interval, most = -1;
    for (double interval = middle.interval / kWidest; interval < middle.interval * kWidest; interval *= kStep) {
        GoodputSimulation one = simulation;
        one.job.checkpointIntervalSeconds = interval;
        const auto plan = planOf(one);
        if (!plan) continue; // it would never end
        double goodput = 0, left = kMostSimulatedFailures / 100;
        for (int i = 0; i < one.jobs && left >= 0; ++i) {
            const auto job = simulateOne(one, *plan, static_cast<std::uint64_t>(i), left);
            left = job ? left - job->failures : -1;
            goodput += job ? job->worked / job->seconds() : 0;
        }
        if (left < 0 || goodput <= most) continue; // hardly ever gets on
        most = goodput;
        best = interval;
    }
    return best;
}

Result<Band> goodputOfFailures(const GoodputInput& job, int failures, std::uint64_t seed)
{
    if (failures < 0) return outOfRange("failures", "cannot be negative", "0 or more");
    constexpr int kMostDraws = 200'000, kFewestJobs = 200, kMostJobs = 4000; // a window waits for them
    constexpr int kMostFailures = 20'000;
    if (failures > kMostFailures) return outOfRange("failures", "are too many to draw", "20000 or fewer");
    const int jobs = std::clamp(kMostDraws / std::max(failures, 1), kFewestJobs, kMostJobs);
    FOURWALLS_TRY_ASSIGN(const SimulatedPlan plan, planOf({.job = job, .jobs = 1}));
    const double work = job.trainingSeconds;
    const double sure = work * (1 + job.checkpointSeconds / plan.interval) + failures * job.restartSeconds;
    std::vector<double> shares;
    Chance chance(seed);
    for (int i = 0; i < jobs; ++i) {
        double lost = 0;
        for (int failure = 0; failure < failures; ++failure)
            lost += std::fmod(chance.uniform() * work, std::min(plan.interval, work));
        shares.push_back(work / (sure + lost));
    }
    return bandOf(std::move(shares));
}

} // namespace fourwalls::cost
