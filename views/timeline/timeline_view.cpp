// SPDX-License-Identifier: GPL-3.0-or-later
// Composition of the timeline view and its ties to the session and the shared selection.
#include "views/timeline/timeline_view.h"

#include "model/replay/step_slack.h"
#include "model/trace/job_step.h"
#include "views/base/give_keys.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/details_panel.h"
#include "views/timeline/memory_strip.h"
#include "views/timeline/prediction_strip.h"
#include "views/timeline/row_actions.h"
#include "views/timeline/slice_extent.h"
#include "views/timeline/slice_reader.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_minimap.h"
#include "views/timeline/timeline_toolbar.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <functional>
#include <utility>

namespace fourwalls::views {

namespace {

const QByteArray kStepsChannel = QByteArrayLiteral("timeline.steps");
const QByteArray kSlackChannel = QByteArrayLiteral("timeline.slack");
const QByteArray kEventsChannel = QByteArrayLiteral("timeline.events");
constexpr std::size_t kMostEvents = 2000;

/// The card around toolbar and canvas.
class TimelineCard : public QWidget {
public:
    using QWidget::QWidget;

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        paintCard(painter, rect(), currentTheme());
    }
};

/// Shows a range, unless somebody has gone elsewhere meanwhile.
std::function<void(TimeRange)> unlessMoved(Selection& selection)
{
    return [&selection, from = selection.range()](TimeRange range) {
        if (selection.range() == from) selection.setRange(range);
    };
}

} // namespace

TimelineView::TimelineView(QWidget* parent)
    : View(parent)
    , m_source(new TimelineSource(this))
    , m_toolbar(new TimelineToolbar)
    , m_minimap(new TimelineMinimap)
    , m_canvas(new TimelineCanvas(*m_source))
    , m_details(new DetailsPanel(*m_source))
    , m_area(new AreaPanel)
    , m_reader(new SliceReader(this))
    , m_rows(new QSplitter(Qt::Vertical))
{
    auto* outer = new QVBoxLayout(this);
    outer->setContentsMargins(kGap, kGap, kGap, kGap);
    outer->setSpacing(kGap);
    auto* card = new TimelineCard;
    auto* inside = new QVBoxLayout(card);
    inside->setContentsMargins(4, 2, 4, 4);
    inside->setSpacing(0);
    inside->addWidget(m_toolbar);
    inside->addWidget(m_minimap);
    inside->addWidget(m_canvas, 1);
    auto* dock = new QSplitter(Qt::Horizontal);
    dock->addWidget(m_area);
    dock->addWidget(m_details);
    dock->setStretchFactor(0, 3);
    dock->setStretchFactor(1, 2);
    m_rows->addWidget(card);
    m_rows->addWidget(dock);
    m_rows->setStretchFactor(0, 1);
    for (QSplitter* each : {m_rows, dock}) {
        each->setChildrenCollapsible(false);
        each->setHandleWidth(kGap);
    }
    outer->addWidget(m_rows, 1);
    connect(m_rows, &QSplitter::splitterMoved, this, [this] { m_dockMoved = true; });
    giveKeysTo(*m_canvas, *this);

    connect(m_canvas, &TimelineCanvas::painted, this, &TimelineView::reportFrame);
    connect(m_canvas, &TimelineCanvas::sliceClicked, this, [this](const SliceView& slice) { select(slice, false); });
    connect(m_canvas, &TimelineCanvas::sliceDoubleClicked, this, [this](const SliceView& slice) {
        select(slice, false);
        fit();
    });
    connect(m_canvas, &TimelineCanvas::emptyClicked, this, [this] {
        if (selection()) selection()->setSlice(std::nullopt);
    });
    connect(m_canvas, &TimelineCanvas::areaDragged, this, &TimelineView::dragArea);
    connect(m_area, &AreaPanel::findAsked, this, &TimelineView::find);
    connect(m_area, &AreaPanel::likeThisAsked, this, &TimelineView::selectLikeThis);
    connect(m_area, &AreaPanel::closeAsked, this, [this] { setArea(std::nullopt, {}); });
    connect(m_details, &DetailsPanel::linkFollowed, m_reader, &SliceReader::follow);
    connect(m_reader, &SliceReader::reached, this, &TimelineView::goTo);
    connect(m_reader, &SliceReader::changed, this, [this] {
        if (m_reader->around()) m_canvas->setArrows(m_reader->around()->arrows);
        showDetails();
    });
    connect(m_area, &AreaPanel::changed, this, [this] { m_canvas->update(); });
    connect(m_canvas, &TimelineCanvas::contextMenuAsked, this, &TimelineView::askContextMenu);
    connect(m_source, &TimelineSource::matchesChanged, this, &TimelineView::showMatches);
    connect(m_source, &TimelineSource::changed, this, &TimelineView::showEmptyState);
    connect(m_toolbar, &TimelineToolbar::filterChanged, this, [this] {
        m_currentMatch = 0;
        m_awaitedMatch = 0;
        m_source->setFilter(m_toolbar->filter());
    });
    connect(m_toolbar, &TimelineToolbar::nextAsked, this, [this] { goToMatch(1); });
    connect(m_toolbar, &TimelineToolbar::previousAsked, this, [this] { goToMatch(-1); });
    connect(m_toolbar, &TimelineToolbar::rankChosen, this, &TimelineView::chooseRank);
    connect(m_toolbar, &TimelineToolbar::stepChosen, this, &TimelineView::chooseStep);

    createActions();
    m_rowActions = new RowActions(*this, *m_source, *m_canvas, *m_minimap);
    m_toolbar->setRowsMenu(m_rowActions->makeMenu());
    showDetails();
    showEmptyState();
}

bool TimelineView::showsFinalData() const
{
    if (!session()) return true;
    if (!problem().isEmpty()) return true;
    if (!session()->isOpen()) return false;
    return !emptyReason().isEmpty() || (m_canvas->showsEverything() && !m_fitting && m_timeAsked == m_timeKnown &&
                                        m_area->isComplete() && m_minimap->isComplete());
}

QString TimelineView::problem() const
{
    return m_failed ? m_openError : m_source->error();
}

QString TimelineView::emptyReason() const
{
    if (!session())
        return tr("No trace is open.\nOpen a .fourwalls file, drop one onto the window, or record a run to see its "
                  "timeline.");
    if (m_failed) return m_openError;
    if (!session()->isOpen()) return tr("Opening %1 \u2026").arg(session()->path());
    const auto& tracks = session()->tracks();
    const bool any = std::any_of(tracks.begin(), tracks.end(), [](const TrackView& track) { return track.slices > 0; });
    if (!any)
        return tr(
            "This trace has no slices: nothing was recorded on any track.\nIts counters and allocations are in the "
            "other views. Record without --no-trace to get a timeline.");
    return {};
}

void TimelineView::showEmptyState()
{
    const QString reason =
        !m_source->error().isEmpty() ? tr("The trace could not be read.\n%1").arg(m_source->error()) : emptyReason();
    m_canvas->setEmptyReason(reason);
    m_toolbar->setEnabled(session() && session()->isOpen());
}

void TimelineView::traceChanged()
{
    m_failed = false;
    m_openError.clear();
    m_steps = stepSpansOf({});
    m_canvas->setPrediction({});
    m_canvas->setSlack(nullptr);
    m_canvas->setStepTime(std::nullopt);
    m_timeAsked = m_timeKnown = false;
    m_stepsRank.reset();
    m_currentMatch = 0;
    m_source->setSession(nullptr, {});
    m_minimap->setSession(nullptr, {});
    m_area->setSession(nullptr);
    m_reader->setSession(nullptr);
    m_canvas->memory().setSession(nullptr, {}, RankId{});
    m_canvas->counters().setSession(nullptr, {});
    m_toolbar->clearSearch();
    m_toolbar->setRanks({});
    m_toolbar->setSteps({});
    connectSelection();
    if (whatIf())
        connect(&whatIf()->replayer(), &Replayer::gainsChanged, this, &TimelineView::showDetails, Qt::UniqueConnection);
    if (session()) {
        connect(session(), &TraceSession::opened, this, &TimelineView::opened);
        connect(session(), &TraceSession::failed, this, [this](const Error& error) {
            m_failed = true;
            m_openError = QString::fromStdString(error.message());
            showEmptyState();
        });
        if (session()->isOpen()) opened();
    }
    showDetails();
    showEmptyState();
}

void TimelineView::connectSelection()
{
    m_canvas->setSelection(selection());
    if (!selection()) return;
    connect(selection(), &Selection::rangeChanged, this, [this](TimeRange range) { m_minimap->setRange(range); });
    connect(selection(), &Selection::sliceChanged, this, &TimelineView::selectedSliceChanged);
    connect(selection(), &Selection::byteUnitChanged, this, [this] {
        m_canvas->memory().setByteUnit(selection()->byteUnit());
        m_canvas->counters().setByteUnit(selection()->byteUnit());
        showDetails();
    });
    m_canvas->memory().setByteUnit(selection()->byteUnit());
    connect(selection(), &Selection::stepChanged, this, [this] {
        m_toolbar->showStep(selection()->step());
        const StepSpan* step = selection()->step() ? stepNumbered(*m_steps, *selection()->step()) : nullptr;
        m_canvas->setZero(step ? step->range.begin : selection()->whole().begin);
        showSlack();
    });
    connect(selection(), &Selection::rankChanged, this, [this](RankId rank) {
        if (m_stepsRank != rank) readSteps();
        m_canvas->memory().setRank(rank);
        m_canvas->rows().revealRank(rank);
    });
    connect(selection(), &Selection::measuredChanged, this, &TimelineView::measuredElsewhere);
}

void TimelineView::opened()
{
    const TraceInfo& info = session()->info();
    const TimeRange whole = selection() && !selection()->whole().empty() ? selection()->whole() : info.range;
    m_source->setSession(session(), whole);
    m_minimap->setSession(session(), whole);
    m_canvas->counters().setSession(session(), whole);
    m_canvas->setTrace(info, session()->tracks(), whole);
    m_area->setSession(session());
    m_reader->setSession(session());
    m_canvas->memory().setSession(session(), whole, selection() ? selection()->rank() : RankId{});
    if (selection()) m_minimap->setRange(selection()->range());
    std::vector<RankId> ranks;
    for (const auto& track : session()->tracks()) ranks.push_back(track.info.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    m_toolbar->setRanks(ranks);
    readSteps();
    session()->ask<std::vector<EventRecord>>(
        this, kEventsChannel,
        [range = TimeRange{whole.begin, whole.end + Duration{1}}](TraceQuery& trace, std::stop_token) {
            return trace.events(range, kMostEvents);
        },
        [this](const Answer<std::vector<EventRecord>>& answer) {
            m_details->setEvents(answer.ok() ? *answer : std::vector<EventRecord>());
            if (answer.ok()) m_canvas->setEvents(*answer);
        },
        Urgency::Background);
    showEmptyState();
    if (selection() && !ranks.empty() && selection()->rank() != ranks.front())
        m_canvas->rows().revealRank(selection()->rank());
    selectedSliceChanged();
    measuredElsewhere();
    showSlack();
    fitAtFirst();
}

void TimelineView::fitAtFirst()
{
    constexpr double kEmpty = 0.05; // of the width; less is not worth another range
    m_fitting = false;
    if (!selection() || selection()->range() != selection()->whole()) return; // somebody chose a range
    const TimeRange whole = selection()->whole();
    m_fitting = askExtent(*session(), *this, whole, ExtentAsked::Opening,
                          [this, whole, show = unlessMoved(*selection())](TimeRange range) {
                              m_fitting = false;
                              const double shown =
                                  static_cast<double>(range.length().ns) / static_cast<double>(whole.length().ns);
                              if (shown < 1 - kEmpty) show(range);
                              m_canvas->update();
                          });
}

void TimelineView::readSteps()
{
    if (!session() || !session()->isOpen() || !selection()) return;
    const RankId rank = selection()->rank();
    m_stepsRank = rank;
    using Steps = std::shared_ptr<const StepSpans>;
    session()->ask<Steps>(
        this, kStepsChannel,
        [rank](TraceQuery& trace, std::stop_token) -> Result<Steps> {
            FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
            return stepSpansOf(steps);
        },
        [this](const Answer<Steps>& answer) {
            m_steps = answer.ok() ? *answer : stepSpansOf({});
            m_toolbar->setSteps(m_steps, session()->info().closing.stepsBy);
            m_canvas->setSteps(m_steps);
            showPrediction();
            if (selection()) {
                m_toolbar->showStep(selection()->step());
                const StepSpan* step = selection()->step() ? stepNumbered(*m_steps, *selection()->step()) : nullptr;
                m_canvas->setZero(step ? step->range.begin : selection()->whole().begin);
            }
            showDetails();
        },
        Urgency::Background);
}

void TimelineView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    layout()->activate(); // the rows have their new height
    if (!m_dockMoved) fitDock();
    m_rowActions->placeMinimap();
}

void TimelineView::showSlack()
{
    if (!session() || !session()->isOpen()) return;
    if (!m_showsSlack) {
        session()->cancel(this, kSlackChannel);
        return m_canvas->setSlack(nullptr);
    }
    session()->ask<StepSlack>(
        this, kSlackChannel,
        [step = selection() ? selection()->step() : std::nullopt](TraceQuery& trace, std::stop_token stop) {
            return stepSlack(trace, step, stop);
        },
        [this](const Answer<StepSlack>& answer) {
            if (m_showsSlack) m_canvas->setSlack(answer.value);
        },
        Urgency::Background);
}

void TimelineView::predictionChanged()
{
    showPrediction();
}

void TimelineView::predictedStepChanged()
{
    showPrediction();
}

namespace {

/// What the strip below the rows of a rank shows.
StripGhost ghostBelow(const WhatIf* whatIf, const TraceHeader& header, RankId rank)
{
    int stage = 0;
    for (const RankInfo& each : header.ranks)
        if (each.rank == rank) stage = each.pipelineStage;
    return {whatIf && whatIf->isActive() ? whatIf->drawn() : nullptr, rank, stage, ghostName(whatIf),
            ghostNote(whatIf)};
}

} // namespace

void TimelineView::showPrediction()
{
    if (!session() || !session()->isOpen() || !selection()) return;
    StripGhost ghost = ghostBelow(whatIf(), session()->info().header, selection()->rank());
    if (ghost.step) askStepTime();
    m_canvas->setPrediction(std::move(ghost));
}

void TimelineView::askStepTime()
{
    // Of all ranks, as every view that names the error of a prediction has it; a rank's own steps are shorter.
    if (m_timeAsked) return;
    m_timeAsked = true;
    using Time = std::optional<Duration>;
    session()->ask<Time>(
        this, "timeline.steptime",
        [](TraceQuery& trace, std::stop_token) -> Result<Time> {
            FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
            return medianStepTime(steps);
        },
        [this, asked = session()](const Answer<Time>& answer) {
            if (session() != asked) return; // of a trace that was replaced meanwhile
            m_timeKnown = true;
            m_canvas->setStepTime(answer.ok() ? *answer : std::nullopt);
        },
        Urgency::Background);
}

void TimelineView::chooseStep(std::optional<StepIndex> step)
{
    if (!selection()) return;
    selection()->setStep(step);
    const StepSpan* record = step ? stepNumbered(*m_steps, *step) : nullptr;
    if (!record) {
        selection()->setRange(selection()->whole());
        return;
    }
    // A fiftieth to either side shows what the step's neighbours do.
    const Duration margin{record->range.length().ns / 50};
    selection()->setRange({record->range.begin - margin, record->range.end + margin});
}

void TimelineView::chooseRank(std::optional<RankId> rank)
{
    if (!selection()) return;
    if (!rank) {
        m_canvas->rows().scrollTo(0);
        return;
    }
    selection()->setRank(*rank);
    m_canvas->rows().revealRank(*rank); // also where it was the rank before
}

void TimelineView::fit()
{
    if (!selection()) return;
    if (const auto chosen = selection()->slice()) {
        const Duration margin{std::max<std::int64_t>(chosen->slice.duration.ns / 10, 10)};
        selection()->setRange({chosen->slice.start - margin, chosen->slice.end() + margin});
    } else if (const auto range = selection()->measured()) {
        selection()->setRange(*range);
    } else {
        fitSlices();
    }
}

void TimelineView::fitSlices()
{
    if (!session() || !session()->isOpen() || !selection()) return;
    if (!askExtent(*session(), *this, selection()->whole(), ExtentAsked::ByHand, unlessMoved(*selection()))) fitAll();
}

void TimelineView::themeChanged()
{
    showMatches();
    update();
}

void TimelineView::languageChanged()
{
    retranslateActions();
    m_rowActions->retranslate();
    showPrediction();
    showDetails();
    showEmptyState();
}

QString TimelineView::tableAsCsv() const
{
    const SearchResult* found = m_source->matches();
    if (!found || !session()) return {};
    QString csv = QStringLiteral("start_ns,duration_ns,name,track,rank\n");
    for (const auto& slice : found->slices) {
        const auto op = m_source->op(slice.op);
        const TrackView* track = m_canvas->rows().track(slice.track);
        QString name = op ? QString::fromStdString(op->name) : QString();
        name.replace(QLatin1Char('"'), QStringLiteral("\"\""));
        csv += QStringLiteral("%1,%2,\"%3\",\"%4\",%5\n")
                   .arg(slice.start.ns)
                   .arg(slice.duration.ns)
                   .arg(name, track ? QString::fromStdString(track->info.name) : QString())
                   .arg(track ? track->info.rank.value : 0);
    }
    return csv;
}

} // namespace fourwalls::views
