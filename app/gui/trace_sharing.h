// SPDX-License-Identifier: GPL-3.0-or-later
// Handing on what the window shows: a page about the trace, other formats, a piece of it, several files as one, the rates
// it shows, pictures, tables, paper, and the command that opens what is seen. Other programs do the long work; the window
// waits for none.
#pragma once

#include <QObject>
#include <QString>

#include <functional>
#include <vector>

namespace fourwalls::gui {

class MainWindow;
class Settings;
class TraceDocument;
struct ShareChoice;

class TraceSharing : public QObject {
    Q_OBJECT
public:
    /// Both outlive this.
    TraceSharing(MainWindow& window, Settings& settings);

    void report();
    void exportTrace();
    void trim(); ///< what is in view, or was measured, as a trace
    void learnRates();
    void measureMachine();
    void mergeFiles();
    void exportPicture();
    void exportTable();
    void copyTable();
    void print();
    void copyCommand();

private:
    const TraceDocument* document() const; ///< null where no trace is open
    QString stem() const;                  ///< of its name
    /// Asks where to, has it made by fourwalls-cli, then calls done.
    void saveShared(const QString& title, const QString& name, const std::vector<ShareChoice>& choices,
                    std::function<void(const QString& path)> done = {});

    MainWindow& m_window;
    Settings& m_settings;
};

} // namespace fourwalls::gui
