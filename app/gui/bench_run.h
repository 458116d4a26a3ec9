// SPDX-License-Identifier: GPL-3.0-or-later
// `fourwalls --bench`: how quick start, opening and frames are, by the definitions of docs/metrics.
#pragma once

#include "app/gui/command_line.h"
#include "views/session/trace_session.h"

namespace fourwalls::gui {

/// Opens the file in a 1920x1080 window, waits for the first complete paint, then pans and zooms every view by a
/// fixed script of input events. Prints the figures (JSON with --json). Returns the exit code.
int runBench(const CommandLine& line, const views::TraceOpener& opener);

} // namespace fourwalls::gui
