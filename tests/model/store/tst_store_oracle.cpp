// SPDX-License-Identifier: Apache-2.0
// Slices of the file against those of the in-memory trace, which computes every answer from all records: random traces,
// random windows; what both say of the trace as a whole; and questions that cannot be answered. The other kinds of records
// are in tst_store_oracle_records.
#include "model/store/check.h"
#include "tests/model/store/two_answers.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tst_store_oracle {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

using SliceKey = std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int32_t, std::int64_t, std::int64_t>;

SliceKey keyOf(const SliceView& s)
{
    return {s.track.value,
            s.start.ns,
            s.duration.ns,
            s.op.value,
            s.microbatch ? s.microbatch->value : -1,
            s.correlation ? s.correlation->value : -99};
}

std::multiset<SliceKey> keys(const std::vector<SliceView>& slices)
{
    std::multiset<SliceKey> set;
    for (const SliceView& slice : slices) set.insert(keyOf(slice));
    return set;
}

std::multiset<SliceKey> exactKeys(const SliceWindow& window, std::int64_t atLeast)
{
    std::multiset<SliceKey> set;
    for (const LaneSlices& lane : window.lanes)
        for (const SliceView& slice : lane.exact)
            if (std::max<std::int64_t>(1, slice.duration.ns) >= atLeast) set.insert(keyOf(slice));
    return set;
}

} // namespace

class StoreOracleTest : public QObject, private TwoAnswers {
    Q_OBJECT

private slots:
    void initTestCase_data() { addSeeds(); }
    void init() { choose(); }

    void infoAgrees()
    {
        const TraceInfo &file = m_file->info(), &memory = m_oracle->info();
        QCOMPARE(file.counts.slices, memory.counts.slices);
        QCOMPARE(file.counts.allocations, memory.counts.allocations);
        QCOMPARE(file.counts.collectives, memory.counts.collectives);
        QCOMPARE(file.counts.counterSamples, memory.counts.counterSamples);
        QCOMPARE(file.counts.flows, memory.counts.flows);
        QCOMPARE(file.counts.events, memory.counts.events);
        QCOMPARE(file.counts.ops, memory.counts.ops);
        QCOMPARE(file.range, memory.range);
        QCOMPARE(file.stepCount, memory.stepCount);
        QVERIFY(file.complete);
        QCOMPARE(file.groups, memory.groups);
        QCOMPARE(file.counters, memory.counters);
        QCOMPARE(file.header.originUnixNs, memory.header.originUnixNs);
        QCOMPARE(file.header.ranks.size(), memory.header.ranks.size());
        QCOMPARE(file.header.spec.has_value(), memory.header.spec.has_value());
        QCOMPARE(file.closing.peakFlopsPerDevice, memory.closing.peakFlopsPerDevice);
        QCOMPARE(file.closing.peakSource, memory.closing.peakSource);
        QVERIFY(std::count(file.audit.begin(), file.audit.end(),
                           AuditRecord{"lost_packets", AuditSeverity::Dropped, 7, "by the network"}) == 1);
        QCOMPARE(m_file->tracks().size(), m_oracle->tracks().size());
        for (std::size_t i = 0; i < m_file->tracks().size(); ++i) {
            QCOMPARE(m_file->tracks()[i].info, m_oracle->tracks()[i].info);
            QCOMPARE(m_file->tracks()[i].slices, m_oracle->tracks()[i].slices);
            QCOMPARE(m_file->tracks()[i].lanes, m_oracle->tracks()[i].lanes);
        }
        for (std::int32_t i = 0; i < file.counts.ops; ++i) {
            auto a = m_file->op(OpId(i)), b = m_oracle->op(OpId(i));
            QVERIFY(a.ok() && b.ok());
            QCOMPARE(**a, **b);
        }
    }

    void wholeWindowCountsEverySliceOnce()
    {
        for (const int pixels : {1, 10, 300, 1600, 50'000, 50'000'000}) {
            const TimeRange all{m_oracle->info().range.begin, m_oracle->info().range.end + Duration{1}};
            auto window = m_file->slices({allTracks(), all, pixels});
            QVERIFY(window.ok());
            std::int64_t count = 0, busy = 0;
            for (const LaneSlices& lane : window->lanes) {
                count += static_cast<std::int64_t>(lane.exact.size());
                for (const SliceView& slice : lane.exact) busy += slice.duration.ns;
                for (const SliceBin& bin : lane.bins) {
                    count += bin.count;
                    busy += bin.busy.ns;
                    QVERIFY(bin.busy <= bin.width);
                    QVERIFY(window->ops.contains(bin.dominant));
                }
                QVERIFY(std::is_sorted(lane.exact.begin(), lane.exact.end(),
                                       [](const SliceView& a, const SliceView& b) { return a.start < b.start; }));
                QVERIFY(std::is_sorted(lane.bins.begin(), lane.bins.end(),
                                       [](const SliceBin& a, const SliceBin& b) { return a.start < b.start; }));
            }
            std::int64_t expected = 0, expectedBusy = 0;
            QVERIFY(m_oracle
                        ->scanSlices([&](const SliceView& slice) {
                            ++expected;
                            expectedBusy += slice.duration.ns;
                            return true;
                        })
                        .ok());
            QCOMPARE(count, expected);
            QCOMPARE(busy, expectedBusy);
            QCOMPARE(window->skippedRows, 0);
        }
    }

    void randomWindowsShowEverySliceOfAPixel()
    {
        const TimeRange all = m_oracle->info().range;
        for (int i = 0; i < 150; ++i) {
            const TimeRange range = randomRange(all);
            const int pixels = 1 + static_cast<int>(m_random() % 2000);
            auto file = m_file->slices({allTracks(), range, pixels});
            auto memory = m_oracle->slices({allTracks(), range, pixels});
            QVERIFY(file.ok() && memory.ok());
            const auto pixel = static_cast<std::int64_t>(std::ceil(static_cast<double>(range.length().ns) / pixels));
            QCOMPARE(exactKeys(*file, pixel), exactKeys(*memory, pixel));
            // What is drawn exactly is real, seen, and drawn once.
            for (const LaneSlices& lane : file->lanes) {
                std::set<std::int64_t> ids;
                Instant end{-kLargestTimeNs};
                for (const SliceView& slice : lane.exact) {
                    QVERIFY(ids.insert(slice.id.value).second);
                    QVERIFY(slice.start >= end || slice.duration.ns == 0); // a lane never overlaps
                    end = std::max(end, slice.end());
                    QVERIFY(slice.start < range.end);
                    QVERIFY(slice.end() > range.begin || slice.start >= range.begin);
                    QVERIFY(file->ops.contains(slice.op));
                }
            }
        }
    }

    void binsAgreeWithSlicesInTheirColumns()
    {
        // Time in bins and exact slices over a window that begins and ends with a bin is the oracle's, exactly.
        for (const int level : {3, 5, 7, 9}) {
            const std::int64_t width = std::int64_t{1} << (2 * level);
            const TimeRange range{Instant{width * 3}, Instant{width * 103}};
            auto file = m_file->slices({allTracks(), range, 100});
            QVERIFY(file.ok());
            std::int64_t busy = 0, expected = 0;
            for (const LaneSlices& lane : file->lanes) {
                for (const SliceView& s : lane.exact)
                    busy += TimeRange{s.start, s.end()}.intersected(range).length().ns;
                for (const SliceBin& bin : lane.bins) busy += bin.busy.ns;
            }
            QVERIFY(m_oracle
                        ->scanSlices([&](const SliceView& s) {
                            expected +=
                                std::max<std::int64_t>(0, TimeRange{s.start, s.end()}.intersected(range).length().ns);
                            return true;
                        })
                        .ok());
            QCOMPARE(busy, expected);
        }
    }

    void singleSlicesAreFound()
    {
        std::vector<SliceView> all;
        QVERIFY(m_file
                    ->scanSlices([&](const SliceView& slice) {
                        all.push_back(slice);
                        return true;
                    })
                    .ok());
        std::vector<SliceView> expected;
        QVERIFY(m_oracle
                    ->scanSlices([&](const SliceView& slice) {
                        expected.push_back(slice);
                        return true;
                    })
                    .ok());
        QCOMPARE(keys(all), keys(expected));
        for (std::size_t i = 0; i < all.size(); i += 97) {
            auto one = m_file->slice(all[i].id);
            QVERIFY(one.ok());
            QCOMPARE(keyOf(*one), keyOf(all[i]));
            QCOMPARE(one->lane, all[i].lane);
        }
        QVERIFY(!m_file->slice(SliceId(10'000'000)).ok());
        QVERIFY(!m_file->op(OpId(9999)).ok());
    }

    void searchAgrees()
    {
        const TimeRange all{m_oracle->info().range.begin, m_oracle->info().range.end + Duration{1}};
        const std::vector<std::pair<std::string, bool>> texts{
            {"", false}, {"NORM", false}, {"matmul 7", false}, {"^norm.*[0-3]$", true}, {"nothing", false}};
        for (const auto& [text, isExpression] : texts) {
            for (int i = 0; i < 6; ++i) {
                SearchQuery query{text, isExpression, i == 0 ? all : randomRange(all), {}, i < 3 ? 100'000UL : 37UL};
                if (i % 2) query.tracks = {TrackId(0), TrackId(3)};
                auto file = m_file->search(query), memory = m_oracle->search(query);
                QVERIFY(file.ok() && memory.ok());
                QCOMPARE(file->matchingOps, memory->matchingOps);
                QCOMPARE(file->limited, memory->limited);
                QCOMPARE(file->slices.size(), memory->slices.size());
                for (std::size_t k = 0; k < file->slices.size(); ++k)
                    QCOMPARE(file->slices[k].start, memory->slices[k].start);
                if (!file->limited) QCOMPARE(keys(file->slices), keys(memory->slices));
            }
        }
        QVERIFY(!m_file->search({"(", true, all, {}, 10}).ok());
    }

    void rankActivityAgrees()
    {
        std::vector<RankId> ranks;
        for (const RankInfo& rank : m_oracle->info().header.ranks) ranks.push_back(rank.rank);
        const TimeRange all = m_oracle->info().range;
        auto file = m_file->rankActivity(ranks, all, 40), memory = m_oracle->rankActivity(ranks, all, 40);
        QVERIFY(file.ok() && memory.ok());
        QCOMPARE(file->size(), memory->size());
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            double difference = 0, sum = 0, expected = 0, waited = 0;
            for (std::size_t c = 0; c < 40; ++c) {
                const auto &a = (*file)[r].columns[c], &b = (*memory)[r].columns[c];
                difference += std::abs(a.compute - b.compute) + std::abs(a.communication - b.communication) +
                              std::abs(a.other - b.other) + std::abs(a.waiting - b.waiting);
                sum += a.compute + 2 * a.communication + 4 * a.other + 8 * a.waiting;
                expected += b.compute + 2 * b.communication + 4 * b.other + 8 * b.waiting;
                waited += b.waiting;
                QVERIFY(a.compute >= 0 && a.compute + a.communication + a.other + a.waiting <= 1.001F);
            }
            // A bin that straddles two columns (or the range's end) is shared out evenly: sums and columns agree nearly.
            QVERIFY(expected > 0 && waited > 0);
            QVERIFY2(std::abs(sum - expected) < 0.01 * expected, qPrintable(QString::number(sum / expected)));
            QVERIFY2(difference / 40 < 0.04, qPrintable(QString::number(difference / 40)));
        }
    }

    void checkFindsItSound()
    {
        double last = 0;
        auto report = store::checkTrace(m_path, [&](double done) { last = done; });
        QVERIFY(report.ok());
        for (const store::CheckProblem& problem : report->problems)
            qWarning("%s (%lld): %s", problem.name.c_str(), static_cast<long long>(problem.count),
                     problem.detail.c_str());
        QVERIFY(report->sound);
        QVERIFY(report->complete);
        QCOMPARE(last, 1.0);
    }

    void wrongQueriesAreErrors()
    {
        const TimeRange all = m_oracle->info().range;
        QVERIFY(!m_file->slices({allTracks(), {all.end, all.begin}, 10}).ok());
        QVERIFY(!m_file->slices({allTracks(), all, 0}).ok());
        QVERIFY(!m_file->slices({{TrackId(4711)}, all, 10}).ok());
        QVERIFY(!m_file->memory(RankId(0), all, 0).ok());
        QVERIFY(!m_file->counter(CounterId(77), all, 10).ok());
        QVERIFY(m_file->memory(RankId(77), all, 10)->samples.empty());
        std::stop_source stopped;
        stopped.request_stop();
        QCOMPARE(m_file->slices({allTracks(), all, 10}, stopped.get_token()).error().code, ErrorCode::Cancelled);
        QCOMPARE(m_file->search({"", false, all, {}, 10}, stopped.get_token()).error().code, ErrorCode::Cancelled);
        QCOMPARE(m_file->scanSlices([](const SliceView&) { return true; }, stopped.get_token()).error().code,
                 ErrorCode::Cancelled);
    }
};

FOURWALLS_TEST(StoreOracleTest, QCoreApplication)

} // namespace tst_store_oracle

#include "tst_store_oracle.moc"
