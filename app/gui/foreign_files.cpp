// SPDX-License-Identifier: GPL-3.0-or-later
// See foreign_files.h.
#include "app/gui/foreign_files.h"

#include "app/gui/child_job.h"
#include "app/gui/hang_reading.h"
#include "app/gui/runs_reading.h"
#include "model/store/schema.h"
#include "views/session/gui_call.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QEventLoop>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace fourwalls::gui {

namespace {

const QString kSuffix = QStringLiteral(".fourwalls");

/// Changes when one of the files or the importer does.
QString fingerprint(const QStringList& files)
{
    QCryptographicHash hash(QCryptographicHash::Sha256);
    // Raised when an import of the same file says something else than before.
    constexpr int kImportRevision = 2;
    hash.addData(QByteArray(FOURWALLS_VERSION) + QByteArray::number(store::kFormatVersion) + '.' +
                 QByteArray::number(kImportRevision));
    const auto add = [&hash](const QFileInfo& info) {
        hash.addData(info.absoluteFilePath().toUtf8());
        hash.addData(QByteArray::number(info.size()) + '/' +
                     QByteArray::number(info.lastModified().toMSecsSinceEpoch()));
    };
    for (const QString& file : files) {
        add(QFileInfo(file));
        if (!QFileInfo(file).isDir()) continue;
        QStringList inside;
        for (QDirIterator it(file, QDir::Files | QDir::NoSymLinks, QDirIterator::Subdirectories); it.hasNext();)
            inside << it.next();
        inside.sort();
        for (const QString& each : inside) add(QFileInfo(each));
    }
    return QString::fromLatin1(hash.result().toHex().left(24));
}

/// What the trace is called on its tab.
QString nameFor(const QStringList& files)
{
    QString name = QDir(files.constFirst()).dirName();
    if (files.size() > 1) name += QStringLiteral("+%1").arg(files.size() - 1);
    return name + kSuffix;
}

/// A trace beside its source, if that is where it may lie; empty otherwise.
QString besideOf(const QStringList& files)
{
    const QFileInfo source(QDir::cleanPath(files.constFirst()));
    const QFileInfo target(source.dir().filePath(nameFor(files)));
    if (target.exists()) {
        const bool isFresh = std::all_of(files.begin(), files.end(), [&](const QString& file) {
            return target.lastModified() >= QFileInfo(file).lastModified();
        });
        return isFresh && isOwnTrace(target.filePath()) ? target.filePath() : QString();
    }
    return QFileInfo(source.absolutePath()).isWritable() ? target.filePath() : QString();
}

/// Each import has a folder of its own; the oldest go first.
void forgetOldest(const QString& cacheFolder, qint64 most, const QString& except)
{
    QFileInfoList folders = QDir(cacheFolder).entryInfoList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Time);
    qint64 sum = 0;
    for (const QFileInfo& folder : folders) { // newest first
        for (const QFileInfo& file : QDir(folder.filePath()).entryInfoList(QDir::Files | QDir::Hidden))
            sum += file.size();
        if (sum > most && folder.fileName() != except) QDir(folder.filePath()).removeRecursively();
    }
}

/// A name that is no UTF-8 comes from dialogs with other characters in place of its bytes. Its file is the one whose name
/// reads like that, and is reached by a link with a plain name.
QString reachable(const QString& path, const QString& cacheFolder)
{
    namespace fs = std::filesystem;
    const QFileInfo info(path);
    if (!path.contains(QChar::ReplacementCharacter) || info.exists()) return path;
    std::error_code error;
    fs::directory_iterator it(info.absolutePath().toStdString(), error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (QFile::decodeName(QByteArray::fromStdString(name)) != info.fileName()) continue;
        const QByteArray whole = QByteArray::fromStdString(it->path().string());
        const QByteArray key = QCryptographicHash::hash(whole, QCryptographicHash::Sha256).toHex().left(24);
        const QString folder = cacheFolder + QStringLiteral("/names-") + QString::fromLatin1(key);
        const QString link =
            folder + QLatin1Char('/') + info.fileName().replace(QChar::ReplacementCharacter, QLatin1Char('_'));
        QDir().mkpath(folder);
        if (!QFileInfo::exists(link)) fs::create_symlink(it->path(), link.toStdString(), error);
        return error ? path : link;
    }
    return path;
}

} // namespace

bool isOwnTrace(const QString& path)
{
    QFile file(path);
    if (QFileInfo(path).isDir()) return false;
    if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly)) return true;
    const QByteArray head = file.read(72);
    if (head.isEmpty() && path.endsWith(kSuffix)) return true;
    if (head.size() < 72 || !head.startsWith("SQLite format 3")) return path.endsWith(kSuffix);
    quint32 id = 0;
    for (int i = 68; i < 72; ++i) id = id << 8 | static_cast<quint8>(head[i]);
    return id == static_cast<quint32>(store::kApplicationId) || path.endsWith(kSuffix);
}

QString importFolder()
{
    return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) +
           QStringLiteral("/fourwalls/imported");
}

OpenPlan planOpening(const QStringList& files, bool besideSource, const QString& cacheFolder, qint64 cacheBytes)
{
    OpenPlan plan;
    for (const QString& given : files) {
        const QString file = reachable(given, cacheFolder);
        (isOwnTrace(file) ? plan.traces : plan.foreign).append(file);
    }
    // Stacks lie beside the dumps and are told from other texts only there.
    if (plan.foreign.size() == 1 && isRunFolder(plan.foreign.constFirst())) plan.runs = plan.foreign.takeFirst();
    if (std::any_of(plan.foreign.begin(), plan.foreign.end(), isDump)) plan.dumps = std::exchange(plan.foreign, {});
    plan.hasFolder = std::any_of(plan.foreign.begin(), plan.foreign.end(),
                                 [](const QString& file) { return QFileInfo(file).isDir(); });
    if (plan.foreign.isEmpty()) return plan;
    plan.foreign.sort(); // the same run is the same import, however its files were picked
    if (besideSource) plan.target = besideOf(plan.foreign);
    if (plan.target.isEmpty()) {
        const QString key = fingerprint(plan.foreign);
        forgetOldest(cacheFolder, cacheBytes, key);
        QDir().mkpath(cacheFolder + QLatin1Char('/') + key);
        plan.target = cacheFolder + QLatin1Char('/') + key + QLatin1Char('/') + nameFor(plan.foreign);
    }
    plan.imported = QFileInfo::exists(plan.target);
    return plan;
}

void planOpeningLater(const QStringList& files, bool besideSource, QObject* receiver,
                      std::function<void(const OpenPlan&)> done)
{
    views::runLater(
        receiver, [files, besideSource] { return planOpening(files, besideSource, importFolder()); }, std::move(done));
}

QStringList importArguments(const OpenPlan& plan)
{
    QStringList arguments{QStringLiteral("import"), QStringLiteral("--json"), QStringLiteral("-o"), plan.target,
                          QStringLiteral("--")};
    return arguments + plan.foreign;
}

Result<QString> importedTrace(const QString& file)
{
    const OpenPlan plan = planOpening({file}, false, importFolder());
    if (!plan.runs.isEmpty())
        return Error{ErrorCode::Unsupported, "is a folder of runs, not one trace", file.toStdString(),
                     "one of the traces in it"};
    if (!plan.dumps.isEmpty())
        return Error{ErrorCode::Unsupported, "is a dump of a job that hangs, not a trace", file.toStdString(),
                     "fourwalls-cli hang, or fourwalls without --render"};
    if (plan.foreign.isEmpty()) return file;
    if (plan.imported) return plan.target;
    ChildJob job;
    QEventLoop loop;
    Status status;
    QObject::connect(&job, &ChildJob::succeeded, &loop, &QEventLoop::quit);
    QObject::connect(&job, &ChildJob::failed, &loop, [&](const Error& error) {
        status = error;
        loop.quit();
    });
    // Started from the loop: a program that cannot be started fails at once.
    QMetaObject::invokeMethod(
        &job, [&job, &plan] { job.start(importArguments(plan)); }, Qt::QueuedConnection);
    loop.exec();
    if (!status.ok()) return status.error();
    return plan.target;
}

} // namespace fourwalls::gui
