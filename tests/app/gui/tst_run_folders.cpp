// SPDX-License-Identifier: GPL-3.0-or-later
// A folder of trainings in the window: what is one, its page, and tags that are kept.
#include "app/gui/foreign_files.h"
#include "app/gui/main_window.h"
#include "app/gui/runs_reading.h"
#include "app/gui/settings.h"
#include "model/store/trace_file.h"
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"
#include "views/runs/run_table.h"
#include "views/runs/runs_page.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest/QtTest>

namespace tst_run_folders {

using namespace fourwalls;
using namespace fourwalls::gui;
namespace programs = ::fourwalls::test;

class RunFoldersTest : public QObject {
    Q_OBJECT

    QString made(const QString& name, const QByteArray& bytes) const
    {
        const QString path = m_folder.filePath(name);
        QDir().mkpath(QFileInfo(path).path());
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size()) return {};
        return path;
    }
    QString sweep()
    {
        const QString folder = m_folder.filePath(QStringLiteral("sweep"));
        const programs::Answer answer =
            programs::run({"sweep", "-o", folder, "--model", "gpt-tiny", "--width", "16", "--batch", "2", "--seq", "8",
                           "--steps", "4", "--grid", "lr=1e-3,1e-2"});
        return answer.exitCode == 0 ? folder : QString();
    }
    static views::TraceOpener opener()
    {
        return [](const QString& path) { return store::openTrace(QFile::encodeName(path).toStdString()); };
    }

private slots:
    void tellsFoldersOfRuns()
    {
        made("one/train/events.out.tfevents.1.host", "x");
        made("two/a/events.out.tfevents.1.host", "x");
        made("two/b/events.out.tfevents.2.host", "x");
        made("traces/deep/run.fourwalls", "x");
        made("profiles/rank0.json", "{}");
        made("profiles/rank0.json.fourwalls", "x"); // what was imported from it
        made("far/a/b/c/d/run.fourwalls", "x");     // the list of runs does not look there
        QVERIFY(!isRunFolder(m_folder.filePath("far")));
        QVERIFY(!isRunFolder(m_folder.filePath("one"))); // one run, which is imported
        QVERIFY(isRunFolder(m_folder.filePath("two")));
        QVERIFY(isRunFolder(m_folder.filePath("traces")));
        QVERIFY(!isRunFolder(m_folder.filePath("profiles")));
        QVERIFY(!isRunFolder(m_folder.filePath("profiles/rank0.json")));
        QVERIFY(!isRunFolder(m_folder.filePath("nowhere")));
        const OpenPlan plan = planOpening({m_folder.filePath("two")}, false, m_folder.filePath("cache"));
        QCOMPARE(plan.runs, m_folder.filePath("two"));
        QVERIFY(plan.foreign.isEmpty() && plan.target.isEmpty());
    }

    void aSweepIsOpenedAndTagged()
    {
        const QString folder = sweep();
        QVERIFY(!folder.isEmpty());
        Settings settings(Settings::Kind::Forgetful);
        MainWindow window(opener(), settings);
        window.openFiles({folder});
        QTRY_VERIFY_WITH_TIMEOUT(window.runsPage()->runs() != nullptr, 60'000);
        QCOMPARE(window.currentViewId(), QStringLiteral("runs"));
        const views::RunList& runs = *window.runsPage()->runs();
        QCOMPARE(runs.runs.size(), std::size_t{2});
        QCOMPARE(runs.runs[0].curves.points.size(), std::size_t{4});
        QVERIFY(runs.runs[0].curves.finalLoss());
        QCOMPARE(*runs.runs[0].curves.width, std::int64_t{16});

        QAbstractItemModel& rows = *window.runsPage()->table().model();
        // At once: none is lost, and the last of a run's holds.
        QVERIFY(rows.setData(rows.index(0, views::RunTable::Tags), QStringLiteral("first")));
        QVERIFY(rows.setData(rows.index(1, views::RunTable::Tags), QStringLiteral("other")));
        QVERIFY(rows.setData(rows.index(0, views::RunTable::Tags), QStringLiteral("best")));
        const auto tags = [&] {
            QFile file(folder + QStringLiteral("/runs.tags.json"));
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        QTRY_VERIFY_WITH_TIMEOUT(tags().contains("best"), 60'000);
        QVERIFY(tags().contains("other") && !tags().contains("first"));

        // Another folder in its place, and one that is none.
        window.openRuns(m_folder.filePath(QStringLiteral("nowhere")));
        QVERIFY(!window.runsPage()->isReady());
        QTRY_VERIFY_WITH_TIMEOUT(window.runsPage()->isReady(), 60'000);
        QVERIFY(!window.runsPage()->runs());
        window.openRuns(folder);
        QTRY_VERIFY_WITH_TIMEOUT(window.runsPage()->runs() != nullptr, 60'000);
        QCOMPARE(window.runsPage()->runs()->runs.size(), std::size_t{2});
    }

    void answersThatAreNone()
    {
        QCOMPARE(runListOf("").error().code, ErrorCode::Format);
        QCOMPARE(runListOf("{}").error().code, ErrorCode::Format);
        QCOMPARE(runListOf(R"({"runs": [{"file": 3}], "left_out": []})").error().code, ErrorCode::Format);
        const auto none = runListOf(R"({"runs": [], "left_out": [{}]})");
        QVERIFY(none.ok());
        QCOMPARE((*none)->leftOut, 1);
    }

private:
    QTemporaryDir m_folder;
};

FOURWALLS_TEST(RunFoldersTest, QApplication)

} // namespace tst_run_folders

#include "tst_run_folders.moc"
