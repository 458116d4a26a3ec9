// SPDX-License-Identifier: GPL-3.0-or-later
// Saving a trace for others: a page about it, other formats, a piece of it, several files as one, the rates it shows, and
// the command that opens what is seen. Other programs do the work; the window waits for none.
#include "app/gui/job_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/share_request.h"
#include "app/gui/trace_document.h"

#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>

namespace fourwalls::gui {

void MainWindow::saveShared(const QString& title, const QString& name, const std::vector<ShareChoice>& choices,
                            std::function<void(const QString& path)> done)
{
    QStringList filters;
    for (const ShareChoice& choice : choices) filters << choice.filter();
    auto* dialog = new QFileDialog(this, title, m_settings.lastFolder(), filters.join(QStringLiteral(";;")));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("share"));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    // A trace's name has other dots: "run.rank0".
    const QString& ending = choices.front().suffix;
    dialog->selectFile(ending.isEmpty() ? name : name + QLatin1Char('.') + ending);
    // Before the dialog asks whether to replace a file.
    const auto suffix = [dialog, choices] {
        for (const ShareChoice& each : choices)
            if (each.filter() == dialog->selectedNameFilter()) dialog->setDefaultSuffix(each.suffix);
    };
    suffix();
    connect(dialog, &QFileDialog::filterSelected, dialog, suffix);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::fileSelected, this,
            [this, dialog, title, choices, done = std::move(done)](const QString& chosen) {
                m_settings.setLastFolder(dialog->directory().absolutePath());
                ShareChoice choice = choices.front();
                for (const ShareChoice& each : choices)
                    if (each.filter() == dialog->selectedNameFilter()) choice = each;
                const QString path = choice.named(chosen);
                auto* job = new JobDialog(title, choice.arguments + QStringList{QStringLiteral("-o"), path}, this);
                job->setObjectName(QStringLiteral("shareJob"));
                connect(job, &QDialog::accepted, this, [this, path, done] {
                    say(tr("Written: %1").arg(path));
                    if (done) done(path);
                });
                job->open();
            });
    dialog->open();
}

void MainWindow::share(const QString& what)
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    const QString stem = QFileInfo(document->name()).completeBaseName();
    if (what == QLatin1String("report")) {
        saveShared(tr("Report as a page"), stem, reportChoices(document->path()));
    } else if (what == QLatin1String("export")) {
        saveShared(tr("Export the trace"), stem, exportChoices(document->path()));
    } else if (what == QLatin1String("trim")) {
        const views::Selection& selection = *document->selection();
        const TimeRange range = selection.measured()
                                    .value_or(selection.range())
                                    .intersected({selection.whole().begin, selection.whole().end + Duration{1}});
        if (range.empty()) return say(tr("Nothing of the trace is in view."));
        saveShared(tr("Save what is seen as a trace"), stem + QStringLiteral("-part"),
                   trimChoices(document->path(), range), [this](const QString& path) { openFile(path); });
    } else {
        saveShared(tr("Learn rates from this trace"), stem + QStringLiteral("-rates"),
                   calibrateChoices(document->path()), [this](const QString& path) { takeMachines(path); });
    }
}

void MainWindow::mergeFiles()
{
    auto* dialog = new QFileDialog(this, tr("Files of the ranks of one run"), m_settings.lastFolder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("merge"));
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& files) {
        saveShared(tr("Merge into one trace"), QStringLiteral("merged"), mergeChoices(files),
                   [this](const QString& path) { openFile(path); });
    });
    dialog->open();
}

void MainWindow::copyCommand()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen() || pageOf(m_viewId)) return;
    const QString command = commandOf(*document, m_viewId);
    QGuiApplication::clipboard()->setText(command);
    say(tr("On the clipboard: %1").arg(command));
}

} // namespace fourwalls::gui
