// SPDX-License-Identifier: GPL-3.0-or-later
// The window's What-if dock: where it stands, whose sliders it shows, and what its buttons do.
#pragma once

#include <QObject>
#include <QStringList>

#include <memory>
#include <vector>

class QDockWidget;
class QMainWindow;

namespace fourwalls::views {
class WhatIfPanel;
} // namespace fourwalls::views

namespace fourwalls::gui {

class MainWindow;
class Settings;
class TraceDocument;
struct MachineFile;

class WhatIfDock : public QObject {
    Q_OBJECT
public:
    /// All outlive this; the dock is host's. It is hidden until it is asked for, then remembered.
    WhatIfDock(MainWindow& window, QMainWindow& host, Settings& settings);
    ~WhatIfDock() override;

    void show(bool shown);
    bool isShown() const;
    /// Barred: it is not to be seen, whoever shows it.
    void setBarred(bool barred);
    /// Null before the dock was first shown.
    views::WhatIfPanel* panel() const { return m_panel; }
    /// From now on follows that trace while it is the current one.
    void watch(TraceDocument* document);
    /// Shows the sliders of the current trace.
    void update();
    /// Reads a cluster file on another thread and sets the sliders to it.
    void takeMachines(const QString& path);

    void undo();
    void redo();
    void reset(); ///< to what was recorded
    void recordPlan();
    /// The command line that predicts the plan, or records it, on the clipboard.
    void copyCommand(bool record);

signals:
    /// hasTrace: there is a trace to ask about.
    void changed(bool hasTrace, bool shown);

private:
    void makePanel();
    void updateRecordable();
    void saveReplay(const QStringList& changes);
    void chooseMachines();
    void readMachines();
    void offerMachines(const MachineFile& machines);

    MainWindow& m_window;
    Settings& m_settings;
    QDockWidget* m_dock;
    views::WhatIfPanel* m_panel = nullptr;
    std::vector<std::shared_ptr<const MachineFile>> m_machines; ///< from files, for the sliders of all traces
    bool m_isBarred = false;
};

} // namespace fourwalls::gui
