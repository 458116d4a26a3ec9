// SPDX-License-Identifier: Apache-2.0
// A verb of the command line: its arguments and what it does. One file per verb, listed in registry.cpp.
#pragma once

#include "app/cli/argument.h"
#include "app/cli/console.h"

#include <memory>
#include <vector>

namespace fourwalls::cli {

class Verb {
public:
    virtual ~Verb() = default;
    virtual const char* name() const = 0;
    virtual const char* summary() const = 0;  ///< one line for the list of verbs
    virtual const char* examples() const = 0; ///< command lines for --help, one per line
    /// What it takes; the values go into the verb.
    virtual Arguments arguments() = 0;
    /// Does it. Returns the exit code; failures are told through the console.
    virtual int run(Console& console) = 0;
};

/// All verbs, in the order of --help.
std::vector<std::unique_ptr<Verb>> allVerbs();

} // namespace fourwalls::cli
