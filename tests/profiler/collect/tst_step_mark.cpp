// SPDX-License-Identifier: Apache-2.0
// Which names of ranges and marks begin a step, and the number that they carry.
#include <QtTest>

#include "profiler/collect/step_mark.h"
#include "tests/support/test_program.h"

namespace tst_step_mark {

using namespace fourwalls::collect;

class TestStepMark : public QObject {
    Q_OBJECT

private slots:
    void namesOfSteps()
    {
        const auto number = [](const char* name, const char* custom = "") {
            const auto step = stepOfName(name, custom);
            return !step ? -2 : step->number.value_or(-1);
        };
        QCOMPARE(number("ProfilerStep#12"), 12);
        QCOMPARE(number("step 7"), 7);
        QCOMPARE(number("Iteration: 40"), 40);
        QCOMPARE(number("train_step"), -1);
        QCOMPARE(number("Training Step [3]"), 3);
        QCOMPARE(number("iter_5/100"), 5);
        QCOMPARE(number("optimizer.step"), -2);
        QCOMPARE(number("stepwise"), -2);
        QCOMPARE(number("step 1x"), -2);
        QCOMPARE(number("ProfilerStep"), -2);
        QCOMPARE(number(""), -2);
        QCOMPARE(number("my batch 9", "my batch"), 9);
        QCOMPARE(number("step 9", "my batch"), -2);
    }
};

FOURWALLS_TEST(TestStepMark, QCoreApplication)

} // namespace tst_step_mark

#include "tst_step_mark.moc"
