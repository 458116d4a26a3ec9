// SPDX-License-Identifier: GPL-3.0-or-later
// The choice of a step: any number of steps at no cost, choices shown without being emitted.
#include <QtTest>

#include "tests/support/test_program.h"
#include "views/base/step_picker.h"

#include <QAbstractItemModelTester>

namespace tst_step_picker {

using namespace fourwalls;
using namespace fourwalls::views;

class StepPickerTest : public QObject {
    Q_OBJECT

    static std::shared_ptr<const StepSpans> steps(int count)
    {
        auto spans = std::make_shared<StepSpans>();
        for (int i = 0; i < count; ++i) {
            const Instant begin{std::int64_t{i} * 1'000'000};
            spans->push_back({{begin, begin + Duration{900'000}},
                              StepIndex{100 + i},
                              i == 0 ? StepState::Warmup : StepState::Measured});
        }
        return spans;
    }

private slots:
    void namesStepsWithTheirLength()
    {
        StepPicker picker;
        QAbstractItemModelTester tester(picker.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(!picker.isEnabled());
        picker.setSteps(steps(3));
        QVERIFY(picker.isEnabled());
        QCOMPARE(picker.count(), 4);
        QCOMPARE(picker.itemText(0), QStringLiteral("All steps"));
        QVERIFY(picker.itemText(1).startsWith(QStringLiteral("Step 100")));
        QVERIFY(picker.itemText(1).endsWith(QStringLiteral("warm-up")));
        QVERIFY(!picker.itemText(2).contains(QStringLiteral("warm-up")));
    }

    void showsAChoiceWithoutEmittingIt()
    {
        StepPicker picker;
        picker.setSteps(steps(5));
        QSignalSpy chosen(&picker, &StepPicker::stepChosen);
        picker.showStep(StepIndex{103});
        QCOMPARE(picker.currentIndex(), 4);
        picker.showStep(StepIndex{999});
        QCOMPARE(picker.currentIndex(), 0);
        QCOMPARE(chosen.count(), 0);
        emit picker.activated(2);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen.takeFirst().front().value<std::optional<StepIndex>>(), std::optional(StepIndex{101}));
        picker.setSteps(nullptr);
        QVERIFY(!picker.isEnabled());
        QCOMPARE(picker.count(), 1);
    }

    void hasRoomForTheLongestName()
    {
        StepPicker none, many;
        many.setSteps(steps(1'000'000));
        QVERIFY(many.sizeHint().width() > none.sizeHint().width());
        QVERIFY(many.sizeHint().width() > QFontMetrics(many.font()).horizontalAdvance(many.itemText(1)));
        QCOMPARE(many.count(), 1'000'001);
    }

    void findsStepsByTimeAndNumber()
    {
        const auto spans = steps(10);
        QVERIFY(!stepAt(*spans, Instant{-1}));
        QCOMPARE(stepAt(*spans, Instant{3'000'000})->step, StepIndex{103});
        QVERIFY(!stepAt(*spans, Instant{3'950'000})); // between two steps
        QVERIFY(!stepAt(*spans, Instant{99'000'000}));
        QCOMPARE(stepNumbered(*spans, StepIndex{109})->range.begin.ns, std::int64_t{9'000'000});
        QVERIFY(!stepNumbered(*spans, StepIndex{1}));
        QVERIFY(!stepAt({}, Instant{0}));
    }
};

FOURWALLS_TEST(StepPickerTest, QApplication)

} // namespace tst_step_picker

#include "tst_step_picker.moc"
