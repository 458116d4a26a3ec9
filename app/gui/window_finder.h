// SPDX-License-Identifier: GPL-3.0-or-later
// "Find anything" in the window: what it offers beside the trace's names, and going to what was chosen.
#pragma once

#include <QObject> // first: moc stumbles over <compare> otherwise

#include "model/base/ids.h"

#include <vector>

namespace fourwalls::views {
class TimelineView;
} // namespace fourwalls::views

namespace fourwalls::gui {

class FindBox;
class MainWindow;
class Settings;
class TraceDocument;
class TraceFinder;
struct FindItem;

class WindowFinder : public QObject {
    Q_OBJECT
public:
    /// Both outlive this.
    WindowFinder(MainWindow& window, Settings& settings);

    /// Opens the box over `where`.
    void open(QWidget* where);

private:
    std::vector<FindItem> findable(const QString& typed) const; ///< what the window itself offers
    void addPlaces(const QString& typed, TraceDocument& document, std::vector<FindItem>& to) const;
    void goTo(const FindItem& item);
    void goToStep(StepIndex step);
    views::TimelineView* showTimeline(); ///< null where no trace is open

    MainWindow& m_window;
    Settings& m_settings;
    TraceFinder* m_finder = nullptr; ///< as m_box
    FindBox* m_box = nullptr;        ///< made at its first use
};

} // namespace fourwalls::gui
