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

    void endsWithoutTheDriver()
    {
        const Spool spool = record({"gone"}, {{kEnvNvtxInjection, QString::fromStdString(kModule)}});
        QCOMPARE(m_process.exitStatus(), QProcess::NormalExit);
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
