// SPDX-License-Identifier: Apache-2.0
// What hops take by themselves, and collectives of such hops, worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/hop_services.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tst_hop_services {

using namespace fourwalls;
using namespace fourwalls::diagnose;

namespace {

struct Hop {
    int round, from, to;
    std::int64_t begin, end;
};

struct Case {
    JoinedOperation operation;
    HopSchedule schedule;
};

Case caseOf(std::vector<std::int64_t> arrivals, const std::vector<Hop>& hops)
{
    Case made;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
        CollectiveView member;
        member.rank = RankId{static_cast<std::int32_t>(i)};
        member.record.start = Instant{arrivals[i]};
        made.operation.members.push_back(member);
        made.schedule.members.push_back(member.rank);
    }
    for (const Hop& each : hops) {
        ScheduledHop hop;
        hop.round = each.round;
        hop.from = each.from;
        hop.to = each.to;
        hop.bytes = 100;
        hop.recorded = TimeRange{Instant{each.begin}, Instant{each.end}};
        made.schedule.hops.push_back(hop);
    }
    made.schedule.recorded = true;
    return made;
}

std::optional<double> tookOf(const std::vector<HopService>& hops, int from, int to)
{
    for (const HopService& hop : hops)
        if (hop.from.value == from && hop.to.value == to) return hop.took;
    return std::nullopt;
}

} // namespace

class HopServicesTest : public QObject {
    Q_OBJECT
private slots:
    /// Ranks 0 and 1 send to rank 2, whose port takes 50 for the message of 1 and then 10 for that of 0.
    void portsTakeTurns()
    {
        const Case of = caseOf({0, 0, 0}, {{0, 1, 2, 0, 50}, {0, 0, 2, 0, 60}});
        const auto turns = hopServices(of.operation, of.schedule, HopWaits::Turns);
        QCOMPARE(tookOf(turns, 1, 2), std::optional(50.0));
        QCOMPARE(tookOf(turns, 0, 2), std::optional(10.0));
        QCOMPARE(tookOf(hopServices(of.operation, of.schedule, HopWaits::Sender), 0, 2), std::optional(60.0));
    }

    /// A port that is kept for 10 by each message: the second arrives as soon as it is free, and tells nothing of its link;
    /// the third comes later than that.
    void waitingForThePortTellsNothing()
    {
        const Case of = caseOf({0, 0, 0, 0}, {{0, 0, 3, 0, 50}, {0, 1, 3, 0, 60}, {0, 2, 3, 0, 90}});
        const auto hold = [](const ScheduledHop&) { return 10.0; };
        const auto told = hopServices(of.operation, of.schedule, HopWaits::Sender, hold);
        QCOMPARE(told.size(), std::size_t{2});
        QCOMPARE(tookOf(told, 0, 3), std::optional(50.0));
        QCOMPARE(tookOf(told, 2, 3), std::optional(90.0));
        QCOMPARE(hopServices(of.operation, of.schedule, HopWaits::Sender).size(), std::size_t{3});
    }

    /// Rank 1 comes at 40: the message of rank 0, sent at 0, arrives at 45.
    void aLateReceiverHidesNoTransfer()
    {
        const Case of = caseOf({0, 40}, {{0, 0, 1, 40, 45}});
        QCOMPARE(tookOf(hopServices(of.operation, of.schedule, HopWaits::Turns), 0, 1), std::optional(45.0));
        QCOMPARE(tookOf(hopServices(of.operation, of.schedule, HopWaits::Both), 0, 1), std::optional(5.0));
        // One that comes when all is there does not see when it came.
        const Case late = caseOf({0, 40}, {{0, 0, 1, 40, 40}});
        QVERIFY(hopServices(late.operation, late.schedule, HopWaits::Turns).empty());
    }

    /// What rank 1 sends in the second round waits for what it received in the first.
    void roundsWaitForThoseBefore()
    {
        const Case of = caseOf({0, 0, 0}, {{0, 0, 1, 0, 30}, {1, 1, 2, 30, 42}});
        for (const HopWaits waits : {HopWaits::Both, HopWaits::Turns, HopWaits::Sender})
            QCOMPARE(tookOf(hopServices(of.operation, of.schedule, waits), 1, 2), std::optional(12.0));
    }

    /// A ring of three in two rounds of 10 takes 20. With one hop of 25 every round has it: 50. With one that arrives 7 later
    /// and holds its port for 10, as all do, only the chain through it is longer: 27.
    void lengthOfARing()
    {
        std::vector<Hop> hops;
        for (int round = 0; round < 2; ++round)
            for (int from = 0; from < 3; ++from) hops.push_back({round, from, (from + 1) % 3, 0, 1});
        const Case ring = caseOf({0, 0, 0}, hops);
        const auto length = [&ring](HopTime spoilt) {
            return collectiveLength(ring.schedule, [spoilt](const ScheduledHop& hop) {
                return hop.from == 1 ? spoilt : HopTime{10, 0};
            });
        };
        QCOMPARE(length({10, 0}), 20.0);
        QCOMPARE(length({25, 0}), 50.0);
        QCOMPARE(length({10, 7}), 27.0);
    }

    /// All of three send to all at once: each port carries two hops of 10. A hop of 30 makes its ports busy for 40.
    void lengthOfAllToAll()
    {
        std::vector<Hop> hops;
        for (int distance = 1; distance < 3; ++distance)
            for (int from = 0; from < 3; ++from) hops.push_back({0, from, (from + distance) % 3, 0, 1});
        const Case all = caseOf({0, 0, 0}, hops);
        const auto length = [&all](double slow) {
            return collectiveLength(all.schedule, [slow](const ScheduledHop& hop) {
                return HopTime{hop.from == 0 && hop.to == 1 ? slow : 10, 0};
            });
        };
        QCOMPARE(length(10), 20.0);
        QCOMPARE(length(30), 40.0);
    }
};

FOURWALLS_TEST(HopServicesTest, QCoreApplication)

} // namespace tst_hop_services

#include "tst_hop_services.moc"
