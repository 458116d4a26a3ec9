// SPDX-License-Identifier: GPL-3.0-or-later
// The four walls at a glance: figures, where the peak goes, which wall binds, and what would help.
#pragma once

#include "views/base/view.h" // first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "views/overview/overview_facts.h"
#include "views/plot/plot_card.h"

#include <array>
#include <memory>

class QGridLayout;
class QHBoxLayout;
class QLabel;

namespace fourwalls::views {

class MiniPlot;
class SuggestionList;
class WaterfallPlot;
struct WaterfallBar;
struct MiniPicture;
struct Prediction;

/// The card of one wall: title, verdict, plot; marked where it is the wall that binds.
class WallCard : public PlotCard {
    Q_OBJECT
public:
    explicit WallCard(QWidget* parent = nullptr);
    void setVerdict(const QString& text);
    QString verdict() const;
    /// reason: why it is the wall that binds; empty where the verdict says it. isWide: there is room beside the title.
    void setBinding(bool binding, const QString& reason, bool isWide);
    bool isBinding() const { return m_binding; }
    MiniPlot& plot() { return *m_plot; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel *m_reason, *m_verdict;
    MiniPlot* m_plot;
    bool m_binding = false;
};

class OverviewView : public View {
    Q_OBJECT
public:
    explicit OverviewView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("overview"); }
    QString title() const override { return tr("Overview"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    QString tableAsCsv() const override;

    /// What was found out so far; null before the answers.
    const OverviewFacts* facts() const { return m_facts.get(); }
    const PlanOutlook* plans() const { return m_plans.get(); }
    const compare::WallVerdict& verdict() const { return m_verdict; }
    WaterfallPlot& waterfall() { return *m_waterfall; }
    WallCard& wall(compare::Wall wall) { return *m_walls[static_cast<std::size_t>(wall)]; }
    SuggestionList& suggestions() { return *m_suggestions; }

protected:
    void traceChanged() override;
    void themeChanged() override;
    void languageChanged() override;
    void predictionChanged() override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build();
    void buildActions();
    void retranslate();
    void arrangeWalls();
    void askFacts();
    void askOutlook();
    void askStepInsight();
    void showAll();
    void showFigures();
    PlotFigure busyFigure() const;
    void showWaterfall();
    void showWalls();
    void showSuggestions();
    bool showsFindings() const;
    void showFindings();
    void showFinding(int index);
    void choose(int suggestion);
    void openWall(compare::Wall wall);
    void openPart(const WaterfallBar& bar);
    std::optional<RunSpec> knownSpec() const;
    std::shared_ptr<const Prediction> shownPrediction() const;

    MiniPicture memoryPicture() const;
    MiniPicture allocatorPicture() const;
    MiniPicture linkPicture() const;
    MiniPicture rooflinePicture() const;
    MiniPicture ratesPicture() const;
    MiniPicture planPicture() const;

    QWidget* m_content = nullptr;
    FigureStrip* m_figures = nullptr;
    PlotCard *m_waterfallCard = nullptr, *m_helpCard = nullptr;
    WaterfallPlot* m_waterfall = nullptr;
    SuggestionList* m_suggestions = nullptr;
    std::array<WallCard*, compare::kWallCount> m_walls{};
    QGridLayout* m_wallGrid = nullptr;
    int m_columns = 0;

    std::shared_ptr<const OverviewFacts> m_facts;
    std::shared_ptr<const PlanOutlook> m_plans;
    compare::WallVerdict m_verdict;
    QString m_error, m_planError, m_insightError;
    bool m_pending = false, m_plansPending = false, m_insightPending = false;
    bool m_painted = false; ///< the plots show m_facts
};

} // namespace fourwalls::views
