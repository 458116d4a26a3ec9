// SPDX-License-Identifier: GPL-3.0-or-later
// See view_place.h.
#include "app/gui/view_place.h"

#include "app/gui/record_request.h"
#include "app/gui/trace_document.h"
#include "views/base/analysis_view.h"
#include "views/memory/memory_cards.h"
#include "views/memory/memory_view.h"
#include "views/view_registry.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QCoreApplication>
#include <QPointer>

#include <algorithm>
#include <utility>

namespace fourwalls::gui {

namespace {

struct PlaceWords {
    Q_DECLARE_TR_FUNCTIONS(PlaceWords)
};

/// What a place needs read.
struct PlaceFound {
    std::optional<TimeRange> step;
    std::optional<views::SelectedSlice> slice;
};

Result<PlaceFound> findPlace(TraceQuery& trace, const ViewPlace& place, RankId rank, TimeRange shown,
                             const std::stop_token& stop)
{
    PlaceFound found;
    if (place.step) {
        FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(rank));
        const auto step = std::find_if(steps.begin(), steps.end(), [&](const StepView& view) {
            return view.record.step == StepIndex{*place.step} && view.record.state != StepState::Lost;
        });
        if (step == steps.end())
            return Error{ErrorCode::NotFound, "the trace has no step " + std::to_string(*place.step), "--step",
                         steps.empty() ? "leave --step out"
                                       : "steps " + std::to_string(steps.front().record.step.value) + " to " +
                                             std::to_string(steps.back().record.step.value)};
        found.step = step->record.range;
    }
    if (place.slice) {
        const Result<SliceView> slice = trace.slice(SliceId{*place.slice});
        if (!slice.ok())
            return Error{ErrorCode::NotFound, "the trace has no slice " + std::to_string(*place.slice), "--slice",
                         "leave --slice out"};
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(slice->op));
        found.slice = views::SelectedSlice{*slice, std::move(op)};
    } else if (!place.find.isEmpty()) {
        SearchQuery query;
        query.text = place.find.toStdString();
        query.range = place.range.value_or(found.step.value_or(shown));
        query.limit = 1;
        FOURWALLS_TRY_ASSIGN(const SearchResult result, trace.search(query, stop));
        if (result.slices.empty())
            return Error{ErrorCode::NotFound, "no slice of that name is shown", "--find", "another --range"};
        const SliceView& slice = result.slices.front();
        found.slice = views::SelectedSlice{slice, result.ops.at(slice.op)};
    }
    return found;
}

void showPlace(TraceDocument& document, const ViewPlace& place, const PlaceFound& found)
{
    views::Selection& selection = *document.selection();
    if (place.step) selection.setStep(StepIndex{*place.step});
    if (found.step) selection.setRange(*found.step);
    if (place.range) selection.setRange(*place.range);
    if (place.area) selection.setMeasured(place.area);
    if (found.slice) selection.setSlice(found.slice);
}

} // namespace

void goToPlace(TraceDocument& document, const ViewPlace& place, std::function<void(const Status&)> done)
{
    const TraceInfo& info = document.session()->info();
    if (place.rank) {
        const std::vector<RankInfo>& ranks = info.header.ranks;
        const RankId rank{*place.rank};
        if (std::none_of(ranks.begin(), ranks.end(), [&](const RankInfo& each) { return each.rank == rank; }))
            return done(Error{ErrorCode::NotFound, "the trace has no rank " + std::to_string(*place.rank), "--rank",
                              ranks.empty() ? "leave --rank out"
                                            : "ranks " + std::to_string(ranks.front().rank.value) + " to " +
                                                  std::to_string(ranks.back().rank.value)});
        document.selection()->setRank(rank);
    }
    const TimeRange whole{info.range.begin, info.range.end + Duration{1}};
    for (const auto& [option, range] : {std::pair("--range", place.range), std::pair("--area", place.area)})
        if (range && !range->overlaps(whole))
            return done(Error{ErrorCode::NotFound, "lies outside of the trace", option,
                              std::to_string(info.range.begin.ns) + "ns:" + std::to_string(info.range.end.ns) + "ns"});
    if (!place.step && !place.slice && place.find.isEmpty()) {
        showPlace(document, place, {});
        return done({});
    }
    document.session()->ask<PlaceFound>(
        &document, "place",
        [place, rank = document.selection()->rank(), shown = document.selection()->range()](
            TraceQuery& trace, std::stop_token stop) { return findPlace(trace, place, rank, shown, stop); },
        [target = &document, place, done = std::move(done)](const views::Answer<PlaceFound>& answer) {
            if (!answer.ok()) return done(answer.error);
            showPlace(*target, place, *answer);
            done({});
        });
}

Status showPage(views::View& view, const QString& page)
{
    if (page.isEmpty()) return {};
    if (auto* memory = qobject_cast<views::MemoryView*>(&view)) {
        if (!views::MemoryCards::names().contains(page))
            return Error{ErrorCode::NotFound, "the view has no page '" + page.toStdString() + "'", "--page",
                         views::MemoryCards::names().join(QStringLiteral(", ")).toStdString()};
        memory->cards().setShown(page);
        return {};
    }
    auto* paged = qobject_cast<views::AnalysisView*>(&view);
    if (!paged)
        return Error{ErrorCode::NotFound, "the view is one page, it has no '" + page.toStdString() + "'", "--page",
                     "leave --page out; memory (fit, growth, segments), communication and performance have several"};
    if (!paged->pages().contains(page))
        return Error{ErrorCode::NotFound, "the view has no page '" + page.toStdString() + "'", "--page",
                     paged->pages().join(QStringLiteral(", ")).toStdString()};
    paged->setPage(page);
    return {};
}

QString captionOf(const TraceDocument& document, const QString& view)
{
    const views::Selection& selection = *document.selection();
    QStringList words{views::viewTitle(view)};
    const auto* paged = qobject_cast<const views::AnalysisView*>(document.currentView());
    if (paged && !paged->pages().isEmpty()) words << paged->pageTitle();
    words << PlaceWords::tr("rank %1").arg(selection.rank().value);
    if (selection.step()) words << PlaceWords::tr("step %1").arg(selection.step()->value);
    const Instant zero = selection.whole().begin;
    const auto rangeText = [zero](TimeRange range) {
        return PlaceWords::tr("%1 from %2 on")
            .arg(views::formatDuration(range.length(), 4), views::formatDuration(range.begin - zero, 7));
    };
    if (selection.range() != selection.whole()) words << rangeText(selection.range());
    if (selection.measured()) words << PlaceWords::tr("selected: %1").arg(rangeText(*selection.measured()));
    if (const auto slice = selection.slice(); slice && slice->op)
        words << PlaceWords::tr("marked: %1").arg(views::opName(*slice->op));
    return words.join(QStringLiteral(" \u00b7 "));
}

QString commandOf(const TraceDocument& document, const QString& view, const QString& file)
{
    const views::Selection& selection = *document.selection();
    QStringList words{file.isEmpty() ? document.source() : file, QStringLiteral("--view"), view};
    const auto add = [&words](const char* option, const QString& value) { words << QLatin1String(option) << value; };
    const auto textOf = [](TimeRange range) {
        return QStringLiteral("%1ns:%2ns").arg(range.begin.ns).arg(range.end.ns);
    };
    const auto* paged = qobject_cast<const views::AnalysisView*>(document.currentView());
    if (paged && paged->page() != paged->pages().constFirst()) add("--page", paged->page());
    if (const auto* memory = qobject_cast<const views::MemoryView*>(document.currentView());
        memory && !memory->cards().shown().isEmpty())
        add("--page", memory->cards().shown());
    if (document.session()->info().header.ranks.size() > 1) add("--rank", QString::number(selection.rank().value));
    if (selection.step()) add("--step", QString::number(selection.step()->value));
    if (selection.range() != selection.whole()) add("--range", textOf(selection.range()));
    if (selection.measured()) add("--area", textOf(*selection.measured()));
    if (const auto slice = selection.slice()) add("--slice", QString::number(slice->slice.id.value));
    return shellCommand(QStringLiteral("fourwalls"), words);
}

} // namespace fourwalls::gui
