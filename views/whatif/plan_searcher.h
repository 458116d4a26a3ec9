// SPDX-License-Identifier: GPL-3.0-or-later
// The search for a plan on threads of its own: priced plans arrive while it runs, and it can be stopped. What it found stays
// with it, so that several views show one search.
#pragma once

#include "model/base/result.h"
#include "model/present/plan_cloud.h"
#include "model/spec/calibration.h"

#include <QObject>

#include <cstdint>
#include <memory>
#include <optional>

namespace fourwalls::views {

/// What is searched.
struct PlanQuestion {
    RunSpec spec;
    std::shared_ptr<const Calibration> calibration; ///< null: the published one
    int devices = 1;
    cost::SearchObjective objective = cost::SearchObjective::Time;
    std::int64_t most = 0; ///< priced plans; 0: all

    bool isSameAs(const PlanQuestion& other) const;
};

/// The machine of a spec with room for so many ranks: those on one processor are as many as a plan wants.
RunSpec withRoomFor(RunSpec spec, int devices);

class PlanSearcher : public QObject {
    Q_OBJECT
public:
    explicit PlanSearcher(QObject* parent = nullptr);
    /// Abandons the search: waits for the plan that is being priced, not for the result.
    ~PlanSearcher() override;

    /// Starts anew; a search under way is abandoned.
    void start(PlanQuestion question);
    /// Ends the search early; `finished` follows with what was found.
    void stop();
    /// Ends it without a result: nothing is emitted any more, and nothing is kept.
    void abandon();
    bool isRunning() const { return m_running; }
    /// A plan that somebody priced beside the search. One that is better than its best becomes that: `finished` says so.
    void offer(const cost::SearchedPlan& plan);

    /// Of the latest start; absent before it, and once it was abandoned.
    const std::optional<PlanQuestion>& question() const { return m_question; }
    const cost::SearchCounts& counts() const { return m_counts; }
    /// What was priced so far; another one for every start.
    std::shared_ptr<const PlanCloud> cloud() const { return m_cloud; }
    /// Null while it runs, and after an error.
    std::shared_ptr<const cost::PlanSearchResult> result() const { return m_result; }
    const std::optional<Error>& error() const { return m_error; }

signals:
    /// More plans are in the cloud.
    void found();
    /// The search ended: by itself, by stop(), or at its limit (result()->stopped).
    void finished();
    /// It could not search: error() says why.
    void failed();

private:
    struct Run;
    std::unique_ptr<Run> m_run;
    std::optional<PlanQuestion> m_question;
    std::shared_ptr<PlanCloud> m_cloud = std::make_shared<PlanCloud>();
    std::shared_ptr<const cost::PlanSearchResult> m_result;
    std::optional<Error> m_error;
    bool m_running = false;
    quint64 m_number = 0;
    cost::SearchCounts m_counts;
};

} // namespace fourwalls::views
