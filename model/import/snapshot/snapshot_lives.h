// SPDX-License-Identifier: Apache-2.0
// What each buffer of a snapshot is for, from the stacks of who made it and who let it go, and from what ran meanwhile.
#pragma once

#include "model/import/snapshot/memory_snapshot.h"
#include "model/trace/vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

struct SnapshotPurposes {
    std::vector<std::uint8_t> made; ///< by entry of the history: a MemoryCategory
    std::unordered_map<std::int64_t, MemoryCategory>
        before; ///< by address, of what was alive at the history's begin and is freed in it
    /// Whether frees have the stack of who freed (PyTorch's default), not of who allocated.
    bool freesSayWho = true;

    MemoryCategory of(std::size_t entry) const { return static_cast<MemoryCategory>(made[entry]); }
};

/// Rules, of which each needs a stack that says it; everything else is Other:
///  - collectives' and libraries' scratch buffers by their own frames;
///  - made by the optimizer and alive when something else runs: optimizer state, else temporary;
///  - made in the backward pass and alive behind it: gradients, else temporary;
///  - made by a module's call and alive when the backward pass runs: activations; freed before: temporary;
///  - made elsewhere and freed by the backward pass: activations;
///  - made while a module is set up or moved, and kept: weights;
///  - from before the history, let go by the optimizer: its state; by zero_grad: gradients; by the backward pass:
///    activations.
/// Buffers that are alive at the end get what all others of the same stack are.
SnapshotPurposes purposesOf(const MemorySnapshot& snapshot, std::size_t device);

/// Of a block of the final state that the history did not make, by its own stack.
MemoryCategory purposeOfStack(const SnapshotStacks& stacks, std::int32_t stack);

} // namespace fourwalls::importers
