// SPDX-License-Identifier: GPL-3.0-or-later
// The specification that the What-if sliders begin with and come back to, that of the device that computed; and typed
// numbers.
#include <QtTest/QtTest>

#include "model/present/plan_knobs.h"
#include "tests/views/fail_on_warning.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/what_if.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tst_slider_spec {

using namespace fourwalls;
using namespace fourwalls::views;

class TestSliderSpec : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void typedNumbers()
    {
        QCOMPARE(typedNumber(QStringLiteral("24")), std::optional(24.0));
        QCOMPARE(typedNumber(QStringLiteral("1 024")), std::optional(1024.0));
        QCOMPARE(typedNumber(QStringLiteral("1,024")), std::optional(1024.0));
        QCOMPARE(typedNumber(QStringLiteral("1,048,576")), std::optional(1048576.0));
        QCOMPARE(typedNumber(QStringLiteral("0,125")), std::optional(0.125));
        QCOMPARE(typedNumber(QStringLiteral("2,5")), std::optional(2.5));
        QCOMPARE(typedNumber(QStringLiteral("2k")), std::optional(2000.0));
        QCOMPARE(typedNumber(QStringLiteral("0.5"), 1e9), std::optional(5e8));
        QCOMPARE(typedNumber(QStringLiteral("200 Gb/s"), 1e9), std::optional(2e11));
        for (const char* text : {"", "x", "-3", "G", "1..2", "3 apples"})
            QVERIFY2(!typedNumber(QString::fromLatin1(text)), text);
    }

    void moreRanksOfOneMachineAndBack()
    {
        RunSpec spec = sample::smallSpec("dp=2", 32);
        spec.model = *loadModel("gpt-tiny");
        spec.training.sequence = 32;
        spec.cluster = *loadCluster("this-machine");
        spec.cluster.device.peakFlops[Precision::F32] = 5e10;
        spec.cluster.device.memoryBytesPerSecond = 1e10;
        spec.cluster.nodeLink = {3e9, 1e-5};
        spec.cluster.devicesPerNode = 2;
        spec.training.precision = Precision::F32;
        spec.training.device = DeviceKind::Cpu;
        spec.framework = "fourwalls";
        WhatIf whatIf;
        whatIf.setRecorded(spec, {});
        whatIf.change(spec, QStringLiteral("start"));
        KnobLocks locks;
        const auto more = withValue(*whatIf.spec(), Knob::Data, 8, locks);
        QVERIFY(more);
        whatIf.change(*more, QStringLiteral("more"));
        QCOMPARE(whatIf.spec()->cluster.devicesPerNode, 8);
        const auto back = withValue(*whatIf.spec(), Knob::Data, 2, locks);
        QVERIFY(back);
        RunSpec again = *back;
        again.training.batch = spec.training.batch;
        again.plan.microbatches = spec.plan.microbatches;
        whatIf.change(again, QStringLiteral("back"));
        QVERIFY(whatIf.isAsRecorded());
    }

    void whoHearsOfTheRecordedSpecFindsSlidersThatFollow()
    {
        WhatIf whatIf;
        whatIf.setRecorded(sample::smallSpec(), {});
        bool followed = false;
        connect(&whatIf, &WhatIf::recordedChanged, &whatIf, [&] { followed = whatIf.isAsRecorded(); });
        RunSpec other = sample::smallSpec();
        other.plan.zero = 2;
        whatIf.setRecorded(other, {});
        QVERIFY(followed);
        QCOMPARE(whatIf.spec()->plan.zero, 2);
    }

    /// A processor with the links of a GPU cluster: what computed is what the known spec describes.
    void theKnownSpecIsOfTheDeviceThatComputed()
    {
        TraceInfo info;
        info.header.source = TraceSource::Recorded;
        info.header.clock = ClockKind::Device;
        RunSpec spec = sample::smallSpec("dp=2 pp=4 microbatches=8", 16);
        spec.model = *loadModel("gpt-tiny");
        spec.training.sequence = 128;
        spec.training.precision = Precision::F32;
        spec.training.device = DeviceKind::Cpu;
        spec.cluster = *loadCluster("dgx-a100");
        spec.framework = "fourwalls";
        info.header.spec = spec;
        for (int rank = 0; rank < 8; ++rank)
            info.header.ranks.push_back({RankId{rank}, "AMD EPYC, one core", "here", rank / 2, 80'000'000'000, 1});
        info.closing.peakFlopsPerDevice = 241e9;
        info.closing.memoryBytesPerSecond = 37e9;

        KnownSpec known = knownSpec(info);
        QVERIFY(known.spec && !known.isGuess);
        const ClusterSpec& cluster = known.spec->cluster;
        QCOMPARE(cluster.device.family, std::string("cpu"));
        QCOMPARE(cluster.device.name, std::string("AMD EPYC, one core"));
        QCOMPARE(cluster.device.peak(Precision::F32), std::optional(241e9));
        QVERIFY(!cluster.device.peak(Precision::Bf16));
        QCOMPARE(cluster.device.memoryBytesPerSecond, 37e9);
        QCOMPARE(cluster.device.memoryBytes, std::int64_t{80'000'000'000});
        QVERIFY(cluster.nodeLink == spec.cluster.nodeLink && cluster.nicLink == spec.cluster.nicLink);
        QCOMPARE(cluster.devicesPerNode, spec.cluster.devicesPerNode);
        QVERIFY(cluster.name != spec.cluster.name); // so that the real ones can be chosen
        QCOMPARE(known.assumed.front().field, std::string("device"));
        QVERIFY(known.assumed.front().why.find("dgx-a100") != std::string::npos);
        // One core at its peak would take 6 FLOPs per parameter and token; a GPU's time would be far below.
        const auto step = cost::predictStep(*known.spec);
        QVERIFY(step);
        const double ideal = step->modelFlopsPerStep / (8 * 241e9);
        QVERIFY2(step->seconds > ideal && step->seconds < 4 * ideal,
                 qPrintable(QString::number(step->seconds / ideal)));

        // By the wall clock the messages went through this machine's memory too.
        info.header.clock = ClockKind::Wall;
        known = knownSpec(info);
        QVERIFY(known.spec->cluster.fabric == NodeFabric::Shared);
        QCOMPARE(known.spec->cluster.devicesPerNode, 8);
        QCOMPARE(known.spec->cluster.nodeLink.bytesPerSecond, 37e9 / 2);
        QVERIFY(cost::predictStep(*known.spec));

        // Another GPU than the one named is taken from its preset; the same one under its driver's name stays.
        info.header.clock = ClockKind::Wall;
        info.header.spec->training.device = DeviceKind::Cuda;
        for (RankInfo& rank : info.header.ranks) rank.device = "NVIDIA A100-SXM4-40GB";
        known = knownSpec(info);
        QCOMPARE(known.spec->cluster.device.peak(Precision::Bf16), spec.cluster.device.peak(Precision::Bf16));
        QCOMPARE(known.spec->cluster.name, std::string("dgx-a100"));
        for (RankInfo& rank : info.header.ranks) rank.device = "NVIDIA H100 80GB HBM3";
        known = knownSpec(info);
        QCOMPARE(known.spec->cluster.device.family, std::string("hopper"));
        QCOMPARE(known.spec->cluster.device.name, std::string("NVIDIA H100 80GB HBM3"));
        QVERIFY(known.spec->cluster.nodeLink == spec.cluster.nodeLink);
    }
};

FOURWALLS_TEST(TestSliderSpec, QApplication)

} // namespace tst_slider_spec

#include "tst_slider_spec.moc"
