// SPDX-License-Identifier: Apache-2.0
// The passes of a trace that recorded no phases, from the directions of its operators.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/trace/vocabulary.h"

#include <optional>
#include <span>
#include <vector>

namespace fourwalls {

/// A stretch of one kind of work.
struct PassPiece {
    TimeRange range;
    Phase phase = Phase::None;
};

struct InferredPass {
    TimeRange range;
    Phase phase = Phase::Forward; ///< or BackwardInput, for both gradients
    Microbatch microbatch;        ///< counted by direction
};

/// Neighbouring compute slices of one direction are one pass, cut where a message was sent or received; the n-th pass of a
/// direction is micro-batch n. pieces: compute by start. cuts: instants of messages, by time.
std::vector<InferredPass> inferPasses(std::span<const PassPiece> pieces, std::span<const Instant> cuts);

} // namespace fourwalls
