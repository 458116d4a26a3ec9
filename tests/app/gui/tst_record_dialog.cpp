// SPDX-License-Identifier: GPL-3.0-or-later
// The Record dialog with the real command-line program: a short training, one that is cancelled, one that cannot be.
#include "app/gui/main_window.h"
#include "app/gui/record_dialog.h"
#include "app/gui/trace_document.h"
#include "model/store/trace_file.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/loss_plot.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/prediction_card.h"
#include "views/whatif/what_if.h"
#include "views/whatif/what_if_panel.h"
#ifndef Q_MOC_RUN
#include "tests/support/test_program.h"
#include "tests/views/whatif/predicted_sample.h"
#endif

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScreen>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest/QtTest>

namespace tst_record_dialog {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestRecordDialog : public QObject {
    Q_OBJECT
private:
    static constexpr int kPatienceMs = 90'000; // a loaded machine trains slowly; the tests end as soon as it has
    QTemporaryDir m_folder;
    std::unique_ptr<tests::FailOnWarning> m_warnings;

    RecordRequest shortRun(const QString& name) const
    {
        RecordRequest request;
        request.steps = 3;
        request.batch = 2;
        request.sequence = 32;
        request.output = m_folder.filePath(name);
        return request;
    }

private slots:
    void init() { m_warnings = std::make_unique<tests::FailOnWarning>(); }
    void cleanup() { QCOMPARE(tests::FailOnWarning::take(), QString()); }
    void initTestCase()
    {
        QStandardPaths::setTestModeEnabled(true); // the networks of plans are kept in the user's folder
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
    }

    void recordsAndHandsOverTheFile()
    {
        RecordDialog dialog;
        dialog.setRequest(shortRun(QStringLiteral("run.fourwalls")));
        QSignalSpy recorded(&dialog, &RecordDialog::recorded);
        dialog.show();
        const QRect room = dialog.screen()->availableGeometry();
        dialog.move(room.left(), room.bottom() - dialog.frameGeometry().height());
        dialog.start();
        QVERIFY(dialog.isRunning());
        // The plot makes it higher; its buttons stay on the screen.
        QTRY_VERIFY(dialog.findChild<views::LossPlot*>()->isVisible() &&
                    dialog.frameGeometry().bottom() <= room.bottom());
        QTRY_COMPARE_WITH_TIMEOUT(recorded.size(), 1, kPatienceMs);
        const QString path = recorded.at(0).at(0).toString();
        QCOMPARE(path, m_folder.filePath(QStringLiteral("run.fourwalls")));
        const auto trace = store::openTrace(path.toStdString());
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QVERIFY((*trace)->info().complete);
        QCOMPARE((*trace)->info().stepCount, 3);
        // The loss was drawn as it came: the plot's description names the last point.
        QVERIFY(dialog.findChild<views::LossPlot*>()->accessibleDescription().contains(QStringLiteral("step 2")));
    }

    void cancelFinishesTheFile()
    {
        RecordDialog dialog;
        RecordRequest request = shortRun(QStringLiteral("cancelled.fourwalls"));
        request.steps = 100'000;
        dialog.setRequest(request);
        QSignalSpy recorded(&dialog, &RecordDialog::recorded);
        dialog.show();
        dialog.start();
        const views::LossPlot* plot = dialog.findChild<views::LossPlot*>();
        QTRY_VERIFY_WITH_TIMEOUT(!plot->accessibleDescription().isEmpty(), kPatienceMs); // a step is done
        QMetaObject::invokeMethod(&dialog, "reject");
        QTRY_COMPARE_WITH_TIMEOUT(recorded.size(), 1, kPatienceMs);
        const auto trace = store::openTrace(request.output.toStdString());
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QVERIFY((*trace)->info().complete); // ended by the user, but in order
        QVERIFY((*trace)->info().stepCount >= 1 && (*trace)->info().stepCount < 100'000);
    }

    void aPlanOfTheSlidersIsRecordedAndTheErrorOfItsPredictionShown()
    {
        RunSpec spec;
        spec.model = *loadModel("gpt-tiny");
        spec.cluster = *loadCluster("this-machine");
        spec.cluster.device.peakFlops[Precision::F32] = 5e10;
        spec.cluster.device.memoryBytesPerSecond = 1e10;
        spec.cluster.nodeLink = {3e9, 1e-5};
        spec.cluster.devicesPerNode = 2;
        spec.plan = *parsePlan("dp=2 microbatches=2");
        spec.training.batch = 4;
        spec.training.sequence = 32;
        spec.framework = "fourwalls";
        const auto planned = sample::opener(spec);
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(
            [planned](const QString& path) {
                return path.endsWith(QLatin1String("planned.fourwalls")) ? planned(path)
                                                                         : store::openTrace(path.toStdString());
            },
            settings);
        window.show();
        TraceDocument* first = window.openFile(QStringLiteral("planned.fourwalls"));
        QTRY_VERIFY(first->isOpen());
        window.showWhatIf(true);
        views::WhatIfPanel& panel = *window.whatIfPanel();

        // A plan that nobody recorded: two pipeline stages instead of two replicas, typed beside the slider.
        views::KnobRow& stages = panel.row(Knob::Pipeline);
        stages.slider().setFocus();
        QTest::keyClick(&stages.slider(), Qt::Key_2);
        QCOMPARE(stages.value().text(), QStringLiteral("2"));
        QTest::keyClick(&stages.value(), Qt::Key_Return);
        QCOMPARE(first->whatIf()->spec()->plan.pp, 2);
        QCOMPARE(first->whatIf()->spec()->plan.dp, 1);
        QTRY_VERIFY(!first->whatIf()->isPredicting());
        QVERIFY(first->whatIf()->step());

        QPushButton* record = nullptr;
        for (QPushButton* each : panel.findChildren<QPushButton*>())
            if (each->text() == QLatin1String("Record this now")) record = each;
        QVERIFY(record);
        QVERIFY2(record->isEnabled(), qPrintable(record->toolTip()));
        record->click();
        RecordDialog* dialog = nullptr;
        QTRY_VERIFY((dialog = window.findChild<RecordDialog*>()) && dialog->isVisible());
        QVERIFY(dialog->isAsRequested());
        RecordRequest request = dialog->request();
        QVERIFY2(request.plan.contains(QLatin1String("pp=2")), qPrintable(request.plan));
        QCOMPARE(request.model, QStringLiteral("gpt-tiny"));
        QCOMPARE(request.batch, 4);
        QCOMPARE(request.sequence, 32);
        QLineEdit* output = nullptr;
        for (QLineEdit* each : dialog->findChildren<QLineEdit*>())
            if (each->text() == request.output) output = each;
        QVERIFY(output);
        const QString path = m_folder.filePath(QStringLiteral("planned-run.fourwalls"));
        output->setText(path);
        QVERIFY(dialog->isAsRequested()); // another name is the same plan
        dialog->start();

        QTRY_VERIFY_WITH_TIMEOUT(window.currentDocument() && window.currentDocument()->path() == path, kPatienceMs);
        TraceDocument* recorded = window.currentDocument();
        QTRY_VERIFY_WITH_TIMEOUT(recorded->isOpen(), kPatienceMs);
        QVERIFY(recorded->session()->info().header.spec);
        QCOMPARE(recorded->session()->info().header.spec->plan.pp, 2);
        QVERIFY(recorded->whatIf()->isAsRecorded());
        QVERIFY(recorded->whatIf()->forecast());
        // Both errors stand in the dock: of the model on this plan, and of what was predicted before.
        QTRY_VERIFY_WITH_TIMEOUT(panel.card().modelError().contains(QLatin1String("Model error")), kPatienceMs);
        const QString error = panel.card().modelError();
        QVERIFY2(error.contains(QLatin1String("step")) && error.contains(QLatin1Char('%')), qPrintable(error));
        QVERIFY2(error.contains(QLatin1String("Predicted before it was recorded")), qPrintable(error));
    }

    void saysWhyItCannot()
    {
        RecordDialog dialog;
        RecordRequest request = shortRun(QStringLiteral("never.fourwalls"));
        request.model = QStringLiteral("no-such-model");
        dialog.setRequest(request);
        QSignalSpy recorded(&dialog, &RecordDialog::recorded);
        dialog.show();
        dialog.start();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.isRunning(), kPatienceMs);
        QCOMPARE(recorded.size(), 0);
        QVERIFY(dialog.isVisible());
        QVERIFY(!QFile::exists(request.output));
    }
};

FOURWALLS_TEST(TestRecordDialog, QApplication)

} // namespace tst_record_dialog

#include "tst_record_dialog.moc"
