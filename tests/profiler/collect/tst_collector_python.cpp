// SPDX-License-Identifier: Apache-2.0
// A job in plain Python with the injected module and the hook, without a GPU: where it waits for the GPU, when its garbage
// is collected, and how long it waits for data, from the interpreter to the spool.
#include "tests/profiler/collect/module_test.h"
#include "tests/support/test_program.h"

#include <QStandardPaths>

namespace tst_collector_python {

using namespace fourwalls::collect;

namespace {

constexpr char kJob[] = R"(import ctypes, gc, os
gc.disable()
cuda = ctypes.CDLL(os.environ["FAKE_CUPTI"])
ctypes.CDLL(os.environ["FAKE_DRIVER"])
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
from torch.utils.data.dataloader import _BaseDataLoaderIter

def log_loss():
    cuda.fake_launch(1)
    cuda.fake_synchronize()

def train():
    log_loss()

train()
garbage = [[] for _ in range(200_000)]
gc.collect(1)
print(list(_BaseDataLoaderIter()))
)";

constexpr char kLoader[] = R"(
class _BaseDataLoaderIter:
    left = 2
    def __iter__(self): return self
    def __next__(self):
        sum(range(200_000))
        if self.left == 0: raise StopIteration
        self.left -= 1
        return self.left
)";

} // namespace

class TestCollectorPython : public ModuleTest {
    Q_OBJECT

    QTemporaryDir m_work;

    void write(const QString& name, const char* text)
    {
        const QString path = m_work.filePath(name);
        QDir().mkpath(QFileInfo(path).path());
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text);
    }

    Spool recordJob(std::map<QString, QString> variables = {})
    {
        variables["PYTHONPATH"] = QString(FOURWALLS_SOURCE_DIR) + "/resources/python:" + m_work.filePath("packages");
        variables["PYTHONDONTWRITEBYTECODE"] = "1";
        variables["CUDA_INJECTION64_PATH"] = QString::fromStdString(kModule);
        variables[kEnvDetail] = "normal";
        const Spool spool = record({m_work.filePath("trainer/job.py")}, variables);
        const QByteArray said = m_process.readAll();
        if (m_process.exitCode() != 0 || said != "[1, 0]\n") qWarning("the job said: %s", said.constData());
        return spool;
    }

    static std::vector<HostPause> pauses(const Spool& spool, PauseKind kind)
    {
        auto all = spool.all<HostPause>(RecordKind::HostPause);
        std::erase_if(all, [kind](const HostPause& pause) { return pause.kind != static_cast<std::uint32_t>(kind); });
        return all;
    }

private slots:
    void init()
    {
        if (!isModuleBuilt()) QSKIP("the collector's module was not built: CUPTI's headers are missing");
        m_program = QStandardPaths::findExecutable("python3");
        if (m_program.isEmpty()) QSKIP("python3 is not installed");
        write("trainer/job.py", kJob);
        for (const char* package : {"torch", "torch/utils", "torch/utils/data"})
            write(QString("packages/") + package + "/__init__.py", "");
        write("packages/torch/utils/data/dataloader.py", kLoader);
    }

    /// The innermost function first, each with the last folder of its file and its line.
    void stackOfAWait()
    {
        const Spool spool = recordJob();
        const auto stacks = spool.all<SyncStack>(RecordKind::SyncStack);
        QCOMPARE(stacks.size(), std::size_t{1});
        QCOMPARE(spool.text(stacks[0].stack),
                 std::string("trainer/job.py:10 log_loss < trainer/job.py:13 train < trainer/job.py:15 <module>"));
        QCOMPARE(stacks[0].thread, static_cast<std::uint32_t>(spool.header.pid));
        QCOMPARE(stacks[0].more, 0U);
        const auto calls = spool.all<ApiCall>(RecordKind::ApiCall);
        QCOMPARE(calls.size(), std::size_t{2}); // the launch, and the wait
        QCOMPARE(stacks[0].correlation, calls[1].correlation);
        QVERIFY(recordJob({{"FOURWALLS_SYNC_STACKS", "0"}}).all<SyncStack>(RecordKind::SyncStack).empty());
    }

    void pausesOfTheInterpreter()
    {
        const Spool spool = recordJob();
        auto collections = pauses(spool, PauseKind::GarbageCollection);
        std::erase_if(collections, [](const HostPause& pause) { return pause.detail != 1; }); // but for the one at exit
        QCOMPARE(collections.size(), std::size_t{1});
        QVERIFY(collections[0].end > collections[0].begin);
        QCOMPARE(collections[0].thread, static_cast<std::uint32_t>(spool.header.pid));
        const auto loads = pauses(spool, PauseKind::DataLoading);
        QCOMPARE(loads.size(), std::size_t{3}); // two batches, and that there are no more
        QVERIFY(loads[0].begin >= collections[0].end && loads[0].end > loads[0].begin);
        QVERIFY(loads[1].begin >= loads[0].end);
        QVERIFY(recordJob({{"FOURWALLS_HOST_PAUSES", "0"}}).all<HostPause>(RecordKind::HostPause).empty());
    }
};

FOURWALLS_TEST(TestCollectorPython, QCoreApplication)

} // namespace tst_collector_python

#include "tst_collector_python.moc"
