// SPDX-License-Identifier: Apache-2.0
// Lanes of one track: nested slices go one lane deeper than what contains them, slices that overlap without nesting
// go to a free sub-lane, so that no two slices of one (track, lane) overlap and nothing is dropped.
#pragma once

#include "model/base/time.h"

#include <algorithm>
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
    /// More than any screen can show.
    static constexpr std::size_t kMostAssigned = 16'384;

    /// The lane of [start, start + duration), from 0: below every open slice that contains it, on the first lane
    /// that is free at start; -1 if all are taken, and the slice then is as if it had not been. Durations are >= 0, times
    /// within kLargestTimeNs.
    int assign(Instant start, Duration duration)
    {
        const Instant end = start + duration;
        std::size_t lane = belowContainers(start, end);
        const bool overlaps = lane < m_ends.size() && m_ends[lane] > start;
        if (overlaps) lane = firstFree(lane, start);
        if (lane == kMostAssigned) return -1;
        if (overlaps) ++m_overlapping;
        if (lane == m_ends.size())
            add(end);
        else
            m_ends[lane] = end;
        // Ends only grow, since a lane is taken when it is free: the last one of a group is the last that it ever had.
        Group& group = m_groups[lane / kPerGroup];
        if (group.latest < end) group.latest = end;
        return static_cast<int>(lane);
    }

    /// Lanes used so far.
    int count() const { return static_cast<int>(m_ends.size()); }

    /// Slices so far that overlap another one without nesting and therefore lie on a sub-lane.
    std::int64_t overlapping() const { return m_overlapping; }

private:
    /// So many lanes are passed over at once: about the root of kMostAssigned.
    static constexpr std::size_t kPerGroup = 128;
    struct Group {
        Instant earliest; ///< no lane of the group ends before
        Instant latest;   ///< the last end of its lanes
    };

    /// The lane behind the last one that contains [start, end).
    std::size_t belowContainers(Instant start, Instant end) const
    {
        const Instant least = std::max(end, Instant{start.ns + 1}); // still open at start
        for (std::size_t group = m_groups.size(), lane = m_ends.size(); group > 0; lane = --group * kPerGroup) {
            if (m_groups[group - 1].latest < least) continue;
            while (m_ends[lane - 1] < least) --lane;
            return lane;
        }
        return 0;
    }

    /// The first lane from `lane` on that is free at `start`, or the one behind all.
    std::size_t firstFree(std::size_t lane, Instant start)
    {
        while (lane < m_ends.size()) {
            const std::size_t first = lane, behind = std::min(m_ends.size(), (lane / kPerGroup + 1) * kPerGroup);
            Group& group = m_groups[lane / kPerGroup];
            if (group.earliest > start) {
                lane = behind;
                continue;
            }
            Instant earliest = m_ends[lane];
            for (; lane < behind; ++lane) {
                if (m_ends[lane] <= start) return lane;
                earliest = std::min(earliest, m_ends[lane]);
            }
            if (first % kPerGroup == 0) group.earliest = earliest; // met in vain only once
        }
        return lane;
    }

    void add(Instant end)
    {
        if (m_ends.size() % kPerGroup == 0) m_groups.push_back({end, end});
        m_ends.push_back(end);
        m_groups.back().earliest = std::min(m_groups.back().earliest, end);
    }

    std::vector<Instant> m_ends; ///< per lane, the end of its last slice
    std::vector<Group> m_groups; ///< of kPerGroup lanes each
    std::int64_t m_overlapping = 0;
};

} // namespace fourwalls
