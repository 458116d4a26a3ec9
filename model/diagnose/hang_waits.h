// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: rank -> operation -> rank, so that a group of thousands costs no pairs.
#pragma once

#include "model/diagnose/hang_rules.h"
#include "model/diagnose/hang_state.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace fourwalls::diagnose {

/// One operation that somebody waits at.
struct WaitedOperation {
    std::int32_t group = -1;
    std::int32_t from = -1, to = -1; ///< of transfers
    std::int64_t sequence = 0;       ///< of open transfers: which open one on the edge
    auto operator<=>(const WaitedOperation&) const = default;

    bool isTransfer() const { return from >= 0; }
};

struct Wait {
    WaitedOperation operation;
    std::uint32_t name = 0;               ///< text
    std::vector<std::int32_t> waiting;    ///< ranks whose device is at it
    std::vector<std::int32_t> notEntered; ///< members that did not enter it
    std::vector<std::int32_t> heldBefore; ///< members that entered it and whose device may not be there
    std::vector<std::int32_t> members;    ///< both ends of a transfer
};

/// What ranks wait at. Ranks in `named` wait for nobody: they are where the waiting ends.
std::vector<Wait> waitsOf(const HangState& state, const NamedRanks& named);

/// Ranks with nothing open that others wait for.
void nameIdle(const HangState& state, const std::vector<Wait>& waits, NamedRanks& named);

/// Where the waiting ends: ranks that wait for nobody are named; circles, and operations that everybody entered and
/// nobody finished, become sets unless a named rank is among them.
void nameRoots(const HangState& state, const std::vector<Wait>& waits, NamedRanks& named, std::vector<OneOf>& sets);

} // namespace fourwalls::diagnose
