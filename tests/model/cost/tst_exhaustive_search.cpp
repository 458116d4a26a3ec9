// SPDX-License-Identifier: Apache-2.0
// The search against looking at everything: on random small problems every plan is built here, with loops that share
// nothing with the search, every split of the layers among them; the best of all is what the search finds.
#include <QtTest>

#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"
#include "model/spec/launch_arguments.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/rank_layout.h"
#include "tests/support/test_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tst_exhaustive_search {

using namespace fourwalls;
using namespace fourwalls::cost;

namespace {

/// The same numbers with every library: what std::uniform_int_distribution makes of a generator is not fixed.
class Dice {
public:
    explicit Dice(unsigned seed) : m_random(seed) {}

    template <class T, std::size_t N>
    T of(const std::array<T, N>& values)
    {
        return values[m_random() % N];
    }
    int from(int least, int most)
    {
        return least + static_cast<int>(m_random() % static_cast<unsigned>(most - least + 1));
    }

private:
    std::mt19937 m_random;
};

struct Problem {
    RunSpec spec;
    FrameworkPreset framework;
    Calibration calibration;
    SearchOptions options;
};

Problem randomProblem(unsigned seed)
{
    Dice dice(seed);
    Problem problem;
    TransformerSpec t;
    t.layers = dice.from(2, 6);
    t.hidden = dice.of(std::array<std::int64_t, 4>{256, 1024, 2048, 4096});
    t.heads = dice.of(std::array<std::int64_t, 3>{4, 8, 6});
    if (t.heads == 6) t.hidden = 768;
    t.kvHeads = dice.from(0, 2) == 0 ? 2 : t.heads;
    t.ffnHidden = 4 * t.hidden;
    t.vocabulary = dice.of(std::array<std::int64_t, 4>{1024, 32'000, 128'000, 256'000});
    t.sequence = dice.of(std::array<std::int64_t, 3>{512, 2048, 4096});
    t.tiedEmbeddings = dice.from(0, 1) == 0;
    if (dice.from(0, 4) == 0) t.mixture = {4, 2, t.hidden, 0, dice.from(1, 2), dice.from(0, 1)};
    problem.spec.model = {"random", t};
    problem.spec.cluster = *loadCluster(dice.of(std::array{"dgx-a100", "dgx-h100", "v100-pcie", "rtx4090"}));
    problem.spec.cluster.devicesPerNode = dice.of(std::array{2, 4, 8});
    problem.options.devices = dice.of(std::array{2, 3, 4, 5, 6, 8});
    if (problem.spec.cluster.nicsPerNode == 0) problem.spec.cluster.devicesPerNode = 8;
    problem.spec.framework =
        dice.of(std::array{"megatron-core", "fsdp", "fourwalls", "zero-bubble", "torchtitan", "megatron-core-2026"});
    problem.spec.training.batch = dice.of(std::array<std::int64_t, 5>{1, 2, 3, 4, 6});
    problem.spec.training.sequence = t.sequence;
    problem.spec.training.precision = Precision::Bf16;
    problem.framework = *loadFramework(problem.spec.framework);
    problem.calibration = *loadCalibration("published");
    problem.options.objective =
        dice.of(std::array{SearchObjective::Time, SearchObjective::Time, SearchObjective::Memory, SearchObjective::Cost,
                           SearchObjective::Energy});
    problem.options.limit = 1;
    problem.options.threads = 1;
    // Some name their degrees, so that other parts decide; with few weights and long sequences their pipelines send more
    // than their replicas.
    if (dice.from(0, 5) == 0) {
        t.hidden = 256;
        t.heads = t.kvHeads = 4;
        t.ffnHidden = 1024;
        t.vocabulary = 1024;
        t.sequence = problem.spec.training.sequence = 4096;
        problem.spec.model = {"random", t};
        problem.spec.cluster.devicesPerNode = 2;
        problem.options.devices = 4;
        problem.options.fixed = FixedParts::of("dp=2 pp=2", *parsePlan("dp=2 pp=2"));
    }
    // Memory that some plans fit into and others do not.
    const double states = 16.0 * static_cast<double>(parameterCount(problem.spec.model)) / problem.options.devices;
    const double factor = dice.of(std::array{1.5, 2.5, 6.0, 40.0});
    problem.spec.cluster.device.memoryBytes = static_cast<std::int64_t>(4.0e9 + factor * states);
    // Some nodes have other devices: of another rate, slower ones of the same, larger or smaller ones.
    const bool byTime =
        problem.options.objective == SearchObjective::Time || problem.options.objective == SearchObjective::Cost;
    if (byTime && problem.spec.cluster.nicsPerNode > 0 && dice.from(0, 2) > 0) {
        problem.spec.cluster.devicesPerNode = 2;
        OtherNodes others{dice.from(1, 2),
                          loadCluster(dice.of(std::array{"dgx-a100", "dgx-h100", "v100-pcie"}))->device};
        if (!others.device.peak(Precision::Bf16)) others.device = problem.spec.cluster.device;
        others.device.slowdown = dice.of(std::array{1.0, 1.5, 2.0});
        others.device.memoryBytes = problem.spec.cluster.device.memoryBytes * dice.from(2, 6) / 4;
        problem.spec.cluster.otherNodes.push_back(others);
    }
    return problem;
}

/// All ways to put `layers` layers on `stages` stages, one or more on each.
void addSplits(std::int64_t layers, int stages, std::vector<int>& begun, std::vector<std::vector<int>>& found)
{
    if (stages == 1) {
        begun.push_back(static_cast<int>(layers));
        found.push_back(begun);
        begun.pop_back();
        return;
    }
    for (std::int64_t here = 1; here + stages - 1 <= layers; ++here) {
        begun.push_back(static_cast<int>(here));
        addSplits(layers - here, stages - 1, begun, found);
        begun.pop_back();
    }
}

std::vector<std::vector<int>> splitsOf(const ParallelPlan& plan, std::int64_t layers)
{
    std::vector<std::vector<int>> found{{}};
    std::vector<int> begun;
    const PipelineShape shape = pipelineShape(plan);
    if (plan.pp > 1 && shape.chunks == 1) addSplits(layers, plan.pp, begun, found);
    return found;
}

/// Visits the degrees that the search says it looks at: tensor groups within a node, contexts of 1024 tokens or more.
template <class Visit>
void forEveryDegree(const Problem& problem, const Visit& visit)
{
    const bool experts = problem.spec.model.transformer()->hasExperts();
    const int most = problem.options.devices;
    for (int dp = 1; dp <= most; ++dp)
        for (int tp = 1; tp <= std::min(most, problem.spec.cluster.devicesPerNode); ++tp)
            for (int pp = 1; pp <= most; ++pp)
                for (int cp = 1; cp <= most; ++cp)
                    for (int ep = 1; ep <= (experts ? 4 : 1); ++ep) {
                        const int world = dp * tp * pp * cp;
                        const SearchObjective objective = problem.options.objective;
                        const bool isPerDevice =
                            objective == SearchObjective::Cost || objective == SearchObjective::Energy;
                        const bool fewer = isPerDevice && most % world == 0;
                        if (world != most && !fewer) continue;
                        if (problem.options.fixed.dp && (dp != 2 || pp != 2)) continue;
                        if (cp > 1 && problem.spec.training.sequence / cp < 1024) continue;
                        if (cp > problem.framework.mostContext) continue;
                        ParallelPlan plan;
                        plan.dp = dp;
                        plan.tp = tp;
                        plan.pp = pp;
                        plan.cp = cp;
                        plan.ep = ep;
                        visit(plan);
                        if (!problem.framework.stagesFirst || dp == 1 || pp == 1) continue;
                        if (cp > problem.framework.mostContextStagesFirst) continue;
                        plan.order = RankOrder::StagesFirst;
                        visit(plan);
                    }
}

struct Best {
    bool feasible = false;
    double value = 0;
    ParallelPlan plan;
    std::int64_t looked = 0;

    void offer(const SearchedPlan& each, SearchObjective objective)
    {
        ++looked;
        const double other = each.feasible ? valueOf(each, objective) : each.peakBytes;
        if (looked > 1 && std::pair(!each.feasible, other) >= std::pair(!feasible, value)) return;
        feasible = each.feasible;
        value = other;
        plan = each.plan;
    }
};

/// All power while a device computes, half of it else; rank by rank.
double energyAlone(double watts, const ParallelPlan& plan, const StepCost& cost, double seconds)
{
    double joules = 0;
    for (int stage = 0; stage < plan.pp; ++stage) {
        double busy = cost.stages[static_cast<std::size_t>(stage)].optimizerSeconds;
        for (int chunk = 0; chunk < cost.shape.chunks; ++chunk) {
            const ChunkCost& at = cost.chunk(cost.shape.positionOf(stage, chunk));
            for (const PassCost& pass : {at.forward, at.recompute, at.backwardInput, at.backwardWeight})
                busy += plan.microbatches * (pass.parts[CostPart::Gemm] + pass.parts[CostPart::Attention] +
                                             pass.parts[CostPart::MemoryBound] + pass.parts[CostPart::Contention]);
        }
        joules += plan.dp * plan.tp * plan.cp * (watts * busy + 0.5 * watts * (seconds - busy));
    }
    return joules;
}

/// Of the smallest device of a stage, rank by rank.
double capacityOf(const ClusterSpec& cluster, const ParallelPlan& plan, int stage)
{
    double least = 1e300;
    const RankLayout layout(plan);
    for (int rank = 0; rank < plan.worldSize(); ++rank)
        if (layout.coordinates(RankId{rank}).stage == stage)
            least = std::min(least, static_cast<double>(cluster.deviceOfRank(rank).memoryBytes));
    return least;
}

/// One plan, simulated as `predict` does.
std::optional<SearchedPlan> simulatedAlone(CostModel& model, const ParallelPlan& plan)
{
    const auto cost = model.stepCost(plan);
    if (!cost) return std::nullopt;
    const auto step = simulateSchedule(*cost);
    if (!step) return std::nullopt;
    double peak = 0;
    bool fits = true;
    for (std::size_t i = 0; i < step->stages.size(); ++i) {
        peak = std::max(peak, step->stages[i].peakBytes);
        fits = fits && step->stages[i].peakBytes <= capacityOf(model.spec().cluster, plan, static_cast<int>(i));
    }
    return SearchedPlan{plan, step->seconds, peak, fits,
                        energyAlone(model.spec().cluster.device.powerWatts, plan, *cost, step->seconds)};
}

/// What stages may recompute: the same on all; where the framework can and no stage holds several pieces, in any mixture.
std::vector<std::vector<Recompute>> recomputations(const Problem& problem, const ParallelPlan& plan)
{
    constexpr std::array kAll{Recompute::None, Recompute::Selective, Recompute::Full};
    std::vector<std::vector<Recompute>> lists;
    const auto stages = static_cast<std::size_t>(plan.pp);
    if (!problem.framework.recomputesByStage || pipelineShape(plan).chunks > 1) {
        for (const Recompute each : kAll) lists.emplace_back(stages, each);
        return lists;
    }
    std::size_t count = 1;
    for (std::size_t i = 0; i < stages; ++i) count *= kAll.size();
    for (std::size_t number = 0; number < count; ++number) {
        std::vector<Recompute>& list = lists.emplace_back();
        for (std::size_t i = 0, digits = number; i < stages; ++i, digits /= kAll.size())
            list.push_back(kAll[digits % kAll.size()]);
    }
    return lists;
}

/// Visits what can be switched on and off under a plan's degrees, pipeline and split.
template <class Visit>
void forEverySwitch(const Problem& problem, ParallelPlan plan, const Visit& visit)
{
    const FrameworkPreset& framework = problem.framework;
    const int mostZero = static_cast<int>(plan.pp > 1 ? framework.mostZeroInPipeline : framework.mostZero);
    const int node = problem.spec.cluster.devicesPerNode / plan.tp;
    const bool sharesNode = framework.shardsParameters && node > 1 && node < plan.replicas();
    for (const std::vector<Recompute>& recompute : recomputations(problem, plan))
        for (const bool sequenceParallel : {false, true})
            for (int zero = 0; zero <= (plan.replicas() > 1 ? mostZero : 0); ++zero)
                for (const int shard : {0, node})
                    for (const ContextExchange context : {ContextExchange::Ring, ContextExchange::Gather}) {
                        if (sequenceParallel && plan.tp == 1) continue;
                        if (shard > 0 && (zero < 3 || !sharesNode)) continue;
                        plan.setRecompute(recompute);
                        plan.sequenceParallel = sequenceParallel;
                        plan.zero = zero;
                        plan.shard = shard;
                        plan.context = plan.cp > 1 ? context : ContextExchange::Auto;
                        if (canRun(framework, plan).ok()) visit(plan);
                    }
}

/// Visits the pipelines of a plan's degrees: schedules that the framework runs, virtual stages, splits of the layers.
template <class Visit>
void forEveryPipeline(const Problem& problem, ParallelPlan plan, const Visit& visit)
{
    const std::int64_t layers = problem.spec.model.transformer()->layers;
    for (plan.vpp = 1; plan.vpp <= (plan.pp > 1 ? 8 : 1); ++plan.vpp) {
        if (plan.vpp > 1 && (layers % (plan.pp * plan.vpp) != 0 || plan.microbatches % plan.pp != 0)) continue;
        for (const PipelineSchedule schedule :
             {PipelineSchedule::OneFOneB, PipelineSchedule::GPipe, PipelineSchedule::Interleaved,
              PipelineSchedule::ZeroBubbleH1, PipelineSchedule::ZeroBubble2p, PipelineSchedule::ZeroBubbleV}) {
            const bool runs = plan.pp > 1 ? problem.framework.runs(schedule) : schedule == PipelineSchedule::OneFOneB;
            const bool isVirtual =
                schedule == PipelineSchedule::Interleaved || schedule == PipelineSchedule::ZeroBubbleV;
            if (!runs || isVirtual != (plan.vpp > 1)) continue;
            plan.schedule = schedule;
            const std::int64_t moved = problem.framework.takesLayerCounts ? layers : 0;
            for (const std::vector<int>& split : splitsOf(plan, moved)) {
                plan.stageLayers = split;
                visit(plan);
            }
        }
    }
}

Best bestOfEverything(const Problem& problem, bool offload)
{
    CostModel model = *CostModel::create(problem.spec, problem.framework, problem.calibration);
    Best best;
    forEveryDegree(problem, [&](ParallelPlan plan) {
        plan.offloadOptimizer = offload;
        plan.offloadParameters = offload && problem.framework.offloadsParameters;
        for (plan.microbatches = 1; plan.microbatches <= problem.spec.training.batch; ++plan.microbatches)
            forEveryPipeline(problem, plan, [&](const ParallelPlan& pipeline) {
                forEverySwitch(problem, pipeline, [&](const ParallelPlan& each) {
                    const auto launch = problem.framework.launch;
                    if (launch && !canLaunch(*launch, problem.spec, each, problem.framework).ok()) return;
                    if (const auto priced = simulatedAlone(model, each)) best.offer(*priced, problem.options.objective);
                });
            });
    });
    return best;
}

} // namespace

class ExhaustiveSearchTest : public QObject {
    Q_OBJECT

private slots:
    void sameOptimum();
};

void ExhaustiveSearchTest::sameOptimum()
{
    constexpr unsigned kProblems = 320;
    int fitting = 0, uneven = 0, mixed = 0, stagesFirst = 0, twoKinds = 0;
    std::int64_t looked = 0, searched = 0;
    for (unsigned seed = 1; seed <= kProblems; ++seed) {
        const Problem problem = randomProblem(seed);
        Best best = bestOfEverything(problem, false);
        looked += best.looked;
        // Only where nothing fits the optimizer's states go to the host.
        if (!best.feasible && problem.spec.cluster.device.hostBytesPerSecond > 0) {
            best = bestOfEverything(problem, true);
            looked += best.looked;
        }
        const auto found = searchPlans(problem.spec, problem.framework, problem.calibration, problem.options);
        QVERIFY(found.ok());
        searched += found->counts.evaluated;
        const SearchedPlan* first = found->best.empty() ? nullptr : &found->best.front();
        const std::string what = fmt::format("problem {}: all plans {} ({}), search {}", seed, formatPlan(best.plan),
                                             best.value, first ? formatPlan(first->plan) : "nothing");
        QVERIFY2((first && first->feasible) == best.feasible, what.c_str());
        if (!best.feasible) continue;
        ++fitting;
        uneven += !best.plan.stageLayers.empty();
        mixed += !best.plan.stageRecompute.empty();
        stagesFirst += best.plan.order == RankOrder::StagesFirst;
        twoKinds += !problem.spec.cluster.otherNodes.empty() && !best.plan.stageLayers.empty();
        const double value = valueOf(*first, problem.options.objective);
        QVERIFY2(std::abs(value / best.value - 1) < 1e-9, what.c_str());
    }
    // The problems are worth it: most have plans that fit, some are best with an uneven split where the framework takes
    // one, over devices of two kinds too, with stages that recompute differently or lie side by side where it can, and the
    // search is shorter.
    QVERIFY2(fitting > 100 && uneven > 8 && mixed > 0 && stagesFirst > 0 && twoKinds > 2,
             qPrintable(QStringLiteral("%1 fit, %2 uneven, %3 mixed, %4 with stages first, %5 uneven over two kinds")
                            .arg(fitting)
                            .arg(uneven)
                            .arg(mixed)
                            .arg(stagesFirst)
                            .arg(twoKinds)));
    QVERIFY(searched < looked);
}

FOURWALLS_TEST(ExhaustiveSearchTest, QCoreApplication)

} // namespace tst_exhaustive_search

#include "tst_exhaustive_search.moc"
