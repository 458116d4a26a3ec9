// SPDX-License-Identifier: GPL-3.0-or-later
// What `fourwalls` understands on its command line, as docs name it. Pure: no window, no file.
#pragma once

#include "app/gui/view_place.h"

#include <QSize>
#include <QStringList>

#include <optional>

namespace fourwalls::gui {

/// --render of it draws the view that the trace opens on.
inline const QString kFirstView = QStringLiteral("first");

struct CommandLine : ViewPlace {
    enum class Mode { Window, Render, Bench, Help, Version };

    Mode mode = Mode::Window;
    QStringList files;
    // --render
    QSize size{1600, 900};
    QString by;                    ///< of the area: name, kind, … calls, flame; empty: name
    std::optional<QString> whatIf; ///< a plan to predict beside the trace, as fourwalls-cli takes it
    QStringList changes;           ///< of the replay beside the trace, as `fourwalls-cli replay --change` takes them
    bool viewOnly = false;
    QString output;
    // window and --render
    std::optional<bool> dark;
    QString language; ///< "en", "zh_CN"; empty: as set or as the system says
    QString demo;     ///< --demo: a carried demo's id, or a file
    // --bench
    bool json = false;
};

/// arguments: without the program's name. views: the ids that --render may name.
/// Errors: InvalidArgument, naming the option (wrong usage: exit code 2).
Result<CommandLine> parseCommandLine(const QStringList& arguments, const QStringList& views);

/// Whether --render of that view needs a trace; the pages around the traces do not.
bool needsTrace(const QString& view);

/// What --by may be: by RangeGrouping, then "calls" and "flame".
QStringList areaPages();

/// "10ms:25.5ms", "0:1s", "1200us:3ms"; a number without unit is milliseconds.
Result<TimeRange> parseTimeRange(const QString& text);

/// The text of --help.
QString usage(const QStringList& views, const QStringList& demos = {});

} // namespace fourwalls::gui
