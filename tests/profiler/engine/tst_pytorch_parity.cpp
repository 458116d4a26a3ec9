// SPDX-License-Identifier: Apache-2.0
// The same network from the same weights on the same text, here and in PyTorch (python3-torch, f32 on both sides, and
// in double as the judge): ten losses agree to rounding. Skipped where PyTorch is not installed.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/run.h"
#include "tests/support/test_program.h"

#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>

#include <cmath>

namespace tst_pytorch_parity {

using namespace fourwalls;
using namespace fourwalls::engine;

class PytorchParity : public QObject {
    Q_OBJECT

    static std::vector<double> lossesOf(const QStringList& arguments, int& exitCode, QByteArray& messages)
    {
        QProcess process;
        process.start("/usr/bin/python3", arguments);
        process.waitForFinished(110000);
        exitCode = process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1;
        messages = process.readAllStandardError();
        std::vector<double> losses;
        static const QRegularExpression line("loss (\\S+) ");
        auto matches = line.globalMatch(QString::fromUtf8(process.readAllStandardOutput()));
        while (matches.hasNext()) losses.push_back(matches.next().captured(1).toDouble());
        return losses;
    }

private slots:
    void tenLossesAgree_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("alsoInF32");
        QTest::newRow("GPT") << "gpt-tiny" << true;
        QTest::newRow("LLaMA") << "llama-tiny" << true;
        QTest::newRow("BERT") << "bert-tiny" << false;
        QTest::newRow("mixture of experts") << "moe-tiny" << false;
        QTest::newRow("latent attention") << "deepseek-tiny" << false;
    }

    void tenLossesAgree()
    {
        QFETCH(QString, model);
        QFETCH(bool, alsoInF32);
        if (QProcess::execute("/usr/bin/python3", {"-c", "import torch"}) != 0)
            QSKIP("python3-torch is not installed (apt-get install python3-torch)");
        constexpr int steps = 10;
        const QString source = FOURWALLS_SOURCE_DIR;
        QTemporaryDir directory;
        RunSpec spec;
        auto loaded = loadModel(model.toStdString());
        QVERIFY(loaded.ok());
        spec.model = *loaded;
        spec.training.batch = 4;
        spec.training.sequence = 64;
        spec.training.steps = 1;
        spec.plan.routing = MoeRouting::Natural;
        QVERIFY(resolve(spec).ok());
        RunOptions options;
        options.measurePeak = false;
        options.saveWeightsDirectory = directory.path().toStdString();
        QVERIFY(runTraining(spec, options).ok());

        options.loadWeightsDirectory = options.saveWeightsDirectory;
        options.saveWeightsDirectory.clear();
        spec.training.steps = steps;
        auto report = runTraining(spec, options);
        QVERIFY(report.ok());

        const QStringList arguments = {source + "/tests/bench/pytorch_gpt.py",
                                       "--model",
                                       source + "/resources/presets/models/" + model + ".json",
                                       "--weights",
                                       directory.path() + "/model.safetensors",
                                       "--text",
                                       source + "/resources/text/tom_sawyer.txt",
                                       "--steps",
                                       QString::number(steps),
                                       "--batch",
                                       "4",
                                       "--seq",
                                       "64"};
        int exitCode = 0;
        QByteArray messages;
        const std::vector<double> exact = lossesOf(arguments + QStringList{"--double"}, exitCode, messages);
        QVERIFY2(exitCode == 0, messages.constData());
        const std::vector<double> theirs = alsoInF32 ? lossesOf(arguments, exitCode, messages) : exact;
        QVERIFY2(exitCode == 0, messages.constData());
        QCOMPARE(theirs.size(), std::size_t{steps});
        QCOMPARE(exact.size(), std::size_t{steps});
        // A loss carries a few roundings of f32 (6e-8 each); the ten updates amplify them, because Adam divides small
        // gradients by their own size.
        for (std::size_t i = 0; i < steps; ++i) {
            const double ours = report->steps[i].loss;
            const double tolerance = (i == 0 ? 3e-7 : 3e-6) * exact[i];
            QVERIFY2(
                std::abs(ours - exact[i]) < tolerance,
                qPrintable(QString("step %1: %2, exactly %3").arg(i).arg(ours, 0, 'g', 10).arg(exact[i], 0, 'g', 10)));
            QVERIFY2(
                std::abs(ours - theirs[i]) < 2 * tolerance,
                qPrintable(QString("step %1: %2, PyTorch %3").arg(i).arg(ours, 0, 'g', 10).arg(theirs[i], 0, 'g', 10)));
        }
    }
};

FOURWALLS_TEST(PytorchParity, QCoreApplication)

} // namespace tst_pytorch_parity

#include "tst_pytorch_parity.moc"
