// SPDX-License-Identifier: GPL-3.0-or-later
// The desktop application from command line to exit code.
#pragma once

#include "views/session/trace_session.h"

namespace fourwalls::gui {

/// opener: how traces are opened (the program passes the store's; tests pass traces in memory).
/// Returns 0 done, 1 could not, 2 wrong usage.
int runApplication(int argc, char** argv, const views::TraceOpener& opener);

} // namespace fourwalls::gui
