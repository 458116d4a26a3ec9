// SPDX-License-Identifier: Apache-2.0
// Plans against the one-rank run in double: losses, gradients and weights of five steps. Any mistake in who computes,
// sends or adds what shows far above the rounding of 1e-13.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parity_plans.h"
#include "tests/support/test_program.h"

namespace tst_parity {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kDouble{DType::F64, DType::F64};

} // namespace

class ParityTest : public QObject {
    Q_OBJECT

    std::map<std::string, PlanOutcome> m_references;
    ParityTally m_tally;

private slots:
    void plansEqualOneRank_data()
    {
        QTest::addColumn<int>("row");
        for (int i = 0; i < static_cast<int>(std::size(kParityPlans)); ++i) {
            const ParityPlan& p = kParityPlans[i];
            QTest::addRow("%s, %d layers%s%s", p.plan, p.layers, p.untied ? ", untied" : "", p.adamw ? ", adamw" : "")
                << i;
        }
    }

    void plansEqualOneRank()
    {
        QFETCH(int, row);
        const ParityPlan& p = kParityPlans[row];
        const RunSpec spec = paritySpec(p);
        ParityTolerance tolerance = parityTolerance(kDouble);
        if (p.adamw) {
            tolerance.compareWeights = false;
            tolerance.gradient = 1e-8; // the noise of vanishing gradients moves weights
        }
        const std::string key = referenceKey(p);
        if (!m_references.count(key)) m_references[key] = runPlan(referenceOf(spec), kDouble);
        const std::string difference =
            m_tally.compare(p.adamw ? "double, AdamW" : "double", runPlan(spec, kDouble), m_references[key], tolerance);
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void cleanupTestCase()
    {
        for (const std::string& line : m_tally.lines()) qInfo("%s", line.c_str());
    }
};

FOURWALLS_TEST(ParityTest, QCoreApplication)

} // namespace tst_parity

#include "tst_parity.moc"
