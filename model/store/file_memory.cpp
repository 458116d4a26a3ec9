// SPDX-License-Identifier: Apache-2.0
// See file_memory.h.
#include "model/store/file_memory.h"

#include "model/store/duration_class.h"
#include "model/store/memory_finisher.h"
#include "model/store/stored_rows.h"
#include "model/trace/memory_curve.h"

#include <algorithm>
#include <limits>

namespace fourwalls::store {
namespace {

constexpr const char* kAllocationsSql = "SELECT * FROM allocation WHERE id>=?1 AND id<=?2";
/// The same as a statement of its own: the visitor of a scan may ask other queries.
constexpr const char* kAllocationScanSql = "SELECT * FROM allocation WHERE id>=?1 AND id<=?2 -- scan";
constexpr const char* kNextAllocationSql = "SELECT min(id) FROM allocation WHERE id>=?1";
constexpr const char* kAllocationFenceSql =
    "SELECT id FROM allocation_fence WHERE run=?1 AND start<=?2 ORDER BY start DESC, id DESC LIMIT 1";
constexpr const char* kFenceBehindSql =
    "SELECT id FROM allocation_fence WHERE run=?1 AND start>=?2 ORDER BY start, id LIMIT 1";

} // namespace

Result<const FileMemory::RankData*> FileMemory::rankData(RankId rank)
{
    const auto [found, isNew] = m_ranks.try_emplace(rank);
    RankData& data = found->second;
    if (!isNew) return &data;
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * timeline,
        m_file.statement("SELECT finest, top, first_run, last_run FROM memory_timeline WHERE rank=?1"));
    timeline->bind(1, std::int64_t{rank.value});
    FOURWALLS_TRY_ASSIGN(const sqlite::Row row, timeline->step());
    if (row == sqlite::Row::Done) return &data;
    const auto finest = timeline->asInteger(0), top = timeline->asInteger(1), first = timeline->asInteger(2),
               last = timeline->asInteger(3);
    timeline->reset();
    if (finest && top && *finest >= 1 && *top >= *finest && *top < kClassCount) {
        data.finest = static_cast<int>(*finest);
        data.top = static_cast<int>(*top);
    }
    if (!first || !last) return &data;
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * runs,
        m_file.statement("SELECT id, rank, class, first, last FROM allocation_run WHERE id>=?1 AND id<=?2 "
                         "ORDER BY id LIMIT 1000"));
    runs->bind(1, *first);
    runs->bind(2, *last);
    std::int64_t lastId = 0;
    while (true) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row next, runs->step());
        if (next == sqlite::Row::Done) break;
        const auto runRank = runs->asInteger(1), runClass = runs->asInteger(2), firstId = runs->asInteger(3),
                   endId = runs->asInteger(4);
        if (!runRank || *runRank != rank.value || !runClass || *runClass < 0 || *runClass > kUnboundedClass ||
            !firstId || !endId || *firstId <= lastId || *endId < *firstId)
            continue;
        lastId = *endId;
        data.runs.push_back({runs->integer(0), *firstId, *endId, static_cast<int>(*runClass)});
    }
    return &data;
}

std::optional<AllocationView> FileMemory::allocationFromRow(const sqlite::Statement& row, RankId rank,
                                                            int runClass) const
{
    const auto start = row.asInteger(2), bytes = row.asInteger(4), address = row.asInteger(5),
               category = row.asInteger(6), buffer = row.asInteger(9);
    if (!start || !validTime(*start) || !bytes || *bytes < 0 || *bytes > kMostBytes || !address || !category ||
        *category < 0 || *category >= kMemoryCategoryCount || !buffer)
        return std::nullopt;
    AllocationView view;
    view.id = AllocationId(*buffer);
    view.rank = rank;
    view.start = Instant{*start};
    view.bytes = *bytes;
    view.address = *address;
    view.category = static_cast<MemoryCategory>(*category);
    if (row.isNull(3)) {
        if (runClass != kUnboundedClass) return std::nullopt;
    } else {
        const auto duration = row.asInteger(3);
        if (!duration || !validSpan(*start, *duration) || durationClass(*duration) != runClass) return std::nullopt;
        view.end = Instant{*start + *duration};
    }
    if (!row.isNull(7)) {
        const auto op = row.asInteger(7);
        if (!op || *op < 0 || *op >= m_file.data()->info.counts.ops) return std::nullopt;
        view.op = OpId(static_cast<std::int32_t>(*op));
    }
    if (!row.isNull(8)) {
        const auto microbatch = row.asInteger(8);
        if (!microbatch || *microbatch < std::numeric_limits<std::int32_t>::min() || *microbatch > kLargestId)
            return std::nullopt;
        view.microbatch = Microbatch(static_cast<std::int32_t>(*microbatch));
    }
    return view;
}

Result<std::int64_t> FileMemory::firstAlive(const Run& run, Instant at)
{
    return m_file.seek(kAllocationFenceSql, run.id, run.first, run.last, run.runClass, at.ns);
}

Status FileMemory::overlappingOfRun(const Run& run, RankId rank, TimeRange range, std::int64_t firstId,
                                    std::int64_t& sum, const std::function<void(const AllocationView&)>& visit)
{
    return m_file.forIds(kAllocationsSql, kNextAllocationSql, firstId, run.last, [&](const sqlite::Statement& row) {
        const auto view = allocationFromRow(row, rank, run.runClass);
        if (!view || row.asInteger(1) != run.id || view->bytes > kMostBytes - sum) return true;
        if (view->start >= range.end) return false;
        if (view->end && *view->end <= range.begin) return true;
        sum += view->bytes;
        visit(*view);
        return true;
    });
}

Status FileMemory::overlapping(RankId rank, TimeRange range, const std::function<void(const AllocationView&)>& visit)
{
    FOURWALLS_TRY_ASSIGN(const RankData* data, rankData(rank));
    std::int64_t sum = 0;
    for (const Run& run : data->runs) {
        FOURWALLS_TRY_ASSIGN(const std::int64_t first, firstAlive(run, range.begin));
        FOURWALLS_TRY(overlappingOfRun(run, rank, range, first, sum, visit));
    }
    return {};
}

Result<AllocationList> FileMemory::listed(LargestAllocations found)
{
    AllocationList list = found.take();
    std::int64_t damaged = 0;
    for (const AllocationView& item : list.items)
        if (item.op) FOURWALLS_TRY(m_file.addOp(list.ops, *item.op, damaged));
    return list;
}

Result<AllocationList> FileMemory::aliveAt(RankId rank, Instant at, std::size_t limit)
{
    if (!validTime(at.ns)) return AllocationList{};
    LargestAllocations found(limit);
    FOURWALLS_TRY_ASSIGN(const std::optional<std::vector<AllocationView>> stored, storedPeak(rank, at));
    if (stored) {
        for (const AllocationView& view : *stored) found.add(view);
        return listed(std::move(found));
    }
    FOURWALLS_TRY(overlapping(rank, {at, Instant{at.ns + 1}}, [&](const AllocationView& view) {
        if (!view.end || *view.end > at) found.add(view);
    }));
    return listed(std::move(found));
}

Result<AllocationList> FileMemory::allocations(RankId rank, TimeRange range, std::size_t limit, std::int64_t mostRows)
{
    if (range.empty() || !validTime(range.begin.ns) || !validTime(range.end.ns)) return AllocationList{};
    FOURWALLS_TRY_ASSIGN(const RankData* data, rankData(rank));
    LargestAllocations found(limit);
    Duration shortest;
    std::int64_t leftOut = 0, sum = 0, read = 0;
    // Longest lives first: what is left out is what a screen cannot show.
    for (auto run = data->runs.rbegin(); run != data->runs.rend(); ++run) {
        FOURWALLS_TRY_ASSIGN(const std::int64_t first, firstAlive(*run, range.begin));
        FOURWALLS_TRY_ASSIGN(sqlite::Statement * behind, m_file.statement(kFenceBehindSql));
        behind->bind(1, run->id);
        behind->bind(2, range.end.ns);
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, behind->step());
        const std::int64_t next = row == sqlite::Row::Some ? behind->asInteger(0).value_or(0) : 0;
        behind->reset();
        const std::int64_t rows = next >= first && next <= run->last ? next - first : run->last - first + 1;
        if (shortest.ns > 0 || rows > mostRows - read) {
            if (shortest.ns == 0)
                shortest = Duration{run->runClass >= kClassCount ? kLargestTimeNs : levelWidth(run->runClass + 1)};
            leftOut += rows;
            continue;
        }
        read += rows;
        FOURWALLS_TRY(
            overlappingOfRun(*run, rank, range, first, sum, [&](const AllocationView& view) { found.add(view); }));
    }
    FOURWALLS_TRY_ASSIGN(AllocationList list, listed(std::move(found)));
    list.shortest = shortest;
    list.leftOut = leftOut;
    return list;
}

/// The set that was stored for a step's peak; absent for other instants and for damaged sets.
Result<std::optional<std::vector<AllocationView>>> FileMemory::storedPeak(RankId rank, Instant at)
{
    using Found = std::optional<std::vector<AllocationView>>;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row,
                         m_file.statement("SELECT data FROM peak_alive WHERE rank=?1 AND at=?2 LIMIT 1"));
    row->bind(1, std::int64_t{rank.value});
    row->bind(2, at.ns);
    const int rc = row->stepCode();
    if (rc == SQLITE_DONE || rc == SQLITE_TOOBIG) return Found();
    if (rc != SQLITE_ROW) return m_file.database().error(rc);
    std::vector<std::int64_t> ids;
    const auto bytes = row->asBlob(0);
    const bool sound = bytes && decodeIds(*bytes, ids);
    row->reset();
    if (!sound) return Found();

    FOURWALLS_TRY_ASSIGN(const RankData* data, rankData(rank));
    std::vector<AllocationView> items;
    bool asStored = true;
    for (std::size_t i = 0; i < ids.size() && asStored;) {
        std::size_t end = i + 1; // neighbours are read in one go
        while (end < ids.size() && ids[end] == ids[end - 1] + 1) ++end;
        std::size_t next = i;
        FOURWALLS_TRY(m_file.forIds(
            kAllocationsSql, kNextAllocationSql, ids[i], ids[end - 1], [&](const sqlite::Statement& allocation) {
                const std::int64_t id = allocation.integer(0);
                const auto run = std::find_if(data->runs.begin(), data->runs.end(),
                                              [id](const Run& r) { return r.first <= id && id <= r.last; });
                if (run == data->runs.end()) return false;
                const auto view = allocationFromRow(allocation, rank, run->runClass);
                if (!view || view->start > at || (view->end && *view->end <= at)) return false;
                items.push_back(*view);
                ++next;
                return true;
            }));
        asStored = next == end;
        i = end;
    }
    if (!asStored) return Found(); // the set is not what was alive: the rows decide
    return Found(std::move(items));
}

Status FileMemory::exactCurve(RankId rank, TimeRange range, std::vector<MemorySample>& samples)
{
    std::vector<AllocationView> lives;
    FOURWALLS_TRY(overlapping(rank, range, [&](AllocationView view) {
        view.start = std::max(view.start, range.begin);
        lives.push_back(view);
    }));
    const std::vector<MemorySample> curve = memoryCurve(memoryEvents(lives));
    if (curve.empty() || curve.front().at > range.begin) samples.push_back({range.begin, {}});
    for (const MemorySample& sample : curve)
        if (sample.at < range.end) samples.push_back(sample);
    return {};
}

Status FileMemory::addBins(RankId rank, int level, std::int64_t firstBin, std::int64_t lastBin,
                           std::vector<MemorySample>& samples)
{
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * tiles,
        m_file.statement("SELECT tile, data FROM memory_bin WHERE rank=?1 AND level=?2 AND tile>=?3 AND "
                         "tile<=?4 ORDER BY tile"));
    tiles->bind(1, std::int64_t{rank.value});
    tiles->bind(2, std::int64_t{level});
    tiles->bind(3, tileOf(firstBin, kMemoryBinsPerTile));
    tiles->bind(4, tileOf(lastBin, kMemoryBinsPerTile));
    std::vector<MemoryBin> bins;
    return m_file.forRows(*tiles, [&] {
        const auto tile = tiles->asInteger(0);
        const auto bytes = tiles->asBlob(1);
        bins.clear();
        if (tile && bytes) decodeMemoryTile(*bytes, *tile, level, bins);
        for (const MemoryBin& bin : bins) {
            if (bin.index < firstBin || bin.index > lastBin) continue;
            samples.push_back(bin.peak);
            if (bin.last.at > bin.peak.at) samples.push_back(bin.last);
        }
        return true;
    });
}

/// The last sample in the bins before `bin`; nothing is live when there is none. Sound tiles are never empty: the first
/// or second one has it, and damaged ones are not searched without end.
Result<MemorySample> FileMemory::lastChange(RankId rank, int level, std::int64_t bin)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * tiles,
                         m_file.statement("SELECT tile, data FROM memory_bin WHERE rank=?1 AND level=?2 AND tile<=?3 "
                                          "ORDER BY tile DESC LIMIT 8"));
    tiles->bind(1, std::int64_t{rank.value});
    tiles->bind(2, std::int64_t{level});
    tiles->bind(3, tileOf(bin - 1, kMemoryBinsPerTile));
    MemorySample found;
    std::vector<MemoryBin> bins;
    FOURWALLS_TRY(m_file.forRows(*tiles, [&] {
        const auto tile = tiles->asInteger(0);
        const auto bytes = tiles->asBlob(1);
        bins.clear();
        if (tile && bytes) decodeMemoryTile(*bytes, *tile, level, bins);
        const auto behind =
            std::partition_point(bins.begin(), bins.end(), [bin](const MemoryBin& b) { return b.index < bin; });
        if (behind == bins.begin()) return true;
        found = std::prev(behind)->last;
        return false;
    }));
    return found;
}

/// Whole bins in the middle, finer ones and at last single buffers at the two edges.
Status FileMemory::cover(RankId rank, const RankData& data, int level, TimeRange range,
                         std::vector<MemorySample>& samples)
{
    if (range.empty()) return {};
    if (level < data.finest) return exactCurve(rank, range, samples);
    const std::int64_t width = levelWidth(level);
    const std::int64_t first = binOf(range.begin.ns + width - 1, level), end = binOf(range.end.ns, level);
    if (first >= end) return cover(rank, data, level - 1, range, samples);
    const Instant middle{first * width}, tail{end * width};
    FOURWALLS_TRY(cover(rank, data, level - 1, {range.begin, middle}, samples));
    FOURWALLS_TRY(addBins(rank, level, first, end - 1, samples));
    return cover(rank, data, level - 1, {tail, range.end}, samples);
}

Result<MemoryWindow> FileMemory::memory(RankId rank, TimeRange range, int pixels)
{
    if (range.empty() || !validTime(range.begin.ns) || !validTime(range.end.ns) || pixels < 1)
        return Error{ErrorCode::InvalidArgument, "the time range is empty or there is no pixel", "memory", ""};
    MemoryWindow window;
    window.rank = rank;
    window.range = range;
    FOURWALLS_TRY_ASSIGN(const RankData* data, rankData(rank));
    if (data->runs.empty()) return window;
    const int level = levelNotWiderThan(range.length().ns / pixels);
    if (data->top < data->finest || level < data->finest) {
        FOURWALLS_TRY(exactCurve(rank, range, window.samples));
    } else {
        const int chosen = std::min(level, data->top);
        // What is live at the very begin: where a bin begins, the last change before it says so.
        const std::int64_t width = levelWidth(chosen);
        if (binOf(range.begin.ns, chosen) * width == range.begin.ns) {
            FOURWALLS_TRY_ASSIGN(MemorySample before, lastChange(rank, chosen, binOf(range.begin.ns, chosen)));
            before.at = range.begin;
            window.samples.push_back(before);
        } else {
            FOURWALLS_TRY(exactCurve(rank, {range.begin, Instant{range.begin.ns + 1}}, window.samples));
        }
        FOURWALLS_TRY(cover(rank, *data, chosen, range, window.samples));
        std::stable_sort(window.samples.begin(), window.samples.end(),
                         [](const MemorySample& a, const MemorySample& b) { return a.at < b.at; });
    }
    window.samples = reduceMemory(window.samples, range, pixels);
    return window;
}

Status FileMemory::scanAllocations(const std::function<bool(const AllocationView&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_file.database(), stop);
    std::vector<RankId> ranks;
    FOURWALLS_TRY(m_file.forIds("SELECT rank FROM memory_timeline WHERE rank>=?1 AND rank<=?2",
                                "SELECT min(rank) FROM memory_timeline WHERE rank>=?1", 0,
                                std::numeric_limits<std::int32_t>::max(), [&](const sqlite::Statement& row) {
                                    ranks.emplace_back(static_cast<std::int32_t>(row.integer(0)));
                                    return true;
                                }));
    bool more = true;
    for (const RankId rank : ranks) {
        FOURWALLS_TRY_ASSIGN(const RankData* data, rankData(rank));
        const std::vector<Run> runs = data->runs;
        for (const Run& run : runs) {
            FOURWALLS_TRY(m_file.forIds(kAllocationScanSql, kNextAllocationSql, run.first, run.last,
                                        [&](const sqlite::Statement& row) {
                                            if (const auto view = allocationFromRow(row, rank, run.runClass))
                                                more = visit(*view);
                                            return more && !stop.stop_requested();
                                        }));
            FOURWALLS_TRY(m_file.goOn(stop));
            if (!more) return {};
        }
    }
    return {};
}

} // namespace fourwalls::store
