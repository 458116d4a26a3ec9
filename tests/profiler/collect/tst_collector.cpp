// SPDX-License-Identifier: Apache-2.0
// The injected module from end to end, without a GPU: a program is recorded with a stand-in for CUPTI and the spool is
// read. Where the module was not built or a library of the toolkit is missing, the tests say so and are skipped.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

#include <signal.h>

namespace tst_collector {

using namespace fourwalls::collect;

namespace {

/// Records with a name, without its number, and the name: two spools number their texts differently.
template <class Record>
std::vector<std::pair<std::string, std::string>> named(const Spool& spool, RecordKind kind)
{
    std::vector<std::pair<std::string, std::string>> result;
    for (Record record : spool.all<Record>(kind)) {
        const std::string name = spool.text(record.name);
        record.name = 0;
        result.emplace_back(std::string(reinterpret_cast<const char*>(&record), sizeof record), name);
    }
    return result;
}

} // namespace

class TestCollector : public ModuleTest {
    Q_OBJECT

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
    }

    void recordsLaunches()
    {
        const Spool spool = record({"launch", "50000"}, {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {kEnvDetail, "normal"}});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.state.unreadBytes, std::uint64_t{0});
        QCOMPARE(spool.header.rank, 3);
        QCOMPARE(spool.header.worldSize, 8);
        QCOMPARE(spool.header.localRank, -1);
        QCOMPARE(std::string(spool.header.executable), std::string("recorded_program"));
        QVERIFY(spools().front().find("-rank3.fwspool") != std::string::npos);
        const auto kernels = spool.all<Kernel>(RecordKind::Kernel);
        QCOMPARE(kernels.size(), std::size_t{50'000});
        QCOMPARE(spool.count(RecordKind::ApiCall), std::size_t{50'000});
        QCOMPARE(kernels[1].correlation, 2U);
        QCOMPARE(spool.text(kernels[1].name), std::string("ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
        QCOMPARE(kernels[1].grid[0], 132U);
        QCOMPARE(kernels[1].cluster[0], 2U);
        QCOMPARE(kernels[1].end - kernels[1].start, std::uint64_t{5000});
        QCOMPARE(spool.count(RecordKind::Loss), std::size_t{0});
        const auto costs = spool.all<OwnCost>(RecordKind::OwnCost);
        QVERIFY(!costs.empty() && costs.back().records > 100'000 && costs.back().callbacks > 0);
        QVERIFY(spool.count(RecordKind::ClockPair) >= 2);
        QCOMPARE(spool.message(MessageCode::Exited), std::string("the program ended"));
        // The environment stays outside the file.
        for (const auto& [id, text] : spool.strings) QVERIFY(text.find("FAKE_CUPTI") == std::string::npos);
    }

    void recordsEveryKind_data()
    {
        QTest::addColumn<QString>("iterator");
        QTest::newRow("stand-in") << QString();
        QTest::newRow("true libcupti") << QString::fromStdString(toolkitLibrary("libcupti.so.13"));
    }
    void recordsEveryKind()
    {
        QFETCH(QString, iterator);
        if (iterator.isEmpty() && qstrcmp(QTest::currentDataTag(), "true libcupti") == 0)
            QSKIP("libcupti.so.13 is not installed");
        const Spool spool = record({"kinds"}, {{"FAKE_CUPTI_REAL", iterator}, {kEnvWithout, "graph_nodes"}});
        const auto devices = spool.all<Device>(RecordKind::Device);
        QCOMPARE(devices.size(), std::size_t{1});
        QCOMPARE(spool.text(devices[0].name), std::string("Fake GPU"));
        QCOMPARE(devices[0].multiprocessors, 132U);
        QCOMPARE(devices[0].computeMajor, std::uint16_t{9});
        QCOMPARE(devices[0].migEnabled, std::uint8_t{1});
        for (int i = 0; i < 16; ++i) QCOMPARE(int{devices[0].uuid[i]} * 2, int{devices[0].migUuid[i]});
        QCOMPARE(int{devices[0].migUuid[0]}, 0x22);
        QCOMPARE(spool.all<Context>(RecordKind::Context).at(0).nullStream, 7U);
        const auto stream = spool.all<Stream>(RecordKind::Stream).at(0);
        QCOMPARE(stream.priority, -1);
        QCOMPARE(stream.flag, static_cast<std::uint32_t>(StreamFlag::NonBlocking));
        const auto copies = spool.all<Memcpy>(RecordKind::Memcpy);
        QCOMPARE(copies.size(), std::size_t{2});
        QCOMPARE(copies[0].size, std::uint64_t{1} << 20);
        QCOMPARE(copies[0].sourceKind, static_cast<std::uint8_t>(MemoryKind::Pinned));
        QCOMPARE(copies[0].async, std::uint8_t{1});
        QCOMPARE(copies[0].correlation, 1001U);
        QCOMPARE(copies[0].sourceDevice, -1);
        QCOMPARE(copies[1].destinationDevice, 1);
        QCOMPARE(spool.all<Memset>(RecordKind::Memset).at(0).value, 7U);
        const auto memory = spool.all<Memory>(RecordKind::Memory).at(0);
        QCOMPARE(memory.size, std::uint64_t{123456});
        QCOMPARE(memory.poolSize, std::uint64_t{1} << 21);
        QCOMPARE(memory.poolUtilized, std::uint64_t{123456});
        QCOMPARE(memory.operation, static_cast<std::uint8_t>(MemoryOperation::Allocate));
        QCOMPARE(spool.all<MemoryPool>(RecordKind::MemoryPool).at(0).address, std::uint64_t{0x1234});
        const auto external = spool.all<ExternalCorrelation>(RecordKind::ExternalCorrelation);
        QCOMPARE(external.size(), std::size_t{2});
        QCOMPARE(external[0].external, std::uint64_t{0x123456789abc});
        QCOMPARE(external[0].correlation, 1001U);
        QCOMPARE(external[0].kind, static_cast<std::uint32_t>(ExternalKind::Other));
        QCOMPARE(external[1].external, std::uint64_t{42});
        QCOMPARE(external[1].correlation, 1003U);
        QCOMPARE(external[1].kind, static_cast<std::uint32_t>(ExternalKind::NcclKernelLaunch));
        const auto calls = spool.all<ApiCall>(RecordKind::ApiCall);
        QCOMPARE(calls.size(), std::size_t{1}); // cudaGetDevice is a query and left out
        QCOMPARE(calls[0].correlation, 1003U);
        const auto names = spool.all<ApiName>(RecordKind::ApiName);
        QCOMPARE(spool.text(names.at(0).name), std::string("cuLaunchKernel"));
        const auto sync = spool.all<Synchronization>(RecordKind::Synchronization).at(0);
        QCOMPARE(sync.type, static_cast<std::uint32_t>(SynchronizationType::Stream));
        const auto overhead = spool.all<Overhead>(RecordKind::Overhead).at(0);
        QCOMPARE(overhead.kind, static_cast<std::uint32_t>(OverheadKind::BufferFlush));
        QCOMPARE(overhead.thread, 77U);
        QCOMPARE(spool.all<GraphTrace>(RecordKind::GraphTrace).at(0).graph, 5U);
        const auto created = spool.all<VirtualMemory>(RecordKind::VirtualMemory).at(0);
        QCOMPARE(created.size, std::uint64_t{2} << 20);
        QCOMPARE(created.handle, std::uint64_t{99});
        QCOMPARE(created.device, 0);
        // Times that CUPTI lost or turned round are kept, counted and said.
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{4});
        QCOMPARE(spool.lost(LossKind::TimesLost), std::uint64_t{1});
        QCOMPARE(spool.lost(LossKind::TimesInverted), std::uint64_t{1});
        QVERIFY(spool.message(MessageCode::TimesSuspicious).find("without times") != std::string::npos);
        QCOMPARE(spool.lost(LossKind::UnknownKind) + spool.lost(LossKind::BufferMalformed), std::uint64_t{0});
    }

    void busyCuptiIsSaid()
    {
        const Spool spool = record({"launch", "0"}, {{"FAKE_CUPTI_RESULT", "39"}});
        QVERIFY(spool.state.ended);
        QVERIFY(spool.message(MessageCode::CuptiBusy).find("another profiler") != std::string::npos);
        const Spool failed =
            record({"launch", "0"}, {{"FAKE_CUPTI_RESULT", "999"}, {kEnvCupti, QString::fromStdString(kFakeCupti)}});
        QVERIFY(failed.message(MessageCode::CuptiFailed).find("check the driver") != std::string::npos);
    }

    void missingCuptiIsSaid()
    {
        const Spool spool = record({"nothing"}, {{"FAKE_CUPTI", ""}, {kEnvCupti, "/nowhere/libcupti.so"}});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.message(MessageCode::CuptiMissing),
                 std::string("FOURWALLS_CUPTI=/nowhere/libcupti.so cannot be loaded: nothing of the GPU is recorded"));
        QVERIFY(spool.message(MessageCode::CuptiFailed).empty());
        const Spool old =
            record({"nothing"}, {{"FAKE_CUPTI_VERSION", "18"}, {kEnvCupti, QString::fromStdString(kFakeCupti)}});
        QVERIFY(old.message(MessageCode::CuptiMissing).find("libcupti is older than CUDA 12.0") == 0);
        QVERIFY(old.message(MessageCode::CuptiFailed).empty());
    }

    void exhaustedBuffersAreCounted()
    {
        const Spool spool = record({"keep", "200000"}, {{kEnvQueueBytes, "8M"}});
        QVERIFY(spool.state.ended);
        QVERIFY(spool.lost(LossKind::BufferRefused) > 0);
        QVERIFY(spool.lost(LossKind::CuptiDropped) > 10'000);
        QVERIFY(spool.message(MessageCode::SecondSubscriber).find("another profiler") != std::string::npos);
    }

    void memoryStaysBelowItsBound()
    {
        // The writer stands still: what waits for it fills the queue, and the rest is counted to the last record.
        constexpr std::uint64_t kBound = 64 << 20;
        const Spool spool =
            record({"stalled"}, {{kEnvQueueBytes, "64M"}, {kEnvNvtxInjection, QString::fromStdString(kModule)}});
        QVERIFY(spool.state.ended);
        const auto costs = spool.all<OwnCost>(RecordKind::OwnCost);
        QVERIFY(!costs.empty());
        QVERIFY(costs.back().queuePeak <= kBound);
        QVERIFY(costs.back().queuePeak > kBound * 9 / 10); // it was full
        QVERIFY(spool.lost(LossKind::BufferRefused) > 0);
        QVERIFY(spool.lost(LossKind::CuptiDropped) > 0);
        QCOMPARE(spool.count(RecordKind::Kernel) + spool.count(RecordKind::ApiCall) +
                     spool.lost(LossKind::CuptiDropped),
                 std::size_t{2 * 500'100});
        QVERIFY(spool.lost(LossKind::QueueFull) > 0);
        QCOMPARE(spool.count(RecordKind::NvtxMark) + spool.lost(LossKind::QueueFull), std::size_t{200'000});
        // The system's word on it: what the process grew by, the stand-in's few bytes among it.
        const QByteArray said = m_process.readAll();
        const auto grown = said.mid(said.indexOf("grown ") + 6).trimmed().toULongLong();
        QVERIFY2(grown > kBound / 2 && grown < kBound + (4 << 20), said.constData());
    }

    void smallestQueueIsABoundToo()
    {
        const Spool spool =
            record({"stalled"}, {{kEnvQueueBytes, "1"}, {kEnvNvtxInjection, QString::fromStdString(kModule)}});
        const auto costs = spool.all<OwnCost>(RecordKind::OwnCost);
        QVERIFY(!costs.empty() && costs.back().queuePeak <= 16 << 20);
        QCOMPARE(spool.count(RecordKind::Kernel) + spool.count(RecordKind::ApiCall) +
                     spool.lost(LossKind::CuptiDropped),
                 std::size_t{2 * 500'100});
    }

    void rawBuffersAreKeptAndDecodedAgain_data() { recordsEveryKind_data(); }
    void rawBuffersAreKeptAndDecodedAgain()
    {
        QFETCH(QString, iterator);
        if (iterator.isEmpty() && qstrcmp(QTest::currentDataTag(), "true libcupti") == 0)
            QSKIP("libcupti.so.13 is not installed");
        const QTemporaryDir raw;
        const QString folder = raw.filePath("raw"); // it is made
        for (const char* what : {"kinds", "launch"}) {
            const Spool spool = record({what, "50000"}, {{"FAKE_CUPTI_REAL", iterator}, {kEnvRaw, folder}});
            QVERIFY(spool.message(MessageCode::Other).find("buffers are kept") != std::string::npos);
            QVERIFY(spool.state.ended);
            const QString name = QString::fromStdString(std::filesystem::path(spools().front()).stem().string());
            const QString kept = folder + "/" + name + ".fwcupti";
            const QString again = raw.filePath(name + ".fwspool");
            QProcess replay;
            replay.setProcessChannelMode(QProcess::MergedChannels);
            replay.start(QString::fromStdString(kReplay),
                         {kept, again, iterator.isEmpty() ? QString::fromStdString(kFakeCupti) : iterator});
            QVERIFY(replay.waitForFinished(20'000));
            const QByteArray said = replay.readAll();
            QVERIFY2(replay.exitStatus() == QProcess::NormalExit && replay.exitCode() == 0, said.constData());
            QVERIFY2(said.contains("of CUPTI 130001, read with CUPTI"), said.constData());
            QVERIFY2(said.contains("unknown kinds 0, malformed buffers 0, texts missing 0, bytes behind a cut 0"),
                     said.constData());
            const Spool second = readSpool(again.toStdString());
            for (const RecordKind kind :
                 {RecordKind::Context, RecordKind::Stream, RecordKind::Memcpy, RecordKind::Memset,
                  RecordKind::MemoryPool, RecordKind::ApiCall, RecordKind::ExternalCorrelation,
                  RecordKind::Synchronization, RecordKind::Overhead, RecordKind::GraphTrace}) {
                QCOMPARE(second.records.count(kind), spool.records.count(kind));
                if (spool.records.count(kind) != 0) QVERIFY(second.records.at(kind) == spool.records.at(kind));
            }
            QVERIFY(named<Device>(second, RecordKind::Device) == named<Device>(spool, RecordKind::Device));
            QVERIFY(named<Kernel>(second, RecordKind::Kernel) == named<Kernel>(spool, RecordKind::Kernel));
            QVERIFY(named<Memory>(second, RecordKind::Memory) == named<Memory>(spool, RecordKind::Memory));
            QCOMPARE(second.lost(LossKind::TimesLost), spool.lost(LossKind::TimesLost));
            // Cut anywhere, the rest before the cut is read.
            QFile whole(kept);
            QVERIFY(whole.open(QIODevice::ReadWrite) && whole.resize(whole.size() - 9));
            replay.start(QString::fromStdString(kReplay), {kept, again + "2", QString::fromStdString(kFakeCupti)});
            QVERIFY(replay.waitForFinished(20'000));
            QCOMPARE(replay.exitCode(), 0);
            QVERIFY(!replay.readAll().contains("bytes behind a cut 0"));
        }
    }

    void rawBuffersAreBounded()
    {
        const QTemporaryDir raw;
        const Spool spool = record({"launch", "200000"}, {{kEnvRaw, raw.path()}, {kEnvRawBytes, "12M"}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{200'000}); // the recording itself is whole
        QVERIFY(std::any_of(spool.messages.begin(), spool.messages.end(),
                            [](const auto& said) { return said.second.find(kEnvRawBytes) != std::string::npos; }));
        const QFileInfoList files = QDir(raw.path()).entryInfoList(QDir::Files);
        QCOMPARE(files.size(), 1);
        QVERIFY(files[0].size() > (4 << 20) && files[0].size() <= (12 << 20));
        QVERIFY(files[0].fileName().endsWith(".fwcupti"));
        // A folder that cannot be: said, and recorded all the same.
        const Spool refused = record({"launch", "10"}, {{kEnvRaw, "/proc/none"}});
        QCOMPARE(refused.count(RecordKind::Kernel), std::size_t{10});
        QVERIFY(std::any_of(refused.messages.begin(), refused.messages.end(), [](const auto& said) {
            return said.second.find("no file can be made") != std::string::npos;
        }));
        // Where nothing of a GPU comes, there is nothing to keep.
        const QTemporaryDir idle;
        record({"nccl"}, {{"FAKE_CUPTI", ""}, {kEnvRaw, idle.path()}});
        QVERIFY(QDir(idle.path()).isEmpty());
    }

    void windowBySteps()
    {
        const Spool spool = record({"steps"}, {{kEnvSteps, "10-13"}});
        const auto kernels = spool.all<Kernel>(RecordKind::Kernel);
        const auto marks = spool.all<StepMark>(RecordKind::StepMark);
        QCOMPARE(marks.size(), std::size_t{20});
        const auto windows = spool.all<Window>(RecordKind::Window);
        QCOMPARE(windows.size(), std::size_t{3}); // off at the start, on, off
        QVERIFY(windows[0].on == 0 && windows[1].on == 1 && windows[2].on == 0);
        for (const StepMark& mark : marks) {
            const bool inWindow = mark.time >= windows[1].time && mark.time < windows[2].time;
            QCOMPARE(inWindow, mark.step >= 10 && mark.step <= 13);
        }
        QCOMPARE(kernels.front().correlation, 101U); // the first launch of step 10
        std::size_t inside = 0;
        for (const Kernel& kernel : kernels)
            inside += kernel.start >= windows[1].time && kernel.start - 3000 < windows[2].time ? 1 : 0;
        QCOMPARE(inside, std::size_t{40});
        const Spool missed = record({"launch", "10"}, {{kEnvSteps, "10-13"}});
        QVERIFY(missed.message(MessageCode::WindowMissed).find("no step mark") != std::string::npos);
        QCOMPARE(missed.count(RecordKind::Kernel), std::size_t{0});
    }

    void windowByProfilerApi()
    {
        const Spool spool = record({"profiler-api"}, {{kEnvCapture, "profiler"}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{20});
        QCOMPARE(spool.count(RecordKind::Window), std::size_t{3});
        QVERIFY(spool.message(MessageCode::WindowMissed).empty());
        const Spool missed = record({"launch", "10"}, {{kEnvCapture, "profiler"}});
        QCOMPARE(missed.count(RecordKind::Kernel), std::size_t{0});
        QVERIFY(missed.message(MessageCode::WindowMissed).find("no cudaProfilerStart was seen") != std::string::npos);
    }

    void signalOfTheProgramItself()
    {
        const Spool missed = record({"launch", "10"}, {{kEnvCapture, "signal"}});
        QVERIFY(missed.message(MessageCode::WindowMissed).find("no signal") != std::string::npos);
        QVERIFY(missed.message(MessageCode::BadSetting).empty());
        const Spool own = record({"own-signal"}, {{kEnvCapture, "signal"}});
        QVERIFY(own.message(MessageCode::BadSetting).find("handles the signal") != std::string::npos);
        QVERIFY(!own.message(MessageCode::WindowMissed).empty());
    }

    /// CUDA comes in while another thread begins the recording: it waits for it and is part of it.
    void cudaWhileAnotherThreadBegins()
    {
        const Spool spool = record({"together"});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::NcclCommunicator), std::size_t{1});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
        QVERIFY(spool.message(MessageCode::DriverMissing).empty());
    }

    void whatTheSystemRefusesIsSaid()
    {
        begin({"no-descriptors"});
        end();
        QVERIFY(spools().empty());
        const QByteArray said = m_process.readAll();
        QVERIFY2(said.contains("nothing is recorded: the system gives no file descriptors"), said.constData());
    }

    void windowBySignal()
    {
        begin({"signal"}, {{kEnvCapture, "signal"}});
        const auto switchAndGoOn = [this](const char* seconds) {
            QVERIFY(m_process.waitForReadyRead(10'000));
            m_process.readAll();
            kill(static_cast<pid_t>(m_process.processId()), SIGUSR2);
            // The file says when the signal was acted on.
            const std::size_t windows = *seconds == 'f' ? 2 : 3;
            QTRY_VERIFY_WITH_TIMEOUT(readSpool(spools().at(0)).count(RecordKind::Window) >= windows, 10'000);
            m_process.write("x");
        };
        switchAndGoOn("first");
        switchAndGoOn("second");
        end();
        const Spool spool = readSpool(spools().at(0));
        auto windows = spool.all<Window>(RecordKind::Window); // of several threads: sorted by nobody yet
        std::sort(windows.begin(), windows.end(), [](const Window& a, const Window& b) { return a.time < b.time; });
        QCOMPARE(windows.size(), std::size_t{3});
        QVERIFY(windows[0].on == 0 && windows[1].on == 1 && windows[2].on == 0);
        QCOMPARE(windows[1].reason, static_cast<std::uint32_t>(WindowReason::Signal));
        std::size_t inside = 0;
        for (const Kernel& kernel : spool.all<Kernel>(RecordKind::Kernel))
            inside += kernel.start - 3000 < windows[2].time ? 1 : 0;
        QCOMPARE(inside, std::size_t{20});
    }

    void devicesAreSampled()
    {
        const QString fakes = QString::fromStdString(kBuild + "/lib/fake/");
        begin(
            {"sampled"},
            {{"FAKE_CUDA", fakes + "libcuda.so.1"}, {"FAKE_NVML", fakes + "libnvidia-ml.so.1"}, {kEnvSampleMs, "10"}});
        QVERIFY(m_process.waitForReadyRead(10'000));
        QTRY_VERIFY_WITH_TIMEOUT(readSpool(spools().at(0)).count(RecordKind::NvmlSample) >= 2, 10'000);
        m_process.write("x");
        end();
        const Spool spool = readSpool(spools().at(0));
        const auto sample = spool.all<NvmlSample>(RecordKind::NvmlSample).at(0);
        QCOMPARE(sample.valid, static_cast<std::uint32_t>(kNvmlSmClock | kNvmlMemoryClock | kNvmlPower | kNvmlThrottle |
                                                          kNvmlMemory | kNvmlProcessMemory));
        QCOMPARE(sample.smClockMhz, 1980U);
        QCOMPARE(sample.memoryClockMhz, 2619U);
        QCOMPARE(sample.powerMilliwatt, 650'000U);
        QCOMPARE(sample.throttleReasons, std::uint64_t{4});
        QCOMPARE(sample.memoryUsed, std::uint64_t{30});
        QCOMPARE(sample.processMemory, std::uint64_t{25});
        QCOMPARE(sample.uuid[15], std::uint8_t{15});
        const auto memory = spool.all<MemoryInfo>(RecordKind::MemoryInfo).at(0);
        QCOMPARE(memory.freeBytes, std::uint64_t{70});
        QCOMPARE(memory.totalBytes, std::uint64_t{100});
        QVERIFY(spool.message(MessageCode::Versions).find("CUDA driver 13000, CUPTI 130001") != std::string::npos);
    }

    void badSettingsAreSaid()
    {
        const Spool spool = record({"launch", "5"}, {{kEnvSteps, "3-1"}, {kEnvPoolLimit, "many"}});
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{5});
        QVERIFY(spool.message(MessageCode::BadSetting).find("FOURWALLS_STEPS=3-1") != std::string::npos);
        QVERIFY(spool.message(MessageCode::Setting).find("FOURWALLS_POOL_LIMIT=many") != std::string::npos);
    }

    void ringStaysBelowItsSize()
    {
        const Spool spool = record({"launch", "100000"}, {{kEnvMaxBytes, "4M"}});
        QVERIFY(std::filesystem::file_size(spools().front()) <= 4 << 20);
        QVERIFY(spool.state.ended);
        const auto kernels = spool.all<Kernel>(RecordKind::Kernel);
        QVERIFY(!kernels.empty() && kernels.size() < 100'000);
        QCOMPARE(kernels.back().correlation, 100'000U);
        QCOMPARE(spool.text(kernels.back().name), std::string("_Z9layernormPf"));
        QVERIFY(!spool.message(MessageCode::RingWrapped).empty());
        QVERIFY(spool.lost(LossKind::RingOverwritten) > 0);
    }

    void terminationIsRecorded()
    {
        begin({"wait"});
        QVERIFY(m_process.waitForReadyRead(10'000));
        kill(static_cast<pid_t>(m_process.processId()), SIGTERM);
        end();
        QCOMPARE(m_process.exitStatus(), QProcess::CrashExit); // it ends by the signal, as without the module
        const Spool spool = readSpool(spools().at(0));
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{500});
        QVERIFY(spool.message(MessageCode::Terminated).find("signal 15") != std::string::npos);
        QCOMPARE(spool.all<End>(RecordKind::End).at(0).reason, static_cast<std::uint32_t>(EndReason::Signal));
    }

    void forkedChildIsNotRecorded()
    {
        const Spool spool = record({"fork"});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{20});
        QCOMPARE(spool.count(RecordKind::End), std::size_t{1});
        QVERIFY(spool.message(MessageCode::Fork).find("forked a child") != std::string::npos);
    }

    void execBeginsAnotherFile()
    {
        begin({"exec"});
        end();
        const auto files = spools();
        QCOMPARE(files.size(), std::size_t{2});
        const Spool second = readSpool(files[0].find("-2.fwspool") != std::string::npos ? files[0] : files[1]);
        QCOMPARE(second.count(RecordKind::Kernel), std::size_t{30});
#if defined(FOURWALLS_EMULATED)
        QSKIP(
            "qemu gives each program a start time of its own, and the module knows a replaced program by an equal one");
#endif
        QVERIFY(second.message(MessageCode::Exec).find("replaced its program") != std::string::npos);
        const Spool first = readSpool(files[0].find("-2.fwspool") != std::string::npos ? files[1] : files[0]);
        QVERIFY(!first.state.ended);
    }

    void abortLeavesWhatWasWritten()
    {
        begin({"abort"});
        QVERIFY(m_process.waitForReadyRead(10'000));
        QTRY_COMPARE_WITH_TIMEOUT(readSpool(spools().at(0)).count(RecordKind::Kernel), std::size_t{10}, 10'000);
        m_process.write("x");
        end();
        QCOMPARE(m_process.exitStatus(), QProcess::CrashExit);
        const Spool spool = readSpool(spools().at(0));
        QVERIFY(!spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
    }

    void stopEndsTheRecording()
    {
        const Spool spool = record({"stop"});
        QVERIFY(spool.state.ended);
        QCOMPARE(spool.count(RecordKind::Kernel), std::size_t{10});
    }

    void noFileWhereNothingBegan()
    {
        begin({"idle"});
        end();
        QVERIFY(spools().empty());
    }
};

FOURWALLS_TEST(TestCollector, QCoreApplication)

} // namespace tst_collector

#include "tst_collector.moc"
