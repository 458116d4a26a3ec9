// SPDX-License-Identifier: GPL-3.0-or-later
// What helps to read a trace and to come back to it: bookmarks and notes, the manual.
#include "app/gui/help_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/notes_dialog.h"
#include "app/gui/trace_document.h"
#include "app/gui/window_actions.h"
#include "views/base/view.h"
#include "views/view_registry.h"
#include "views/words/words.h"

#include <QInputDialog>

#include <algorithm>

namespace fourwalls::gui {

namespace {

/// The place that is seen: what is selected there, or all of it. Its text says what that is.
TraceNote placeSeen(const TraceDocument& document, const QString& view)
{
    const views::Selection& selection = *document.selection();
    TraceNote note;
    note.view = view;
    note.range = selection.range();
    if (const auto slice = selection.slice()) {
        note.mark = TimeRange{slice->slice.start, slice->slice.end()};
        if (slice->op) note.text = views::opName(*slice->op);
    } else if (selection.measured()) {
        note.mark = selection.measured();
        note.text = MainWindow::tr("selection of %1").arg(views::formatDuration(note.mark->length()));
    } else {
        note.text = MainWindow::tr("%1 of %2").arg(views::viewTitle(view), views::formatDuration(note.range.length()));
    }
    note.step = selection.step();
    note.rank = selection.rank();
    return note;
}

} // namespace

void MainWindow::addNote()
{
    TraceDocument* document = currentDocument();
    if (!document || !document->isOpen() || pageOf(m_viewId)) return;
    const TraceNote note = placeSeen(*document, m_viewId);
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Add a bookmark"));
    dialog->setLabelText(tr("What is to be seen here?"));
    dialog->setTextValue(note.text);
    connect(dialog, &QInputDialog::textValueSelected, document->notes(),
            [notes = document->notes(), note](const QString& text) {
                TraceNote named = note;
                named.text = text;
                notes->add(named);
            });
    dialog->open();
}

void MainWindow::setMark(int number)
{
    TraceDocument* document = currentDocument();
    if (!document || !document->isOpen() || pageOf(m_viewId)) return;
    TraceNote note = placeSeen(*document, m_viewId);
    note.number = number;
    document->notes()->setMark(note);
    say(tr("Mark %1 is here: %2 (%3 comes back)")
            .arg(QString::number(number), note.text, m_actions->keysOf(WindowActions::markName(number, false))));
}

void MainWindow::goToMark(int number)
{
    TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    if (const TraceNote* mark = document->notes()->mark(number)) return goToNote(*mark);
    say(tr("This trace has no mark %1 (%2 sets it)")
            .arg(QString::number(number), m_actions->keysOf(WindowActions::markName(number, true))));
}

void MainWindow::showNotes()
{
    TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    auto* dialog = new NotesDialog(document->notes(), document->name(), this);
    dialog->setObjectName(QStringLiteral("notes"));
    connect(dialog, &NotesDialog::addRequested, this, &MainWindow::addNote);
    connect(dialog, &NotesDialog::chosen, document, [this, document](const TraceNote& note) {
        if (document == currentDocument()) goToNote(note);
    });
    dialog->show();
}

void MainWindow::goToNote(const TraceNote& note)
{
    TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    const std::vector<RankInfo>& ranks = document->session()->info().header.ranks;
    if (std::any_of(ranks.begin(), ranks.end(), [&](const RankInfo& rank) { return rank.rank == note.rank; }))
        document->selection()->setRank(note.rank);
    document->selection()->setStep(note.step);
    showView(note.view);
    document->selection()->setRange(note.range);
}

void MainWindow::showHelp()
{
    auto* dialog = findChild<HelpDialog*>();
    if (!dialog) {
        dialog = new HelpDialog(this);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
    }
    dialog->showPageOf(m_viewId);
    dialog->show();
    dialog->raise();
    dialog->activateWindow();
}

} // namespace fourwalls::gui
