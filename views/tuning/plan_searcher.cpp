// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_searcher.h.
#include "views/tuning/plan_searcher.h"

#include "views/session/gui_call.h"

#include <algorithm>
#include <stop_token>
#include <thread>

namespace fourwalls::views {

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

void PlanSearcher::start(const RunSpec& spec, std::shared_ptr<const Calibration> calibration, int devices,
                         cost::SearchObjective objective, std::int64_t most)
{
    m_run = std::make_unique<Run>();
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
    options.devices = devices;
    options.objective = objective;
    options.mostPlans = most;
    // One core stays with the window.
    options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency() - 1));
    options.stop = m_run->stop.get_token();
    options.abandon = m_run->abandon.get_token();
    options.limit = 50;
    options.progress = [this, post](const cost::SearchCounts& counts) { post([this, counts] { m_counts = counts; }); };
    options.priced = [this, post](std::span<const cost::SearchedPlan> plans) {
        post([this, batch = std::vector<cost::SearchedPlan>(plans.begin(), plans.end())] { emit found(batch); });
    };
    m_run->thread = std::thread([this, post, spec, calibration = std::move(calibration), options] {
        auto result = [&]() -> Result<cost::PlanSearchResult> {
            FOURWALLS_TRY_ASSIGN(const FrameworkPreset framework, loadFramework(spec.framework));
            if (calibration) return cost::searchPlans(spec, framework, *calibration, options);
            FOURWALLS_TRY_ASSIGN(const Calibration published, loadCalibration("published"));
            return cost::searchPlans(spec, framework, published, options);
        }();
        if (!result) {
            post([this, error = result.error()] {
                m_running = false;
                emit failed(error);
            });
            return;
        }
        post([this, shared = std::make_shared<const cost::PlanSearchResult>(std::move(*result))] {
            m_running = false;
            m_counts = shared->counts;
            emit finished(shared);
        });
    });
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
    if (m_run) m_run->abandon.request_stop();
}

} // namespace fourwalls::views
