// SPDX-License-Identifier: Apache-2.0
// Windows of slices: per lane, bins of the widest level that is not wider than a pixel, and every slice of that
// level's class or above exactly. A search reads only runs that hold a matching operator, each until the limit's last
// hit.
#include "model/store/file_slices.h"

#include "model/store/activity_finisher.h"
#include "model/store/duration_class.h"
#include "model/store/slice_bins.h"
#include "model/store/stored_rows.h"
#include "model/trace/name_matcher.h"
#include "model/trace/slice_reduction.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace fourwalls::store {
namespace {

/// Runs of one track: lanes times classes; more are damage.
constexpr std::size_t kMostRuns = 1'000'000;
constexpr std::int64_t kMostNamedOps = 1 << 22;

constexpr const char* kSlicesSql = "SELECT id, run, start, dur, op, mb, corr FROM slice WHERE id>=?1 AND id<=?2";
/// The same as a statement of its own: the visitor of a scan may ask other queries.
constexpr const char* kSliceScanSql =
    "SELECT id, run, start, dur, op, mb, corr FROM slice WHERE id>=?1 AND id<=?2 -- scan";
constexpr const char* kNextSliceSql = "SELECT min(id) FROM slice WHERE id>=?1";

Status checkScreen(TimeRange range, int pixels)
{
    if (range.empty()) return Error{ErrorCode::InvalidArgument, "the time range is empty", "query", ""};
    if (!validTime(range.begin.ns) || !validTime(range.end.ns))
        return Error{ErrorCode::InvalidArgument, "the time range is out of bounds", "query", ""};
    if (pixels < 1) return Error{ErrorCode::InvalidArgument, "less than one pixel", "query", ""};
    return {};
}

bool isEarlier(const SliceView& a, const SliceView& b)
{
    return a.start != b.start ? a.start < b.start : a.id < b.id;
}

} // namespace

std::optional<FileSlices::Run> FileSlices::runFromRow(const sqlite::Statement& row) const
{
    const auto id = row.asInteger(0), track = row.asInteger(1), lane = row.asInteger(2), runClass = row.asInteger(3),
               first = row.asInteger(4), last = row.asInteger(5);
    if (!id || !track || !lane || !runClass || !first || !last) return std::nullopt;
    if (*track < 0 || static_cast<std::uint64_t>(*track) >= m_file.data()->tracks.size()) return std::nullopt;
    if (*lane < 0 || *lane >= m_file.data()->tracks[static_cast<std::size_t>(*track)].lanes) return std::nullopt;
    if (*runClass < 0 || *runClass >= kClassCount || *first < 1 || *last < *first) return std::nullopt;
    return Run{
        *id, *first, *last, static_cast<std::int32_t>(*track), static_cast<int>(*lane), static_cast<int>(*runClass)};
}

Result<const FileSlices::TrackData*> FileSlices::trackData(TrackId track)
{
    if (track.value < 0 || static_cast<std::size_t>(track.value) >= m_file.data()->tracks.size())
        return Error{ErrorCode::NotFound, "no track " + std::to_string(track.value), m_file.data()->path, ""};
    const auto [found, isNew] = m_tracks.try_emplace(track);
    TrackData& data = found->second;
    if (!isNew) return &data;
    const FileData::RunRange range = m_file.data()->runs[static_cast<std::size_t>(track.value)];
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * runs,
                         m_file.statement("SELECT * FROM run WHERE id>=?1 AND id<=?2 ORDER BY id"));
    runs->bind(1, range.first);
    runs->bind(2, range.last);
    std::int64_t lastId = 0;
    while (true) {
        const int rc = runs->stepCode();
        if (rc == SQLITE_DONE) break;
        if (rc != SQLITE_ROW) {
            m_tracks.erase(track);
            return m_file.database().error(rc);
        }
        const auto run = runFromRow(*runs);
        // Runs lie behind one another: no row is read twice, whatever the file says.
        if (!run || run->track != track.value || run->first <= lastId || data.runs.size() >= kMostRuns) {
            ++data.damaged;
            continue;
        }
        lastId = run->last;
        data.runs.push_back(*run);
    }
    std::stable_sort(data.runs.begin(), data.runs.end(), [](const Run& a, const Run& b) {
        return a.lane != b.lane ? a.lane < b.lane : a.runClass < b.runClass;
    });
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * lanes,
                         m_file.statement("SELECT lane, finest, top FROM lane WHERE track=?1"));
    lanes->bind(1, std::int64_t{track.value});
    while (true) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, lanes->step());
        if (row == sqlite::Row::Done) break;
        if (lanes->isNull(1) && lanes->isNull(2)) continue;
        const auto lane = lanes->asInteger(0), finest = lanes->asInteger(1), top = lanes->asInteger(2);
        if (!lane || *lane < 0 || *lane >= kMostTrackLanes || !finest || !top || *finest < 1 || *top < *finest ||
            *top > kClassCount) {
            ++data.damaged;
            continue;
        }
        data.levels[static_cast<int>(*lane)] = {static_cast<int>(*finest), static_cast<int>(*top)};
    }
    return &data;
}

std::optional<SliceView> FileSlices::sliceFromRow(const sqlite::Statement& row, const Run& run) const
{
    const auto id = row.asInteger(0), runId = row.asInteger(1), start = row.asInteger(2), duration = row.asInteger(3),
               op = row.asInteger(4);
    if (!id || !runId || *runId != run.id || !start || !duration || !validSpan(*start, *duration) || !op || *op < 0 ||
        *op >= m_file.data()->info.counts.ops || *op > kLargestId || durationClass(*duration) != run.runClass)
        return std::nullopt;
    SliceView slice;
    slice.id = SliceId(*id);
    slice.track = TrackId(run.track);
    slice.lane = run.lane;
    slice.op = OpId(static_cast<std::int32_t>(*op));
    slice.start = Instant{*start};
    slice.duration = Duration{*duration};
    std::optional<std::int64_t> microbatch, correlation;
    if (!row.integerOrNull(5, microbatch) || !row.integerOrNull(6, correlation)) return std::nullopt;
    if (microbatch) {
        if (!validMicrobatch(*microbatch)) return std::nullopt;
        slice.microbatch = Microbatch(static_cast<std::int32_t>(*microbatch));
    }
    if (correlation) slice.correlation = CorrelationId(*correlation);
    return slice;
}

Result<std::int64_t> FileSlices::firstReaching(const Run& run, std::int64_t left)
{
    return m_file.seek("SELECT id FROM fence WHERE run=?1 AND start<=?2 ORDER BY start DESC, id DESC LIMIT 1", run.id,
                       run.first, run.last, run.runClass, left);
}

Status FileSlices::exactSlices(const Run& run, TimeRange range, SliceWindow& window, std::vector<SliceView>& to)
{
    FOURWALLS_TRY_ASSIGN(const std::int64_t first, firstReaching(run, range.begin.ns));
    std::int64_t previous = -kLargestTimeNs;
    return m_file.forIds(kSlicesSql, kNextSliceSql, first, run.last, [&](const sqlite::Statement& row) {
        const auto slice = sliceFromRow(row, run);
        if (!slice || slice->start.ns < previous) {
            ++window.skippedRows;
            return true;
        }
        if (slice->start >= range.end) return false;
        previous = slice->start.ns;
        if (isVisible(*slice, range)) to.push_back(*slice);
        return true;
    });
}

Status FileSlices::binsOf(TrackId track, int lane, int level, TimeRange range, SliceWindow& window,
                          std::vector<SliceBin>& to)
{
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * tiles,
        m_file.statement("SELECT tile, data FROM slice_bin WHERE track=?1 AND lane=?2 AND level=?3 AND "
                         "tile>=?4 AND tile<=?5 ORDER BY tile"));
    const std::int64_t firstBin = binOf(range.begin.ns, level), lastBin = binOf(range.end.ns - 1, level);
    tiles->bind(1, std::int64_t{track.value});
    tiles->bind(2, std::int64_t{lane});
    tiles->bind(3, std::int64_t{level});
    tiles->bind(4, tileOf(firstBin));
    tiles->bind(5, tileOf(lastBin));
    const Duration width{levelWidth(level)};
    std::vector<Bin> bins;
    while (true) {
        const int rc = tiles->stepCode();
        if (rc == SQLITE_DONE) break;
        if (rc == SQLITE_TOOBIG) {
            ++window.skippedRows;
            break;
        }
        if (rc != SQLITE_ROW) {
            const Error error = m_file.database().error(rc);
            tiles->reset();
            return error;
        }
        const auto tile = tiles->asInteger(0);
        const auto bytes = tiles->asBlob(1);
        bins.clear();
        if (!tile || !bytes || !decodeTile(*bytes, *tile, level, bins)) ++window.skippedRows;
        for (const Bin& bin : bins) {
            if (bin.index < firstBin || bin.index > lastBin) continue;
            if (bin.op >= m_file.data()->info.counts.ops) {
                ++window.skippedRows;
                continue;
            }
            to.push_back({Instant{bin.index * width.ns}, width, Duration{bin.busy}, bin.count, OpId(bin.op),
                          Duration{bin.longest}});
        }
    }
    tiles->reset();
    return {};
}

Result<SliceWindow> FileSlices::slices(const SliceQuery& query, std::stop_token stop)
{
    FOURWALLS_TRY(checkScreen(query.range, query.pixels));
    const sqlite::StopGuard guard(m_file.database(), stop);
    SliceWindow window;
    window.range = query.range;
    window.pixels = query.pixels;
    const int level = levelNotWiderThan(query.range.length().ns / query.pixels);
    // A screen names few operators many times; the dictionary is asked once for each.
    std::vector<bool> named(
        static_cast<std::size_t>(std::clamp<std::int64_t>(m_file.data()->info.counts.ops, 0, kMostNamedOps)));
    const auto name = [&](OpId op) -> Status {
        const auto index = static_cast<std::size_t>(op.value);
        if (index < named.size()) {
            if (named[index]) return {};
            named[index] = true;
        }
        return m_file.addOp(window.ops, op, window.skippedRows);
    };
    for (const TrackId track : query.tracks) {
        FOURWALLS_TRY_ASSIGN(const TrackData* data, trackData(track));
        window.skippedRows += data->damaged;
        for (auto run = data->runs.begin(); run != data->runs.end();) {
            LaneSlices lane;
            lane.track = track;
            lane.lane = run->lane;
            const auto levels = data->levels.find(run->lane);
            int shortest = 0; // classes from here on are drawn exactly
            if (levels != data->levels.end() && level >= levels->second.finest) {
                shortest = std::min(level, levels->second.top);
                FOURWALLS_TRY(binsOf(track, lane.lane, shortest, query.range, window, lane.bins));
            }
            std::size_t sorted = 0;
            for (; run != data->runs.end() && run->lane == lane.lane; ++run) {
                if (run->runClass < shortest) continue;
                FOURWALLS_TRY(m_file.goOn(stop));
                FOURWALLS_TRY(exactSlices(*run, query.range, window, lane.exact));
                const auto byStart = [](const SliceView& a, const SliceView& b) { return a.start < b.start; };
                std::inplace_merge(lane.exact.begin(), lane.exact.begin() + static_cast<std::ptrdiff_t>(sorted),
                                   lane.exact.end(), byStart);
                sorted = lane.exact.size();
            }
            if (lane.exact.empty() && lane.bins.empty()) continue;
            for (const SliceView& slice : lane.exact) FOURWALLS_TRY(name(slice.op));
            for (const SliceBin& bin : lane.bins) FOURWALLS_TRY(name(bin.dominant));
            window.lanes.push_back(std::move(lane));
        }
    }
    return window;
}

Result<std::optional<FileSlices::Run>> FileSlices::runOf(std::int64_t id)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, m_file.statement("SELECT * FROM run WHERE id=?1"));
    row->bind(1, id);
    FOURWALLS_TRY_ASSIGN(const sqlite::Row found, row->step());
    std::optional<Run> run;
    if (found == sqlite::Row::Some) run = runFromRow(*row);
    row->reset();
    return run;
}

Result<SliceView> FileSlices::slice(SliceId id)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, m_file.statement(kSlicesSql));
    row->bind(1, id.value);
    row->bind(2, id.value);
    FOURWALLS_TRY_ASSIGN(const sqlite::Row found, row->step());
    const Error missing{ErrorCode::NotFound, "no slice " + std::to_string(id.value), m_file.data()->path, ""};
    if (found == sqlite::Row::Done) return missing;
    const Error damaged{ErrorCode::Format, "slice " + std::to_string(id.value) + " is damaged", m_file.data()->path,
                        ""};
    const auto runId = row->asInteger(1);
    if (!runId) return damaged;
    FOURWALLS_TRY_ASSIGN(const std::optional<Run> run, runOf(*runId));
    if (!run) return damaged;
    const auto slice = sliceFromRow(*row, *run);
    row->reset();
    if (!slice) return damaged;
    return *slice;
}

Result<std::vector<RankActivity>> FileSlices::rankActivity(std::span<const RankId> ranks, TimeRange range, int pixels)
{
    FOURWALLS_TRY(checkScreen(range, pixels));
    // The widest bins that are not wider than half a column.
    int level = 0;
    while (level + 1 < m_file.data()->rankBinLevels &&
           (m_file.data()->rankBinWidth << (level + 2)) <= range.length().ns / pixels)
        ++level;
    const std::int64_t width = m_file.data()->rankBinWidth << level;
    const auto binAt = [&](std::int64_t ns) { return ns >= 0 ? ns / width : -((-ns - 1) / width) - 1; };
    const PixelColumns columns{range, pixels};
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * tiles,
                         m_file.statement("SELECT tile, data FROM rank_bin WHERE rank=?1 AND level=?2 AND tile>=?3 AND "
                                          "tile<=?4 ORDER BY tile"));
    std::vector<RankActivity> result;
    std::vector<ActivityShares> bins;
    for (const RankId rank : ranks) {
        RankActivity activity;
        activity.rank = rank;
        activity.columns.resize(static_cast<std::size_t>(pixels));
        tiles->bind(1, std::int64_t{rank.value});
        tiles->bind(2, std::int64_t{level});
        tiles->bind(3, tileOf(binAt(range.begin.ns)));
        tiles->bind(4, tileOf(binAt(range.end.ns - 1)));
        FOURWALLS_TRY(m_file.forRows(*tiles, [&] {
            const auto tile = tiles->asInteger(0);
            const auto bytes = tiles->asBlob(1);
            bins.clear();
            if (!tile || !bytes || !decodeActivityTile(*bytes, bins, m_file.data()->activityClasses)) return true;
            for (std::size_t i = 0; i < bins.size(); ++i) {
                if (bins[i].empty()) continue;
                const Instant begin{(*tile * kBinsPerTile + static_cast<std::int64_t>(i)) * width};
                const TimeRange bin = TimeRange{begin, begin + Duration{width}}.intersected(range);
                if (bin.empty()) continue;
                for (int c = columns.of(bin.begin); c < pixels && columns.begin(c) < bin.end; ++c) {
                    const TimeRange cell{columns.begin(c), columns.begin(c + 1)};
                    const TimeRange part = bin.intersected(cell);
                    if (part.empty()) continue;
                    const auto share = static_cast<float>(static_cast<double>(part.length().ns) /
                                                          static_cast<double>(cell.length().ns) / 65535.0);
                    RankActivity::Column& column = activity.columns[static_cast<std::size_t>(c)];
                    column.compute += share * static_cast<float>(bins[i].shares[0]);
                    column.communication += share * static_cast<float>(bins[i].shares[1]);
                    column.other += share * static_cast<float>(bins[i].shares[2]);
                    column.waiting += share * static_cast<float>(bins[i].shares[3]);
                }
            }
            return true;
        }));
        result.push_back(std::move(activity));
    }
    return result;
}

Result<SearchResult> FileSlices::search(const SearchQuery& query, std::stop_token stop)
{
    FOURWALLS_TRY_ASSIGN(const NameMatcher matcher, NameMatcher::create(query.text, query.regularExpression));
    const sqlite::StopGuard guard(m_file.database(), stop);
    SearchResult result;
    std::unordered_set<std::int32_t> matching;
    FOURWALLS_TRY(m_file.forIds("SELECT id, name FROM op WHERE id>=?1 AND id<=?2",
                                "SELECT min(id) FROM op WHERE id>=?1", 0, std::numeric_limits<std::int32_t>::max(),
                                [&](const sqlite::Statement& row) {
                                    const auto name = row.asText(1);
                                    if (name && matcher.matches(*name)) {
                                        const OpId op(static_cast<std::int32_t>(row.integer(0)));
                                        matching.insert(op.value);
                                        result.matchingOps.push_back(op);
                                    }
                                    return !stop.stop_requested();
                                }));
    FOURWALLS_TRY(m_file.goOn(stop));

    // Which part of which run holds them.
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> parts;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * opRuns,
                         m_file.statement("SELECT run, first, last FROM op_run WHERE op=?1"));
    for (const OpId op : result.matchingOps) {
        opRuns->reset();
        opRuns->bind(1, std::int64_t{op.value});
        while (true) {
            FOURWALLS_TRY_ASSIGN(const sqlite::Row row, opRuns->step());
            if (row == sqlite::Row::Done) break;
            const auto run = opRuns->asInteger(0), first = opRuns->asInteger(1), last = opRuns->asInteger(2);
            if (!run || !first || !last) continue;
            const auto [part, isNew] = parts.try_emplace(*run, *first, *last);
            part->second = {std::min(part->second.first, *first), std::max(part->second.second, *last)};
        }
    }

    // A heap of the earliest limit + 1 hits: its top is the latest of them.
    std::vector<SliceView> hits;
    const std::size_t most = query.limit + 1;
    const auto full = [&] { return hits.size() >= most; };
    for (const auto& [runId, part] : parts) {
        FOURWALLS_TRY_ASSIGN(const std::optional<Run> run, runOf(runId));
        if (!run) continue;
        if (!query.tracks.empty() &&
            std::find(query.tracks.begin(), query.tracks.end(), TrackId(run->track)) == query.tracks.end())
            continue;
        FOURWALLS_TRY_ASSIGN(const std::int64_t from,
                             firstReaching(*run, std::max(query.range.begin.ns, -kLargestTimeNs)));
        FOURWALLS_TRY(m_file.forIds(kSlicesSql, kNextSliceSql, std::max(from, part.first),
                                    std::min(run->last, part.second), [&](const sqlite::Statement& row) {
                                        const auto slice = sliceFromRow(row, *run);
                                        if (!slice) return true;
                                        if (slice->start >= query.range.end) return false;
                                        if (full() && !isEarlier(*slice, hits.front())) return false;
                                        if (!matching.contains(slice->op.value) || !isVisible(*slice, query.range))
                                            return true;
                                        if (full()) {
                                            std::pop_heap(hits.begin(), hits.end(), isEarlier);
                                            hits.pop_back();
                                        }
                                        hits.push_back(*slice);
                                        std::push_heap(hits.begin(), hits.end(), isEarlier);
                                        return true;
                                    }));
        FOURWALLS_TRY(m_file.goOn(stop));
    }
    std::sort(hits.begin(), hits.end(), isEarlier);
    result.limited = hits.size() > query.limit;
    if (result.limited) hits.resize(query.limit);
    std::int64_t damaged = 0;
    for (const SliceView& slice : hits) FOURWALLS_TRY(m_file.addOp(result.ops, slice.op, damaged));
    result.slices = std::move(hits);
    return result;
}

Status FileSlices::scanSlices(const std::function<bool(const SliceView&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_file.database(), stop);
    bool more = true;
    for (std::size_t track = 0; track < m_file.data()->tracks.size() && more; ++track) {
        FOURWALLS_TRY_ASSIGN(const TrackData* data, trackData(TrackId(static_cast<std::int32_t>(track))));
        const std::vector<Run> runs = data->runs; // the visitor may ask other queries
        for (const Run& run : runs) {
            FOURWALLS_TRY(
                m_file.forIds(kSliceScanSql, kNextSliceSql, run.first, run.last, [&](const sqlite::Statement& row) {
                    if (const auto slice = sliceFromRow(row, run)) more = visit(*slice);
                    return more && !stop.stop_requested();
                }));
            FOURWALLS_TRY(m_file.goOn(stop));
            if (!more) break;
        }
    }
    return {};
}

} // namespace fourwalls::store
