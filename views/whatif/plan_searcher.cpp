// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_searcher.h.
#include "views/whatif/plan_searcher.h"

#include "views/session/gui_call.h"
#include "views/whatif/what_if.h"

#include <algorithm>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace fourwalls::views {

bool PlanQuestion::isSameAs(const PlanQuestion& other) const
{
    return devices == other.devices && objective == other.objective && most == other.most &&
           calibration == other.calibration && isSameSpec(spec, other.spec);
}

RunSpec withRoomFor(RunSpec spec, int devices)
{
    spec.cluster.holdRanks(devices);
    return spec;
}

struct PlanSearcher::Run {
    std::stop_source stop, abandon;
    std::thread thread;

    ~Run()
    {
        // What it found is for nobody: the thread ends after the plan that it is pricing.
        abandon.request_stop();
        if (thread.joinable()) thread.join();
    }
};

PlanSearcher::PlanSearcher(QObject* parent) : QObject(parent) {}
PlanSearcher::~PlanSearcher() = default;

void PlanSearcher::start(PlanQuestion question)
{
    m_run = std::make_unique<Run>();
    m_question = std::move(question);
    m_cloud = std::make_shared<PlanCloud>();
    m_cloud->reset(m_question->spec.plan);
    m_result.reset();
    m_error.reset();
    m_running = true;
    m_counts = {};
    const quint64 number = ++m_number;
    // Runs on this object's thread, if the search is still the one that is wanted.
    const auto post = [this, number](auto deliver) {
        callOnGuiThread(this, [this, number, deliver = std::move(deliver)] {
            if (number == m_number) deliver();
        });
    };
    cost::SearchOptions options;
    options.devices = m_question->devices;
    options.objective = m_question->objective;
    options.mostPlans = m_question->most;
    // One core stays with the window.
    options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency() - 1));
    options.stop = m_run->stop.get_token();
    options.abandon = m_run->abandon.get_token();
    options.limit = 50;
    options.explains = true;
    options.progress = [this, post](const cost::SearchCounts& counts) { post([this, counts] { m_counts = counts; }); };
    options.priced = [this, post](std::span<const cost::SearchedPlan> plans) {
        post([this, batch = std::vector<cost::SearchedPlan>(plans.begin(), plans.end())] {
            m_cloud->add(batch);
            emit found();
        });
    };
    m_run->thread = std::thread([this, post, spec = m_question->spec, calibration = m_question->calibration, options] {
        auto result = [&]() -> Result<cost::PlanSearchResult> {
            FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
            if (calibration) return cost::searchPlans(spec, framework, *calibration, options);
            FOURWALLS_TRY_ASSIGN(const Calibration published, loadCalibration("published"));
            return cost::searchPlans(spec, framework, published, options);
        }();
        if (!result) {
            post([this, error = result.error()] {
                m_running = false;
                m_error = error;
                emit failed();
            });
            return;
        }
        post([this, shared = std::make_shared<const cost::PlanSearchResult>(std::move(*result))] {
            m_running = false;
            m_result = shared;
            m_counts = shared->counts;
            emit finished();
        });
    });
}

void PlanSearcher::offer(const cost::SearchedPlan& plan)
{
    if (!m_result || !plan.feasible || !m_question || m_question->objective != cost::SearchObjective::Time) return;
    const std::vector<cost::SearchedPlan>& best = m_result->best;
    if (!best.empty() && best.front().feasible && best.front().seconds <= plan.seconds) return;
    auto better = std::make_shared<cost::PlanSearchResult>(*m_result);
    better->best.insert(better->best.begin(), plan);
    m_result = std::move(better);
    m_cloud->add({&plan, 1});
    emit finished();
}

void PlanSearcher::stop()
{
    if (m_run) m_run->stop.request_stop();
}

void PlanSearcher::abandon()
{
    ++m_number;
    m_running = false;
    m_counts = {};
    m_question.reset();
    m_result.reset();
    m_error.reset();
    if (m_run) m_run->abandon.request_stop();
}

} // namespace fourwalls::views
