// SPDX-License-Identifier: Apache-2.0
// Of each track the sums of whole blocks, and a pass over the slices of what is left; several tracks at a time where there
// are processors for it.
#include "model/trace/range_statistics.h"

#include "model/trace/range_summaries.h"
#include "model/trace/slice_walk.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
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
    TrackReader(const TrackView& track, TimeRange range) : m_track(track), m_range(range) {}

    /// known: the blocks of the track, or null.
    Result<TrackPart> read(TraceQuery& trace, std::shared_ptr<const RankSummary> known, const std::stop_token& stop)
    {
        const TrackSummary* summary = known ? &known->tracks.at(m_track.id) : nullptr;
        const auto inside = summary ? summary->blocks.within(m_range) : BlockSums<RangeTimes>::Inside();
        if (inside.any()) {
            for (const RangePart& part : inside.parts) FOURWALLS_TRY(readRows(trace, part, stop));
            FOURWALLS_TRY(addBlocks(std::move(known), *summary, inside));
        } else {
            FOURWALLS_TRY(readRows(trace, {m_range, RangePart::Use::All}, stop));
        }
        std::erase_if(m_part.entries, [](const RangeEntry& entry) { return entry.count == 0; });
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
            m_notBegun.push_back(0);
            m_notEnded.push_back(0);
        }
        return found->second;
    }

    Status readRows(TraceQuery& trace, const RangePart& part, const std::stop_token& stop)
    {
        NestingWalk<std::size_t> walk(part.range);
        const auto leave = [&](const NestingWalk<std::size_t>::Left& left) {
            m_part.entries[left.tag].total += part.isTaken() ? -left.inside : left.inside;
            m_part.entries[left.tag].self += part.isTaken() ? -left.self : left.self;
        };
        const auto enter = [&](const SliceView& slice, const std::size_t*) {
            const std::size_t index = indexOf(slice.op);
            const bool begins = slice.start >= part.range.begin;
            if (part.isTaken()) {
                if (begins) ++(part.use == RangePart::Use::NotBegun ? m_notBegun : m_notEnded)[index];
                if (part.use == RangePart::Use::NotBegun && slice.end() > part.range.end)
                    count(m_part.entries[index], slice.duration);
            } else if (begins || part.use == RangePart::Use::All) {
                count(m_part.entries[index], slice.duration);
            }
            return index;
        };
        FOURWALLS_TRY(forEachSlice(
            trace, m_track, part.range,
            [&](const SliceView& slice) {
                walk.add(slice, enter, leave);
                return true;
            },
            stop));
        walk.finish(leave);
        m_part.busy += part.isTaken() ? -walk.busy() : walk.busy();
        return {};
    }

    void count(RangeEntry& entry, Duration duration)
    {
        ++entry.count;
        entry.durations.add(duration);
        if (++m_kept < kMostKept) return;
        for (RangeEntry& each : m_part.entries) each.durations.makeRough();
        m_kept = 0;
    }

    Status addBlocks(std::shared_ptr<const RankSummary> owner, const TrackSummary& summary,
                     const BlockSums<RangeTimes>::Inside& inside)
    {
        std::vector<BlockSums<RangeTimes>::Total> before(summary.ops.size()), within(summary.ops.size());
        // How many of each began before says where its durations lie.
        summary.blocks.addBlocks(0, inside.first, before);
        summary.blocks.addBlocks(inside.first, inside.last, within);
        for (std::uint32_t key = 0; key < summary.ops.size(); ++key) {
            if (within[key].count == 0 && within[key].sums.total.ns == 0) continue;
            const std::size_t index = indexOf(summary.ops[key]);
            RangeEntry& entry = m_part.entries[index];
            within[key].count -= m_notBegun[index] + m_notEnded[index];
            entry.count += within[key].count;
            entry.total += within[key].sums.total;
            entry.self += within[key].sums.self;
            if (!owner->hasDurations) continue;
            const std::int64_t from = before[key].count + m_notBegun[index];
            // Other readers open the file by its name.
            if (within[key].count < 0 ||
                from + within[key].count > static_cast<std::int64_t>(summary.durations[key].size()))
                return Error{ErrorCode::Format, "the trace was changed while it was open", "statistics",
                             "open it again"};
            const auto first = static_cast<std::size_t>(from), count = static_cast<std::size_t>(within[key].count);
            std::size_t elsewhere = 0;
            if (const auto longer = summary.longer.find(key); longer != summary.longer.end())
                for (const auto& [place, duration] : longer->second)
                    if (place >= first && place < first + count) {
                        entry.durations.add(duration);
                        ++elsewhere;
                    }
            entry.durations.addShared(owner, std::span(summary.durations[key]).subspan(first, count), elsewhere);
        }
        for (std::size_t i = inside.first; i < inside.last; ++i) m_part.busy += summary.busy[i];
        return {};
    }

    const TrackView& m_track;
    TimeRange m_range;
    TrackPart m_part;
    std::unordered_map<OpId, std::size_t> m_index;
    /// By entry: how many began in a block that was added, but before the range or behind its end.
    std::vector<std::int64_t> m_notBegun, m_notEnded;
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

/// A track of the question, and what is known of its rank.
struct Asked {
    const TrackView* track;
    std::shared_ptr<const RankSummary> known; ///< null: nothing
};

Result<RangeStatistics> collect(TraceQuery& trace, const std::vector<Asked>& asked, TimeRange range,
                                const std::function<void(const RangeStatistics&)>& progress,
                                const std::stop_token& stop)
{
    Collection collection(range, asked.size(), progress);
    std::atomic<std::size_t> next{0};
    const auto readSome = [&](TraceQuery& own) {
        while (!stop.stop_requested()) {
            const std::size_t index = next++;
            if (index >= asked.size()) return;
            Result<TrackPart> part = TrackReader(*asked[index].track, range).read(own, asked[index].known, stop);
            if (!part.ok()) return collection.fail(part.error());
            collection.add(std::move(*part));
        }
        collection.fail(Error{ErrorCode::Cancelled, "cancelled", "statistics", ""});
    };
    {
        std::vector<std::jthread> readers;
        const unsigned most = std::min(kMostReaders, std::max(1U, std::thread::hardware_concurrency() / 2));
        for (std::size_t i = 1; i < std::min<std::size_t>(most, asked.size()); ++i) {
            auto own = trace.reopen();
            if (!own.ok()) break; // one reader can do it, too
            readers.emplace_back([&readSome, own = std::move(*own)] { readSome(*own); });
        }
        readSome(trace);
    }
    return collection.take();
}

} // namespace

Result<RangeStatistics> rangeStatistics(TraceQuery& trace, std::span<const TrackId> tracks, TimeRange range,
                                        const RangeSummaries* summaries,
                                        const std::function<void(const RangeStatistics&)>& progress,
                                        std::stop_token stop)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "statistics", ""};
    std::vector<Asked> asked;
    std::map<RankId, std::shared_ptr<const RankSummary>> known;
    bool lacksDurations = false;
    for (const TrackId track : tracks) {
        if (track.value < 0 || static_cast<std::size_t>(track.value) >= trace.tracks().size())
            return Error{ErrorCode::NotFound, "no track " + std::to_string(track.value), "statistics", ""};
        const TrackView& view = trace.tracks()[static_cast<std::size_t>(track.value)];
        const auto [rank, isNew] = known.try_emplace(view.info.rank);
        if (isNew && summaries) rank->second = summaries->of(view.info.rank);
        lacksDurations = lacksDurations || (rank->second && !rank->second->hasDurations);
        asked.push_back({&view, rank->second});
    }
    // The long ones first, so that the readers end together.
    std::stable_sort(asked.begin(), asked.end(),
                     [](const Asked& a, const Asked& b) { return a.track->slices > b.track->slices; });
    if (!lacksDurations) return collect(trace, asked, range, progress, stop);
    if (progress) {
        FOURWALLS_TRY_ASSIGN(RangeStatistics sums, collect(trace, asked, range, {}, stop));
        sums.hasDurations = false;
        progress(sums);
    }
    for (Asked& each : asked) each.known = nullptr;
    return collect(trace, asked, range, {}, stop);
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
        if (statistics.hasDurations) group.durations.add(entry.durations);
    }
    std::vector<RangeRow> rows;
    for (auto& [key, group] : groups) {
        RangeRow& row = group.row;
        row.hasSpread = statistics.hasDurations;
        if (row.hasSpread) row.spread = group.durations.spread();
        row.exact = group.durations.isExact();
        if (statistics.self.ns > 0)
            row.share = static_cast<double>(row.self.ns) / static_cast<double>(statistics.self.ns);
        rows.push_back(std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const RangeRow& a, const RangeRow& b) { return a.self > b.self; });
    return rows;
}

} // namespace fourwalls
