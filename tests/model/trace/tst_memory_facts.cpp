// SPDX-License-Identifier: Apache-2.0
// Moments out of memory as texts and back, an allocator's curve, and what is a reservation.
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/memory_facts.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_memory_facts {

using namespace fourwalls;

class MemoryFactsTest : public QObject {
    Q_OBJECT

private slots:
    void sizesSurviveTheText()
    {
        OutOfMemory moment;
        moment.askedBytes = 2'147'483'648;
        moment.freeBytes = 12'345;
        EventRecord event;
        event.text = textOf(moment);
        QCOMPARE(event.text, std::string("out of memory: 2147483648 bytes wanted, 12345 bytes free on the device"));
        const OutOfMemory read = outOfMemoryOf(event);
        QCOMPARE(read.askedBytes.value(), *moment.askedBytes);
        QCOMPARE(read.freeBytes.value(), *moment.freeBytes);
        QVERIFY(!read.allocatedBytes);
        for (const char* text :
             {"out of memory", "out of memory: bytes wanted", " bytes wanted", "99999999999999999999 bytes wanted"}) {
            event.text = text;
            QVERIFY2(!outOfMemoryOf(event).askedBytes, text);
        }
    }

    void everyRanksMomentIsTold()
    {
        TraceHeader header;
        header.source = TraceSource::Imported;
        for (const int rank : {0, 1, 2}) header.ranks.push_back({RankId{rank}, "", "", 0, 0, 1});
        InMemoryTrace trace(header);
        {
            const CounterId counter =
                trace.defineCounter({RankId{1}, "allocated_bytes_since_start", CounterUnit::Bytes});
            const auto producer = trace.openProducer();
            producer->event({EventKind::OutOfMemory, RankId{2}, Instant{5}, "out of memory: 7 bytes wanted"});
            producer->event({EventKind::OutOfMemory, RankId{0}, Instant{9}, "out of memory: 8 bytes wanted"});
            producer->counter({counter, Instant{1}, -50});
            producer->counter({counter, Instant{6}, 70});
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        const auto moments = outOfMemoryMoments(query);
        QVERIFY(moments.ok());
        QCOMPARE(moments->size(), std::size_t{2});
        QCOMPARE(moments->front().rank.value(), RankId{2});
        QCOMPARE(moments->back().askedBytes.value(), std::int64_t{8});
        const auto curve = allocatorCurve(query, RankId{1}, {Instant{0}, Instant{10}}, 10);
        QVERIFY(curve.ok() && *curve);
        QVERIFY((*curve)->relative);
        QCOMPARE((*curve)->lowest, -50.0);
        QCOMPARE((*curve)->highest, 70.0);
        const auto none = allocatorCurve(query, RankId{0}, {Instant{0}, Instant{10}}, 10);
        QVERIFY(none.ok() && !*none);
    }

    void aFlatUnknownBlockIsStanding()
    {
        MemorySummary summary;
        summary.peakBytes = 1000;
        summary.atPeak[static_cast<std::size_t>(MemoryCategory::Other)] = 1000;
        QVERIFY(isStanding(summary, 990));
        QVERIFY(!isStanding(summary, 900));
        summary.atPeak = {};
        summary.atPeak[static_cast<std::size_t>(MemoryCategory::Activations)] = 1000;
        QVERIFY(!isStanding(summary, 990));
    }
};

FOURWALLS_TEST(MemoryFactsTest, QCoreApplication)

} // namespace tst_memory_facts

#include "tst_memory_facts.moc"
