// SPDX-License-Identifier: GPL-3.0-or-later
// The window: header, rail, the current trace's view, status bar; and the actions that tie them together.
#pragma once

#include "app/gui/settings.h"
#include "app/gui/view_place.h"
#include "views/session/trace_session.h"

#include <QElapsedTimer>
#include <QMainWindow>
#include <QPointer>
#include <QQueue>
#include <QTimer>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

class QStackedWidget;

namespace fourwalls::views {
class ClaimsPage;
class DemoPanel;
class DemosPage;
class HangPage;
class RunsPage;
class HeaderBar;
class Rail;
struct RunList;
class StatusStrip;
class View;
class WelcomePage;
class WhatIfPanel;
} // namespace fourwalls::views

namespace fourwalls::gui {

class ChildJob;
class DemoPlayer;
class FileOpener;
class RecordDialog;
class TraceDocument;
class TraceSharing;
class WhatIfDock;
class WindowActions;
class WindowFinder;
struct RecordRequest;
struct TraceNote;

/// Of several files that are opened at once, one is shown: making a view takes some hundredths of a second.
enum class OpenedAs : std::uint8_t { InFront, Behind };

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    /// settings outlives the window.
    MainWindow(views::TraceOpener opener, Settings& settings, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a trace in a tab of its own (or shows the tab that has it) and shows the current view of it.
    TraceDocument* openFile(const QString& path, OpenedAs as = OpenedAs::InFront);
    /// Opens files of any kind: traces in a tab each, what other tools recorded after its import (several such files
    /// are taken as one run). Looks at them on another thread first.
    /// place: to go to in the first of them.
    void openFiles(const QStringList& files, std::optional<ViewPlace> place = std::nullopt);
    /// The same, and goes to that place in the first of them that opens.
    void openAt(const QStringList& files, const ViewPlace& place);
    /// Reopens what was open when the program ended last.
    void restoreSession();
    /// Shows who hung the job that dumps are of.
    void openDumps(const QStringList& dumps);
    /// Shows the trainings of a folder beside each other.
    void openRuns(const QString& folder);
    /// Runs that are read already, of a demo: they have no files to open or to tag.
    void showRuns(const QString& name, const std::shared_ptr<views::RunList>& list);
    /// "welcome", "runs", "hang", "demos", "claims" or the id of a view.
    void showView(const QString& id);
    QString currentViewId() const { return m_viewId; }
    TraceDocument* currentDocument() const;
    QList<TraceDocument*> documents() const;
    /// Plays a demo: the id of a carried one, or a file.
    void startDemo(const QString& idOrFile);
    DemoPlayer* demoPlayer() const { return m_player; }
    views::ClaimsPage* claimsPage() const { return m_claims; }
    views::HangPage* hangPage() const { return m_hang; }
    views::RunsPage* runsPage() const { return m_runs; }
    /// The What-if dock: hidden until it is asked for, then remembered.
    void showWhatIf(bool shown);
    bool showsWhatIf() const;
    WhatIfDock& whatIf() { return *m_whatIf; }
    /// Null before the dock was first shown.
    views::WhatIfPanel* whatIfPanel() const;
    /// Reads a cluster file (of `calibrate`, or of one's own) on another thread and sets the sliders to it.
    void useMachines(const QString& path);
    /// The dialog for a recording; of that request, with the step that was predicted for it.
    void openRecordDialog();
    void openRecordDialog(const RecordRequest& request, std::optional<Duration> forecast);
    /// Hides everything around the view.
    void setViewOnly(bool viewOnly);
    /// All actions of the window and of the current view, for the box "Find anything" and the shortcut editor.
    QList<QAction*> allActions() const;
    void closeDocument(int key);
    /// The view, the rank, the step and the times of a bookmark of the current trace.
    void goToNote(const TraceNote& note);
    /// Keeps the place that is seen as a mark of the trace, 0 to 9, without asking; and goes back to one.
    void setMark(int number);
    void goToMark(int number);
    /// 0 for a document that is not open here.
    int keyOf(const TraceDocument* document) const;
    /// Whether a view of a trace is shown, not a page that needs none.
    bool showsTrace() const { return !pageOf(m_viewId); }
    WindowActions& windowActions() { return *m_actions; }
    /// A sentence in the status bar, for some seconds.
    void say(const QString& text);
    /// Reads the program's own figures (frame time, memory) for the status bar now.
    void updateOwnFigures();

protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    friend class WindowActions; // its table says what each action does

    void buildDocks(QWidget* centre);
    void retranslate();
    void buildDemos(QWidget* centre);
    void buildHang();
    void buildRuns();
    void writeTags();
    void chooseDemo();
    /// Supplies a comparison with its second trace.
    void prepareCompare(views::View* view);
    void saveQueries(const QStringList& queries);
    void prepareTables(views::View* view); ///< gives it the saved queries
    void choosePartner(QWidget* where);
    void addNote();
    void showNotes();
    void showHelp();
    /// Pages that need no trace: welcome, runs, hang, demos, claims. Null for views of a trace.
    QWidget* pageOf(const QString& id) const;
    void openFind();
    void editShortcuts();
    void showRecentFiles(); ///< in the menu and on the welcome page
    void clearRecentFiles();
    void switchByteUnit();
    void switchImportsBeside();
    void switchRestoresSession();
    void popUpMenu();
    void closeCurrent();
    FileOpener& files() { return *m_files; }
    TraceSharing& sharing() { return *m_sharing; }
    void showAbout();
    void setDark(bool dark);
    void setLanguage(const QString& language);
    void switchDocument(int offset);

    void showDocument(int key);
    /// Shows what the trace opens on, unless another view was chosen.
    void showFirstView(const TraceDocument& document);
    void watch(int key, TraceDocument* document);
    void showStatus(); ///< in the strip below: what the trace says of itself, and the selected slice
    void updateChrome();

    views::TraceOpener m_opener;
    Settings& m_settings;
    views::HeaderBar* m_header;
    views::Rail* m_rail;
    views::StatusStrip* m_status;
    views::WelcomePage* m_welcome;
    views::DemosPage* m_demos = nullptr;
    views::ClaimsPage* m_claims = nullptr;
    views::HangPage* m_hang = nullptr;
    views::RunsPage* m_runs = nullptr;
    QPointer<ChildJob> m_runsJob; ///< that reads the folder of runs which was opened last
    QString m_runFolder;
    QQueue<QStringList> m_tagsToWrite; ///< arguments of fourwalls-cli; the first is being written
    bool m_closesWhenTagged = false;
    QPointer<ChildJob> m_hangJob; ///< that analyses the dumps which were opened last
    views::DemoPanel* m_demoPanel = nullptr;
    DemoPlayer* m_player = nullptr;
    bool m_claimsAsked = false;
    std::unique_ptr<WindowActions> m_actions;
    std::unique_ptr<FileOpener> m_files;
    std::unique_ptr<TraceSharing> m_sharing;
    std::unique_ptr<WindowFinder> m_finder;
    std::unique_ptr<WhatIfDock> m_whatIf;
    QStackedWidget* m_pages;
    QMainWindow* m_dockHost = nullptr; ///< around the pages, so that docks stand between header and status bar
    QWidget* m_frame;                  ///< gives the documents their margins
    QStackedWidget* m_documents;
    QPointer<RecordDialog> m_record;
    std::optional<Duration> m_forecast; ///< of the plan that the Record dialog was opened for
    std::map<int, TraceDocument*> m_byKey;
    QString m_viewId = QStringLiteral("welcome");
    QString m_lastTraceView = QStringLiteral("overview");
    bool m_viewIsTraces = false; ///< the trace chose the view by what it has, not a person
    QTimer m_figuresTimer, m_messageTimer;
    std::optional<double> m_frameMs;
};

} // namespace fourwalls::gui
