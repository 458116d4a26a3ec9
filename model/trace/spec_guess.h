// SPDX-License-Identifier: Apache-2.0
// A whole specification for a trace that has none, so that "what if" can start from an imported profile: what the
// importer inferred, and what is usual for everything that the profile does not show.
#pragma once

#include "model/spec/run_spec.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

struct SpecGuess {
    RunSpec spec;                        ///< resolved: degrees, batch and network fit together
    std::vector<InferredField> evidence; ///< what the profile shows, each with how sure and why
    /// Fields that nothing in the trace speaks for and that were filled with what is usual, or that it speaks for but
    /// that did not fit the others: the names of the specification's JSON ("layers", "kv_heads", "tp", "device", …).
    /// These are what to ask a person for.
    std::vector<std::string> assumed;
};

/// The word of a device's name that tells its generation ("A100", "H200"): the same word in a preset means nearly the
/// same device. Empty if there is none.
std::string_view deviceGeneration(std::string_view device);

/// The preset whose devices bear that name (exact), or else are of its generation; absent if there is none.
std::optional<ClusterSpec> clusterWithDevice(std::string_view device, bool& exact);

/// A specification for an imported trace of a transformer. Usual sizes: heads of 64 (of 128 from a width of 4096 on), a
/// feed-forward block of four times the width, as many layers as published networks of that width have, GPT's normalisation
/// and activation. A device that is no preset becomes the nearest one of its family, and counts as assumed.
/// Absent if the trace has a specification of its own, names a device of which no rates are known, or shows neither layers nor width nor heads of a transformer.
std::optional<SpecGuess> guessSpec(const TraceInfo& info);

} // namespace fourwalls
