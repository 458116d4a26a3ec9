// SPDX-License-Identifier: GPL-3.0-or-later
// The Record dialog with the real command-line program: a short training, one that is cancelled, one that cannot be.
#include "app/gui/record_dialog.h"
#include "model/store/trace_file.h"
#include "tests/views/fail_on_warning.h"
#include "views/chrome/loss_plot.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QtTest/QtTest>

using namespace fourwalls;
using namespace fourwalls::gui;

class TestRecordDialog : public QObject {
    Q_OBJECT
private:
    static constexpr int kPatienceMs = 90'000;   // a loaded machine trains slowly; the tests end as soon as it has
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
        if (!QFile::exists(commandLineProgram())) QSKIP("fourwalls-cli is not part of this build");
    }

    void recordsAndHandsOverTheFile()
    {
        RecordDialog dialog;
        dialog.setRequest(shortRun(QStringLiteral("run.fourwalls")));
        QSignalSpy recorded(&dialog, &RecordDialog::recorded);
        dialog.show();
        dialog.start();
        QVERIFY(dialog.isRunning());
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
        QTRY_VERIFY_WITH_TIMEOUT(!plot->accessibleDescription().isEmpty(), kPatienceMs);   // a step is done
        QMetaObject::invokeMethod(&dialog, "reject");
        QTRY_COMPARE_WITH_TIMEOUT(recorded.size(), 1, kPatienceMs);
        const auto trace = store::openTrace(request.output.toStdString());
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QVERIFY((*trace)->info().complete);   // ended by the user, but in order
        QVERIFY((*trace)->info().stepCount >= 1 && (*trace)->info().stepCount < 100'000);
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

QTEST_MAIN(TestRecordDialog)
#include "tst_record_dialog.moc"
