// SPDX-License-Identifier: GPL-3.0-or-later
// Bookmarks and notes of a trace, kept in a small JSON file beside it (FILE.notes.json), or in the user's data folder
// where that cannot be written. Files are read and written on another thread, in the order in which it was asked for.
#pragma once

#include "model/base/result.h"
#include "model/base/time.h"

#include "model/base/ids.h" // after the others: the moc of Qt 6.4 cannot read <compare> as the first header

#include <QObject>
#include <QString>

#include <optional>
#include <vector>

namespace fourwalls::gui {

/// A place in a trace and what a person says of it.
struct TraceNote {
    QString text;
    QString view;                    ///< id
    TimeRange range;                 ///< what was in view
    std::optional<TimeRange> mark{}; ///< what it is about: a slice, an area; absent: all that was in view
    std::optional<StepIndex> step;
    RankId rank;
    std::optional<int> number{}; ///< 0 to 9: a mark, which a key goes back to; no two of a trace have the same

    friend bool operator==(const TraceNote&, const TraceNote&) = default;
};

inline constexpr int kMarkCount = 10;

/// The file's text, and back. Errors: Format. Entries that cannot be read are left out.
QByteArray notesToJson(const std::vector<TraceNote>& notes);
Result<std::vector<TraceNote>> notesFromJson(const QByteArray& json, const QString& where);

class TraceNotes : public QObject {
    Q_OBJECT
public:
    /// tracePath: of the .fourwalls file. Reads its notes in the background.
    explicit TraceNotes(const QString& tracePath, QObject* parent = nullptr);

    const std::vector<TraceNote>& notes() const { return m_notes; }
    void add(const TraceNote& note);
    /// Puts a note with a number in the place of the one that had it.
    void setMark(const TraceNote& note);
    /// Null where no note has the number.
    const TraceNote* mark(int number) const;
    void setText(std::size_t index, const QString& text);
    void remove(std::size_t index);
    bool isLoaded() const { return m_loaded; }
    /// Everything that was read, added or changed is in a file, or `failed` said why not.
    bool isSettled() const { return m_loaded && m_writing == 0; }

signals:
    void changed();
    /// The notes could not be read or written.
    void failed(const fourwalls::Error& error);

private:
    struct Loaded;

    void load();
    void onLoaded(Loaded loaded);
    void changeAndSave();
    void save();

    QString m_beside, m_own; ///< the two places; where both are there, what is in m_own is newer
    std::vector<TraceNote> m_notes;
    bool m_loaded = false;
    bool m_unsaved = false;                       ///< changed before the files were read: written after
    bool m_keepBeside = false, m_keepOwn = false; ///< what is there could not be read: it is never overwritten
    int m_writing = 0;
};

} // namespace fourwalls::gui
