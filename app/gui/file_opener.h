// SPDX-License-Identifier: GPL-3.0-or-later
// From files of any kind to open traces: asks which ones, looks what they are, has those of other tools imported, and says
// what an import left out.
#pragma once

#include "app/gui/view_place.h"

#include <QObject>
#include <QStringList>

#include <optional>

namespace fourwalls::gui {

class MainWindow;
class Settings;
struct OpenPlan;

class FileOpener : public QObject {
    Q_OBJECT
public:
    /// Both outlive this.
    FileOpener(MainWindow& window, Settings& settings);

    void choose();
    void chooseFolder();
    /// See MainWindow::openFiles.
    void open(const QStringList& files, std::optional<ViewPlace> place = std::nullopt);
    /// Where to go in the next trace that opens; nobody else gets it.
    std::optional<ViewPlace> takePlace();
    /// Opens the current trace's file again, with a memory snapshot of the same run.
    void addSnapshot();
    /// Has the sample of that id made, and opens it.
    void makeSample(const QString& id);
    /// Other steps for the current trace, which is imported.
    void chooseSteps();
    /// What the current trace dropped or repaired.
    void showAudit();

private:
    void openTraces(const QStringList& files);
    void openPlanned(const OpenPlan& plan);
    void importPlanned(const OpenPlan& plan);
    void openImported(const OpenPlan& plan);

    MainWindow& m_window;
    Settings& m_settings;
    std::optional<ViewPlace> m_place; ///< forgotten when other files are asked for
};

} // namespace fourwalls::gui
