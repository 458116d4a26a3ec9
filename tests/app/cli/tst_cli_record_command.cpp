// SPDX-License-Identifier: Apache-2.0
// `record -- COMMAND`: the trace of another program, its exit status and signals, and what stays of its spools.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/store/trace_file.h"
#include "profiler/collect/spool_checksum.h"
#include "tests/app/cli/program.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/file_lease.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QTemporaryDir>

#include <algorithm>

#include <signal.h>

namespace tst_cli_record_command {

using namespace fourwalls::test;

class CliRecordCommandTest : public QObject {
    Q_OBJECT

private slots:
    void anotherProgram();
    void aLowDetailIsSaid();
    void anotherProgramFails();
    void anotherProgramWithoutGpu();
    void otherToolsStayInjected();
    void aPathTooLongForNcclIsSaid();
    void anotherProgramOnTheHostOnly();
    void spoolsStayWhereNoTraceComesOfThem();
    void whatAKilledRecordingLeftIsNamed();
    void processesThatGoOnKeepTheirSpools();
    void whatIsRecordedOfPython();
    void signalsReachTheOtherProgram();
    void interruptWhileTheTraceIsMade_data();
    void interruptWhileTheTraceIsMade();

private:
    /// Runs a shell command as the recorded program. In place of the module stands a file, and of CUDA a spool that the
    /// command may copy ("$SAMPLE").
    Answer recordShell(const QString& name, const QString& shell, const QStringList& more = {}) const;
    QStringList shellArguments(const QString& name, const QString& shell, const QStringList& more) const;
    void makeSample(bool low = false) const;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    QTemporaryDir m_folder;
};

void CliRecordCommandTest::makeSample(bool low) const
{
    using fourwalls::importers::test::SpoolSample;
    SpoolSample spool(path("sample.fwspool").toStdString(), 0, 1);
    QVERIFY(spool.created());
    addEveryKind(spool);
    qputenv("SAMPLE", path("sample.fwspool").toUtf8());
    qputenv("FOURWALLS_COLLECTOR", path("sample.fwspool").toUtf8());
    using namespace fourwalls::collect;
    if (!low) return;
    Message said{};
    said.time = spool.at(1);
    said.value = static_cast<std::int64_t>(Detail::Low);
    said.code = static_cast<std::uint32_t>(MessageCode::Detail);
    spool.add(RecordKind::Message, said);
}

QStringList CliRecordCommandTest::shellArguments(const QString& name, const QString& shell,
                                                 const QStringList& more) const
{
    return QStringList{"record", "-o", path(name)} + more + QStringList{"--", "sh", "-c", shell};
}

Answer CliRecordCommandTest::recordShell(const QString& name, const QString& shell, const QStringList& more) const
{
    return run(shellArguments(name, shell, more));
}

void CliRecordCommandTest::anotherProgram()
{
    makeSample();
    const QString copy = "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; ";
    const Answer answer = recordShell(
        "job.fourwalls", copy + "echo out; env > '" + path("env") + "'; ls \"${PYTHONPATH%%:*}\"",
        {"--steps", "1-2", "--memory", "--detail", "low", "--every", "3", "--spool-limit", "100", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    // The job's own output is beside the answer, not in it.
    QVERIFY(answer.err.contains("out\n") && answer.err.contains("sitecustomize.py"));
    const QJsonObject summary = answer.json();
    QCOMPARE(summary["exit_status"].toInt(-1), 0);
    QCOMPARE(summary["processes"].toInt(), 1);
    QCOMPARE(summary["steps"].toInt(), 4);
    QCOMPARE(summary["collectives"].toInt(), 4);
    QFile variables(path("env"));
    QVERIFY(variables.open(QIODevice::ReadOnly));
    const QByteArray all = variables.readAll();
    for (const char* each :
         {"FOURWALLS_STEPS=1-2\n", "FOURWALLS_MEMORY=1\n", "FOURWALLS_DETAIL=low\n", "FOURWALLS_EVERY=3\n",
          "FOURWALLS_SPOOL_LIMIT=100\n", "CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "NCCL_PROFILER_PLUGIN="})
        QVERIFY2(all.contains(each), each);
    QCOMPARE(run({"check", path("job.fourwalls")}).exitCode, 0);
    QCOMPARE(run({"info", path("job.fourwalls"), "--json"}).json()["source"].toString(), QString("recorded"));
    QCOMPARE(QDir(m_folder.path()).entryList({"*job.fourwalls*"}, QDir::AllEntries | QDir::Hidden),
             QStringList{"job.fourwalls"});
}

/// What the recorder has chosen by itself, and what that costs the trace.
void CliRecordCommandTest::aLowDetailIsSaid()
{
    const QString copy = "for process in 1 2; do cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-$process-rank0.fwspool; done";
    for (const bool low : {true, false}) {
        makeSample(low);
        QCOMPARE(recordShell("low.fourwalls", copy).out.contains("--detail normal records them"), low);
        // Who has asked for it knows it.
        QVERIFY(!recordShell("low.fourwalls", copy, {"--detail", "low"}).out.contains("--detail normal records them"));
    }
}

void CliRecordCommandTest::anotherProgramFails()
{
    makeSample();
    const Answer answer =
        recordShell("failed.fourwalls", "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; exit 3");
    QCOMPARE(answer.exitCode, 3);
    QVERIFY2(answer.saysOneLine() && answer.err.contains("returned 3"), answer.err.constData());
    QVERIFY(QFile::exists(path("failed.fourwalls")));
    const Answer killed =
        recordShell("killed.fourwalls", "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; kill -KILL $$");
    QCOMPARE(killed.exitCode, 128 + 9);
    QVERIFY2(killed.err.contains("signal 9"), killed.err.constData());
    QVERIFY(QFile::exists(path("killed.fourwalls")));
}

void CliRecordCommandTest::anotherProgramWithoutGpu()
{
    makeSample();
    const Answer nothing = recordShell("nothing.fourwalls", "true");
    QCOMPARE(nothing.exitCode, 125);
    QVERIFY2(nothing.saysOneLine() && nothing.err.contains("nothing was recorded"), nothing.err.constData());
    QCOMPARE(recordShell("nothing.fourwalls", "exit 4").exitCode, 4);
    const Answer unknown = run({"record", "-o", path("nothing.fourwalls"), "--", "no-such-program"});
    QCOMPARE(unknown.exitCode, 127);
    QVERIFY2(unknown.saysOneLine(), unknown.err.constData());
    for (const QStringList& wrong :
         {QStringList{"--model", "gpt-tiny"}, QStringList{"--steps", "3-1"}, QStringList{"--steps", "x"},
          QStringList{"--detail", "some"}, QStringList{"--every", "0"}, QStringList{"--spool-limit", "-1"}})
        QCOMPARE(recordShell("nothing.fourwalls", "true", wrong).exitCode, 2);
    QCOMPARE(run({"record", "--", "true"}).exitCode, 2);
    // Only the first pair of dashes is ours; a command may end in one of its own.
    QCOMPARE(run({"record", "-o", path("dashes.fourwalls"), "--", "sh", "-c", "exit 3", "--"}).exitCode, 3);
    for (const QStringList& wrong : {QStringList{"--memory"}, QStringList{"--detail", "low"},
                                     QStringList{"--every", "10"}, QStringList{"--spool-limit", "100"}})
        QCOMPARE(run(QStringList{"record", "-o", path("x.fourwalls")} + wrong).exitCode, 2);
    QVERIFY(QDir(m_folder.path()).entryList({"*nothing.fourwalls*"}, QDir::AllEntries | QDir::Hidden).isEmpty());
    qputenv("FOURWALLS_COLLECTOR", "/nowhere");
    const Answer without = recordShell("nothing.fourwalls", "true");
    QCOMPARE(without.exitCode, 125);
    QVERIFY2(without.err.contains("module"), without.err.constData());
}

void CliRecordCommandTest::otherToolsStayInjected()
{
    makeSample();
    const QString shell = "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; env > '" + path("env") + "'";
    qputenv("NCCL_PROFILER_PLUGIN", "/opt/site/libinspector.so");
    qputenv("NVTX_INJECTION64_PATH", "/elsewhere/libfourwalls_collector.so"); // ours, of a recording around this one
    const Answer answer = recordShell("beside.fourwalls", shell);
    qunsetenv("NCCL_PROFILER_PLUGIN");
    qunsetenv("NVTX_INJECTION64_PATH");
    QCOMPARE(answer.exitCode, 0);
    QVERIFY2(answer.saysOneLine() && answer.err.contains("/opt/site/libinspector.so"), answer.err.constData());
    QFile variables(path("env"));
    QVERIFY(variables.open(QIODevice::ReadOnly));
    const QByteArray all = variables.readAll();
    QVERIFY(all.contains("NCCL_PROFILER_PLUGIN=/opt/site/libinspector.so\n"));
    QVERIFY(all.contains("NVTX_INJECTION64_PATH=" + path("sample.fwspool").toUtf8() + "\n"));
    QVERIFY(all.contains("CUDA_INJECTION64_PATH=" + path("sample.fwspool").toUtf8() + "\n"));
}

void CliRecordCommandTest::aPathTooLongForNcclIsSaid()
{
    makeSample();
    QString folder = m_folder.path();
    while (folder.size() < 250) folder += "/" + QString(40, 'a');
    QVERIFY(QDir().mkpath(folder));
    const QString module = folder + "/libfourwalls_collector.so";
    QVERIFY(QFile::copy(path("sample.fwspool"), module));
    qputenv("FOURWALLS_COLLECTOR", module.toUtf8());
    const Answer answer = recordShell("long.fourwalls", "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool");
    QCOMPARE(answer.exitCode, 0);
    QVERIFY2(answer.err.contains("NCCL reads 254 characters"), answer.err.constData());
}

void CliRecordCommandTest::anotherProgramOnTheHostOnly()
{
    makeSample();
    {
        fourwalls::importers::test::SpoolSample spool(path("host.fwspool").toStdString(), 0, 1);
        spool.push("preparing", 10);
        spool.pop(20);
        spool.end(30);
    }
    const QString copy = "cp '" + path("host.fwspool") + "' $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool";
    const Answer answer = recordShell("host.fourwalls", copy);
    QCOMPARE(answer.exitCode, 0);
    QVERIFY2(answer.saysOneLine() && answer.err.contains("no work on a GPU was seen") &&
                 answer.err.contains("host.fourwalls"),
             answer.err.constData());
    QCOMPARE(run({"info", path("host.fourwalls"), "--json"}).exitCode, 0);
    const Answer failed = recordShell("host.fourwalls", copy + "; exit 3");
    QCOMPARE(failed.exitCode, 3);
    QVERIFY2(failed.err.contains("returned 3") && failed.err.contains("no work on a GPU was seen"),
             failed.err.constData());
}

void CliRecordCommandTest::spoolsStayWhereNoTraceComesOfThem()
{
    makeSample();
    const auto stays = [this](const QString& name, const Answer& answer) {
        QCOMPARE(answer.exitCode, 125);
        const QStringList folders = QDir(m_folder.path()).entryList({name + ".spool-*"}, QDir::Dirs);
        QCOMPARE(folders.size(), 1);
        QVERIFY2(answer.saysOneLine() && answer.err.contains("what was recorded is in " + path(folders[0]).toUtf8()),
                 answer.err.constData());
        QCOMPARE(QDir(path(folders[0])).entryList({"*.fwspool"}, QDir::Files).size(), 1);
    };
    stays("broken.fourwalls", recordShell("broken.fourwalls", "echo broken > $FOURWALLS_SPOOL_DIR/node0-1.fwspool"));
    // The output's place is taken while the command runs.
    stays("taken.fourwalls",
          recordShell("taken.fourwalls", "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; mkdir -p '" +
                                             path("taken.fourwalls") + "/by-others'"));
}

void CliRecordCommandTest::whatAKilledRecordingLeftIsNamed()
{
    makeSample();
    QProcess process;
    const QString copy = "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool";
    process.start(programPath(), shellArguments("killed.fourwalls", copy + "; echo ready; read -r line", {}));
    while (!process.readAllStandardOutput().contains("ready")) QVERIFY(process.waitForReadyRead(60'000));
    const QStringList folders = QDir(m_folder.path()).entryList({"killed.fourwalls.spool-*"}, QDir::Dirs);
    QCOMPARE(folders.size(), 1);
    const QByteArray folder = path(folders[0]).toUtf8();
    // While it runs, its folder is its own.
    const Answer beside = recordShell("killed.fourwalls", copy);
    QVERIFY2(beside.exitCode == 0 && !beside.err.contains("cut short"), beside.err.constData());
    ::kill(static_cast<pid_t>(process.processId()), SIGKILL);
    QVERIFY(process.waitForFinished(60'000));
    const Answer after = recordShell("killed.fourwalls", copy);
    QCOMPARE(after.exitCode, 0);
    QVERIFY2(after.err.contains("an earlier recording was cut short, and what it recorded is in " + folder),
             after.err.constData());
    QCOMPARE(
        run({"import", QString::fromUtf8(folder) + "/node0-1-rank0.fwspool", "-o", path("rescued.fourwalls")}).exitCode,
        0);
    QVERIFY(QDir(QString::fromUtf8(folder)).removeRecursively());
    QVERIFY(!recordShell("killed.fourwalls", copy).err.contains("cut short"));
}

void CliRecordCommandTest::processesThatGoOnKeepTheirSpools()
{
    // The spool of a process that the command has left behind: this one here.
    {
        fourwalls::importers::test::SpoolSample spool(path("own.fwspool").toStdString(), 0, 1);
        spool.launch("gemm", 10, 20, 30);
    }
    QFile file(path("own.fwspool")), stat("/proc/self/stat");
    QVERIFY(file.open(QIODevice::ReadWrite) && stat.open(QIODevice::ReadOnly));
    QByteArray bytes = file.readAll();
    auto* header = reinterpret_cast<fourwalls::collect::FileHeader*>(bytes.data());
    const QByteArray fields = stat.readAll();
    header->pid = static_cast<std::int32_t>(QCoreApplication::applicationPid());
    header->processStart = fields.mid(fields.lastIndexOf(')') + 2).split(' ').at(19).toULongLong();
    header->check = 0;
    header->check = fourwalls::collect::crc32c(0, header, sizeof *header);
    QVERIFY(file.seek(0) && file.write(bytes) == bytes.size());
    file.close();
    makeSample();
    const Answer answer = recordShell("detached.fourwalls",
                                      "cp '" + path("own.fwspool") + "' $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool");
    QCOMPARE(answer.exitCode, 0);
    const QStringList folders = QDir(m_folder.path()).entryList({"detached.fourwalls.spool-*"}, QDir::Dirs);
    QCOMPARE(folders.size(), 1);
    QVERIFY2(answer.err.contains("still record (" + QByteArray::number(header->pid) + ")") &&
                 answer.err.contains("stay in " + path(folders[0]).toUtf8()),
             answer.err.constData());
    QVERIFY(QFile::exists(path(folders[0]) + "/node0-1-rank0.fwspool"));
}

void CliRecordCommandTest::whatIsRecordedOfPython()
{
    makeSample();
    const auto variables = [this](const QStringList& more) {
        const Answer answer =
            recordShell("host.fourwalls", "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; env", more);
        QStringList found;
        for (const QByteArray& line : answer.out.split('\n'))
            if (line.startsWith("FOURWALLS_HOST_PAUSES=") || line.startsWith("FOURWALLS_SYNC_STACKS="))
                found << QString::fromUtf8(line);
        found.sort();
        return found.join(' ');
    };
    QCOMPARE(variables({}), QString());
    QCOMPARE(variables({"--host", "pauses"}), QString("FOURWALLS_HOST_PAUSES=1 FOURWALLS_SYNC_STACKS=0"));
    QCOMPARE(variables({"--host", "stacks"}), QString("FOURWALLS_HOST_PAUSES=0 FOURWALLS_SYNC_STACKS=1"));
    QCOMPARE(variables({"--host", "none"}), QString("FOURWALLS_HOST_PAUSES=0 FOURWALLS_SYNC_STACKS=0"));
    QCOMPARE(variables({"--host", "all"}), QString("FOURWALLS_HOST_PAUSES=1 FOURWALLS_SYNC_STACKS=1"));
    QCOMPARE(recordShell("host.fourwalls", "true", {"--host", "some"}).exitCode, 2);
}

void CliRecordCommandTest::signalsReachTheOtherProgram()
{
    makeSample();
    QProcess process;
    const QString shell = "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; trap 'echo got it; exit 5' TERM; "
                          "echo ready; while :; do read -r line; done";
    process.start(programPath(), shellArguments("signalled.fourwalls", shell, {}));
    while (!process.readAllStandardOutput().contains("ready")) QVERIFY(process.waitForReadyRead(60'000));
    ::kill(static_cast<pid_t>(process.processId()), SIGTERM);
    process.write("wake up\n");
    QVERIFY(process.waitForFinished(60'000));
    QCOMPARE(process.exitCode(), 5);
    QVERIFY(process.readAllStandardOutput().contains("got it"));
    QVERIFY(process.readAllStandardError().contains("returned 5"));
}

/// Whether no interrupt is on its way to the process and all its threads wait: the one that took it has dealt with it.
bool hasTakenInterrupt(qint64 pid)
{
    const auto read = [](const QString& path) {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    };
    const QString process = QStringLiteral("/proc/%1/").arg(pid);
    const QByteArray status = read(process + "status"), mark = "ShdPnd:";
    const qsizetype at = status.indexOf(mark);
    if (at < 0) return false;
    const QByteArray pending = status.mid(at + mark.size(), status.indexOf('\n', at) - at - mark.size()).trimmed();
    if ((pending.toULongLong(nullptr, 16) & (1ULL << (SIGINT - 1))) != 0) return false;
    const QStringList threads = QDir(process + "task").entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    return std::all_of(threads.begin(), threads.end(), [&](const QString& thread) {
        const QByteArray stat = read(process + "task/" + thread + "/stat");
        const char state = stat.mid(stat.lastIndexOf(')') + 2, 1).append(' ')[0];
        return state == 'S' || state == 'D';
    });
}

void CliRecordCommandTest::interruptWhileTheTraceIsMade_data()
{
    QTest::addColumn<int>("times");
    QTest::addColumn<int>("exitCode");
    QTest::newRow("in order") << 1 << 125;
    QTest::newRow("at once") << 2 << 130;
}

void CliRecordCommandTest::interruptWhileTheTraceIsMade()
{
    QFETCH(int, times);
    QFETCH(int, exitCode);
    makeSample();
    const QString name = QStringLiteral("interrupted%1.fourwalls").arg(times);
    QProcess process;
    process.start(
        programPath(),
        shellArguments(name, "cp $SAMPLE $FOURWALLS_SPOOL_DIR/node0-1-rank0.fwspool; echo ready; read -r line", {}));
    while (!process.readAllStandardOutput().contains("ready")) QVERIFY(process.waitForReadyRead(60'000));
    const QStringList folders = QDir(m_folder.path()).entryList({name + ".spool-*"}, QDir::Dirs);
    QCOMPARE(folders.size(), 1);
    const QString spool = path(folders[0]) + "/node0-1-rank0.fwspool";
    FileLease lease(spool.toStdString());
    if (!lease.taken()) QSKIP("this file system has no leases");
    process.write("go on\n");
    QTRY_VERIFY_WITH_TIMEOUT(lease.someoneWaits(), 60'000); // the program has ended, the trace is being made
    const qint64 pid = process.processId();
    QVERIFY2(pid > 0, process.readAllStandardError().constData());
    ::kill(static_cast<pid_t>(pid), SIGINT);
    // Once is enough: later its threads wake for other reasons.
    auto taken = [pid, dealtWith = false]() mutable { return dealtWith = dealtWith || hasTakenInterrupt(pid); };
    QTRY_VERIFY_WITH_TIMEOUT(taken(), 60'000);
    if (times > 1) ::kill(static_cast<pid_t>(pid), SIGINT);
    if (times == 1) lease.giveBack();
    QVERIFY(process.waitForFinished(60'000));
    lease.giveBack();
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), exitCode);
    // The spool is what it was, and there is no trace.
    QFile kept(spool), sample(path("sample.fwspool"));
    QVERIFY(kept.open(QIODevice::ReadOnly) && sample.open(QIODevice::ReadOnly));
    QVERIFY(kept.readAll() == sample.readAll());
    QVERIFY(!QFile::exists(path(name)));
    if (times > 1) return;
    const QByteArray said = process.readAllStandardError();
    QVERIFY2(said.contains("cancelled") && said.contains("what was recorded is in " + path(folders[0]).toUtf8()),
             said.constData());
    QCOMPARE(QDir(m_folder.path()).entryList({"*" + name + "*"}, QDir::AllEntries | QDir::Hidden), folders);
}

FOURWALLS_TEST(CliRecordCommandTest, QCoreApplication)

} // namespace tst_cli_record_command

#include "tst_cli_record_command.moc"
