// SPDX-License-Identifier: GPL-3.0-or-later
// "Choose steps…": what the command line answers becomes a list, and a row of it a choice.
#include "app/gui/steps_dialog.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#endif

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTreeWidget>
#include <QtTest/QtTest>

namespace tst_steps_dialog {

using namespace fourwalls::gui;

class TestStepsDialog : public QObject {
    Q_OBJECT

private slots:
    void aRowIsAChoice()
    {
        auto* dialog = new StepsDialog({}, QStringLiteral("run"));
        dialog->setAnswer(
            R"({"step_states":{"measured":2,"warmup":1,"cut":1,"odd":0,"by":"range train_step"},"candidates":[
            {"by":"ProfilerStep","count":3,"median_ms":19.0,"coverage":0.5},
            {"by":"range forward","count":8,"median_ms":4.5,"coverage":0.25}]})");
        QStringList labels;
        for (const QLabel* label : dialog->findChildren<QLabel*>()) labels << label->text();
        QVERIFY2(
            labels.contains(QStringLiteral("Now: 2 of 4 steps measured (1 warm-up, 1 cut), by the range train_step")),
            qPrintable(labels.join(QLatin1Char('|'))));
        auto* list = dialog->findChild<QTreeWidget*>(QStringLiteral("candidates"));
        auto* spec = dialog->findChild<QLineEdit*>(QStringLiteral("stepsBy"));
        QCOMPARE(list->topLevelItemCount(), 4);
        QCOMPARE(list->topLevelItem(3)->text(1), QStringLiteral("8"));
        list->setCurrentItem(list->topLevelItem(2));
        QCOMPARE(spec->text(), QStringLiteral("marks"));
        list->setCurrentItem(list->topLevelItem(3));
        QCOMPARE(spec->text(), QStringLiteral("range forward"));
        QSignalSpy chosen(dialog, &StepsDialog::chosen);
        QPushButton* use = nullptr;
        for (QPushButton* button : dialog->findChildren<QPushButton*>())
            if (button->isDefault()) use = button;
        QVERIFY(use && use->isEnabled());
        use->click();
        QCOMPARE(chosen.size(), 1);
        QCOMPARE(chosen.at(0).at(0).toString(), QStringLiteral("range forward"));
    }

    void withoutAChoiceNothingCanBeUsed()
    {
        StepsDialog dialog({}, QStringLiteral("run"));
        dialog.setAttribute(Qt::WA_DeleteOnClose, false);
        dialog.setAnswer("no answer");
        for (const QPushButton* button : dialog.findChildren<QPushButton*>())
            if (button->isDefault()) QVERIFY(!button->isEnabled());
        QCOMPARE(stepsArguments(QStringLiteral("-a.fourwalls"), QStringLiteral("whole")).last(),
                 QStringLiteral("-a.fourwalls"));
    }
};

FOURWALLS_TEST(TestStepsDialog, QApplication)

} // namespace tst_steps_dialog

#include "tst_steps_dialog.moc"
