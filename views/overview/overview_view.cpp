// SPDX-License-Identifier: GPL-3.0-or-later
// The overview's questions, layout and texts; overview_pictures.cpp has its four small plots.
#include "views/overview/overview_view.h"

#include "views/base/step_picker.h"
#include "views/overview/help_card.h"
#include "views/overview/mini_plot.h"
#include "views/overview/overview_figures.h"
#include "views/overview/overview_words.h"
#include "views/overview/wall_card.h"
#include "views/overview/waterfall_plot.h"
#include "views/session/go_to.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/plan_searcher.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/finding_words.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QAction>
#include <QGridLayout>
#include <QPainter>
#include <QScrollArea>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

namespace {

using compare::Wall;

/// Columns of the small memory plot: what a wide card has.
constexpr int kMemoryColumns = 400;
/// Below this height the four walls stand side by side.
constexpr int kTwoRowHeight = 700;
/// Below this width everything but the walls stands below one another, in a page of that height.
constexpr int kNarrow = 720, kNarrowHeight = 1080;
/// The page asks for no more height than its parts need at least: a scroll area would give it what they like best.
class OverviewPage : public QWidget {
public:
    int heightForWidth(int width) const override { return layout()->totalMinimumHeightForWidth(width); }
};
constexpr Wall kWalls[] = {Wall::Memory, Wall::Communication, Wall::Performance, Wall::Tuning};

} // namespace

OverviewView::OverviewView(QWidget* parent) : View(parent)
{
    build();
    buildActions();
    retranslate();
    m_content->hide();
}

void OverviewView::build()
{
    // Where there is no room for all of it the page scrolls: nothing is drawn over anything else.
    m_content = new QScrollArea(this);
    m_content->setFrameShape(QFrame::NoFrame);
    m_content->setWidgetResizable(true);
    m_content->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_content->setFocusPolicy(Qt::NoFocus);
    m_page = new OverviewPage;
    m_content->setWidget(m_page);
    for (QWidget* ground : {m_content->viewport(), m_page}) ground->setAutoFillBackground(false);
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(kGap, kGap, kGap, kGap);
    outer->addWidget(m_content);
    auto* column = new QVBoxLayout(m_page);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(kGap);
    m_figures = new FigureStrip(m_page);
    column->addWidget(m_figures);

    m_middle = new QBoxLayout(QBoxLayout::LeftToRight);
    m_middle->setSpacing(kGap);
    m_waterfallCard = new PlotCard(m_page);
    m_waterfall = new WaterfallPlot(m_waterfallCard);
    m_waterfallCard->addContent(m_waterfall, 1);
    m_picker = new StepPicker(m_waterfallCard);
    m_waterfallCard->addControl(m_picker);
    connect(m_picker, &StepPicker::stepChosen, this, [this](std::optional<StepIndex> step) {
        if (selection()) selection()->setStep(step);
    });
    m_helpCard = new HelpCard(m_page);
    m_middle->addWidget(m_waterfallCard, 7);
    m_middle->addWidget(m_helpCard, 4);
    column->addLayout(m_middle, 4);

    m_wallGrid = new QGridLayout;
    m_wallGrid->setSpacing(kGap);
    column->addLayout(m_wallGrid, 6);
    for (const Wall wall : kWalls) {
        auto* card = new WallCard(m_page);
        m_walls[static_cast<std::size_t>(wall)] = card;
        connect(&card->plot(), &MiniPlot::activated, this, [this, wall] { openWall(wall); });
    }
    arrangeWalls();
    connect(m_waterfall, &WaterfallPlot::barClicked, this, &OverviewView::openPart);
    connect(m_helpCard, &HelpCard::chosen, this, &OverviewView::choose);
    connect(m_helpCard, &HelpCard::commandRequested, this, [this](const QString& command) {
        if (selection()) emit selection()->commandRequested(command);
    });
}

void OverviewView::arrangeWalls()
{
    const bool narrow = width() < kNarrow;
    const int columns = narrow || height() >= kTwoRowHeight ? 2 : 4;
    if (columns == m_columns && narrow == m_narrow) return;
    m_columns = columns;
    m_narrow = narrow;
    m_middle->setDirection(narrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    m_page->setMinimumHeight(narrow ? kNarrowHeight : 0);
    for (std::size_t i = 0; i < m_walls.size(); ++i) {
        m_wallGrid->removeWidget(m_walls[i]);
        m_wallGrid->addWidget(m_walls[i], static_cast<int>(i) / columns, static_cast<int>(i) % columns);
    }
    for (int i = 0; i < 4; ++i) m_wallGrid->setColumnStretch(i, i < columns ? 1 : 0);
    if (m_facts) showWalls();
}

void OverviewView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    arrangeWalls();
}

void OverviewView::buildActions()
{
    const auto add = [this](const char* name, const QList<QKeySequence>& keys, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcuts(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, run);
        addAction(action);
    };
    add("overview.try1", {Qt::Key_1}, [this] { choose(0); });
    add("overview.try2", {Qt::Key_2}, [this] { choose(1); });
    add("overview.try3", {Qt::Key_3}, [this] { choose(2); });
    add("overview.binding", {Qt::Key_B}, [this] {
        if (m_verdict.binding) openWall(*m_verdict.binding);
    });
}

void OverviewView::retranslate()
{
    const QString names[] = {tr("Memory wall"), tr("Communication wall"), tr("Performance wall"), tr("Tuning wall")};
    const QString tips[] = {
        tr("Live memory of the fullest rank over one step, below what its device holds. Opens the memory view."),
        tr("Bus bandwidth of collectives by message size, below what the link carries. Opens the communication view."),
        tr("Operators below the roofline of the device: FLOP/s by FLOPs per byte. Opens the performance view."),
        tr("Step time and memory that the cost model predicts for other plans on as many devices. Opens the plan "
           "search.")};
    for (std::size_t i = 0; i < m_walls.size(); ++i) {
        m_walls[i]->title().setText(names[i]);
        m_walls[i]->plot().setToolTip(tips[i]);
    }
    const std::pair<const char*, QString> texts[] = {
        {"overview.try1", tr("Overview: load the first suggestion into the sliders")},
        {"overview.try2", tr("Overview: load the second suggestion into the sliders")},
        {"overview.try3", tr("Overview: load the third suggestion into the sliders")},
        {"overview.binding", tr("Overview: show the wall that binds")}};
    for (QAction* action : actions())
        for (const auto& [name, text] : texts)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
}

void OverviewView::traceChanged()
{
    m_facts.reset();
    m_offered.reset();
    m_plans.reset();
    m_suggestions.reset();
    if (m_look) m_look->disconnect(this);
    m_look.clear();
    m_error.clear();
    m_planError.clear();
    m_pending = m_plansPending = m_insightPending = m_painted = false;
    m_insightError.clear();
    m_content->hide();
    if (!session() || !selection()) return;
    connect(selection(), &Selection::byteUnitChanged, this, &OverviewView::showAll);
    connect(selection(), &Selection::stepChanged, this, &OverviewView::askFacts);
    if (whatIf())
        for (const auto signal : {&WhatIf::recordedChanged, &WhatIf::machinesChanged})
            connect(whatIf(), signal, this, &OverviewView::askOutlook, Qt::UniqueConnection);
    if (session()->isOpen())
        askFacts();
    else
        connect(session(), &TraceSession::opened, this, &OverviewView::askFacts);
}

void OverviewView::askFacts()
{
    if (!session() || !session()->isOpen()) return;
    m_pending = true;
    session()->ask<OverviewFacts>(
        this, "overview",
        [step = selection()->step()](TraceQuery& trace, std::stop_token) {
            return askOverview(trace, kMemoryColumns, step);
        },
        [this, asked = session()](const Answer<OverviewFacts>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_pending = false;
            m_facts = answer.value;
            m_error = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            showAll();
            if (!m_facts) return;
            if (whatIf() && m_facts->source != TraceSource::Predicted) whatIf()->predictBaseline();
            askStepInsight();
            if (!m_plans && !m_plansPending) askOutlook(); // of the run, whatever the step
        });
}

void OverviewView::askStepInsight()
{
    // Reads the slices of a step: what summaries say is on the screen before.
    m_insightPending = true;
    session()->ask<StepInsight>(
        this, "insight",
        [step = selection()->step()](TraceQuery& trace, std::stop_token stop) { return askInsight(trace, stop, step); },
        [this, asked = session()](const Answer<StepInsight>& answer) {
            if (session() != asked) return;
            m_insightPending = false;
            m_insightError = answer.ok() ? QString() : QString::fromStdString(answer.error.message());
            if (answer.ok() && m_facts) {
                auto facts = std::make_shared<OverviewFacts>(*m_facts);
                facts->insight = *answer.value;
                m_facts = std::move(facts);
            }
            showAll();
        });
}

std::optional<RunSpec> OverviewView::knownSpec() const
{
    // What misses the trace's own step by far gives no advice, whoever wrote it down.
    if (whatIf() && whatIf()->guessVerdict() && !whatIf()->guessVerdict()->allowed())
        return m_facts ? m_facts->spec : std::nullopt;
    if (whatIf() && whatIf()->recorded()) return whatIf()->recorded();
    return m_facts ? m_facts->spec : std::nullopt;
}

void OverviewView::askOutlook()
{
    if (!session() || !session()->isOpen() || !m_facts) return;
    m_plans.reset();
    m_suggestions.reset();
    m_planError.clear();
    if (m_look) m_look->disconnect(this);
    m_look.clear();
    const std::optional<RunSpec> spec = whatIf() ? knownSpec() : std::nullopt;
    m_plansPending = spec.has_value();
    if (!spec) {
        session()->cancel(this, "plans");
        return showAll();
    }
    session()->ask<compare::PlanSuggestions>(
        this, "plans",
        [spec = *spec, calibration = whatIf()->calibrationOf(*spec)](TraceQuery&, std::stop_token stop) {
            return askSuggestions(spec, calibration, stop);
        },
        [this, asked = session()](const Answer<compare::PlanSuggestions>& answer) {
            if (session() != asked) return;
            m_suggestions = answer.value;
            if (!answer.ok()) return failPlans(answer.error);
            joinPlans();
        },
        Urgency::Background);
    m_look = &whatIf()->firstLook(*spec);
    connect(m_look, &PlanSearcher::finished, this, &OverviewView::joinPlans);
    connect(m_look, &PlanSearcher::failed, this, [this] { failPlans(*m_look->error()); });
    if (m_look->error()) return failPlans(*m_look->error());
    showAll();
}

void OverviewView::failPlans(const Error& error)
{
    m_plansPending = false;
    m_planError = QString::fromStdString(error.message());
    showAll();
}

void OverviewView::joinPlans()
{
    if (!m_suggestions || !m_look || !m_look->result() || !m_look->question()) return;
    const RunSpec& spec = m_look->question()->spec;
    // A neighbour may beat what a search that was cut short has seen: then it is the best plan, for every view.
    for (const compare::PlanSuggestion& each : m_suggestions->best) {
        const auto before = m_look->result();
        m_look->offer({each.plan, each.seconds, each.peakBytes, true});
        if (m_look->result() != before) return; // told by its signal, which came back here
    }
    m_plansPending = false;
    m_plans = std::make_shared<const PlanOutlook>(outlookOf(spec, *m_suggestions, *m_look->result(), *m_look->cloud()));
    showAll();
}

std::shared_ptr<const Ghost> OverviewView::shownGhost() const
{
    if (!whatIf() || !m_facts) return nullptr;
    if (whatIf()->isActive()) return whatIf()->ghost();
    return m_facts->source == TraceSource::Predicted ? nullptr : Ghost::of(whatIf()->baseline());
}

void OverviewView::predictionChanged()
{
    if (m_facts) showAll();
}

void OverviewView::showPicker()
{
    // Texts change with every move of a slider; a list that a person has opened stays as it is.
    if (m_offered != m_facts->steps) m_picker->setSteps(m_offered = m_facts->steps, m_facts->scope.stepsBy);
    m_picker->showStep(selection()->step());
    m_picker->setVisible(m_facts->steps->size() > 1);
}

void OverviewView::showAll()
{
    m_content->setVisible(m_facts && emptyReason().isEmpty());
    if (m_facts) {
        m_verdict = compare::judgeWalls(wallFactsOf(*m_facts, m_plans.get()));
        showPicker();
        m_figures->setFigures(
            overviewFigures({*m_facts, m_verdict, shownGhost().get(), whatIf(), selection()->byteUnit()}));
        showWaterfall();
        showWalls();
        m_helpCard->present(help());
    }
    update();
}

void OverviewView::showWaterfall()
{
    const TraceMetrics& metrics = m_facts->metrics;
    const std::shared_ptr<const Ghost> ghost = shownGhost();
    m_waterfall->setBars(waterfallBars(metrics, m_facts->scope.wholeTrace), metrics.stepTime,
                         ghost ? waterfallBars(*ghost->metrics) : std::vector<WaterfallBar>(), ghostName(whatIf()));
    m_waterfallCard->title().setText(waterfallTitle(*m_facts));
    m_waterfall->setNothing(whyNoWaterfall(*m_facts));
    m_waterfallCard->finding().setText(waterfallFinding(*m_facts));
}

void OverviewView::showWalls()
{
    const ByteUnit unit = selection()->byteUnit();
    const MiniPicture pictures[] = {memoryPicture(), linkPicture(), rooflinePicture(), planPicture()};
    for (const Wall wall : kWalls) {
        WallCard& card = *m_walls[static_cast<std::size_t>(wall)];
        QString said = verdictOf(wall, *m_facts, m_verdict, m_plans.get(), unit);
        if (wall == Wall::Tuning && said.isEmpty() && !m_facts->spec)
            said = whyNothingIsPredicted(whatIf(), m_facts->inferred);
        card.setVerdict(said);
        const bool binds = m_verdict.binding == wall;
        // The memory wall's reason is its verdict.
        const QString reason = binds ? reasonOf(wall, *m_facts, m_verdict, m_plans.get(), unit) : QString();
        card.setBinding(binds, reason == card.verdict() ? QString() : reason, m_columns == 2 && !m_narrow);
        card.plot().setPicture(pictures[static_cast<std::size_t>(wall)]);
    }
}

HelpFacts OverviewView::help() const
{
    return {m_facts.get(),  m_plans.get(),          whatIf(), m_plansPending, m_planError,
            m_insightError, selection()->byteUnit()};
}

void OverviewView::showFinding(int index)
{
    if (!m_facts->insight || index < 0 || index >= static_cast<int>(m_facts->insight->findings.findings.size())) return;
    const diagnose::Finding& finding = m_facts->insight->findings.findings[static_cast<std::size_t>(index)];
    goTo(*selection(), finding.show.rank, finding.show.range, findingView(finding));
}

void OverviewView::choose(int suggestion)
{
    if (help().showsFindings()) return showFinding(suggestion);
    if (!m_plans || !whatIf() || suggestion < 0 || suggestion >= static_cast<int>(m_plans->suggestions.best.size()))
        return;
    const compare::PlanSuggestion& chosen = m_plans->suggestions.best[static_cast<std::size_t>(suggestion)];
    RunSpec spec = m_plans->spec;
    spec.plan = chosen.plan;
    whatIf()->propose(spec, changeOf(chosen, m_plans->spec.plan));
    whatIf()->requestShow();
}

void OverviewView::openWall(Wall wall)
{
    if (!selection()) return;
    const QString ids[] = {QStringLiteral("memory"), QStringLiteral("communication"), QStringLiteral("performance"),
                           QStringLiteral("tuning")};
    if (wall == Wall::Memory && m_facts && m_facts->fullest) selection()->setRank(m_facts->fullest->rank);
    emit selection()->viewRequested(ids[static_cast<std::size_t>(wall)]);
}

void OverviewView::openPart(const WaterfallBar& bar)
{
    if (!selection() || !m_facts) return;
    const auto viewOf = [&bar]() -> const char* {
        if (bar.kind == WaterfallBar::Kind::Peak) return "performance";
        switch (bar.part.value_or(WaterfallPart::Idle)) {
        case WaterfallPart::Bubble: return "pipeline";
        case WaterfallPart::ExposedComm: return "communication";
        case WaterfallPart::MemoryBound:
        case WaterfallPart::Inefficiency:
        case WaterfallPart::Achieved: return "performance";
        default: return "timeline";
        }
    };
    if (m_facts->step && bar.part) selection()->setRange(m_facts->step->range);
    emit selection()->viewRequested(QString::fromLatin1(viewOf()));
}

bool OverviewView::showsFinalData() const
{
    // Suggestions and other plans come later: they are no part of the trace.
    if (!session() || !session()->isOpen() || m_pending) return false;
    return m_painted || !emptyReason().isEmpty();
}

QString OverviewView::emptyReason() const
{
    if (!session() || !selection()) return tr("Open or record a trace to see its four walls.");
    if (!m_error.isEmpty()) return tr("The figures of this trace could not be read. %1").arg(m_error);
    return {};
}

QString OverviewView::tableAsCsv() const
{
    if (!m_facts || m_facts->metrics.waterfall.empty()) return {};
    QString csv = QStringLiteral("part,share,time_ms\n");
    for (const auto& [part, share] : m_facts->metrics.waterfall.parts()) {
        csv += QString::fromLatin1(infoOf(part).key) + QLatin1Char(',') + QString::number(share, 'g', 12) +
               QLatin1Char(',');
        if (m_facts->metrics.stepTime)
            csv += QString::number(m_facts->metrics.stepTime->milliseconds() * share, 'g', 12);
        csv += QLatin1Char('\n');
    }
    return csv;
}

void OverviewView::themeChanged()
{
    showAll();
}

void OverviewView::languageChanged()
{
    retranslate();
    showAll();
}

void OverviewView::paintEvent(QPaintEvent*)
{
    const bool shown = m_content->isVisibleTo(this);
    if (!shown) {
        QPainter painter(this);
        paintEmpty(painter, rect(), emptyReason());
    }
    m_painted = m_facts != nullptr;
    // The cards are painted after this, before the event loop goes on.
    QTimer::singleShot(0, this, [this, shown] {
        if (!selection()) return;
        reportFrame(selection()->range(), shown || !emptyReason().isEmpty() ? FrameQuality::Full : FrameQuality::Blank);
    });
}

} // namespace fourwalls::views
