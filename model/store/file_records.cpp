// SPDX-License-Identifier: Apache-2.0
// See file_records.h.
#include "model/store/file_records.h"

#include "model/store/duration_class.h"
#include "model/store/record_finisher.h"
#include "model/store/stored_rows.h"
#include "model/trace/slice_reduction.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace fourwalls::store {
namespace {

/// Adds samples to screen columns as the in-memory trace does: the first instant of a column, extremes, the last.
class CounterColumns {
public:
    CounterColumns(TimeRange range, int pixels) : m_columns{range, pixels} {}

    void add(Instant at, double min, double max, double last)
    {
        if (at >= m_columns.range.end) return;
        if (at < m_columns.range.begin) {
            m_samples.assign(1, {at, last, last, last});
            return;
        }
        if (const int column = m_columns.of(at); column != m_column) {
            m_column = column;
            m_samples.push_back({at, min, max, last});
            return;
        }
        CounterSample& sample = m_samples.back();
        sample.min = std::min(sample.min, min);
        sample.max = std::max(sample.max, max);
        sample.last = last;
    }
    std::vector<CounterSample> take() { return std::move(m_samples); }

private:
    PixelColumns m_columns;
    std::vector<CounterSample> m_samples;
    int m_column = -1;
};

} // namespace

Result<std::vector<CounterSample>> FileRecords::counter(CounterId counter, TimeRange range, int pixels)
{
    if (range.empty() || !validTime(range.begin.ns) || !validTime(range.end.ns) || pixels < 1)
        return Error{ErrorCode::InvalidArgument, "the time range is empty or there is no pixel", "counter", ""};
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, m_file.statement("SELECT finest, top FROM counter WHERE id=?1"));
    row->bind(1, std::int64_t{counter.value});
    FOURWALLS_TRY_ASSIGN(const sqlite::Row found, row->step());
    if (found == sqlite::Row::Done)
        return Error{ErrorCode::NotFound, "no counter " + std::to_string(counter.value), m_file.data()->path, ""};
    const auto finest = row->asInteger(0), top = row->asInteger(1);
    row->reset();

    CounterColumns columns(range, pixels);
    // The last sample before the range holds into it.
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * before,
        m_file.statement("SELECT at, value FROM counter_sample WHERE counter=?1 AND at<?2 ORDER BY at DESC, "
                         "seq DESC LIMIT 1"));
    before->bind(1, std::int64_t{counter.value});
    before->bind(2, range.begin.ns);
    FOURWALLS_TRY(m_file.forRows(*before, [&] {
        const auto at = before->asInteger(0);
        const auto value = before->asReal(1);
        if (isTime(at) && value) columns.add(Instant{*at}, *value, *value, *value);
        return true;
    }));
    const auto addSamples = [&](std::int64_t begin, std::int64_t end) -> Status {
        if (begin >= end) return {};
        FOURWALLS_TRY_ASSIGN(
            sqlite::Statement * samples,
            m_file.statement("SELECT at, value FROM counter_sample WHERE counter=?1 AND at>=?2 AND at<?3 "
                             "ORDER BY at, seq"));
        samples->bind(1, std::int64_t{counter.value});
        samples->bind(2, begin);
        samples->bind(3, end);
        return m_file.forRows(*samples, [&] {
            const auto at = samples->asInteger(0);
            const auto value = samples->asReal(1);
            if (isTime(at) && value) columns.add(Instant{*at}, *value, *value, *value);
            return true;
        });
    };
    const int level = levelNotWiderThan(range.length().ns / pixels);
    const bool hasBins = finest && top && *finest >= 1 && *top >= *finest && *top < kClassCount;
    if (!hasBins || level < *finest) {
        FOURWALLS_TRY(addSamples(range.begin.ns, range.end.ns));
        return columns.take();
    }
    // Whole bins in the middle, single samples at the edges.
    const int chosen = std::min(level, static_cast<int>(*top));
    const std::int64_t width = levelWidth(chosen);
    const std::int64_t first = binOf(range.begin.ns + width - 1, chosen), end = binOf(range.end.ns, chosen);
    if (first >= end) {
        FOURWALLS_TRY(addSamples(range.begin.ns, range.end.ns));
        return columns.take();
    }
    FOURWALLS_TRY(addSamples(range.begin.ns, first * width));
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * tiles,
        m_file.statement("SELECT tile, data FROM counter_bin WHERE counter=?1 AND level=?2 AND tile>=?3 AND "
                         "tile<=?4 ORDER BY tile"));
    tiles->bind(1, std::int64_t{counter.value});
    tiles->bind(2, std::int64_t{chosen});
    tiles->bind(3, tileOf(first));
    tiles->bind(4, tileOf(end - 1));
    std::vector<CounterBin> bins;
    FOURWALLS_TRY(m_file.forRows(*tiles, [&] {
        bins.clear();
        const auto tile = tiles->asInteger(0);
        const auto bytes = tiles->asBlob(1);
        if (tile && bytes) decodeCounterTile(*bytes, *tile, bins);
        for (const CounterBin& bin : bins)
            if (bin.index >= first && bin.index < end)
                columns.add(Instant{bin.index * width}, bin.min, bin.max, bin.last);
        return true;
    }));
    FOURWALLS_TRY(addSamples(end * width, range.end.ns));
    return columns.take();
}

Result<std::vector<StepView>> FileRecords::steps(RankId rank)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, m_file.statement("SELECT * FROM step WHERE rank=?1 ORDER BY seq"));
    rows->bind(1, std::int64_t{rank.value});
    std::vector<StepView> steps;
    FOURWALLS_TRY(m_file.forRows(*rows, [&] {
        const auto step = rows->asInteger(2), start = rows->asInteger(3), end = rows->asInteger(4),
                   samples = rows->asInteger(8), tokens = rows->asInteger(9), warmup = rows->asInteger(10);
        if (!step || *step < std::numeric_limits<std::int32_t>::min() || *step > kLargestId || !isTime(start) ||
            !isTime(end) || *end < *start || !samples || !tokens || !warmup)
            return true;
        StepView view{rank, {}};
        view.record.step = StepIndex(static_cast<std::int32_t>(*step));
        view.record.range = {Instant{*start}, Instant{*end}};
        view.record.loss = rows->asReal(5);
        view.record.learningRate = rows->asReal(6);
        view.record.gradientNorm = rows->asReal(7);
        view.record.samples = *samples;
        view.record.tokens = *tokens;
        view.record.state = stepStateOf(*warmup);
        steps.push_back(view);
        return true;
    }));
    return steps;
}

Result<std::vector<CollectiveView>> FileRecords::collectives(std::optional<RankId> rank, TimeRange range,
                                                             std::size_t limit)
{
    std::vector<CollectiveView> found;
    if (range.empty() || limit == 0) return found;
    const std::int64_t left = std::clamp(range.begin.ns, -kLargestTimeNs, kLargestTimeNs);
    const std::int64_t right = std::clamp(range.end.ns, -kLargestTimeNs, kLargestTimeNs);
    std::set<RankId> ranks;
    if (rank)
        ranks.insert(*rank);
    else
        for (const TrackView& track : m_file.data()->tracks) ranks.insert(track.info.rank);
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * rows,
        m_file.statement("SELECT * FROM collective WHERE rank=?1 AND class=?2 AND start>?3 AND start<?4 "
                         "ORDER BY start, id"));
    for (const RankId of : ranks) {
        for (int c = 0; c < kClassCount; ++c) {
            const std::int64_t reach = c + 1 >= kClassCount ? kLargestTimeNs : levelWidth(c + 1);
            rows->reset();
            rows->bind(1, std::int64_t{of.value});
            rows->bind(2, std::int64_t{c});
            rows->bind(3, left - reach);
            rows->bind(4, right);
            std::size_t taken = 0;
            FOURWALLS_TRY(m_file.forRows(*rows, [&] {
                const auto track = rows->asInteger(3), start = rows->asInteger(4), arrival = rows->asInteger(5),
                           end = rows->asInteger(6), operation = rows->asInteger(7), group = rows->asInteger(8),
                           sequence = rows->asInteger(9), payload = rows->asInteger(10), wire = rows->asInteger(11),
                           algorithm = rows->asInteger(13), protocol = rows->asInteger(14);
                const bool sound = isTrack(track) && isTime(start) && isTime(arrival) && isTime(end) &&
                                   *start <= *arrival && *arrival <= *end && operation && *operation >= 0 &&
                                   *operation <= static_cast<int>(CollectiveOp::Other) && isId(group) &&
                                   *group < static_cast<std::int64_t>(m_file.data()->info.groups.size()) && sequence &&
                                   (payload || rows->isNull(10)) && (wire || rows->isNull(11)) && algorithm &&
                                   protocol && (rows->isNull(12) || isId(rows->asInteger(12)));
                if (!sound || *end <= range.begin.ns) return true;
                CollectiveView view;
                view.rank = of;
                CollectiveRecord& record = view.record;
                record.track = TrackId(static_cast<std::int32_t>(*track));
                record.start = Instant{*start};
                record.lastArrival = Instant{*arrival};
                record.end = Instant{*end};
                record.operation = static_cast<CollectiveOp>(*operation);
                record.group = GroupId(static_cast<std::int32_t>(*group));
                record.sequence = *sequence;
                record.payloadBytes = payload;
                record.wireBytes = wire;
                if (!rows->isNull(12)) record.peer = RankId(static_cast<std::int32_t>(rows->integer(12)));
                record.algorithm = string(*algorithm);
                record.protocol = string(*protocol);
                found.push_back(std::move(view));
                return ++taken < limit; // no more than this many of one class can be among the first
            }));
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const CollectiveView& a, const CollectiveView& b) { return a.record.start < b.record.start; });
    if (found.size() > limit) found.resize(limit);
    return found;
}

bool FileRecords::isTrack(const std::optional<std::int64_t>& value) const
{
    return isId(value) && *value < static_cast<std::int64_t>(m_file.data()->tracks.size());
}

const std::string& FileRecords::string(std::int64_t id) const
{
    static const std::string kNone;
    const std::vector<std::string>& strings = m_file.data()->strings;
    return id >= 0 && static_cast<std::uint64_t>(id) < strings.size() ? strings[static_cast<std::size_t>(id)] : kNone;
}

std::optional<FlowRecord> FileRecords::flowFromRow(const sqlite::Statement& row) const
{
    const auto kind = row.asInteger(1), fromTrack = row.asInteger(2), from = row.asInteger(3),
               toTrack = row.asInteger(4), to = row.asInteger(5);
    if (!kind || !isTrack(fromTrack) || !isTrack(toTrack) || !isTime(from) || !isTime(to)) return std::nullopt;
    return FlowRecord{string(*kind), TrackId(static_cast<std::int32_t>(*fromTrack)), Instant{*from},
                      TrackId(static_cast<std::int32_t>(*toTrack)), Instant{*to}};
}

Result<std::vector<FlowRecord>> FileRecords::flows(TrackId track, TimeRange range, std::size_t limit)
{
    std::map<std::int64_t, FlowRecord> found; // by row id: rows are by time of departure
    for (const char* sql :
         {"SELECT * FROM flow WHERE from_track=?1 AND from_at>=?2 AND from_at<?3 ORDER BY from_at, id",
          "SELECT * FROM flow WHERE to_track=?1 AND to_at>=?2 AND to_at<?3 ORDER BY to_at, id"}) {
        FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, m_file.statement(sql));
        rows->bind(1, std::int64_t{track.value});
        rows->bind(2, range.begin.ns);
        rows->bind(3, range.end.ns);
        std::size_t taken = 0;
        FOURWALLS_TRY(m_file.forRows(*rows, [&] {
            auto flow = flowFromRow(*rows);
            if (!flow) return true;
            if (taken++ >= limit) return false;
            found.try_emplace(rows->integer(0), std::move(*flow));
            return true;
        }));
    }
    std::vector<FlowRecord> flows;
    for (auto& [id, flow] : found)
        if (flows.size() < limit) flows.push_back(std::move(flow));
    return flows;
}

Result<std::vector<EventRecord>> FileRecords::events(TimeRange range, std::size_t limit, std::optional<EventKind> kind)
{
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement * rows,
        m_file.statement("SELECT * FROM event WHERE at>=?1 AND at<?2 AND (?3<0 OR kind=?3) ORDER BY at, id"));
    rows->bind(1, range.begin.ns);
    rows->bind(2, range.end.ns);
    rows->bind(3, kind ? static_cast<std::int64_t>(*kind) : std::int64_t{-1});
    std::vector<EventRecord> events;
    FOURWALLS_TRY(m_file.forRows(*rows, [&] {
        if (events.size() >= limit) return false;
        const auto at = rows->asInteger(1), stored = rows->asInteger(2);
        const auto text = rows->asText(4);
        if (!isTime(at) || !stored || *stored < 0 || *stored > static_cast<int>(EventKind::Rollback) || !text ||
            (!rows->isNull(3) && !isId(rows->asInteger(3))))
            return true;
        EventRecord event{static_cast<EventKind>(*stored), std::nullopt, Instant{*at}, std::string(*text)};
        if (!rows->isNull(3)) event.rank = RankId(static_cast<std::int32_t>(rows->integer(3)));
        events.push_back(std::move(event));
        return true;
    }));
    return events;
}

Status FileRecords::scanCounters(const std::function<bool(const CounterRecord&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_file.database(), stop);
    FOURWALLS_TRY_ASSIGN(
        sqlite::Statement rows,
        m_file.database().prepare("SELECT counter, at, value FROM counter_sample ORDER BY counter, at, seq"));
    while (true) {
        FOURWALLS_TRY_ASSIGN(const sqlite::Row row, rows.step());
        if (row == sqlite::Row::Done || stop.stop_requested()) break;
        const auto counter = rows.asInteger(0), at = rows.asInteger(1);
        const auto value = rows.asReal(2);
        if (!counter || *counter < 0 || *counter >= static_cast<std::int64_t>(m_file.data()->info.counters.size()) ||
            !at || !validTime(*at) || !value)
            continue;
        if (!visit({CounterId(static_cast<std::int32_t>(*counter)), Instant{*at}, *value})) return {};
    }
    return m_file.goOn(stop);
}

Status FileRecords::scanFlows(const std::function<bool(const FlowRecord&)>& visit, std::stop_token stop)
{
    const sqlite::StopGuard guard(m_file.database(), stop);
    FOURWALLS_TRY(m_file.forIds("SELECT * FROM flow WHERE id>=?1 AND id<=?2 -- scan",
                                "SELECT min(id) FROM flow WHERE id>=?1", 0, std::numeric_limits<std::int64_t>::max(),
                                [&](const sqlite::Statement& row) {
                                    const auto flow = flowFromRow(row);
                                    return !flow || (visit(*flow) && !stop.stop_requested());
                                }));
    return m_file.goOn(stop);
}

} // namespace fourwalls::store
