// SPDX-License-Identifier: GPL-3.0-or-later
// The four walls at a glance: figures, where the peak goes, which wall binds, and what would help.
#pragma once

#include "views/base/view.h" // first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/overview_facts.h"
#include "views/overview/help_card.h"
#include "views/plot/plot_card.h"

#include <QPointer>

#include <array>
#include <memory>

class QBoxLayout;
class QGridLayout;
class QScrollArea;

namespace fourwalls::views {

class PlanSearcher;

class MiniPlot;
class StepPicker;
class SuggestionList;
class WallCard;
class WaterfallPlot;
struct WaterfallBar;
struct MiniPicture;
struct Ghost;

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
    StepPicker& stepPicker() { return *m_picker; }
    SuggestionList& suggestions() { return m_helpCard->suggestions(); }
    HelpCard& helpCard() { return *m_helpCard; }

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
    void joinPlans();
    void failPlans(const Error& error);
    void askStepInsight();
    void showAll();
    void showPicker();
    void showWaterfall();
    void showWalls();
    HelpFacts help() const;
    void showFinding(int index);
    void choose(int suggestion);
    void openWall(compare::Wall wall);
    void openPart(const WaterfallBar& bar);
    std::optional<RunSpec> knownSpec() const;
    std::shared_ptr<const Ghost> shownGhost() const;

    MiniPicture memoryPicture() const;
    MiniPicture allocatorPicture() const;
    MiniPicture linkPicture() const;
    MiniPicture rooflinePicture() const;
    MiniPicture ratesPicture() const;
    MiniPicture planPicture() const;

    QScrollArea* m_content = nullptr;
    QWidget* m_page = nullptr; ///< what it scrolls
    QBoxLayout* m_middle = nullptr;
    FigureStrip* m_figures = nullptr;
    PlotCard* m_waterfallCard = nullptr;
    HelpCard* m_helpCard = nullptr;
    WaterfallPlot* m_waterfall = nullptr;
    StepPicker* m_picker = nullptr;             ///< rules the page
    std::shared_ptr<const StepSpans> m_offered; ///< what it lists
    std::array<WallCard*, compare::kWallCount> m_walls{};
    QGridLayout* m_wallGrid = nullptr;
    int m_columns = 0;
    bool m_narrow = false;

    std::shared_ptr<const OverviewFacts> m_facts;
    std::shared_ptr<const PlanOutlook> m_plans;
    std::shared_ptr<const compare::PlanSuggestions> m_suggestions;
    QPointer<PlanSearcher> m_look; ///< the search that all views share
    compare::WallVerdict m_verdict;
    QString m_error, m_planError, m_insightError;
    bool m_pending = false, m_plansPending = false, m_insightPending = false;
    bool m_painted = false; ///< the plots show m_facts
};

} // namespace fourwalls::views
