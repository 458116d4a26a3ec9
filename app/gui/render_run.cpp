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
#include "views/timeline/area_panel.h"
#include "views/timeline/timeline_view.h"
#include "views/whatif/what_if.h"

#include <QCoreApplication>
#include <QCursor>
#include <QDeadlineTimer>
#include <QLayout>
#include <QTimer>

#include <algorithm>
#include <chrono>
#include <cstdio>

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

Status applyRank(const CommandLine& line, TraceDocument& document)
{
    if (!line.rank) return {};
    const std::vector<RankInfo>& ranks = document.session()->info().header.ranks;
    const RankId rank{*line.rank};
    if (std::none_of(ranks.begin(), ranks.end(), [&](const RankInfo& each) { return each.rank == rank; })) {
        return Error{ErrorCode::NotFound, "the trace has no rank " + std::to_string(*line.rank), "--rank",
                     ranks.empty() ? "leave --rank out"
                                   : "ranks " + std::to_string(ranks.front().rank.value) + " to " +
                                         std::to_string(ranks.back().rank.value)};
    }
    document.selection()->setRank(rank);
    return {};
}

/// Selects the step and, unless a range is asked for as well, shows its time.
Status applyStep(const CommandLine& line, TraceDocument& document)
{
    if (!line.step) return {};
    Status status;
    bool answered = false;
    const RankId rank = document.selection()->rank();
    document.session()->ask<std::vector<StepView>>(
        &document, "render.steps", [rank](TraceQuery& query, std::stop_token) { return query.steps(rank); },
        [&](const views::Answer<std::vector<StepView>>& answer) {
            answered = true;
            if (!answer.ok()) {
                status = answer.error;
                return;
            }
            const StepIndex wanted{*line.step};
            const auto found = std::find_if(answer->begin(), answer->end(),
                                            [&](const StepView& view) { return view.record.step == wanted; });
            if (found == answer->end()) {
                status = Error{ErrorCode::NotFound, "the trace has no step " + std::to_string(*line.step), "--step",
                               answer->empty() ? "leave --step out"
                                               : "steps " + std::to_string(answer->front().record.step.value) + " to " +
                                                     std::to_string(answer->back().record.step.value)};
                return;
            }
            document.selection()->setStep(wanted);
            document.selection()->setRange(found->record.range);
        });
    waitFor([&] { return answered; });
    return status;
}

/// Selects the first slice of that name that is shown.
Status applyFind(const CommandLine& line, TraceDocument& document)
{
    if (line.find.isEmpty()) return {};
    SearchQuery query;
    query.text = line.find.toStdString();
    query.range = document.selection()->range();
    query.limit = 1;
    Status status;
    bool answered = false;
    document.session()->ask<SearchResult>(
        &document, "render.find",
        [query](TraceQuery& trace, std::stop_token stop) { return trace.search(query, stop); },
        [&](const views::Answer<SearchResult>& answer) {
            answered = true;
            if (!answer.ok()) {
                status = answer.error;
            } else if (answer->slices.empty()) {
                status = Error{ErrorCode::NotFound, "no slice of that name is shown", "--find", "another --range"};
            } else {
                const SliceView& slice = answer->slices.front();
                document.selection()->setSlice(views::SelectedSlice{slice, answer->ops.at(slice.op)});
            }
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
    FOURWALLS_TRY(applyRank(line, *document));
    FOURWALLS_TRY(applyStep(line, *document));
    if (line.range) {
        const TimeRange whole = document->session()->info().range;
        if (!line.range->overlaps({whole.begin, whole.end + Duration{1}}))
            return Error{ErrorCode::NotFound, "lies outside of the trace", "--range",
                         std::to_string(whole.begin.ns) + "ns:" + std::to_string(whole.end.ns) + "ns"};
        document->selection()->setRange(*line.range);
    }
    if (line.area) document->selection()->setMeasured(line.area);
    FOURWALLS_TRY(applyFind(line, *document));
    FOURWALLS_TRY(applyWhatIf(line, window, *document));
    // The sliders are beside a view: the memory, where a plan shows most.
    QString shown = line.view;
    if (shown == kWhatIf) shown = QStringLiteral("memory");
    if (shown == kFirstView) shown = firstViewOf(document->session()->info());
    window.showView(shown);
    views::View* view = document->currentView();
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
    waitFor([&] { return document->isSettled() || deadline.hasExpired(); });
    if (deadline.hasExpired()) {
        return Error{ErrorCode::Internal, "the view was not complete after two minutes", line.view.toStdString(),
                     "a larger --size, or a shorter --range"};
    }
    if (const QString problem = view->problem(); !problem.isEmpty())
        return Error{ErrorCode::Format, "the trace could not be read: " + problem.toStdString(),
                     line.view.toStdString(), ""};
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
        window.showView(line.view);
        if (line.view == QLatin1String("hang")) window.openDumps(line.files);
        if (line.view == QLatin1String("hang")) waitFor([&] { return window.hangPage()->isReady(); });
        if (line.view == QLatin1String("claims")) waitFor([&] { return window.claimsPage()->isReady(); });
    }
    window.updateOwnFigures();
    QCoreApplication::processEvents(); // what was just learned (status bar, chips) reaches its widgets
    window.resize(line.size);
    const Status written =
        writeWhole(line.output, pictureOf(static_cast<QWidget&>(window), *pictureFormatOf(line.output)));
    return written.ok() ? 0 : fail(written.error());
}

} // namespace fourwalls::gui
