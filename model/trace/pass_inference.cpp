// SPDX-License-Identifier: Apache-2.0
// See pass_inference.h.
#include "model/trace/pass_inference.h"

#include <algorithm>

namespace fourwalls {

std::vector<InferredPass> inferPasses(std::span<const PassPiece> pieces, std::span<const Instant> cuts)
{
    std::vector<InferredPass> passes;
    int forwards = 0, backwards = 0;
    auto cut = cuts.begin();
    for (const PassPiece& piece : pieces) {
        const bool forward = piece.phase == Phase::Forward;
        const bool backward = piece.phase == Phase::BackwardInput || piece.phase == Phase::BackwardWeight ||
                              piece.phase == Phase::Recompute;
        if (!forward && !backward) continue;
        bool separate = false;
        if (!passes.empty()) {
            // A message between the two: what follows belongs to another micro-batch.
            while (cut != cuts.end() && *cut < passes.back().range.end) ++cut;
            separate = cut != cuts.end() && *cut <= piece.range.begin;
        }
        if (passes.empty() || (passes.back().phase == Phase::Forward) != forward || separate)
            passes.push_back({piece.range, forward ? Phase::Forward : Phase::BackwardInput,
                              Microbatch{forward ? forwards++ : backwards++}});
        else
            passes.back().range.end = std::max(passes.back().range.end, piece.range.end);
    }
    // A forward pass has its backward behind it. What only looks like one at the end is the framework's own work between
    // the passes and the optimizer: norms of gradients, finite checks.
    while (backwards > 0 && passes.back().phase == Phase::Forward) passes.pop_back();
    return passes;
}

} // namespace fourwalls
