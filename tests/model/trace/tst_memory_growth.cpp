// SPDX-License-Identifier: Apache-2.0
// Whose memory rises over the steps: a leak of one maker beside buffers that come and go.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/memory_growth.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_memory_growth {

using namespace fourwalls;

namespace {

/// Each step: the cache keeps `leak` bytes more, and an activation of 1000 bytes lives within the step.
std::unique_ptr<TraceQuery> traceOf(int steps, std::int64_t leak, bool hasSteps = true)
{
    TraceHeader header;
    header.ranks.push_back({RankId{0}, "device", "host", 0, 0, 1});
    InMemoryTrace trace(header);
    const auto makerOf = [&](const char* name) {
        OpInfo op;
        op.name = name;
        return trace.defineOp(op);
    };
    const OpId weights = makerOf("weights"), cache = makerOf("remember · cache.py:7"), mlp = makerOf("mlp");
    {
        const auto producer = trace.openProducer();
        std::int64_t next = 0;
        const auto make = [&](OpId op, std::int64_t at, std::int64_t bytes) {
            AllocationRecord record;
            record.id = AllocationId{++next};
            record.at = Instant{at};
            record.bytes = bytes;
            record.op = op;
            producer->allocated(RankId{0}, record);
            return record.id;
        };
        make(weights, 0, 5000);
        for (int s = 0; s < steps; ++s) {
            const std::int64_t begin = s * 100;
            const AllocationId activation = make(mlp, begin + 10, 1000);
            if (leak > 0) make(cache, begin + 20, leak);
            producer->freed(RankId{0}, activation, Instant{begin + 80});
            if (!hasSteps) continue;
            StepRecord step;
            step.step = StepIndex{s};
            step.range = {Instant{begin}, Instant{begin + 100}};
            producer->step(RankId{0}, step);
        }
    }
    if (!trace.finish({}).ok()) return nullptr;
    return std::make_unique<InMemoryTraceQuery>(trace.data());
}

} // namespace

class MemoryGrowthTest : public QObject {
    Q_OBJECT

private slots:
    void trends()
    {
        const Trend line = trendOf({{0, 1}, {1, 3}, {2, 5}, {4, 9}});
        QCOMPARE(line.slope, 2.0);
        QCOMPARE(line.rising, 1.0);
        // One wild point moves the median of the slopes little.
        const Trend wild = trendOf({{0, 0}, {1, 1}, {2, 2}, {3, 300}, {4, 4}, {5, 5}, {6, 6}});
        QVERIFY(std::abs(wild.slope - 1) < 0.5);
        QCOMPARE(trendOf({{0, 1}}).slope, 0.0);
    }

    void theLeakStandsFirst()
    {
        const auto trace = traceOf(30, 64);
        const auto growth = memoryGrowth(*trace, RankId{0}, 10);
        QVERIFY2(growth.ok(), growth.ok() ? "" : growth.error().message().c_str());
        QVERIFY(growth->ofSteps);
        QCOMPARE(growth->steps.size(), std::size_t(10));
        QCOMPARE(growth->steps.front().value, 0);
        QCOMPARE(growth->steps.back().value, 29);
        QCOMPARE(growth->total.front(), std::int64_t(5064));
        QCOMPARE(growth->total.back(), std::int64_t(5000 + 30 * 64));
        QVERIFY(std::abs(growth->trend.slope - 64) < 1e-9);
        const MakerGrowth& first = growth->makers.front();
        QCOMPARE(first.op->name, std::string("remember · cache.py:7"));
        QCOMPARE(first.grown(), std::int64_t(29 * 64));
        QCOMPARE(first.countFirst, std::int64_t(1));
        QCOMPARE(first.countLast, std::int64_t(30));
        QVERIFY(first.trend.rising >= kMostlyRising);
        // What comes and goes within a step is not alive at its end.
        for (const MakerGrowth& each : growth->makers) QVERIFY(each.op->name != "mlp");
    }

    void nothingGrows()
    {
        const auto trace = traceOf(12, 0);
        const auto growth = memoryGrowth(*trace, RankId{0});
        QVERIFY(growth.ok());
        QCOMPARE(growth->trend.slope, 0.0);
        QCOMPARE(growth->makers.front().grown(), std::int64_t(0));
    }

    void withoutSteps()
    {
        const auto trace = traceOf(30, 64, false);
        const auto growth = memoryGrowth(*trace, RankId{0}, 5);
        QVERIFY(growth.ok() && !growth->ofSteps);
        QCOMPARE(growth->moments.size(), std::size_t(5));
        QVERIFY(growth->trend.rising >= kMostlyRising);
        QCOMPARE(growth->makers.front().op->name, std::string("remember · cache.py:7"));
        QVERIFY(memoryGrowth(*traceOf(0, 0), RankId{3}).ok());
    }

    void twoMoments()
    {
        const auto trace = traceOf(30, 64);
        const auto steps = trace->jobSteps();
        QVERIFY(steps.ok());
        const Instant from = (*steps)[4].range.end - Duration{1}, to = (*steps)[9].range.end - Duration{1};
        const auto change = memoryBetween(*trace, RankId{0}, from, to);
        QVERIFY(change.ok() && change->between && !change->ofSteps);
        QVERIFY(change->moments == (std::vector<Instant>{from, to}));
        QCOMPARE(change->total.back() - change->total.front(), std::int64_t(5 * 64));
        const MakerGrowth& first = change->makers.front();
        QCOMPARE(first.op->name, std::string("remember · cache.py:7"));
        QCOMPARE(first.bytes.front(), std::int64_t(5 * 64));
        QCOMPARE(first.grown(), std::int64_t(5 * 64));
        QCOMPARE(first.countFirst, std::int64_t(5));
        QCOMPARE(first.countLast, std::int64_t(10));
        // What shrank stands last.
        const auto back = memoryBetween(*trace, RankId{0}, to, from);
        QVERIFY(back.ok());
        QCOMPARE(back->makers.back().grown(), std::int64_t(-5 * 64));
    }
};

FOURWALLS_TEST(MemoryGrowthTest, QCoreApplication)

} // namespace tst_memory_growth

#include "tst_memory_growth.moc"
