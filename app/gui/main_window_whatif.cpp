// SPDX-License-Identifier: GPL-3.0-or-later
// The window's What-if dock: where it stands, whose sliders it shows, and what its buttons do.
#include "app/gui/image_export.h"
#include "app/gui/job_dialog.h"
#include "app/gui/machine_file.h"
#include "app/gui/main_window.h"
#include "app/gui/plan_request.h"
#include "app/gui/record_dialog.h"
#include "app/gui/trace_document.h"
#include "views/chrome/header_bar.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"

#include <QClipboard>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QUndoStack>

#include <algorithm>

namespace fourwalls::gui {

namespace {

/// Where networks and clusters that are no presets are kept for the command line.
QString planFolder()
{
    return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/plans");
}

/// Writes one file after the other, then calls `done`; stops at the first that cannot be written.
void writeAll(QList<NeededFile> files, QObject* receiver, const std::function<void(const Status&)>& done)
{
    if (files.isEmpty()) return done({});
    const NeededFile file = files.takeFirst();
    writeWholeLater(file.first, file.second, receiver, [files, receiver, done](const Status& status) {
        if (status.ok())
            writeAll(files, receiver, done);
        else
            done(status);
    });
}

} // namespace

QWidget* MainWindow::buildDocks(QWidget* centre)
{
    m_dockHost = new QMainWindow(centre);
    m_dockHost->setWindowFlags(Qt::Widget); // QMainWindow's constructor makes a window of it
    m_dockHost->setContextMenuPolicy(Qt::NoContextMenu);
    m_dockHost->setCentralWidget(m_pages);
    m_whatIfDock = new QDockWidget(m_dockHost);
    m_whatIfDock->setObjectName(QStringLiteral("whatif"));
    m_whatIfDock->setAllowedAreas(Qt::LeftDockWidgetArea | Qt::RightDockWidgetArea);
    m_whatIfDock->hide();
    m_dockHost->addDockWidget(Qt::RightDockWidgetArea, m_whatIfDock);
    connect(m_header, &views::HeaderBar::whatIfToggled, this, &MainWindow::showWhatIf);
    connect(m_whatIfDock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible) makeWhatIfPanel();
        updateWhatIf();
    });
    return m_dockHost;
}

void MainWindow::makeWhatIfPanel()
{
    // Made at its first use: a start without it stays quick.
    if (m_whatIf) return;
    m_whatIf = new views::WhatIfPanel(m_whatIfDock);
    m_whatIf->setMinimumWidth(344);
    m_whatIfDock->setTitleBarWidget(m_whatIf->head());
    m_whatIfDock->setWidget(m_whatIf);
    connect(m_whatIf, &views::WhatIfPanel::closeRequested, this, [this] { showWhatIf(false); });
    connect(m_whatIf, &views::WhatIfPanel::recordRequested, this, &MainWindow::recordPlan);
    connect(m_whatIf, &views::WhatIfPanel::machinesRequested, this, &MainWindow::chooseMachines);
    connect(m_whatIf, &views::WhatIfPanel::saveReplayRequested, this, &MainWindow::saveReplay);
    readMachines();
    connect(m_whatIf, &views::WhatIfPanel::copyPredictRequested, this, [this] { copyPlanCommand(false); });
    connect(m_whatIf, &views::WhatIfPanel::copyRecordRequested, this, [this] { copyPlanCommand(true); });
}

void MainWindow::readMachines()
{
    if (m_settings.isForgetful()) return;
    // One that cannot be read any more is not offered.
    readKnownMachines(m_settings.machineFiles(), this, [this](const std::vector<MachineFile>& known) {
        for (const MachineFile& each : known) offerMachines(each);
    });
}

void MainWindow::offerMachines(const MachineFile& machines)
{
    std::erase_if(m_machines, [&](const auto& each) { return each->cluster.name == machines.cluster.name; });
    m_machines.push_back(std::make_shared<const MachineFile>(machines));
    for (const auto& [key, document] : m_byKey)
        if (document->isOpen()) document->whatIf()->addMachine(machines.cluster, machines.calibration);
}

void MainWindow::chooseMachines()
{
    auto* dialog = new QFileDialog(this, tr("Machines from a file"), m_settings.lastFolder(),
                                   tr("Clusters and calibrations (*.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::takeMachines);
    dialog->open();
}

void MainWindow::takeMachines(const QString& path)
{
    readMachineFileLater(path, this, [this, path](const Result<MachineFile>& machines) {
        if (!machines.ok()) return say(QString::fromStdString(machines.error().message()));
        m_settings.addMachineFile(path);
        offerMachines(*machines);
        if (m_whatIf) m_whatIf->chooseMachines(QString::fromStdString(machines->cluster.name));
    });
}

bool MainWindow::showsWhatIf() const
{
    return !m_whatIfDock->isHidden();
}

void MainWindow::showWhatIf(bool shown)
{
    if (shown) makeWhatIfPanel();
    m_whatIfDock->setVisible(shown && !m_viewOnly);
    updateWhatIf();
}

void MainWindow::updateWhatIf()
{
    TraceDocument* document = currentDocument();
    const bool shown = showsWhatIf();
    for (const auto& [key, each] : m_byKey)
        if (each != document && each->whatIf()) each->whatIf()->setActive(false);
    if (m_whatIf) {
        m_whatIf->setDocument(document ? document->session() : nullptr, document ? document->whatIf() : nullptr);
        m_whatIf->setByteUnit(m_settings.binaryUnits() ? views::ByteUnit::GiB : views::ByteUnit::GB);
    }
    if (document && document->isOpen() && !m_viewOnly) document->whatIf()->setActive(shown);
    m_header->setWhatIf(document != nullptr, shown);
    const bool hasSpec = document && document->whatIf()->spec();
    for (const char* name :
         {"whatif.undo", "whatif.redo", "whatif.reset", "whatif.record", "whatif.copy_predict", "whatif.copy_record"}) {
        const auto found = m_actions.find(QLatin1String(name));
        if (found != m_actions.end()) found->second->setEnabled(hasSpec);
    }
    if (const auto found = m_actions.find(QStringLiteral("whatif.show")); found != m_actions.end())
        found->second->setChecked(shown);
    updateRecordable();
}

void MainWindow::updateRecordable()
{
    const TraceDocument* document = currentDocument();
    if (!m_whatIf || !document || !document->whatIf()->spec()) return;
    m_whatIf->setRecordBlocked(whyNotRecordable(*document->whatIf()->spec(), document->whatIf()->step().get()));
}

void MainWindow::watchWhatIf(TraceDocument* document)
{
    views::WhatIf* whatIf = document->whatIf();
    const auto isCurrent = [this, document] { return document == currentDocument(); };
    connect(document, &TraceDocument::opened, this, [this, whatIf] {
        for (const auto& each : m_machines) whatIf->addMachine(each->cluster, each->calibration);
    });
    connect(whatIf, &views::WhatIf::recordedChanged, this, [this, isCurrent] {
        if (isCurrent()) updateWhatIf();
    });
    connect(whatIf, &views::WhatIf::predictedStepChanged, this, [this, isCurrent] {
        if (isCurrent()) updateRecordable();
    });
    connect(whatIf, &views::WhatIf::showRequested, this, [this, isCurrent] {
        if (isCurrent()) showWhatIf(true);
    });
    connect(document->selection(), &views::Selection::byteUnitChanged, this, &MainWindow::updateWhatIf);
    // A view loaded a plan into the sliders: they are to be seen.
    connect(whatIf, &views::WhatIf::activeChanged, this, [this, isCurrent, whatIf] {
        if (isCurrent() && whatIf->isActive() && !showsWhatIf()) showWhatIf(true);
    });
}

void MainWindow::buildWhatIfActions()
{
    const auto add = [this](const char* name, const QKeySequence& keys, auto run) {
        return addWindowAction(QString::fromLatin1(name), keys, run);
    };
    const auto withWhatIf = [this](auto run) {
        return [this, run] {
            if (TraceDocument* document = currentDocument()) run(*document->whatIf());
        };
    };
    add("whatif.show", QKeySequence(Qt::CTRL | Qt::Key_I), [this] { showWhatIf(!showsWhatIf()); })->setCheckable(true);
    add("whatif.undo", QKeySequence(Qt::CTRL | Qt::Key_Z),
        withWhatIf([](views::WhatIf& whatIf) { whatIf.history()->undo(); }));
    add("whatif.redo", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z),
        withWhatIf([](views::WhatIf& whatIf) { whatIf.history()->redo(); }));
    add("whatif.reset", {}, [this] {
        if (m_whatIf) m_whatIf->resetToRecorded();
    });
    add("whatif.record", {}, [this] { recordPlan(); });
    add("whatif.copy_predict", {}, [this] { copyPlanCommand(false); });
    add("whatif.copy_record", {}, [this] { copyPlanCommand(true); });
}

void MainWindow::recordPlan()
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->whatIf()->spec()) return;
    QList<NeededFile> files;
    const RecordRequest request =
        recordRequestOf(*document->whatIf()->spec(), document->session()->info().header.clock, planFolder(), files);
    std::optional<Duration> forecast;
    constexpr double kLongest = 1e9; // of a step that anybody waits for [s]
    const auto step = document->whatIf()->step();
    if (step && !document->whatIf()->isStepOutstanding() && step->seconds < kLongest)
        forecast = Duration::fromSeconds(step->seconds);
    QDir().mkpath(planFolder());
    writeAll(files, this, [this, request, forecast](const Status& status) {
        if (!status.ok()) return say(QString::fromStdString(status.error().message()));
        openRecordDialog();
        // What runs keeps its plan and its file's name: its progress is shown instead.
        if (m_record->isRunning()) return;
        m_record->setRequest(request);
        m_forecast = forecast;
    });
}

void MainWindow::saveReplay(const QStringList& changes)
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->isOpen() || changes.isEmpty()) return;
    const QString path = document->session()->path();
    auto* dialog =
        new QFileDialog(this, tr("Save the changed step"), m_settings.lastFolder(), tr("Traces (*.fourwalls)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("fourwalls"));
    dialog->selectFile(QFileInfo(path).completeBaseName() + QStringLiteral("-replayed.fourwalls"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, path, changes](const QString& target) {
        QStringList arguments{QStringLiteral("replay"), path, QStringLiteral("-o"), target};
        for (const QString& change : changes) arguments << QStringLiteral("--change") << change;
        auto* job = new JobDialog(tr("Replaying the steps"), arguments, this);
        connect(job, &QDialog::accepted, this, [this, target] { openFile(target); });
        job->open();
    });
    dialog->open();
}

void MainWindow::copyPlanCommand(bool record)
{
    const TraceDocument* document = currentDocument();
    if (!document || !document->whatIf()->spec()) return;
    const RunSpec& spec = *document->whatIf()->spec();
    QList<NeededFile> files;
    QStringList arguments;
    if (record) {
        RecordRequest request = recordRequestOf(spec, document->session()->info().header.clock, planFolder(), files);
        request.output =
            QString::fromStdString(spec.model.name.empty() ? "run" : spec.model.name) + QStringLiteral(".fourwalls");
        arguments = request.arguments();
        arguments.removeAll(QStringLiteral("--json"));
    } else {
        arguments = predictArguments(spec, planFolder(), files);
        // The file itself also says what was measured on the machines.
        const auto isTheirs = [&](const auto& each) {
            RunSpec own = spec;
            own.cluster = each->cluster;
            return views::isSameSpec(own, spec);
        };
        const auto machines = std::find_if(m_machines.begin(), m_machines.end(), isTheirs);
        if (machines != m_machines.end()) {
            QString& word = arguments[arguments.indexOf(QStringLiteral("--cluster")) + 1];
            if (!files.isEmpty() && files.constLast().first == word) files.removeLast();
            word = (*machines)->path;
        }
    }
    QDir().mkpath(planFolder());
    writeAll(files, this, [this, arguments](const Status& status) {
        if (!status.ok()) return say(QString::fromStdString(status.error().message()));
        QGuiApplication::clipboard()->setText(shellCommand(QStringLiteral("fourwalls-cli"), arguments));
        say(tr("The command is on the clipboard."));
    });
}

} // namespace fourwalls::gui
