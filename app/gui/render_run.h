// SPDX-License-Identifier: GPL-3.0-or-later
// `fourwalls --render`: draws a view into a file without a display.
#pragma once

#include "app/gui/command_line.h"
#include "views/session/trace_session.h"

namespace fourwalls::gui {

/// Opens the trace, shows what was asked for, waits until the view has painted its final data, and writes the picture.
/// Returns the exit code: 0, or 1 with one line on standard error.
int runRender(const CommandLine& line, const views::TraceOpener& opener);

} // namespace fourwalls::gui
