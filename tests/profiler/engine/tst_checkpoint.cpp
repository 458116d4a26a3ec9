// SPDX-License-Identifier: Apache-2.0
// Weight files of runs on many ranks: byte for byte those of one rank, whatever the plan; and the evaluation phase.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/run.h"
#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>

namespace tst_checkpoint {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

QByteArray bytesOfFile(const QString& directory)
{
    QFile file(directory + "/model.safetensors");
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

RunOptions quick(const QString& load, const QString& save)
{
    RunOptions options;
    options.measurePeak = false;
    options.loadWeightsDirectory = load.toStdString();
    options.saveWeightsDirectory = save.toStdString();
    return options;
}

} // namespace

class Checkpoint : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;

    static void addPlans()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"dp=2", "dp=2 zero=1", "dp=4 zero=3", "pp=2 microbatches=2", "tp=2",
                                 "pp=2 vpp=2 microbatches=2", "dp=2 tp=2 pp=2 microbatches=2 zero=3 sp=1"})
            QTest::newRow(plan) << plan;
    }

private slots:
    void initTestCase()
    {
        RunSpec spec = paritySpec("");
        spec.training.steps = 2;
        QVERIFY(resolve(spec).ok());
        const auto report = runTraining(spec, quick({}, m_directory.path() + "/one"));
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(!bytesOfFile(m_directory.path() + "/one").isEmpty());
    }

    void filesAreThoseOfOneRank_data() { addPlans(); }
    void filesAreThoseOfOneRank()
    {
        QFETCH(QString, plan);
        RunSpec spec = paritySpec(plan.toStdString());
        spec.training.steps = 1;
        spec.training.learningRate = 0; // what is loaded is what is saved
        QVERIFY(resolve(spec).ok());
        const auto report = runTraining(spec, quick(m_directory.path() + "/one", m_directory.path() + "/again"));
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(bytesOfFile(m_directory.path() + "/again") == bytesOfFile(m_directory.path() + "/one"));
    }

    void evaluationSeesTheSameLoss_data() { addPlans(); }
    void evaluationSeesTheSameLoss()
    {
        QFETCH(QString, plan);
        const auto evaluated = [](RunSpec spec) {
            std::vector<double> losses;
            if (!resolve(spec).ok()) return losses;
            WorldOptions options;
            options.plan = spec.plan;
            options.format = {DType::F64, DType::F64};
            options.makeDevice = [](Recorder& recorder, Allocator& allocator) -> std::unique_ptr<Device> {
                return std::make_unique<ReferenceDevice>(recorder, allocator);
            };
            const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
                FOURWALLS_TRY_ASSIGN(const auto trainer, Trainer::create(*slot.context, spec));
                for (std::int64_t step = 0; step < 2; ++step) { // training goes on as if nothing had happened
                    const double loss = trainer->evaluate(2), trained = trainer->step(step).loss;
                    if (slot.recorder->rank().value != 0) continue;
                    losses.push_back(loss);
                    losses.push_back(trained);
                }
                return {};
            });
            if (!status.ok()) losses.clear();
            return losses;
        };
        const RunSpec spec = paritySpec(plan.toStdString());
        const auto actual = evaluated(spec), expected = evaluated(referenceOf(spec));
        QCOMPARE(actual.size(), std::size_t{4});
        QCOMPARE(expected.size(), std::size_t{4});
        for (std::size_t i = 0; i < 4; ++i)
            QVERIFY2(std::abs(actual[i] - expected[i]) < 1e-12 * expected[i],
                     qPrintable(QString("%1: %2 %3").arg(i).arg(actual[i]).arg(expected[i])));
        QVERIFY(std::abs(expected[0] - expected[1]) > 1e-9); // other samples
    }
};

FOURWALLS_TEST(Checkpoint, QCoreApplication)

} // namespace tst_checkpoint

#include "tst_checkpoint.moc"
