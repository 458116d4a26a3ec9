// SPDX-License-Identifier: Apache-2.0
// From a row of a table of published measurements to a specification that the cost model takes: what the row says, what
// the framework's preset adds, and what had to be assumed.
#pragma once

#include "model/compare/csv_table.h"
#include "model/spec/framework_preset.h"
#include "model/spec/run_spec.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::compare {

/// What `mem_gb` of a row is: an allocator's peak, the whole device, analytic figures of the first stage (activations
/// in percent of those without recomputation and sequence parallelism; states of the layers and activations), or
/// something that the model has no like of.
enum class PublishedMemory { None, Allocator, Device, ActivationPercent, StatesAndActivations, Other };

/// Another reading of what a row leaves unsaid, as likely as the one that was taken.
struct Doubt {
    std::string assumed; ///< the assumption in question, one of the row's
    RunSpec spec;
    FrameworkPreset framework;
};

struct PublishedRow {
    std::string id;
    RunSpec spec;
    FrameworkPreset framework;
    std::vector<std::string> assumed; ///< fields that the row leaves blank, as "field=value"
    std::vector<Doubt> doubts;
    std::optional<double> seconds; ///< of an iteration (or of one layer)
    bool oneLayer = false;         ///< the row measures one transformer layer, not an iteration
    /// The row is silent on its micro-batch and has no pipeline: the plan has one sample at a time; whoever knows the
    /// memory takes the largest that fits, as users do.
    bool largestMicrobatch = false;
    std::optional<double> memoryGb; ///< in the row's own unit
    double bytesPerGb = 1e9;        ///< of that unit
    PublishedMemory memoryKind = PublishedMemory::None;
    bool outOfMemory = false;
    std::string sweep;   ///< model, device and precision: rows that are ranked against each other
    std::string skipped; ///< why it cannot be predicted; empty if it can
};

/// Whether a table has the columns of published training steps.
bool isTrainingTable(const CsvTable& table);

/// Reads a row. Only rows without layers, hidden, sequence, device, device count, degrees, batch or published time are
/// skipped. Errors: of the presets (NotFound).
Result<PublishedRow> publishedRow(const CsvTable& table, std::size_t row);

} // namespace fourwalls::compare
