// SPDX-License-Identifier: Apache-2.0
// The recording keeps quiet beside the program: names of threads, no question to an idle driver, few complaints.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

#include <map>
#include <string>
#include <vector>

namespace tst_collector_threads {

using namespace fourwalls::collect;

class TestCollectorThreads : public ModuleTest {
    Q_OBJECT

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
    }

    void namesOfTheOperatingSystem()
    {
        const Spool spool = record({"named"});
        const auto calls = spool.all<ApiCall>(RecordKind::ApiCall);
        QCOMPARE(calls.size(), std::size_t{10});
        std::map<std::uint32_t, std::vector<std::string>> names;
        for (const Thread& thread : spool.all<Thread>(RecordKind::Thread))
            names[thread.id].push_back(spool.text(thread.name));
        QCOMPARE(names.size(),
                 std::size_t{1}); // neither the collector's own nor those that are called like the process
        QCOMPARE(names[calls.front().thread], std::vector<std::string>{"pt_autograd_0"});
    }

    void nothingIsAskedForWhereNothingWasLaunched()
    {
        const Spool spool = record({"quiet"});
        QVERIFY(spool.state.ended);
        QCOMPARE(m_process.readAll(), QByteArray("flushes 0\n"));
    }

    void errorsOfCuptiAreSaidAFewTimes()
    {
        const Spool spool = record({"state-errors"});
        QCOMPARE(m_process.readAll().count("something is wrong"), 8);
        QCOMPARE(spool.message(MessageCode::CuptiFailed), std::string("something is wrong"));
    }

    void endsWithoutTheDriver_data()
    {
        QTest::addColumn<QString>("when");
        QTest::newRow("while it runs") << "gone";
        QTest::newRow("when it ends") << "gone-at-end";
        QTest::newRow("when a signal ends it") << "gone-at-a-signal";
    }
    void endsWithoutTheDriver()
    {
        QFETCH(const QString, when);
        const Spool spool = record({when}, {{kEnvNvtxInjection, QString::fromStdString(kModule)}});
        QCOMPARE(m_process.exitStatus(), when == "gone-at-a-signal" ? QProcess::CrashExit : QProcess::NormalExit);
        QVERIFY(spool.state.ended);
        QVERIFY(spool.message(MessageCode::CuptiFailed).find("does not answer") != std::string::npos);
        QCOMPARE(spool.count(RecordKind::NvtxMark), std::size_t{1});
    }

    void levelsOfRanges()
    {
        for (const char* steps : {"", "100"}) { // recorded, and outside the window
            record({"nvtx-levels"}, {{kEnvNvtxInjection, QString::fromStdString(kModule)}, {kEnvSteps, steps}});
            QCOMPARE(m_process.readAll(), QByteArray("0 1 0 0 1 0 -1 "));
        }
    }

    /// A PyTorch job that marks no steps: they are counted by its optimizer, the outermost and first one.
    void windowByOptimizers()
    {
        const std::map<QString, QString> nvtx{{kEnvNvtxInjection, QString::fromStdString(kModule)}};
        auto some = nvtx;
        some[kEnvSteps] = "2-4";
        const Spool spool = record({"optimizers"}, some);
        const auto marks = spool.all<StepMark>(RecordKind::StepMark);
        QCOMPARE(marks.size(), std::size_t{8});
        for (std::size_t i = 0; i < marks.size(); ++i) {
            QCOMPARE(marks[i].step, static_cast<std::int64_t>(i) + 1);
            QCOMPARE(marks[i].source, static_cast<std::uint32_t>(StepSource::Optimizer));
        }
        QCOMPARE(spool.all<ApiCall>(RecordKind::ApiCall).front().correlation, 21U); // the first launch of step 2
        const auto windows = spool.all<Window>(RecordKind::Window);
        QCOMPARE(windows.size(), std::size_t{3});
        QVERIFY(marks[1].time >= windows[1].time && marks[0].time < windows[1].time);
        QVERIFY(marks[4].time >= windows[2].time && marks[3].time < windows[2].time);
        QCOMPARE(spool.count(RecordKind::NvtxPush), spool.count(RecordKind::NvtxPop)); // whole ranges
        QVERIFY(spool.message(MessageCode::WindowMissed).empty());

        // Step 0 has no mark before it.
        auto first = nvtx;
        first[kEnvSteps] = "0-1";
        const Spool begin = record({"optimizers"}, first);
        QCOMPARE(begin.all<ApiCall>(RecordKind::ApiCall).front().correlation, 1U);
        QCOMPARE(begin.all<Window>(RecordKind::Window).size(), std::size_t{2}); // on at the start, off
    }

    void aProgramsOwnMarksComeFirst()
    {
        const Spool spool = record({"optimizers-in-steps"},
                                   {{kEnvNvtxInjection, QString::fromStdString(kModule)}, {kEnvSteps, "102-104"}});
        for (const StepMark& mark : spool.all<StepMark>(RecordKind::StepMark))
            QCOMPARE(mark.source, static_cast<std::uint32_t>(StepSource::Api));
        QCOMPARE(spool.count(RecordKind::StepMark), std::size_t{8});
        QCOMPARE(spool.all<ApiCall>(RecordKind::ApiCall).front().correlation, 21U);
    }

    void namesOfNvtxStay()
    {
        const Spool spool = record({"named-twice"}, {{kEnvNvtxInjection, QString::fromStdString(kModule)}});
        const auto threads = spool.all<Thread>(RecordKind::Thread);
        QCOMPARE(threads.size(), std::size_t{1});
        QCOMPARE(spool.text(threads.front().name), std::string("backward"));
    }
};

FOURWALLS_TEST(TestCollectorThreads, QCoreApplication)

} // namespace tst_collector_threads

#include "tst_collector_threads.moc"
