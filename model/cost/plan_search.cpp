// SPDX-License-Identifier: Apache-2.0
// The search: families of plans are dealt out to threads, each with its own cost model.
#include "model/cost/plan_search.h"

#include "model/cost/best_plans.h"
#include "model/cost/closed_form.h"
#include "model/cost/layer_split.h"
#include "model/cost/plan_reasons.h"
#include "model/cost/plan_space.h"
#include "model/cost/robust_choice.h"
#include "model/cost/step_cost.h"
#include "model/spec/launch_arguments.h"
#include "model/spec/pipeline_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <thread>

namespace fourwalls::cost {

namespace {

constexpr std::int64_t kReportEvery = 2000; ///< priced plans between two reports of progress
constexpr std::size_t kSpare = 4;           ///< candidates kept per plan asked for; simulation may reorder them
constexpr std::size_t kLeastKept = 64;      ///< candidates kept at least

std::size_t keptFor(int limit)
{
    return std::max(kLeastKept, static_cast<std::size_t>(limit) * kSpare);
}

/// Whether what is made least grows with the step's time alone.
bool growsWithTime(SearchObjective objective)
{
    return objective == SearchObjective::Time || objective == SearchObjective::Cost;
}

/// Whether a simulation says quickly what the closed form only estimates: how much of its bubbles a schedule fills.
bool needsSimulation(const ParallelPlan& plan)
{
    return plan.pp > 1 && pipelineShape(plan).splitsBackward() && isSimulatedQuickly(plan);
}

/// One of the best plans, while they are simulated.
struct Candidate {
    SearchedPlan plan;
    std::array<double, kRateKinds> shares{};
    bool isSimulated = false;
};

class Search {
public:
    Search(const RunSpec& spec, const FrameworkPreset& framework, const Calibration& calibration,
           const SearchOptions& options)
        : m_spec(spec)
        , m_framework(framework)
        , m_calibration(calibration)
        , m_options(options)
        , m_launch(options.launch ? options.launch : framework.launch)
        , m_recompute(recomputeChoices(spec, framework))
        , m_parameters(static_cast<double>(parameterCount(spec.model)))
        , m_best(keptFor(options.limit), options.objective)
        , m_splits(options.objective)
        , m_seen(options.objective)
    {
        m_held = framework;
        if (spec.training.loraRank > 0) m_held.gradientBytes = m_held.stateBytes = 0;
        if (const TransformerSpec* t = spec.model.transformer(); t && t->hasExperts()) {
            const auto active = static_cast<double>(activeParameterCount(spec.model));
            const auto experts = static_cast<double>(t->mixture.experts), topK = static_cast<double>(t->mixture.topK);
            if (experts > topK) m_expertParameters = (m_parameters - active) * experts / (experts - topK);
        }
    }

    Result<PlanSearchResult> run();

private:
    void work(CostModel& model);
    /// One priced plan; nothing where it cannot be built. It goes to `best`, to `splits`, or to both.
    std::optional<SearchedPlan> price(CostModel& model, const ParallelPlan& plan, BestPlans& best,
                                      SplitCandidates& splits) const;
    void merge(const std::vector<SearchedPlan>& found, const std::vector<SearchedPlan>& all,
               const SearchCounts& counts);
    /// Runs `each` on as many threads as there is work for, every one with a model of its own.
    void inParallel(std::size_t tasks, const std::function<void(CostModel&)>& each);
    double worstToReturn() const;
    void lookCloser();
    bool choosesByStage(const ParallelPlan& plan) const;
    StageFreedom freedomOf(const ParallelPlan& plan) const;
    /// Nothing where nothing differs by stage, or no such plan can fit.
    std::optional<SplitCandidate> candidateOf(CostModel& model, const SearchedPlan& priced, const StepCost& cost,
                                              const Prediction& prediction) const;
    /// Whether the arguments can say it; keeps the first refusal.
    bool canStart(const ParallelPlan& plan);
    static void offerUnseen(const std::optional<SplitCandidate>& candidate, BestPlans& best);
    void lookCloser(CostModel& model, std::span<SplitCandidate* const> candidates, std::atomic<std::int64_t>& work);
    /// The candidates with simulated times, best first, and which of them is robust.
    void simulate();
    /// Which of the candidates loses least where rates are not as believed.
    struct Robust {
        std::size_t index = 0;
        double change = 0, regret = 0, regretOfBest = 0;
    };
    std::optional<Robust> robustOf(const std::vector<Candidate>& candidates) const;
    void chooseRobust(const Robust& chosen);
    bool isAbandoned() const { return m_options.abandon.stop_requested(); }
    bool stops() const
    {
        return m_options.stop.stop_requested() || isAbandoned() ||
               (m_options.mostPlans > 0 && m_evaluated >= m_options.mostPlans);
    }

    const RunSpec& m_spec;
    const FrameworkPreset& m_framework;
    const Calibration& m_calibration;
    const SearchOptions& m_options;
    const std::optional<LaunchTarget> m_launch; ///< whose arguments must say a plan
    const std::vector<Recompute> m_recompute;   ///< what a stage can recompute, the quickest first
    FrameworkPreset m_held;                     ///< the framework with what it holds for a weight of the network
    double m_parameters = 0, m_expertParameters = 0;
    double m_memory = 0;             ///< of the largest device; 0 unknown
    std::vector<CostModel> m_models; ///< one for each thread
    std::vector<PlanFamily> m_families;
    bool m_offload = false;
    std::atomic<std::size_t> m_next{0};
    std::atomic<std::int64_t> m_evaluated{0};
    std::mutex m_mutex; ///< guards what follows
    BestPlans m_best;
    SplitCandidates m_splits;
    BestByPart m_seen;
    PlanSearchResult m_result;
};

std::optional<SearchedPlan> Search::price(CostModel& model, const ParallelPlan& plan, BestPlans& best,
                                          SplitCandidates& splits) const
{
    const auto cost = model.stepCost(plan, m_spec.training.batch);
    if (!cost) return std::nullopt;
    const Prediction prediction = closedForm(*cost, m_calibration);
    const SearchedPlan priced = pricedPlan(*cost, plan, prediction);
    auto candidate = candidateOf(model, priced, *cost, prediction);
    if (!needsSimulation(plan) || !candidate) best.offer(priced);
    if (candidate) offerUnseen(splits.offer(std::move(*candidate)), best);
    return priced;
}

std::optional<SplitCandidate> Search::candidateOf(CostModel& model, const SearchedPlan& priced, const StepCost& cost,
                                                  const Prediction& prediction) const
{
    const StageFreedom freedom = freedomOf(priced.plan);
    if (freedom.isNone() && !needsSimulation(priced.plan)) return std::nullopt;
    const SplitHope hope = hopeOf(model, priced.plan, cost, prediction, freedom, m_options.objective);
    const auto couldHold = [&](const StageCost& stage) { return stage.fits(hope.least.peakBytes); };
    if (std::none_of(cost.stages.begin(), cost.stages.end(), couldHold)) return std::nullopt;
    const auto value = [&](const SplitBound& bound) {
        return valueOf({priced.plan, bound.seconds, bound.peakBytes, true, bound.joules}, m_options.objective);
    };
    return SplitCandidate{value(hope.least), value(hope.likely), priced};
}

void Search::merge(const std::vector<SearchedPlan>& found, const std::vector<SearchedPlan>& all,
                   const SearchCounts& counts)
{
    const std::scoped_lock lock(m_mutex);
    for (const SearchedPlan& plan : found) m_best.offer(plan);
    if (m_options.keepAll) m_result.all.insert(m_result.all.end(), all.begin(), all.end());
    if (m_options.priced && !all.empty()) m_options.priced(all);
    if (m_options.explains) {
        m_seen.add(all);
        m_seen.add(found);
    }
    m_result.counts.considered += counts.considered;
    m_result.counts.refused += counts.refused;
    m_result.counts.tooLarge += counts.tooLarge;
    m_result.counts.evaluated += counts.evaluated;
    m_result.counts.feasible += counts.feasible;
    if (m_options.progress) m_options.progress(m_result.counts);
}

void Search::work(CostModel& model)
{
    while (!stops()) {
        const std::size_t index = m_next.fetch_add(1);
        if (index >= m_families.size()) return;
        SearchCounts counts;
        SplitCandidates splits(m_options.objective);
        BestPlans best(keptFor(m_options.limit), m_options.objective);
        std::vector<SearchedPlan> all;
        visitPlans(m_spec, m_framework, m_families[index], m_offload, [&](const ParallelPlan& plan) {
            ++counts.considered;
            if (!m_options.fixed.allows(plan)) return !stops();
            if (!canStart(plan)) {
                ++counts.refused;
                return !stops();
            }
            if (m_memory > 0 && leastStateBytes(m_parameters, m_expertParameters, m_held, plan) > m_memory) {
                ++counts.tooLarge;
                return !stops();
            }
            const auto priced = price(model, plan, best, splits);
            if (!priced) return !stops();
            ++m_evaluated;
            ++counts.evaluated;
            if (priced->feasible) ++counts.feasible;
            if (m_options.keepAll || m_options.priced || m_options.explains) all.push_back(*priced);
            if (counts.evaluated % kReportEvery == 0) {
                merge({}, all, counts);
                counts = {};
                all.clear();
            }
            return !stops();
        });
        merge(best.plans(), all, counts);
        const std::scoped_lock lock(m_mutex);
        for (const SplitCandidate& each : splits.all()) offerUnseen(m_splits.offer(each), m_best);
    }
}

void Search::inParallel(std::size_t tasks, const std::function<void(CostModel&)>& each)
{
    const std::size_t threads = std::min(m_models.size(), std::max<std::size_t>(1, tasks));
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < threads; ++i) workers.emplace_back([&each, &model = m_models[i]] { each(model); });
    each(m_models.front());
}

/// What a plan must be under to become one of those to return.
double Search::worstToReturn() const
{
    std::vector<SearchedPlan> best = m_best.plans();
    std::sort(best.begin(), best.end(), Better(m_options.objective));
    const auto limit = static_cast<std::size_t>(m_options.limit);
    return best.size() >= limit && best[limit - 1].feasible ? valueOf(best[limit - 1], m_options.objective)
                                                            : std::numeric_limits<double>::infinity();
}

/// Looks closer at those plans that could so become one of the plans to return, the most hopeful ones first. What is
/// looked at does not depend on the number of threads: only between two rounds are plans held against the best ones.
void Search::lookCloser()
{
    constexpr std::size_t kRound = 16;
    constexpr std::int64_t kMostWork = 10'000'000; // about half a second on one core
    std::int64_t work = 0;
    std::vector<SplitCandidate> candidates = m_splits.sorted();
    for (std::size_t begin = 0; begin < candidates.size() && !stops() && work <= kMostWork;) {
        const double worst = worstToReturn();
        std::vector<SplitCandidate*> round;
        for (; begin < candidates.size() && round.size() < kRound; ++begin) {
            candidates[begin].looked = candidates[begin].least >= worst; // it cannot become one of them
            if (!candidates[begin].looked) round.push_back(&candidates[begin]);
        }
        m_next = 0;
        std::atomic<std::int64_t> done{0};
        inParallel(round.size(), [&](CostModel& model) { lookCloser(model, round, done); });
        work += done;
    }
    for (SplitCandidate& each : candidates)
        if (!each.looked) offerUnseen(std::move(each), m_best);
}

bool Search::canStart(const ParallelPlan& plan)
{
    if (!m_launch) return true;
    const Status can = canLaunch(*m_launch, m_spec, plan, m_framework);
    if (can.ok()) return true;
    const std::scoped_lock lock(m_mutex);
    if (!m_result.refusal) m_result.refusal = can.error();
    return false;
}

/// Whether the search chooses what each stage of such a pipeline recomputes.
bool Search::choosesByStage(const ParallelPlan& plan) const
{
    return m_framework.recomputesByStage && !m_launch && !m_options.fixed.recompute && m_recompute.size() > 1 &&
           plan.pp > 1 && pipelineShape(plan).chunks == 1;
}

StageFreedom Search::freedomOf(const ParallelPlan& plan) const
{
    const bool chooses = choosesByStage(plan);
    // From the plan that recomputes nothing all others are reached.
    if (chooses && plan.recomputes()) return {};
    const bool takesCounts = !m_launch || *m_launch == LaunchTarget::Megatron;
    StageFreedom freedom;
    freedom.layers = takesCounts && !m_options.fixed.layers && splitsFreely(m_spec, m_framework, plan);
    if (chooses) freedom.recompute = m_recompute;
    return freedom;
}

/// A plan that nobody looks at closer. Those that a simulation only prices were not offered before.
void Search::offerUnseen(const std::optional<SplitCandidate>& candidate, BestPlans& best)
{
    if (candidate && needsSimulation(candidate->plan.plan)) best.offer(candidate->plan);
}

void Search::lookCloser(CostModel& model, std::span<SplitCandidate* const> candidates, std::atomic<std::int64_t>& work)
{
    while (!stops()) {
        const std::size_t index = m_next.fetch_add(1);
        if (index >= candidates.size()) return;
        std::vector<SearchedPlan> all;
        const SearchedPlan& even = candidates[index]->plan;
        const SearchedPlan best = bestSplit(model, even, freedomOf(even.plan), m_options.objective, all);
        candidates[index]->looked = true;
        // A stage costs as much as some tens of simulated passes.
        constexpr std::int64_t kOfStage = 25;
        const std::int64_t passes = isSimulatedQuickly(even.plan) ? even.plan.microbatches : 0;
        const auto evaluated = static_cast<std::int64_t>(all.size());
        work += (evaluated + 1) * even.plan.pp * even.plan.vpp * (kOfStage + passes);
        SearchCounts counts;
        counts.considered = counts.evaluated = evaluated;
        for (const SearchedPlan& each : all) counts.feasible += each.feasible;
        m_evaluated += counts.evaluated;
        const bool isNew =
            !best.plan.stageLayers.empty() || !best.plan.stageRecompute.empty() || needsSimulation(even.plan);
        merge(isNew ? std::vector{best} : std::vector<SearchedPlan>{}, all, counts);
    }
}

void Search::simulate()
{
    std::vector<Candidate> candidates;
    for (const SearchedPlan& plan : m_best.plans()) {
        Candidate& each = candidates.emplace_back(Candidate{plan});
        if (const auto cost = m_models.front().stepCost(plan.plan, m_spec.training.batch))
            each.shares = rateShares(closedForm(*cost, m_calibration).parts);
    }
    const auto settle = [&] {
        std::sort(candidates.begin(), candidates.end(),
                  [better = Better(m_options.objective)](const Candidate& a, const Candidate& b) {
                      return better(a.plan, b.plan);
                  });
        // What a plan becomes by stage may have been found from several.
        candidates.erase(std::unique(candidates.begin(), candidates.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.plan.plan == b.plan.plan; }),
                         candidates.end());
    };
    settle();
    // What takes long to simulate is simulated where it would be returned; simulated times may bring others to that place.
    const auto limit = static_cast<std::size_t>(m_options.limit);
    while (true) {
        std::vector<Candidate*> wanted;
        for (std::size_t i = 0; i < candidates.size(); ++i)
            if (!candidates[i].isSimulated && (i < limit || isSimulatedQuickly(candidates[i].plan.plan)))
                wanted.push_back(&candidates[i]);
        if (const auto robust = robustOf(candidates);
            wanted.empty() && robust && !candidates[robust->index].isSimulated)
            wanted.push_back(&candidates[robust->index]);
        if (wanted.empty()) break;
        m_next = 0;
        inParallel(wanted.size(), [&](CostModel& model) {
            for (std::size_t i = m_next.fetch_add(1); i < wanted.size() && !isAbandoned(); i = m_next.fetch_add(1)) {
                SearchedPlan& plan = wanted[i]->plan;
                const auto cost = model.stepCost(plan.plan, m_spec.training.batch);
                if (!cost) continue;
                if (const auto step = simulatedPlan(*cost, plan.plan)) plan = *step;
            }
        });
        if (isAbandoned()) return;
        for (Candidate* each : wanted) each->isSimulated = true;
        settle();
    }
    for (const Candidate& each : candidates) m_result.best.push_back(each.plan);
    if (const auto robust = robustOf(candidates)) chooseRobust(*robust);
}

/// Candidates: best first. Absent: no plan is feasible, or what is made least is not of that kind.
std::optional<Search::Robust> Search::robustOf(const std::vector<Candidate>& candidates) const
{
    std::vector<UncertainPlan> plans;
    if (!growsWithTime(m_options.objective)) return std::nullopt;
    for (std::size_t i = 0; i < candidates.size() && candidates[i].plan.feasible; ++i)
        plans.push_back({valueOf(candidates[i].plan, m_options.objective), candidates[i].shares});
    if (plans.empty()) return std::nullopt;
    const std::vector<double> regrets = expectedRegrets(plans, m_calibration);
    const auto at = static_cast<std::size_t>(std::min_element(regrets.begin(), regrets.end()) - regrets.begin());
    return Robust{at, plans[at].value / plans.front().value - 1, regrets[at], regrets.front()};
}

void Search::chooseRobust(const Robust& chosen)
{
    std::vector<SearchedPlan>& best = m_result.best;
    const std::size_t at = chosen.index;
    RobustChoice robust;
    robust.plan = best[at];
    robust.isBest = at == 0;
    robust.change = chosen.change;
    robust.regret = chosen.regret;
    robust.regretOfBest = chosen.regretOfBest;
    const bool isTime = m_options.objective == SearchObjective::Time;
    robust.sentence =
        robust.isBest
            ? fmt::format("the best plan is also the robust one: where rates are not as believed it loses {:.1f} % on "
                          "average to the best plan of the case",
                          100 * robust.regret)
            : fmt::format(
                  "{} takes {:.1f} % more {} as believed, but where rates are not as believed it loses {:.1f} % "
                  "on average to the best plan of the case, and the best plan {:.1f} %",
                  formatPlan(robust.plan.plan), 100 * robust.change, isTime ? "time" : "device time",
                  100 * robust.regret, 100 * robust.regretOfBest);
    if (m_options.robust)
        std::rotate(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(at),
                    best.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    m_result.robust = std::move(robust);
}

Result<PlanSearchResult> Search::run()
{
    const auto begin = std::chrono::steady_clock::now();
    const auto abandoned = [] { return Error{ErrorCode::Cancelled, "the search was abandoned", "plan search", ""}; };
    if (isAbandoned()) return abandoned();
    const auto threads = static_cast<std::size_t>(
        m_options.threads > 0 ? m_options.threads : std::max(1U, std::thread::hardware_concurrency()));
    FOURWALLS_TRY_ASSIGN(CostModel first, CostModel::create(m_spec, m_framework, m_calibration));
    bool isKnown = true;
    for (std::size_t kind = 0; kind < m_spec.cluster.deviceKinds(); ++kind) {
        const auto memory = static_cast<double>(m_spec.cluster.deviceOfKind(kind).memoryBytes);
        isKnown = isKnown && memory > 0;
        m_memory = isKnown ? std::max(m_memory, memory) : 0;
    }
    m_families = planFamilies(m_spec, m_framework, m_options, m_result.counts.considered);

    m_models.push_back(std::move(first));
    while (m_models.size() < std::min(threads, std::max<std::size_t>(1, m_families.size()))) {
        if (isAbandoned()) return abandoned();
        FOURWALLS_TRY_ASSIGN(CostModel model, CostModel::create(m_spec, m_framework, m_calibration));
        m_models.push_back(std::move(model));
    }
    const auto searchAll = [this] {
        m_next = 0;
        inParallel(m_families.size(), [this](CostModel& model) { work(model); });
        lookCloser();
    };
    searchAll();
    // Only where nothing fits and nobody said what stays on the host: the optimizer's states.
    if (m_result.counts.feasible == 0 && !m_options.fixed.offload && m_spec.cluster.device.hostBytesPerSecond > 0 &&
        !stops()) {
        m_offload = true;
        m_result.counts.tooLarge = m_result.counts.refused = 0; // the same plans again
        searchAll();
    }
    m_result.stopped = stops();
    simulate();
    if (isAbandoned()) return abandoned();
    if (m_options.explains && !m_result.best.empty() && m_result.best.front().feasible) {
        FOURWALLS_TRY_ASSIGN(m_result.reasons,
                             reasonsFor(m_result.best, m_seen, m_options.objective, m_spec, m_models.front()));
    }
    if (m_result.best.size() > static_cast<std::size_t>(m_options.limit))
        m_result.best.resize(static_cast<std::size_t>(m_options.limit));
    m_result.elapsedSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::move(m_result);
}

Error wrongOption(const char* field, std::string what, const char* hint)
{
    return {ErrorCode::InvalidArgument, std::move(what), field, hint};
}

} // namespace

double valueOf(const SearchedPlan& plan, SearchObjective objective)
{
    switch (objective) {
    case SearchObjective::Time: return plan.seconds;
    case SearchObjective::Memory: return plan.peakBytes;
    case SearchObjective::Cost: return plan.seconds * plan.plan.worldSize();
    case SearchObjective::Energy: return plan.joules;
    }
    return plan.seconds;
}

Result<PlanSearchResult> searchPlans(const RunSpec& spec, const FrameworkPreset& framework,
                                     const Calibration& calibration, const SearchOptions& options)
{
    if (options.devices < 1 || options.devices > 1'000'000)
        return wrongOption("gpus", "cannot be " + std::to_string(options.devices), "1 to 1000000 devices");
    if (options.limit < 1 || options.limit > 10'000)
        return wrongOption("limit", "cannot be " + std::to_string(options.limit), "1 to 10000 plans");
    if (spec.training.batch < 1)
        return wrongOption("batch", "cannot be " + std::to_string(spec.training.batch), "1 sample or more");
    if (options.robust && !growsWithTime(options.objective))
        return wrongOption("robust", "is of what grows with the step's time", "--objective time or cost");
    for (std::size_t kind = 0; kind < spec.cluster.deviceKinds(); ++kind)
        if (const DeviceSpec& device = spec.cluster.deviceOfKind(kind);
            options.objective == SearchObjective::Energy && !(device.powerWatts > 0))
            return Error{ErrorCode::Unsupported, device.name + " does not say what power it takes", "objective",
                         "a device with power_watts, or another objective"};
    return Search(spec, framework, calibration, options).run();
}

} // namespace fourwalls::cost
