// SPDX-License-Identifier: GPL-3.0-or-later
// What the user does with the rows of the timeline: their order, heights, colours, filter, and the whole trace above.
#pragma once

#include "views/timeline/timeline_source.h"

#include <QKeySequence>
#include <QList>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

class QAction;
class QMenu;
class QWidget;

namespace fourwalls::views {

class TimelineCanvas;
class TimelineMinimap;

class RowActions : public QObject {
    Q_OBJECT
public:
    /// Adds actions to `view`, which has the others already; all outlive this.
    RowActions(QWidget& view, TimelineSource& source, TimelineCanvas& canvas, TimelineMinimap& minimap);

    void retranslate();
    /// What the button "Rows" offers: these actions and those of the view that fold and hide.
    QMenu* makeMenu();
    void setColourBy(ColourBy by);
    /// Shows or hides the whole trace, above the time that the canvas shows.
    void placeMinimap();

private:
    QAction* add(const char* name, const QList<QKeySequence>& keys, std::function<void()> run);
    QAction* addSwitch(const char* name, const QList<QKeySequence>& keys, bool on, std::function<void(bool)> run);
    QAction* named(const char* name) const;
    void changeHeights(int percent);

    QWidget& m_view;
    TimelineSource& m_source;
    TimelineCanvas& m_canvas;
    TimelineMinimap& m_minimap;
};

} // namespace fourwalls::views
