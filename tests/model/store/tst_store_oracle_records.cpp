// SPDX-License-Identifier: Apache-2.0
// Memory, counters, collectives, events, flows, steps and summaries of the file against those of the in-memory trace, which
// computes every answer from all records: random traces, random windows.
#include "tests/model/store/two_answers.h"
#include "tests/support/equal_summaries.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tst_store_oracle_records {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

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

class StoreOracleRecordsTest : public QObject, private TwoAnswers {
    Q_OBJECT

private slots:
    void initTestCase_data() { addSeeds(); }
    void init() { choose(); }

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
        for (std::size_t i = 0; i < file->size(); ++i) QVERIFY(equalUpToRounding((*file)[i], (*memory)[i], 1e-9));
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
};

FOURWALLS_TEST(StoreOracleRecordsTest, QCoreApplication)

} // namespace tst_store_oracle_records

#include "tst_store_oracle_records.moc"
