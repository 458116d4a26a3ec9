// SPDX-License-Identifier: GPL-3.0-or-later
// What is to be done with files that are opened: traces are opened as they are, what other tools recorded becomes a
// trace first. The import runs in fourwalls-cli, so that a damaged file cannot harm the application.
#pragma once

#include "model/base/result.h"

#include <QObject>
#include <QString>
#include <QStringList>

#include <functional>

namespace fourwalls::gui {

struct OpenPlan {
    QStringList traces;     ///< to be opened as they are
    QStringList foreign;    ///< to become one trace: the files of one run
    QStringList dumps;      ///< of a hung job, with what lies beside them
    QString runs;           ///< a folder of trainings
    QString target;         ///< that trace; empty without foreign files
    bool hasFolder = false; ///< among the foreign ones: what it holds is shown before the import
    bool imported = false;  ///< it was made before and none of the files has changed since
};

/// Whether the file is ours by its first bytes; what cannot be read counts as ours, so that opening it says why. A folder
/// is none of ours.
/// Reads the file: not for the GUI thread.
bool isOwnTrace(const QString& path);

/// A file whose name is no UTF-8 stands in the plan as a link to it. Sorts the files, makes the target's folder and forgets the oldest imports beyond `cacheBytes`. Reads files.
/// besideSource: the user allows traces beside the files that they are made of; a file that is there already is never
/// replaced, and a folder that cannot be written is left alone.
OpenPlan planOpening(const QStringList& files, bool besideSource, const QString& cacheFolder,
                     qint64 cacheBytes = qint64(20) << 30);

/// The same on a pool thread, in the user's cache folder; answers on `receiver`'s thread.
void planOpeningLater(const QStringList& files, bool besideSource, QObject* receiver,
                      std::function<void(const OpenPlan&)> done);

/// Where imported traces are kept: in the user's cache folder.
QString importFolder();

/// The arguments of fourwalls-cli that make the plan's target.
QStringList importArguments(const OpenPlan& plan);

/// The trace to open for one file: itself, or what it was imported into. Runs the event loop meanwhile; for renders and
/// benchmarks, where nobody watches. Errors: of the import.
Result<QString> importedTrace(const QString& file);

} // namespace fourwalls::gui
