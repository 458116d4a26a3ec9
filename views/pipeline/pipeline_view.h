// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline of one step: stages over time as recorded and as predicted, where the bubble is, and what schedules
// would leave of it.
#pragma once

#include "views/base/view.h" // first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "views/pipeline/pipeline_plot.h"

#include <QByteArray>
#include <QSet>

#include <memory>

class QComboBox;
class QStandardItemModel;
class QTableView;
class QToolButton;

namespace fourwalls {
struct DrawnStep;
}

namespace fourwalls::views {

class BubbleBars;
class ColumnFit;
class OrderControls;
class PlotCard;
class PlotLegend;
class StepPicker;

class PipelineView : public View {
    Q_OBJECT
public:
    explicit PipelineView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("pipeline"); }
    QString title() const override { return tr("Pipeline"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    std::vector<PageAction> emptyActions() const override;
    QString tableAsCsv() const override;
    void fitAll() override;

    /// What the title line says about the bubble.
    QString finding() const;
    /// What had to be inferred to draw this trace; empty: nothing.
    QString inferredNote() const;
    PipelinePlot& recordedPlot() { return *m_plot; }
    PipelinePlot& predictedPlot() { return *m_ghost; }
    OrderControls& order() { return *m_order; }
    QTableView& table() { return *m_table; }
    BubbleBars& bars() { return *m_bars; }
    /// The step that is shown; absent before the answer.
    std::optional<StepIndex> shownStep() const;

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void predictionChanged() override;
    void predictedStepChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void build();
    void buildControls();
    void buildActions();
    void retranslate();

    template <class R, class Job, class Done>
    void ask(const QByteArray& channel, Job job, Done done);
    void forgetAnswers();
    void askFacts();
    void askPicture();
    void findGhost(); ///< makes the picture of what is predicted, of many passes a little later
    void showGhost();
    void showNewGhost();
    void showGhostTexts();
    void drawGhost();
    void showAll();
    void showPicture();
    void showTable();
    void showPredictedColumn();
    void showBars();
    void showLegend();
    void placeRange(); ///< of this view, from the shared one
    void followShared();
    void followSlice(); ///< marks the pass that is selected in another view
    void pushShared();
    void clicked(PassPlace place);
    void jumpToTimeline();
    std::optional<StepIndex> wantedStep() const;
    bool showsReplay() const;
    std::shared_ptr<const DrawnStep> shownPrediction() const;
    QString ghostTitle() const;
    QString ghostFinding() const;

    QWidget* m_content = nullptr;
    PlotCard *m_card = nullptr, *m_ghostCard = nullptr, *m_tableCard = nullptr, *m_barsCard = nullptr;
    PipelinePlot *m_plot = nullptr, *m_ghost = nullptr;
    PlotLegend* m_legend = nullptr;
    StepPicker* m_steps = nullptr;
    OrderControls* m_order = nullptr;
    QComboBox* m_pipelines = nullptr;
    QToolButton *m_colours = nullptr, *m_jump = nullptr;
    QTableView* m_table = nullptr;
    ColumnFit* m_columns = nullptr;
    QStandardItemModel* m_model = nullptr;
    BubbleBars* m_bars = nullptr;

    Selection m_local; ///< the range of this view: inside one step, and a little more where a prediction is longer
    bool m_following = false;
    std::shared_ptr<const PipelineFacts> m_facts;
    std::shared_ptr<const PipelinePicture> m_picture, m_ghostPicture;
    std::shared_ptr<const DrawnStep> m_ghostOf;
    quint64 m_ghostAsked = 0; ///< counts the pictures that are made later
    std::size_t m_pipeline = 0;
    QSet<QByteArray> m_pending;
    QString m_error;
    bool m_painted = false; ///< the plot shows m_picture
};

} // namespace fourwalls::views
