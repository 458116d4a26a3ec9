// SPDX-License-Identifier: GPL-3.0-or-later
// What the What-if sliders can be set to and what moves along with each; typed numbers; and the specification that the
// sliders begin with: that of the device that computed.
#include <QtTest/QtTest>

#include "tests/views/fail_on_warning.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/plan_knobs.h"
#include "views/whatif/what_if.h"
#ifndef Q_MOC_RUN // moc cannot read the standard library's headers of threads
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace tst_plan_knobs {

using namespace fourwalls;
using namespace fourwalls::views;

class TestPlanKnobs : public QObject {
    Q_OBJECT
private:
    std::unique_ptr<tests::FailOnWarning> m_warnings;

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }

    void degreesMultiplyToTheDevices()
    {
        const RunSpec spec = sample::smallSpec();
        const KnobLocks locks = KnobLocks::usual();
        for (const Knob knob : {Knob::Data, Knob::Tensor, Knob::Pipeline, Knob::Context}) {
            const std::vector<double> values = feasibleValues(spec, knob, locks, &spec);
            QVERIFY(values.size() > 1);
            QVERIFY(std::is_sorted(values.begin(), values.end()));
            for (const double value : values) {
                const auto changed = withValue(spec, knob, value, locks);
                QVERIFY(changed);
                QCOMPARE(valueOf(*changed, knob), value);
                QCOMPARE(changed->plan.worldSize(), 8);
                QCOMPARE(changed->training.batch, 32);
                RunSpec resolved = *changed;
                QVERIFY(resolve(resolved).ok());
            }
        }
        QVERIFY(!withValue(spec, Knob::Tensor, 3, locks)); // 16 heads do not divide
        KnobLocks none;
        const auto grown = withValue(spec, Knob::Tensor, 4, none);
        QVERIFY(grown);
        QCOMPARE(grown->plan.worldSize(), 16); // nothing else moves where nothing is kept
        QCOMPARE(grown->plan.dp, 2);
    }

    void locksKeepTheirValues()
    {
        const RunSpec spec = sample::smallSpec();
        KnobLocks locks = KnobLocks::usual();
        locks.set(Knob::Data, true);
        const auto changed = withValue(spec, Knob::Tensor, 4, locks);
        QVERIFY(changed);
        QCOMPARE(changed->plan.dp, 2);
        QCOMPARE(changed->plan.pp, 1);
        locks.set(Knob::Pipeline, true);
        locks.set(Knob::Context, true);
        QVERIFY(!withValue(spec, Knob::Tensor, 4, locks));
        QCOMPARE(feasibleValues(spec, Knob::Tensor, locks, nullptr), std::vector<double>{2});
    }

    void whatMovesAlongIsSaid()
    {
        const RunSpec spec = sample::smallSpec();
        QVERIFY(movedAlong(spec, spec, Knob::Tensor).empty());
        const auto changed = withValue(spec, Knob::Tensor, 4, KnobLocks::usual());
        QVERIFY(changed);
        const std::vector<Knob> along = movedAlong(spec, *changed, Knob::Tensor);
        QVERIFY(!along.empty());
        for (const Knob knob : along) QVERIFY(knob != Knob::Tensor && valueOf(spec, knob) != valueOf(*changed, knob));
        // Every other one is as it was.
        for (std::size_t i = 0; i < kKnobCount; ++i) {
            const auto knob = static_cast<Knob>(i);
            if (knob != Knob::Tensor && std::ranges::find(along, knob) == along.end())
                QCOMPARE(valueOf(spec, knob), valueOf(*changed, knob));
        }
    }

    void theBatchIsKeptOrFollows()
    {
        const RunSpec spec = sample::smallSpec();
        const auto kept = withValue(spec, Knob::Microbatches, 16, KnobLocks::usual());
        QVERIFY(kept);
        QCOMPARE(kept->training.batch, 32);
        QCOMPARE(valueOf(*kept, Knob::MicrobatchSize), 1.0);
        const auto follows = withValue(spec, Knob::Microbatches, 16, KnobLocks());
        QVERIFY(follows);
        QCOMPARE(follows->training.batch, 128);
        const auto larger = withValue(spec, Knob::GlobalBatch, 64, KnobLocks::usual());
        QVERIFY(larger);
        QCOMPARE(larger->training.batch, 64);
        QCOMPARE(larger->plan.dp, 2);
    }

    void chunksNeedAnInterleavedSchedule()
    {
        const RunSpec spec = sample::smallSpec();
        const auto chunks = withValue(spec, Knob::Chunks, 2, KnobLocks::usual());
        QVERIFY(chunks);
        QCOMPARE(chunks->plan.schedule, PipelineSchedule::Interleaved);
        const auto flat = withValue(*chunks, Knob::Pipeline, 1, KnobLocks::usual());
        QVERIFY(flat);
        QCOMPARE(flat->plan.vpp, 1);
        QCOMPARE(flat->plan.schedule, PipelineSchedule::OneFOneB);
    }

    void otherNetworksAndMachinesFit()
    {
        const RunSpec spec = sample::smallSpec();
        for (const char* name : {"resnet50", "moe-tiny", "dlrm-tiny", "llama3-70b"}) {
            RunSpec changed = withModel(spec, *loadModel(name));
            QVERIFY2(resolve(changed).ok(), name);
        }
        for (const char* name : {"v100-pcie", "dgx-b200", "rtx4090"}) {
            RunSpec changed = withCluster(spec, *loadCluster(name));
            QVERIFY2(resolve(changed).ok(), name);
            QVERIFY(changed.cluster.device.peak(changed.training.precision));
        }
    }

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

FOURWALLS_TEST(TestPlanKnobs, QApplication)

} // namespace tst_plan_knobs

#include "tst_plan_knobs.moc"
