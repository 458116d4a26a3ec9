// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end: its input and output are ours, and so are the signals that we get.
#pragma once

#include "model/base/result.h"

#include <map>
#include <string>
#include <vector>

namespace fourwalls::cli {

/// What exec takes: the address of each text, and a null pointer at the end. Valid while `texts` is not changed.
std::vector<char*> execPointers(std::vector<std::string>& texts);

struct ChildEnd {
    int exitCode = 0; ///< what it returned
    int signal = 0;   ///< that ended it; 0: none
};

/// environment: variables to set; the others are inherited. outputToError: what it prints on standard output appears on
/// standard error. Signals that end or tell a program something (INT, TERM, HUP, QUIT, USR1, USR2) are passed on, except
/// those of a terminal, which the program gets itself. Call before any other thread is started.
/// Errors: NotFound, Io if it cannot be started.
Result<ChildEnd> runChild(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment, bool outputToError);

} // namespace fourwalls::cli
