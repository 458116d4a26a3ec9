// SPDX-License-Identifier: GPL-3.0-or-later
// Runs fourwalls-cli as a child process: the application itself never trains, and a crash there costs nothing here.
#pragma once

#include "model/base/result.h"

#include <QObject>
#include <QProcess>

namespace fourwalls::gui {

/// The command-line program: beside this one, else in the search path. Only the name is put together here.
QString commandLineProgram();

class ChildJob : public QObject {
    Q_OBJECT
public:
    explicit ChildJob(QObject* parent = nullptr);
    /// Ends the child if it still runs (its file stays readable up to the last batch).
    ~ChildJob() override;

    /// folder: where the child runs; empty: where this program does. input: what its standard input gives.
    void start(const QStringList& arguments, const QString& folder = {}, const QByteArray& input = {});
    bool isRunning() const;
    /// What the child wrote to its standard output, up to 16 MB; complete when it succeeded.
    const QByteArray& output() const { return m_output; }
    /// First call: asks the child to finish its file and end (SIGINT). Second: ends it at once.
    void cancel();

signals:
    /// One line of the child's standard error.
    void line(const QString& text);
    void succeeded();
    /// error.code is Cancelled after cancel().
    void failed(const fourwalls::Error& error);

private:
    void readLines();
    void onFinished(int exitCode, QProcess::ExitStatus status);

    QProcess m_process;
    QByteArray m_partLine, m_output;
    QString m_lastLine;
    int m_cancels = 0;
    bool m_isImport = false;
};

} // namespace fourwalls::gui
