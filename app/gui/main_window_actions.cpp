// SPDX-License-Identifier: GPL-3.0-or-later
// The window's actions: everything that the menu, the box "Find anything" and the shortcuts can do.
// Over 500 lines: a list, one entry an action.
#include "app/gui/appearance.h"
#include "app/gui/audit_dialog.h"
#include "app/gui/demo_player.h"
#include "app/gui/foreign_files.h"
#include "app/gui/image_export.h"
#include "app/gui/job_dialog.h"
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/run_files_dialog.h"
#include "app/gui/samples.h"
#include "app/gui/shortcut_editor.h"
#include "app/gui/steps_dialog.h"
#include "app/gui/trace_document.h"
#include "views/chrome/header_bar.h"
#include "views/chrome/icon.h"
#include "views/chrome/rail.h"
#include "views/chrome/trace_tabs.h"
#include "views/chrome/welcome_page.h"
#include "views/demos/demo_panel.h"
#include "views/view_registry.h"
#include "views/whatif/what_if.h"

#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenu>
#include <QMessageBox>
#include <QPushButton>

#include <utility>

namespace fourwalls::gui {

QAction* MainWindow::addWindowAction(const QString& name, const QKeySequence& keys, std::function<void()> run)
{
    auto* action = new QAction(this);
    action->setObjectName(name);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, std::move(run));
    addAction(action);
    m_actions.emplace(name, action);
    m_order.append(name);
    return action;
}

void MainWindow::buildActions()
{
    const auto add = [this](const char* name, const QKeySequence& keys, auto run) {
        return addWindowAction(QString::fromLatin1(name), keys, run);
    };
    add("file.open", QKeySequence::Open, [this] { chooseFile(); });
    add("file.open_folder", {}, [this] { chooseFolder(); });
    add("file.record", QKeySequence(Qt::CTRL | Qt::Key_R), [this] { openRecordDialog(); });
    add("file.close", QKeySequence(Qt::CTRL | Qt::Key_W), [this] { closeDocument(m_header->tabs()->current()); });
    add("file.next", QKeySequence(Qt::CTRL | Qt::Key_Tab), [this] { switchDocument(1); });
    add("file.previous", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Tab), [this] { switchDocument(-1); });
    add("view.welcome", QKeySequence(Qt::CTRL | Qt::Key_1), [this] { showView(QStringLiteral("welcome")); });
    int number = 2;
    for (const views::ViewEntry& entry : views::viewRegistry()) {
        // Ctrl+1 to Ctrl+9, then Ctrl+0; there are no more digits.
        const QKeySequence keys =
            number <= 10 ? QKeySequence(Qt::CTRL | Qt::Key(Qt::Key_0 + number % 10)) : QKeySequence();
        ++number;
        addWindowAction(QStringLiteral("view.") + entry.id, keys, [this, id = entry.id] { showView(id); });
    }
    add("view.demos", QKeySequence(Qt::CTRL | Qt::Key_D), [this] { showView(QStringLiteral("demos")); });
    for (const char* page : {"view.runs", "view.hang", "view.claims"})
        add(page, {}, [this, page] { showView(QLatin1String(page).mid(5)); });
    add("demo.next", QKeySequence(Qt::ALT | Qt::Key_Right), [this] { m_player->next(); });
    add("demo.back", QKeySequence(Qt::ALT | Qt::Key_Left), [this] { m_player->back(); });
    add("demo.answer", QKeySequence(Qt::ALT | Qt::Key_Down), [this] { m_demoPanel->revealAnswer(); });
    add("demo.close", {}, [this] { m_player->stop(); });
    for (const char* name : {"demo.next", "demo.back", "demo.answer", "demo.close"})
        m_actions.at(QString::fromLatin1(name))->setEnabled(false); // until one plays
    add("demo.open", {}, [this] { chooseDemo(); });
    add("notes.add", QKeySequence(Qt::CTRL | Qt::Key_B), [this] { addNote(); });
    add("notes.show", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_B), [this] { showNotes(); });
    add("view.print", QKeySequence::Print, [this] { printView(); });
    add("window.help", QKeySequence::HelpContents, [this] { showHelp(); });
    add("view.export_picture", QKeySequence(Qt::CTRL | Qt::Key_E), [this] { exportView(); });
    add("view.export_table", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E), [this] { exportTable(); });
    add("view.copy_table", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { copyTable(); });
    for (const char* what : {"report", "export", "trim", "calibrate"})
        addWindowAction(QStringLiteral("file.") + QLatin1String(what), {},
                        [this, what] { share(QString::fromLatin1(what)); });
    add("file.merge", {}, [this] { mergeFiles(); });
    add("view.copy_command", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L), [this] { copyCommand(); });
    add("window.dark", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D),
        [this] { setDark(!views::currentTheme().dark); });
    add("window.binary_units", {}, [this] {
        const bool binary = !m_settings.binaryUnits();
        m_settings.setBinaryUnits(binary);
        m_actions.at(QStringLiteral("window.binary_units"))->setChecked(binary);
        for (TraceDocument* document : documents())
            document->selection()->setByteUnit(binary ? views::ByteUnit::GiB : views::ByteUnit::GB);
    })->setCheckable(true);
    add("window.english", {}, [this] { setLanguage(QStringLiteral("en")); });
    add("window.chinese", {}, [this] { setLanguage(QStringLiteral("zh_CN")); });
    add("window.restore_session", {}, [this] {
        m_settings.setRestoresSession(!m_settings.restoresSession());
    })->setCheckable(true);
    add("window.full_screen", QKeySequence(Qt::Key_F11),
        [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    add("window.find", QKeySequence(Qt::CTRL | Qt::Key_K), [this] { openFind(); });
    add("window.menu", QKeySequence(Qt::Key_F10),
        [this] { m_menu->popup(m_header->mapToGlobal(QPoint(6, m_header->height()))); });
    buildWhatIfActions();
    add("window.shortcuts", {}, [this] { editShortcuts(); });
    add("file.audit", {}, [this] { showAudit(); });
    add("file.steps", {}, [this] { chooseSteps(); });
    add("file.add_snapshot", {}, [this] { addSnapshot(); });
    add("file.import_beside", {}, [this] {
        m_settings.setImportsBesideSource(m_actions.at(QStringLiteral("file.import_beside"))->isChecked());
    })->setCheckable(true);
    add("file.clear_recent", {}, [this] {
        m_settings.clearRecentFiles();
        showRecentFiles();
    });
    add("window.about", {}, [this] { showAbout(); });
    add("file.quit", QKeySequence::Quit, [this] { close(); });
    m_actions.at(QStringLiteral("window.binary_units"))->setChecked(m_settings.binaryUnits());
    m_actions.at(QStringLiteral("file.import_beside"))->setChecked(m_settings.importsBesideSource());
    m_actions.at(QStringLiteral("window.restore_session"))->setChecked(m_settings.restoresSession());
    applyShortcuts(actions());
}

std::map<QString, QString> MainWindow::actionTexts()
{
    return {
        {QStringLiteral("file.open"), tr("&Open a trace…")},
        {QStringLiteral("file.open_folder"), tr("Open a &folder of profiles…")},
        {QStringLiteral("file.record"), tr("&Record a training…")},
        {QStringLiteral("file.close"), tr("&Close this trace")},
        {QStringLiteral("file.next"), tr("Next trace")},
        {QStringLiteral("file.previous"), tr("Previous trace")},
        {QStringLiteral("file.audit"), tr("What was dropped or repaired…")},
        {QStringLiteral("file.steps"), tr("Choose &steps…")},
        {QStringLiteral("file.add_snapshot"), tr("Add a memory snapshot…")},
        {QStringLiteral("file.import_beside"), tr("Keep imported traces beside their source")},
        {QStringLiteral("file.clear_recent"), tr("Clear recent files")},
        {QStringLiteral("file.quit"), tr("&Quit")},
        {QStringLiteral("notes.add"), tr("Add a &bookmark…")},
        {QStringLiteral("notes.show"), tr("Bookmarks and &notes…")},
        {QStringLiteral("view.print"), tr("&Print the view…")},
        {QStringLiteral("window.help"), tr("&Manual")},
        {QStringLiteral("demo.next"), tr("Demo: next step")},
        {QStringLiteral("demo.back"), tr("Demo: step before")},
        {QStringLiteral("demo.answer"), tr("Demo: show the answer")},
        {QStringLiteral("demo.close"), tr("Demo: end")},
        {QStringLiteral("demo.open"), tr("Open a demo file…")},
        {QStringLiteral("view.export_picture"), tr("&Export view as picture…")},
        {QStringLiteral("view.export_table"), tr("Export &table as CSV…")},
        {QStringLiteral("view.copy_table"), tr("Copy table as CSV")},
        {QStringLiteral("file.report"), tr("Report as a page…")},
        {QStringLiteral("file.export"), tr("Export the trace…")},
        {QStringLiteral("file.trim"), tr("Save what is seen as a trace…")},
        {QStringLiteral("file.merge"), tr("Merge files of one run…")},
        {QStringLiteral("file.calibrate"), tr("Learn rates from this trace…")},
        {QStringLiteral("view.copy_command"), tr("Copy the command that opens this view")},
        {QStringLiteral("whatif.show"), tr("What if: show the sliders")},
        {QStringLiteral("whatif.undo"), tr("What if: undo")},
        {QStringLiteral("whatif.redo"), tr("What if: redo")},
        {QStringLiteral("whatif.reset"), tr("What if: as recorded")},
        {QStringLiteral("whatif.record"), tr("What if: record this plan…")},
        {QStringLiteral("whatif.copy_predict"), tr("What if: copy the command that predicts")},
        {QStringLiteral("whatif.copy_record"), tr("What if: copy the command that records")},
        {QStringLiteral("window.dark"), tr("Switch between light and dark")},
        {QStringLiteral("window.binary_units"), tr("Memory in GiB (powers of two)")},
        {QStringLiteral("window.english"), QStringLiteral("English")},
        {QStringLiteral("window.chinese"), QStringLiteral("简体中文")},
        {QStringLiteral("window.restore_session"), tr("Reopen the last traces at start")},
        {QStringLiteral("window.full_screen"), tr("Full screen")},
        {QStringLiteral("window.find"), tr("&Find anything…")},
        {QStringLiteral("window.menu"), tr("Main menu")},
        {QStringLiteral("window.shortcuts"), tr("&Shortcuts…")},
        {QStringLiteral("window.about"), tr("&About Fourwalls")},
    };
}

void MainWindow::buildMenu()
{
    const std::map<QString, QString> texts = actionTexts();
    for (const auto& [name, action] : m_actions) {
        const auto found = texts.find(name);
        action->setText(found != texts.end() ? found->second
                                             : tr("Go to %1").arg(views::viewTitle(name.section(QLatin1Char('.'), 1))));
    }
    for (QMenu* old : m_menu->findChildren<QMenu*>(Qt::FindDirectChildrenOnly)) {
        old->setObjectName({});
        old->deleteLater(); // one of its actions may be what asked for this
    }
    m_menu->clear();
    const auto put = [this](QMenu* menu, std::initializer_list<const char*> names) {
        for (const char* name : names) {
            if (*name == '-') {
                menu->addSeparator();
            } else {
                menu->addAction(m_actions.at(QString::fromLatin1(name)));
            }
        }
    };
    put(m_menu, {"file.open", "file.open_folder", "file.record"});
    (m_recent = m_menu->addMenu(tr("Recent files")))->setObjectName(QStringLiteral("recent"));
    put(m_menu, {"file.audit", "file.steps", "file.add_snapshot", "file.close", "-", "whatif.show"});
    QMenu* view = m_menu->addMenu(tr("View"));
    put(view, {"view.welcome", "view.runs"});
    for (const views::ViewEntry& entry : views::viewRegistry())
        view->addAction(m_actions.at(QStringLiteral("view.") + entry.id));
    put(view, {"view.hang", "view.demos", "view.claims", "-", "window.binary_units", "window.full_screen"});
    put(m_menu, {"notes.add", "notes.show"});
    put(m_menu->addMenu(tr("Share and export")),
        {"view.copy_command", "file.report", "file.trim", "-", "view.export_picture", "view.export_table",
         "view.copy_table", "file.export", "-", "file.merge", "file.calibrate"});
    put(m_menu, {"view.print", "-", "window.find", "window.dark"});
    put(m_menu->addMenu(tr("Language")), {"window.english", "window.chinese"});
    put(m_menu, {"file.import_beside", "window.restore_session", "window.shortcuts", "-", "window.help", "window.about",
                 "file.quit"});
    m_header->setMenu(m_menu);
    showRecentFiles();
}

void MainWindow::showRecentFiles()
{
    const QStringList files = m_settings.recentFiles();
    m_welcome->setRecentFiles(files);
    if (!m_recent) return;
    m_recent->clear();
    for (const QString& path : files)
        connect(m_recent->addAction(QString(path).replace(QLatin1Char('&'), QStringLiteral("&&"))), &QAction::triggered,
                this, [this, path] { openFiles({path}); });
    m_recent->setEnabled(!files.isEmpty());
    if (files.isEmpty()) return;
    m_recent->addSeparator();
    m_recent->addAction(m_actions.at(QStringLiteral("file.clear_recent")));
}

void MainWindow::applyShortcuts(const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        if (action->objectName().isEmpty()) continue;
        rememberDefaultShortcut(*action);
        if (const auto keys = m_settings.shortcut(action->objectName())) action->setShortcut(*keys);
    }
}

QList<QAction*> MainWindow::allActions() const
{
    QList<QAction*> list;
    const TraceDocument* document = currentDocument();
    if (document && !pageOf(m_viewId) && document->currentView()) list = document->currentView()->viewActions();
    for (const QString& name : m_order) list.append(m_actions.at(name));
    return list;
}

void MainWindow::chooseFile()
{
    auto* dialog = new QFileDialog(
        this, tr("Open a trace"), m_settings.lastFolder(),
        tr("Traces and profiles (%1);;Fourwalls traces (*.fourwalls);;All files (*)")
            .arg(QLatin1String("*.fourwalls *.fwspool *.json *.jsonl *.gz *.pickle *.pkl *.sqlite *.db *.nsys-rep "
                               "*.pb *.pftrace *.perfetto-trace *.et *.csv *.log *.txt events.out.tfevents* "
                               "*.tar *.tgz *.zip *.zst *.xz *.bz2")));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520); // where the platform has no dialog of its own: the columns as wide as their words
    connect(dialog, &QFileDialog::filesSelected, this, [this, dialog](const QStringList& files) {
        m_settings.setLastFolder(dialog->directory().absolutePath());
        openFiles(files);
    });
    dialog->open();
}

void MainWindow::chooseFolder()
{
    auto* dialog = new QFileDialog(this, tr("Open a folder of profiles"), m_settings.lastFolder());
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("folder"));
    dialog->setFileMode(QFileDialog::Directory);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& folder) { openFiles({folder}); });
    dialog->open();
}

void MainWindow::addSnapshot()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    // A trace of several files does not know them: only they can be opened together with the snapshot.
    if (document->source() == document->path())
        return say(tr("Open the profiles and the memory snapshot of the run together: they become one trace."));
    auto* dialog = new QFileDialog(this, tr("Add a memory snapshot of the same run"), m_settings.lastFolder(),
                                   tr("Memory snapshots (*.pickle *.pkl);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setObjectName(QStringLiteral("snapshot"));
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->resize(860, 520);
    connect(dialog, &QFileDialog::filesSelected, this,
            [this, source = document->source()](const QStringList& files) { openFiles(QStringList{source} + files); });
    dialog->open();
}

void MainWindow::openFiles(const QStringList& files, std::optional<ViewPlace> place)
{
    m_place = std::move(place);
    // A file of our name is opened at once; the others are looked at first.
    QStringList others;
    for (const QString& file : files) {
        if (file.endsWith(QLatin1String(".fourwalls")) && !file.contains(QChar::ReplacementCharacter)) {
            openFile(file);
        } else {
            others.append(file);
        }
    }
    if (others.isEmpty()) return;
    planOpeningLater(others, m_settings.importsBesideSource(), this,
                     [this](const OpenPlan& plan) { openPlanned(plan); });
}

void MainWindow::openPlanned(const OpenPlan& plan)
{
    for (const QString& file : plan.traces) openFile(file);
    openDumps(plan.dumps);
    openRuns(plan.runs);
    if (plan.foreign.isEmpty()) return;
    if (plan.imported) return openImported(plan);
    if (!plan.hasFolder) return importPlanned(plan);
    auto* dialog = new RunFilesDialog(plan.foreign, this);
    dialog->setObjectName(QStringLiteral("runFiles"));
    connect(dialog, &QDialog::accepted, this, [this, plan] { importPlanned(plan); });
    dialog->open();
}

void MainWindow::importPlanned(const OpenPlan& plan)
{
    const QString first = QDir(plan.foreign.constFirst()).dirName();
    const QString title = plan.foreign.size() == 1 ? tr("Importing %1").arg(first)
                                                   : tr("Importing %1 and %n more file(s) as one run", nullptr,
                                                        static_cast<int>(plan.foreign.size()) - 1)
                                                         .arg(first);
    auto* dialog = new JobDialog(title, importArguments(plan), this);
    dialog->setObjectName(QStringLiteral("import"));
    connect(dialog, &QDialog::accepted, this, [this, plan] { openImported(plan); });
    dialog->open();
}

void MainWindow::openImported(const OpenPlan& plan)
{
    TraceDocument* document = openFile(plan.target);
    // A single file is what a person opened and will open again; several are only known by the trace they became.
    if (plan.foreign.size() == 1) document->setSource(plan.foreign.constFirst());
    if (plan.imported) return;
    connect(document, &TraceDocument::opened, this, [this, document] {
        if (document == currentDocument() && hasLosses(document->session()->info())) showAudit();
    });
}

void MainWindow::showAudit()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    auto* dialog = new AuditDialog(document->session()->info(), document->name(), this);
    dialog->show(); // beside the trace, not in its way
}

void MainWindow::chooseSteps()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen()) return;
    if (document->session()->info().header.source != TraceSource::Imported || document->isCarried())
        return say(tr("The steps of this trace are its recorder's own; those of imported traces can be chosen."));
    const QString path = document->path(), source = document->source();
    auto* dialog = new StepsDialog(path, document->name(), this);
    dialog->setObjectName(QStringLiteral("steps"));
    connect(dialog, &StepsDialog::chosen, this, [this, path, source](const QString& stepsBy) {
        auto* job = new JobDialog(tr("Computing the steps"), stepsArguments(path, stepsBy), this);
        connect(job, &QDialog::accepted, this, [this, path, source] {
            // The file was replaced: what is open still reads the old one.
            for (const auto& [key, open] : m_byKey) {
                if (open->path() != path) continue;
                closeDocument(key);
                break;
            }
            openFile(path)->setSource(source);
        });
        job->open();
    });
    dialog->open();
}

void MainWindow::openRecordDialog()
{
    if (!m_record) {
        m_record = new RecordDialog(this);
        m_record->setAttribute(Qt::WA_DeleteOnClose);
        connect(m_record, &RecordDialog::recorded, this, [this, dialog = m_record.data()](const QString& path) {
            // Only the plan that was predicted: a person may have changed it in the dialog.
            const bool isForecast = m_forecast && dialog->isAsRequested();
            const std::optional<Duration> forecast = std::exchange(m_forecast, std::nullopt);
            if (TraceDocument* document = openFile(path); document && isForecast)
                document->whatIf()->setForecast(forecast);
        });
        m_forecast.reset();
    }
    m_record->show();
    m_record->raise();
    m_record->activateWindow();
}

void MainWindow::makeSample(const QString& id)
{
    prepareSample(id, this, [this, id](const QString& path, bool exists) {
        if (exists) {
            openFile(path);
            return;
        }
        QString title = id;
        for (const views::SampleEntry& sample : samples())
            if (sample.id == id) title = sample.title;
        auto* dialog = new JobDialog(title, sampleArguments(id, path), this);
        connect(dialog, &QDialog::accepted, this, [this, path] { openFile(path); });
        dialog->open();
    });
}

void MainWindow::exportView()
{
    const TraceDocument* document = currentDocument();
    views::View* view = document ? document->currentView() : nullptr;
    if (!view) return;
    auto* dialog = new QFileDialog(this, tr("Export the view as a picture"), m_settings.lastFolder(),
                                   tr("PNG picture (*.png);;SVG drawing (*.svg);;PDF page (*.pdf)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->selectFile(view->id() + QStringLiteral(".png"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, view = QPointer<views::View>(view)](QString path) {
        if (!view) return;
        const PictureFormat format = pictureFormatOf(path).value_or(PictureFormat::Png);
        writeWholeLater(path, pictureOf(*view, format), this, [this, path](const Status& status) {
            say(status.ok() ? tr("Written: %1").arg(path) : QString::fromStdString(status.error().message()));
        });
    });
    dialog->open();
}

void MainWindow::exportTable()
{
    const TraceDocument* document = currentDocument();
    const views::View* view = document ? document->currentView() : nullptr;
    const QString csv = view ? view->tableAsCsv() : QString();
    if (csv.isEmpty()) {
        say(tr("This view shows no table."));
        return;
    }
    auto* dialog = new QFileDialog(this, tr("Export the table"), m_settings.lastFolder(), tr("CSV table (*.csv)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    dialog->selectFile(view->id() + QStringLiteral(".csv"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, csv](const QString& path) {
        writeWholeLater(path, csv.toUtf8(), this, [this, path](const Status& status) {
            say(status.ok() ? tr("Written: %1").arg(path) : QString::fromStdString(status.error().message()));
        });
    });
    dialog->open();
}

void MainWindow::copyTable()
{
    const TraceDocument* document = currentDocument();
    const views::View* view = document ? document->currentView() : nullptr;
    const QString csv = view ? view->tableAsCsv() : QString();
    if (!csv.isEmpty()) QGuiApplication::clipboard()->setText(csv);
    say(csv.isEmpty() ? tr("This view shows no table.") : tr("The table is on the clipboard."));
}

void MainWindow::openAt(const QStringList& files, const ViewPlace& place)
{
    openFiles(files, place);
}

void MainWindow::editShortcuts()
{
    auto* editor = new ShortcutEditor(allActions(), m_settings, this);
    editor->setAttribute(Qt::WA_DeleteOnClose);
    editor->open();
}

void MainWindow::setDark(bool dark)
{
    m_settings.setDark(dark);
    applyTheme(dark);
}

void MainWindow::setLanguage(const QString& language)
{
    m_settings.setLanguage(language);
    applyLanguage(language);
}

void MainWindow::switchDocument(int offset)
{
    const QList<int> keys = m_header->tabs()->keys();
    if (keys.size() < 2) return;
    const qsizetype at = keys.indexOf(m_header->tabs()->current());
    showDocument(keys[(at + offset + keys.size()) % keys.size()]);
}

void MainWindow::showAbout()
{
    auto* box = new QMessageBox(this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setWindowTitle(tr("About Fourwalls"));
    box->setIconPixmap(views::programIcon().pixmap(QSize(64, 64), devicePixelRatioF()));
    box->setText(QStringLiteral("<b>Fourwalls %1</b>").arg(QLatin1String(FOURWALLS_VERSION)));
    box->setInformativeText(
        tr("Explorer and profiler for large-model training.") + QStringLiteral("<br><br>") +
        tr("This application is free software under the GNU General Public License, version 3 or later; the "
           "command-line program and its libraries are under the Apache License 2.0. There is no warranty.") +
        QStringLiteral("<br><br>") +
        tr("Built with Qt %1 (LGPL 3), QCustomPlot (GPL 3), SQLite (public domain), oneDNN (Apache 2.0), "
           "nlohmann-json (MIT), CLI11 (BSD 3-clause) and fmt (MIT).")
            .arg(QLatin1String(qVersion())));
    QPushButton* close = box->addButton(tr("Close"), QMessageBox::AcceptRole);
    Q_UNUSED(close);
    box->open();
}

} // namespace fourwalls::gui
