// SPDX-License-Identifier: Apache-2.0
// The claims: complete, each with a verdict that its numbers bear out.
#include <QtTest>

#include "model/claims/claims.h"
#include "tests/support/test_program.h"

#include <cmath>
#include <map>
#include <set>

namespace tst_claims {

using namespace fourwalls;
using namespace fourwalls::claims;

class ClaimsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void everyClaimIsWhole();
    void verdicts_data();
    void verdicts();
    void judging();

private:
    std::map<std::string, Claim> m_claims;
};

void ClaimsTest::initTestCase()
{
    const auto claims = allClaims();
    QVERIFY2(claims.ok(), claims.ok() ? "" : claims.error().message().c_str());
    for (const Claim& claim : *claims) QVERIFY2(m_claims.emplace(claim.id, claim).second, claim.id.c_str());
    QVERIFY(m_claims.size() >= 50);
}

void ClaimsTest::everyClaimIsWhole()
{
    std::set<Wall> walls;
    for (const auto& [id, claim] : m_claims) {
        QVERIFY2(!claim.statement.empty() && !claim.unit.empty() && !claim.because.empty() && !claim.working.empty(),
                 id.c_str());
        QVERIFY2(std::isfinite(claim.claimed), id.c_str());
        QVERIFY2(!claim.computed || std::isfinite(*claim.computed), id.c_str());
        // Without a number of our own there is nothing to reproduce or to differ from.
        QVERIFY2(claim.computed.has_value() == (claim.verdict != Verdict::CannotBeChecked), id.c_str());
        walls.insert(claim.wall);
    }
    QCOMPARE(walls.size(), std::size_t(4));
}

void ClaimsTest::verdicts_data()
{
    QTest::addColumn<double>("computed");
    QTest::addColumn<int>("verdict");
    const int reproduced = int(Verdict::Reproduced), differs = int(Verdict::Differs);
    // By hand.
    QTest::newRow("dp-traffic") << 1395.7 << reproduced;
    QTest::newRow("fsdp-traffic") << 174.5 << reproduced;
    QTest::newRow("tp-backward-traffic") << 27'915.0 << differs;
    QTest::newRow("tp-forward-traffic") << 22'901.0 << differs;
    QTest::newRow("pp-traffic") << 17.89 << reproduced;
    QTest::newRow("3d-traffic") << 84.75 << reproduced;
    QTest::newRow("one-switch-20-days") << 153.7 << differs;
    QTest::newRow("fills-400g") << 20.0 << differs;
    QTest::newRow("allreduce-groups") << 32.0 << reproduced;
    QTest::newRow("resnet50-resident") << 306.7 << reproduced;
    QTest::newRow("resnet50-weights") << 102.2 << differs;
    QTest::newRow("gpt3-fp16") << 349.4 << reproduced;
    QTest::newRow("bloom-1.4tb") << 2.816 << differs;
    QTest::newRow("embedding-1250mb") << 1310.7 << reproduced;
    QTest::newRow("one-minute-68-hours") << 68.27 << reproduced;
    QTest::newRow("resnet152-40-days") << 25.2 << differs;
    QTest::newRow("dense-net-parameters") << 2'703'616.0 << reproduced;
    QTest::newRow("naive-2n-1") << 7.0 << reproduced;
    QTest::newRow("interrupted-1k") << 63.2 << reproduced;
    QTest::newRow("interrupted-8k-9999") << 55.07 << reproduced;
}

void ClaimsTest::verdicts()
{
    QFETCH(double, computed);
    QFETCH(int, verdict);
    const auto found = m_claims.find(QTest::currentDataTag());
    QVERIFY(found != m_claims.end());
    QVERIFY2(std::abs(*found->second.computed / computed - 1) < 0.005,
             qPrintable(QString::number(*found->second.computed)));
    QCOMPARE(int(found->second.verdict), verdict);
}

void ClaimsTest::judging()
{
    Claim claim;
    claim.claimed = 100;
    QCOMPARE(judged(claim, 109, 0.1).verdict, Verdict::Reproduced);
    QCOMPARE(judged(claim, 111, 0.1).verdict, Verdict::Differs);
    QCOMPARE(judged(claim, 500, 0, Relation::AtLeast).verdict, Verdict::Reproduced);
    QCOMPARE(judged(claim, 99, 0, Relation::AtLeast).verdict, Verdict::Differs);
    QCOMPARE(judged(claim, 99, 0, Relation::AtMost).verdict, Verdict::Reproduced);
}

FOURWALLS_TEST(ClaimsTest, QCoreApplication)

} // namespace tst_claims

#include "tst_claims.moc"
