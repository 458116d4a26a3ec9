// SPDX-License-Identifier: GPL-3.0-or-later
// The dumps of a hung job: which files are some, and what fourwalls-cli says of them. It reads them in a process of its own,
// so that a damaged one cannot harm the window.
#pragma once

#include "model/base/result.h"
#include "model/diagnose/hang_report.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace fourwalls::gui {

/// Whether it is a dump of PyTorch's flight recorder by its first bytes, or a folder that has one.
/// Reads files: not for the GUI thread.
bool isDump(const QString& path);

/// The arguments of fourwalls-cli that analyse dumps.
QStringList hangArguments(const QStringList& dumps);

/// What `hang --json` printed. Errors: Format.
Result<diagnose::HangReport> hangReportOf(const QByteArray& json);

} // namespace fourwalls::gui
