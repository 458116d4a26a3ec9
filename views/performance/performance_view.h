// SPDX-License-Identifier: GPL-3.0-or-later
// The performance wall: operators under their roofs, launches and what fusing would save, utilisation, critical path.
#pragma once

#include "views/base/analysis_view.h"
#include "views/performance/performance_data.h"

#include <memory>

namespace fourwalls::views {

class ExpertsPage;
class LaunchesPage;
class OperatorsPage;
class PathPage;
struct PredictedUtilisation;

class PerformanceView : public AnalysisView {
    Q_OBJECT
public:
    explicit PerformanceView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("performance"); }
    QString title() const override { return tr("Performance"); }
    QString tableAsCsv() const override;
    bool showsFinalData() const override;

    OperatorsPage& operators() { return *m_operators; }
    LaunchesPage& launches() { return *m_launches; }
    PathPage& path() { return *m_path; }
    ExpertsPage& experts() { return *m_experts; }
    const PerformanceData* facts() const { return m_facts.get(); }

protected:
    void askAll() override;
    void forget() override;
    void showAll() override;
    void retranslate() override;
    bool followsRank() const override { return true; }
    QString nothingReason() const override;
    void predictionChanged() override;

private:
    /// Marks the operator of the slice that is selected in another view.
    void followSlice();
    void askPageData();
    void askPath();
    void askExperts();
    PredictedUtilisation predictedUtilisation() const;
    void showFigures();
    static QString mfuNote(const TraceMetrics& metrics);
    void openOnTimeline(RankId rank, TimeRange range);

    OperatorsPage* m_operators;
    LaunchesPage* m_launches;
    PathPage* m_path;
    ExpertsPage* m_experts;
    std::shared_ptr<const PerformanceData> m_facts;
    std::optional<StepIndex> m_step; ///< what m_facts was asked for
    std::shared_ptr<const LaunchAnalysis> m_launchFacts;
    std::shared_ptr<const CriticalPath> m_pathFacts;
    std::shared_ptr<const ExpertLoad> m_expertFacts;
};

} // namespace fourwalls::views
