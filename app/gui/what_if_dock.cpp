// SPDX-License-Identifier: GPL-3.0-or-later
// See what_if_dock.h.
#include "app/gui/what_if_dock.h"

#include "app/gui/image_export.h"
#include "app/gui/job_dialog.h"
#include "app/gui/machine_file.h"
#include "app/gui/main_window.h"
#include "app/gui/plan_request.h"
#include "app/gui/settings.h"
#include "app/gui/trace_document.h"
#include "app/gui/window_actions.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"

#include <QClipboard>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
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

WhatIfDock::WhatIfDock(MainWindow& window, QMainWindow& host, Settings& settings)
    : m_window(window)
    , m_settings(settings)
    , m_dock(new QDockWidget(&host))
{
    m_dock->setObjectName(QStringLiteral("whatif"));
    m_dock->setAllowedAreas(Qt::LeftDockWidgetArea | Qt::RightDockWidgetArea);
    m_dock->hide();
    host.addDockWidget(Qt::RightDockWidgetArea, m_dock);
    connect(m_dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
        if (visible) makePanel();
        update();
    });
}

WhatIfDock::~WhatIfDock() = default;

void WhatIfDock::setBarred(bool barred)
{
    m_isBarred = barred;
    if (barred) m_dock->hide();
}

void WhatIfDock::undo()
{
    if (TraceDocument* document = m_window.currentDocument()) document->whatIf()->history()->undo();
}

void WhatIfDock::redo()
{
    if (TraceDocument* document = m_window.currentDocument()) document->whatIf()->history()->redo();
}

void WhatIfDock::reset()
{
    if (m_panel) m_panel->resetToRecorded();
}

void WhatIfDock::makePanel()
{
    // Made at its first use: a start without it stays quick.
    if (m_panel) return;
    m_panel = new views::WhatIfPanel(m_dock);
    m_panel->setMinimumWidth(344);
    m_dock->setTitleBarWidget(m_panel->head());
    m_dock->setWidget(m_panel);
    connect(m_panel, &views::WhatIfPanel::closeRequested, this, [this] { show(false); });
    connect(m_panel, &views::WhatIfPanel::recordRequested, this, &WhatIfDock::recordPlan);
    connect(m_panel, &views::WhatIfPanel::machinesRequested, this, &WhatIfDock::chooseMachines);
    connect(m_panel, &views::WhatIfPanel::saveReplayRequested, this, &WhatIfDock::saveReplay);
    readMachines();
    connect(m_panel, &views::WhatIfPanel::copyPredictRequested, this, [this] { copyCommand(false); });
    connect(m_panel, &views::WhatIfPanel::copyRecordRequested, this, [this] { copyCommand(true); });
}

void WhatIfDock::readMachines()
{
    if (m_settings.isForgetful()) return;
    // One that cannot be read any more is not offered.
    readKnownMachines(m_settings.machineFiles(), this, [this](const std::vector<MachineFile>& known) {
        for (const MachineFile& each : known) offerMachines(each);
    });
}

void WhatIfDock::offerMachines(const MachineFile& machines)
{
    std::erase_if(m_machines, [&](const auto& each) { return each->cluster.name == machines.cluster.name; });
    m_machines.push_back(std::make_shared<const MachineFile>(machines));
    for (const TraceDocument* document : m_window.documents())
        if (document->isOpen()) document->whatIf()->addMachine(machines.cluster, machines.calibration);
}

void WhatIfDock::chooseMachines()
{
    auto* dialog = new QFileDialog(&m_window, tr("Machines from a file"), m_settings.lastFolder(),
                                   tr("Clusters and calibrations (*.json);;All files (*)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, &WhatIfDock::takeMachines);
    dialog->open();
}

void WhatIfDock::takeMachines(const QString& path)
{
    readMachineFileLater(path, this, [this, path](const Result<MachineFile>& machines) {
        if (!machines.ok()) return m_window.say(QString::fromStdString(machines.error().message()));
        m_settings.addMachineFile(path);
        offerMachines(*machines);
        if (m_panel) m_panel->chooseMachines(QString::fromStdString(machines->cluster.name));
    });
}

bool WhatIfDock::isShown() const
{
    return !m_dock->isHidden();
}

void WhatIfDock::show(bool shown)
{
    if (shown) makePanel();
    m_dock->setVisible(shown && !m_isBarred);
    update();
}

void WhatIfDock::update()
{
    TraceDocument* document = m_window.currentDocument();
    const bool shown = isShown();
    for (const TraceDocument* each : m_window.documents())
        if (each != document && each->whatIf()) each->whatIf()->setActive(false);
    if (m_panel) {
        m_panel->setDocument(document ? document->session() : nullptr, document ? document->whatIf() : nullptr);
        m_panel->setByteUnit(m_settings.binaryUnits() ? views::ByteUnit::GiB : views::ByteUnit::GB);
    }
    if (document && document->isOpen() && !m_isBarred) document->whatIf()->setActive(shown);
    emit changed(document != nullptr, shown);
    m_window.windowActions().setPossible(ActionNeeds::Plan, document && document->whatIf()->spec());
    m_window.windowActions().setChecked(QStringLiteral("whatif.show"), shown);
    updateRecordable();
}

void WhatIfDock::updateRecordable()
{
    const TraceDocument* document = m_window.currentDocument();
    if (!m_panel || !document || !document->whatIf()->spec()) return;
    m_panel->setRecordBlocked(whyNotRecordable(*document->whatIf()->spec(), document->whatIf()->step().get()));
}

void WhatIfDock::watch(TraceDocument* document)
{
    views::WhatIf* whatIf = document->whatIf();
    const auto isCurrent = [this, document] { return document == m_window.currentDocument(); };
    connect(document, &TraceDocument::opened, this, [this, whatIf] {
        for (const auto& each : m_machines) whatIf->addMachine(each->cluster, each->calibration);
    });
    connect(whatIf, &views::WhatIf::recordedChanged, this, [this, isCurrent] {
        if (isCurrent()) update();
    });
    connect(whatIf, &views::WhatIf::predictedStepChanged, this, [this, isCurrent] {
        if (isCurrent()) updateRecordable();
    });
    connect(whatIf, &views::WhatIf::showRequested, this, [this, isCurrent] {
        if (isCurrent()) show(true);
    });
    connect(document->selection(), &views::Selection::byteUnitChanged, this, &WhatIfDock::update);
    // A view loaded a plan into the sliders: they are to be seen.
    connect(whatIf, &views::WhatIf::activeChanged, this, [this, isCurrent, whatIf] {
        if (isCurrent() && whatIf->isActive() && !isShown()) show(true);
    });
}

void WhatIfDock::recordPlan()
{
    const TraceDocument* document = m_window.currentDocument();
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
        if (!status.ok()) return m_window.say(QString::fromStdString(status.error().message()));
        m_window.openRecordDialog(request, forecast);
    });
}

void WhatIfDock::saveReplay(const QStringList& changes)
{
    const TraceDocument* document = m_window.currentDocument();
    if (!document || !document->isOpen() || changes.isEmpty()) return;
    const QString path = document->session()->path();
    auto* dialog =
        new QFileDialog(&m_window, tr("Save the changed step"), m_settings.lastFolder(), tr("Traces (*.fourwalls)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("fourwalls"));
    dialog->selectFile(QFileInfo(path).completeBaseName() + QStringLiteral("-replayed.fourwalls"));
    connect(dialog, &QFileDialog::fileSelected, this, [this, path, changes](const QString& target) {
        QStringList arguments{QStringLiteral("replay"), path, QStringLiteral("-o"), target};
        for (const QString& change : changes) arguments << QStringLiteral("--change") << change;
        auto* job = new JobDialog(tr("Replaying the steps"), arguments, &m_window);
        connect(job, &QDialog::accepted, this, [this, target] { m_window.openFile(target); });
        job->open();
    });
    dialog->open();
}

void WhatIfDock::copyCommand(bool record)
{
    const TraceDocument* document = m_window.currentDocument();
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
        if (!status.ok()) return m_window.say(QString::fromStdString(status.error().message()));
        QGuiApplication::clipboard()->setText(shellCommand(QStringLiteral("fourwalls-cli"), arguments));
        m_window.say(tr("The command is on the clipboard."));
    });
}

} // namespace fourwalls::gui
