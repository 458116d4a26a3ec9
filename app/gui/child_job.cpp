// SPDX-License-Identifier: GPL-3.0-or-later
// Runs fourwalls-cli as a child process.
#include "app/gui/child_job.h"

#include <QCoreApplication>
#include <QProcessEnvironment>
#include <QRegularExpression>

#include <signal.h>

#include <algorithm>

namespace fourwalls::gui {

namespace {

/// A line of the program; that it came from the command line does not help anybody here.
QString wordsOf(const QByteArray& line)
{
    static const QRegularExpression prefix(QStringLiteral("^fourwalls-cli( [a-z]+)?: "));
    return QString::fromUtf8(line).trimmed().remove(prefix);
}

} // namespace

QString commandLineProgram()
{
    const QString here = QCoreApplication::applicationDirPath();
    return here.isEmpty() ? QStringLiteral("fourwalls-cli") : here + QStringLiteral("/fourwalls-cli");
}

ChildJob::ChildJob(QObject* parent) : QObject(parent)
{
    connect(&m_process, &QProcess::readyReadStandardError, this, &ChildJob::readLines);
    connect(&m_process, &QProcess::readyReadStandardOutput, this, [this] {
        constexpr qsizetype kMostOutput = 16'000'000;
        const QByteArray part = m_process.readAllStandardOutput();
        m_output += part.left(std::max<qsizetype>(0, kMostOutput - m_output.size()));
    });
    connect(&m_process, &QProcess::finished, this, &ChildJob::onFinished);
    connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error != QProcess::FailedToStart) return; // the others are followed by finished
        emit failed({ErrorCode::NotFound, tr("The command-line program could not be started.").toStdString(),
                     m_process.program().toStdString(), tr("Install fourwalls-cli beside fourwalls.").toStdString()});
    });
}

ChildJob::~ChildJob()
{
    m_process.disconnect(this);
    if (m_process.state() != QProcess::NotRunning) {
        m_process.kill();
        m_process.waitForFinished(1000); // at the end of the program only: reaps the child
    }
}

void ChildJob::start(const QStringList& arguments, const QString& folder, const QByteArray& input)
{
    m_process.setWorkingDirectory(folder);
    m_cancels = 0;
    m_partLine.clear();
    m_lastLine.clear();
    m_output.clear();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("FOURWALLS_PROGRESS"), QStringLiteral("1"));
    m_process.setProcessEnvironment(environment);
    m_isImport = arguments.value(0) == QLatin1String("import") || arguments.value(0) == QLatin1String("hang");
    m_process.start(commandLineProgram(), arguments, input.isEmpty() ? QIODevice::ReadOnly : QIODevice::ReadWrite);
    if (input.isEmpty()) return;
    m_process.write(input); // as the child reads it
    m_process.closeWriteChannel();
}

bool ChildJob::isRunning() const
{
    return m_process.state() != QProcess::NotRunning;
}

void ChildJob::cancel()
{
    if (!isRunning()) return;
    ++m_cancels;
    if (m_cancels == 1 && m_process.processId() > 0) {
        ::kill(static_cast<pid_t>(m_process.processId()), SIGINT);
    } else {
        m_process.kill();
    }
}

void ChildJob::readLines()
{
    m_partLine += m_process.readAllStandardError();
    m_partLine.replace('\r', '\n');
    qsizetype end = 0;
    while ((end = m_partLine.indexOf('\n')) >= 0) {
        const QString text = wordsOf(m_partLine.left(end));
        m_partLine.remove(0, end + 1);
        if (text.isEmpty()) continue;
        m_lastLine = text;
        emit line(text);
    }
}

void ChildJob::onFinished(int exitCode, QProcess::ExitStatus status)
{
    readLines();
    if (const QString rest = wordsOf(m_partLine); !rest.isEmpty()) m_lastLine = rest;
    if (m_cancels > 0) {
        emit failed({ErrorCode::Cancelled, tr("Cancelled.").toStdString(), {}, {}});
    } else if (status == QProcess::CrashExit) {
        if (m_isImport) {
            emit failed({ErrorCode::Internal,
                         tr("The import ended unexpectedly; the file may be damaged.").toStdString(),
                         {},
                         {}});
            return;
        }
        emit failed({ErrorCode::Internal, tr("The recording program ended unexpectedly.").toStdString(),
                     m_lastLine.toStdString(),
                     tr("Open the file: it holds everything up to the last batch.").toStdString()});
    } else if (exitCode != 0) {
        emit failed({ErrorCode::Internal, m_lastLine.toStdString(), {}, {}}); // the last line is the error
    } else {
        emit succeeded();
    }
}

} // namespace fourwalls::gui
