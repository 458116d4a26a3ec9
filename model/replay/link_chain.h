// SPDX-License-Identifier: Apache-2.0
// What a rank or a stream does one after the other, and who is next in it: the chains that the rules for devices
// (device_rules.h) make a graph of.
#pragma once

#include "model/base/time.h"
#include "model/replay/replay_graph.h"

#include <cstdint>
#include <vector>

namespace fourwalls::replay {

/// What a chain of a rank holds: a piece, or the end of a step.
struct Link {
    Instant start, end;
    std::uint32_t piece = kNone;
    std::uint32_t step = 0;
    int order = 0; ///< among equal instants
    std::int64_t group = 0, sequence = 0;
    NodeIndex begin = kNone, done = kNone; ///< where it waits for others, and others for it
    bool holds = true;                     ///< the next link waits for it
};

/// Order of what begins at one instant: ends of steps, what has no length (work, sends, collectives, receives), then the rest.
enum LinkOrder { kStepEnd, kShort, kSend, kMeet, kReceive, kLong };

/// By start.
using LinkChain = std::vector<Link>;

/// The last link with a length that had ended by then. Null: none.
const Link* lastEnded(const LinkChain& chain, Instant at);
/// The first link with a length that starts then or later; the end of a step if nothing else does. Null: none.
const Link* firstFrom(const LinkChain& chain, Instant at);
/// The link before which a rank stood still while something ended. Null: it worked then, or nothing follows.
const Link* behindGap(const LinkChain& chain, Instant end);

} // namespace fourwalls::replay
