// SPDX-License-Identifier: GPL-3.0-or-later
// A folder of trainings: whether a folder is one, and what fourwalls-cli says of it. It reads them in a process of its own,
// so that a damaged file cannot harm the window.
#pragma once

#include "model/base/result.h"
#include "views/runs/run_curve_plots.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

#include <memory>

namespace fourwalls::gui {

/// Whether a folder holds trainings beside each other: results of a sweep, traces, or TensorBoard files in several folders.
/// Looks at names only, and at a few. Reads a folder: not for the GUI thread.
bool isRunFolder(const QString& path);

/// The arguments of fourwalls-cli that list a folder's runs with their curves, and those that tag one of them.
QStringList runsArguments(const QString& folder);
QStringList tagArguments(const QString& folder, const QString& file, const QStringList& tags);

/// What `runs --series --json` printed. Errors: Format.
Result<std::shared_ptr<views::RunList>> runListOf(const QByteArray& json);

} // namespace fourwalls::gui
