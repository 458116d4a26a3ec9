// SPDX-License-Identifier: Apache-2.0
// Ranks and groups: the order of the contract, and groups that cut the world.
#include <QtTest>

#include "model/spec/rank_layout.h"
#include "tests/support/test_program.h"

#include <set>

namespace tst_rank_layout {

using namespace fourwalls;

namespace {

ParallelPlan planOf(int tp, int cp, int ep, int dp, int pp)
{
    ParallelPlan plan;
    plan.tp = tp;
    plan.cp = cp;
    plan.ep = ep;
    plan.dp = dp;
    plan.pp = pp;
    return plan;
}

std::vector<int> valuesOf(const std::vector<RankId>& ranks)
{
    std::vector<int> values;
    for (const RankId rank : ranks) values.push_back(rank.value);
    return values;
}

} // namespace

class RankLayoutTest : public QObject {
    Q_OBJECT

private slots:
    void byHand();
    void groupsCutTheWorld_data();
    void groupsCutTheWorld();
};

void RankLayoutTest::byHand()
{
    const RankLayout layout(planOf(2, 2, 4, 4, 2));            // 32 ranks
    const RankCoordinates at = layout.coordinates(RankId{23}); // 23 = 1 + 2 (1 + 2 (1 + 4 * 1))
    QVERIFY((at == RankCoordinates{1, 1, 1, 1, 3, 0}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::Tensor, RankId{23})), (std::vector{22, 23}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::Context, RankId{23})), (std::vector{21, 23}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::Data, RankId{23})), (std::vector{19, 23, 27, 31}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::DataContext, RankId{23})),
             (std::vector{17, 19, 21, 23, 25, 27, 29, 31}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::Expert, RankId{23})), (std::vector{17, 19, 21, 23}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::ExpertData, RankId{23})), (std::vector{23, 31}));
    QCOMPARE(valuesOf(layout.groupMembers(GroupKind::Pipeline, RankId{23})), (std::vector{7, 23}));
    QCOMPARE(layout.onStage(RankId{23}, 0).value, 7);
    // Stages first: Megatron-Core's order tp-cp-ep-pp-dp, 12 ranks of a replica after 12 of the other.
    ParallelPlan plan = planOf(2, 2, 1, 2, 3);
    plan.order = RankOrder::StagesFirst;
    const RankLayout stages(plan);
    const RankCoordinates there = stages.coordinates(RankId{19}); // 19 = 1 + 2 (1 + 2 (1 + 3 * 1))
    QVERIFY((there == RankCoordinates{1, 1, 1, 1, 0, 3}));
    QCOMPARE(valuesOf(stages.groupMembers(GroupKind::Tensor, RankId{19})), (std::vector{18, 19}));
    QCOMPARE(valuesOf(stages.groupMembers(GroupKind::Context, RankId{19})), (std::vector{17, 19}));
    QCOMPARE(valuesOf(stages.groupMembers(GroupKind::Pipeline, RankId{19})), (std::vector{15, 19, 23}));
    QCOMPARE(valuesOf(stages.groupMembers(GroupKind::Data, RankId{19})), (std::vector{7, 19}));
    QCOMPARE(valuesOf(stages.groupMembers(GroupKind::DataContext, RankId{19})), (std::vector{5, 7, 17, 19}));
    QCOMPARE(stages.onStage(RankId{19}, 0).value, 15);
}

void RankLayoutTest::groupsCutTheWorld_data()
{
    QTest::addColumn<int>("tp");
    QTest::addColumn<int>("cp");
    QTest::addColumn<int>("ep");
    QTest::addColumn<int>("dp");
    QTest::addColumn<int>("pp");
    QTest::addColumn<bool>("stagesFirst");
    for (const int tp : {1, 2, 3})
        for (const int cp : {1, 2})
            for (const int dp : {1, 3, 4})
                for (const int pp : {1, 2, 5})
                    for (const int ep : {1, 2, 3, 6})
                        for (const bool stagesFirst : {false, true})
                            if (dp * cp % ep == 0 && (ep == 1 || !stagesFirst))
                                QTest::addRow("tp=%d cp=%d ep=%d dp=%d pp=%d%s", tp, cp, ep, dp, pp,
                                              stagesFirst ? " stages first" : "")
                                    << tp << cp << ep << dp << pp << stagesFirst;
}

void RankLayoutTest::groupsCutTheWorld()
{
    QFETCH(int, tp);
    QFETCH(int, cp);
    QFETCH(int, ep);
    QFETCH(int, dp);
    QFETCH(int, pp);
    QFETCH(bool, stagesFirst);
    ParallelPlan plan = planOf(tp, cp, ep, dp, pp);
    if (stagesFirst) plan.order = RankOrder::StagesFirst;
    const RankLayout layout(plan);
    QCOMPARE(layout.worldSize(), tp * cp * dp * pp);
    for (int r = 0; r < layout.worldSize(); ++r) {
        const RankCoordinates at = layout.coordinates(RankId{r});
        QCOMPARE(layout.rankAt(at).value, r);
        QCOMPARE(at.context + cp * at.data, at.expert + ep * at.expertReplica);
    }
    for (const GroupKind kind : kGroupKinds) {
        std::set<int> seen;
        for (int group = 0; group < layout.groupCount(kind); ++group) {
            const std::vector<RankId> members = layout.members(kind, group);
            QCOMPARE(int(members.size()), layout.groupSize(kind));
            for (std::size_t i = 0; i < members.size(); ++i) {
                QVERIFY(seen.insert(members[i].value).second);
                QCOMPARE(layout.groupOf(kind, members[i]), group);
                QCOMPARE(layout.indexInGroup(kind, members[i]), int(i));
                // Members agree in every coordinate but the group's own.
                const RankCoordinates a = layout.coordinates(members.front()), b = layout.coordinates(members[i]);
                if (kind != GroupKind::World && kind != GroupKind::Tensor) QCOMPARE(a.tensor, b.tensor);
                if (kind != GroupKind::World && kind != GroupKind::Pipeline) QCOMPARE(a.stage, b.stage);
                if (kind == GroupKind::Data || kind == GroupKind::Tensor) QCOMPARE(a.context, b.context);
                if (kind == GroupKind::Expert) QCOMPARE(a.expertReplica, b.expertReplica);
                if (kind == GroupKind::ExpertData) QCOMPARE(a.expert, b.expert);
            }
        }
        QCOMPARE(int(seen.size()), layout.worldSize());
    }
}

FOURWALLS_TEST(RankLayoutTest, QCoreApplication)

} // namespace tst_rank_layout

#include "tst_rank_layout.moc"
