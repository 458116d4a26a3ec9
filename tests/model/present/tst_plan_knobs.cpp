// SPDX-License-Identifier: Apache-2.0
// What the What-if sliders can be set to and what moves along with each.
#include <QtTest/QtTest>

#include "model/present/plan_knobs.h"
#include "tests/support/small_spec.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tst_plan_knobs {

using namespace fourwalls;

class TestPlanKnobs : public QObject {
    Q_OBJECT
private slots:
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

    void modulesAreOfNetworkAndFramework()
    {
        RunSpec spec = sample::smallSpec();
        spec.framework = "fourwalls";
        QVERIFY(nameableModules(spec).empty());
        spec.framework = "megatron-core";
        QVERIFY((nameableModules(spec) == std::vector{kRecomputeCoreAttention, kRecomputeLayerNorm, kRecomputeMlp}));
        spec.framework = "/some/file.json";
        QVERIFY(nameableModules(spec).empty());
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
        RunSpec spec = sample::smallSpec();
        spec.plan.documents = {{3, 16}, {1, 64}}; // a network without sequences packs none
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
};

FOURWALLS_TEST(TestPlanKnobs, QCoreApplication)

} // namespace tst_plan_knobs

#include "tst_plan_knobs.moc"
