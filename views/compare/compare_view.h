// SPDX-License-Identifier: GPL-3.0-or-later
// Two traces beside each other, aligned at their first measured steps: timeline above timeline, memory over memory, the
// figures with their differences, and which layers changed most. The open trace is A; the window supplies B.
#pragma once

#include "model/present/step_spans.h"
#include "views/base/view.h"
#include "views/compare/compare_findings.h"
#include "views/compare/compare_makers.h"
#include "views/compare/compare_operators.h"

#include <array>

class QComboBox;
class QPushButton;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;
class QToolButton;
class QLabel;
class QLayout;
class QTimer;

namespace fourwalls::views {

class ColumnFit;
class CompareMemoryPlot;
class ElidedText;
class FigureStrip;
class PlotLegend;
class PlotCard;
class TimelineCanvas;
class TimelineSource;

class CompareView : public View {
    Q_OBJECT
public:
    explicit CompareView(QWidget* parent = nullptr);
    ~CompareView() override;

    QString id() const override { return QStringLiteral("compare"); }
    QString title() const override { return tr("Compare"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    QString tableAsCsv() const override;
    void fitAll() override;

    /// The other trace, B; null takes it away. Its name is shown.
    void setPartner(TraceSession* partner, const QString& name);
    TraceSession* partner() const { return m_partner; }
    const SharedComparison& comparison() const { return m_comparison; }
    /// What the traces differ in, if they do; for tests.
    const ElidedText& contrast() const { return *m_contrast; }
    const FigureStrip& strip() const { return *m_strip; }
    const CompareMemoryPlot& memory() const { return *m_memory; }
    CompareLayerModel& layers() { return *m_layers; }
    CompareOperatorModel& operators() { return *m_operators; }
    CompareMakerModel& makers() { return *m_makers; }
    CompareFindingModel& findings() { return *m_findings; }
    /// The tables beside the figures: what is wrong; layers; kernels and operators; who holds memory at the peak, and at the
    /// end.
    enum class Table { Findings, Layers, Operators, Makers, MakersAtEnd };
    void showTable(Table table);
    CompareFigureModel& figures() { return *m_figures; }
    void colourByChange(bool on);
    TimelineCanvas& canvas(std::size_t which) { return *m_sides[which].canvas; }

signals:
    /// The user wants to choose the other trace; where: the button, for a menu.
    void partnerRequested(QWidget* where);

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    struct Side {
        PlotCard* card = nullptr;
        TimelineSource* source = nullptr;
        TimelineCanvas* canvas = nullptr;
        std::shared_ptr<const StepSpans> steps; ///< null until they are known
        TimeRange whole;
        bool predicted = false;
    };

    void build();
    void buildEmpty();
    void buildSide(std::size_t side);
    QLayout* buildTables();
    void buildActions();
    void retranslate();
    void nameColours(); ///< of the memory curves, in this theme
    void watch(TraceSession* trace);
    void fail(const Error& error);
    void start();
    void startSides();
    bool hasBoth() const;
    void showEmptyReason();
    void nameSides();
    void readSteps(std::size_t which);
    void align();
    void compareNow();
    void readPeaks(std::size_t which);
    void diagnoseBoth(const std::shared_ptr<std::unique_ptr<TraceQuery>>& a);
    void showRange(TimeRange range);
    void askMemory();
    void showComparison();
    void showFigures();
    void showChanges(); ///< as colours of the timelines, or not
    TraceSession* sessionOf(std::size_t which) const { return which == 0 ? session() : m_partner.data(); }
    /// The rank that is compared: the selected one where a trace has it, else its first.
    RankId rankOf(std::size_t which) const;
    TimeRange firstStep(std::size_t which) const;

    QPointer<TraceSession> m_partner;
    QString m_partnerName;
    std::array<Side, 2> m_sides;
    Selection m_axis;           ///< times of A; wide enough for both
    Selection m_axisOfB;        ///< the same on B's clock
    Duration m_offset;          ///< of B's clock against A's, so that the first steps begin together
    bool m_hasTimelines = true; ///< else both are memory snapshots
    bool m_tableChosen = false; ///< by hand
    bool m_aligned = false, m_failed = false, m_inRange = false;
    bool m_diagnosed = false; ///< both, or it is known why not
    QString m_problem;
    std::array<std::int64_t, 2> m_peaks{};
    SharedComparison m_comparison;

    QStackedWidget* m_pages;
    QWidget* m_empty;
    QLabel* m_emptyText;
    QPushButton* m_choose;
    QWidget* m_content;
    ElidedText* m_contrast;
    FigureStrip* m_strip;
    PlotCard *m_memoryCard, *m_figureCard, *m_layerCard;
    CompareMemoryPlot* m_memory;
    CompareFigureModel* m_figures;
    CompareFindingModel* m_findings;
    CompareLayerModel* m_layers;
    CompareOperatorModel* m_operators;
    CompareMakerModel* m_makers;
    QComboBox* m_tables;
    QStackedWidget* m_tablePages;
    QSortFilterProxyModel *m_sortedFigures, *m_sortedFindings, *m_sortedLayers, *m_sortedOperators, *m_sortedMakers;
    QTableView *m_figureTable, *m_findingTable, *m_layerTable, *m_operatorTable, *m_makerTable;
    ColumnFit *m_figureFit, *m_findingFit, *m_layerFit, *m_operatorFit, *m_makerFit;
    QPushButton* m_other;
    QToolButton* m_byChange; ///< timelines are coloured by what became longer or shorter
    PlotLegend* m_changeLegend;
    QAction *m_chooseAction, *m_fitAction;
};

} // namespace fourwalls::views
