// SPDX-License-Identifier: Apache-2.0
// ResNet-50 under data parallelism, ZeRO and pipelines against one rank with equal micro-batches (batch normalisation sees one at
// a time): losses and gradient norms of two steps, and so the weights between them, agree to rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_resnet_parity {

using namespace fourwalls;
using namespace fourwalls::engine;

class ResNetParity : public QObject {
    Q_OBJECT

    static Result<RunReport> run(const char* plan)
    {
        RunSpec spec;
        spec.model = {"small images", ResNetSpec{50, 32, 10}};
        spec.plan = *parsePlan(plan);
        spec.training.steps = 2;
        spec.training.batch = 16;
        spec.training.optimizer = Optimizer::Sgd;
        spec.training.learningRate = 0.02;
        spec.cluster.name = "this-machine";
        if (const Status status = resolve(spec); !status.ok()) return status.error();
        RunOptions options;
        options.measurePeak = false;
        return runTraining(spec, options);
    }

private slots:
    void equalsEqualMicrobatches_data()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<QString>("reference");
        QTest::newRow("dp=2") << "dp=2"
                              << "microbatches=2";
        QTest::newRow("dp=2 microbatches=2") << "dp=2 microbatches=2"
                                             << "microbatches=4";
        QTest::newRow("zero=1") << "dp=2 zero=1"
                                << "microbatches=2";
        QTest::newRow("zero=3") << "dp=2 zero=3"
                                << "microbatches=2";
        QTest::newRow("unfused") << "dp=2 fuse=0"
                                 << "microbatches=2";
        QTest::newRow("direct") << "dp=2 conv=direct"
                                << "microbatches=2";
        QTest::newRow("served") << "dp=2 ps=sync servers=2"
                                << "microbatches=2";
        for (const char* pipeline :
             {"pp=2 microbatches=2", "pp=4 microbatches=2 schedule=gpipe", "pp=3 microbatches=2 schedule=naive",
              "pp=2 vpp=2 microbatches=2", "pp=2 microbatches=2 schedule=zb", "pp=2 microbatches=2 schedule=zbv",
              "pp=2 microbatches=2 fuse=0 inplace=0", "pp=2 microbatches=2 offload=activations,parameters"})
            QTest::newRow(pipeline) << pipeline << "microbatches=2";
        for (const char* both : {"dp=2 pp=2 microbatches=2 zero=1", "dp=2 pp=2 microbatches=2 zero=3"})
            QTest::newRow(both) << both << "microbatches=4";
    }

    void equalsEqualMicrobatches()
    {
        QFETCH(QString, plan);
        QFETCH(QString, reference);
        const auto many = run(plan.toUtf8().constData()), one = run(reference.toUtf8().constData());
        QVERIFY2(many.ok(), many ? "" : many.error().message().c_str());
        QVERIFY2(one.ok(), one ? "" : one.error().message().c_str());
        // Fifty layers of normalisation amplify rounding about a hundred times; other algorithms round otherwise.
        for (std::size_t i = 0; i < 2; ++i) {
            const StepProgress &a = many->steps[i], &b = one->steps[i];
            const double tolerance = i == 0 ? 1e-5 : 1e-3;
            QVERIFY2(std::abs(a.loss - b.loss) < tolerance * b.loss,
                     qPrintable(QString("step %1: %2 %3").arg(i).arg(a.loss, 0, 'g', 9).arg(b.loss, 0, 'g', 9)));
            QVERIFY2(std::abs(a.gradientNorm - b.gradientNorm) < 100 * tolerance * b.gradientNorm,
                     qPrintable(QString("step %1: norm %2 %3").arg(i).arg(a.gradientNorm).arg(b.gradientNorm)));
        }
    }
};

FOURWALLS_TEST(ResNetParity, QCoreApplication)

} // namespace tst_resnet_parity

#include "tst_resnet_parity.moc"
