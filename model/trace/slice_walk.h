// SPDX-License-Identifier: Apache-2.0
// The slices of one track in the order in which they begin, with what contains what: the base of every statistic over
// a range of time (sums by name, call trees).
#pragma once

#include "model/trace/trace_query.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <utility>
#include <vector>

namespace fourwalls {

/// The track on which the same thread's Python frames lie, where a recorder puts them apart; null: none.
const TrackView* framesTrackOf(const TraceQuery& trace, const TrackView& thread);
/// Whether a track holds the Python frames of a thread, and which thread's.
const TrackView* threadOfFrames(const TraceQuery& trace, const TrackView& frames);

/// Calls visit for every slice of the track that is seen in the range (isVisible), by start, of the same start the
/// longer first, then the upper lane first. visit returns false to stop. Memory stays small, whatever the range holds.
/// Errors: those of TraceQuery::slices.
Status forEachSlice(TraceQuery& trace, const TrackView& track, TimeRange range,
                    const std::function<bool(const SliceView&)>& visit, const std::stop_token& stop = {});

/// Follows the nesting of one track's slices. Slices come in the order of forEachSlice.
///
/// The parent of a slice is what contains it in the deepest lane above it. Slices that overlap without nesting are
/// nobody's children of each other.
template <class Tag>
class NestingWalk {
public:
    /// A slice at its end.
    struct Left {
        SliceView slice;
        Tag tag;
        Duration inside; ///< the part of it within the range
        Duration self;   ///< of that, what no child covers
    };

    explicit NestingWalk(TimeRange range) : m_range(range) {}

    /// enter(slice, parent's tag or null) gives the slice's tag; leave(Left) comes when it is over.
    template <class Enter, class Leave>
    void add(const SliceView& slice, Enter&& enter, Leave&& leave)
    {
        leaveUntil(slice.start, leave);
        const Instant least = std::max(slice.end(), Instant{slice.start.ns + 1});
        Open* parent = nullptr;
        for (Open& open : m_open)
            if (open.slice.lane < slice.lane && open.slice.end() >= least &&
                (!parent || open.slice.lane > parent->slice.lane))
                parent = &open;
        const Instant from = std::max(slice.start, m_range.begin), to = std::min(slice.end(), m_range.end);
        if (parent)
            parent->cover(from, to);
        else
            m_top.cover(from, to);
        Tag tag = enter(slice, parent ? &parent->tag : nullptr);
        m_open.push_back({slice, std::move(tag), {}});
        m_earliestEnd = std::min(m_earliestEnd, slice.end());
    }

    /// The tag of the deepest slice that is there at an instant not before the last start; null: none.
    const Tag* deepestAt(Instant at) const
    {
        const Open* deepest = nullptr;
        for (const Open& open : m_open) {
            const bool there = open.slice.end() > at || open.slice.start == at;
            if (there && (!deepest || open.slice.lane >= deepest->slice.lane)) deepest = &open;
        }
        return deepest ? &deepest->tag : nullptr;
    }

    /// What follows lies behind an instant at which the next slice begins: part(Left) comes for every slice that is
    /// still there, with its time up to there; the range then begins at that instant, and so does busy().
    template <class Leave, class Part>
    void split(Instant at, Leave&& leave, Part&& part)
    {
        leaveUntil(at, leave);
        for (Open& open : m_open) {
            const Duration inside = std::max(Duration{}, at - std::max(open.slice.start, m_range.begin));
            // Children began before, so what they cover behind the instant is one piece.
            const Duration behind = open.children.behind(at);
            part(Left{open.slice, open.tag, inside, inside - (open.children.covered - behind)});
            open.children.covered = behind;
        }
        m_top.covered = m_top.behind(at);
        m_range.begin = at;
    }
    /// Of busy(), what lies before an instant that is not before the last start.
    Duration busyUntil(Instant at) const { return m_top.covered - m_top.behind(at); }

    /// After the last slice.
    template <class Leave>
    void finish(Leave&& leave)
    {
        leaveUntil(Instant{std::numeric_limits<std::int64_t>::max()}, leave);
    }

    /// The time within the range in which any slice was there.
    Duration busy() const { return m_top.covered; }

private:
    struct Cover {
        Duration covered;
        Instant until{std::numeric_limits<std::int64_t>::min()};
        /// Children come by start, so what is covered so far ends at one instant.
        void cover(Instant from, Instant to)
        {
            from = std::max(from, until);
            if (to <= from) return;
            covered = covered + (to - from);
            until = to;
        }
        Duration behind(Instant at) const { return until > at ? until - at : Duration{}; }
    };
    struct Open {
        SliceView slice;
        Tag tag;
        Cover children;
        void cover(Instant from, Instant to) { children.cover(from, to); }
    };

    template <class Leave>
    void leaveUntil(Instant now, Leave& leave)
    {
        if (m_earliestEnd > now) return;
        m_earliestEnd = Instant{std::numeric_limits<std::int64_t>::max()};
        std::size_t kept = 0;
        for (std::size_t i = 0; i < m_open.size(); ++i) {
            Open& open = m_open[i];
            if (open.slice.end() > now) {
                m_earliestEnd = std::min(m_earliestEnd, open.slice.end());
                if (kept != i) m_open[kept] = std::move(open);
                ++kept;
                continue;
            }
            const Duration inside = std::max(Duration{}, std::min(open.slice.end(), m_range.end) -
                                                             std::max(open.slice.start, m_range.begin));
            leave(Left{open.slice, open.tag, inside, inside - open.children.covered});
        }
        m_open.erase(m_open.begin() + static_cast<std::ptrdiff_t>(kept), m_open.end());
    }

    TimeRange m_range;
    std::vector<Open> m_open; ///< by start
    Cover m_top;
    Instant m_earliestEnd{std::numeric_limits<std::int64_t>::max()};
};

} // namespace fourwalls
