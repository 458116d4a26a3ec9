// SPDX-License-Identifier: GPL-3.0-or-later
// See file_opener.h.
#include "app/gui/file_opener.h"

#include "app/gui/audit_dialog.h"
#include "app/gui/foreign_files.h"
#include "app/gui/job_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/run_files_dialog.h"
#include "app/gui/samples.h"
#include "app/gui/settings.h"
#include "app/gui/steps_dialog.h"
#include "app/gui/trace_document.h"

#include <QDir>
#include <QFileDialog>

#include <utility>

namespace fourwalls::gui {

FileOpener::FileOpener(MainWindow& window, Settings& settings) : m_window(window), m_settings(settings) {}

std::optional<ViewPlace> FileOpener::takePlace()
{
    return std::exchange(m_place, std::nullopt);
}

void FileOpener::choose()
{
    auto* dialog = new QFileDialog(
        &m_window, tr("Open a trace"), m_settings.lastFolder(),
        tr("Traces and profiles (%1);;Fourwalls traces (*.fourwalls);;All files (*)")
            .arg(QLatin1String("*.fourwalls *.fwspool *.json *.jsonl *.gz *.pickle *.pkl *.sqlite *.db *.nsys-rep "
                               "*.pb *.pftrace *.perfetto-trace *.et *.csv *.log *.txt events.out.tfevents* "
                               "*.tar *.tgz *.zip *.zst *.xz *.bz2")));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520); // where the platform has no dialog of its own: the columns as wide as their words
    connect(dialog, &QFileDialog::filesSelected, this, [this, dialog](const QStringList& files) {
        m_settings.setLastFolder(dialog->directory().absolutePath());
        open(files);
    });
    dialog->open();
}

void FileOpener::chooseFolder()
{
    auto* dialog = new QFileDialog(&m_window, tr("Open a folder of profiles"), m_settings.lastFolder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("folder"));
    dialog->setFileMode(QFileDialog::Directory);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& folder) { open({folder}); });
    dialog->open();
}

void FileOpener::addSnapshot()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen()) return;
    // A trace of several files does not know them: only they can be opened together with the snapshot.
    if (document->source() == document->path())
        return m_window.say(
            tr("Open the profiles and the memory snapshot of the run together: they become one trace."));
    auto* dialog = new QFileDialog(&m_window, tr("Add a memory snapshot of the same run"), m_settings.lastFolder(),
                                   tr("Memory snapshots (*.pickle *.pkl);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("snapshot"));
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::filesSelected, this,
            [this, source = document->source()](const QStringList& files) { open(QStringList{source} + files); });
    dialog->open();
}

void FileOpener::open(const QStringList& files, std::optional<ViewPlace> place)
{
    m_place = std::move(place);
    // A file of our name is opened at once; the others are looked at first.
    QStringList own, others;
    for (const QString& file : files) {
        const bool isOwn = file.endsWith(QLatin1String(".fourwalls")) && !file.contains(QChar::ReplacementCharacter);
        (isOwn ? own : others).append(file);
    }
    openTraces(own);
    if (others.isEmpty()) return;
    planOpeningLater(others, m_settings.importsBesideSource(), this,
                     [this](const OpenPlan& plan) { openPlanned(plan); });
}

void FileOpener::openTraces(const QStringList& files)
{
    // A place to go to is in the first one.
    const qsizetype front = m_place ? 0 : files.size() - 1;
    for (qsizetype i = 0; i < files.size(); ++i)
        m_window.openFile(files[i], i == front ? OpenedAs::InFront : OpenedAs::Behind);
}

void FileOpener::openPlanned(const OpenPlan& plan)
{
    openTraces(plan.traces);
    m_window.openDumps(plan.dumps);
    m_window.openRuns(plan.runs);
    if (plan.foreign.isEmpty()) return;
    if (plan.imported) return openImported(plan);
    if (!plan.hasFolder) return importPlanned(plan);
    auto* dialog = new RunFilesDialog(plan.foreign, &m_window);
    dialog->setObjectName(QStringLiteral("runFiles"));
    connect(dialog, &QDialog::accepted, this, [this, plan] { importPlanned(plan); });
    dialog->open();
}

void FileOpener::importPlanned(const OpenPlan& plan)
{
    const QString first = QDir(plan.foreign.constFirst()).dirName();
    const QString title = plan.foreign.size() == 1 ? tr("Importing %1").arg(first)
                                                   : tr("Importing %1 and %n more file(s) as one run", nullptr,
                                                        static_cast<int>(plan.foreign.size()) - 1)
                                                         .arg(first);
    auto* dialog = new JobDialog(title, importArguments(plan), &m_window);
    dialog->setObjectName(QStringLiteral("import"));
    connect(dialog, &QDialog::accepted, this, [this, plan] { openImported(plan); });
    dialog->open();
}

void FileOpener::openImported(const OpenPlan& plan)
{
    TraceDocument* document = m_window.openFile(plan.target);
    // A single file is what a person opened and will open again; several are only known by the trace they became.
    if (plan.foreign.size() == 1) document->setSource(plan.foreign.constFirst());
    if (plan.imported) return;
    connect(document, &TraceDocument::opened, this, [this, document] {
        if (document == m_window.currentDocument() && hasLosses(document->session()->info())) showAudit();
    });
}

void FileOpener::showAudit()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen()) return;
    auto* dialog = new AuditDialog(document->session()->info(), document->name(), &m_window);
    dialog->show(); // beside the trace, not in its way
}

void FileOpener::chooseSteps()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen()) return;
    if (document->session()->info().header.source != TraceSource::Imported || document->isCarried())
        return m_window.say(
            tr("The steps of this trace are its recorder's own; those of imported traces can be chosen."));
    const QString path = document->path(), source = document->source();
    auto* dialog = new StepsDialog(path, document->name(), &m_window);
    dialog->setObjectName(QStringLiteral("steps"));
    connect(dialog, &StepsDialog::chosen, this, [this, path, source](const QString& stepsBy) {
        auto* job = new JobDialog(tr("Computing the steps"), stepsArguments(path, stepsBy), &m_window);
        connect(job, &QDialog::accepted, this, [this, path, source] {
            // The file was replaced: what is open still reads the old one.
            for (const TraceDocument* open : m_window.documents()) {
                if (open->path() != path) continue;
                m_window.closeDocument(m_window.keyOf(open));
                break;
            }
            m_window.openFile(path)->setSource(source);
        });
        job->open();
    });
    dialog->open();
}

void FileOpener::makeSample(const QString& id)
{
    prepareSample(id, this, [this, id](const QString& path, bool exists) {
        if (exists) {
            m_window.openFile(path);
            return;
        }
        QString title = id;
        for (const views::SampleEntry& sample : samples())
            if (sample.id == id) title = sample.title;
        auto* dialog = new JobDialog(title, sampleArguments(id, path), &m_window);
        connect(dialog, &QDialog::accepted, this, [this, path] { m_window.openFile(path); });
        dialog->open();
    });
}

} // namespace fourwalls::gui
