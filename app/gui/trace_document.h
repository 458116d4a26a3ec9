// SPDX-License-Identifier: GPL-3.0-or-later
// One open trace with everything that belongs to it: its session, what is selected, and the views that show it.
#pragma once

#include "model/trace/memory_facts.h"
#include "views/base/view.h"
#include "views/session/selection.h"
#include "views/session/trace_session.h"

#include <QElapsedTimer>
#include <QMap>
#include <QStackedWidget>

#include <optional>
#include <vector>

namespace fourwalls::views {
class MessagePage;
class TimelineView;
class WhatIf;
} // namespace fourwalls::views

namespace fourwalls::gui {

/// The view that a trace opens on where nobody chose one: the overview, or of a memory snapshot the memory.
QString firstViewOf(const TraceInfo& info);

class TraceNotes;

/// The widget that fills the window's middle for one trace: a page while opening, the views, or an error.
class TraceDocument : public QStackedWidget {
    Q_OBJECT
public:
    TraceDocument(views::TraceOpener opener, const QString& path, QWidget* parent = nullptr);
    ~TraceDocument() override;

    const QString& path() const { return m_path; }
    /// What a person would open to see this trace again: the file that it was imported from, else the trace itself.
    const QString& source() const { return m_source.isEmpty() ? m_path : m_source; }
    void setSource(const QString& source) { m_source = source; }
    QString name() const;
    /// A trace that the program carries for its demos: no file of the user, never listed as one.
    bool isCarried() const;
    /// The bookmarks of this trace; read at their first use.
    TraceNotes* notes();
    views::TraceSession* session() const { return m_session; }
    views::Selection* selection() const { return m_selection; }
    views::WhatIf* whatIf() const { return m_whatIf; }
    bool isOpen() const { return m_session->isOpen(); }
    /// When the run ran out of memory, see outOfMemoryMoments; none until that was asked.
    const std::vector<OutOfMemory>& outOfMemory() const { return m_outOfMemory; }
    bool hasFailed() const { return m_error.has_value(); }
    const std::optional<Error>& error() const { return m_error; }
    /// Nothing is under way: opening failed, or every question is answered, no prediction is being made and the current
    /// view, where it can be seen, shows what was asked for.
    bool isSettled() const;

    /// Shows the view of that id, making it at its first use; while the trace is opening the view waits for it.
    views::View* showView(const QString& id);
    /// Null before the first showView.
    views::View* currentView() const { return m_current; }
    /// Another trace was shown when it opened, so that its first paint came as late as somebody looked.
    bool wasHiddenWhenOpened() const { return m_hiddenWhenOpened; }
    /// From the start of opening to the end of the first paint of final data [ms].
    std::optional<double> firstPaintMs() const { return m_firstPaintMs; }

protected:
    void changeEvent(QEvent* event) override;

signals:
    void opened();
    void outOfMemoryFound();
    void failed();
    /// The current view painted a frame that shows what was asked for, so long after the range changed.
    void frameShown(double milliseconds);
    void finalDataPainted();
    void retryRequested();
    void closeRequested();

private:
    /// Its flags follow the notes.
    void showNotesOn(views::TimelineView& timeline);
    void watch(views::View* view);
    void onOpened();
    void askEvidence();
    void onFailed(const Error& error);

    QString m_path, m_source;
    QElapsedTimer m_sinceStart, m_sinceRangeChange;
    views::TraceSession* m_session;
    views::Selection* m_selection;
    views::WhatIf* m_whatIf;
    QMap<QString, views::View*> m_views;
    views::View* m_current = nullptr;
    views::MessagePage* m_errorPage = nullptr;
    TraceNotes* m_notes = nullptr;
    std::vector<OutOfMemory> m_outOfMemory;
    std::optional<Error> m_error;
    std::optional<double> m_firstPaintMs;
    bool m_hiddenWhenOpened = false;
};

} // namespace fourwalls::gui
