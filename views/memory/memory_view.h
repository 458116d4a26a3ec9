// SPDX-License-Identifier: GPL-3.0-or-later
// The memory wall of one rank: the curve under the capacity, what the peak is made of, and every buffer.
#pragma once

#include "model/present/memory_questions.h"
#include "model/spec/calibration.h"
#include "views/base/view.h"
#include "views/memory/memory_area_plot.h"
#include "views/memory/memory_block_plot.h"

#include <QByteArray>
#include <QSet>

#include <memory>
#include <span>

class QComboBox;
class QSplitter;
class QStackedWidget;
class QTimer;
class QToolButton;

namespace fourwalls {
struct DrawnStep;
}

namespace fourwalls::views {

class FigureStrip;
class MemoryAlivePanel;
class MemoryBufferPanel;
class MemoryComparePanel;
class MemoryCounterPlot;
class MemoryFitCard;
class MemoryGrowthCard;
class MemoryMapCard;
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
    QString finding() const { return m_finding; }

    MemoryAreaPlot& areaPlot() { return *m_area; }
    MemoryBlockPlot& blockPlot() { return *m_blocks; }
    MemoryComparePanel& comparePanel() { return *m_comparePanel; }
    /// What is shown of a rank whose allocator was counted and whose buffers were not recorded.
    MemoryCounterPlot& counterPlot() { return *m_counted; }
    MemoryStackPanel& stackPanel() { return *m_stackPanel; }
    MemoryFitCard& fitCard() { return *m_fitCard; }
    /// What fits, in place of the tables.
    void setShowsFit(bool fit);
    MemoryGrowthCard& growthCard() { return *m_growthCard; }
    /// Whose memory grows over the steps, in place of the tables.
    void setShowsGrowth(bool growth);
    MemoryMapCard& mapCard() { return *m_mapCard; }
    /// The allocator's segments, in place of the tables.
    void setShowsMap(bool map);
    /// Names of what may stand in place of the tables: fit, growth, segments.
    static QStringList cards();
    /// Which of them does; empty: the tables.
    QString card() const;
    void setCard(const QString& name);

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
    void buildCards(); ///< that stand in place of the tables
    void buildControls();
    void buildActions();
    void retranslate();
    void connectTrace();

    void askFacts();
    void askWindow();
    void askBuffers();
    void askInstant();
    /// The question on `channel` is under way until its answer came.
    template <class R, class Job, class Done>
    void ask(const QByteArray& channel, Job job, Done done, Urgency urgency = Urgency::Frame);
    void fail(const Error& error);
    void forgetAnswers(); ///< of another rank or trace, and questions under way

    void onRank();
    void onStep();
    void onShownRange();
    void onInstantClicked(Instant at);
    void onAlive(std::shared_ptr<const AliveAnswer> answer);
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
    QString finding(const MemorySummary* peak, bool known, bool& alarm) const;
    bool isAtWall(const MemorySummary& peak) const;
    void showFigures();
    void showLegend();
    void showGhost();
    void refreshGhost(TimeRange inSight); ///< where other steps than it shows are in sight
    /// The steps whose predicted curves a ghost would have: of a long run those about the range that is shown.
    std::span<const StepSpan> ghostSteps() const;
    void showComparison();
    void askFit();
    void askGrowth();
    /// One of the cards in place of the tables, or none.
    void showCard(QToolButton* button, bool on);
    void mapMoment();
    TimePlot& shownPlot() const;
    const MemorySummary* summary() const;
    std::optional<Instant> instant() const; ///< whose buffers are listed: the marked one, else the peak

    QWidget* m_content = nullptr;
    FigureStrip* m_figures = nullptr;
    PlotCard* m_card = nullptr;
    PlotLegend* m_legend = nullptr;
    QComboBox* m_rankPicker = nullptr;
    StepPicker* m_stepPicker = nullptr;
    QToolButton *m_areas = nullptr, *m_blocksButton = nullptr, *m_gb = nullptr, *m_gib = nullptr, *m_wall = nullptr,
                *m_address = nullptr, *m_fit = nullptr, *m_growth = nullptr, *m_map = nullptr;
    QStackedWidget* m_plots = nullptr;
    MemoryAreaPlot* m_area = nullptr;
    MemoryBlockPlot* m_blocks = nullptr;
    MemoryCounterPlot* m_counted = nullptr;
    QSplitter* m_splitter = nullptr;
    MemoryAlivePanel* m_alivePanel = nullptr;
    MemoryBufferPanel* m_bufferPanel = nullptr;
    MemoryComparePanel* m_comparePanel = nullptr;
    MemoryFitCard* m_fitCard = nullptr;
    MemoryGrowthCard* m_growthCard = nullptr;
    MemoryMapCard* m_mapCard = nullptr;
    MemoryStackPanel* m_stackPanel = nullptr;
    QSplitter* m_tables = nullptr;
    std::optional<RankId> m_growthOf;                    ///< whose growth was asked for or is shown
    std::optional<TimeRange> m_growthBetween;            ///< and the measured range whose ends were compared
    std::string m_fitKey;                                ///< the spec that was asked for or is shown
    std::shared_ptr<const Calibration> m_fitCalibration; ///< and the rates that it was asked for with

    std::shared_ptr<const MemoryFacts> m_facts;
    std::shared_ptr<const MemoryPicture> m_picture;
    std::shared_ptr<const BlockPicture> m_buffers;
    std::shared_ptr<const AliveAnswer> m_alive;
    std::optional<Instant> m_marked;
    QString m_peakLabel, m_finding, m_error;
    InstantPhase m_peakPlace;
    std::optional<Instant> m_peakKnown; ///< the peak that the label and place describe
    QSet<QByteArray> m_pending;
    QTimer* m_listing = nullptr; ///< the table of buffers waits until the range stands still
    TimeRange m_askedWindow, m_askedBuffers;
    TimeRange m_ghostRange;                     ///< whose steps have a curve; empty: none, or the level that all reach
    std::shared_ptr<const DrawnStep> m_ghostOf; ///< what the ghost shows over m_ghostRange
    int m_askedPixels = 0;
};

} // namespace fourwalls::views
