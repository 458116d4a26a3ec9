// SPDX-License-Identifier: Apache-2.0
// All plans of tst_parity against the one-rank run on the CPU device, in f32 and in bf16 with f32 master weights: losses,
// gradients and weights of five steps agree within the rounding of the format. tst_parity_rounding has some of them.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parity_plans.h"
#include "tests/support/test_program.h"

namespace tst_parity_matrix {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

class ParityMatrix : public QObject {
    Q_OBJECT

    std::map<std::string, PlanOutcome> m_references;
    ParityTally m_tally;

private slots:
    void plansEqualOneRank_data()
    {
        QTest::addColumn<int>("row");
        QTest::addColumn<bool>("bf16");
        for (const bool bf16 : {false, true})
            for (int i = 0; i < static_cast<int>(std::size(kParityPlans)); ++i)
                QTest::addRow("%s %s, %d layers, row %d", bf16 ? "bf16" : "f32", kParityPlans[i].plan,
                              kParityPlans[i].layers, i)
                    << i << bf16;
    }

    void plansEqualOneRank()
    {
        QFETCH(int, row);
        QFETCH(bool, bf16);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        const NumberFormat format{bf16 ? DType::Bf16 : DType::F32, DType::F32};
        // AdamW divides gradients by their own size, so it makes weights of what is only rounding: SGD in all rows.
        ParityPlan plan = kParityPlans[row];
        plan.adamw = false;
        const RunSpec spec = paritySpec(plan);
        // In bf16 each pass of fuse=0 rounds, and so does the softmax of unfused attention: the reference is cut alike.
        std::string key = referenceKey(plan) + (bf16 ? "b" : "f");
        if (!spec.plan.fuse) key += "apart";
        if (!spec.plan.fusedAttention) key += "scores";
        if (!m_references.count(key)) m_references[key] = runPlan(referenceOf(spec), format);
        const std::string difference =
            m_tally.compare(bf16 ? "bf16" : "f32", runPlan(spec, format), m_references[key], parityTolerance(format));
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void cleanupTestCase()
    {
        for (const std::string& line : m_tally.lines()) qInfo("%s", line.c_str());
    }
};

FOURWALLS_TEST(ParityMatrix, QCoreApplication)

} // namespace tst_parity_matrix

#include "tst_parity_matrix.moc"
