// SPDX-License-Identifier: GPL-3.0-or-later
// Asks a trace's session what answers to a typed text: names at once, then the next slices; and where to go for one.
#pragma once

#include "model/trace/name_index.h"
#include "views/session/trace_session.h"

#include <QObject>
#include <QPointer>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::gui {

/// What is read of a trace once, when somebody begins to type.
struct TraceContents {
    NameIndex names;
    std::vector<JobStep> steps; ///< by number
};

class TraceFinder : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    /// Null: there is no trace. What was read of a trace is kept until another one is given.
    void setSession(views::TraceSession* session);
    views::TraceSession* session() const { return m_session; }
    /// Reads the contents; `contentsRead` follows, unless they are there.
    void readContents();
    /// Null before they were read.
    const std::shared_ptr<const TraceContents>& contents() const { return m_contents; }

    /// Asks for names and for slices that begin at `from` or later; `found` follows, first with the names. Takes the
    /// question before back. An empty text asks nothing.
    void ask(const QString& text, Instant from);
    /// The names of the last question are not there yet.
    bool isLooking() const { return m_looking; }
    const NameHits& names() const { return m_names; }
    const std::vector<NamedSlice>& slices() const { return m_slices; }

    /// Looks for the next slice of exactly this name (of that layer); `reached` follows, if there is one.
    void goTo(const QString& name, std::optional<LayerIndex> layer, Instant from);

signals:
    void contentsRead();
    void found();
    void reached(const fourwalls::NamedSlice& slice);

private:
    void askNames();
    void askSlices();

    QPointer<views::TraceSession> m_session;
    std::shared_ptr<const TraceContents> m_contents;
    bool m_reading = false, m_looking = false;
    QString m_text;
    Instant m_from;
    NameHits m_names;
    std::vector<NamedSlice> m_slices;
};

} // namespace fourwalls::gui
