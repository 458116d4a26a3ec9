// SPDX-License-Identifier: Apache-2.0
// The file against the in-memory trace, which computes every answer from all records: random traces, random windows.
// Over 500 lines: one generator of traces, and for each question the comparison of its two answers.
#include "model/store/check.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/in_memory_query.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/equal_summaries.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace tst_store_oracle {

using namespace fourwalls;

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

using AllocationKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, int, int, int>;

std::multiset<AllocationKey> keys(const std::vector<AllocationView>& items)
{
    std::multiset<AllocationKey> set;
    for (const AllocationView& a : items)
        set.insert({a.id.value, a.start.ns, a.end ? a.end->ns : -1, a.bytes, a.address, static_cast<int>(a.category),
                    a.op ? a.op->value : -1, a.microbatch ? a.microbatch->value : -1});
    return set;
}

} // namespace

class StoreOracleTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase_data()
    {
        QTest::addColumn<int>("seed");
        QTest::addColumn<bool>("pipelined");
        QTest::newRow("seed 1") << 1 << false;
        QTest::newRow("seed 2") << 2 << true;
        QTest::newRow("seed 3") << 3 << false;
    }

    void init()
    {
        QFETCH_GLOBAL(int, seed);
        QFETCH_GLOBAL(bool, pipelined);
        m_random.seed(static_cast<std::uint64_t>(seed) + 100);
        Traces& traces = m_traces[seed]; // one pair per seed serves all tests
        m_path = m_folder.filePath(QString::number(seed) + ".fourwalls").toStdString();
        if (traces.file) {
            m_file = traces.file.get();
            m_oracle = traces.oracle.get();
            return;
        }
        test::RandomTraceSize size;
        size.pipelined = pipelined;
        if (seed == 3) size.ranks = 5;
        test::RandomTrace forFile(static_cast<std::uint64_t>(seed), size),
            forMemory(static_cast<std::uint64_t>(seed), size);
        auto writer = store::TraceWriter::create(m_path, forFile.header());
        QVERIFY2(writer.ok(), writer.ok() ? "" : writer.error().message().c_str());
        forFile.write(**writer);
        const Status finished = (*writer)->finish(forFile.closing());
        QVERIFY2(finished.ok(), finished.ok() ? "" : finished.error().message().c_str());
        InMemoryTrace memory(forMemory.header());
        forMemory.write(memory);
        QVERIFY(memory.finish(forMemory.closing()).ok());
        traces.oracle = std::make_unique<InMemoryTraceQuery>(memory.data());
        auto opened = store::openTrace(m_path);
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().message().c_str());
        traces.file = std::move(*opened);
        m_file = traces.file.get();
        m_oracle = traces.oracle.get();
    }

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

    void memoryCurvesAgree()
    {
        for (const RankInfo& rank : m_oracle->info().header.ranks) {
            for (int i = 0; i < 120; ++i) {
                TimeRange range = randomRange(m_oracle->info().range);
                if (i % 2 == 1) { // on the edges of bins, where nothing is completed from single buffers
                    const int shift = 2 * static_cast<int>(m_random() % 10);
                    const std::int64_t width = std::int64_t{1} << shift;
                    range.begin.ns = (range.begin.ns >> shift) * width;
                    range.end.ns = range.begin.ns + std::max<std::int64_t>(width, (range.length().ns >> shift) * width);
                }
                const int pixels = 1 + static_cast<int>(m_random() % 800);
                auto file = m_file->memory(rank.rank, range, pixels);
                QVERIFY(file.ok());
                auto exact = m_oracle->memory(rank.rank, range, 2'000'000'000);
                QVERIFY(exact.ok());
                QVERIFY(!file->samples.empty());
                QCOMPARE(file->samples.front().at, range.begin);
                QVERIFY(file->samples.size() <= static_cast<std::size_t>(pixels) * 2 + 1);
                std::int64_t most = 0, expectedMost = 0;
                for (const MemorySample& sample : file->samples) {
                    most = std::max(most, sample.total());
                    // The exact curve at that instant.
                    auto after = std::upper_bound(exact->samples.begin(), exact->samples.end(), sample.at,
                                                  [](Instant at, const MemorySample& s) { return at < s.at; });
                    QVERIFY(after != exact->samples.begin());
                    QCOMPARE((after - 1)->bytes, sample.bytes);
                }
                for (const MemorySample& sample : exact->samples) expectedMost = std::max(expectedMost, sample.total());
                QCOMPARE(most, expectedMost);
            }
        }
    }

    void buffersAgree()
    {
        for (const RankInfo& rank : m_oracle->info().header.ranks) {
            auto summaries = m_oracle->memorySummaries();
            std::vector<Instant> instants;
            for (const MemorySummary& s : *summaries)
                if (s.rank == rank.rank) instants.push_back(s.peakAt); // sets that are stored
            for (int i = 0; i < 40; ++i) instants.push_back(randomRange(m_oracle->info().range).begin);
            for (const Instant at : instants) {
                auto file = m_file->aliveAt(rank.rank, at, 1'000'000),
                     memory = m_oracle->aliveAt(rank.rank, at, 1'000'000);
                QVERIFY(file.ok() && memory.ok());
                QCOMPARE(keys(file->items), keys(memory->items));
                QCOMPARE(file->totalBytes, memory->totalBytes);
                for (const AllocationView& item : file->items)
                    if (item.op) QVERIFY(file->ops.contains(*item.op));
            }
            for (int i = 0; i < 20; ++i) {
                const TimeRange range = randomRange(m_oracle->info().range);
                auto file = m_file->allocations(rank.rank, range, 10),
                     memory = m_oracle->allocations(rank.rank, range, 10);
                QVERIFY(file.ok() && memory.ok());
                QCOMPARE(file->totalCount, memory->totalCount);
                QCOMPARE(file->totalBytes, memory->totalBytes);
                QCOMPARE(file->items.size(), memory->items.size());
                for (std::size_t k = 0; k < file->items.size(); ++k)
                    QCOMPARE(file->items[k].bytes, memory->items[k].bytes);
                QCOMPARE(file->leftOut, std::int64_t{0});
                QCOMPARE(file->shortest.ns, std::int64_t{0});
            }
            for (const std::int64_t mostRows : {0, 1, 40, 400, 4000}) {
                const TimeRange range = randomRange(m_oracle->info().range);
                auto some = m_file->allocations(rank.rank, range, 1'000'000, mostRows);
                auto all = m_oracle->allocations(rank.rank, range, 1'000'000);
                QVERIFY(some.ok() && all.ok());
                // What lived long enough is all there, and nothing else.
                std::erase_if(all->items,
                              [&](const AllocationView& a) { return a.end && *a.end - a.start < some->shortest; });
                if (some->shortest.ns == kLargestTimeNs) all->items.clear(); // not even those that were never freed
                QCOMPARE(keys(some->items), keys(all->items));
                QVERIFY(some->totalCount <= mostRows);
                QVERIFY((some->shortest.ns > 0) == (some->leftOut > 0) || all->items.empty());
            }
        }
        std::vector<AllocationView> file, memory;
        QVERIFY(m_file
                    ->scanAllocations([&](const AllocationView& a) {
                        file.push_back(a);
                        return true;
                    })
                    .ok());
        QVERIFY(m_oracle
                    ->scanAllocations([&](const AllocationView& a) {
                        memory.push_back(a);
                        return true;
                    })
                    .ok());
        QCOMPARE(keys(file), keys(memory));
    }

    void countersAgree()
    {
        for (std::int32_t c = 0; c < 2; ++c) {
            const CounterId counter(c);
            for (int i = 0; i < 60; ++i) {
                const TimeRange range = randomRange(m_oracle->info().range);
                const int pixels = 1 + static_cast<int>(m_random() % 500);
                auto file = m_file->counter(counter, range, pixels), memory = m_oracle->counter(counter, range, pixels);
                QVERIFY(file.ok() && memory.ok());
                QCOMPARE(file->empty(), memory->empty());
                if (file->empty()) continue;
                const auto extremes = [&](const std::vector<CounterSample>& samples) {
                    double low = samples[0].min, high = samples[0].max;
                    for (const CounterSample& s : samples) {
                        low = std::min(low, s.min);
                        high = std::max(high, s.max);
                    }
                    return std::tuple(low, high, samples.back().last);
                };
                QCOMPARE(extremes(*file), extremes(*memory));
                if (pixels > 400) continue;
                for (const CounterSample& sample : *file) QVERIFY(sample.min <= sample.max);
            }
        }
        std::vector<std::tuple<int, std::int64_t, double>> file, memory;
        QVERIFY(m_file
                    ->scanCounters([&](const CounterRecord& r) {
                        file.emplace_back(r.counter.value, r.at.ns, r.value);
                        return true;
                    })
                    .ok());
        QVERIFY(m_oracle
                    ->scanCounters([&](const CounterRecord& r) {
                        memory.emplace_back(r.counter.value, r.at.ns, r.value);
                        return true;
                    })
                    .ok());
        QCOMPARE(file, memory);
    }

    void smallRecordsAgree()
    {
        const TimeRange all{m_oracle->info().range.begin, m_oracle->info().range.end + Duration{1}};
        for (int i = 0; i < 30; ++i) {
            const TimeRange range = i == 0 ? all : randomRange(all);
            const std::optional<RankId> rank = i % 2 ? std::optional(RankId(1)) : std::nullopt;
            const std::size_t limit = i % 3 ? 100'000 : 20;
            const auto collectives = [&](TraceQuery& query) {
                auto found = query.collectives(rank, range, limit);
                std::multiset<std::tuple<int, std::int64_t, std::int64_t, std::int64_t, int, std::string, int>> set;
                for (const CollectiveView& v : *found)
                    set.insert({v.rank.value, v.record.start.ns, v.record.lastArrival.ns, v.record.end.ns,
                                static_cast<int>(v.record.operation), v.record.algorithm + v.record.protocol,
                                v.record.peer ? v.record.peer->value : -1});
                return set;
            };
            QCOMPARE(collectives(*m_file), collectives(*m_oracle));
            const auto kind = i % 2 ? std::optional(static_cast<EventKind>(i / 2 % 6)) : std::nullopt;
            const auto events = [&](TraceQuery& query) {
                auto found = query.events(range, limit, kind);
                std::multiset<std::tuple<std::int64_t, int, int, std::string>> set;
                for (const EventRecord& e : *found)
                    set.insert({e.at.ns, static_cast<int>(e.kind), e.rank ? e.rank->value : -1, e.text});
                return set;
            };
            QCOMPARE(events(*m_file), events(*m_oracle));
            const auto flows = [&](TraceQuery& query) {
                auto found = query.flows(TrackId(1), range, 100'000);
                std::multiset<std::tuple<std::string, int, std::int64_t, int, std::int64_t>> set;
                for (const FlowRecord& f : *found)
                    set.insert({f.kind, f.fromTrack.value, f.from.ns, f.toTrack.value, f.to.ns});
                return set;
            };
            QCOMPARE(flows(*m_file), flows(*m_oracle));
        }
        std::size_t flows = 0;
        QVERIFY(m_file->scanFlows([&](const FlowRecord&) { return ++flows > 0; }).ok());
        QCOMPARE(static_cast<std::int64_t>(flows), m_oracle->info().counts.flows);
        for (const RankInfo& rank : m_oracle->info().header.ranks) {
            auto file = m_file->steps(rank.rank), memory = m_oracle->steps(rank.rank);
            QCOMPARE(file->size(), memory->size());
            for (std::size_t i = 0; i < file->size(); ++i) {
                const StepRecord &a = (*file)[i].record, &b = (*memory)[i].record;
                QCOMPARE(a.step, b.step);
                QCOMPARE(a.range, b.range);
                QCOMPARE(a.loss, b.loss);
                QCOMPARE(a.learningRate, b.learningRate);
                QCOMPARE(a.gradientNorm, b.gradientNorm);
                QCOMPARE(a.samples, b.samples);
                QCOMPARE(a.tokens, b.tokens);
                QCOMPARE(a.state, b.state);
            }
        }
    }

    void jobStepsAgree()
    {
        const auto file = m_file->jobSteps(), memory = m_oracle->jobSteps();
        QVERIFY(file.ok() && memory.ok());
        QVERIFY(!memory->empty());
        QVERIFY(*file == *memory);
        for (const JobStep& step : *memory) {
            const auto ranks = m_file->stepSummaries(step.step), expected = m_oracle->stepSummaries(step.step);
            QVERIFY(ranks.ok() && expected.ok());
            std::vector<std::pair<RankId, StepIndex>> found, wanted;
            for (const StepSummary& summary : *ranks) found.emplace_back(summary.rank, summary.step);
            for (const StepSummary& summary : *expected) wanted.emplace_back(summary.rank, summary.step);
            QVERIFY(!found.empty());
            QVERIFY(found == wanted);
        }
    }

    void summariesAgree()
    {
        auto file = m_file->stepSummaries(), memory = m_oracle->stepSummaries();
        QVERIFY(file.ok() && memory.ok());
        QCOMPARE(file->size(), memory->size());
        for (std::size_t i = 0; i < file->size(); ++i) QVERIFY(test::equalUpToRounding((*file)[i], (*memory)[i], 1e-9));
        QVERIFY(*m_file->memorySummaries() == *m_oracle->memorySummaries());
        std::vector<MemorySummary> byRank;
        for (const RankInfo& rank : m_oracle->info().header.ranks) {
            const auto all = m_file->memorySummaries(rank.rank, 1'000'000);
            QVERIFY(all.ok() && *all == *m_oracle->memorySummaries(rank.rank, 1'000'000));
            const auto first = m_file->memorySummaries(rank.rank, 1);
            QVERIFY(first->size() == 1 && first->front() == all->front() && !first->front().step);
            byRank.insert(byRank.end(), all->begin(), all->end());
        }
        QVERIFY(byRank == *m_oracle->memorySummaries());
        QVERIFY(m_file->memorySummaries(RankId(12345), 10)->empty());
        QVERIFY(*m_file->collectiveSummaries() == *m_oracle->collectiveSummaries());
        for (const std::size_t limit : {std::size_t{5}, std::size_t{1000}}) {
            auto a = m_file->opSummaries(limit), b = m_oracle->opSummaries(limit);
            QCOMPARE(a->size(), b->size());
            for (std::size_t i = 0; i < a->size(); ++i) {
                QCOMPARE((*a)[i].op, (*b)[i].op);
                QCOMPARE((*a)[i].count, (*b)[i].count);
                QCOMPARE((*a)[i].total, (*b)[i].total);
                QCOMPARE((*a)[i].longest, (*b)[i].longest);
            }
        }
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

private:
    std::vector<TrackId> allTracks() const
    {
        std::vector<TrackId> tracks;
        for (const TrackView& track : m_oracle->tracks()) tracks.push_back(track.id);
        return tracks;
    }

    TimeRange randomRange(const TimeRange& all)
    {
        const double exponent = static_cast<double>(m_random() % 1000) / 1000;
        const auto length = static_cast<std::int64_t>(std::pow(static_cast<double>(all.length().ns), exponent)) + 1;
        const std::int64_t begin =
            all.begin.ns - 5 + static_cast<std::int64_t>(m_random() % static_cast<std::uint64_t>(all.length().ns));
        return {Instant{begin}, Instant{begin + length}};
    }

    QTemporaryDir m_folder{test::folderTemplate()};
    std::string m_path;
    struct Traces {
        std::unique_ptr<TraceQuery> file;
        std::unique_ptr<InMemoryTraceQuery> oracle;
    };
    std::map<int, Traces> m_traces;
    TraceQuery* m_file = nullptr;
    InMemoryTraceQuery* m_oracle = nullptr;
    std::mt19937_64 m_random;
};

FOURWALLS_TEST(StoreOracleTest, QCoreApplication)

} // namespace tst_store_oracle

#include "tst_store_oracle.moc"
