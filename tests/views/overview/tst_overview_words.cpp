// SPDX-License-Identifier: GPL-3.0-or-later
// What the overview says of idle time: what later steps do not have, and what nobody can tell, is not called avoidable.
#include "tests/support/test_program.h"
#include "views/overview/overview_words.h"

#include <QtTest>

namespace tst_overview_words {

using namespace fourwalls;
using namespace fourwalls::views;

class OverviewWordsTest : public QObject {
    Q_OBJECT
private slots:
    void idleIsAvoidableOnlyWhereItsCauseIsKnown()
    {
        OverviewFacts facts;
        facts.metrics.waterfall.set(WaterfallPart::Idle, 0.98);
        facts.insight.emplace();
        const compare::WallVerdict verdict = compare::judgeWalls(wallFactsOf(facts, nullptr));
        const auto said = [&] { return reasonOf(Wall::Performance, facts, verdict, nullptr, ByteUnit::GB); };
        QVERIFY2(said().contains(QStringLiteral("avoidable")), qPrintable(said()));
        facts.insight->findings.unexplainedIdle = 0.98;
        QVERIFY2(!said().contains(QStringLiteral("avoidable")), qPrintable(said()));
        QVERIFY2(said().contains(QStringLiteral("does not tell why")), qPrintable(said()));
    }
};

FOURWALLS_TEST(OverviewWordsTest, QApplication)

} // namespace tst_overview_words

#include "tst_overview_words.moc"
