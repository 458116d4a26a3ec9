// SPDX-License-Identifier: Apache-2.0
// Unions, hulls and sums of intervals with times as fine as files have them.
#pragma once

#include "model/base/sorted_rows.h"
#include "model/import/common/decimal_time.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::importers {

/// Intervals whose union is asked for at the end, in bounded memory.
class BusyTime {
public:
    /// folder: see ImportOptions::scratchFolder.
    explicit BusyTime(std::string folder = {}) : m_folder(std::move(folder)) {}

    void add(std::int64_t begin, std::int64_t end)
    {
        if (m_fine.empty())
            add(m_plain, begin, end);
        else
            add(m_fine, FineTime{begin, 0}, FineTime{end, 0});
    }
    void add(FineTime begin, FineTime end);
    /// Length of the union [ns], rounded; absent if a temporary file was needed and could not be written.
    std::optional<std::int64_t> total();

private:
    template <class Time>
    using Intervals = std::vector<std::pair<Time, Time>>;
    template <class Time>
    void add(Intervals<Time>& intervals, Time begin, Time end);
    Intervals<std::int64_t> m_plain;
    template <class Time>
    void putAway(Intervals<Time>& intervals);

    struct Interval {
        FineTime begin, end;
        friend bool operator<(const Interval& a, const Interval& b)
        {
            return a.begin == b.begin ? a.end < b.end : a.begin < b.begin;
        }
    };
    /// What did not fit into memory.
    struct Rest {
        explicit Rest(const std::string& folder);
        ChunkStore chunks;
        SortedRows<Interval> intervals;
    };
    std::string m_folder;
    Intervals<FineTime> m_fine; ///< instead of m_plain, once it is needed
    std::unique_ptr<Rest> m_rest;
    std::size_t m_compactAt = 4096;
};

/// Smallest begin and largest end.
struct Hull {
    std::optional<FineTime> begin, end;
    void add(FineTime from, FineTime to)
    {
        if (!begin || from < *begin) begin = from;
        if (!end || *end < to) end = to;
    }
    std::optional<std::int64_t> length() const
    {
        return begin ? std::optional((*end - *begin).rounded()) : std::nullopt;
    }
};

/// A sum of durations: of a hostile file it may wrap.
struct DurationSum {
    std::uint64_t ns = 0;
    std::int64_t ps = 0;
    void add(FineTime duration)
    {
        ns += static_cast<std::uint64_t>(duration.ns);
        ps += duration.ps;
    }
    std::int64_t rounded() const
    {
        return static_cast<std::int64_t>(ns + static_cast<std::uint64_t>((ps + 500) / 1000));
    }
};

} // namespace fourwalls::importers
