// SPDX-License-Identifier: Apache-2.0
// Lanes of one track: nested slices go one lane deeper than what contains them, slices that overlap without nesting
// go to a free sub-lane, so that no two slices of one (track, lane) overlap and nothing is dropped.
#pragma once

#include "model/base/time.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fourwalls {

/// The order in which a LaneAssigner wants the slices of a track: by start, the longer (outer) first.
constexpr bool laneOrder(Instant startA, Duration durationA, Instant startB, Duration durationB)
{
    return startA != startB ? startA < startB : durationA > durationB;
}

/// Gives each slice of one track its lane. Slices must come in laneOrder.
class LaneAssigner {
public:
    /// More than any screen can show. Every slice may look at all lanes.
    static constexpr std::size_t kMostLanes = 16'384;

    /// The lane of [start, start + duration), from 0: below every open slice that contains it, on the first lane
    /// that is free at start; -1 if all are taken, and the slice then is as if it had not been. Durations are >= 0.
    int assign(Instant start, Duration duration)
    {
        const Instant end = start + duration;
        std::size_t lane = 0;
        for (std::size_t i = m_ends.size(); i > 0; --i) {
            if (m_ends[i - 1] > start && m_ends[i - 1] >= end) {
                lane = i;
                break;
            }
        }
        const bool overlaps = lane < m_ends.size() && m_ends[lane] > start;
        while (lane < m_ends.size() && m_ends[lane] > start) ++lane;
        if (lane == kMostLanes) return -1;
        if (overlaps) ++m_overlapping;
        if (lane == m_ends.size()) m_ends.push_back(end);
        else m_ends[lane] = end;
        return static_cast<int>(lane);
    }

    /// Lanes used so far.
    int count() const { return static_cast<int>(m_ends.size()); }

    /// Slices so far that overlap another one without nesting and therefore lie on a sub-lane.
    std::int64_t overlapping() const { return m_overlapping; }

private:
    std::vector<Instant> m_ends;  ///< per lane, the end of its last slice
    std::int64_t m_overlapping = 0;
};

} // namespace fourwalls
