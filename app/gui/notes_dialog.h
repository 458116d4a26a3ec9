// SPDX-License-Identifier: GPL-3.0-or-later
// The bookmarks and notes of a trace: go there, change the text, add, delete.
#pragma once

#include <QDialog> // first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QPointer>

#include "app/gui/trace_notes.h"

class QListWidget;
class QPushButton;

namespace fourwalls::gui {

class NotesDialog : public QDialog {
    Q_OBJECT
public:
    /// notes: gone with its trace, and the dialog then closes.
    NotesDialog(TraceNotes* notes, const QString& name, QWidget* parent = nullptr);

signals:
    void addRequested();
    void chosen(const fourwalls::gui::TraceNote& note);

private:
    void fill();

    QPointer<TraceNotes> m_notes;
    QListWidget* m_list;
    QPushButton *m_go, *m_remove;
    bool m_filling = false;
};

} // namespace fourwalls::gui
