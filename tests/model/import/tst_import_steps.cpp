// SPDX-License-Identifier: Apache-2.0
// From marks to steps: whose the device's work is, and which steps are cut, warm up or are of another kind.
#include <QtTest>

#include "model/import/common/import_steps.h"
#include "tests/support/test_program.h"

#include <string>
#include <vector>

namespace tst_import_steps {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

MarkedStep mark(int number, std::int64_t begin, std::int64_t end)
{
    MarkedStep step;
    step.number = number;
    step.begin = begin;
    step.end = end;
    return step;
}

MarkedStep withWork(int number, std::int64_t begin, std::int64_t end, std::int64_t workBegin, std::int64_t workEnd,
                    double substance)
{
    MarkedStep step = mark(number, begin, end);
    step.workBegin = workBegin;
    step.workEnd = workEnd;
    step.substance = substance;
    step.launches = step.launched = 10;
    return step;
}

/// "7 0-10 measured" per step.
std::vector<std::string> texts(const std::vector<StepRecord>& steps)
{
    std::vector<std::string> list;
    for (const StepRecord& step : steps)
        list.push_back(std::to_string(step.step.value) + " " + std::to_string(step.range.begin.ns) + "-" +
                       std::to_string(step.range.end.ns) + " " + std::string(name(step.state)));
    return list;
}

using Texts = std::vector<std::string>;

} // namespace

class ImportStepsTest : public QObject {
    Q_OBJECT

private slots:
    void aStepEndsWhereItsDeviceEnds()
    {
        // The host marks 10 each and runs ahead; the device needs 20 a step.
        const auto steps = recogniseSteps(
            {withWork(1, 0, 10, 2, 22, 20), withWork(2, 10, 20, 22, 42, 20), withWork(3, 20, 30, 42, 62, 20)});
        QCOMPARE(texts(steps), (Texts{"1 0-22 warmup", "2 22-42 measured", "3 42-62 measured"}));
    }

    void whatTheDeviceStillDidBeforeIsNoStep()
    {
        // Work of earlier steps keeps the device until 30, three marks long.
        const auto steps = recogniseSteps({withWork(1, 0, 10, 30, 50, 20), withWork(2, 10, 20, 50, 70, 20)}, 30);
        QCOMPARE(texts(steps), (Texts{"1 30-50 measured", "2 50-70 measured"}));
        // A little late is no lag.
        const auto early = recogniseSteps({withWork(1, 0, 10, 4, 9, 5), withWork(2, 10, 20, 12, 19, 5)}, 3);
        QCOMPARE(texts(early), (Texts{"1 0-10 measured", "2 10-20 measured"}));
    }

    void aStubAtTheEndIsCut()
    {
        // Two steps and the mark that the profiler opened before it was stopped.
        auto last = mark(3, 20, 21);
        const auto steps = recogniseSteps({withWork(1, 0, 10, 1, 9, 8), withWork(2, 10, 20, 11, 19, 8), last});
        QCOMPARE(texts(steps), (Texts{"1 0-10 warmup", "2 10-20 measured", "3 20-21 cut"}));
        QCOMPARE(texts(recogniseSteps({withWork(1, 0, 9288, 267, 9179, 149), mark(2, 9325, 9374)})),
                 (Texts{"1 0-9288 measured", "2 9325-9374 cut"}));
        // Without any work known, its length tells.
        QCOMPARE(texts(recogniseSteps({mark(1, 0, 100), mark(2, 100, 200), mark(3, 200, 215)})),
                 (Texts{"1 0-100 warmup", "2 100-200 measured", "3 200-215 cut"}));
    }

    void aStepWhoseWorkIsMissingIsCut()
    {
        auto half = withWork(4, 30, 40, 31, 35, 4);
        half.launches = 100;
        half.launched = 50;
        auto whole = withWork(1, 0, 10, 1, 9, 8);
        const auto steps =
            recogniseSteps({whole, withWork(2, 10, 20, 11, 19, 8), withWork(3, 20, 30, 21, 29, 8), half});
        QCOMPARE(texts(steps).back(), std::string("4 30-40 cut"));
        QCOMPARE(texts(steps)[1], std::string("2 10-20 measured"));
        // In the middle: the profiler lost buffers.
        const auto middle = recogniseSteps({withWork(1, 0, 10, 1, 9, 8), withWork(2, 10, 20, 11, 12, 1),
                                            withWork(3, 20, 30, 21, 29, 8), withWork(4, 30, 40, 31, 39, 8)});
        QCOMPARE(texts(middle), (Texts{"1 0-10 warmup", "2 10-20 cut", "3 20-30 measured", "4 30-40 measured"}));
    }

    void stepsOfAnotherKindAreOdd()
    {
        // Warm-up, three alike, one with an evaluation in it, and one that did next to nothing; work is unknown.
        const auto steps = recogniseSteps(
            {mark(0, 0, 50), mark(1, 50, 60), mark(2, 60, 70), mark(3, 70, 130), mark(4, 130, 131), mark(5, 131, 141)});
        QCOMPARE(texts(steps), (Texts{"0 0-50 warmup", "1 50-60 measured", "2 60-70 measured", "3 70-130 odd",
                                      "4 130-131 odd", "5 131-141 measured"}));
    }

    void ofTwoStepsASlowFirstWarmsUp()
    {
        const auto steps = recogniseSteps({withWork(1, 0, 600, 1, 599, 80), withWork(2, 600, 700, 601, 699, 80)});
        QCOMPARE(texts(steps), (Texts{"1 0-600 warmup", "2 600-700 measured"}));
        const auto alike = recogniseSteps({withWork(1, 0, 300, 1, 299, 80), withWork(2, 300, 400, 301, 399, 80)});
        QCOMPARE(texts(alike), (Texts{"1 0-300 measured", "2 300-400 measured"}));
    }

    void numbersThatComeAgainAreReplaced()
    {
        // Two epochs of two steps, and a loop that two threads mark.
        QCOMPARE(texts(recogniseSteps({mark(0, 0, 10), mark(1, 10, 20), mark(0, 20, 30), mark(1, 30, 40)})),
                 (Texts{"0 0-10 warmup", "1 10-20 measured", "2 20-30 measured", "3 30-40 measured"}));
        QCOMPARE(texts(recogniseSteps({mark(7, 0, 10), mark(7, 1, 11), mark(8, 11, 20), mark(8, 11, 21)})),
                 (Texts{"7 0-11 measured", "8 11-21 measured"}));
    }

    void workThatOutlivesTheNextStepDoesNotCount()
    {
        // A copy in the background that was launched in step 1 ends after step 2.
        const auto steps = recogniseSteps(
            {withWork(1, 0, 10, 1, 35, 8), withWork(2, 10, 20, 11, 19, 8), withWork(3, 20, 30, 21, 29, 8)});
        QCOMPARE(texts(steps), (Texts{"1 0-10 warmup", "2 10-20 measured", "3 20-30 measured"}));
    }

    void nothingGivesNothing() { QVERIFY(recogniseSteps({}).empty()); }
};

FOURWALLS_TEST(ImportStepsTest, QCoreApplication)

} // namespace tst_import_steps

#include "tst_import_steps.moc"
