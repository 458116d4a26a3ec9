// SPDX-License-Identifier: Apache-2.0
// Rules that name a rank by what its dump and its peers' dumps say, each by itself: a fault that nobody waits for is
// found, too.
#pragma once

#include "model/diagnose/hang_report.h"
#include "model/diagnose/hang_state.h"

#include <map>
#include <vector>

namespace fourwalls::diagnose {

/// A rank and why it is named. Places are those of HangState.
struct NamedRank {
    HangReason reason = HangReason::WaitedFor;
    HangConfidence confidence = HangConfidence::Strong;
    std::int32_t group = -1;
    std::int64_t sequence = -1;
    std::uint32_t operation = 0;  ///< text
    std::vector<std::int32_t> by; ///< ranks that contradict it or wait for it
    std::int64_t count = 0;       ///< of operations that contradict it
    std::uint32_t instead = 0;    ///< text: what its peers entered
};
using NamedRanks = std::map<std::int32_t, NamedRank>; ///< by place of the rank

/// Ranks of which the dumps do not tell one.
struct OneOf {
    std::vector<std::int32_t> ranks;
    std::int32_t group = -1;
    std::int64_t sequence = -1;
    std::uint32_t operation = 0;
    enum class Why : std::uint8_t { Transfer, Circle, Mismatch, SkippedOrExtra } why = Why::Transfer;
};

/// Ranks whose device stopped: peers finished what they entered and never marked as finished. Their counters and open
/// records are set to what their peers finished, so that the other rules see where they stand.
void nameFrozen(HangState& state, NamedRanks& named);
/// Ranks without a dump.
void nameMissing(const HangState& state, NamedRanks& named);
/// Ranks that entered another operation than their peers; where votes are equal, the sides are told apart by what the
/// rest of the job does, and else not at all.
void nameMismatched(const HangState& state, NamedRanks& named, std::vector<OneOf>& sets);
/// Ranks that left an operation out, or entered one too many; where as many did as did not, a set.
void nameSkipped(const HangState& state, NamedRanks& named, std::vector<OneOf>& sets);
/// Ranks whose program stands while that of peers in the same place went on.
void nameHostBehind(const HangState& state, NamedRanks& named);
/// Ranks whose device did not begin what all members entered; only where the dumps say what was started.
void nameDeviceBehind(const HangState& state, NamedRanks& named);

} // namespace fourwalls::diagnose
