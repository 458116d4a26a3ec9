// SPDX-License-Identifier: GPL-3.0-or-later
// `fourwalls --render`. Nothing here waits for a time: each stage starts when the one before it says it is done.
#include "app/gui/render_run.h"

#include "app/gui/foreign_files.h"
#include "app/gui/image_export.h"
#include "app/gui/main_window.h"
#include "app/gui/plan_request.h"
#include "app/gui/trace_document.h"
#include "app/gui/wait_for.h"
#include "views/base/view.h"
#include "views/demos/claims_page.h"
#include "views/hang/hang_page.h"
#include "views/runs/runs_page.h"
#include "views/timeline/area_panel.h"
#include "views/timeline/timeline_view.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"

#include <QCoreApplication>
#include <QCursor>
#include <QDeadlineTimer>
#include <QLayout>
#include <QTimer>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::gui {

namespace {

const QString kWhatIf = QStringLiteral("whatif");

int fail(const Error& error)
{
    std::fprintf(stderr, "fourwalls: %s\n", error.message().c_str());
    return 1;
}

/// How long a picture may take before rendering gives up: a script must not hang.
constexpr std::chrono::minutes kPatience(2);

/// A layout asks its parent for another one, up to the page that scrolls, which makes room some turns of the loop later.
void letLayoutsRest()
{
    constexpr int kTurns = 10;
    for (int i = 0; i < kTurns; ++i) QCoreApplication::processEvents();
}

Status applyPlace(const CommandLine& line, TraceDocument& document)
{
    Status status;
    bool answered = false;
    goToPlace(document, line, [&](const Status& gone) {
        status = gone;
        answered = true;
    });
    waitFor([&] { return answered; });
    return status;
}

/// Sets the sliders and shows them; with --view-only only the ghosts.
Status applyWhatIf(const CommandLine& line, MainWindow& window, TraceDocument& document)
{
    if (!line.whatIf && line.view != kWhatIf) return {};
    views::WhatIf& whatIf = *document.whatIf();
    if (line.whatIf) {
        if (!whatIf.recorded())
            return Error{ErrorCode::NotFound, "the trace does not say what ran, so there is nothing to change",
                         "--whatif", "leave --whatif out"};
        FOURWALLS_TRY_ASSIGN(const ParallelPlan plan, parsePlan(line.whatIf->toStdString()));
        whatIf.propose(withPlan(*whatIf.recorded(), plan));
    }
    window.showWhatIf(true);
    whatIf.setActive(true);
    waitFor([&] { return !whatIf.isPredicting(); });
    if (line.whatIf && whatIf.problem()) return *whatIf.problem();
    return {};
}

/// Changes the replay and shows it; with --view-only only the ghosts.
Status applyChanges(const CommandLine& line, MainWindow& window, TraceDocument& document)
{
    if (line.changes.isEmpty()) return {};
    views::Replayer& replayer = document.whatIf()->replayer();
    replayer.ask();
    waitFor([&] { return document.session()->pending() == 0; });
    if (!replayer.offers())
        return Error{ErrorCode::Unsupported,
                     replayer.failure().isEmpty() ? "nothing was measured in this trace that could be run again"
                                                  : replayer.failure().toStdString(),
                     "--change", "leave --change out"};
    std::vector<std::string> changes;
    for (const QString& change : line.changes) changes.push_back(change.toStdString());
    replayer.setChanges(std::move(changes));
    window.showWhatIf(true);
    document.whatIf()->setActive(true);
    waitFor([&] { return !replayer.isBusy(); });
    const QString problem = replayer.problem().isEmpty() ? replayer.drawingProblem() : replayer.problem();
    if (!problem.isEmpty()) return Error{ErrorCode::Unsupported, problem.toStdString(), "--change", ""};
    return {};
}

Status showTrace(const CommandLine& line, MainWindow& window)
{
    // The second trace of a comparison first: the window then shows the first one and finds the other beside it.
    for (const QString& other : line.files.mid(1)) {
        FOURWALLS_TRY_ASSIGN(const QString partner, importedTrace(other));
        TraceDocument* opened = window.openFile(partner);
        waitFor([&] { return opened->isOpen() || opened->hasFailed(); });
        if (opened->hasFailed()) return *opened->error();
    }
    FOURWALLS_TRY_ASSIGN(const QString trace, importedTrace(line.files.constFirst()));
    TraceDocument* document = window.openFile(trace);
    waitFor([&] { return document->isOpen() || document->hasFailed(); });
    if (document->hasFailed()) return *document->error();
    FOURWALLS_TRY(applyPlace(line, *document));
    FOURWALLS_TRY(applyWhatIf(line, window, *document));
    FOURWALLS_TRY(applyChanges(line, window, *document));
    // The sliders are beside a view: the memory, where a plan shows most.
    QString shown = line.view;
    if (shown == kWhatIf) shown = QStringLiteral("memory");
    if (shown == kFirstView) shown = firstViewOf(document->session()->info());
    window.showView(shown);
    views::View* view = document->currentView();
    FOURWALLS_TRY(showPage(*view, line.page));
    if (auto* timeline = qobject_cast<views::TimelineView*>(view); timeline && !line.by.isEmpty()) {
        const auto page = areaPages().indexOf(line.by);
        if (page < kRangeGroupingCount)
            timeline->area().setGrouping(static_cast<RangeGrouping>(page));
        else
            timeline->area().setPage(page == kRangeGroupingCount ? views::AreaPanel::Page::CallTree
                                                                 : views::AreaPanel::Page::FlameGraph);
    }
    view->update();
    const QDeadlineTimer deadline(kPatience);
    QTimer wakeUp; // the event loop sleeps while nothing happens
    wakeUp.start(std::chrono::seconds(1));
    const auto settle = [&] { waitFor([&] { return document->isSettled() || deadline.hasExpired(); }); };
    settle();
    letLayoutsRest(); // controls that only now have something to control make room for themselves
    settle();
    if (deadline.hasExpired()) {
        return Error{ErrorCode::Internal, "the view was not complete after two minutes", line.view.toStdString(),
                     "a larger --size, or a shorter --range"};
    }
    if (const QString problem = view->problem(); !problem.isEmpty())
        return Error{ErrorCode::Format, "the trace could not be read: " + problem.toStdString(),
                     line.view.toStdString(), ""};
    return {};
}

/// The pages that show no trace, with what they read.
Status showFolder(const CommandLine& line, MainWindow& window)
{
    window.showView(line.view);
    const auto statusOf = [](const std::optional<Error>& problem) { return problem ? Status(*problem) : Status(); };
    if (line.view == QLatin1String("hang")) {
        window.openDumps(line.files);
        waitFor([&] { return window.hangPage()->isReady(); });
        return statusOf(window.hangPage()->problem());
    }
    if (line.view == QLatin1String("runs")) {
        if (!line.files.isEmpty()) window.openRuns(line.files.constFirst());
        waitFor([&] { return window.runsPage()->isReady(); });
        return statusOf(window.runsPage()->problem());
    }
    if (line.view == QLatin1String("claims")) waitFor([&] { return window.claimsPage()->isReady(); });
    return {};
}

} // namespace

int runRender(const CommandLine& line, const views::TraceOpener& opener)
{
    Settings settings(Settings::Kind::Forgetful);
    MainWindow window(opener, settings);
    window.setMinimumSize(0, 0);
    window.layout()->setSizeConstraint(QLayout::SetNoConstraint); // the size is what was asked for
    window.setViewOnly(line.viewOnly);
    window.resize(line.size);
    QCursor::setPos(-1, -1); // nothing lies under the pointer
    window.show();
    if (needsTrace(line.view)) {
        const Status shown = showTrace(line, window);
        if (!shown.ok()) return fail(shown.error());
    } else {
        const Status shown = showFolder(line, window);
        if (!shown.ok()) return fail(shown.error());
    }
    window.updateOwnFigures();
    letLayoutsRest(); // what was just learned (status bar, chips) reaches its widgets
    window.resize(line.size);
    const Status written =
        writeWhole(line.output, pictureOf(static_cast<QWidget&>(window), *pictureFormatOf(line.output)));
    return written.ok() ? 0 : fail(written.error());
}

} // namespace fourwalls::gui
