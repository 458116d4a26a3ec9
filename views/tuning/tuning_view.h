// SPDX-License-Identifier: GPL-3.0-or-later
// The tuning wall: all plans for this network on so many devices as a plot to explore, and what failures and checkpoints
// take from a long training.
#pragma once

#include "model/present/plan_cloud.h"
#include "model/trace/job_time.h"
#include "model/trace/metrics.h"
#include "views/base/view.h"

#include <QPointer>

#include <memory>
#include <optional>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QPushButton;
class QSpinBox;
class QTableView;
class QTimer;

namespace fourwalls::views {

class ColumnFit;
class ElidedText;
class GoodputPlot;
class JobTimeBars;
class PlanLines;
class PlanScatter;
class PlanSearcher;
class PlanTableModel;
class PlotCard;
class PlotLegend;

class TuningView : public View {
    Q_OBJECT
public:
    explicit TuningView(QWidget* parent = nullptr);
    ~TuningView() override;

    QString id() const override { return QStringLiteral("tuning"); }
    QString title() const override { return tr("Tuning"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    std::vector<PageAction> emptyActions() const override;
    QString tableAsCsv() const override;
    void fitAll() override;

    const PlanCloud& cloud() const { return *m_cloud; }
    PlanScatter& scatter() { return *m_scatter; }
    PlanLines& lines() { return *m_lines; }
    QTableView& table() { return *m_table; }
    bool isSearching() const;
    /// Loads a plan of the search into the sliders.
    void takePlan(const ParallelPlan& plan);

protected:
    void traceChanged() override;
    void predictionChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void buildActions();
    void buildPlans(QWidget* parent);
    void buildTable(QWidget* parent);
    void buildGoodput(QWidget* parent);
    void connectPlans();
    void retranslate();
    /// The spec whose plans are searched: what the sliders say, else what was recorded.
    std::optional<RunSpec> base() const;
    void startIfNeeded();
    /// Machines that turn out to be quicker or slower have other best plans.
    void followRates();
    void search(std::int64_t most);
    /// Shows what that searcher has found and finds. Null: nothing.
    void follow(PlanSearcher* searcher);
    void onFound();
    void onFinished();
    void onFailed();
    void refreshPlots();
    void fillTable();
    void showState();
    void showReasons();
    void showMarks();
    void showGoodput();
    /// The calculator starts from what the job recorded, and from usual values where it recorded nothing.
    void startGoodput(const std::optional<JobTime>& job);
    /// What of the calculator's values is still as recorded.
    QString recordedNote() const;
    void choosePoint(std::uint32_t index);

    QWidget* m_content = nullptr;
    PlotCard *m_planCard = nullptr, *m_linesCard = nullptr, *m_tableCard = nullptr, *m_goodputCard = nullptr;
    PlotLegend* m_legend = nullptr;
    PlanScatter* m_scatter = nullptr;
    PlanLines* m_lines = nullptr;
    QTableView* m_table = nullptr;
    PlanTableModel* m_model = nullptr;
    ColumnFit* m_columns = nullptr;
    ElidedText* m_why = nullptr;    ///< what the best plans with another degree would cost
    ElidedText* m_robust = nullptr; ///< which plan loses least where rates are not as believed
    GoodputPlot* m_goodput = nullptr;
    JobTimeBars* m_jobTime = nullptr;
    QSpinBox* m_devices = nullptr;
    QComboBox* m_objective = nullptr;
    QPushButton *m_start = nullptr, *m_clear = nullptr;
    QLabel *m_devicesName = nullptr, *m_state = nullptr;
    QDoubleSpinBox *m_mtbf = nullptr, *m_checkpoint = nullptr, *m_restart = nullptr;
    QLabel *m_mtbfName = nullptr, *m_checkpointName = nullptr, *m_restartName = nullptr;
    QLabel* m_recordedNote = nullptr;
    std::optional<double> m_recordedMtbf, m_recordedCheckpoint, m_recordedRestart; ///< as the boxes show them
    QTimer* m_refresh = nullptr; ///< several batches of plans, one picture

    QPointer<PlanSearcher> m_searcher;     ///< the first look that all views share, or m_ownSearcher
    PlanSearcher* m_ownSearcher = nullptr; ///< for what a person asks here; made with the first such search
    std::shared_ptr<const PlanCloud> m_cloud = std::make_shared<PlanCloud>();
    std::shared_ptr<const Calibration> m_searchedRates; ///< that m_searched was priced with
    std::optional<RunSpec> m_searched;
    std::shared_ptr<const cost::PlanSearchResult> m_result;
    std::shared_ptr<const TraceMetrics> m_measured;
    QString m_error;
    bool m_devicesTouched = false, m_painted = false;
};

} // namespace fourwalls::views
