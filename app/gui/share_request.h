// SPDX-License-Identifier: GPL-3.0-or-later
// What can be saved of a trace for others, each as the command line that does it.
#pragma once

#include "model/base/time.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

#include <vector>

namespace fourwalls::gui {

/// One kind of file that a trace can be saved as.
struct ShareChoice {
    QString words;         ///< for a person, without the pattern of its files
    QString suffix;        ///< "json"; empty: a folder
    QStringList arguments; ///< of fourwalls-cli, without -o
    QByteArray input = {}; ///< of its standard input

    /// As a file dialog takes it: "Trace events (*.json)".
    QString filter() const;
    /// The file's name with the suffix, if it has none of its own.
    QString named(const QString& path) const;
};

/// For other programs.
std::vector<ShareChoice> exportChoices(const QString& trace);
/// A smaller trace: what lies in the range, with and without the names of hosts and files.
std::vector<ShareChoice> trimChoices(const QString& trace, TimeRange range);
/// What a page about a trace begins with: a view as it is seen.
struct SharedView {
    QByteArray png;
    QString caption, command; ///< what it shows, and what opens it again
};
/// A page about it, with the view and without.
std::vector<ShareChoice> reportChoices(const QString& trace, const SharedView& view);
/// A cluster file with the rates of the machine that the window runs on.
std::vector<ShareChoice> measureChoices();
/// One trace of several files.
std::vector<ShareChoice> mergeChoices(const QStringList& files);
/// A cluster file with the rates that the trace shows.
std::vector<ShareChoice> calibrateChoices(const QString& trace);

} // namespace fourwalls::gui
