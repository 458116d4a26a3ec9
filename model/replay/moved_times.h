// SPDX-License-Identifier: Apache-2.0
// Where recorded instants lie after a change: exactly for what was replayed, and in between for the rest.
#pragma once

#include "model/replay/recording.h"
#include "model/replay/replay_graph.h"

#include <map>
#include <span>
#include <vector>

namespace fourwalls::replay {

/// A piece after the change. lastArrival: of an operation's members.
struct MovedPiece {
    Instant start, end, lastArrival;
    bool known = false;
};

class MovedTimes {
public:
    /// end: when each node ends after the change.
    MovedTimes(const Recording& recording, const ReplayGraph& graph, std::span<const std::int64_t> duration,
               std::span<const std::int64_t> end);

    const MovedPiece& piece(std::uint32_t index) const { return m_pieces[index]; }
    /// A recorded instant of a rank, between the replayed work around it.
    Instant at(RankId rank, Instant recorded) const;
    TimeRange range(RankId rank, TimeRange recorded) const
    {
        return {at(rank, recorded.begin), at(rank, recorded.end)};
    }

private:
    struct Anchor {
        Instant recorded, moved;
    };
    std::vector<MovedPiece> m_pieces;
    std::map<RankId, std::vector<Anchor>> m_anchors; ///< by time, both ways
};

} // namespace fourwalls::replay
