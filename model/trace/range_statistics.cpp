// SPDX-License-Identifier: Apache-2.0
// One pass over the slices of each track, several tracks at a time where there are processors for it.
#include "model/trace/range_statistics.h"

#include "model/trace/slice_walk.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>

namespace fourwalls {

namespace {

/// Durations that are kept one by one, over all entries: 4 bytes each.
constexpr std::size_t kMostKept = 16'000'000;
constexpr unsigned kMostReaders = 8;
constexpr std::chrono::milliseconds kFirstProgress{80};

/// The statistics of one track.
struct TrackPart {
    std::vector<RangeEntry> entries;
    OpDictionary ops;
    Duration busy;
};

class TrackReader {
public:
    TrackReader(const TrackView& track, TimeRange range) : m_track(track), m_range(range), m_walk(range) {}

    Result<TrackPart> read(TraceQuery& trace, const std::stop_token& stop)
    {
        const auto leave = [this](const auto& left) { end(left); };
        FOURWALLS_TRY(forEachSlice(
            trace, m_track, m_range,
            [&](const SliceView& slice) {
                m_walk.add(
                    slice, [this](const SliceView& each, const std::size_t*) { return indexOf(each.op); }, leave);
                return true;
            },
            stop));
        m_walk.finish(leave);
        m_part.busy = m_walk.busy();
        for (const RangeEntry& entry : m_part.entries) {
            FOURWALLS_TRY_ASSIGN(m_part.ops[entry.op], trace.op(entry.op));
        }
        std::sort(m_part.entries.begin(), m_part.entries.end(),
                  [](const RangeEntry& a, const RangeEntry& b) { return a.op < b.op; });
        return std::move(m_part);
    }

private:
    std::size_t indexOf(OpId op)
    {
        const auto [found, isNew] = m_index.try_emplace(op, m_part.entries.size());
        if (isNew) {
            m_part.entries.emplace_back();
            m_part.entries.back().track = m_track.id;
            m_part.entries.back().op = op;
        }
        return found->second;
    }

    void end(const NestingWalk<std::size_t>::Left& left)
    {
        RangeEntry& entry = m_part.entries[left.tag];
        ++entry.count;
        entry.total += left.inside;
        entry.self += left.self;
        entry.durations.add(left.slice.duration);
        if (++m_kept < kMostKept) return;
        for (RangeEntry& each : m_part.entries) each.durations.makeRough();
        m_kept = 0;
    }

    const TrackView& m_track;
    TimeRange m_range;
    NestingWalk<std::size_t> m_walk;
    TrackPart m_part;
    std::unordered_map<OpId, std::size_t> m_index;
    std::size_t m_kept = 0;
};

/// Puts the parts of tracks together and tells how far it is.
class Collection {
public:
    Collection(TimeRange range, std::size_t tracks, const std::function<void(const RangeStatistics&)>& progress)
        : m_progress(progress)
    {
        m_sum.range = range;
        m_sum.askedTracks = tracks;
    }

    void add(TrackPart part)
    {
        const std::lock_guard lock(m_mutex);
        for (RangeEntry& entry : part.entries) {
            m_sum.count += entry.count;
            m_sum.self += entry.self;
            m_kept += entry.durations.kept();
            m_sum.entries.push_back(std::move(entry));
        }
        if (m_kept > kMostKept) {
            for (RangeEntry& entry : m_sum.entries) entry.durations.makeRough();
            m_kept = 0;
        }
        m_sum.ops.merge(part.ops);
        m_sum.busy += part.busy;
        ++m_sum.tracks;
        tell();
    }

    void fail(const Error& error)
    {
        const std::lock_guard lock(m_mutex);
        if (!m_error) m_error = error;
    }

    Result<RangeStatistics> take()
    {
        if (m_error) return *m_error;
        std::sort(m_sum.entries.begin(), m_sum.entries.end(), [](const RangeEntry& a, const RangeEntry& b) {
            return std::tie(a.track, a.op) < std::tie(b.track, b.op);
        });
        return std::move(m_sum);
    }

private:
    /// Each time after twice as long, because the reader of it sorts all durations.
    void tell()
    {
        const auto now = std::chrono::steady_clock::now();
        if (!m_progress || m_sum.complete() || now - m_begin < m_next) return;
        m_next = 2 * (now - m_begin);
        m_progress(m_sum);
    }

    std::mutex m_mutex;
    const std::function<void(const RangeStatistics&)>& m_progress;
    RangeStatistics m_sum;
    std::optional<Error> m_error;
    std::size_t m_kept = 0;
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration m_next = kFirstProgress;
};

std::string keyOf(RangeGrouping grouping, const OpInfo& op, const TrackView& track)
{
    switch (grouping) {
    case RangeGrouping::Name: return std::to_string(static_cast<int>(op.kind)) + op.name;
    case RangeGrouping::Kind: return std::to_string(static_cast<int>(op.kind));
    case RangeGrouping::Layer: return op.layer ? std::to_string(op.layer->value) : std::string();
    case RangeGrouping::Stream: return std::to_string(static_cast<int>(track.info.kind)) + track.info.name;
    case RangeGrouping::Rank: return std::to_string(track.info.rank.value);
    case RangeGrouping::Phase: return std::to_string(static_cast<int>(op.phase));
    }
    return {};
}

} // namespace

Result<RangeStatistics> rangeStatistics(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range,
                                        const std::function<void(const RangeStatistics&)>& progress,
                                        std::stop_token stop)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "statistics", ""};
    std::vector<const TrackView*> views;
    for (const TrackId track : tracks) {
        if (track.value < 0 || static_cast<std::size_t>(track.value) >= trace.tracks().size())
            return Error{ErrorCode::NotFound, "no track " + std::to_string(track.value), "statistics", ""};
        views.push_back(&trace.tracks()[static_cast<std::size_t>(track.value)]);
    }
    // The long ones first, so that the readers end together.
    std::stable_sort(views.begin(), views.end(),
                     [](const TrackView* a, const TrackView* b) { return a->slices > b->slices; });
    Collection collection(range, views.size(), progress);
    std::atomic<std::size_t> next{0};
    const auto readSome = [&](TraceQuery& own) {
        while (!stop.stop_requested()) {
            const std::size_t index = next++;
            if (index >= views.size()) return;
            Result<TrackPart> part = TrackReader(*views[index], range).read(own, stop);
            if (!part.ok()) return collection.fail(part.error());
            collection.add(std::move(*part));
        }
        collection.fail(Error{ErrorCode::Cancelled, "cancelled", "statistics", ""});
    };
    {
        std::vector<std::jthread> readers;
        const unsigned most = std::min(kMostReaders, std::max(1U, std::thread::hardware_concurrency() / 2));
        for (std::size_t i = 1; i < std::min<std::size_t>(most, views.size()); ++i) {
            auto own = trace.reopen();
            if (!own.ok()) break; // one reader can do it, too
            readers.emplace_back([&readSome, own = std::move(*own)] { readSome(*own); });
        }
        readSome(trace);
    }
    return collection.take();
}

std::string_view name(RangeGrouping grouping)
{
    constexpr std::array<std::string_view, kRangeGroupingCount> kNames{"name",   "kind", "layer",
                                                                       "stream", "rank", "phase"};
    return kNames[static_cast<std::size_t>(grouping)];
}

std::vector<RangeRow> groupRange(const RangeStatistics& statistics, std::span<const TrackView> tracks,
                                 RangeGrouping grouping)
{
    struct Group {
        RangeRow row;
        DurationDistribution durations;
        Duration most{-1};
    };
    std::map<std::string, Group> groups;
    for (const RangeEntry& entry : statistics.entries) {
        const OpInfo& op = *statistics.ops.at(entry.op);
        const TrackView& track = tracks[static_cast<std::size_t>(entry.track.value)];
        Group& group = groups[keyOf(grouping, op, track)];
        RangeRow& row = group.row;
        if (entry.self > group.most) {
            group.most = entry.self;
            row.op = entry.op;
            row.track = entry.track;
        }
        if (grouping == RangeGrouping::Name) row.text = op.name;
        if (grouping == RangeGrouping::Stream) row.text = track.info.name;
        row.count += entry.count;
        row.total += entry.total;
        row.self += entry.self;
        group.durations.add(entry.durations);
    }
    std::vector<RangeRow> rows;
    for (auto& [key, group] : groups) {
        RangeRow& row = group.row;
        row.shortest = group.durations.shortest();
        row.longest = group.durations.longest();
        row.median = group.durations.percentile(0.5).value_or(Duration{});
        row.percentile99 = group.durations.percentile(0.99).value_or(Duration{});
        row.exact = group.durations.isExact();
        row.bars = group.durations.bars();
        if (statistics.self.ns > 0)
            row.share = static_cast<double>(row.self.ns) / static_cast<double>(statistics.self.ns);
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const RangeRow& a, const RangeRow& b) { return a.self > b.self; });
    return rows;
}

} // namespace fourwalls
