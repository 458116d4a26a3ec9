// SPDX-License-Identifier: Apache-2.0
// Bad surroundings: each is one clear line, and the recorded program ends as it would have. Without a GPU, as
// tst_collector.cpp; what is said without CUPTI and without a driver is tested there.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

#include <QProcess>

#include <dlfcn.h>

namespace tst_collector_surroundings {

using namespace fourwalls::collect;

class TestCollectorSurroundings : public ModuleTest {
    Q_OBJECT

    const QString m_fakes = QString::fromStdString(kBuild + "/lib/fake/");
    QTemporaryDir m_copies;

    /// Another copy of the stand-in for CUPTI, under this path in a folder of its own.
    QString copied(const QString& path)
    {
        const QString to = m_copies.filePath(path);
        QDir().mkpath(QFileInfo(to).path());
        if (!QFile::exists(to)) QFile::copy(QString::fromStdString(kFakeCupti), to);
        return to;
    }

    std::map<QString, QString> withDriver(int version, std::map<QString, QString> more) const
    {
        more["FAKE_DRIVER"] = m_fakes + "libcuda.so.1";
        more["FAKE_DRIVER_VERSION"] = QString::number(version);
        return more;
    }

    /// What the recording said on standard error: its lines.
    QStringList said()
    {
        QStringList lines;
        for (const QString& line : QString::fromUtf8(m_process.readAll()).split('\n'))
            if (line.startsWith("fourwalls: ")) lines << line;
        return lines;
    }

    void verifyTheProgramIsUnharmed()
    {
        QCOMPARE(m_process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(m_process.exitCode(), 0);
    }

    /// Runs with a device until as many samples are in the spool.
    Spool sampled(std::map<QString, QString> more, std::size_t samples, RecordKind kind = RecordKind::NvmlSample)
    {
        return sampledUntil(std::move(more), [&](const Spool& spool) { return spool.count(kind) >= samples; });
    }

    template <class Until>
    Spool sampledUntil(std::map<QString, QString> more, Until&& until)
    {
        more["FAKE_CUDA"] = m_fakes + "libcuda.so.1";
        more["FAKE_NVML"] = m_fakes + "libnvidia-ml.so.1";
        more[kEnvSampleMs] = "10";
        begin({"sampled"}, more);
        const auto enough = [&] {
            const auto files = spools();
            return !files.empty() && until(readSpool(files.front()));
        };
        QElapsedTimer limit;
        limit.start();
        while (!enough() && limit.elapsed() < 20'000) QTest::qWait(20);
        m_process.write("x");
        m_process.waitForFinished(20'000);
        return readSpool(spools().at(0));
    }

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
    }

    void ofTwoCuptisOneIsUsedAndBothAreNamed()
    {
        const QString older = copied("libcupti.so.12"), newer = QString::fromStdString(kFakeCupti);
        // The driver is of the newer one's CUDA: the first that the loader has mapped.
        const Spool spool = record({"launch", "10"}, withDriver(13000, {{"FAKE_CUPTI", newer + ":" + older}}));
        verifyTheProgramIsUnharmed();
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
        const QString text = QString::fromStdString(spool.message(MessageCode::CuptiCopies));
        QVERIFY2(text.contains("several copies of CUPTI") && text.contains(older) && text.contains("libcupti.so.13"),
                 qPrintable(text));
        QCOMPARE(said(), QStringList()); // nothing is wrong
    }

    void theCuptiOfTheDriversCudaComesFirst()
    {
        const QString older = copied("libcupti.so.12"), newer = QString::fromStdString(kFakeCupti);
        for (const auto& [driver, used] : {std::pair{12040, "libcupti.so.12"}, std::pair{13000, "libcupti.so.13"}}) {
            // The newer one is loaded first, and would be taken otherwise.
            const Spool spool = record({"launch", "10"}, withDriver(driver, {{"FAKE_CUPTI", newer + ":" + older}}));
            const std::string text = spool.message(MessageCode::CuptiCopies);
            QVERIFY2(text.ends_with(std::string(used) + " is used"), text.c_str());
        }
        const Spool named = record(
            {"launch", "10"}, withDriver(13000, {{"FAKE_CUPTI", older + ":" + newer}, {"FOURWALLS_CUPTI", older}}));
        QCOMPARE(named.count(RecordKind::Kernel), std::size_t{10});
    }

    void theNextCuptiIsTriedWhereOneDoesNotWork()
    {
        const QString good = copied("good/libcupti.so.12");
        const Spool spool = record({"launch", "10"}, {{"FAKE_CUPTI", good + ":" + QString::fromStdString(kFakeCupti)},
                                                      {"FAKE_CUPTI_FAILS", "/fake/"},
                                                      {"FAKE_CUPTI_RESULT", "15"}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
        QVERIFY(spool.message(MessageCode::CuptiFailed).empty());
    }

    void cuptiOfThePythonEnvironmentIsFound_data()
    {
        QTest::addColumn<QString>("packages");
        QTest::addColumn<QString>("place");
        QTest::newRow("virtual environment") << "venv/lib/python3.11/site-packages/"
                                             << "nvidia/cu13/lib/libcupti.so.13";
        QTest::newRow("CUDA 12's package") << "venv12/lib/python3.11/site-packages/"
                                           << "nvidia/cuda_cupti/lib/libcupti.so.12";
        QTest::newRow("Debian's pip as root") << "usr/local/lib/python3.11/dist-packages/"
                                              << "nvidia/cu13/lib/libcupti.so.13";
    }
    void cuptiOfThePythonEnvironmentIsFound()
    {
        QFETCH(QString, packages);
        QFETCH(QString, place);
        // The process has a library of the environment and no CUPTI: it lies among the environment's packages.
        const QString cupti = copied(packages + place);
        const QString other = m_copies.filePath(packages + "cupy/cuda.so");
        QDir().mkpath(QFileInfo(other).path());
        QFile::copy(m_fakes + "libnvidia-ml.so.1", other);
        const Spool spool = record(
            {"launch", "10"},
            {{"FAKE_CUPTI", ""}, {"FAKE_DRIVER", other + ":" + m_fakes + "libcuda.so.1"}, {"FAKE_CUPTI_LATE", cupti}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
    }

    void cuptiOfTheToolkitIsFound_data()
    {
        QTest::addColumn<QString>("variable");
        QTest::addColumn<QString>("place");
        QTest::newRow("CUDA_HOME") << "CUDA_HOME"
                                   << "extras/CUPTI/lib64/libcupti.so.13";
        QTest::newRow("CUDA_PATH") << "CUDA_PATH"
                                   << "lib64/libcupti.so.13";
        QTest::newRow("its folder without 64") << "CUDA_HOME"
                                               << "lib/libcupti.so.12";
    }
    /// A program that has its runtime inside loads no CUPTI, and the loader's own folders have none that works.
    void cuptiOfTheToolkitIsFound()
    {
        QFETCH(QString, variable);
        QFETCH(QString, place);
        for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
            copied(QString("on-the-path/") + name);
        const QString root = QString("toolkit-") + QTest::currentDataTag();
        const QString cupti = copied(root + "/" + place);
        std::map<QString, QString> variables{{"FAKE_CUPTI", ""},
                                             {"FAKE_CUPTI_LATE", cupti},
                                             {"FAKE_CUPTI_FAILS", "on-the-path/"},
                                             {"FAKE_CUPTI_RESULT", "15"},
                                             {"LD_LIBRARY_PATH", m_copies.filePath("on-the-path")},
                                             {"CUDA_HOME", ""},
                                             {"CUDA_PATH", ""}};
        variables[variable] = m_copies.filePath(root);
        const Spool spool = record({"launch", "10"}, variables);
        verifyTheProgramIsUnharmed();
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
        QVERIFY(spool.message(MessageCode::CuptiFailed).empty());
    }

    void aDriverOlderThanTheToolkit()
    {
        const Spool spool = record(
            {"launch", "10"},
            withDriver(12040, {{"FAKE_CUPTI_RESULT", "15"}, {"FOURWALLS_CUPTI", QString::fromStdString(kFakeCupti)}}));
        verifyTheProgramIsUnharmed();
        QCOMPARE(
            spool.message(MessageCode::CuptiFailed),
            std::string("the driver is of CUDA 12.4 and libcupti of CUDA 13: nothing of the GPU is recorded; use a "
                        "newer driver, or a libcupti of the driver's CUDA"));
        QCOMPARE(said().size(), 1);
    }

    /// Newer CUPTIs do not tell an older driver their version, either.
    void aDriverTooOldForTheVersion()
    {
        const Spool spool = record(
            {"launch", "10"},
            withDriver(12040, {{"FAKE_CUPTI_VERSION_RESULT", "999"}, {kEnvCupti, QString::fromStdString(kFakeCupti)}}));
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.message(MessageCode::CuptiFailed).find("the driver is of CUDA 12.4 and libcupti of CUDA 13") ==
                0);
        QCOMPARE(said().size(), 1);
    }

    /// The CUPTI of CUDA 13.2 ends a process without a driver when it is asked for its version: it is not asked.
    void noDriver()
    {
        if (void* const driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
            dlclose(driver);
            QSKIP("there is a driver");
        }
        const Spool spool = record({"nothing"}, {{"FAKE_DRIVER", ""}, {"FAKE_CUPTI_VERSION_RESULT", "999"}});
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.message(MessageCode::CuptiFailed),
                 std::string("this machine has no CUDA driver (libcuda.so.1): nothing of the GPU is recorded"));
        QCOMPARE(said().size(), 1);
    }

    void noCupti()
    {
        const Spool spool = record({"nothing"}, {{"FAKE_CUPTI", ""}, {kEnvCupti, "/nowhere/libcupti.so"}});
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.message(MessageCode::CuptiMissing),
                 std::string("FOURWALLS_CUPTI=/nowhere/libcupti.so cannot be loaded: nothing of the GPU is recorded"));
        QCOMPARE(said().size(), 1);
    }

    void withoutTheRightToProfile_data()
    {
        QTest::addColumn<QString>("variable");
        QTest::newRow("subscribing") << "FAKE_CUPTI_RESULT";
        QTest::newRow("each kind") << "FAKE_CUPTI_FORBIDS";
    }
    void withoutTheRightToProfile()
    {
        QFETCH(QString, variable);
        const Spool spool =
            record({"launch", "10"}, {{variable, "35"}, {"FOURWALLS_CUPTI", QString::fromStdString(kFakeCupti)}});
        verifyTheProgramIsUnharmed();
        const QStringList lines = said();
        QCOMPARE(lines.size(), 1);
        QVERIFY2(lines[0].contains("CAP_SYS_ADMIN"), qPrintable(lines[0]));
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{0});
    }

    void anotherProfilerIsNamed()
    {
        const Spool alone = record(
            {"launch", "10"},
            {{"FAKE_CUPTI_VERSION", "130500"}, {"FAKE_CUPTI_OTHER", "CUPTI for Some Tool"}, {"FAKE_CUPTI_ALONE", "1"}});
        verifyTheProgramIsUnharmed();
        QVERIFY(alone.message(MessageCode::CuptiBusy).find("another profiler (CUPTI for Some Tool) holds CUPTI") == 0);
        QCOMPARE(said().size(), 1);
    }

    void besideAnotherProfiler()
    {
        const Spool spool =
            record({"cuda-nccl"}, {{"FAKE_CUPTI_VERSION", "130500"}, {"FAKE_CUPTI_OTHER", "CUPTI for Some Tool"}});
        verifyTheProgramIsUnharmed();
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{1});
        const auto external = spool.all<ExternalCorrelation>(RecordKind::ExternalCorrelation);
        QCOMPARE(external.size(), std::size_t{1}); // the launch of NCCL's kernel
        QVERIFY(spool.message(MessageCode::CuptiBusy).empty());
        QCOMPARE(spool.count(RecordKind::Loss), std::size_t{0});
        // Threads, clock and times of events are the same as alone: an attribute each in the place of a function.
        const auto call = spool.all<ApiCall>(RecordKind::ApiCall).at(0);
        QCOMPARE(call.thread, spool.all<NcclKernelLaunch>(RecordKind::NcclKernelLaunch).at(0).thread);
        const auto windows = spool.all<Window>(RecordKind::Window);
        QVERIFY(call.start >= windows.front().time && call.start <= windows.back().time);
        const Spool full = record({"edge"}, {{"FAKE_CUPTI_VERSION", "130500"}, {kEnvDetail, "full"}});
        QCOMPARE(full.all<CudaEvent>(RecordKind::CudaEvent).at(0).time, std::uint64_t{123'456});
        // An older driver cannot, and nobody else is there: alone, by the functions that every CUPTI has.
        const Spool old = record({"launch", "10"}, {{"FAKE_CUPTI_VERSION", "130500"}, {"FAKE_CUPTI_ALONE", "1"}});
        QCOMPARE(old.count(RecordKind::Kernel), std::size_t{10});
    }

    /// CUPTI keeps its own clock, as one of ours would cost kernels their times; pairs tell where it is not the system's.
    void timesAreOnCuptisOwnClock()
    {
        const Spool spool = record({"launch", "10"});
        const auto windows = spool.all<Window>(RecordKind::Window);
        for (const auto& kernel : spool.all<Kernel>(RecordKind::Kernel))
            QVERIFY(kernel.start >= windows.front().time && kernel.end <= windows.back().time + 1'000'000);
        for (const char* version : {"130001", "130500"}) { // alone, and one of several subscribers
            const Spool wsl = record({"launch", "10"}, {{"FAKE_CUPTI_WSL", "1"}, {"FAKE_CUPTI_VERSION", version}});
            QCOMPARE(wsl.count(RecordKind::Kernel), std::size_t{10});
            const auto pair = wsl.all<ClockPair>(RecordKind::ClockPair).back();
            const auto near = [](std::uint64_t a, std::uint64_t b) {
                return std::max(a, b) - std::min(a, b) < 60'000'000'000;
            };
            QVERIFY(!near(pair.cupti, pair.realtime));
            for (const auto& kernel : wsl.all<Kernel>(RecordKind::Kernel)) QVERIFY(near(kernel.start, pair.cupti));
        }
    }

    void recordsAreTakenBackFromAnotherProfiler()
    {
        const Spool spool = record({"taken-over"}, {{"FAKE_CUPTI_VERSION", "130200"}});
        verifyTheProgramIsUnharmed();
        const auto kernels = spool.all<Kernel>(RecordKind::Kernel);
        QVERIFY(kernels.size() >= 30);
        const auto windows = spool.all<Window>(RecordKind::Window);
        for (const auto& kernel : kernels) // the other one's clock is gone, too
            QVERIFY(kernel.start >= windows.front().time && kernel.start <= windows.back().time);
        const std::string text = spool.message(MessageCode::SecondSubscriber);
        QVERIFY2(text.find("were taken back") != std::string::npos, text.c_str());
        // With a buffer that CUPTI holds it is certain once that would be full.
        const Spool held = record({"taken-over-held"});
        QVERIFY(held.message(MessageCode::SecondSubscriber).find("were taken back") != std::string::npos);
        // Whoever only leaves the GPU alone hears nothing of it.
        const Spool quiet = record({"quiet"});
        QVERIFY(quiet.message(MessageCode::SecondSubscriber).empty());
    }

    void graphsAreRecordedWholeWhereNodesLoseTheirTimes()
    {
        const Spool spool = record({"graphs"});
        verifyTheProgramIsUnharmed();
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{2000});
        QCOMPARE(spool.count(RecordKind::GraphTrace), std::size_t{7});
        QVERIFY(spool.message(MessageCode::WholeGraphs).find("loses the times of graph nodes") != std::string::npos);
    }

    /// Among several subscribers graphs are whole from the start on or not at all.
    void graphsBesideAnotherProfiler()
    {
        const std::map<QString, QString> shared{{"FAKE_CUPTI_VERSION", "130500"}};
        const Spool nodes = record({"graph", "2000"}, shared);
        QCOMPARE(nodes.count(RecordKind::Kernel), std::size_t{2000});
        QVERIFY(nodes.message(MessageCode::WholeGraphs).find("without graph_nodes (FOURWALLS_WITHOUT)") !=
                std::string::npos);
        QVERIFY(nodes.message(MessageCode::KindRefused).empty());
        auto whole = shared;
        whole[kEnvWithout] = "graph_nodes";
        const Spool graphs = record({"graph", "7"}, whole);
        QCOMPARE(graphs.count(RecordKind::GraphTrace), std::size_t{7});
        QVERIFY(graphs.message(MessageCode::KindRefused).empty());
    }

    void queriesAreLeftOutOfEachWindow()
    {
        // With a filter that was told once, every window but the first would record all of them.
        record({"calls"}, {{kEnvEvery, "2"}, {kEnvDetail, "normal"}});
        const QString output = QString::fromUtf8(m_process.readAll());
        QVERIFY2(!output.contains("11") && !output.contains("01") && output.count("10") >= 3, qPrintable(output));
    }

    void anInstanceOfACard()
    {
        const Spool spool = sampled({{"FAKE_NVML_MIG", "1"}}, 2);
        verifyTheProgramIsUnharmed();
        const auto sample = spool.all<NvmlSample>(RecordKind::NvmlSample).at(0);
        QCOMPARE(sample.smClockMhz, 1980U); // the card's
        QCOMPARE(sample.powerMilliwatt, 650'000U);
        QCOMPARE(sample.memoryUsed, std::uint64_t{30}); // the instance's
        QCOMPARE(sample.processMemory, std::uint64_t{25});
    }

    /// The first questions come while cuInit, which has begun the recording, still runs.
    void capturesAreLeftAloneOnceTheDriverHasStarted()
    {
        const Spool spool = sampled({{"FAKE_DRIVER_STARTS", "3"}}, 1, RecordKind::MemoryInfo);
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.count(RecordKind::MemoryInfo) >= 1); // the stand-in refuses whoever might end a capture
    }

    void aContainersOwnProcessNumbers()
    {
        const Spool spool = sampled({{"FAKE_NVML_OTHER_PIDS", "1"}}, 15);
        verifyTheProgramIsUnharmed();
        const auto sample = spool.all<NvmlSample>(RecordKind::NvmlSample).at(0);
        QVERIFY((sample.valid & kNvmlProcessMemory) == 0 && (sample.valid & kNvmlMemory) != 0);
        const std::string text = spool.message(MessageCode::NvmlMissing);
        QVERIFY2(text.find("another number (a container?)") != std::string::npos, text.c_str());
        QVERIFY(sampled({}, 15).message(MessageCode::NvmlMissing).empty());
    }

    /// NVML lists the process and does not know its memory: that is no amount, and no container either.
    void memoryThatNvmlDoesNotKnow()
    {
        const Spool spool = sampled({{"FAKE_NVML_SILENT", "1"}}, 15);
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.count(RecordKind::NvmlSample) >= 15);
        for (const NvmlSample& sample : spool.all<NvmlSample>(RecordKind::NvmlSample)) {
            QCOMPARE(sample.valid & (kNvmlProcessMemory | kNvmlMemory), static_cast<std::uint32_t>(kNvmlMemory));
            QCOMPARE(sample.processMemory, std::uint64_t{0});
        }
        QVERIFY(spool.message(MessageCode::NvmlMissing).empty());
    }

    /// What CUPTI has is written all the same.
    void anNvmlThatDoesNotAnswer()
    {
        const Spool spool = sampledUntil({{"FAKE_NVML_STANDS", "1"}}, [](const Spool& until) {
            return !until.message(MessageCode::Versions).empty(); // the next that the sampler does is to ask
        });
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
        QVERIFY(spool.message(MessageCode::CuptiFailed).find("NVML does not answer") != std::string::npos);
        QCOMPARE(said().filter("does not answer").size(), 1);
    }

    /// In the middle of a run: samples end, a line says why, and the program has its own end.
    void aGpuThatFallsOffTheBus()
    {
        const Spool spool = sampledUntil({{"FAKE_NVML_LOST_AFTER", "6"}}, [](const Spool& so) {
            return !so.message(MessageCode::DeviceLost).empty() && so.count(RecordKind::ClockPair) >= 3;
        });
        verifyTheProgramIsUnharmed();
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.message(MessageCode::DeviceLost),
                 std::string("GPU 0 is lost, as NVML says (it has fallen off the bus): nothing more of it is sampled; "
                             "the system's log has the reason (dmesg, Xid)"));
        QCOMPARE(said().size(), 1);
        const auto samples = spool.all<NvmlSample>(RecordKind::NvmlSample);
        QCOMPARE(samples.size(), std::size_t{3}); // two clocks each
        for (const NvmlSample& sample : samples) QCOMPARE(sample.valid & kNvmlPower, std::uint32_t{kNvmlPower});
    }

    void aFullDiskIsOneLine()
    {
        const Spool spool = record({"full-disk"});
        verifyTheProgramIsUnharmed();
        const QStringList lines = said();
        QCOMPARE(lines.size(), 1);
        QVERIFY2(lines[0].contains("the spool's disk is almost full"), qPrintable(lines[0]));
        QCOMPARE(spool.all<End>(RecordKind::End).at(0).reason, static_cast<std::uint32_t>(EndReason::Limit));
    }
};

FOURWALLS_TEST(TestCollectorSurroundings, QCoreApplication)

} // namespace tst_collector_surroundings

#include "tst_collector_surroundings.moc"
