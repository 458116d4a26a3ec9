// SPDX-License-Identifier: Apache-2.0
// Unfinished recordings: their recorder killed, still recording, or just about to close.
#include "model/store/check.h"
#include "model/store/finish.h"
#include "model/store/recovery.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "tests/model/store/recording_process.h"
#include "tests/model/store/trace_sums.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QMap>
#include <QTemporaryDir>
#include <QtTest>

#include <chrono>
#include <future>
#include <random>

namespace tst_recovery {

using namespace fourwalls;
using test::auditOf, test::countSlices;

class RecoveryTest : public QObject {
    Q_OBJECT

private slots:
    void killedRecordingsOpen()
    {
        if (!test::kCanFork) QSKIP("forks");
        std::mt19937_64 random(3);
        for (int round = 0; round < 20; ++round) {
            QTemporaryDir folder{test::folderTemplate()};
            const std::string path = folder.filePath("killed.fourwalls").toStdString();
            test::RecordingProcess process(path, 40'000);
            // From the very first record to well after several batches.
            QVERIFY(process.waitFor(process.state().handedOver, 1 + static_cast<std::int64_t>(random() % 15'000)));
            const std::int64_t committed = process.state().committed;
            process.kill();

            auto report = store::checkTrace(path);
            QVERIFY2(report.ok(), report.ok() ? "" : report.error().message().c_str());
            QVERIFY(report->sound);
            QVERIFY(!report->complete);
            auto trace = store::openTrace(path);
            QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
            QVERIFY(!(*trace)->info().complete);
            QCOMPARE(auditOf(**trace, "recording_interrupted"), 1);
            const TraceCounts& counts = (*trace)->info().counts;
            // Frees are records, too, but live on in their allocations.
            const std::int64_t records = counts.slices + 2 * counts.allocations + counts.counterSamples;
            QVERIFY2(records >= committed, qPrintable(QString("%1 < %2").arg(records).arg(committed)));
            QCOMPARE(countSlices(**trace), counts.slices);
            // Recovered in place: complete on the disk, nothing beside it.
            QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList{"killed.fourwalls"});
            auto again = store::checkTrace(path);
            QVERIFY(again.ok() && again->sound && !again->complete);
        }
    }

    void killedWhileFinishing()
    {
        if (!test::kCanFork) QSKIP("forks");
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("killed.fourwalls").toStdString();
        test::RecordingProcess process(path, 10'000'000, 400'000);
        QVERIFY(process.waitFor(process.state().handedOver, 400'000));
        process.kill(); // somewhere between the last record and the rename
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound);
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        if ((*trace)->info().complete) QCOMPARE((*trace)->info().counts.slices, 400'000);
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList{"killed.fourwalls"});
    }

    void openedWhileItsRecorderCloses()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("closing.fourwalls").toStdString();
        for (const store::Recovery recovery : {store::Recovery::Finish, store::Recovery::PrivateCopy}) {
            auto writer = store::TraceWriter::create(path, TraceHeader{});
            QVERIFY(writer.ok());
            writer->reset(); // left as a recording
            // A recorder that writes its log back has the file for itself.
            auto recorder = sqlite::Database::open(path, sqlite::OpenMode::ReadWrite);
            QVERIFY(recorder.ok() && recorder->exec("PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE").ok());
            auto opened = std::async(std::launch::async, [&]() -> Status {
                store::OpenOptions options;
                options.recovery = recovery;
                const auto trace = store::openTrace(path, options);
                return trace.ok() ? Status() : Status(trace.error());
            });
            const bool waits = opened.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout;
            QVERIFY(recorder->exec("COMMIT").ok() && recorder->close().ok());
            const Status status = opened.get();
            QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
            QVERIFY(waits);
        }
    }

    void finishedByItsRecorderMeanwhile()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("finished.fourwalls").toStdString();
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok() && (*writer)->finish({}).ok());
        // Somebody saw a recording there a moment ago.
        for (const store::Recovery recovery : {store::Recovery::Finish, store::Recovery::PrivateCopy}) {
            store::OpenOptions options;
            options.recovery = recovery;
            const auto recovered = store::recoverRecording(path, options);
            QVERIFY2(recovered.ok() && !*recovered, recovered.ok() ? "a copy" : recovered.error().message().c_str());
        }
        const Status again = store::finishInPlace(path, {});
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().message().c_str());
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound && report->complete);
    }

    void finishingStopsOnRequest()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("stopped.fourwalls").toStdString();
        std::stop_source source;
        store::WriterOptions options;
        options.finishStop = source.get_token();
        {
            auto writer = store::TraceWriter::create(path, TraceHeader{}, options);
            QVERIFY(writer.ok());
            const TrackId track = (*writer)->defineTrack({RankId(0), TrackKind::Operators, "a", 0});
            const OpId op =
                (*writer)->defineOp({"work", SliceKind::Kernel, Phase::Forward, Activity::Compute, {}, 0, 0, ""});
            auto producer = (*writer)->openProducer();
            for (std::int64_t i = 0; i < 1000; ++i)
                producer->slice({track, op, Instant{i * 1000}, Duration{900}, std::nullopt, std::nullopt});
            producer.reset();
            source.request_stop();
            const Status finished = (*writer)->finish({});
            QVERIFY(!finished.ok());
            QCOMPARE(finished.error().code, ErrorCode::Cancelled);
        }
        // What was recorded is still there, unfinished, and nothing else.
        auto trace = store::openTrace(path);
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QCOMPARE((*trace)->info().counts.slices, 1000);
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{"stopped.fourwalls"});
    }

    void readableWhileRecording()
    {
        if (!test::kCanFork) QSKIP("forks");
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("live.fourwalls").toStdString();
        test::RecordingProcess process(path, 20'000);
        std::int64_t last = 0;
        for (int i = 1; i <= 3; ++i) {
            QVERIFY(process.waitFor(process.state().committed, last + 2000));
            const std::int64_t before = last;
            for (const store::Recovery recovery : {store::Recovery::Finish, store::Recovery::PrivateCopy}) {
                store::OpenOptions options;
                options.recovery = recovery;
                auto trace = store::openTrace(path, options);
                QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
                QVERIFY(!(*trace)->info().complete);
                QVERIFY((*trace)->info().counts.slices > before);
                auto other = (*trace)->reopen();
                QVERIFY(other.ok());
                QCOMPARE(countSlices(**other), (*trace)->info().counts.slices);
                last = (*trace)->info().counts.slices;
            }
        }
        QVERIFY(process.waitFor(process.state().committed, last + 2000)); // and it still records
        process.kill();
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok() && (*trace)->info().counts.slices > last);
    }

    void readOnlyRecordingsAreCopied()
    {
        if (!test::kCanFork) QSKIP("forks");
        QTemporaryDir folder{test::folderTemplate()};
        const QString path = folder.filePath("killed.fourwalls");
        {
            test::RecordingProcess process(path.toStdString(), 40'000);
            QVERIFY(process.waitFor(process.state().committed, 5000));
            process.kill();
        }
        const auto snapshot = [&] {
            QMap<QString, QByteArray> files;
            for (const QString& name : QDir(folder.path()).entryList(QDir::Files)) {
                if (name.endsWith("-shm")) continue; // the log's index, rebuilt by any reader
                QFile file(folder.filePath(name));
                if (file.open(QIODevice::ReadOnly)) files[name] = file.readAll();
            }
            return files;
        };
        const auto before = snapshot();
        store::OpenOptions options;
        options.recovery = store::Recovery::PrivateCopy;
        auto trace = store::openTrace(path.toStdString(), options);
        QVERIFY(trace.ok());
        QVERIFY((*trace)->info().counts.slices > 0);
        trace = Error{};
        QCOMPARE(snapshot(), before);
    }
};

FOURWALLS_TEST(RecoveryTest, QCoreApplication)

} // namespace tst_recovery

#include "tst_recovery.moc"
