// SPDX-License-Identifier: GPL-3.0-or-later
// The search for a plan on threads of its own: priced plans arrive while it runs, and it can be stopped.
#pragma once

#include "model/base/result.h"
#include "model/cost/plan_search.h"
#include "model/spec/calibration.h"

#include <QObject>

#include <memory>
#include <vector>

namespace fourwalls::views {

class PlanSearcher : public QObject {
    Q_OBJECT
public:
    explicit PlanSearcher(QObject* parent = nullptr);
    /// Abandons the search: waits for the plan that is being priced, not for the result.
    ~PlanSearcher() override;

    /// Starts anew; a search under way is abandoned. calibration: null for the published one. most: priced plans, 0: all.
    void start(const RunSpec& spec, std::shared_ptr<const Calibration> calibration, int devices,
               cost::SearchObjective objective, std::int64_t most);
    /// Ends the search early; `finished` follows with what was found.
    void stop();
    /// Ends it without a result: nothing is emitted any more.
    void abandon();
    bool isRunning() const { return m_running; }
    const cost::SearchCounts& counts() const { return m_counts; }

signals:
    void found(const std::vector<fourwalls::cost::SearchedPlan>& plans);
    /// The search ended: by itself, by stop(), or at its limit (result.stopped).
    void finished(const std::shared_ptr<const fourwalls::cost::PlanSearchResult>& result);
    void failed(const fourwalls::Error& error);

private:
    struct Run;
    std::unique_ptr<Run> m_run;
    bool m_running = false;
    quint64 m_number = 0;
    cost::SearchCounts m_counts;
};

} // namespace fourwalls::views
