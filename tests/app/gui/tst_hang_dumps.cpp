// SPDX-License-Identifier: GPL-3.0-or-later
// Dumps of a hung job in the window: what counts as one, and a folder that is dropped.
#include "app/gui/foreign_files.h"
#include "app/gui/hang_reading.h"
#include "app/gui/main_window.h"
#include "model/store/trace_file.h"
#include "tests/support/test_program.h"
#include "views/hang/hang_page.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest/QtTest>

namespace tst_hang_dumps {

using namespace fourwalls;
using namespace fourwalls::gui;

class TestHangDumps : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    QString made(const QString& name, const QByteArray& bytes) const
    {
        QFile file(m_folder.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return file.fileName();
    }
    static QString job(const QString& name) { return QStringLiteral(FOURWALLS_SOURCE_DIR "/tests/data/hangs/") + name; }
    static views::TraceOpener opener()
    {
        return [](const QString& path) { return store::openTrace(QFile::encodeName(path).toStdString()); };
    }

private slots:
    void tellsDumps()
    {
        QVERIFY(isDump(job("gpu_error_1st")) && isDump(job("gpu_error_1st/_dump_3")));
        QVERIFY(!isDump(job("gpu_error_1st/fault_injection.log")));
        QVERIFY(isDump(made("_dump_4.json", R"({"version": "2.9", "pg_config": {}, "entries": []})")));
        // A profile of PyTorch names its process groups, too.
        QVERIFY(!isDump(made("trace_4.json", R"({"schemaVersion": 1, "distributedInfo": {"pg_config": []}})")));
        QVERIFY(!isDump(made("trace.json", R"({"pg_config": {}})")));
        QVERIFY(!isDump(made("empty_1", "")));
        QVERIFY(!isDump(m_folder.filePath("not there_1")));
        const OpenPlan plan = planOpening({job("lock_gil_2nd")}, false, m_folder.filePath("cache"));
        QCOMPARE(plan.dumps, QStringList{job("lock_gil_2nd")});
        QVERIFY(plan.foreign.isEmpty() && plan.target.isEmpty());
    }

    void aFolderThatIsOpened()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.openFiles({job("gpu_error_1st")});
        QTRY_VERIFY_WITH_TIMEOUT(window.hangPage()->report() != nullptr, 60'000);
        QCOMPARE(window.currentViewId(), QStringLiteral("hang"));
        const diagnose::HangReport& report = *window.hangPage()->report();
        QCOMPARE(report.suspects.size(), std::size_t(2));
        QCOMPARE(report.suspects[0].rank, 12);
        QCOMPARE(report.suspects[1].rank, 14);
        QVERIFY(report.suspects[0].reason == diagnose::HangReason::DeviceStopped);
        QVERIFY(report.suspects[0].confidence == diagnose::HangConfidence::Certain);
        QCOMPARE(report.ranks.size(), std::size_t(16));
        QVERIFY(!report.fronts.empty() && !report.chain.empty());
        // Others in their place; the last ones that were asked for count.
        window.openDumps({job("gpu_error_1st")});
        window.openDumps({job("lock_gil_2nd")});
        QVERIFY(!window.hangPage()->isReady());
        QTRY_VERIFY_WITH_TIMEOUT(window.hangPage()->report() != nullptr, 60'000);
        QCOMPARE(window.hangPage()->report()->suspects.front().rank, 10);
    }

    void whatCannotBeRead()
    {
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.openDumps({made("_dump_0", "\x80\x02 pg_config and nothing that is a pickle")});
        QTRY_VERIFY_WITH_TIMEOUT(window.hangPage()->isReady(), 60'000);
        QVERIFY(window.hangPage()->report() == nullptr);
        QVERIFY(!hangReportOf("{}").ok() && !hangReportOf("not JSON").ok());
    }
};

FOURWALLS_TEST(TestHangDumps, QApplication)

} // namespace tst_hang_dumps

#include "tst_hang_dumps.moc"
