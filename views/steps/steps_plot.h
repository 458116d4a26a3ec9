// SPDX-License-Identifier: GPL-3.0-or-later
// Loss, gradient norm, learning rate and step time over the steps: four small plots with one cursor.
#pragma once

#include "model/present/steps_table.h"

#include <QString>
#include <QWidget>

#include <array>
#include <functional>
#include <memory>
#include <vector>

class QCPAxisRect;
class QCPGraph;
class QCPItemLine;
class QCPItemStraightLine;
class QCPMarginGroup;
class QCPTextElement;
class QCustomPlot;

namespace fourwalls::views {

class StepsPlot : public QWidget {
    Q_OBJECT
public:
    explicit StepsPlot(QWidget* parent = nullptr);

    /// Null or empty: nothing is drawn. Series without any value get no plot.
    void setTable(std::shared_ptr<const StepTable> table);
    void setSelected(std::optional<StepIndex> step);
    /// The predicted time of a step, as a dashed line over the recorded times; absent: none.
    void setPrediction(std::optional<Duration> time);
    std::optional<Duration> prediction() const { return m_prediction; }
    /// The step under the pointer here or in another view.
    void setHovered(std::optional<StepIndex> step);
    void retranslate();
    /// Takes the current theme's colours.
    void applyTheme();

    void zoomBy(double factor); ///< about the pointer's step or the middle; > 1 shows fewer steps
    void panBy(double share);   ///< of the visible steps
    void fit();
    /// The steps shown, as numbers on the axis.
    std::pair<double, double> shownSteps() const;
    int seriesCount() const { return static_cast<int>(m_series.size()); }

    QSize minimumSizeHint() const override { return {320, 180}; }

signals:
    void stepClicked(fourwalls::StepIndex step);
    void stepDoubleClicked(fourwalls::StepIndex step);
    void stepHovered(std::optional<fourwalls::StepIndex> step);
    void painted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    /// One of the small plots.
    struct Series {
        QString name;
        std::function<std::optional<double>(const StepRow&)> value;
        std::function<QString(double)> text;
        double unit = 1; ///< values are divided by this on the axis
        QCPAxisRect* rect = nullptr;
        QCPTextElement* heading = nullptr;
        QCPGraph* line = nullptr;
        QCPItemLine *cursor = nullptr, *selected = nullptr;
        QCPItemStraightLine* predicted = nullptr; ///< of step times only
    };

    void rebuild();
    void draw();
    std::vector<Series> wantedSeries() const;
    void addSeries(Series series, int place);
    void addData(Series& series);
    void addWarmupBands(const Series& series);
    void addMedian(const Series& series);
    void showPrediction();
    void fitValues(const Series& series);
    void showCursor();
    void showRange(double low, double high);
    std::optional<StepIndex> stepAt(QPointF where) const;
    const StepRow* rowOf(StepIndex step) const;

    QCustomPlot* m_plot;
    std::shared_ptr<const StepTable> m_table;
    std::vector<Series> m_series;
    std::array<QCPMarginGroup*, 2> m_margins{}; ///< of the two columns
    std::optional<StepIndex> m_selected, m_hovered;
    std::optional<Duration> m_prediction;
    QPointF m_pressed;
    bool m_dragged = false;
};

} // namespace fourwalls::views
