// SPDX-License-Identifier: GPL-3.0-or-later
// The memory wall of one rank: the curve under the capacity, what the peak is made of, and every buffer.
#pragma once

#include "model/present/memory_ghost.h"
#include "views/base/view.h"
#include "views/memory/memory_answers.h"
#include "views/memory/memory_area_plot.h"
#include "views/memory/memory_block_plot.h"

#include <memory>
#include <optional>
#include <vector>

class QComboBox;
class QSplitter;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace fourwalls::views {

class FigureStrip;
class MemoryAlivePanel;
class MemoryBufferPanel;
class MemoryCards;
class MemoryComparePanel;
class MemoryCounterPlot;
class MemoryStackPanel;
class PlotCard;
class PlotLegend;
class StepPicker;

class MemoryView : public View {
    Q_OBJECT
public:
    explicit MemoryView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("memory"); }
    QString title() const override { return tr("Memory"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    std::vector<PageAction> emptyActions() const override;
    QString tableAsCsv() const override;
    void exportTo(QPainter& painter, QSizeF size) override;

    /// A predicted curve over the recording, dashed; empty: none. Samples by time on the trace's clock.
    void setGhost(std::vector<MemorySample> ghost);
    /// Blocks per buffer instead of areas per category.
    void setShowsBlocks(bool blocks);
    bool showsBlocks() const;
    /// What the title line says about the peak; empty until it is known.
    QString finding() const;

    MemoryAreaPlot& areaPlot() { return *m_area; }
    MemoryBlockPlot& blockPlot() { return *m_blocks; }
    MemoryComparePanel& comparePanel() { return *m_comparePanel; }
    /// What is shown of a rank whose allocator was counted and whose buffers were not recorded.
    MemoryCounterPlot& counterPlot() { return *m_counted; }
    MemoryStackPanel& stackPanel() { return *m_stackPanel; }
    /// What stands below the curve.
    MemoryCards& cards() const { return *m_cards; }

protected:
    void traceChanged() override;
    void predictionChanged() override;
    void predictedStepChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void buildControls();
    void buildActions();
    void retranslate();

    void askInstant();
    void fail(const Error& error);
    void forgetAnswers(); ///< of another rank or trace, and questions under way

    void onRank();
    void onStep();
    void onShownRange();
    void onInstantClicked(Instant at);
    void onFacts();
    void onWindow(const MemoryWindowAnswer& answer);
    void onBuffers();
    void onAlive();
    void jumpToTimeline();
    void zoomToBuffer(AllocationId id);
    void selectBuffer(AllocationId id);
    void showStack(AllocationId id);

    void fit(); ///< the measured range, else the chosen step, else everything
    void fillPickers();
    void listBuffers();
    void showWhatIsKnown(); ///< the curve of buffers with the tables, or what was counted
    void showSummary();
    void showCounted();
    void showLegend();
    void showGhost();
    void refreshGhost(TimeRange inSight); ///< where other steps than it shows are in sight
    void showComparison();
    void mapMoment();
    bool isSettled() const;
    TimePlot& shownPlot() const;
    MemoryInSight inSight() const;
    const std::shared_ptr<const MemoryFacts>& facts() const { return m_answers->facts(); }
    const MemorySummary* summary() const;
    std::optional<Instant> instant() const; ///< whose buffers are listed: the marked one, else the peak

    QWidget* m_content = nullptr;
    FigureStrip* m_figures = nullptr;
    PlotCard* m_card = nullptr;
    PlotLegend* m_legend = nullptr;
    QComboBox* m_rankPicker = nullptr;
    StepPicker* m_stepPicker = nullptr;
    QToolButton *m_areas = nullptr, *m_blocksButton = nullptr, *m_gb = nullptr, *m_gib = nullptr, *m_wall = nullptr,
                *m_address = nullptr;
    QStackedWidget* m_plots = nullptr;
    MemoryAreaPlot* m_area = nullptr;
    MemoryBlockPlot* m_blocks = nullptr;
    MemoryCounterPlot* m_counted = nullptr;
    QSplitter* m_splitter = nullptr;
    MemoryAlivePanel* m_alivePanel = nullptr;
    MemoryBufferPanel* m_bufferPanel = nullptr;
    MemoryComparePanel* m_comparePanel = nullptr;
    MemoryStackPanel* m_stackPanel = nullptr;
    MemoryCards* m_cards = nullptr;

    MemoryAnswers* m_answers = nullptr;
    GhostCurve m_ghost;
    /// What was made last before the peak, and where in the step that is; absent instant: not known yet.
    struct PeakMaker {
        std::optional<Instant> at;
        QString text;
        InstantPhase place;
    };
    PeakMaker m_peakMaker;
    std::optional<Instant> m_marked;
    QString m_error;
    QTimer* m_listing = nullptr; ///< the table of buffers waits until the range stands still
};

} // namespace fourwalls::views
