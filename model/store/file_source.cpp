// SPDX-License-Identifier: Apache-2.0
// Reading a finished file back, with a check of every value.
#include "model/store/file_source.h"

#include "model/store/codec.h"
#include "model/store/definitions.h"
#include "model/store/duration_class.h"
#include "model/store/file_data.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace fourwalls::store {

void ProblemList::add(const std::string& name, const std::string& detail, std::int64_t count)
{
    CheckProblem& problem = m_problems[name];
    if (problem.count == 0) {
        problem.name = name;
        problem.detail = detail;
    }
    problem.count += count;
}

std::vector<CheckProblem> ProblemList::take() const
{
    std::vector<CheckProblem> list;
    for (const auto& [name, problem] : m_problems) list.push_back(problem);
    return list;
}

namespace {

struct StoredRun {
    std::int64_t id = 0, first = 0, last = 0;
    int runClass = 0;
};

/// Reads the slices of one run, one at a time.
class RunReader {
public:
    RunReader(sqlite::Statement rows, StoredRun run, ProblemList& problems)
        : m_rows(std::move(rows))
        , m_run(run)
        , m_problems(problems)
    {
        m_rows.bind(1, m_run.first);
        m_rows.bind(2, m_run.last);
        m_row.start = -kLargestTimeNs;
    }

    const SliceRow& row() const { return m_row; }

    /// False at the end.
    bool next()
    {
        while (true) {
            const int rc = m_rows.stepCode();
            if (rc == SQLITE_DONE) return false;
            if (rc != SQLITE_ROW) {
                m_problems.add("slice_rows", "the rows of run " + std::to_string(m_run.id) + " cannot all be read");
                return false;
            }
            if (take()) return true;
        }
    }

private:
    bool take()
    {
        const auto id = m_rows.asInteger(0), run = m_rows.asInteger(1), start = m_rows.asInteger(2),
                   duration = m_rows.asInteger(3), op = m_rows.asInteger(4);
        const bool sound = id && run && *run == m_run.id && start && duration && validSpan(*start, *duration) && op &&
                           *op >= 0 && *op <= std::numeric_limits<std::int32_t>::max() &&
                           durationClass(*duration) == m_run.runClass && *start >= m_row.start &&
                           (m_rows.isNull(5) || (m_rows.asInteger(5) && validMicrobatch(m_rows.integer(5)))) &&
                           (m_rows.isNull(6) || m_rows.asInteger(6));
        if (!sound) {
            m_problems.add("slice_rows", "slice " + std::to_string(m_rows.integer(0)) +
                                             " has a wrong type, time, class, run or operator");
            return false;
        }
        m_row = {*start, *duration, m_rows.isNull(6) ? kAbsent : m_rows.integer(6),
                 m_rows.isNull(5) ? kAbsent : m_rows.integer(5), static_cast<std::int32_t>(*op)};
        return true;
    }

    sqlite::Statement m_rows;
    StoredRun m_run;
    ProblemList& m_problems;
    SliceRow m_row;
};

class FileSource final : public RecordSource {
public:
    FileSource(sqlite::Database& database, Definitions definitions, ProblemList& problems)
        : m_database(database)
        , m_definitions(std::move(definitions))
        , m_problems(problems)
    {}

    Status prepare()
    {
        for (const RankInfo& rank : m_definitions.header.ranks) m_ranks.insert(rank.rank.value);
        for (const TrackInfo& track : m_definitions.tracks) m_ranks.insert(track.rank.value);
        for (const char* table : {"step", "memory_timeline"}) {
            FOURWALLS_TRY(
                forAll("SELECT DISTINCT rank FROM " + std::string(table), "rank", [&](sqlite::Statement& row) {
                    const auto rank = row.asInteger(0);
                    if (!rank || *rank < 0 || *rank > std::numeric_limits<std::int32_t>::max()) return false;
                    m_ranks.insert(static_cast<std::int32_t>(*rank));
                    return true;
                }));
        }
        m_runs.resize(m_definitions.tracks.size());
        std::int64_t lastId = 0;
        return forAll("SELECT id, track, lane, class, first, last FROM run ORDER BY id", "run",
                      [&](sqlite::Statement& row) {
                          const auto track = row.asInteger(1), lane = row.asInteger(2), runClass = row.asInteger(3),
                                     first = row.asInteger(4), last = row.asInteger(5);
                          if (!track || *track < 0 || static_cast<std::uint64_t>(*track) >= m_runs.size() || !lane ||
                              *lane < 0 || *lane >= kMostTrackLanes || !runClass || *runClass < 0 ||
                              *runClass >= kClassCount || !first || !last || *first <= lastId || *last < *first)
                              return false;
                          lastId = *last;
                          m_runs[static_cast<std::size_t>(*track)].push_back(
                              {row.integer(0), *first, *last, static_cast<int>(*runClass)});
                          return true;
                      });
    }

    const Definitions& definitions() const override { return m_definitions; }
    const std::set<std::int32_t>& ranks() const override { return m_ranks; }
    const Skipped& skipped() const override { return m_skipped; }

    Status slices(std::int32_t track, const std::function<bool(std::vector<SliceRow>&)>& visit) override
    {
        std::vector<RunReader> readers;
        readers.reserve(m_runs[static_cast<std::size_t>(track)].size());
        const auto later = [&](std::size_t a, std::size_t b) { return readers[b].row() < readers[a].row(); };
        std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> queue(later);
        for (const StoredRun& run : m_runs[static_cast<std::size_t>(track)]) {
            FOURWALLS_TRY_ASSIGN(sqlite::Statement rows,
                                 m_database.prepare("SELECT id, run, start, dur, op, mb, corr FROM slice WHERE id>=?1 "
                                                    "AND id<=?2 ORDER BY id"));
            readers.emplace_back(std::move(rows), run, m_problems);
            if (readers.back().next()) queue.push(readers.size() - 1);
        }
        std::vector<SliceRow> batch;
        while (!queue.empty()) {
            const std::size_t reader = queue.top();
            queue.pop();
            batch.push_back(readers[reader].row());
            if (readers[reader].next()) queue.push(reader);
            if (batch.size() < kBatch && !queue.empty()) continue;
            if (!visit(batch)) return {};
            batch.clear();
        }
        return {};
    }

    Status allocations(std::int32_t rank, ChunkStore&, const std::function<void(const AllocationRow&)>& visit) override
    {
        return forAll(
            "SELECT a.start, a.dur, a.bytes, a.address, a.category, a.op, a.mb, a.buffer, r.class FROM "
            "allocation_run r JOIN allocation a ON a.id>=r.first AND a.id<=r.last AND a.run=r.id WHERE r.rank=" +
                std::to_string(rank),
            "allocation", [&](sqlite::Statement& row) {
                const auto start = row.asInteger(0), bytes = row.asInteger(2), address = row.asInteger(3),
                           category = row.asInteger(4), buffer = row.asInteger(7), runClass = row.asInteger(8);
                if (!start || !bytes || !address || !category || *category < 0 || *category >= kMemoryCategoryCount ||
                    !buffer || !runClass)
                    return false;
                AllocationRow record{*start,  kAbsent, *bytes,  *address,
                                     *buffer, kAbsent, kAbsent, static_cast<MemoryCategory>(*category)};
                if (!optional(row, 1, record.duration) || !optional(row, 5, record.op) ||
                    !optional(row, 6, record.microbatch))
                    return false;
                if (!validSpan(*start, record.duration == kAbsent ? 0 : record.duration)) return false;
                const int expected = record.duration == kAbsent ? kUnboundedClass : durationClass(record.duration);
                if (expected != *runClass) return false;
                visit(record);
                return true;
            });
    }

    Status counters(std::int32_t counter, std::vector<CounterRow>& rows) override
    {
        return forAll("SELECT at, value FROM counter_sample WHERE counter=" + std::to_string(counter) +
                          " ORDER BY at, seq",
                      "counter_sample", [&](sqlite::Statement& row) {
                          const auto at = row.asInteger(0);
                          const auto value = row.asReal(1);
                          if (!at || !validTime(*at) || !value) return false;
                          rows.push_back({*at, *value});
                          return true;
                      });
    }

    Status collectives(std::int32_t track, std::vector<CollectiveRow>& rows) override
    {
        const std::int32_t rank = m_definitions.tracks[static_cast<std::size_t>(track)].rank.value;
        if (m_collectiveRank != rank) FOURWALLS_TRY(loadCollectives(rank));
        const auto found = m_collectives.find(track);
        if (found != m_collectives.end()) rows.insert(rows.end(), found->second.begin(), found->second.end());
        return {};
    }

    Status flows(const std::function<void(const FlowRow&)>& visit) override
    {
        return forAll(
            "SELECT kind, from_track, from_at, to_track, to_at FROM flow ORDER BY id", "flow",
            [&](sqlite::Statement& row) {
                const auto kind = row.asInteger(0), fromTrack = row.asInteger(1), from = row.asInteger(2),
                           toTrack = row.asInteger(3), to = row.asInteger(4);
                if (!kind || !isTrack(fromTrack) || !from || !isTrack(toTrack) || !to) return false;
                visit({*kind, static_cast<std::int32_t>(*fromTrack), *from, static_cast<std::int32_t>(*toTrack), *to});
                return true;
            });
    }

    Status events(std::vector<EventRow>& rows) override
    {
        return forAll("SELECT at, kind, rank, text FROM event ORDER BY id", "event", [&](sqlite::Statement& row) {
            const auto at = row.asInteger(0), kind = row.asInteger(1);
            const auto text = row.asText(3);
            EventRow record;
            if (!at || !kind || *kind < 0 || *kind > 255 || !text || !optional(row, 2, record.rank)) return false;
            record.at = *at;
            record.kind = static_cast<std::uint8_t>(*kind);
            record.text = std::string(*text);
            rows.push_back(std::move(record));
            return true;
        });
    }

    Status steps(std::int32_t rank, std::vector<StepRecord>& rows) override
    {
        return forAll("SELECT step, start, end, loss, learning_rate, gradient_norm, samples, tokens, warmup FROM step "
                      "WHERE rank=" +
                          std::to_string(rank) + " ORDER BY seq",
                      "step", [&](sqlite::Statement& row) {
                          const auto step = row.asInteger(0), start = row.asInteger(1), end = row.asInteger(2),
                                     samples = row.asInteger(6), tokens = row.asInteger(7), warmup = row.asInteger(8);
                          if (!step || *step < std::numeric_limits<std::int32_t>::min() ||
                              *step > std::numeric_limits<std::int32_t>::max() || !start || !validTime(*start) ||
                              !end || !validTime(*end) || !samples || !tokens || !warmup)
                              return false;
                          StepRecord record;
                          record.step = StepIndex(static_cast<std::int32_t>(*step));
                          record.range = {Instant{*start}, Instant{*end}};
                          for (int column = 3; column < 6; ++column)
                              if (!row.isNull(column) && !row.asReal(column)) return false;
                          record.loss = row.asReal(3);
                          record.learningRate = row.asReal(4);
                          record.gradientNorm = row.asReal(5);
                          record.samples = *samples;
                          record.tokens = *tokens;
                          record.state = stepStateOf(*warmup);
                          rows.push_back(record);
                          return true;
                      });
    }

private:
    static constexpr std::size_t kBatch = 16384;

    bool isTrack(const std::optional<std::int64_t>& id) const
    {
        return id && *id >= 0 && static_cast<std::uint64_t>(*id) < m_definitions.tracks.size();
    }

    /// An integer or NULL; false for anything else.
    static bool optional(const sqlite::Statement& row, int column, std::int64_t& value)
    {
        if (row.isNull(column)) return true;
        const auto integer = row.asInteger(column);
        if (!integer) return false;
        value = *integer;
        return true;
    }

    /// Calls visit for every row of a query; rows for which it returns false are problems of `table`.
    Status forAll(const std::string& sql, const std::string& table,
                  const std::function<bool(sqlite::Statement&)>& visit)
    {
        FOURWALLS_TRY_ASSIGN(sqlite::Statement rows, m_database.prepare(sql));
        for (std::int64_t index = 0;; ++index) {
            const int rc = rows.stepCode();
            if (rc == SQLITE_DONE) return {};
            if ((rc & 0xff) == SQLITE_INTERRUPT) return m_database.error(rc);
            if (rc != SQLITE_ROW) {
                m_problems.add(table + "_rows", "rows cannot all be read: " + m_database.error(rc).what);
                return {};
            }
            if (!visit(rows))
                m_problems.add(table + "_rows", "row " + std::to_string(index) + " has a wrong type or value");
        }
    }

    Status loadCollectives(std::int32_t rank)
    {
        m_collectives.clear();
        m_collectiveRank = rank;
        return forAll("SELECT track, start, last_arrival, end, operation, grp, sequence, payload_bytes, wire_bytes, "
                      "peer, algorithm, protocol FROM collective WHERE rank=" +
                          std::to_string(rank) + " ORDER BY id",
                      "collective", [&](sqlite::Statement& row) {
                          for (int column = 0; column < 12; ++column) {
                              const bool mayBeUnknown = column == 7 || column == 8 || column == 9;
                              if (!row.asInteger(column) && !(mayBeUnknown && row.isNull(column))) return false;
                          }
                          CollectiveRow record;
                          if (!isTrack(row.asInteger(0)) || row.integer(4) < 0 || row.integer(4) > 255 ||
                              row.integer(5) < 0 || row.integer(5) > std::numeric_limits<std::int32_t>::max() ||
                              !validTime(row.integer(1)) || !validTime(row.integer(3)) ||
                              !optional(row, 9, record.peer))
                              return false;
                          record.track = static_cast<std::int32_t>(row.integer(0));
                          record.start = row.integer(1);
                          record.lastArrival = row.integer(2);
                          record.end = row.integer(3);
                          record.operation = static_cast<std::uint8_t>(row.integer(4));
                          record.group = static_cast<std::int32_t>(row.integer(5));
                          record.sequence = row.integer(6);
                          record.payloadBytes = row.isNull(7) ? kAbsent : row.integer(7);
                          record.wireBytes = row.isNull(8) ? kAbsent : row.integer(8);
                          record.algorithm = row.integer(10);
                          record.protocol = row.integer(11);
                          m_collectives[record.track].push_back(record);
                          return true;
                      });
    }

    sqlite::Database& m_database;
    Definitions m_definitions;
    ProblemList& m_problems;
    std::set<std::int32_t> m_ranks;
    std::vector<std::vector<StoredRun>> m_runs; ///< by track
    Skipped m_skipped;
    std::optional<std::int32_t> m_collectiveRank;
    std::map<std::int32_t, std::vector<CollectiveRow>> m_collectives; ///< of m_collectiveRank, by track
};

} // namespace

Result<std::unique_ptr<RecordSource>> openFileSource(sqlite::Database& finished, ProblemList& problems)
{
    std::int64_t damaged = 0;
    FOURWALLS_TRY_ASSIGN(Definitions definitions, readDefinitions(finished, damaged));
    FOURWALLS_TRY_ASSIGN(definitions.ops, readOps(finished, damaged));
    if (damaged > 0) problems.add("definition_rows", "definitions have wrong types or values", damaged);
    // Finishing adds these anew.
    FOURWALLS_TRY_ASSIGN(const std::optional<std::int64_t> overlapping,
                         finished.integer("SELECT value FROM meta WHERE key='overlapping_slices'"));
    const auto takeBack = [&](AuditCounter counter, std::int64_t count) {
        for (AuditRecord& record : definitions.audit)
            if (isCounter(record, counter) && record.severity == infoOf(counter).severity)
                record.count = std::max<std::int64_t>(0, wrappingSub(record.count, count));
    };
    takeBack(AuditCounter::OverlappingSlices, overlapping.value_or(0));
    if (!definitions.closed) takeBack(AuditCounter::RecordingInterrupted, 1);
    auto source = std::make_unique<FileSource>(finished, std::move(definitions), problems);
    FOURWALLS_TRY(source->prepare());
    return std::unique_ptr<RecordSource>(std::move(source));
}

} // namespace fourwalls::store
