// SPDX-License-Identifier: Apache-2.0
// Counters, steps, collectives, flows, events and the stored summaries.
#include "model/store/file_query.h"

#include "model/store/duration_class.h"
#include "model/store/record_finisher.h"
#include "model/trace/slice_reduction.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

namespace fourwalls::store {
namespace {

constexpr std::int64_t kLargestInt32 = std::numeric_limits<std::int32_t>::max();

bool isId(const std::optional<std::int64_t>& value)
{
    return value && *value >= 0 && *value <= kLargestInt32;
}
bool isTime(const std::optional<std::int64_t>& value)
{
    return value && validTime(*value);
}

/// Runs a statement to its end; rows larger than allowed end it early.
Status forRows(sqlite::Statement& rows, const std::function<bool()>& visit)
{
    while (true) {
        const int rc = rows.stepCode();
        if (rc == SQLITE_DONE || rc == SQLITE_TOOBIG) break;
        if (rc != SQLITE_ROW) {
            const Error error = sqlite::errorFor(rc, sqlite3_errmsg(sqlite3_db_handle(rows.handle())), "");
            rows.reset();
            return error;
        }
        if (!visit()) break;
    }
    rows.reset();
    return {};
}

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

Result<std::vector<CounterSample>> FileQuery::counter(CounterId counter, TimeRange range, int pixels)
{
    if (range.empty() || !validTime(range.begin.ns) || !validTime(range.end.ns) || pixels < 1)
        return Error{ErrorCode::InvalidArgument, "the time range is empty or there is no pixel", "counter", ""};
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * row, statement("SELECT finest, top FROM counter WHERE id=?1"));
    row->bind(1, std::int64_t{counter.value});
    FOURWALLS_TRY_ASSIGN(const sqlite::Row found, row->step());
    if (found == sqlite::Row::Done)
        return Error{ErrorCode::NotFound, "no counter " + std::to_string(counter.value), m_data->path, ""};
    const auto finest = row->asInteger(0), top = row->asInteger(1);
    row->reset();

    CounterColumns columns(range, pixels);
    // The last sample before the range holds into it.
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * before,
                         statement("SELECT at, value FROM counter_sample WHERE counter=?1 AND at<?2 ORDER BY at DESC, "
                                   "seq DESC LIMIT 1"));
    before->bind(1, std::int64_t{counter.value});
    before->bind(2, range.begin.ns);
    FOURWALLS_TRY(forRows(*before, [&] {
        const auto at = before->asInteger(0);
        const auto value = before->asReal(1);
        if (isTime(at) && value) columns.add(Instant{*at}, *value, *value, *value);
        return true;
    }));
    const auto addSamples = [&](std::int64_t begin, std::int64_t end) -> Status {
        if (begin >= end) return {};
        FOURWALLS_TRY_ASSIGN(sqlite::Statement * samples,
                             statement("SELECT at, value FROM counter_sample WHERE counter=?1 AND at>=?2 AND at<?3 "
                                       "ORDER BY at, seq"));
        samples->bind(1, std::int64_t{counter.value});
        samples->bind(2, begin);
        samples->bind(3, end);
        return forRows(*samples, [&] {
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
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * tiles,
                         statement("SELECT tile, data FROM counter_bin WHERE counter=?1 AND level=?2 AND tile>=?3 AND "
                                   "tile<=?4 ORDER BY tile"));
    tiles->bind(1, std::int64_t{counter.value});
    tiles->bind(2, std::int64_t{chosen});
    tiles->bind(3, tileOf(first));
    tiles->bind(4, tileOf(end - 1));
    std::vector<CounterBin> bins;
    FOURWALLS_TRY(forRows(*tiles, [&] {
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

Result<std::vector<StepView>> FileQuery::steps(RankId rank)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement("SELECT * FROM step WHERE rank=?1 ORDER BY seq"));
    rows->bind(1, std::int64_t{rank.value});
    std::vector<StepView> steps;
    FOURWALLS_TRY(forRows(*rows, [&] {
        const auto step = rows->asInteger(2), start = rows->asInteger(3), end = rows->asInteger(4),
                   samples = rows->asInteger(8), tokens = rows->asInteger(9), warmup = rows->asInteger(10);
        if (!step || *step < std::numeric_limits<std::int32_t>::min() || *step > kLargestInt32 || !isTime(start) ||
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

Result<std::vector<CollectiveView>> FileQuery::collectives(std::optional<RankId> rank, TimeRange range,
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
        for (const TrackView& track : m_data->tracks) ranks.insert(track.info.rank);
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM collective WHERE rank=?1 AND class=?2 AND start>?3 AND start<?4 "
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
            FOURWALLS_TRY(forRows(*rows, [&] {
                const auto track = rows->asInteger(3), start = rows->asInteger(4), arrival = rows->asInteger(5),
                           end = rows->asInteger(6), operation = rows->asInteger(7), group = rows->asInteger(8),
                           sequence = rows->asInteger(9), payload = rows->asInteger(10), wire = rows->asInteger(11),
                           algorithm = rows->asInteger(13), protocol = rows->asInteger(14);
                const bool sound = isId(track) && *track < static_cast<std::int64_t>(m_data->tracks.size()) &&
                                   isTime(start) && isTime(arrival) && isTime(end) && *start <= *arrival &&
                                   *arrival <= *end && operation && *operation >= 0 &&
                                   *operation <= static_cast<int>(CollectiveOp::Other) && isId(group) &&
                                   *group < static_cast<std::int64_t>(m_data->info.groups.size()) && sequence &&
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

Result<std::vector<FlowRecord>> FileQuery::flows(TrackId track, TimeRange range, std::size_t limit)
{
    std::map<std::int64_t, FlowRecord> found; // by row id: rows are by time of departure
    for (const char* sql :
         {"SELECT * FROM flow WHERE from_track=?1 AND from_at>=?2 AND from_at<?3 ORDER BY from_at, id",
          "SELECT * FROM flow WHERE to_track=?1 AND to_at>=?2 AND to_at<?3 ORDER BY to_at, id"}) {
        FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement(sql));
        rows->bind(1, std::int64_t{track.value});
        rows->bind(2, range.begin.ns);
        rows->bind(3, range.end.ns);
        std::size_t taken = 0;
        FOURWALLS_TRY(forRows(*rows, [&] {
            const auto kind = rows->asInteger(1), fromTrack = rows->asInteger(2), from = rows->asInteger(3),
                       toTrack = rows->asInteger(4), to = rows->asInteger(5);
            if (!kind || !isId(fromTrack) || !isId(toTrack) ||
                !rankOf(TrackId(static_cast<std::int32_t>(*fromTrack))) ||
                !rankOf(TrackId(static_cast<std::int32_t>(*toTrack))) || !isTime(from) || !isTime(to))
                return true;
            if (taken++ >= limit) return false;
            found.try_emplace(rows->integer(0),
                              FlowRecord{string(*kind), TrackId(static_cast<std::int32_t>(*fromTrack)), Instant{*from},
                                         TrackId(static_cast<std::int32_t>(*toTrack)), Instant{*to}});
            return true;
        }));
    }
    std::vector<FlowRecord> flows;
    for (auto& [id, flow] : found)
        if (flows.size() < limit) flows.push_back(std::move(flow));
    return flows;
}

Result<std::vector<EventRecord>> FileQuery::events(TimeRange range, std::size_t limit, std::optional<EventKind> kind)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM event WHERE at>=?1 AND at<?2 AND (?3<0 OR kind=?3) ORDER BY at, id"));
    rows->bind(1, range.begin.ns);
    rows->bind(2, range.end.ns);
    rows->bind(3, kind ? static_cast<std::int64_t>(*kind) : std::int64_t{-1});
    std::vector<EventRecord> events;
    FOURWALLS_TRY(forRows(*rows, [&] {
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

namespace {

Result<std::vector<StepSummary>> readStepSummaries(sqlite::Statement& rows)
{
    std::vector<StepSummary> summaries;
    FOURWALLS_TRY(forRows(rows, [&] {
        // Each value is fetched once: there is a row for each rank and step.
        std::array<std::int64_t, 35> value{};
        for (int column = 0; column < 35; ++column) {
            if (column == 18 || column == 19) continue;
            const auto stored = rows.asInteger(column);
            if (!stored || (column >= 6 && std::abs(*stored / 4) > kLargestTimeNs / 4)) return true;
            value[static_cast<std::size_t>(column)] = *stored;
        }
        const auto modelFlops = rows.asReal(18), recomputeFlops = rows.asReal(19);
        if (!modelFlops || !recomputeFlops || !isTime(value[3]) || !isTime(value[4]) || !isId(value[0])) return true;
        StepSummary s;
        s.rank = RankId(static_cast<std::int32_t>(value[0]));
        s.step = StepIndex(static_cast<std::int32_t>(value[2]));
        s.range = {Instant{value[3]}, Instant{value[4]}};
        s.state = stepStateOf(value[5]);
        std::size_t column = 6;
        const auto duration = [&](std::size_t at) { return Duration{value[at]}; };
        for (Duration* field : {&s.compute, &s.exposedComm, &s.exposedCopy, &s.bubble, &s.idleDataLoading,
                                &s.idleLaunch, &s.idleSynchronisation, &s.idleOther, &s.computeSum, &s.collectiveWait,
                                &s.pipelineWindow, &s.pipelineBusy})
            *field = duration(column++);
        s.modelFlops = *modelFlops;
        s.recomputeFlops = *recomputeFlops;
        column += 2;
        s.recomputeTime = duration(column++);
        s.memoryBoundExcess = duration(column++);
        s.inefficiencyExcess = duration(column++);
        for (Duration& phase : s.computeByPhase) phase = duration(column++);
        summaries.push_back(s);
        return true;
    }));
    return summaries;
}

} // namespace

Result<std::vector<JobStep>> FileQuery::jobSteps()
{
    if (m_jobSteps) return *m_jobSteps;
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement("SELECT * FROM job_step ORDER BY step"));
    std::vector<JobStep> steps;
    FOURWALLS_TRY(forRows(*rows, [&] {
        const auto start = rows->asInteger(1), end = rows->asInteger(2), warmup = rows->asInteger(3),
                   complete = rows->asInteger(4), samples = rows->asInteger(8), tokens = rows->asInteger(9);
        const std::int64_t number = rows->integer(0); // the table's key: always a number
        if (number < std::numeric_limits<std::int32_t>::min() || number > kLargestInt32 || !isTime(start) ||
            !isTime(end) || *end < *start || !warmup || !complete || !samples || !tokens)
            return true;
        steps.push_back({StepIndex(static_cast<std::int32_t>(number)),
                         {Instant{*start}, Instant{*end}},
                         stepStateOf(*warmup),
                         *complete != 0,
                         rows->asReal(5),
                         rows->asReal(6),
                         rows->asReal(7),
                         *samples,
                         *tokens});
        return true;
    }));
    m_jobSteps = steps;
    return steps;
}

Result<std::vector<StepSummary>> FileQuery::stepSummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement("SELECT * FROM step_summary ORDER BY rank, seq"));
    return readStepSummaries(*rows);
}

Result<std::vector<StepSummary>> FileQuery::stepSummaries(StepIndex step)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM step_summary WHERE step=?1 ORDER BY rank, seq"));
    rows->bind(1, std::int64_t{step.value});
    return readStepSummaries(*rows);
}

namespace {

std::optional<MemorySummary> memorySummaryOf(const sqlite::Statement& row)
{
    for (int column = 0; column < row.columns(); ++column) {
        if ((column == 2 || column == 22) && row.isNull(column)) continue;
        if (!row.asInteger(column)) return std::nullopt;
    }
    if (!isId(row.asInteger(0)) || !isTime(row.asInteger(4))) return std::nullopt;
    MemorySummary s;
    s.rank = RankId(static_cast<std::int32_t>(row.integer(0)));
    if (!row.isNull(2)) s.step = StepIndex(static_cast<std::int32_t>(row.integer(2)));
    s.peakBytes = row.integer(3);
    s.peakAt = Instant{row.integer(4)};
    int column = 5;
    for (std::int64_t& bytes : s.atPeak) bytes = row.integer(column++);
    for (std::int64_t& bytes : s.categoryPeaks) bytes = row.integer(column++);
    s.residentBytes = row.integer(column++);
    if (!row.isNull(column)) s.peakReservedBytes = row.integer(column);
    return s;
}

} // namespace

Result<std::vector<MemorySummary>> FileQuery::memorySummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows, statement("SELECT * FROM memory_summary ORDER BY rank, seq"));
    std::vector<MemorySummary> summaries;
    FOURWALLS_TRY(forRows(*rows, [&] {
        if (auto summary = memorySummaryOf(*rows)) summaries.push_back(std::move(*summary));
        return true;
    }));
    return summaries;
}

Result<std::vector<MemorySummary>> FileQuery::memorySummaries(RankId rank, std::size_t limit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM memory_summary WHERE rank=?1 ORDER BY seq"));
    rows->bind(1, std::int64_t{rank.value});
    std::vector<MemorySummary> summaries;
    FOURWALLS_TRY(forRows(*rows, [&] {
        if (summaries.size() >= limit) return false;
        if (auto summary = memorySummaryOf(*rows)) summaries.push_back(std::move(*summary));
        return true;
    }));
    return summaries;
}

Result<std::vector<CollectiveSummary>> FileQuery::collectiveSummaries()
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM collective_summary ORDER BY grp, operation"));
    std::vector<CollectiveSummary> summaries;
    FOURWALLS_TRY(forRows(*rows, [&] {
        for (int column = 0; column < rows->columns(); ++column)
            if (!rows->asInteger(column) && !(column == 3 || column == 4)) return true;
        const std::int64_t operation = rows->integer(0);
        if (operation < 0 || operation > static_cast<int>(CollectiveOp::Other) || !isId(rows->asInteger(1)) ||
            rows->integer(1) >= static_cast<std::int64_t>(m_data->info.groups.size()))
            return true;
        summaries.push_back({static_cast<CollectiveOp>(operation), GroupId(static_cast<std::int32_t>(rows->integer(1))),
                             rows->integer(2), rows->asInteger(3), rows->asInteger(4), Duration{rows->integer(5)},
                             Duration{rows->integer(6)}});
        return true;
    }));
    return summaries;
}

Result<std::vector<OpSummary>> FileQuery::opSummaries(std::size_t limit)
{
    FOURWALLS_TRY_ASSIGN(sqlite::Statement * rows,
                         statement("SELECT * FROM op_summary ORDER BY total DESC, op LIMIT ?1"));
    rows->bind(1, static_cast<std::int64_t>(std::min<std::size_t>(limit, 1'000'000'000)));
    std::vector<OpSummary> summaries;
    FOURWALLS_TRY(forRows(*rows, [&] {
        const auto op = rows->asInteger(0), count = rows->asInteger(1), total = rows->asInteger(2),
                   longest = rows->asInteger(3);
        if (isId(op) && count && total && longest)
            summaries.push_back({OpId(static_cast<std::int32_t>(*op)), *count, Duration{*total}, Duration{*longest}});
        return true;
    }));
    return summaries;
}

} // namespace fourwalls::store
