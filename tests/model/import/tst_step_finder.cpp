// SPDX-License-Identifier: Apache-2.0
// What a trace offers as steps, source by source, and a person's choice.
#include <QtTest>

#include "model/import/common/step_finder.h"
#include "tests/support/test_program.h"

#include <memory>
#include <string>
#include <vector>

namespace tst_step_finder {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

/// A launch of the host at `at` and its kernel on stream 5.
void kernel(StepFinder& finder, const char* name, std::int64_t at, std::int64_t begin, std::int64_t end)
{
    finder.addHost(at, at + 1);
    finder.addLaunch(at);
    finder.addWork(name, 5, begin, end, at, true);
}

std::vector<std::string> texts(const Result<FoundSteps>& found)
{
    std::vector<std::string> list;
    if (!found) return {found.error().message()};
    list.push_back(found->by);
    for (const StepRecord& step : found->steps)
        list.push_back(std::to_string(step.step.value) + " " + std::to_string(step.range.begin.ns) + "-" +
                       std::to_string(step.range.end.ns) + " " + std::string(name(step.state)));
    return list;
}

using Texts = std::vector<std::string>;
using Kind = IterationName::Kind;

StepChoice chosen(const char* text)
{
    return *readStepChoice(text);
}

} // namespace

class StepFinderTest : public QObject {
    Q_OBJECT

private slots:
    void namesOfIterations_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("key");
        QTest::addColumn<int>("number");
        const auto row = [](const char* name, Kind kind, const char* key, int number) {
            QTest::newRow(name) << QString::fromUtf8(name) << static_cast<int>(kind) << QString::fromUtf8(key)
                                << number;
        };
        row("ProfilerStep#15", Kind::Profiler, "ProfilerStep", 15);
        row("step 12", Kind::Iteration, "step", 12);
        row("iteration_3", Kind::Iteration, "iteration", 3);
        row("train_step", Kind::Iteration, "train_step", -1);
        row("TrainStep", Kind::Iteration, "TrainStep", -1);
        row("epoch 1 step 7", Kind::Iteration, "epoch # step", 7);
        row("Batch 4", Kind::Iteration, "Batch", 4);
        row("step[DECODE bs=32]", Kind::Serving, "step[\xe2\x80\xa6]", -1);
        row("execute_context_1(888_788)_generation_0(0)", Kind::Serving, "execute_\xe2\x80\xa6", -1);
        row("Optimizer.step#SGD.step", Kind::Optimizer, "Optimizer.step#SGD.step", -1);
        row("train.py(12): train_step", Kind::Function, "train_step", -1);
        row("torch/optim/optimizer.py(360): step", Kind::None, "", -1);
        row("Warm-up Step 3", Kind::None, "", -1);
        row("forward_step", Kind::None, "", -1);
        row("batch_norm", Kind::None, "", -1);
        row("optimizer_step", Kind::Optimizer, "optimizer_step", -1);
        row("execute", Kind::None, "", -1);
        row("ProfilerStep", Kind::None, "", -1);
        row("", Kind::None, "", -1);
    }
    void namesOfIterations()
    {
        QFETCH(const QString, name);
        QFETCH(const int, kind);
        QFETCH(const QString, key);
        QFETCH(const int, number);
        const IterationName found = iterationName(name.toStdString());
        QCOMPARE(static_cast<int>(found.kind), kind);
        if (found.kind == Kind::None) return;
        QCOMPARE(QString::fromStdString(found.key), key);
        QCOMPARE(found.number, number);
    }

    void choicesAreRead()
    {
        QCOMPARE(chosen("range train_step").name, std::string("train_step"));
        QCOMPARE(chosen("period 12.5").periodNs, std::int64_t(12'500'000));
        QCOMPARE(stepsByText(chosen("period 12.5 ms")), std::string("period 12.5 ms"));
        QVERIFY(chosen("").automatic());
        QCOMPARE(chosen("whole").kind, StepChoice::Kind::Whole);
        for (const char* wrong :
             {"range", "period", "period -1", "period nan", "period 1e99", "period 0.0001", "something", "kernel "})
            QVERIFY2(!readStepChoice(wrong), wrong);
    }

    void marksComeBeforeRanges()
    {
        StepFinder finder;
        for (int i = 0; i < 3; ++i) {
            finder.addRange("ProfilerStep#" + std::to_string(7 + i), 0, i * 100, i * 100 + 90);
            finder.addRange("train_step", 0, i * 100, i * 100 + 50);
            kernel(finder, "gemm", i * 100 + 5, i * 100 + 60, i * 100 + 95);
        }
        QCOMPARE(texts(finder.find()),
                 (Texts{"ProfilerStep", "7 0-95 warmup", "8 100-195 measured", "9 200-295 measured"}));
    }

    /// Some profilers mark on the device where a step begins, not how long it lasts: of the last one the end is unknown.
    void aMarkWithoutLengthIsNoStep()
    {
        StepFinder finder;
        for (int i = 0; i < 40; ++i) finder.addWork("gemm", 5, 500L * i, 500L * i + 400, std::nullopt, true);
        finder.addProjected(17, 10'000, 10'017);
        QCOMPARE(texts(finder.find()), (Texts{"whole trace", "0 0-19900 measured"}));
        finder.addProjected(16, 0, 16);
        QCOMPARE(texts(finder.find()), (Texts{"ProfilerStep", "16 0-10000 measured", "17 10000-19900 cut"}));
    }

    /// A file that was cut by time: of most launches of its one step it no longer has the work.
    void whatTheRecordingNoLongerHasIsCut()
    {
        StepFinder finder;
        finder.addRange("ProfilerStep#15", 1, 0, 1000);
        for (int i = 0; i < 100; ++i) {
            if (i < 20)
                kernel(finder, "gemm", 10 * i, 2000 + 50 * i, 2040 + 50 * i);
            else
                finder.addLaunch(10 * i);
        }
        QCOMPARE(texts(finder.find()), (Texts{"whole trace", "0 2000-2990 measured"}));
        // Some calls that look like launches never have work.
        StepFinder whole;
        whole.addRange("ProfilerStep#15", 1, 0, 1000);
        for (int i = 0; i < 100; ++i) kernel(whole, "gemm", 9 * i, 2000 + 50 * i, 2040 + 50 * i);
        for (int i = 0; i < 4; ++i) whole.addLaunch(950 + i);
        QCOMPARE(texts(whole.find()), (Texts{"ProfilerStep", "15 0-6990 measured"}));
    }

    void rangesMustCoverTheWork()
    {
        StepFinder finder;
        for (int i = 0; i < 3; ++i) {
            finder.addRange("train_step", 0, i * 100, i * 100 + 90);
            finder.addRange("batch 1", 0, i * 100, i * 100 + 10); // a tenth of each
            for (int k = 0; k < 9; ++k)
                kernel(finder, "gemm", i * 100 + 1 + k * 10, i * 100 + 2 + k * 10, i * 100 + 9 + k * 10);
        }
        QCOMPARE(texts(finder.find()),
                 (Texts{"range train_step", "0 0-90 warmup", "1 100-190 measured", "2 200-290 measured"}));

        // Ranges around a small part of the work are no steps.
        StepFinder part;
        for (int i = 0; i < 3; ++i) {
            part.addRange("train_step", 0, i * 100, i * 100 + 10);
            for (int k = 0; k < 9; ++k)
                kernel(part, "gemm", i * 100 + 1 + k * 10, i * 100 + 2 + k * 10, i * 100 + 9 + k * 10);
        }
        QCOMPARE(texts(part.find()), (Texts{"whole trace", "0 2-289 measured"}));
    }

    void aServingPassIsAStep()
    {
        // One pass whose graph runs on behind it, and a narrower annotation within.
        StepFinder finder;
        finder.addRange("execute_32_context_0(sq0)_generation_32(sq32)", 0, 0, 24);
        finder.addRange("step[DECODE bs=32]", 0, 2, 22);
        kernel(finder, "graph", 10, 84, 191);
        QCOMPARE(texts(finder.find()), (Texts{"range execute_\xe2\x80\xa6", "0 0-191 measured"}));
    }

    void theOptimizerEndsAStep()
    {
        StepFinder finder;
        // The recording begins within a step: half of its work is there.
        kernel(finder, "gemm", 20, 20, 30);
        finder.addRange("Optimizer.step#Adam.step", 0, 40, 50);
        for (int i = 1; i <= 2; ++i) {
            kernel(finder, "gemm", i * 100 - 40, i * 100 - 40, i * 100 - 30);
            kernel(finder, "gemm", i * 100 + 20, i * 100 + 20, i * 100 + 30);
            finder.addRange("Optimizer.step#Adam.step", 0, i * 100 + 40, i * 100 + 50);
        }
        kernel(finder, "gemm", 260, 260, 270);
        QCOMPARE(texts(finder.find()), (Texts{"range Optimizer.step#Adam.step", "0 20-50 cut", "1 50-150 measured",
                                              "2 150-250 measured", "3 250-270 cut"}));
    }

    void kernelsThatRepeatAreSteps()
    {
        // Passes of an embedding, four layers of five kernels and a head; between them the host needs a while.
        const auto passes = [](StepFinder& to, int count) {
            for (int step = 0; step < count; ++step) {
                std::int64_t at = step * 2000;
                const auto next = [&](const std::string& name) {
                    kernel(to, name.c_str(), at, at, at + 40);
                    at += 50;
                };
                next("embedding");
                for (int layer = 0; layer < 4; ++layer)
                    for (int k = 0; k < 5; ++k) next("k" + std::to_string(k));
                next("head");
            }
        };
        StepFinder finder;
        passes(finder, 5);
        const auto found = finder.find();
        QVERIFY(found.ok());
        QCOMPARE(QString::fromStdString(found->by), QStringLiteral("period of embedding"));
        QCOMPARE(found->steps.size(), std::size_t(5));
        QCOMPARE(found->steps[1].range.length().ns, std::int64_t(2000));
        QCOMPARE(found->steps[0].state, StepState::Warmup);

        StepFinder twice; // two passes are no clear repetition
        passes(twice, 2);
        QCOMPARE(twice.find()->by, std::string("whole trace"));

        StepFinder layers; // one pass of equal blocks: nothing repeats within a block
        for (int block = 0; block < 16; ++block)
            for (int k = 0; k < 12; ++k) {
                const std::int64_t at = block * 1000 + k * 50;
                kernel(layers, ("k" + std::to_string(k)).c_str(), at, at, at + 40);
            }
        QCOMPARE(layers.find()->by, std::string("whole trace"));
    }

    void aHostAloneIsOneStep()
    {
        StepFinder finder;
        finder.addHost(10, 20);
        finder.addHost(15, 90);
        QCOMPARE(texts(finder.find()), (Texts{"whole trace", "0 10-90 measured"}));
        StepFinder nothing;
        QVERIFY(nothing.find()->steps.empty());
    }

    void aPersonChooses()
    {
        const auto fed = [](const char* choice) {
            auto finder = std::make_unique<StepFinder>(chosen(choice));
            for (int i = 0; i < 3; ++i) {
                finder->addRange("layer " + std::to_string(i), 0, i * 100, i * 100 + 60);
                kernel(*finder, i == 0 ? "first" : "gemm", i * 100 + 10, i * 100 + 20, i * 100 + 80);
            }
            return texts(finder->find());
        };
        QCOMPARE(fed("range layer 1"),
                 (Texts{"range layer 1", "0 0-80 warmup", "1 100-180 measured", "2 200-280 measured"}));
        QCOMPARE(fed("kernel gemm"), (Texts{"kernel gemm", "0 10-120 cut", "1 120-220 measured", "2 220-280 cut"}));
        QCOMPARE(fed("whole"), (Texts{"whole trace", "0 20-280 measured"}));
        QVERIFY(
            QString::fromStdString(fed("marks").front()).contains(QStringLiteral("nothing in this trace gives steps")));
        QVERIFY(QString::fromStdString(fed("range other").front())
                    .contains(QStringLiteral("nothing in this trace gives steps")));
    }

    void aPeriodOfTime()
    {
        StepFinder finder(chosen("period 0.001"));
        kernel(finder, "gemm", 0, 500, 3000);
        QCOMPARE(texts(finder.find()),
                 (Texts{"period 0.001 ms", "0 500-1500 warmup", "1 1500-2500 measured", "2 2500-3000 cut"}));
    }
};

FOURWALLS_TEST(StepFinderTest, QCoreApplication)

} // namespace tst_step_finder

#include "tst_step_finder.moc"
