// SPDX-License-Identifier: GPL-3.0-or-later
// See window_finder.h.
#include "app/gui/window_finder.h"

#include "app/gui/find_box.h"
#include "app/gui/main_window.h"
#include "app/gui/settings.h"
#include "app/gui/trace_document.h"
#include "app/gui/trace_finder.h"
#include "app/gui/trace_notes.h"
#include "views/tables/tables_view.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_toolbar.h"
#include "views/timeline/timeline_view.h"
#include "views/view_registry.h"
#include "views/words/words.h"

#include <QFileInfo>

#include <algorithm>

namespace fourwalls::gui {

namespace {

const QString kTimeline = QStringLiteral("timeline"), kTables = QStringLiteral("tables");

FindGroup groupOf(const QString& action)
{
    static const QStringList kSettings{QStringLiteral("window.dark"),        QStringLiteral("window.binary_units"),
                                       QStringLiteral("window.english"),     QStringLiteral("window.chinese"),
                                       QStringLiteral("window.shortcuts"),   QStringLiteral("window.restore_session"),
                                       QStringLiteral("file.import_beside"), QStringLiteral("window.full_screen")};
    if (kSettings.contains(action)) return FindGroup::Settings;
    const QString view = action.section(QLatin1Char('.'), 1);
    return action.startsWith(QLatin1String("view.")) && views::viewTitle(view) != view ? FindGroup::Views
                                                                                       : FindGroup::Commands;
}

/// The next one from here: behind the selected slice where that is seen, else from what is shown on.
Instant placeToFindFrom(const views::Selection& selection)
{
    const auto slice = selection.slice();
    const TimeRange shown = selection.range();
    return slice && shown.contains(slice->slice.start) ? slice->slice.start + Duration{1} : shown.begin;
}

std::vector<FindItem> itemsOfActions(const QList<QAction*>& actions)
{
    std::vector<FindItem> items;
    for (const QAction* action : actions) {
        const QString name = action->objectName();
        if (!action->isEnabled() || action->isSeparator() || action->text().isEmpty() ||
            name == QLatin1String("window.find"))
            continue;
        FindItem item{groupOf(name), plainText(*action)};
        if (item.group == FindGroup::Views) item.text = views::viewTitle(name.section(QLatin1Char('.'), 1));
        item.detail = action->shortcut().toString(QKeySequence::NativeText);
        // The name in the source language also finds it: an English word helps in every language.
        item.alias =
            QString(name).replace(QLatin1Char('.'), QLatin1Char(' ')).replace(QLatin1Char('_'), QLatin1Char(' '));
        item.value = name;
        items.push_back(std::move(item));
    }
    return items;
}

} // namespace

WindowFinder::WindowFinder(MainWindow& window, Settings& settings) : m_window(window), m_settings(settings) {}

void WindowFinder::open(QWidget* where)
{
    if (!m_box) {
        m_finder = new TraceFinder(this);
        m_box = new FindBox(*m_finder, &m_window);
        connect(m_box, &FindBox::chosen, this, &WindowFinder::goTo);
        connect(m_finder, &TraceFinder::reached, this, [this](const NamedSlice& slice) {
            const TraceDocument* shown = m_window.currentDocument();
            if (!shown || shown->session() != m_finder->session()) return; // another trace is looked at by now
            if (views::TimelineView* timeline = showTimeline()) timeline->goTo({slice.slice, slice.op});
        });
    }
    const TraceDocument* document = m_window.currentDocument();
    const bool isOpen = document && document->isOpen();
    m_finder->setSession(isOpen ? document->session() : nullptr);
    m_box->open([this](const QString& typed) { return findable(typed); },
                isOpen ? placeToFindFrom(*document->selection()) : Instant{}, where);
}

std::vector<FindItem> WindowFinder::findable(const QString& typed) const
{
    std::vector<FindItem> items = itemsOfActions(m_window.allActions());
    QStringList open;
    for (const TraceDocument* document : m_window.documents()) {
        open << document->source();
        if (document != m_window.currentDocument())
            items.push_back({FindGroup::Files, document->name(), tr("open"), document->path(), document->path()});
    }
    for (const QString& path : m_settings.recentFiles()) {
        const QFileInfo file(path);
        if (!open.contains(path)) items.push_back({FindGroup::Files, file.fileName(), file.path(), path, path});
    }
    TraceDocument* document = m_window.currentDocument();
    if (document && document->isOpen() && !typed.isEmpty()) addPlaces(typed, *document, items);
    return items;
}

void WindowFinder::addPlaces(const QString& typed, TraceDocument& document, std::vector<FindItem>& to) const
{
    constexpr std::size_t kMostRanks = 60;
    std::vector<qint64> numbers;
    std::map<qint64, const RankInfo*> ranks;
    for (const RankInfo& rank : document.session()->info().header.ranks) ranks[rank.rank.value] = &rank;
    for (const auto& [number, rank] : ranks) numbers.push_back(number);
    for (const qint64 number : numbersLike(typed, tr("rank %1"), numbers, kMostRanks)) {
        FindItem item{FindGroup::Ranks, tr("rank %1").arg(number)};
        QStringList facts;
        for (const std::string& fact : {ranks[number]->device, ranks[number]->host})
            if (!fact.empty()) facts << QString::fromStdString(fact);
        item.detail = facts.join(QStringLiteral(" \u00b7 "));
        item.id = number;
        to.push_back(std::move(item));
    }
    const SearchWords words(typed.toStdString());
    for (const TrackView& track : document.session()->tracks()) {
        const QString text =
            views::trackName(track.info) + QStringLiteral(" \u00b7 ") + tr("rank %1").arg(track.info.rank.value);
        if (track.slices == 0 || words.qualityOf(text.toStdString()) == MatchQuality::None) continue;
        FindItem item{FindGroup::Tracks, text};
        item.id = track.id.value;
        to.push_back(std::move(item));
    }
    for (int kind = 0; kind < views::kTableKindCount; ++kind) {
        const auto table = static_cast<views::TableKind>(kind);
        FindItem item{FindGroup::Tables, views::tableTitle(table)};
        item.alias = views::tableId(table);
        item.id = kind;
        to.push_back(std::move(item));
    }
    const std::vector<TraceNote>& notes = document.notes()->notes();
    for (std::size_t i = 0; i < notes.size(); ++i) {
        FindItem item{FindGroup::Bookmarks, notes[i].text.simplified(), views::viewTitle(notes[i].view)};
        item.id = static_cast<qint64>(i);
        item.value = QString::number(item.id);
        to.push_back(std::move(item));
    }
}

views::TimelineView* WindowFinder::showTimeline()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen()) return nullptr;
    if (m_window.currentViewId() != kTimeline) m_window.showView(kTimeline);
    return qobject_cast<views::TimelineView*>(document->currentView());
}

void WindowFinder::goTo(const FindItem& item)
{
    TraceDocument* document = m_window.currentDocument();
    const auto timeline = [this] { return showTimeline(); };
    switch (item.group) {
    case FindGroup::Commands:
    case FindGroup::Settings:
    case FindGroup::Views:
        for (QAction* action : m_window.allActions())
            if (action->objectName() == item.value) return action->trigger();
        return;
    case FindGroup::Files: return m_window.openFiles({item.value});
    default: break;
    }
    if (!document || !document->isOpen() || m_finder->session() != document->session()) return;
    views::Selection& selection = *document->selection();
    switch (item.group) {
    case FindGroup::Names:
        if (auto* shown = timeline()) shown->toolbar().setSearch(item.value);
        m_finder->goTo(item.value, std::nullopt, placeToFindFrom(selection));
        break;
    case FindGroup::Layers:
        m_finder->goTo(item.value, LayerIndex{static_cast<std::int32_t>(item.id)}, placeToFindFrom(selection));
        break;
    case FindGroup::Slices:
        if (auto* shown = timeline()) shown->goTo({item.slice->slice, item.slice->op});
        break;
    case FindGroup::Marking:
        if (auto* shown = timeline()) shown->toolbar().setSearch(item.value);
        break;
    case FindGroup::Steps: goToStep(StepIndex{static_cast<std::int32_t>(item.id)}); break;
    case FindGroup::Ranks:
        selection.setRank(RankId{static_cast<std::int32_t>(item.id)});
        if (auto* shown = timeline()) shown->canvas().rows().revealRank(selection.rank());
        break;
    case FindGroup::Tracks:
        if (auto* shown = timeline()) shown->canvas().rows().revealTrack(TrackId{static_cast<std::int32_t>(item.id)});
        break;
    case FindGroup::Tables:
        m_window.showView(kTables);
        if (auto* tables = qobject_cast<views::TablesView*>(document->currentView()))
            tables->showTable(static_cast<views::TableKind>(item.id));
        break;
    case FindGroup::Bookmarks: {
        const std::vector<TraceNote>& notes = document->notes()->notes();
        if (item.id < static_cast<qint64>(notes.size())) m_window.goToNote(notes[static_cast<std::size_t>(item.id)]);
        break;
    }
    default: break;
    }
}

void WindowFinder::goToStep(StepIndex step)
{
    if (!m_finder->contents()) return;
    for (const JobStep& each : m_finder->contents()->steps) {
        if (each.step != step) continue;
        showTimeline();
        // A fiftieth to either side shows what the step's neighbours do.
        const Duration margin{each.range.length().ns / 50};
        views::Selection& selection = *m_window.currentDocument()->selection();
        selection.setStep(step);
        selection.setRange({each.range.begin - margin, each.range.end + margin});
        return;
    }
}

} // namespace fourwalls::gui
