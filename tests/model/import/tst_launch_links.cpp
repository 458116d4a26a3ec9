// SPDX-License-Identifier: Apache-2.0
// Launches and the operators around them, in memory and beyond, against a search through all of them.
#include <QtTest>

#include "model/import/common/launch_links.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tst_launch_links {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

struct Operator {
    int lane;
    std::int64_t begin, end;
    Phase phase;
    int collective;
};

} // namespace

class LaunchLinksTest : public QObject {
    Q_OBJECT

private slots:
    void theInnermostOperatorAroundTheCallCounts()
    {
        LaunchLinks links;
        OperatorContext outer, inner, product;
        outer.phase = Phase::BackwardInput;
        outer.collective = 4;
        inner.phase = Phase::Optimizer;
        product.flops = 12;
        links.addOperator(0, 0, 100, outer);
        links.addOperator(0, 10, 50, inner);
        links.addOperator(0, 20, 30, product);
        links.addOperator(1, 0, 100, inner);
        links.addLaunch(7, 0, 25);
        links.addLaunch(7, 0, 5); // an earlier call with the same id
        links.addLaunch(8, 0, 25);
        links.addLaunch(9, 0, 60);
        links.addLaunch(10, 0, 101);
        links.addLaunch(11, 1, 25);
        QVERIFY(links.resolve(Phase::Forward).ok());
        QCOMPARE(links.find(7)->at, std::int64_t(5));
        QCOMPARE(links.find(7)->phase, Phase::BackwardInput);
        QCOMPARE(links.find(8)->phase, Phase::Optimizer);
        QCOMPARE(links.find(8)->collective, 4);
        QCOMPARE(links.flopsLeft(), std::int64_t(1));
        QCOMPARE(links.takeFlops(links.find(8)->flopsOperator), 12.0);
        QCOMPARE(links.takeFlops(links.find(8)->flopsOperator), 0.0);
        QCOMPARE(links.find(9)->phase, Phase::BackwardInput);
        QCOMPARE(links.find(10)->phase, Phase::Forward);
        QCOMPARE(links.find(11)->phase, Phase::Optimizer);
        QVERIFY(!links.find(6) && !links.find(12));
    }

    /// A node of autograd that launches nothing (of a tensor on the processor) runs on the caller's thread.
    void onlyNodesThatLaunchMakeABackwardThread()
    {
        LaunchLinks links;
        OperatorContext node;
        node.tellPhase("autograd::engine::evaluate_function: MmBackward0");
        node.autogradNode = true;
        QVERIFY(node.phase == Phase::BackwardInput && !node.named);
        links.addOperator(0, 50, 60, node);
        links.addOperator(1, 100, 200, node);
        links.addLaunch(1, 0, 10);
        links.addLaunch(2, 1, 150);
        links.addLaunch(3, 1, 250);
        QVERIFY(links.resolve(Phase::Forward).ok());
        QCOMPARE(links.find(1)->phase, Phase::Forward);
        QCOMPARE(links.find(2)->phase, Phase::BackwardInput);
        QCOMPARE(links.find(3)->phase, Phase::None); // forward or backward: this thread does both
    }

    /// A program's own range counts where no nodes say more.
    void namedRangesGiveWayToNodes()
    {
        for (const bool nodes : {false, true}) {
            LaunchLinks links;
            OperatorContext forward, backward, node;
            forward.tellPhase("## forward ##");
            backward.tellPhase("## backward ##");
            node.tellPhase("autograd::engine::evaluate_function: MmBackward0");
            node.autogradNode = true;
            QVERIFY(forward.named && backward.named);
            links.addOperator(0, 0, 100, forward);
            links.addOperator(0, 200, 300, backward);
            if (nodes) links.addOperator(1, 200, 300, node);
            links.addLaunch(1, 0, 10);
            links.addLaunch(2, 0, 210); // of the loss
            links.addLaunch(3, 1, 250);
            QVERIFY(links.resolve(Phase::Forward).ok());
            QCOMPARE(links.find(1)->phase, Phase::Forward);
            QCOMPARE(links.find(2)->phase, nodes ? Phase::Forward : Phase::BackwardInput);
            QCOMPARE(links.find(3)->phase, nodes ? Phase::BackwardInput : Phase::Forward);
        }
    }

    /// More calls and operators than are kept in memory at once, in no order.
    void manyCallsInNoOrder()
    {
        constexpr int kLanes = 3, kOperators = 150'000, kCalls = 450'000;
        const QTemporaryDir folder;
        LaunchLinks links(folder.path().toStdString());
        std::mt19937_64 random(11);
        // Operators of one lane follow each other without touching; every third holds a smaller one.
        std::vector<Operator> operators;
        for (int i = 0; i < kOperators; ++i) {
            const std::int64_t begin = i / kLanes * 100;
            operators.push_back({i % kLanes, begin, begin + 90, i % 2 == 0 ? Phase::BackwardInput : Phase::None, i});
            if (i % 3 == 0) operators.push_back({i % kLanes, begin + 20, begin + 60, Phase::Optimizer, -1});
        }
        const std::vector<Operator> inOrder = operators;
        std::shuffle(operators.begin(), operators.end(), random);
        for (const Operator& each : operators) {
            OperatorContext context;
            context.phase = each.phase;
            context.collective = each.collective;
            links.addOperator(each.lane, each.begin, each.end, context);
        }
        struct Call {
            std::int64_t correlation, at;
            int lane;
        };
        std::vector<Call> calls;
        for (int i = 0; i < kCalls; ++i)
            calls.push_back({static_cast<std::int64_t>(random() % (kCalls * 2)) - 1000,
                             static_cast<std::int64_t>(random() % (kOperators / kLanes * 100 + 500)),
                             static_cast<int>(random() % (kLanes + 1))});
        for (const Call& call : calls) links.addLaunch(call.correlation, call.lane, call.at);
        QVERIFY(links.resolve(Phase::Forward).ok());

        std::map<int, std::vector<Operator>> byLane;
        for (const Operator& each : inOrder) byLane[each.lane].push_back(each);
        std::map<std::int64_t, Call> first;
        for (const Call& call : calls) {
            const auto [found, isNew] = first.try_emplace(call.correlation, call);
            if (!isNew && std::tie(call.at, call.lane) < std::tie(found->second.at, found->second.lane))
                found->second = call;
        }
        for (std::int64_t id = -1001; id < kCalls * 2; id += 3) {
            const auto launch = links.find(id);
            const auto expected = first.find(id);
            QCOMPARE(launch.has_value(), expected != first.end());
            if (!launch) continue;
            const Call& call = expected->second;
            QCOMPARE(launch->at, call.at);
            QCOMPARE(launch->lane, call.lane);
            Phase phase = Phase::None;
            int collective = -1;
            const std::vector<Operator>& lane = byLane[call.lane];
            auto next = std::upper_bound(lane.begin(), lane.end(), call.at,
                                         [](std::int64_t at, const Operator& o) { return at < o.begin; });
            // At most two can be around it: the last ones that begin before it.
            for (int i = 0; i < 2 && next != lane.begin(); ++i) {
                --next;
                if (next->end < call.at) continue;
                if (phase == Phase::None) phase = next->phase;
                if (collective < 0) collective = next->collective;
            }
            QCOMPARE(launch->phase, phase == Phase::None ? Phase::Forward : phase);
            QCOMPARE(launch->collective, collective);
        }
    }
};

FOURWALLS_TEST(LaunchLinksTest, QCoreApplication)

} // namespace tst_launch_links

#include "tst_launch_links.moc"
