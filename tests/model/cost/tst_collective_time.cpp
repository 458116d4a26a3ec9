// SPDX-License-Identifier: Apache-2.0
// Times and bytes of collectives: alpha-beta by hand, measured curves, shares of the adapters, monotony.
#include <QTest>

#include "model/cost/collective_time.h"
#include "tests/support/test_program.h"

namespace tst_collective_time {

using namespace fourwalls;
using namespace fourwalls::cost;

class CollectiveTimeTest : public QObject {
    Q_OBJECT

private slots:
    void placement();
    void bytesOnTheWire();
    void curveIsMetAtItsPoints();
    void ringBetweenNodesByHand();
    void adaptersAreShared();
    void manyNodesTakeLonger();
    void moreBandwidthIsNeverSlower();
};

namespace {

constexpr double kBase = 8.4e-6;

ClusterSpec cluster()
{
    ClusterSpec c;
    c.devicesPerNode = 8;
    c.device.family = "family";
    c.nodeLink = {100e9, 1e-6};
    c.nicLink = {10e9, 10e-6};
    c.nicsPerNode = 8;
    return c;
}

Calibration plain()
{
    Calibration c;
    c.nodeLinkFraction = c.networkFraction = 1;
    return c;
}

} // namespace

void CollectiveTimeTest::placement()
{
    QCOMPARE(placeGroup(8, 1, 8).perNode, 8);
    QVERIFY(placeGroup(8, 1, 8).insideNode());
    QCOMPARE(placeGroup(4, 8, 8).perNode, 1); // one rank of each node
    QCOMPARE(placeGroup(16, 2, 8).perNode, 4);
    QCOMPARE(placeGroup(16, 2, 8).nodes(), 4);
    QCOMPARE(placeGroup(1, 64, 8).nodes(), 1);
}

void CollectiveTimeTest::bytesOnTheWire()
{
    QCOMPARE(CollectiveTimes::wireBytes(Collective::AllReduce, 800, 8), 1400.0);
    QCOMPARE(CollectiveTimes::wireBytes(Collective::AllGather, 800, 8), 700.0);
    QCOMPARE(CollectiveTimes::wireBytes(Collective::AllToAll, 800, 1), 0.0);
}

void CollectiveTimeTest::curveIsMetAtItsPoints()
{
    Calibration calibration = plain();
    calibration.curves.push_back({"family", "all_reduce", 8, 0, NodeFabric::NvSwitch, 100e9, {1e6, 1e8}, {10e9, 80e9}});
    const CollectiveTimes times(cluster(), calibration);
    const GroupPlacement group{8, 8};
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e6, group) - 1.75e6 / 10e9) < 1e-12);
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e8, group) - 1.75e8 / 80e9) < 1e-9);
    // A gather is half an all-reduce of the same buffer.
    QVERIFY(qAbs(times.seconds(Collective::AllGather, 1e8, group) - 0.875e8 / 80e9) < 1e-9);
    // Below the first point the time is latency, above the last one the rate stays.
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e3, group) - 1.75e6 / 10e9) < 1e-12);
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e10, group) - 1.75e10 / 80e9) < 1e-6);
}

void CollectiveTimeTest::ringBetweenNodesByHand()
{
    const CollectiveTimes times(cluster(), plain());
    const GroupPlacement four{4, 1};
    // 2 x 3 steps over the network and 1.5 GB at this rank's adapter.
    const double ring = kBase + 6 * 10e-6 + 1.5e9 / 10e9;
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e9, four, CollectiveAlgorithm::Ring) - ring) < 1e-9);
    // A tree: 2 log2(4) steps and the buffer up and down at 92 % of the rate.
    const double tree = kBase + 4 * 10e-6 + 2e9 / (0.92 * 10e9);
    QVERIFY(qAbs(times.seconds(Collective::AllReduce, 1e9, four, CollectiveAlgorithm::Tree) - tree) < 1e-9);
    QVERIFY(times.seconds(Collective::AllReduce, 1e9, four) <= std::min(ring, tree) + 1e-12);
    QCOMPARE(times.seconds(Collective::AllReduce, 1e9, GroupPlacement{1, 1}), 0.0);
    QVERIFY(qAbs(times.pointToPoint(1e9, false) - (kBase + 10e-6 + 0.1)) < 1e-9);
    QVERIFY(qAbs(times.pointToPoint(1e9, true) - (kBase + 1e-6 + 0.01)) < 1e-9);
}

void CollectiveTimeTest::adaptersAreShared()
{
    ClusterSpec few = cluster();
    few.nicsPerNode = 2; // a quarter of an adapter per device
    ClusterSpec crowded = cluster();
    crowded.oversubscription = 4;
    const GroupPlacement four{4, 1};
    const double full = CollectiveTimes(cluster(), plain()).seconds(Collective::AllReduce, 1e10, four);
    QVERIFY(qAbs(CollectiveTimes(few, plain()).seconds(Collective::AllReduce, 1e10, four) / full - 4) < 0.01);
    QVERIFY(qAbs(CollectiveTimes(crowded, plain()).seconds(Collective::AllReduce, 1e10, four) / full - 4) < 0.01);
    // What was measured on a kind of network holds for it alone.
    ClusterSpec measured = cluster();
    measured.network = "slow";
    Calibration calibration = plain();
    calibration.networkFractions["slow"] = 0.5;
    QVERIFY(qAbs(CollectiveTimes(measured, calibration).seconds(Collective::AllReduce, 1e10, four) / full - 2) < 0.01);
    QVERIFY(qAbs(CollectiveTimes(cluster(), calibration).seconds(Collective::AllReduce, 1e10, four) / full - 1) < 1e-9);
    // All-to-all over a torus crosses several hops, over a fat tree one.
    ClusterSpec torus = cluster();
    torus.topology = Topology::Torus;
    const GroupPlacement wide{512, 8};
    QVERIFY(CollectiveTimes(torus, plain()).seconds(Collective::AllToAll, 1e9, wide) >
            2 * CollectiveTimes(cluster(), plain()).seconds(Collective::AllToAll, 1e9, wide));
}

void CollectiveTimeTest::manyNodesTakeLonger()
{
    Calibration calibration = plain();
    calibration.nodesLatency = 1e-3;
    calibration.nodesLatencyBytes = 1e6;
    const CollectiveTimes times(cluster(), calibration), before(cluster(), plain());
    // 64 nodes: eight times a millisecond and, of 1 MB, half of it; a gather half of that.
    const GroupPlacement wide{64, 1};
    const auto seconds = [&](Collective kind, double bytes) {
        return times.seconds(kind, bytes, wide, CollectiveAlgorithm::Ring);
    };
    const double wire = 2 * 63.0 / 64 / 10e9;
    QVERIFY(qAbs(seconds(Collective::AllReduce, 1e9) - (kBase + 8e-3 / 1.001 + wire * 1e9)) < 1e-9);
    QVERIFY(qAbs(seconds(Collective::AllReduce, 1e6) - (kBase + 4e-3 + wire * 1e6)) < 1e-9);
    QVERIFY(qAbs(seconds(Collective::AllGather, 1e6) - (kBase + 2e-3 + wire / 2 * 1e6)) < 1e-9);
    // Never less than the ring's own hops.
    QCOMPARE(seconds(Collective::AllReduce, 8),
             before.seconds(Collective::AllReduce, 8, wide, CollectiveAlgorithm::Ring));
}

void CollectiveTimeTest::moreBandwidthIsNeverSlower()
{
    for (const Collective kind :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::AllToAll})
        for (const GroupPlacement group : {GroupPlacement{8, 8}, GroupPlacement{4, 1}, GroupPlacement{32, 4}})
            for (double bytes = 1; bytes < 1e11; bytes *= 37) {
                double last = 1e300;
                for (double rate = 1e9; rate < 1e13; rate *= 3) {
                    ClusterSpec c = cluster();
                    c.nodeLink.bytesPerSecond = c.nicLink.bytesPerSecond = rate;
                    const double seconds = CollectiveTimes(c, plain()).seconds(kind, bytes, group);
                    QVERIFY(seconds > 0 && seconds <= last * (1 + 1e-12));
                    last = seconds;
                }
            }
}

FOURWALLS_TEST(CollectiveTimeTest, QCoreApplication)

} // namespace tst_collective_time

#include "tst_collective_time.moc"
