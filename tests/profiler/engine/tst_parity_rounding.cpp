// SPDX-License-Identifier: Apache-2.0
// Plans against the one-rank run on the CPU device, in f32 and in bf16 with f32 master weights: what is left is rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

namespace tst_parity_rounding {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr const char* kPlans[] = {
    "dp=2",
    "dp=4 microbatches=2 overlap=0",
    "dp=2 zero=1 microbatches=2",
    "dp=4 zero=2",
    "dp=2 zero=3 microbatches=2",
    "dp=4 zero=3 reshard=0",
    "pp=2 microbatches=4",
    "pp=4 microbatches=4 schedule=gpipe",
    "pp=2 vpp=2 microbatches=4",
    "pp=2 microbatches=4 schedule=zb",
    "pp=2 microbatches=4 schedule=zbv",
    "tp=2",
    "tp=4 sp=1",
    "cp=2",
    "tp=2 recompute=full",
    "dp=2 pp=2 microbatches=2 zero=1",
    "dp=2 tp=2 zero=3 sp=1",
    "dp=2 cp=2 zero=2",
    "tp=2 pp=2 microbatches=2 sp=1",
    "dp=2 tp=2 pp=2 microbatches=2 zero=1",
};

} // namespace

class ParityRounding : public QObject {
    Q_OBJECT

    std::map<bool, PlanOutcome> m_references;
    ParityTally m_tally;

private slots:
    void plansEqualOneRank_data()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<bool>("bf16");
        for (const bool bf16 : {false, true})
            for (const char* plan : kPlans) QTest::addRow("%s %s", bf16 ? "bf16" : "f32", plan) << plan << bf16;
    }

    void plansEqualOneRank()
    {
        QFETCH(QString, plan);
        QFETCH(bool, bf16);
        if (bf16 && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        const NumberFormat format{bf16 ? DType::Bf16 : DType::F32, DType::F32};
        const RunSpec spec = paritySpec(plan.toStdString());
        if (!m_references.count(bf16)) m_references[bf16] = runPlan(referenceOf(spec), format);
        const std::string difference =
            m_tally.compare(bf16 ? "bf16" : "f32", runPlan(spec, format), m_references[bf16], parityTolerance(format));
        QVERIFY2(difference.empty(), difference.c_str());
    }

    void cleanupTestCase()
    {
        for (const std::string& line : m_tally.lines()) qInfo("%s", line.c_str());
    }
};

FOURWALLS_TEST(ParityRounding, QCoreApplication)

} // namespace tst_parity_rounding

#include "tst_parity_rounding.moc"
