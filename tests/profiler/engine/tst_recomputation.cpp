// SPDX-License-Identifier: Apache-2.0
// Recomputation: the same losses to the last bit, the work of the forward pass once more under its own phase, and
// fewer activations.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <map>

namespace tst_recomputation {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

struct Recorded {
    std::vector<double> losses;
    double forward = 0, recompute = 0, attention = 0; ///< FLOPs of kernels inside layers; of their attention cores
    std::int64_t activations = 0;                     ///< largest total [bytes]
};

Recorded record(const char* plan)
{
    TransformerSpec t;
    t.layers = 3;
    t.hidden = 32;
    t.heads = 4;
    t.kvHeads = 2;
    t.ffnHidden = 64;
    t.vocabulary = 256;
    t.sequence = 48;
    t.positions = Positions::Rotary;
    RunSpec spec;
    spec.model = {"small", t};
    spec.plan = *parsePlan(plan);
    spec.training.steps = 3;
    spec.training.batch = 4;
    const Status resolved = resolve(spec);
    Q_ASSERT(resolved.ok());
    RunOptions options;
    options.measurePeak = false;
    options.origin = ClockOrigin::now();
    InMemoryTrace trace(describeRun(spec, options.origin));
    options.sink = &trace;
    const auto report = runTraining(spec, options);
    Recorded r;
    if (!report.ok() || !trace.finish(report->closing).ok()) return r;
    for (const auto& step : report->steps) r.losses.push_back(step.loss);
    r.activations = report->peakBytesByCategory[static_cast<std::size_t>(MemoryCategory::Activations)];
    InMemoryTraceQuery query(trace.data());
    const Status scanned = query.scanSlices([&](const SliceView& slice) {
        const OpInfo op = **query.op(slice.op);
        if (op.kind != SliceKind::Kernel || !op.layer) return true;
        if (op.phase == Phase::Forward) r.forward += op.flops;
        if (op.phase == Phase::Recompute) r.recompute += op.flops;
        const bool core = op.name == "fused attention" || op.name == "matmul batched";
        if (op.phase == Phase::Forward && core) r.attention += op.flops;
        return true;
    });
    Q_ASSERT(scanned.ok());
    return r;
}

} // namespace

class Recomputation : public QObject {
    Q_OBJECT

private slots:
    void changesMemoryAndWorkOnly_data()
    {
        QTest::addColumn<QString>("attention");
        QTest::newRow("fused") << "attention=fused";
        QTest::newRow("unfused") << "attention=unfused";
    }

    void changesMemoryAndWorkOnly()
    {
        QFETCH(QString, attention);
        const auto plan = [&](const char* recompute) { return (attention + " recompute=" + recompute).toStdString(); };
        const Recorded none = record(plan("none").c_str()), selective = record(plan("selective").c_str()),
                       full = record(plan("full").c_str());
        QCOMPARE(none.losses.size(), std::size_t{3});
        QVERIFY(selective.losses == none.losses);
        QVERIFY(full.losses == none.losses);
        QVERIFY(none.forward > 0 && none.attention > 0);
        QCOMPARE(none.recompute, 0.0);
        QCOMPARE(selective.recompute, none.attention);
        QCOMPARE(full.recompute, none.forward);
        QCOMPARE(full.forward, none.forward);
        QVERIFY(full.activations < selective.activations);
        QVERIFY(selective.activations < none.activations);
    }

    void needsATransformer()
    {
        RunSpec spec;
        auto model = loadModel("resnet50");
        QVERIFY(model.ok());
        spec.model = *model;
        spec.plan = *parsePlan("recompute=full");
        QVERIFY(resolve(spec).ok());
        const Status status = checkRunnable(spec);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().where, std::string("recompute"));
    }
};

FOURWALLS_TEST(Recomputation, QCoreApplication)

} // namespace tst_recomputation

#include "tst_recomputation.moc"
