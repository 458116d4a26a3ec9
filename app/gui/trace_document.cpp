// SPDX-License-Identifier: GPL-3.0-or-later
// One open trace with everything that belongs to it.
#include "app/gui/trace_document.h"

#include "app/gui/demo_library.h"
#include "app/gui/trace_notes.h"
#include "model/trace/job_step.h"
#include "model/trace/spec_evidence.h"
#include "views/chrome/message_page.h"
#include "views/chrome/scrolled_page.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_view.h"
#include "views/view_registry.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <QEvent>
#include <QFileInfo>
#include <QPushButton>

namespace fourwalls::gui {

QString firstViewOf(const TraceInfo& info)
{
    return isMemoryOnly(info) ? QStringLiteral("memory") : QStringLiteral("overview");
}

namespace {

/// Slices of a trace whose rates are learned when it opens, without being asked for: about two seconds of a worker.
constexpr std::int64_t kMostToLearnFrom = 500'000;

} // namespace

TraceDocument::TraceDocument(views::TraceOpener opener, const QString& path, QWidget* parent)
    : QStackedWidget(parent)
    , m_path(path)
{
    m_sinceStart.start();
    m_session = new views::TraceSession(std::move(opener), path, this);
    m_selection = new views::Selection(this);
    m_whatIf = new views::WhatIf(this);
    m_whatIf->replayer().setSession(m_session);
    connect(m_session, &views::TraceSession::opened, this, &TraceDocument::onOpened);
    connect(m_session, &views::TraceSession::failed, this, &TraceDocument::onFailed);
    connect(m_selection, &views::Selection::rangeChanged, this, [this] { m_sinceRangeChange.start(); });
}

TraceDocument::~TraceDocument()
{
    // Views first: they may still look at the session and the selection.
    qDeleteAll(m_views);
    m_views.clear();
    delete m_session;
}

QString TraceDocument::name() const
{
    return QFileInfo(m_path).fileName();
}

bool TraceDocument::isCarried() const
{
    return m_path.startsWith(demoFolder() + QLatin1Char('/'));
}

bool TraceDocument::isSettled() const
{
    if (hasFailed()) return true;
    if (!isOpen() || m_session->pending() > 0 || m_whatIf->isPredicting() || m_whatIf->isLooking()) return false;
    if (m_notes && !m_notes->isLoaded()) return false;
    return !m_current || !m_current->isVisible() || m_current->showsFinalData();
}

TraceNotes* TraceDocument::notes()
{
    if (!m_notes) m_notes = new TraceNotes(m_source.isEmpty() ? m_path : m_source, this);
    return m_notes;
}

namespace {

/// What a view scrolls in.
QWidget* pageOf(const views::View& view)
{
    return view.parentWidget()->parentWidget();
}

} // namespace

views::View* TraceDocument::showView(const QString& id)
{
    views::View* view = m_views.value(id);
    if (!view) {
        for (const views::ViewEntry& entry : views::viewRegistry()) {
            if (entry.id != id) continue;
            view = entry.create(this);
            m_views.insert(id, view);
            addWidget(new views::ScrolledPage(view, this));
            watch(view);
            view->setWhatIf(m_whatIf);
            view->setTrace(m_session, m_selection);
            if (auto* timeline = qobject_cast<views::TimelineView*>(view)) showNotesOn(*timeline);
        }
    }
    if (!view) return m_current;
    view->setAccessibleName(views::viewTitle(id));
    m_current = view;
    if (!m_error) setCurrentWidget(pageOf(*view));
    return view;
}

void TraceDocument::changeEvent(QEvent* event)
{
    QStackedWidget::changeEvent(event);
    if (event->type() != QEvent::LanguageChange) return;
    for (auto view = m_views.cbegin(); view != m_views.cend(); ++view)
        view.value()->setAccessibleName(views::viewTitle(view.key()));
}

void TraceDocument::showNotesOn(views::TimelineView& timeline)
{
    const auto show = [this, &timeline] {
        std::vector<views::TimelineNote> shown;
        for (const TraceNote& note : notes()->notes())
            shown.push_back({note.mark.value_or(note.range), note.text, note.number});
        timeline.setNotes(std::move(shown));
    };
    connect(notes(), &TraceNotes::changed, &timeline, show);
    show();
}

void TraceDocument::watch(views::View* view)
{
    using views::FrameQuality;
    connect(view, &views::View::framePainted, this, [this, view](TimeRange range, FrameQuality quality) {
        if (view != m_current || !m_sinceRangeChange.isValid() || range != m_selection->range()) return;
        if (quality == FrameQuality::Blank || quality == FrameQuality::Stale) return;
        emit frameShown(static_cast<double>(m_sinceRangeChange.nsecsElapsed()) * 1e-6);
        m_sinceRangeChange.invalidate();
    });
    connect(view, &views::View::finalDataPainted, this, [this, view] {
        if (view != m_current || !isOpen()) return;
        if (!m_firstPaintMs) m_firstPaintMs = static_cast<double>(m_sinceStart.nsecsElapsed()) * 1e-6;
        emit finalDataPainted();
    });
}

void TraceDocument::onOpened()
{
    m_hiddenWhenOpened = !isVisible();
    m_selection->reset(m_session->info().range);
    if (!m_session->info().header.ranks.empty()) m_selection->setRank(m_session->info().header.ranks.front().rank);
    m_sinceRangeChange.invalidate(); // opening is not a frame
    m_whatIf->setTrace(m_session->info());
    const TraceInfo& info = m_session->info();
    if (!info.header.spec) {
        askEvidence();
    } else if (info.counts.slices <= kMostToLearnFrom &&
               (info.header.source == TraceSource::Recorded || info.header.source == TraceSource::Imported)) {
        m_whatIf->learnRates(*m_session);
    }
    m_session->ask<std::vector<OutOfMemory>>(
        this, "outOfMemory", [](TraceQuery& trace, std::stop_token) { return outOfMemoryMoments(trace); },
        [this](const views::Answer<std::vector<OutOfMemory>>& found) {
            if (!found.ok() || found->empty()) return;
            m_outOfMemory = *found;
            emit outOfMemoryFound();
        });
    emit opened();
}

void TraceDocument::askEvidence()
{
    struct Shown {
        TraceInfo info;
        SpecEvidenceData evidence;
        std::optional<Duration> step;
    };
    m_session->ask<Shown>(
        this, "evidence",
        [](TraceQuery& trace, std::stop_token) -> Result<Shown> {
            FOURWALLS_TRY_ASSIGN(TraceInfo info, infoWithInferences(trace));
            FOURWALLS_TRY_ASSIGN(const SpecEvidence evidence, evidenceOf(trace));
            FOURWALLS_TRY_ASSIGN(const std::vector<JobStep> steps, trace.jobSteps());
            return Shown{std::move(info), evidence.data(), medianStepTime(steps)};
        },
        [this](const views::Answer<Shown>& shown) {
            if (shown.ok()) m_whatIf->setEvidence(shown->info, shown->evidence, shown->step);
        });
}

void TraceDocument::onFailed(const Error& error)
{
    m_error = error;
    m_errorPage = new views::MessagePage(this);
    m_errorPage->showError(tr("%1 could not be opened").arg(name()), error);
    connect(m_errorPage->addButton(tr("Try again"), true), &QPushButton::clicked, this, &TraceDocument::retryRequested);
    connect(m_errorPage->addButton(tr("Close")), &QPushButton::clicked, this, &TraceDocument::closeRequested);
    addWidget(m_errorPage);
    setCurrentWidget(m_errorPage);
    emit failed();
}

} // namespace fourwalls::gui
