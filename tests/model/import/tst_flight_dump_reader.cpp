// SPDX-License-Identifier: Apache-2.0
// Dumps of real hung jobs are read and attributed; JSON says the same as a pickle; what would run code is refused.
#include <QtTest>

#include "model/diagnose/hang_report.h"
#include "model/import/hang/flight_dump_reader.h"
#include "model/import/hang/thread_stacks.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QTemporaryDir>

#include <random>

namespace tst_flight_dump_reader {

using namespace fourwalls;
using namespace fourwalls::diagnose;
using namespace fourwalls::importers;

namespace {

std::string dataOf(const char* job)
{
    return std::string(FOURWALLS_SOURCE_DIR) + "/tests/data/hangs/" + job;
}

void write(const QString& path, const QByteArray& bytes)
{
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(bytes);
}

std::vector<int> suspectsOf(const std::string& folder)
{
    const auto dumps = readFlightDumps({folder});
    std::vector<int> ranks;
    if (!dumps) return ranks;
    for (const HangSuspect& suspect : analyseHang(*dumps).suspects) ranks.push_back(suspect.rank);
    return ranks;
}

/// JSON written with single quotes.
QByteArray quoted(QByteArray text)
{
    return text.replace('\'', '"');
}

/// Two ranks of one group: rank 0 waits in all-reduce 8, which rank 1 did not enter.
QByteArray jsonDump(int rank)
{
    const QByteArray record =
        "{'record_id': 41, 'pg_id': 3, 'process_group': ['0', 'default_pg'], 'collective_seq_id': 8, 'p2p_seq_id': 0, "
        "'op_id': 8, 'profiling_name': 'nccl:all_reduce', 'time_created_ns': 100, 'state': 'scheduled', "
        "'input_sizes': [[4, 2]], 'input_dtypes': ['Float'], 'output_sizes': [[4, 2]], 'output_dtypes': ['Float'], "
        "'time_discovered_started_ns': 0, 'time_discovered_completed_ns': 0, 'retired': false, 'timeout_ms': 600000, "
        "'is_p2p': false, 'frames': [{'name': 'all_reduce', 'filename': '/x/torch/distributed/c10d.py', 'line': 3}, "
        "{'name': 'train', 'filename': '/home/u/train.py', 'line': 71}]}";
    const QByteArray status = QByteArray("'pg_status': {'3': {'last_enqueued_collective': '") +
                              (rank == 0 ? "8" : "7") +
                              "', 'last_started_collective': '-1', 'last_completed_collective': '7'}}";
    return quoted("{'version': '2.9', 'pg_config': {'0': {'name': '0', 'desc': 'default_pg', 'ranks': '[0, 1]'}}, " +
                  status + (rank == 0 ? ", 'entries': [" + record + "]}" : QByteArray("}")));
}

} // namespace

class TestFlightDumpReader : public QObject {
    Q_OBJECT

private slots:
    void realJobs()
    {
        // The ranks that fault_injection.log of each job names.
        QCOMPARE(suspectsOf(dataOf("gpu_error_1st")), (std::vector<int>{12, 14}));
        QCOMPARE(suspectsOf(dataOf("lock_gil_2nd")), (std::vector<int>{10, 15}));
    }

    void realReasons()
    {
        const auto errors = readFlightDumps({dataOf("gpu_error_1st")});
        QVERIFY(errors.ok());
        QCOMPARE(errors->size(), std::size_t{16});
        const HangReport device = analyseHang(*errors);
        for (const HangSuspect& suspect : device.suspects) QVERIFY(suspect.reason == HangReason::DeviceStopped);
        QVERIFY(device.sets.empty());
        const auto stopped = readFlightDumps({dataOf("lock_gil_2nd")});
        QVERIFY(stopped.ok());
        const HangReport host = analyseHang(*stopped);
        for (const HangSuspect& suspect : host.suspects) {
            QVERIFY(suspect.reason == HangReason::HostStopped);
            QCOMPARE(suspect.place.operation, std::string("all_to_all"));
            QVERIFY(suspect.place.sequence == 20947);
        }
        QCOMPARE(
            sentenceOf(host.chain.back()),
            std::string("ranks 8, 9, 11-14 wait in all_to_all #20947 of EXPERT_MODEL_PARALLEL_GROUP for ranks 10, 15"));
    }

    void fieldsOfARecord()
    {
        const auto dump = readFlightDump(dataOf("gpu_error_1st") + "/_dump_12");
        QVERIFY(dump.ok());
        QCOMPARE(dump->rank, 12);
        QCOMPARE(dump->version, std::string("2.9"));
        QCOMPARE(dump->groups.size(), std::size_t{13});
        QCOMPARE(dump->records.size(), std::size_t{27});
        QCOMPARE(dump->unreadable, 0);
        const FlightRecord& first = dump->records[0];
        QCOMPARE(first.id, 90083);
        QCOMPARE(first.sequence, 42806);
        QVERIFY(first.op == FlightOp::AllGather);
        const FlightGroup& tensor = dump->groups[static_cast<std::size_t>(first.group)];
        QCOMPARE(tensor.name, std::string("41"));
        QCOMPARE(tensor.ranks, (std::vector<int>{12, 13}));
        // The status has its own numbers: 5 is group 41, as the record says, and 11 is group 74.
        QVERIFY(tensor.enqueued == 42817 && tensor.completed == 42805);
        QCOMPARE(dump->texts[first.sizes], std::string("[[4096, 1, 5120]] -> [[8192, 1, 5120]]"));
        const FlightRecord& receive = dump->records[9];
        QVERIFY(receive.op == FlightOp::Receive);
        QCOMPARE(receive.sequence, 11977);
        QCOMPARE(receive.from, 0);
        QCOMPARE(receive.to, 3);
    }

    void jsonIsReadLikeAPickle()
    {
        QTemporaryDir folder;
        write(folder.filePath("nccl_trace_rank_0.json"), jsonDump(0));
        write(folder.filePath("nccl_trace_rank_1.json"), jsonDump(1));
        write(folder.filePath("notes.txt"), "no dump");
        write(folder.filePath("stack_1.txt"), "Process 71: python train.py\nThread 71 (idle): \"MainThread\"\n"
                                              "    wait (threading.py:320)\n    load (data.py:12)\n");
        const auto dumps = readFlightDumps({folder.path().toStdString()});
        QVERIFY2(dumps.ok(), dumps ? "" : dumps.error().message().c_str());
        QCOMPARE(dumps->size(), std::size_t{2});
        const FlightRecord& record = (*dumps)[0].records.at(0);
        QCOMPARE((*dumps)[0].texts[record.sizes], std::string("[[4, 2]] -> [[4, 2]]"));
        QCOMPARE((*dumps)[0].texts[record.stack], std::string("train (/home/u/train.py:71)"));
        const HangReport report = analyseHang(*dumps);
        QCOMPARE(report.suspects.size(), std::size_t{1});
        QCOMPARE(report.suspects[0].rank, 1);
        QVERIFY(report.suspects[0].reason == HangReason::HostStopped);
        QCOMPARE(report.suspects[0].stack, std::string("wait (threading.py:320)\nload (data.py:12)"));
        QCOMPARE(report.divergences.size(), std::size_t{1});
        QCOMPARE(report.divergences[0].entered, (std::vector<int>{0}));
        QCOMPARE(report.divergences[0].notEntered, (std::vector<int>{1}));
    }

    /// What Gloo has finished stays "scheduled" and is retired; what NCCL gave up does, too, and is what hangs.
    void whatIsRetiredIsOver_data()
    {
        QTest::addColumn<QByteArray>("backend");
        QTest::addColumn<bool>("retired");
        QTest::addColumn<bool>("hangs");
        QTest::newRow("gloo, finished") << QByteArray("gloo") << true << false;
        QTest::newRow("gloo, waiting") << QByteArray("gloo") << false << true;
        QTest::newRow("nccl, given up") << QByteArray("nccl") << true << true;
    }

    void whatIsRetiredIsOver()
    {
        QFETCH(QByteArray, backend);
        QFETCH(bool, retired);
        QFETCH(bool, hangs);
        QTemporaryDir folder;
        for (const int rank : {0, 1}) {
            // Both entered the same operation; without counters, as Gloo's dumps are.
            QByteArray dump = jsonDump(0).replace("nccl:", backend + ":");
            if (retired) dump.replace("\"retired\": false", "\"retired\": true");
            const auto begin = dump.indexOf("\"pg_status\""), end = dump.indexOf("\"entries\"");
            dump.remove(begin, end - begin);
            write(folder.filePath(QStringLiteral("trace_rank_%1.json").arg(rank)), dump);
        }
        const auto dumps = readFlightDumps({folder.path().toStdString()});
        QVERIFY2(dumps.ok(), dumps ? "" : dumps.error().message().c_str());
        for (const FlightDump& dump : *dumps) QCOMPARE(dump.records.at(0).state == FlightState::Completed, !hangs);
        const HangReport report = analyseHang(*dumps);
        QVERIFY(report.suspects.empty());
        QCOMPARE(report.sets.empty(), !hangs); // a set: all entered, none finished
    }

    void aMissingDumpIsNamed()
    {
        QTemporaryDir folder;
        write(folder.filePath("_dump_0"), jsonDump(0));
        QCOMPARE(suspectsOf(folder.path().toStdString()), (std::vector<int>{1}));
    }

    void aDamagedDumpIsUnreadableAndNotMissing()
    {
        QTemporaryDir folder;
        write(folder.filePath("_dump_0"), jsonDump(0));
        write(folder.filePath("_dump_1"), jsonDump(1).left(60));
        const auto dumps = readFlightDumps({folder.path().toStdString()});
        QVERIFY(dumps.ok());
        const HangReport report = analyseHang(*dumps);
        QVERIFY(report.suspects.empty());
        QCOMPARE(report.unreadable, (std::vector<int>{1}));
    }

    void refused_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("says");
        QTest::newRow("runs code") << "_dump_0"
                                   << QByteArray("\x80\x02"
                                                 "cposix\nsystem\nq\x00U\x02idq\x01\x85Rq\x02.",
                                                 29)
                                   << "run code";
        QTest::newRow("a list") << "_dump_0" << QByteArray("\x80\x02]q\x00.", 6) << "no dump of a flight recorder";
        QTest::newRow("other JSON") << "_dump_0" << QByteArray("{\"traceEvents\": []}")
                                    << "no dump of a flight recorder";
        QTest::newRow("cut JSON") << "_dump_0" << jsonDump(0).left(100) << "cut";
        QTest::newRow("empty") << "_dump_0" << QByteArray() << "empty";
        QTest::newRow("no rank") << "dump.json" << jsonDump(0) << "number of a rank";
    }
    void refused()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, says);
        QTemporaryDir folder;
        write(folder.filePath(name), bytes);
        const auto dump = readFlightDump(folder.filePath(name).toStdString());
        QVERIFY(!dump.ok());
        QVERIFY2(QString::fromStdString(dump.error().message()).contains(says), dump.error().message().c_str());
        QVERIFY(!readFlightDumps({folder.path().toStdString()}).ok());
    }

    void aPathThatIsNotThereIsNoBadName()
    {
        for (const char* path : {"/no/such/folder", "/no/such/_dump_0"}) {
            const auto dumps = readFlightDumps({path});
            QVERIFY(!dumps.ok());
            QVERIFY2(dumps.error().code == ErrorCode::NotFound, dumps.error().message().c_str());
            QVERIFY2(dumps.error().what.find("no such file") != std::string::npos, dumps.error().what.c_str());
        }
    }

    void damagedDumpsNeverCrash()
    {
        QFile file(QString::fromStdString(dataOf("gpu_error_1st") + "/_dump_14"));
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray whole = file.readAll();
        QTemporaryDir folder;
        const QString path = folder.filePath("_dump_14");
        std::mt19937 random(3);
        for (int i = 0; i < 300; ++i) {
            QByteArray bytes = whole;
            if (i % 3 == 0) bytes.truncate(static_cast<int>(random() % static_cast<unsigned>(whole.size())));
            for (int n = 0; n < 3 && !bytes.isEmpty(); ++n)
                bytes[static_cast<int>(random() % static_cast<unsigned>(bytes.size()))] = static_cast<char>(random());
            write(path, bytes);
            if (const auto dump = readFlightDump(path.toStdString())) analyseHang({*dump});
        }
    }

    void stacksOfFaultHandler()
    {
        const char* const text =
            "Fatal Python error: Aborted\n\nThread 0x00007f (most recent call first):\n"
            "  File \"/a/worker.py\", line 5 in poll\n\nCurrent thread 0x00008f (most recent call first):\n"
            "  File \"/a/train.py\", line 40 in step\n  File \"/a/train.py\", line 9 in main\n";
        QCOMPARE(mainThreadStack(text), std::string("step (/a/train.py:40)\nmain (/a/train.py:9)"));
        QVERIFY(mainThreadStack("just a note (really: yes)\n").empty());
    }
};

FOURWALLS_TEST(TestFlightDumpReader, QCoreApplication)

} // namespace tst_flight_dump_reader

#include "tst_flight_dump_reader.moc"
