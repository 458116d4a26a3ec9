// SPDX-License-Identifier: Apache-2.0
// From argv to a verb and its exit code.
#pragma once

namespace fourwalls::cli {

/// Runs the command line. Returns 0 done, 1 could not, 2 wrong usage. Never throws.
int runCommandLine(int argc, const char* const* argv);

} // namespace fourwalls::cli
