// SPDX-License-Identifier: GPL-3.0-or-later
// How the training goes: figures, four curves and a table, one entry per step.
#pragma once

#include "views/base/view.h"
#include "views/steps/steps_model.h"

#include <memory>

class QSortFilterProxyModel;
class QTableView;

namespace fourwalls::views {

class ColumnFit;
class FigureStrip;
class PlotCard;
class PlotLegend;
class StepsPlot;

class StepsView : public View {
    Q_OBJECT
public:
    explicit StepsView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("steps"); }
    QString title() const override { return tr("Steps"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    std::vector<PageAction> emptyActions() const override;
    QString tableAsCsv() const override;
    void fitAll() override;

    /// What the title line says: how loss and time developed.
    QString finding() const { return m_finding; }
    StepsPlot& plot() { return *m_plot; }
    QTableView& table() { return *m_tableView; }

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void predictionChanged() override;
    void predictedStepChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void build();
    void buildActions();
    void retranslate();
    void askTable();
    void showTable();
    void showFigures();
    void showPrediction();
    void hideEmptyColumns();
    bool hasParts() const; ///< where the time of steps went is known
    void chooseStep(StepIndex step);
    void openOnTimeline(StepIndex step);
    void followStep();
    void followCursor();
    QString sentence() const;

    QWidget* m_content = nullptr;
    FigureStrip* m_figures = nullptr;
    PlotCard *m_card = nullptr, *m_tableCard = nullptr;
    PlotLegend *m_legend = nullptr, *m_marks = nullptr;
    StepsPlot* m_plot = nullptr;
    QTableView* m_tableView = nullptr;
    ColumnFit* m_fit = nullptr;
    StepsModel* m_model = nullptr;
    QSortFilterProxyModel* m_sorted = nullptr;

    std::shared_ptr<const StepTable> m_data;
    QString m_finding, m_error;
    bool m_pending = false;
    bool m_painted = false; ///< the curves show m_data
};

} // namespace fourwalls::views
