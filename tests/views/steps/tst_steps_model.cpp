// SPDX-License-Identifier: GPL-3.0-or-later
// The model of the table of steps: what its cells read, and that it keeps the contract of Qt's models.
#include <QAbstractItemModelTester> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header
#include <QtTest>

#include "model/trace/in_memory_query.h"
#include "tests/support/sample_training.h"
#include "tests/support/test_program.h"
#include "views/plot/plot_table.h"
#include "views/steps/steps_model.h"
#include "views/words/format.h"

#include <memory>

namespace tst_steps_model {

using namespace fourwalls;
using namespace fourwalls::views;

class StepsModelTest : public QObject {
    Q_OBJECT

private slots:
    void theModelKeepsItsContract()
    {
        InMemoryTraceQuery trace(sample::training({}));
        StepsModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        auto t = std::make_shared<StepTable>(*askSteps(trace, RankId(0)));
        t->rows[1].loss.reset();
        t->rows[1].parts.reset();
        t->rows[2].parts = {{0.5, 0.25, 0, 0, 0.25}};
        model.setTable(t);
        const auto cell = [&](int r, int c) {
            return model.index(r, c).data().toString().replace(QChar(0x202F), QLatin1Char(' '));
        };
        QCOMPARE(model.rowCount(), 3);
        QCOMPARE(cell(0, StepsModel::Step), QStringLiteral("0 (warm-up)"));
        QCOMPARE(cell(2, StepsModel::Time), QStringLiteral("36 ms"));
        QCOMPARE(cell(2, StepsModel::Loss), QStringLiteral("2.200"));
        QCOMPARE(cell(1, StepsModel::Loss), QString(kDash));
        QCOMPARE(cell(1, StepsModel::Compute), QString(kDash));
        QCOMPARE(cell(2, StepsModel::Communication), QStringLiteral("25 %"));
        QCOMPARE(model.index(2, StepsModel::Where).data(kPartsRole).toList().size(), 5);
        QVERIFY(model.index(2, StepsModel::Where).data(Qt::ToolTipRole).toString().contains(QStringLiteral("idle")));
        QCOMPARE(model.rowOf(StepIndex(2)), 2);
        QCOMPARE(model.rowOf(StepIndex(9)), -1);
        const QString csv = csvOf(model);
        QCOMPARE(csv.count(QLatin1Char('\n')), 4);
        QVERIFY(csv.contains(QStringLiteral("1,36000000,,0.002,")));
        model.setTable(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }
};

FOURWALLS_TEST(StepsModelTest, QCoreApplication)

} // namespace tst_steps_model

#include "tst_steps_model.moc"
