// SPDX-License-Identifier: GPL-3.0-or-later
// See row_actions.h.
#include "views/timeline/row_actions.h"

#include "views/timeline/timeline_canvas.h"
#include "views/timeline/timeline_minimap.h"

#include <QAction>
#include <QActionGroup>
#include <QLineEdit>
#include <QMenu>

#include <algorithm>

namespace fourwalls::views {

namespace {
constexpr int kHeightStep = 25;         ///< of the rows [percent]
constexpr int kNamesStep = 60;          ///< of the column of names [pixels]
constexpr int kLowestWithMinimap = 380; ///< a lower view belongs to the rows alone
constexpr std::pair<const char*, ColourBy> kColourActions[] = {
    {"timeline.colourByWork", ColourBy::Work},     {"timeline.colourByPhase", ColourBy::Phase},
    {"timeline.colourByKind", ColourBy::Kind},     {"timeline.colourByName", ColourBy::Name},
    {"timeline.colourByStream", ColourBy::Stream}, {"timeline.colourByModule", ColourBy::Module}};
} // namespace

RowActions::RowActions(QWidget& view, TimelineSource& source, TimelineCanvas& canvas, TimelineMinimap& minimap)
    : QObject(&view)
    , m_view(view)
    , m_source(source)
    , m_canvas(canvas)
    , m_minimap(minimap)
{
    add("timeline.filterRows", {Qt::CTRL | Qt::SHIFT | Qt::Key_F}, [this] {
        m_canvas.labels().filterEdit().setFocus(Qt::ShortcutFocusReason);
        m_canvas.labels().filterEdit().selectAll();
    });
    QAction* byStream = addSwitch("timeline.byStream", {Qt::Key_G}, false, [this](bool on) {
        TimelineArrangement arrangement = m_canvas.rows().arrangement();
        arrangement.order = on ? RowOrder::ByStream : RowOrder::ByRank;
        m_canvas.rows().setArrangement(std::move(arrangement));
    });
    connect(&m_canvas.rows(), &TimelineRows::arrangementChanged, byStream,
            [this, byStream] { byStream->setChecked(m_canvas.rows().arrangement().order == RowOrder::ByStream); });
    add("timeline.higherRows", {Qt::CTRL | Qt::Key_Plus, Qt::CTRL | Qt::Key_Equal},
        [this] { changeHeights(kHeightStep); });
    add("timeline.lowerRows", {Qt::CTRL | Qt::Key_Minus}, [this] { changeHeights(-kHeightStep); });
    const auto addOfSelected = [this](const char* name, const QList<QKeySequence>& keys, auto change) {
        add(name, keys, [this, change] {
            if (const auto track = m_canvas.selectedTrack()) change(*track);
        });
    };
    addOfSelected("timeline.pin", {Qt::Key_P}, [this](TrackId track) {
        TimelineArrangement arrangement = m_canvas.rows().arrangement();
        if (std::erase(arrangement.pinned, track) == 0) arrangement.pinned.push_back(track);
        m_canvas.rows().setArrangement(std::move(arrangement));
    });
    addOfSelected("timeline.rowUp", {Qt::ALT | Qt::SHIFT | Qt::Key_Up},
                  [this](TrackId track) { m_canvas.rows().move(track, true); });
    addOfSelected("timeline.rowDown", {Qt::ALT | Qt::SHIFT | Qt::Key_Down},
                  [this](TrackId track) { m_canvas.rows().move(track, false); });
    addOfSelected("timeline.higherRow", {Qt::ALT | Qt::SHIFT | Qt::Key_Right},
                  [this](TrackId track) { m_canvas.rows().changeHeight(track, kHeightStep); });
    addOfSelected("timeline.lowerRow", {Qt::ALT | Qt::SHIFT | Qt::Key_Left},
                  [this](TrackId track) { m_canvas.rows().changeHeight(track, -kHeightStep); });
    add("timeline.usualRows", {}, [this] {
        TimelineArrangement arrangement = m_canvas.rows().arrangement();
        arrangement.streams.clear();
        arrangement.streamHeight.clear();
        arrangement.heightPercent = 100;
        m_canvas.rows().setArrangement(std::move(arrangement));
    });
    add("timeline.widerNames", {}, [this] { m_canvas.labels().setWidth(m_canvas.labels().width() + kNamesStep); });
    add("timeline.narrowerNames", {}, [this] { m_canvas.labels().setWidth(m_canvas.labels().width() - kNamesStep); });
    auto* colours = new QActionGroup(this);
    for (const auto& [name, by] : kColourActions) {
        QAction* action = add(name, {}, [this, chosen = by] { setColourBy(chosen); });
        action->setCheckable(true);
        action->setChecked(by == ColourBy::Work);
        colours->addAction(action);
    }
    addSwitch("timeline.minimap", {Qt::Key_O}, true, [this](bool) { placeMinimap(); });
    connect(&m_canvas.labels(), &TimelineLabels::widthChanged, this, &RowActions::placeMinimap);
    connect(&m_minimap, &TimelineMinimap::rangeChosen, &m_canvas, &TimelineCanvas::showRange);
    connect(&m_minimap, &TimelineMinimap::changed, &m_canvas, qOverload<>(&QWidget::update)); // a frame that is final
    retranslate();
}

QAction* RowActions::add(const char* name, const QList<QKeySequence>& keys, std::function<void()> run)
{
    auto* action = new QAction(&m_view);
    action->setObjectName(QLatin1String(name));
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_view.addAction(action);
    return action;
}

QAction* RowActions::addSwitch(const char* name, const QList<QKeySequence>& keys, bool on,
                               std::function<void(bool)> run)
{
    QAction* action = add(name, keys, [] {});
    action->setCheckable(true);
    action->setChecked(on);
    connect(action, &QAction::toggled, this, std::move(run));
    return action;
}

void RowActions::retranslate()
{
    const std::pair<const char*, QString> texts[] = {
        {"timeline.filterRows", tr("Filter rows")},
        {"timeline.byStream", tr("Rows by stream instead of by rank")},
        {"timeline.higherRows", tr("Higher rows")},
        {"timeline.lowerRows", tr("Lower rows")},
        {"timeline.widerNames", tr("More room for the names of rows")},
        {"timeline.narrowerNames", tr("Less room for the names of rows")},
        {"timeline.colourByWork", tr("Colour by what the time was for")},
        {"timeline.colourByPhase", tr("Colour by phase")},
        {"timeline.colourByKind", tr("Colour by kind")},
        {"timeline.colourByName", tr("Colour by name")},
        {"timeline.colourByStream", tr("Colour by stream")},
        {"timeline.colourByModule", tr("Colour by layer or module")},
        {"timeline.pin", tr("Pin or unpin the selected slice's track")},
        {"timeline.rowUp", tr("Move the row of the selected slice up")},
        {"timeline.rowDown", tr("Move the row of the selected slice down")},
        {"timeline.higherRow", tr("Make the row of the selected slice higher")},
        {"timeline.lowerRow", tr("Make the row of the selected slice lower")},
        {"timeline.usualRows", tr("Usual order and heights of rows")},
        {"timeline.minimap", tr("The whole trace above the rows")},
    };
    for (const auto& [name, text] : texts) named(name)->setText(text);
}

QAction* RowActions::named(const char* name) const
{
    const QList<QAction*> actions = m_view.actions();
    const auto found = std::find_if(actions.begin(), actions.end(),
                                    [&](const QAction* action) { return action->objectName() == QLatin1String(name); });
    return found == actions.end() ? nullptr : *found;
}

QMenu* RowActions::makeMenu()
{
    auto* menu = new QMenu(&m_view);
    for (const char* name : {"timeline.filterRows",
                             "timeline.byStream",
                             "timeline.higherRows",
                             "timeline.lowerRows",
                             "timeline.widerNames",
                             "timeline.narrowerNames",
                             "timeline.usualRows",
                             "",
                             "timeline.colourByWork",
                             "timeline.colourByPhase",
                             "timeline.colourByKind",
                             "timeline.colourByName",
                             "timeline.colourByStream",
                             "timeline.colourByModule",
                             "",
                             "timeline.expandAll",
                             "timeline.collapseAll",
                             "timeline.showHidden",
                             "timeline.hideCounters",
                             "timeline.memory",
                             "timeline.minimap"}) {
        if (*name)
            menu->addAction(named(name));
        else
            menu->addSeparator();
    }
    return menu;
}

void RowActions::setColourBy(ColourBy by)
{
    for (const auto& [name, each] : kColourActions)
        if (each == by) named(name)->setChecked(true);
    m_source.setColourBy(by);
}

void RowActions::changeHeights(int percent)
{
    TimelineArrangement arrangement = m_canvas.rows().arrangement();
    const int wanted = std::clamp(arrangement.heightPercent + percent, kLowestRowsPercent, kHighestRowsPercent);
    arrangement.heightPercent = wanted;
    m_canvas.rows().setArrangement(std::move(arrangement));
}

void RowActions::placeMinimap()
{
    m_minimap.setVisible(named("timeline.minimap")->isChecked() && m_view.height() >= kLowestWithMinimap);
    const QRect plot = m_canvas.plotRect();
    m_minimap.setMargins(plot.left(), m_canvas.width() - plot.right() - 1);
}

} // namespace fourwalls::views
