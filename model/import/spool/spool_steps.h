// SPDX-License-Identifier: Apache-2.0
// Which stretches of a recorded process are training steps: marks of the job where it has them, else its optimizer,
// else the kernels that repeat.
#pragma once

#include "model/import/spool/spool_tables.h"
#include "model/trace/records.h"

#include <string>
#include <vector>

namespace fourwalls::importers {

struct SpoolSteps {
    std::vector<StepRecord> steps; ///< in the file's times
    std::string source;    ///< "step marks", "NVTX ranges", "optimizer ranges", "repeating kernels"; empty: none
    std::string detail;    ///< for a person
    bool numbered = false; ///< by the job; else counted from 0 here
};

/// The first source of those above that gives at least one step (two for the optimizer and for kernels). A step lasts
/// from the first work on the device that was launched within its mark to the next step's; without device work its mark
/// counts.
SpoolSteps stepsOfSpool(const SpoolTables& tables);

} // namespace fourwalls::importers
