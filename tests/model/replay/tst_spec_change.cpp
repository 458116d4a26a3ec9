// SPDX-License-Identifier: Apache-2.0
// What another plan makes of a recorded step, and how much of the answer rests on shapes that were recorded.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/spec_change.h"
#include "tests/support/test_program.h"

namespace tst_spec_change {

using namespace fourwalls;
using namespace fourwalls::replay;

class SpecChangeTest : public QObject {
    Q_OBJECT

private slots:
    void sharesOfShapes_data();
    void sharesOfShapes();
    void othersRatesMeasureNothing();
};

/// A recording of which only the specification matters here.
Recording recordingOf(const char* plan, std::int64_t batch)
{
    RunSpec spec;
    spec.model = *loadModel("llama-7b");
    spec.cluster = *loadCluster("dgx-a100");
    spec.framework = "megatron-core";
    spec.plan = *parsePlan(plan);
    spec.training.batch = batch;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    spec.training.device = DeviceKind::Cuda;
    Recording recording;
    recording.info.header.spec = spec;
    return recording;
}

MachineRates ratesOf(bool fromRecording)
{
    return {*loadCluster("dgx-a100"), *loadCalibration("published"), fromRecording};
}

void SpecChangeTest::sharesOfShapes_data()
{
    QTest::addColumn<QString>("change");
    QTest::addColumn<double>("least");
    QTest::addColumn<double>("most");
    // What stays beside the passes is the optimizer and the reduction of gradients.
    QTest::newRow("nothing changes") << "plan=dp=4 tp=2 microbatches=4" << 0.85 << 1.0;
    QTest::newRow("twice the micro-batches") << "plan=dp=2 tp=2 microbatches=8" << 0.9 << 1.0;
    QTest::newRow("states cut") << "plan=dp=4 tp=2 microbatches=4 zero=1" << 0.85 << 1.0;
    // As many FLOPs in products, but of other widths.
    QTest::newRow("products of other widths") << "plan=dp=2 tp=4 microbatches=4" << 0.0 << 0.4;
    QTest::newRow("other rows everywhere") << "plan=dp=4 tp=2 microbatches=8" << 0.0 << 0.05;
}

void SpecChangeTest::sharesOfShapes()
{
    QFETCH(QString, change);
    QFETCH(double, least);
    QFETCH(double, most);
    const Recording recording = recordingOf("dp=4 tp=2 microbatches=4", 32);
    const auto changes = std::vector{*parseChange(change.toStdString())};
    const MachineRates rates = ratesOf(true);
    const auto ratio = ratioOfSpecs(recording, changes, &rates);
    QVERIFY2(ratio.ok(), ratio.ok() ? "" : ratio.error().message().c_str());
    QVERIFY2(ratio->measured >= least && ratio->measured <= most, qPrintable(QString::number(ratio->measured)));
    QVERIFY(ratio->measured + ratio->modelled <= 1);
    const auto says = [&](const Sentence& each) { return each.inWords().find("recorded shapes") != std::string::npos; };
    QCOMPARE(std::any_of(ratio->assumed.begin(), ratio->assumed.end(), says), ratio->measured > 0);
}

/// Rates that were not learned from the recording say nothing of what its operators took.
void SpecChangeTest::othersRatesMeasureNothing()
{
    const Recording recording = recordingOf("dp=4 tp=2 microbatches=4", 32);
    const auto changes = std::vector{*parseChange("plan=dp=4 tp=2 microbatches=4 zero=1")};
    const MachineRates rates = ratesOf(false);
    QCOMPARE(ratioOfSpecs(recording, changes, &rates)->measured, 0.0);
    QCOMPARE(ratioOfSpecs(recording, changes)->measured, 0.0);
}

FOURWALLS_TEST(SpecChangeTest, QCoreApplication)

} // namespace tst_spec_change

#include "tst_spec_change.moc"
