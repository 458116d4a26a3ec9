// SPDX-License-Identifier: Apache-2.0
// The cost model against tables of published measurements: one prediction per row, errors and ranks per table.
#pragma once

#include "model/base/result.h"
#include "model/cost/step_cost.h"
#include "model/spec/calibration.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::compare {

struct ScoredRow {
    std::string id;
    std::optional<double> publishedSeconds, predictedSeconds, errorPercent;
    std::optional<double> lowSeconds, highSeconds;
    std::optional<double> publishedMemoryGb, predictedMemoryGb; ///< in the row's unit
    bool outOfMemory = false;                                   ///< as published
    std::optional<bool> feasible;                               ///< as predicted
    std::vector<std::string> assumed;
    /// Assumptions that move the time by over 2 % and widened the band, with that much [%].
    std::vector<std::pair<std::string, double>> widened;
    std::string skipped;
    std::string dominant;    ///< part of the step that takes most of it
    cost::PartSeconds parts; ///< of the slowest stage, for one step
    std::string sweep;
    double deviceSecondsPerToken = 0, predictedDeviceSecondsPerToken = 0;
};

struct ScoredTable {
    std::string file;
    std::size_t rows = 0, predicted = 0;
    std::optional<double> timeMaePercent, timeBiasPercent, timeMaxPercent, memoryMaePercent, rankAgreementPercent;
    std::optional<double> bandCoveragePercent, bandHalfWidthPercent; ///< published times inside; half of high - low
    std::vector<ScoredRow> items;
    std::string notScored; ///< why a table of another kind is left out
};

/// Scores one table. Definitions: docs/metrics.md, "Scores". Errors: of reading the file and of the presets; rows that
/// the model refuses are skipped with its sentence.
Result<ScoredTable> scoreTable(const std::string& path, const Calibration& calibration);

} // namespace fourwalls::compare
