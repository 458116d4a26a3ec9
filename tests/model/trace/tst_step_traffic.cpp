// SPDX-License-Identifier: Apache-2.0
// Who sends how much to whom in one step, and hop by hop: formulas against traces worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/hop_schedule.h"
#include "model/trace/traffic_formulas.h"
#include "model/trace/traffic_matrix.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

namespace tst_step_traffic {

using namespace fourwalls;
using namespace fourwalls::test;

class StepTrafficTest : public QObject {
    Q_OBJECT

private slots:
    void trafficAsRecorded();
    void trafficByAlgorithm_data();
    void trafficByAlgorithm();
    void trafficOfSeveralStepsIsTheirMean();
    void trafficOfAPrediction();
    void ringHopsByTheBook();
    void recordedHopsKeepTheirTimes();
};

void StepTrafficTest::trafficAsRecorded()
{
    Builder b(3);
    b.work(0, "k", Phase::None, 0, 10);
    TraceClosing closing;
    closing.traffic = {{"dp", RankId{0}, RankId{1}, 100, 150, 3},
                       {"tp", RankId{0}, RankId{1}, 10, 20, 1},
                       {"dp", RankId{2}, RankId{0}, 7, 9, 1}};
    InMemoryTraceQuery trace = b.finish(closing);
    const TrafficMatrix matrix = trafficMatrix(trace.info(), {});
    QCOMPARE(matrix.origin, TrafficMatrix::Origin::Recorded);
    QCOMPARE(matrix.ranks.size(), std::size_t(3));
    QCOMPARE(matrix.groups, (std::vector<std::string>{"dp", "tp"}));
    QCOMPARE(matrix.dense(true)[1], 170.0);
    QCOMPARE(matrix.dense(false, 0)[1], 100.0);
    QCOMPARE(matrix.dense(true)[6], 9.0);
    QCOMPARE(matrix.total(false), 117.0);
}

void StepTrafficTest::trafficByAlgorithm_data()
{
    QTest::addColumn<QString>("algorithm");
    QTest::addColumn<QList<double>>("row"); // what rank 1 of 4 sends, as multiples of its wire bytes
    QTest::newRow("ring") << "ring" << QList<double>{0, 0, 1, 0};
    QTest::newRow("direct") << "direct" << QList<double>{1 / 3.0, 0, 1 / 3.0, 1 / 3.0};
    QTest::newRow("tree") << "tree" << QList<double>{1, 0, 0, 0}; // a leaf sends to the root alone
    QTest::newRow("unknown") << "" << QList<double>{0, 0, 1, 0};
}

void StepTrafficTest::trafficByAlgorithm()
{
    QFETCH(const QString, algorithm);
    QFETCH(const QList<double>, row);
    Builder b(4);
    for (int rank = 0; rank < 4; ++rank) {
        b.step(rank, 0, 0, 100);
        CollectiveRecord record;
        record.track = b.wire(rank);
        record.end = Instant{50};
        record.group = b.world;
        record.payloadBytes = 4000;
        record.wireBytes = 6000;
        record.algorithm = algorithm.toStdString();
        b.producer->collective(record);
    }
    InMemoryTraceQuery trace = b.finish();
    const TrafficMatrix matrix = trafficMatrix(trace.info(), *communicationStep(trace, {}));
    QCOMPARE(matrix.origin, TrafficMatrix::Origin::Derived);
    QCOMPARE(matrix.assumedRing, algorithm.isEmpty());
    const std::vector<double> dense = matrix.dense(true);
    for (std::size_t to = 0; to < 4; ++to) QVERIFY(qAbs(dense[4 + to] - 6000 * row[static_cast<int>(to)]) < 1e-6);
    // What the other algorithms would send of the 4000 bytes: 2 (n - 1), and n (n - 1) of the naive one.
    const auto rows = groupTraffic(trace.info(), *communicationStep(trace, {}));
    QCOMPARE(rows.size(), std::size_t(1));
    QVERIFY(qAbs(rows[0].ring - 4000 * 6) < 1e-6);
    QVERIFY(qAbs(rows[0].tree - 4000 * 6) < 1e-6);
    QVERIFY(qAbs(rows[0].naive - 4000 * 12) < 1e-6);
    QCOMPARE(rows[0].measured, 24000.0);
    QVERIFY(!rows[0].published);
}

void StepTrafficTest::trafficOfSeveralStepsIsTheirMean()
{
    Builder b(2);
    for (int step = 0; step < 3; ++step)
        for (int rank = 0; rank < 2; ++rank) {
            b.step(rank, step, 100 * step, 100 * step + 90);
            CollectiveRecord record;
            record.track = b.wire(rank);
            record.start = record.lastArrival = Instant{100 * step + 10};
            record.end = Instant{100 * step + 50};
            record.group = b.world;
            record.sequence = step;
            record.payloadBytes = 1000 * (step + 1);
            record.wireBytes = 1000 * (step + 1);
            b.producer->collective(record);
        }
    InMemoryTraceQuery trace = b.finish();
    const auto rows = groupTraffic(trace.info(), *communicationOfSteps(trace));
    QCOMPARE(rows.size(), std::size_t(1));
    QCOMPARE(rows[0].operations, 1.0);
    QCOMPARE(rows[0].payload, 2000.0);
    QCOMPARE(rows[0].measured, 4000.0);
    QVERIFY(qAbs(rows[0].ring - 2000 * 2) < 1e-6);
}

void StepTrafficTest::trafficOfAPrediction()
{
    // Two stages of two ranks each; the trace has one rank per stage.
    TraceHeader header = headerOf(0, TraceSource::Predicted);
    header.spec = RunSpec{};
    header.spec->model = *loadModel("gpt-tiny");
    header.spec->plan = *parsePlan("dp=2 pp=2");
    for (const int rank : {0, 2}) {
        RankInfo info;
        info.rank = RankId{rank};
        info.pipelineStage = rank / 2;
        info.multiplicity = 2;
        header.ranks.push_back(info);
    }
    InMemoryTrace sink(header);
    const GroupId dp = sink.defineGroup({"dp", {RankId{0}, RankId{1}}, "modelled"});
    const GroupId pp = sink.defineGroup({"pp", {RankId{0}, RankId{2}}, "modelled"});
    const TrackId track = sink.defineTrack({RankId{0}, TrackKind::CommStream, "communication", 0});
    {
        const auto producer = sink.openProducer();
        StepRecord step;
        step.range = {Instant{0}, Instant{20}};
        for (const int rank : {0, 2}) producer->step(RankId{rank}, step);
        producer->collective(
            {track, Instant{0}, Instant{0}, Instant{9}, CollectiveOp::AllReduce, dp, 0, 100, 100, {}, "", ""});
        producer->collective(
            {track, Instant{10}, Instant{10}, Instant{19}, CollectiveOp::Send, pp, 0, 30, 30, RankId{2}, "", ""});
    }
    QVERIFY(sink.finish({}).ok());
    InMemoryTraceQuery trace(sink.data());
    const TrafficMatrix matrix = trafficMatrix(trace.info(), *communicationStep(trace, {}));
    QCOMPARE(matrix.origin, TrafficMatrix::Origin::Modelled);
    QCOMPARE(matrix.ranks.size(), std::size_t(4));
    const std::vector<double> dense = matrix.dense(true);
    QCOMPARE(dense[0 * 4 + 1], 100.0);
    QCOMPARE(dense[1 * 4 + 0], 100.0); // the rank that the first one stands for
    QCOMPARE(dense[0 * 4 + 2], 30.0);
    QCOMPARE(dense[1 * 4 + 3], 30.0);
    QCOMPARE(matrix.total(true), 260.0);
    const auto rows = groupTraffic(trace.info(), *communicationStep(trace, {}));
    QCOMPARE(rows[0].group, std::string("dp"));
    QCOMPARE(rows[0].measured, 200.0);
    QCOMPARE(rows[1].measured, 60.0);
    QVERIFY(rows[0].published && *rows[0].published > 0);
}

void StepTrafficTest::ringHopsByTheBook()
{
    Builder b(4);
    for (int rank = 0; rank < 4; ++rank) {
        b.step(rank, 0, 0, 100);
        b.collective(rank, 10, 10, 90);
    }
    InMemoryTraceQuery trace = b.finish();
    const HopSchedule schedule = *hopSchedule(trace, communicationStep(trace, {})->operations.front());
    QCOMPARE(schedule.algorithm, std::string("ring"));
    QVERIFY(schedule.algorithmKnown && !schedule.recorded);
    QCOMPARE(schedule.rounds, 6);                    // 2(n - 1)
    QCOMPARE(schedule.hops.size(), std::size_t(24)); // every member in every round
    for (const ScheduledHop& hop : schedule.hops) {
        QCOMPARE(hop.to, (hop.from + 1) % 4);
        QCOMPARE(hop.parts, 1);
        QCOMPARE(hop.bytes, 1000.0); // a fourth of the buffer
        QCOMPARE(hop.reduce, hop.round < 3);
    }
    const auto bits = [&](int round, int member) {
        int sum = 0;
        const auto held = schedule.contributions(round);
        for (const std::uint64_t part : held[static_cast<std::size_t>(member)]) sum += std::popcount(part);
        return sum;
    };
    QCOMPARE(bits(0, 2), 4);                                                  // its own of each part
    QCOMPARE(bits(3, 2), 4 + 6);                                              // one part whole, two on the way
    for (int member = 0; member < 4; ++member) QCOMPARE(bits(6, member), 16); // everybody has everything
}

void StepTrafficTest::recordedHopsKeepTheirTimes()
{
    Builder b(2);
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 100);
        b.collective(rank, 10, 10, 60);
        b.hop(rank, 1 - rank, 20 + rank, 30, 2100);
        b.hop(rank, 1 - rank, 30, 55 + rank, 1900);
    }
    InMemoryTraceQuery trace = b.finish();
    const HopSchedule schedule = *hopSchedule(trace, communicationStep(trace, {})->operations.front());
    QVERIFY(schedule.recorded);
    QCOMPARE(schedule.hops.size(), std::size_t(4));
    for (const ScheduledHop& hop : schedule.hops) {
        QVERIFY(hop.recorded);
        QCOMPARE(hop.bytes, hop.round == 0 ? 2100.0 : 1900.0);
        if (hop.round == 0) QCOMPARE(hop.recorded->end, Instant{30});
        if (hop.round == 1) QCOMPARE(hop.recorded->end, Instant{55 + hop.to});
    }
}

FOURWALLS_TEST(StepTrafficTest, QCoreApplication)

} // namespace tst_step_traffic

#include "tst_step_traffic.moc"
