// SPDX-License-Identifier: GPL-3.0-or-later
// What the user does on the timeline: shortcuts, selection of slices, search, measuring, arranging of rows.
#include "views/timeline/area_panel.h"
#include "views/timeline/counter_curves.h"
#include "views/timeline/details_panel.h"
#include "views/timeline/slice_gains.h"
#include "views/timeline/slice_reader.h"
#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_toolbar.h"
#include "views/timeline/timeline_view.h"
#include "views/whatif/replayer.h"
#include "views/whatif/what_if.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include <algorithm>
#include <utility>

namespace fourwalls::views {

namespace {

constexpr int kKeyScroll = 60;
constexpr int kLowestArea = 180; ///< of the panel with its table
constexpr int kNarrowDock = 900;
const QByteArray kNeighbourChannel = QByteArrayLiteral("timeline.neighbour");

/// The next (1) or previous (-1) slice in the lane of `from`: looked for at full detail, in stretches that grow until one is
/// found.
Result<std::optional<SelectedSlice>> neighbourOf(TraceQuery& trace, const SliceView& from, TimeRange whole,
                                                 int direction, const std::stop_token& stop)
{
    for (std::int64_t reach = std::max<std::int64_t>(2 * from.duration.ns, 1000); !stop.stop_requested(); reach *= 4) {
        TimeRange range = direction > 0 ? TimeRange{from.start, from.end() + Duration{reach}}
                                        : TimeRange{from.start - Duration{reach}, from.end()};
        range = range.intersected({whole.begin, whole.end + Duration{1}});
        if (range.empty()) break;
        SliceQuery query{{from.track}, range, static_cast<int>(std::min<std::int64_t>(range.length().ns, 1 << 16))};
        FOURWALLS_TRY_ASSIGN(const SliceWindow window, trace.slices(query, stop));
        std::optional<SelectedSlice> best;
        for (const auto& lane : window.lanes) {
            if (lane.lane != from.lane) continue;
            for (const auto& slice : lane.exact) {
                if (slice.id == from.id) continue;
                const bool better = direction > 0
                                        ? slice.start >= from.start && (!best || slice.start < best->slice.start)
                                        : slice.start <= from.start && (!best || slice.start > best->slice.start);
                const auto op = window.ops.find(slice.op);
                if (better) best = SelectedSlice{slice, op == window.ops.end() ? nullptr : op->second};
            }
        }
        if (best) return best;
        if (range.begin == whole.begin && direction < 0) break;
        if (range.end == whole.end + Duration{1} && direction > 0) break;
        if (reach > kLargestTimeNs / 8) break;
    }
    return std::optional<SelectedSlice>();
}

} // namespace

QAction* TimelineView::addViewAction(const char* name, const QList<QKeySequence>& keys, std::function<void()> run)
{
    auto* action = new QAction(this);
    action->setObjectName(QLatin1String(name));
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    addAction(action);
    m_actions.push_back(action);
    return action;
}

void TimelineView::createActions()
{
    auto* fitAction = addViewAction("timeline.fit", {Qt::Key_F}, [this] { fit(); });
    addViewAction("timeline.fitAll", {Qt::SHIFT | Qt::Key_F, Qt::Key_Home}, [this] { fitAll(); });
    addViewAction("timeline.zoomIn", {Qt::Key_W, Qt::Key_Plus}, [this] { m_canvas->zoom(kKeyZoom); });
    addViewAction("timeline.zoomOut", {Qt::Key_S, Qt::Key_Minus}, [this] { m_canvas->zoom(-kKeyZoom); });
    addViewAction("timeline.panLeft", {Qt::Key_A}, [this] { m_canvas->pan(-kKeyPan); });
    addViewAction("timeline.panRight", {Qt::Key_D}, [this] { m_canvas->pan(kKeyPan); });
    addViewAction("timeline.previousSlice", {Qt::Key_Left}, [this] { goToNeighbour(-1); });
    addViewAction("timeline.nextSlice", {Qt::Key_Right}, [this] { goToNeighbour(1); });
    addViewAction("timeline.previousOfName", {Qt::SHIFT | Qt::Key_Left}, [this] { m_reader->goToNamesake(-1); });
    addViewAction("timeline.nextOfName", {Qt::SHIFT | Qt::Key_Right}, [this] { m_reader->goToNamesake(1); });
    addViewAction("timeline.nextNote", {Qt::Key_J}, [this] { goToNote(1); });
    addViewAction("timeline.previousNote", {Qt::SHIFT | Qt::Key_J}, [this] { goToNote(-1); });
    addViewAction("timeline.launch", {Qt::Key_L}, [this] { goToLaunch(); });
    addViewAction("timeline.longest", {Qt::SHIFT | Qt::Key_L},
                  [this] { m_reader->goToLongest(m_canvas->rows().shownTracks(), m_canvas->range()); });
    addViewAction("timeline.scrollUp", {Qt::Key_Up}, [this] { m_canvas->rows().scrollBy(-kKeyScroll); });
    addViewAction("timeline.scrollDown", {Qt::Key_Down}, [this] { m_canvas->rows().scrollBy(kKeyScroll); });
    addViewAction("timeline.search", {QKeySequence::Find, Qt::Key_Slash}, [this] { m_toolbar->focusSearch(); });
    addViewAction("timeline.nextMatch", {QKeySequence(Qt::Key_F3), Qt::Key_N}, [this] { goToMatch(1); });
    addViewAction("timeline.previousMatch", {QKeySequence(Qt::SHIFT | Qt::Key_F3), Qt::SHIFT | Qt::Key_N},
                  [this] { goToMatch(-1); });
    auto* measureAction = addViewAction("timeline.measure", {Qt::Key_M}, [] {});
    measureAction->setCheckable(true);
    connect(measureAction, &QAction::toggled, m_canvas, &TimelineCanvas::setMeasuring);
    addViewAction("timeline.clear", {Qt::Key_Escape}, [this, measureAction] {
        measureAction->setChecked(false);
        if (!selection()) return;
        setArea(std::nullopt, {});
        selection()->setSlice(std::nullopt);
    });
    addViewAction("timeline.area", {Qt::Key_R}, [this] { setArea(m_canvas->range(), m_canvas->rows().shownTracks()); });
    addViewAction("timeline.likeThis", {Qt::SHIFT | Qt::Key_R}, [this] {
        const auto chosen = selection() ? selection()->slice() : std::nullopt;
        if (chosen && chosen->op) selectLikeThis(QString::fromStdString(chosen->op->name));
    });
    addViewAction("timeline.hideCounters", {Qt::SHIFT | Qt::Key_C}, [this] {
        TimelineArrangement arrangement = m_canvas->rows().arrangement();
        if (!arrangement.hiddenCounters.empty()) {
            arrangement.hiddenCounters.clear();
        } else if (session()) {
            for (const CounterTrack& track : counterTracks(session()->info()))
                arrangement.hiddenCounters.insert(track.counter);
        }
        m_canvas->rows().setArrangement(std::move(arrangement));
    });
    addViewAction("timeline.showHidden", {}, [this] {
        TimelineArrangement arrangement = m_canvas->rows().arrangement();
        arrangement.hidden.clear();
        arrangement.hiddenCounters.clear();
        m_canvas->rows().setArrangement(std::move(arrangement));
        m_canvas->labels().setFilter({});
    });
    addViewAction("timeline.expandAll", {Qt::Key_E}, [this] {
        TimelineArrangement arrangement = m_canvas->rows().arrangement();
        arrangement.collapsed.clear();
        m_canvas->rows().setArrangement(std::move(arrangement));
    });
    addViewAction("timeline.collapseAll", {Qt::Key_C}, [this] {
        TimelineArrangement arrangement = m_canvas->rows().arrangement();
        for (const auto& track : m_canvas->rows().tracks()) arrangement.collapsed.insert(track.info.rank);
        m_canvas->rows().setArrangement(std::move(arrangement));
    });
    auto* memoryAction = addViewAction("timeline.memory", {Qt::SHIFT | Qt::Key_M}, [] {});
    memoryAction->setCheckable(true);
    memoryAction->setChecked(true);
    connect(memoryAction, &QAction::toggled, m_canvas, &TimelineCanvas::setMemoryShown);
    QAction* slackAction = addSlackAction();
    retranslateActions();
    m_toolbar->addButton(fitAction);
    m_toolbar->addButton(measureAction);
    m_toolbar->addButton(slackAction);
}

QAction* TimelineView::addSlackAction()
{
    auto* action = addViewAction("timeline.slack", {Qt::Key_X}, [] {});
    action->setCheckable(true);
    connect(action, &QAction::toggled, this, [this](bool shown) {
        m_showsSlack = shown;
        showSlack();
    });
    return action;
}

void TimelineView::retranslateActions()
{
    const std::pair<const char*, QString> texts[] = {
        {"timeline.fit", tr("Fit")},
        {"timeline.fitAll", tr("Show everything")},
        {"timeline.zoomIn", tr("Zoom in")},
        {"timeline.zoomOut", tr("Zoom out")},
        {"timeline.panLeft", tr("Move to earlier times")},
        {"timeline.panRight", tr("Move to later times")},
        {"timeline.previousSlice", tr("Previous slice")},
        {"timeline.nextSlice", tr("Next slice")},
        {"timeline.previousOfName", tr("Previous slice of the same name")},
        {"timeline.nextOfName", tr("Next slice of the same name")},
        {"timeline.nextNote", tr("Next note")},
        {"timeline.previousNote", tr("Previous note")},
        {"timeline.launch", tr("Go to what launched the slice, or to what it launched")},
        {"timeline.longest", tr("Go to the longest kernel")},
        {"timeline.scrollUp", tr("Scroll up")},
        {"timeline.scrollDown", tr("Scroll down")},
        {"timeline.search", tr("Find operators")},
        {"timeline.nextMatch", tr("Next match")},
        {"timeline.previousMatch", tr("Previous match")},
        {"timeline.measure", tr("Select an area")},
        {"timeline.area", tr("Statistics of what is visible")},
        {"timeline.likeThis", tr("Statistics of everything like the selected slice")},
        {"timeline.clear", tr("Clear the selection")},
        {"timeline.hideCounters", tr("Show all counters, or none")},
        {"timeline.showHidden", tr("Show hidden tracks")},
        {"timeline.expandAll", tr("Expand all ranks")},
        {"timeline.collapseAll", tr("Collapse all ranks")},
        {"timeline.memory", tr("Memory below the rows")},
        {"timeline.slack", tr("Slack")},
    };
    for (auto* action : m_actions)
        for (const auto& [name, text] : texts)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
    for (auto* action : m_actions) {
        if (action->objectName() == QLatin1String("timeline.fit"))
            action->setToolTip(tr("Show the selected slice, the measured range or all slices (F)"));
        if (action->objectName() == QLatin1String("timeline.measure"))
            action->setToolTip(tr("Drag over time and rows for their statistics; Ctrl with the mouse does it too (M)"));
    }
    for (auto* action : m_actions)
        if (action->objectName() == QLatin1String("timeline.slack"))
            action->setToolTip(tr("What of the chosen step could take longer without harm is pale, the critical path "
                                  "underlined (X)"));
    m_details->setHint(tr("F: fit \u00b7 R: statistics \u00b7 W A S D: move"));
}

void TimelineView::select(const SliceView& slice, bool bringItIntoView)
{
    if (!selection()) return;
    m_ownSlice = !bringItIntoView;
    selection()->setSlice(SelectedSlice{slice, m_source->op(slice.op)});
    m_ownSlice = false;
    if (bringItIntoView) bringIntoView(slice);
}

void TimelineView::goTo(const SelectedSlice& slice)
{
    if (!selection()) return;
    m_source->learn({{slice.slice.op, slice.op}});
    selection()->setSlice(slice);
    bringIntoView(slice.slice);
}

void TimelineView::bringIntoView(const SliceView& slice)
{
    m_canvas->rows().revealTrack(slice.track, slice.lane);
    const TimeRange visible = m_canvas->range();
    if (visible.contains(slice.start) && slice.end() <= visible.end) return;
    // Keep the scale if the slice fits into it, else show it whole.
    const Duration length = std::max(visible.length(), Duration{slice.duration.ns * 5 / 4});
    const Instant middle = slice.start + Duration{slice.duration.ns / 2};
    const Instant begin = middle - Duration{length.ns / 2};
    if (selection()) selection()->setRange({begin, begin + length});
}

void TimelineView::selectedSliceChanged()
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    m_canvas->setSelected(chosen);
    if (chosen && !m_ownSlice) m_canvas->rows().revealTrack(chosen->slice.track, chosen->slice.lane);
    m_reader->read(session() && session()->isOpen() ? chosen : std::nullopt);
    showDetails();
}

void TimelineView::showDetails()
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (!chosen) {
        m_details->setFacts(std::nullopt);
        return fitDetails();
    }
    SliceContext context;
    context.trace = session() ? &session()->info() : nullptr;
    context.track = m_canvas->rows().track(chosen->slice.track);
    context.tracks = &m_canvas->rows().tracks();
    if (const StepSpan* step = stepAt(*m_steps, chosen->slice.start)) context.step = *step;
    context.around = m_reader->around();
    context.place = m_reader->place();
    SliceFacts facts = factsOf(*chosen, context, selection()->byteUnit());
    if (whatIf()) addGains(facts, *chosen, context, whatIf()->replayer());
    m_details->setFacts(facts);
    fitDetails();
}

void TimelineView::showMatches()
{
    m_toolbar->showMatches(*m_source, m_currentMatch);
    if (m_awaitedMatch != 0 && m_source->matches()) goToMatch(std::exchange(m_awaitedMatch, 0));
}

void TimelineView::goToMatch(int direction)
{
    const SearchResult* found = m_source->matches();
    m_awaitedMatch = found ? 0 : direction;
    if (!found || found->slices.empty() || !selection()) return;
    const auto& all = found->slices;
    const auto count = static_cast<std::ptrdiff_t>(all.size());
    std::ptrdiff_t next;
    if (m_currentMatch > 0) {
        next = static_cast<std::ptrdiff_t>(m_currentMatch) - 1 + direction;
    } else {
        // From what is selected, else from the left edge of the view.
        const auto chosen = selection()->slice();
        const Instant from = chosen ? chosen->slice.start : m_canvas->range().begin;
        const auto at = std::lower_bound(all.begin(), all.end(), from,
                                         [](const SliceView& slice, Instant t) { return slice.start < t; });
        next = at - all.begin() - (direction < 0 ? 1 : 0);
    }
    next = (next % count + count) % count;
    m_currentMatch = static_cast<std::size_t>(next) + 1;
    select(all[static_cast<std::size_t>(next)], true);
    showMatches();
}

void TimelineView::goToNeighbour(int direction)
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (!chosen || !session()) {
        m_canvas->pan(direction * kKeyPan);
        return;
    }
    const SliceView from = chosen->slice;
    const TimeRange whole = selection()->whole();
    session()->ask<std::optional<SelectedSlice>>(
        this, kNeighbourChannel,
        [from, whole, direction](TraceQuery& trace, std::stop_token stop) {
            return neighbourOf(trace, from, whole, direction, stop);
        },
        [this](const Answer<std::optional<SelectedSlice>>& answer) {
            if (!answer.ok() || !*answer || !selection()) return;
            selection()->setSlice(**answer);
            bringIntoView((*answer)->slice);
        });
}

void TimelineView::dragArea(TimeRange range, const std::vector<TrackId>& tracks, bool finished)
{
    if (!selection()) return;
    if (range.empty()) {
        if (finished) setArea(std::nullopt, {});
        return;
    }
    if (finished || !m_area->isHidden()) return setArea(range, tracks);
    m_canvas->setArea(range, tracks); // the panel comes when the drag is over: until then nothing moves
}

void TimelineView::setArea(const std::optional<TimeRange>& range, std::vector<TrackId> tracks)
{
    if (!selection()) return;
    m_ownArea = true;
    selection()->setMeasured(range);
    m_ownArea = false;
    const bool shown = !m_area->isHidden();
    m_canvas->setArea(range, tracks);
    m_area->setArea(range ? std::optional<TimelineArea>({*range, std::move(tracks)}) : std::nullopt);
    if (shown != m_area->isHidden()) return;
    m_dockMoved = false;
    fitDock();
}

void TimelineView::measuredElsewhere()
{
    if (m_ownArea || !selection() || !session() || !session()->isOpen()) return;
    setArea(selection()->measured(), m_canvas->rows().shownTracks());
}

void TimelineView::fitDetails()
{
    // Beside statistics in a narrow window there is no room for what colours mean.
    m_details->setVisible(m_area->isHidden() || m_rows->width() >= kNarrowDock || m_details->facts());
}

void TimelineView::fitDock()
{
    fitDetails();
    const int all = m_rows->height();
    const int wanted = m_area->isHidden() ? m_details->sizeHint().height() : std::max(kLowestArea, all * 2 / 5);
    m_rows->setSizes({std::max(1, all - wanted), wanted});
}

void TimelineView::setNotes(std::vector<TimelineNote> notes)
{
    m_canvas->setNotes(std::move(notes));
}

void TimelineView::goToNote(int direction)
{
    const std::vector<TimelineNote>& notes = m_canvas->axis().notes();
    if (notes.empty() || !selection()) return;
    const TimeRange shown = selection()->range();
    const auto middleOf = [](const TimeRange& range) { return range.begin.ns + range.length().ns / 2; };
    const auto count = static_cast<std::ptrdiff_t>(notes.size());
    std::ptrdiff_t next;
    if (m_noteRange == shown && m_note < notes.size()) {
        next = static_cast<std::ptrdiff_t>(m_note) + direction;
    } else {
        // From the middle of what is seen.
        const auto after = std::find_if(notes.begin(), notes.end(), [&](const TimelineNote& note) {
            return middleOf(note.range) > middleOf(shown);
        });
        next = after - notes.begin() - (direction < 0 ? 1 : 0);
    }
    m_note = static_cast<std::size_t>((next % count + count) % count); // around the end
    // At the present zoom where the note fits into it.
    const TimeRange range = notes[m_note].range;
    const std::int64_t length = std::max(shown.length().ns, range.length().ns * 5 / 4);
    const Instant begin{middleOf(range) - length / 2};
    selection()->setRange({begin, begin + Duration{length}});
    m_noteRange = selection()->range();
}

void TimelineView::find(const QString& name)
{
    m_toolbar->setSearch(name);
}

void TimelineView::selectLikeThis(const QString& name)
{
    if (!selection() || !session()) return;
    std::vector<TrackId> tracks;
    for (const TrackView& track : session()->tracks())
        if (track.slices > 0) tracks.push_back(track.id);
    const TimeRange whole = selection()->whole();
    m_area->setGrouping(RangeGrouping::Name);
    setArea(TimeRange{whole.begin, whole.end + Duration{1}}, std::move(tracks));
    m_area->markName(name);
    find(name);
}

void TimelineView::goToLaunch()
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    const auto around = m_reader->around();
    if (!chosen || !around) return;
    if (const SliceArrow* launch = launchOf(*around, chosen->slice))
        return m_reader->follow(sliceLink(launch->from->slice.id));
    for (const SliceArrow& arrow : around->arrows)
        if (arrow.to && arrow.to->slice.id != chosen->slice.id) return m_reader->follow(sliceLink(arrow.to->slice.id));
}

void TimelineView::addSliceActions(QMenu& menu)
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (!chosen || !chosen->op) return;
    const QString name = QString::fromStdString(chosen->op->name);
    connect(menu.addAction(tr("Copy the name")), &QAction::triggered, this,
            [name] { QApplication::clipboard()->setText(name); });
    connect(menu.addAction(tr("Find all of this name")), &QAction::triggered, this, [this, name] { find(name); });
    for (const char* wanted :
         {"timeline.likeThis", "timeline.previousOfName", "timeline.nextOfName", "timeline.launch", "timeline.fit"})
        for (QAction* action : m_actions)
            if (action->objectName() == QLatin1String(wanted)) menu.addAction(action);
    connect(menu.addAction(tr("Statistics of the time of this slice")), &QAction::triggered, this,
            [this, slice = chosen->slice] {
                setArea(TimeRange{slice.start, slice.end() + Duration{slice.duration.ns > 0 ? 0 : 1}},
                        m_canvas->rows().shownTracks());
            });
    connect(menu.addAction(tr("Bookmark this slice…")), &QAction::triggered, this,
            [this] { emit selection()->commandRequested(QStringLiteral("notes.add")); });
    connect(menu.addAction(tr("Copy the command that opens this view")), &QAction::triggered, this,
            [this] { emit selection()->commandRequested(QStringLiteral("view.copy_command")); });
    menu.addSeparator();
}

void TimelineView::askContextMenu(const QPoint& at, std::optional<TrackId> track, std::optional<RankId> rank)
{
    QMenu menu(this);
    addSliceActions(menu);
    TimelineArrangement arrangement = m_canvas->rows().arrangement();
    const QAction* pin = nullptr;
    const QAction* hide = nullptr;
    const QAction* fold = nullptr;
    if (track) {
        const bool pinned =
            std::find(arrangement.pinned.begin(), arrangement.pinned.end(), *track) != arrangement.pinned.end();
        pin = menu.addAction(pinned ? tr("Unpin this track") : tr("Pin this track to the top"));
        hide = menu.addAction(tr("Hide this track"));
    }
    if (rank)
        fold = menu.addAction(arrangement.collapsed.contains(*rank) ? tr("Expand rank %1").arg(rank->value)
                                                                    : tr("Collapse rank %1").arg(rank->value));
    menu.addSeparator();
    for (auto* action : m_actions)
        if (action->objectName() == QLatin1String("timeline.showHidden"))
            action->setEnabled(!arrangement.hidden.empty());
    QMenu* all = menu.addMenu(tr("All commands of the timeline"));
    all->addActions(actions());
    const QAction* chosen = menu.exec(at);
    if (!chosen) return;
    if (chosen == pin) {
        if (std::erase(arrangement.pinned, *track) == 0) arrangement.pinned.push_back(*track);
    } else if (chosen == hide) {
        arrangement.hidden.insert(*track);
    } else if (chosen == fold) {
        if (!arrangement.collapsed.erase(*rank)) arrangement.collapsed.insert(*rank);
    } else {
        return;
    }
    m_canvas->rows().setArrangement(std::move(arrangement));
}

} // namespace fourwalls::views
