// SPDX-License-Identifier: Apache-2.0
// Arrows from separate start and end events that share a category and an id. Partners may be missing on either side;
// that is normal in PyTorch's files.
#pragma once

#include "model/trace/trace_sink.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

class FlowPairs {
public:
    struct Point {
        TrackId track;
        Instant at;
    };
    /// kind: of the arrow, one of a few texts. key: equal for the points of one arrow.
    void start(std::uint64_t key, const char* kind, Point point) { add({key, point, kind, true}); }
    void step(std::uint64_t key, const char* kind, Point point) { add({key, point, kind, false}); }

    /// Joins each point to the next one of its arrow. Call once.
    void finish(TraceProducer& producer);

    std::int64_t arrows() const { return m_arrows; }
    std::int64_t pointsAlone() const { return m_alone; }
    /// Points left out because there were too many to hold.
    std::int64_t dropped() const { return m_dropped; }

    /// A key from a category and an id as written.
    static std::uint64_t key(std::string_view category, std::string_view id, std::string_view name);

private:
    struct Entry {
        std::uint64_t key;
        Point point;
        const char* kind;
        bool start;
    };
    void add(const Entry& entry)
    {
        if (m_points.size() < kMostPoints)
            m_points.push_back(entry);
        else
            ++m_dropped;
    }

    static constexpr std::size_t kMostPoints = 3'000'000; ///< 120 MB
    std::vector<Entry> m_points;
    std::int64_t m_arrows = 0, m_alone = 0, m_dropped = 0;
};

} // namespace fourwalls::importers
