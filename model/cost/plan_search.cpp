// SPDX-License-Identifier: Apache-2.0
// The search: families of plans are dealt out to threads, each with its own cost model.
#include "model/cost/plan_search.h"

#include "model/cost/closed_form.h"
#include "model/cost/plan_reasons.h"
#include "model/cost/plan_space.h"
#include "model/cost/schedule_simulation.h"
#include "model/cost/step_cost.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <tuple>

namespace fourwalls::cost {

namespace {

constexpr std::int64_t kReportEvery = 2000; ///< priced plans between two reports of progress
constexpr std::size_t kSpare = 4;           ///< candidates kept per plan asked for; simulation may reorder them

/// Feasible first, then by the objective; ties by time, by memory, then by what is simpler, so that results are repeatable.
class Better {
public:
    explicit Better(SearchObjective objective) : m_objective(objective) {}

    bool operator()(const SearchedPlan& a, const SearchedPlan& b) const
    {
        const auto key = [this](const SearchedPlan& p) {
            return std::tuple(!p.feasible, p.feasible ? valueOf(p, m_objective) : p.peakBytes, p.seconds, p.peakBytes,
                              p.plan.tp, p.plan.pp, p.plan.cp, p.plan.ep, p.plan.vpp, p.plan.zero, p.plan.microbatches,
                              p.plan.shard, static_cast<int>(p.plan.recompute), p.plan.sequenceParallel,
                              static_cast<int>(p.plan.schedule));
        };
        return key(a) < key(b);
    }

private:
    SearchObjective m_objective;
};

/// The best so many plans seen; the worst of them on top of a heap.
class BestPlans {
public:
    BestPlans(std::size_t most, SearchObjective objective) : m_most(most), m_better(objective) {}

    void offer(const SearchedPlan& plan)
    {
        if (m_heap.size() == m_most) {
            if (!m_better(plan, m_heap.front())) return;
            std::pop_heap(m_heap.begin(), m_heap.end(), m_better);
            m_heap.pop_back();
        }
        m_heap.push_back(plan);
        std::push_heap(m_heap.begin(), m_heap.end(), m_better);
    }
    const std::vector<SearchedPlan>& plans() const { return m_heap; }

private:
    std::size_t m_most;
    Better m_better;
    std::vector<SearchedPlan> m_heap;
};

class Search {
public:
    Search(const RunSpec& spec, const FrameworkPreset& framework, const Calibration& calibration,
           const SearchOptions& options)
        : m_spec(spec)
        , m_framework(framework)
        , m_calibration(calibration)
        , m_options(options)
        , m_parameters(static_cast<double>(parameterCount(spec.model)))
        , m_best(static_cast<std::size_t>(options.limit) * kSpare, options.objective)
        , m_seen(options.objective)
    {
        if (const TransformerSpec* t = spec.model.transformer(); t && t->hasExperts()) {
            const auto active = static_cast<double>(activeParameterCount(spec.model));
            const auto experts = static_cast<double>(t->mixture.experts), topK = static_cast<double>(t->mixture.topK);
            if (experts > topK) m_expertParameters = (m_parameters - active) * experts / (experts - topK);
        }
    }

    Result<PlanSearchResult> run();

private:
    void work(CostModel& model);
    /// One priced plan; nothing where it cannot be built.
    std::optional<SearchedPlan> price(CostModel& model, const ParallelPlan& plan) const;
    void merge(const std::vector<SearchedPlan>& found, const std::vector<SearchedPlan>& all,
               const SearchCounts& counts);
    void report();
    std::vector<SearchedPlan> simulated(CostModel& model) const;
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
    double m_parameters = 0, m_expertParameters = 0;
    double m_memory = 0; ///< of a device; 0 unknown
    std::vector<PlanFamily> m_families;
    bool m_offload = false;
    std::atomic<std::size_t> m_next{0};
    std::atomic<std::int64_t> m_evaluated{0};
    std::mutex m_mutex; ///< guards what follows
    BestPlans m_best;
    BestByPart m_seen;
    PlanSearchResult m_result;
};

std::optional<SearchedPlan> Search::price(CostModel& model, const ParallelPlan& plan) const
{
    const auto cost = model.stepCost(plan, m_spec.training.batch);
    if (!cost) return std::nullopt;
    const Prediction prediction = closedForm(*cost, m_calibration);
    return SearchedPlan{plan, prediction.seconds, prediction.peakBytes, prediction.feasible};
}

void Search::merge(const std::vector<SearchedPlan>& found, const std::vector<SearchedPlan>& all,
                   const SearchCounts& counts)
{
    const std::scoped_lock lock(m_mutex);
    for (const SearchedPlan& plan : found) m_best.offer(plan);
    if (m_options.keepAll) m_result.all.insert(m_result.all.end(), all.begin(), all.end());
    if (m_options.priced && !all.empty()) m_options.priced(all);
    if (m_options.explains) m_seen.add(all);
    m_result.counts.considered += counts.considered;
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
        BestPlans best(static_cast<std::size_t>(m_options.limit) * kSpare, m_options.objective);
        std::vector<SearchedPlan> all;
        visitPlans(m_spec, m_framework, m_families[index], m_offload, [&](const ParallelPlan& plan) {
            ++counts.considered;
            if (!m_options.fixed.allows(plan)) return !stops();
            if (m_memory > 0 && leastStateBytes(m_parameters, m_expertParameters, m_framework, plan) > m_memory) {
                ++counts.tooLarge;
                return !stops();
            }
            const auto priced = price(model, plan);
            if (!priced) return !stops();
            ++m_evaluated;
            ++counts.evaluated;
            if (priced->feasible) ++counts.feasible;
            best.offer(*priced);
            if (m_options.keepAll || m_options.priced || m_options.explains) all.push_back(*priced);
            if (counts.evaluated % kReportEvery == 0) {
                merge({}, all, counts);
                counts = {};
                all.clear();
            }
            return !stops();
        });
        merge(best.plans(), all, counts);
    }
}

/// The candidates with simulated times, best first, as many as were asked for.
std::vector<SearchedPlan> Search::simulated(CostModel& model) const
{
    std::vector<SearchedPlan> plans = m_best.plans();
    for (SearchedPlan& plan : plans) {
        if (isAbandoned()) return {};
        const auto cost = model.stepCost(plan.plan, m_spec.training.batch);
        if (!cost) continue;
        const auto step = simulateSchedule(*cost);
        if (!step) continue;
        plan.seconds = step->seconds;
        plan.peakBytes = 0;
        for (const SimulatedStage& stage : step->stages) plan.peakBytes = std::max(plan.peakBytes, stage.peakBytes);
        plan.feasible = m_memory <= 0 || plan.peakBytes <= m_memory;
    }
    std::sort(plans.begin(), plans.end(), Better(m_options.objective));
    if (plans.size() > static_cast<std::size_t>(m_options.limit))
        plans.resize(static_cast<std::size_t>(m_options.limit));
    return plans;
}

Result<PlanSearchResult> Search::run()
{
    const auto begin = std::chrono::steady_clock::now();
    const auto abandoned = [] { return Error{ErrorCode::Cancelled, "the search was abandoned", "plan search", ""}; };
    if (isAbandoned()) return abandoned();
    FOURWALLS_TRY_ASSIGN(CostModel first, CostModel::create(m_spec, m_framework, m_calibration));
    m_memory = static_cast<double>(m_spec.cluster.device.memoryBytes);
    m_families = planFamilies(m_spec, m_options, m_result.counts.considered);

    const auto searchAll = [&]() -> Status {
        m_next = 0;
        int threads = m_options.threads > 0 ? m_options.threads
                                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
        threads = std::min(threads, static_cast<int>(std::max<std::size_t>(1, m_families.size())));
        std::vector<CostModel> models;
        for (int i = 1; i < threads; ++i) {
            if (isAbandoned()) return abandoned();
            FOURWALLS_TRY_ASSIGN(CostModel model, CostModel::create(m_spec, m_framework, m_calibration));
            models.push_back(std::move(model));
        }
        std::vector<std::jthread> workers;
        for (CostModel& model : models) workers.emplace_back([this, &model] { work(model); });
        work(first);
        return {};
    };
    FOURWALLS_TRY(searchAll());
    // Only where nothing fits: the optimizer's states on the host.
    if (m_result.counts.feasible == 0 && m_spec.cluster.device.hostBytesPerSecond > 0 && !stops()) {
        m_offload = true;
        m_result.counts.tooLarge = 0; // the same plans again
        FOURWALLS_TRY(searchAll());
    }
    m_result.stopped = stops();
    m_result.best = simulated(first);
    if (isAbandoned()) return abandoned();
    if (m_options.explains && !m_result.best.empty() && m_result.best.front().feasible) {
        FOURWALLS_TRY_ASSIGN(m_result.reasons,
                             reasonsFor(m_result.best.front(), m_seen, m_options.objective, m_spec, first));
    }
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
    return Search(spec, framework, calibration, options).run();
}

} // namespace fourwalls::cost
