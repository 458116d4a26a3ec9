// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that a person described in a file of his own: what `fourwalls-cli calibrate` wrote, with the rates that it
// measured, or a cluster written by hand.
#pragma once

#include "model/base/result.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <vector>

namespace fourwalls::gui {

struct MachineFile {
    QString path;
    ClusterSpec cluster;                            ///< named after the file: every calibration calls itself the same
    std::shared_ptr<const Calibration> calibration; ///< null: the file has none
};

/// Reads a cluster file. Errors: NotFound, Io, and Format naming the field.
Result<MachineFile> readMachineFile(const QString& path);

/// The same on another thread; `done` runs on the GUI thread unless `receiver` is gone by then.
void readMachineFileLater(const QString& path, QObject* receiver, std::function<void(const Result<MachineFile>&)> done);

/// Where a person can put cluster files that are always offered.
QString machineFolder();
/// Reads the files there and then the `chosen` ones (given last one first), each once, on another thread. `done` runs on
/// the GUI thread unless `receiver` is gone by then; files that cannot be read are left out, and the one that was chosen
/// last comes last: of several with the same machine it is the one that counts.
void readKnownMachines(const QStringList& chosen, QObject* receiver,
                       std::function<void(const std::vector<MachineFile>&)> done);

} // namespace fourwalls::gui
