// SPDX-License-Identifier: Apache-2.0
// What keeps the cost of a recording within bounds: the detail of launches, steps that are left out, the size of the
// spool, the room on its disk; and what it cost each thread. Without a GPU, as tst_collector.cpp.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

namespace tst_collector_bounds {

using namespace fourwalls::collect;

class TestCollectorBounds : public ModuleTest {
    Q_OBJECT

    std::string said() { return m_process.readAll().toStdString(); }

    std::int64_t messageValue(const Spool& spool, MessageCode code) const
    {
        for (const Message& message : spool.all<Message>(RecordKind::Message))
            if (message.code == static_cast<std::uint32_t>(code)) return message.value;
        return -1;
    }

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
    }

    void eventsAndTheirWaitsAreEdges()
    {
        const Spool spool = record({"edge"});
        const auto events = spool.all<CudaEvent>(RecordKind::CudaEvent);
        const auto waits = spool.all<Synchronization>(RecordKind::Synchronization);
        QCOMPARE(events.size(), std::size_t{1});
        QCOMPARE(waits.size(), std::size_t{1});
        QCOMPARE(events[0].event, 5U);
        QCOMPARE(events[0].stream, 7U);
        QCOMPARE(events[0].context, 1U);
        QCOMPARE(events[0].device, 3U);
        QCOMPARE(events[0].correlation, 500U);
        QCOMPARE(events[0].time, std::uint64_t{0}); // not asked for
        QCOMPARE(events[0].recordId, std::uint64_t{0x100000001});
        QCOMPARE(waits[0].type, static_cast<std::uint32_t>(SynchronizationType::StreamWaitEvent));
        QCOMPARE(waits[0].stream, 13U);
        QCOMPARE(waits[0].event, 5U);
        QCOMPARE(waits[0].recordId, events[0].recordId);
        QCOMPARE(spool.count(RecordKind::Loss), std::size_t{0});
    }

    void oldCuptiNamesNoEventRecords()
    {
        const Spool spool = record({"edge"}, {{"FAKE_CUPTI_VERSION", "25"}});
        QCOMPARE(spool.all<CudaEvent>(RecordKind::CudaEvent).at(0).recordId, std::uint64_t{0});
        QCOMPARE(spool.all<Synchronization>(RecordKind::Synchronization).at(0).recordId, std::uint64_t{0});
    }

    void fullHasTheTimesOfEvents()
    {
        const Spool spool = record({"edge"}, {{kEnvDetail, "full"}});
        QCOMPARE(spool.all<CudaEvent>(RecordKind::CudaEvent).at(0).time, std::uint64_t{123'456});
        QCOMPARE(messageValue(spool, MessageCode::Detail), std::int64_t{3});
    }

    void lowHasKernelsAndNoCalls()
    {
        const Spool spool = record({"launch", "1000"}, {{kEnvDetail, "low"}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{1000});
        QCOMPARE(spool.count(RecordKind::ApiCall), std::size_t{0});
        QCOMPARE(messageValue(spool, MessageCode::Detail), std::int64_t{1});
        const Spool edge = record({"edge"}, {{kEnvDetail, "low"}});
        QCOMPARE(edge.count(RecordKind::CudaEvent), std::size_t{0});
        QCOMPARE(edge.count(RecordKind::Synchronization), std::size_t{0});
    }

    void autoChoosesByTheLaunchesOfTheFirstSecond()
    {
        const Spool busy = record({"paced", "30", "1500"}); // 20 000 within 14 rounds of 20 ms
        QCOMPARE(messageValue(busy, MessageCode::Detail), std::int64_t{1});
        QVERIFY(busy.message(MessageCode::Detail).find("FOURWALLS_DETAIL=low, chosen by ") == 0);
        QCOMPARE(said(), std::string("kernels 1 calls 0 waits 0 events 0\n"));
        QCOMPARE(busy.count(RecordKind::Kernel), std::size_t{45'000});
        QVERIFY(busy.count(RecordKind::ApiCall) < 45'000);
        const Spool quiet = record({"paced", "75", "10"}); // 1.5 s
        QCOMPARE(messageValue(quiet, MessageCode::Detail), std::int64_t{2});
        QCOMPARE(said(), std::string("kernels 1 calls 1 waits 1 events 1\n"));
        QCOMPARE(quiet.count(RecordKind::ApiCall), std::size_t{750});
    }

    /// A short window is not cut into one half with calls and one without, however much is launched in it.
    void aFewStepsHaveTheirCalls()
    {
        const Spool few = record({"steps"}, {{kEnvSteps, "10-13"}});
        QCOMPARE(messageValue(few, MessageCode::Detail), std::int64_t{2});
        QVERIFY(few.message(MessageCode::Detail).find("only a few steps") != std::string::npos);
        for (const auto& [name, value] : std::map<QString, QString>{{kEnvSteps, "1-1000"}, {kEnvEvery, "5"}})
            QCOMPARE(messageValue(record({"steps"}, {{name, value}}), MessageCode::Detail), std::int64_t{-1});
    }

    void limitEndsTheRecordingAndNotTheProgram()
    {
        const Spool spool = record({"paced", "60", "1000"}, {{kEnvSpoolLimit, "1"}, {kEnvDetail, "normal"}});
        QCOMPARE(m_process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(m_process.exitCode(), 0);
        const std::string output = said();
        QVERIFY(output.find("kernels 0 calls 0 waits 0 events 0\n") != std::string::npos); // long before its end
        const std::string line = "the spool has reached FOURWALLS_SPOOL_LIMIT (1 MiB)";
        QVERIFY(output.find(line) != std::string::npos);
        QCOMPARE(output.find(line), output.rfind(line));
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.state.unreadBytes, std::uint64_t{0});
        QCOMPARE(spool.all<End>(RecordKind::End).at(0).reason, static_cast<std::uint32_t>(EndReason::Limit));
        QVERIFY(messageValue(spool, MessageCode::SpoolLimit) >= 1 << 20);
        QCOMPARE(spool.all<Window>(RecordKind::Window).back().on, 0U);
        const std::size_t kernels = spool.count(RecordKind::Kernel); // 168 bytes each with its call
        QVERIFY(kernels > 6000 && kernels < 45'000);
    }

    void limitIsOneByDefault()
    {
        const Spool spool = record({"launch", "50000"}, {{kEnvSpoolLimit, "0"}}); // 8 MB: none of its own
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{50'000});
        QCOMPARE(spool.all<End>(RecordKind::End).at(0).reason, static_cast<std::uint32_t>(EndReason::Exit));
        const Spool wrong = record({"launch", "10"}, {{kEnvSpoolLimit, "-1"}});
        QVERIFY(wrong.message(MessageCode::BadSetting).find("FOURWALLS_SPOOL_LIMIT=-1") != std::string::npos);
    }

    void aFileThatCannotGrowIsOneLine()
    {
        record({"small-files"}, {{kEnvDetail, "normal"}});
        QCOMPARE(m_process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(m_process.exitCode(), 0);
        const std::string output = said();
        QCOMPARE(std::count(output.begin(), output.end(), '\n'), std::ptrdiff_t{2});
        QVERIFY(output.find("cannot be written any more") != std::string::npos);
        QVERIFY(output.find("kernels 0 calls 0 waits 0 events 0\n") != std::string::npos); // CUPTI is switched off
    }

    void aFolderThatVanishesIsOneLine()
    {
        const Spool spool = record({"no-folder"});
        QCOMPARE(m_process.exitCode(), 0);
        const std::string output = said();
        QCOMPARE(std::count(output.begin(), output.end(), '\n'), std::ptrdiff_t{2});
        QVERIFY(output.find("was removed: recording stops") != std::string::npos);
        QVERIFY(output.find("kernels 0 calls 0") != std::string::npos);
        QCOMPARE(spool.all<End>(RecordKind::End).at(0).reason, static_cast<std::uint32_t>(EndReason::Limit));
    }

    void oneStepOutOfFive()
    {
        const Spool spool = record({"paced-steps", "20"}, {{kEnvEvery, "5"}});
        const auto windows = spool.all<Window>(RecordKind::Window);
        std::vector<std::int64_t> recorded;
        for (const StepMark& mark : spool.all<StepMark>(RecordKind::StepMark)) {
            bool on = false;
            for (const Window& window : windows) on = window.time <= mark.time ? window.on != 0 : on;
            if (on) recorded.push_back(mark.step);
        }
        QCOMPARE(recorded, (std::vector<std::int64_t>{4, 9, 14, 19}));
        QCOMPARE(windows[1].reason, static_cast<std::uint32_t>(WindowReason::Every));
        QCOMPARE(messageValue(spool, MessageCode::Every), std::int64_t{5});
        // Switched on one step before the first, and off again a sampler's period (0.1 s) and a step's length after each.
        const std::string output = said();
        QCOMPARE(output.substr(0, 13), std::string("enabled 00011"));
        QCOMPARE(output[8 + 8], '0');
        QCOMPARE(output[8 + 9], '1');
        QCOMPARE(output[8 + 13], '0');
        const auto kernels = spool.all<Kernel>(RecordKind::Kernel);
        QCOMPARE(kernels.front().correlation, 41U); // those of the step before were recorded to warm up
        // Only what was launched in a step that had them switched on at its end or at the end of the step before.
        std::size_t on = 0;
        for (std::size_t step = 0; step < 20; ++step)
            on += output[8 + step] == '1' || (step > 0 && output[7 + step] == '1') ? 1U : 0U;
        QVERIFY(kernels.size() >= 40 && kernels.size() <= 10 * on);
    }

    void stepsAreReachedWithCuptiOn()
    {
        const Spool spool = record({"paced-steps", "6"}, {{kEnvSteps, "3-4"}});
        QCOMPARE(said().substr(0, 12), std::string("enabled 0011"));
        QCOMPARE(spool.all<Kernel>(RecordKind::Kernel).front().correlation, 31U);
        QCOMPARE(spool.all<ApiCall>(RecordKind::ApiCall).front().correlation, 31U);
    }

    /// 250 device buffers, which is CUPTI's own default: fewer lose times in programs of many graphs. And buffers for 192
    /// threads that call CUDA: three quarters of the queue's 256 MiB, 1 MiB each.
    void buffersOfCuptiByDefault()
    {
        const Spool spool = record({"limits"});
        QCOMPARE(said(), std::string("pool limit 250, buffers 192\n"));
        QCOMPARE(spool.lost(LossKind::BufferRefused), std::uint64_t{8}); // the threads after them
        record({"limits"}, {{kEnvPoolLimit, "8"}, {kEnvQueueBytes, "64M"}});
        QCOMPARE(said(), std::string("pool limit 8, buffers 48\n"));
        record({"limits"}, {{"FAKE_CUPTI_VERSION", "130500"}}); // beside other subscribers
        QCOMPARE(said(), std::string("pool limit 250, buffers 192\n"));
    }

    void abruptEnds_data()
    {
        QTest::addColumn<bool>("killed");
        QTest::addColumn<bool>("unfinished");
        QTest::newRow("os._exit") << false << false;
        QTest::newRow("killed") << true << false;
        QTest::newRow("os._exit with work under way") << false << true;
        QTest::newRow("killed with work under way") << true << true;
    }
    /// What has ended by the last flush is in the file. Of work that never ceases a thread's last buffer is missing, and no
    /// more: 1 MiB of launches, each a call and its kernel (at least 40 and 208 bytes).
    void abruptEnds()
    {
        QFETCH(bool, killed);
        QFETCH(bool, unfinished);
        constexpr std::size_t kLaunches = 15'000, kMostMissing = (1 << 20) / (40 + 208);
        begin({"ends-abruptly", QString::number(kLaunches), unfinished ? "unfinished" : "finished"},
              {{kEnvDetail, "normal"}});
        QVERIFY(m_process.waitForReadyRead(20'000));
        const auto recorded = [this] { return readSpool(spools().at(0)).count(RecordKind::Kernel); };
        QTRY_VERIFY_WITH_TIMEOUT(recorded() >= (unfinished ? kLaunches - kMostMissing : kLaunches), 10'000);
        if (killed) {
            m_process.kill();
        } else {
            m_process.write("x");
        }
        end();
        const Spool spool = readSpool(spools().at(0));
        QVERIFY(!spool.state.ended);
        if (unfinished) {
            QVERIFY(spool.count(RecordKind::Kernel) < kLaunches); // the last buffer was never given back
        } else {
            QCOMPARE(spool.count(RecordKind::Kernel), kLaunches);
        }
    }

    void costByThread()
    {
        const Spool spool = record({"launch", "50000"});
        std::map<std::uint32_t, RecorderCost> program;
        std::size_t own = 0;
        for (const RecorderCost& cost : spool.all<RecorderCost>(RecordKind::RecorderCost)) {
            if (cost.own == 0) program[cost.thread] = cost;
            own += cost.own;
        }
        QVERIFY(own >= 2);
        const OwnCost all = spool.all<OwnCost>(RecordKind::OwnCost).back();
        std::uint64_t calls = 0;
        std::uint64_t spent = 0;
        for (const auto& [thread, cost] : program) {
            calls += cost.calls;
            spent += cost.nanoseconds;
        }
        QVERIFY(calls > 0 && spent > 0);
        QCOMPARE(calls, all.callbacks);
        QCOMPARE(spent, all.callbackNs);
        QVERIFY(program.count(spool.all<ApiCall>(RecordKind::ApiCall).at(0).thread) == 1); // the launching thread's
    }
};

FOURWALLS_TEST(TestCollectorBounds, QCoreApplication)

} // namespace tst_collector_bounds

#include "tst_collector_bounds.moc"
