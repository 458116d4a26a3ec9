// SPDX-License-Identifier: Apache-2.0
// Running fourwalls-cli from a test.
#pragma once

#include "tests/support/even_kernels.h"

#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>

namespace fourwalls::test {

struct Answer {
    int exitCode = -1;
    QByteArray out, err;

    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
    /// Standard error is one line.
    bool saysOneLine() const { return err.count('\n') == 1 && err.endsWith('\n'); }
};

inline QString programPath()
{
    return QStringLiteral(FOURWALLS_BIN_DIR "/fourwalls-cli");
}

inline Answer run(const QStringList& arguments, const QString& folder = {})
{
    QProcess process;
    if (!folder.isEmpty()) process.setWorkingDirectory(folder);
    process.start(programPath(), arguments);
    Answer answer;
    if (!process.waitForFinished(100'000)) return answer;
    answer.exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -2;
    answer.out = process.readAllStandardOutput();
    answer.err = process.readAllStandardError();
    return answer;
}

/// Runs `record` on the device clock twice, with a table of kernel times in which each kernel takes what its work says,
/// not what this machine needed for it: how busy the machine is decides nothing. The first time finds the kernels.
inline Answer recordEvenly(const QStringList& arguments, const QString& table)
{
    const QStringList words = QStringList{"record", "--clock", "device", "--kernel-times", table} + arguments;
    const Answer found = run(words);
    if (found.exitCode != 0) return found;
    if (!makeKernelsEven(table)) return {};
    return run(words);
}

/// A quick recording: gpt-tiny with short sequences.
/// A node's description in a new file of the folder: its links make transfers of a small network count.
inline QString slowNode(const QTemporaryDir& folder, double bytesPerSecond)
{
    const QString name = folder.filePath(QString("node-%1.json").arg(bytesPerSecond, 0, 'g'));
    QFile file(name), preset(FOURWALLS_SOURCE_DIR "/resources/presets/clusters/dgx-a100.json");
    if (!preset.open(QIODevice::ReadOnly) || !file.open(QIODevice::WriteOnly)) return {};
    QJsonObject cluster = QJsonDocument::fromJson(preset.readAll()).object();
    cluster["node_link"] = QJsonObject{{"bytes_per_second", bytesPerSecond}, {"latency_seconds", 5e-6}};
    return file.write(QJsonDocument(cluster).toJson()) > 0 ? name : QString();
}

inline QStringList quickRun(int steps = 4)
{
    return {"--model", "gpt-tiny", "--steps", QString::number(steps), "--batch", "2", "--seq", "32"};
}

} // namespace fourwalls::test
