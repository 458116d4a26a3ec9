// SPDX-License-Identifier: Apache-2.0
// Statistics of a range against SQL on the rows and against a count of every pair of slices, on random ranges and tracks
// of random traces; the file against the trace in memory.
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/call_tree.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/range_statistics.h"
#include "model/trace/range_summaries.h"
#include "model/trace/slice_walk.h"
#include "model/trace/user_query.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tst_range_statistics {

using namespace fourwalls;

namespace {

struct Row {
    int lane = 0;
    std::int64_t start = 0, duration = 0;
    std::int32_t track = 0, op = 0;
    std::int64_t end() const { return start + duration; }
};

std::int64_t integer(const UserValue& value)
{
    return std::get<std::int64_t>(value);
}

/// What two entries of the same key must agree in.
using Sums = std::array<std::int64_t, 5>; // count, total, self, shortest, longest

std::map<std::pair<std::int32_t, std::int32_t>, Sums> sumsOf(const RangeStatistics& statistics)
{
    std::map<std::pair<std::int32_t, std::int32_t>, Sums> sums;
    for (const RangeEntry& entry : statistics.entries)
        sums[{entry.track.value, entry.op.value}] = {entry.count, entry.total.ns, entry.self.ns,
                                                     entry.durations.spread().shortest.ns,
                                                     entry.durations.spread().longest.ns};
    return sums;
}

} // namespace

class RangeStatisticsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::RandomTraceSize size;
        size.slicesPerTrack = 700;
        size.allocationsPerRank = 10;
        m_path = m_folder.filePath("random.fourwalls").toStdString();
        test::RandomTrace forFile(11, size), forMemory(11, size);
        auto writer = store::TraceWriter::create(m_path, forFile.header());
        QVERIFY(writer.ok());
        forFile.write(**writer);
        QVERIFY((*writer)->finish(forFile.closing()).ok());
        auto opened = store::openTrace(m_path);
        QVERIFY(opened.ok());
        m_file = std::move(*opened);
        InMemoryTrace memory(forMemory.header());
        forMemory.write(memory);
        QVERIFY(memory.finish(forMemory.closing()).ok());
        m_memory = std::make_unique<InMemoryTraceQuery>(memory.data());
        const UserRows all = rows("SELECT r.track, r.lane, s.start, s.dur, s.op FROM slice s JOIN run r ON r.id=s.run");
        for (const auto& row : all.rows)
            m_rows.push_back({static_cast<int>(integer(row[1])), integer(row[2]), integer(row[3]),
                              static_cast<std::int32_t>(integer(row[0])), static_cast<std::int32_t>(integer(row[4]))});
        QVERIFY(m_rows.size() > 4000);
        // Blocks of a few rows, so that ranges have whole ones and cut them in every way.
        SummaryLimits limits;
        limits.blocks = limits.treeBlocks = {9, 0};
        QVERIFY(summarize(*m_file, m_summaries, {}, limits).ok());
        limits.mostDurations = 0;
        QVERIFY(summarize(*m_file, m_onlySums, {}, limits).ok());
    }

    void everySliceOnceInOrder()
    {
        for (int i = 0; i < 60; ++i) {
            const TimeRange range = randomRange();
            for (const TrackView& track : m_file->tracks()) {
                std::vector<SliceView> found;
                QVERIFY(forEachSlice(*m_file, track, range, [&](const SliceView& slice) {
                            found.push_back(slice);
                            return true;
                        }).ok());
                std::set<std::int64_t> ids;
                for (const SliceView& slice : found) ids.insert(slice.id.value);
                QCOMPARE(ids.size(), found.size());
                const auto expected = std::count_if(m_rows.begin(), m_rows.end(), [&](const Row& row) {
                    return row.track == track.id.value && isSeen(row, range);
                });
                QCOMPARE(static_cast<std::ptrdiff_t>(found.size()), expected);
                QVERIFY(std::is_sorted(found.begin(), found.end(), [](const SliceView& a, const SliceView& b) {
                    return std::tuple(a.start.ns, -a.duration.ns, a.lane) <
                           std::tuple(b.start.ns, -b.duration.ns, b.lane);
                }));
            }
        }
    }

    void sumsEqualSql()
    {
        for (int i = 0; i < 240; ++i) {
            const TimeRange range = randomRange();
            const std::vector<TrackId> tracks = randomTracks();
            // From rows, and from the blocks' sums with the rows that the range's ends cut.
            const auto found = rangeStatistics(*m_file, tracks, range, i % 4 == 0 ? nullptr : &m_summaries);
            QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
            QVERIFY(found->complete());
            const UserRows sql = rows(QString("SELECT r.track, s.op, count(*), sum(max(0, min(s.start+s.dur, %2) - "
                                              "max(s.start, %1))), min(s.dur), max(s.dur) FROM %3 GROUP BY 1, 2")
                                          .arg(range.begin.ns)
                                          .arg(range.end.ns)
                                          .arg(seenSql(range, tracks)));
            auto sums = sumsOf(*found);
            const auto own = selfTimes(range, tracks);
            std::int64_t count = 0;
            QCOMPARE(sums.size(), sql.rows.size());
            for (const auto& row : sql.rows) {
                const std::pair key{static_cast<std::int32_t>(integer(row[0])),
                                    static_cast<std::int32_t>(integer(row[1]))};
                const Sums expected{integer(row[2]), integer(row[3]), own.at(key), integer(row[4]), integer(row[5])};
                QCOMPARE(sums[key], expected);
                count += integer(row[2]);
            }
            QCOMPARE(found->count, count);
            const auto memory = rangeStatistics(*m_memory, tracks, range);
            QVERIFY(memory.ok());
            QVERIFY(sumsOf(*memory) == sums);
            QCOMPARE(memory->busy.ns, found->busy.ns);
            QCOMPARE(found->busy.ns, busyTime(range, tracks));
        }
    }

    void rowsEqualSql()
    {
        struct Grouped {
            RangeGrouping grouping;
            const char* sql;
        };
        const Grouped all[] = {
            {RangeGrouping::Name, "o.kind || o.name"},   {RangeGrouping::Kind, "o.kind"},
            {RangeGrouping::Phase, "o.phase"},           {RangeGrouping::Layer, "coalesce(o.layer, '')"},
            {RangeGrouping::Stream, "t.kind || t.name"}, {RangeGrouping::Rank, "t.rank"}};
        for (int i = 0; i < 96; ++i) {
            const TimeRange range = randomRange();
            const std::vector<TrackId> tracks = randomTracks();
            const auto found = rangeStatistics(*m_file, tracks, range, i % 4 == 3 ? nullptr : &m_summaries);
            QVERIFY(found.ok());
            const Grouped& by = all[static_cast<std::size_t>(i) % std::size(all)];
            // The nearest rank: the first of the sorted durations that as many do not exceed.
            const UserRows sql = rows(
                QString("WITH seen AS (SELECT %1 AS k, s.dur, row_number() OVER (PARTITION BY %1 ORDER BY s.dur) AS "
                        "i, count(*) OVER (PARTITION BY %1) AS n FROM %2) SELECT k, n, min(CASE WHEN i*2>=n THEN "
                        "dur END), min(CASE WHEN i*100>=n*99 THEN dur END), min(dur), max(dur) FROM seen GROUP BY k")
                    .arg(QLatin1String(by.sql), seenSql(range, tracks)));
            std::multiset<std::array<std::int64_t, 5>> expected, rows;
            for (const auto& row : sql.rows)
                expected.insert({integer(row[1]), integer(row[2]), integer(row[3]), integer(row[4]), integer(row[5])});
            double share = 0;
            for (const RangeRow& row : groupRange(*found, m_file->tracks(), by.grouping)) {
                QVERIFY(row.exact);
                rows.insert({row.count, row.spread.median.ns, row.spread.percentile99.ns, row.spread.shortest.ns,
                             row.spread.longest.ns});
                std::int64_t inBars = 0;
                for (const std::int64_t bar : row.spread.bars) inBars += bar;
                QCOMPARE(inBars, row.count);
                share += row.share;
            }
            QCOMPARE(rows, expected);
            if (found->self.ns > 0) QVERIFY(std::abs(share - 1) < 1e-9);
        }
    }

    /// Of very long traces the sums come at once and the durations after them.
    void sumsBeforeDurations()
    {
        for (int i = 0; i < 20; ++i) {
            const TimeRange range = randomRange();
            const std::vector<TrackId> tracks = randomTracks();
            int parts = 0;
            const auto found = rangeStatistics(*m_file, tracks, range, &m_onlySums, [&](const RangeStatistics& sums) {
                ++parts;
                QVERIFY(!sums.hasDurations && !sums.complete());
                const auto whole = rangeStatistics(*m_file, tracks, range);
                QVERIFY(whole.ok());
                QCOMPARE(sums.count, whole->count);
                QCOMPARE(sums.self.ns, whole->self.ns);
                QCOMPARE(sums.busy.ns, whole->busy.ns);
                const auto rows = groupRange(sums, m_file->tracks(), RangeGrouping::Kind),
                           right = groupRange(*whole, m_file->tracks(), RangeGrouping::Kind);
                QCOMPARE(rows.size(), right.size());
                for (std::size_t row = 0; row < rows.size(); ++row) {
                    QVERIFY(!rows[row].hasSpread && right[row].hasSpread);
                    QCOMPARE(rows[row].total.ns, right[row].total.ns);
                }
            });
            QVERIFY(found.ok() && found->complete());
            QCOMPARE(parts, 1);
            for (const RangeRow& row : groupRange(*found, m_file->tracks(), RangeGrouping::Kind))
                QVERIFY(row.hasSpread && row.spread.longest.ns >= row.spread.median.ns);
        }
    }

    void callTreesEqualThoseFromRows()
    {
        for (int i = 0; i < 160; ++i) {
            const TimeRange range = randomRange();
            const std::vector<TrackId> tracks = randomTracks();
            const auto by = static_cast<CallTreeBy>(i % kCallTreeByCount);
            const auto rows = callTree(*m_file, tracks, range, by),
                       summed = callTree(*m_file, tracks, range, by, &m_summaries);
            QVERIFY(rows.ok() && summed.ok());
            QVERIFY(pathsOf(*rows) == pathsOf(*summed));
        }
    }

    /// Enough durations to be counted by bucket first, also such that 32 bits do not hold and many of one length.
    void percentilesOfSharedDurations()
    {
        std::mt19937_64 random(7);
        for (int i = 0; i < 20; ++i) {
            const auto all = std::make_shared<std::vector<std::uint32_t>>();
            std::vector<std::int64_t> sorted;
            DurationDistribution durations;
            std::size_t elsewhere = 0;
            for (int k = 0; k < 6000; ++k) {
                const std::int64_t ns = k % 3 == 0 ? 70'000 + i
                                                   : static_cast<std::int64_t>(std::exp2(
                                                         static_cast<double>(random() % 1'000'000) / 1e6 * (25 + i)));
                sorted.push_back(ns);
                const bool isShort = ns < DurationDistribution::kElsewhere;
                all->push_back(isShort ? static_cast<std::uint32_t>(ns) : DurationDistribution::kElsewhere);
                if (isShort) continue;
                durations.add(Duration{ns});
                ++elsewhere;
            }
            durations.addShared(all, *all, elsewhere);
            std::sort(sorted.begin(), sorted.end());
            const DurationDistribution::Spread spread = durations.spread();
            QCOMPARE(durations.count(), 6000);
            QCOMPARE(spread.shortest.ns, sorted.front());
            QCOMPARE(spread.median.ns, sorted[2999]);
            QCOMPARE(spread.percentile99.ns, sorted[5939]);
            QCOMPARE(spread.longest.ns, sorted.back());
            QCOMPARE(durations.percentile(0.25)->ns, sorted[1499]);
            DurationDistribution::Bars bars{};
            const double from = std::log2(static_cast<double>(std::max<std::int64_t>(sorted.front(), 1))),
                         width = std::log2(static_cast<double>(sorted.back())) - from;
            for (const std::int64_t ns : sorted) {
                const double place = (std::log2(static_cast<double>(std::max<std::int64_t>(ns, 1))) - from) / width *
                                     DurationDistribution::kBars;
                ++bars[static_cast<std::size_t>(
                    std::clamp(static_cast<int>(place), 0, DurationDistribution::kBars - 1))];
            }
            QVERIFY(spread.bars == bars);
        }
    }

    void manyDurationsAreRough()
    {
        std::mt19937_64 random(5);
        DurationDistribution exact, rough;
        rough.add(Duration{17});
        exact.add(Duration{17});
        rough.makeRough();
        for (int i = 0; i < 20'000; ++i) {
            const double exponent = static_cast<double>(random() % 1'000'000) / 1e6 * 40;
            const Duration duration{static_cast<std::int64_t>(std::exp2(exponent))};
            exact.add(duration);
            rough.add(duration);
        }
        DurationDistribution joined;
        joined.add(exact);
        joined.add(rough);
        QVERIFY(exact.isExact() && !rough.isExact() && !joined.isExact());
        QCOMPARE(joined.count(), 2 * exact.count());
        QCOMPARE(rough.spread().longest, exact.spread().longest);
        for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
            const auto right = static_cast<double>(exact.percentile(share)->ns);
            for (DurationDistribution* each : {&rough, &joined})
                QVERIFY(std::abs(static_cast<double>(each->percentile(share)->ns) - right) <= right / 100);
        }
        QVERIFY(!DurationDistribution().percentile(0.5));
    }

    void progressAndStop()
    {
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_file->tracks()) tracks.push_back(track.id);
        std::stop_source stop;
        stop.request_stop();
        const auto stopped = rangeStatistics(*m_file, tracks, m_file->info().range, nullptr, {}, stop.get_token());
        QVERIFY(!stopped.ok());
        QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        QCOMPARE(rangeStatistics(*m_file, tracks, {}).error().code, ErrorCode::InvalidArgument);
        const std::vector<TrackId> unknown{TrackId(999)};
        QCOMPARE(rangeStatistics(*m_file, unknown, m_file->info().range).error().code, ErrorCode::NotFound);
    }

private:
    using Paths = std::map<std::string, std::array<std::int64_t, 3>>;
    static Paths pathsOf(const CallTree& tree)
    {
        Paths paths;
        for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
            std::string path;
            for (std::size_t at = i; at != 0; at = tree.nodes[at].parent)
                path = tree.nodes[at].name + "," + std::to_string(static_cast<int>(tree.nodes[at].phase)) + "/" + path;
            paths[path] = {tree.nodes[i].count, tree.nodes[i].total.ns, tree.nodes[i].self.ns};
        }
        return paths;
    }

    static bool isSeen(const Row& row, TimeRange range)
    {
        return row.start < range.end.ns && (row.end() > range.begin.ns || row.start >= range.begin.ns);
    }

    UserRows rows(const QString& sql)
    {
        UserQuery query;
        query.text = sql.toStdString();
        auto found = askInSql(*m_file, query);
        if (!found.ok()) qFatal("%s", found.error().message().c_str());
        return std::move(*found);
    }

    static QString seenSql(TimeRange range, const std::vector<TrackId>& tracks)
    {
        QStringList ids;
        for (const TrackId track : tracks) ids << QString::number(track.value);
        return QString("slice s JOIN run r ON r.id=s.run JOIN track t ON t.id=r.track JOIN op o ON o.id=s.op WHERE "
                       "s.start<%2 AND (s.start+s.dur>%1 OR s.start>=%1) AND r.track IN (%3)")
            .arg(range.begin.ns)
            .arg(range.end.ns)
            .arg(ids.join(','));
    }

    /// By definition, from all pairs: of each slice what its children do not cover.
    std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> selfTimes(TimeRange range,
                                                                            const std::vector<TrackId>& tracks)
    {
        std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> sums;
        for (const TrackId track : tracks) {
            std::vector<const Row*> seen;
            for (const Row& row : m_rows)
                if (row.track == track.value && isSeen(row, range)) seen.push_back(&row);
            std::map<const Row*, std::vector<const Row*>> children;
            for (const Row* row : seen) {
                const Row* parent = nullptr;
                for (const Row* other : seen)
                    if (other->lane < row->lane && other->start <= row->start &&
                        other->end() >= std::max(row->end(), row->start + 1) && (!parent || other->lane > parent->lane))
                        parent = other;
                if (parent) children[parent].push_back(row);
            }
            for (const Row* row : seen)
                sums[{row->track, row->op}] += std::max<std::int64_t>(0, std::min(row->end(), range.end.ns) -
                                                                             std::max(row->start, range.begin.ns)) -
                                               unionOf(children[row], range);
        }
        return sums;
    }

    std::int64_t busyTime(TimeRange range, const std::vector<TrackId>& tracks)
    {
        std::int64_t busy = 0;
        for (const TrackId track : tracks) {
            std::vector<const Row*> seen;
            for (const Row& row : m_rows)
                if (row.track == track.value && isSeen(row, range)) seen.push_back(&row);
            busy += unionOf(seen, range);
        }
        return busy;
    }

    static std::int64_t unionOf(std::vector<const Row*> rows, TimeRange range)
    {
        std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->start < b->start; });
        std::int64_t covered = 0, until = range.begin.ns;
        for (const Row* row : rows) {
            const std::int64_t from = std::max(row->start, until), to = std::min(row->end(), range.end.ns);
            if (to <= from) continue;
            covered += to - from;
            until = to;
        }
        return covered;
    }

    TimeRange randomRange()
    {
        const TimeRange all = m_file->info().range;
        const double exponent = static_cast<double>(m_random() % 1000) / 1000;
        const auto length = static_cast<std::int64_t>(std::pow(static_cast<double>(all.length().ns), exponent)) + 1;
        const std::int64_t begin =
            all.begin.ns - 5 + static_cast<std::int64_t>(m_random() % static_cast<std::uint64_t>(all.length().ns));
        return {Instant{begin}, Instant{begin + length}};
    }

    std::vector<TrackId> randomTracks()
    {
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_file->tracks())
            if (m_random() % 3 != 0) tracks.push_back(track.id);
        if (tracks.empty()) tracks.emplace_back(0);
        return tracks;
    }

    QTemporaryDir m_folder{test::folderTemplate()};
    std::string m_path;
    std::unique_ptr<TraceQuery> m_file;
    std::unique_ptr<InMemoryTraceQuery> m_memory;
    RangeSummaries m_summaries, m_onlySums;
    std::vector<Row> m_rows;
    std::mt19937_64 m_random{99};
};

FOURWALLS_TEST(RangeStatisticsTest, QCoreApplication)

} // namespace tst_range_statistics

#include "tst_range_statistics.moc"
