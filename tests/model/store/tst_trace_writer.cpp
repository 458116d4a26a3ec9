// SPDX-License-Identifier: Apache-2.0
// The writer: full queues, several threads, what is no record, what the finished file has.
#include "model/store/check.h"
#include "model/store/ordered_slices.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/lane_assignment.h"
#include "tests/model/store/random_trace.h"
#include "tests/model/store/trace_sums.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <sqlite3.h>

#include <barrier>
#include <thread>

namespace tst_trace_writer {

using namespace fourwalls;
using test::auditOf, test::countSlices;

namespace {

OpInfo namedOp(const std::string& name)
{
    return {name, SliceKind::Operator, Phase::Forward, Activity::Compute, std::nullopt, 1, 2, ""};
}

} // namespace

class TraceWriterTest : public QObject {
    Q_OBJECT

private slots:
    void wholeTraceAppearsAtOnce()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("trace.fourwalls").toStdString();
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok());
        const OpId op = (*writer)->defineOp(namedOp("one"));
        const TrackId track = (*writer)->defineTrack({RankId(0), TrackKind::Operators, "t", 0});
        {
            auto producer = (*writer)->openProducer();
            producer->slice({track, op, Instant{5}, Duration{7}, Microbatch(2), CorrelationId(9)});
        }
        QVERIFY(!store::openTrace(path).ok() || !(*store::openTrace(path))->info().complete);
        const Status finished = (*writer)->finish({});
        QVERIFY2(finished.ok(), finished.ok() ? "" : finished.error().message().c_str());
        QVERIFY(!(*writer)->finish({}).ok());
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files), QStringList{"trace.fourwalls"});
        QVERIFY(store::looksLikeTrace(path));
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        QVERIFY((*trace)->info().complete);
        auto slice = (*trace)->slice(SliceId(1));
        QVERIFY(slice.ok());
        QCOMPARE(slice->start, Instant{5});
        QCOMPARE(slice->microbatch, std::optional(Microbatch(2)));
        QCOMPARE(slice->correlation, std::optional(CorrelationId(9)));
    }

    void emptyTraces()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("empty.fourwalls").toStdString();
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok() && (*writer)->finish({}).ok());
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        QCOMPARE((*trace)->info().counts.slices, 0);
        QVERIFY((*trace)->tracks().empty());
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound && report->complete);
    }

    void otherFilesAreNotOverwritten()
    {
        QTemporaryDir folder{test::folderTemplate()};
        QFile letter(folder.filePath("letter.txt"));
        QVERIFY(letter.open(QIODevice::WriteOnly));
        letter.write("dear reader");
        letter.close();
        auto writer = store::TraceWriter::create(letter.fileName().toStdString(), TraceHeader{});
        QVERIFY(!writer.ok());
        QCOMPARE(writer.error().code, ErrorCode::InvalidArgument);
        QVERIFY(!store::TraceWriter::create("/nowhere/at/all.fourwalls", TraceHeader{}).ok());
        QVERIFY(letter.open(QIODevice::ReadOnly));
        QCOMPARE(letter.readAll(), QByteArray("dear reader"));
    }

    void fullQueuesWaitOrDrop()
    {
        for (const store::QueueFull policy : {store::QueueFull::Wait, store::QueueFull::Drop}) {
            QTemporaryDir folder{test::folderTemplate()};
            const std::string path = folder.filePath("trace.fourwalls").toStdString();
            store::WriterOptions options;
            options.whenFull = policy;
            options.queueBytes = 4096; // a hundred slices
            auto writer = store::TraceWriter::create(path, TraceHeader{}, options);
            QVERIFY(writer.ok());
            const OpId op = (*writer)->defineOp(namedOp("one"));
            const TrackId track = (*writer)->defineTrack({RankId(0), TrackKind::Operators, "t", 0});
            constexpr std::int64_t kCount = 100'000;
            {
                auto producer = (*writer)->openProducer();
                for (std::int64_t i = 0; i < kCount; ++i)
                    producer->slice({track, op, Instant{i * 10}, Duration{5}, std::nullopt, std::nullopt});
            }
            QVERIFY((*writer)->finish({}).ok());
            const SinkStatistics statistics = (*writer)->statistics();
            auto trace = store::openTrace(path);
            QVERIFY(trace.ok());
            const std::int64_t dropped = auditOf(**trace, "queue_full_drops");
            QCOMPARE((*trace)->info().counts.slices + dropped, kCount);
            QCOMPARE(statistics.events + dropped, kCount);
            if (policy == store::QueueFull::Wait) {
                QCOMPARE(dropped, 0);
                QVERIFY(auditOf(**trace, "queue_full_waits") > 0);
                QVERIFY(statistics.waiting.ns > 0);
            } else {
                QVERIFY(dropped > 0);
            }
        }
    }

    void invalidRecordsAreCounted()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("trace.fourwalls").toStdString();
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok());
        const OpId op = (*writer)->defineOp(namedOp("one"));
        const TrackId track = (*writer)->defineTrack({RankId(0), TrackKind::Operators, "t", 0});
        {
            auto producer = (*writer)->openProducer();
            const auto slice = [&](TrackId t, OpId o, std::int64_t start, std::int64_t duration) {
                producer->slice({t, o, Instant{start}, Duration{duration}, std::nullopt, std::nullopt});
            };
            slice(track, op, 0, 10); // the only good one
            slice(track, op, 0, -1);
            slice(track, op, kLargestTimeNs, 10);
            slice(track, op, std::numeric_limits<std::int64_t>::max(), 10);
            slice(track, op, 5, std::numeric_limits<std::int64_t>::max());
            slice(track, OpId(55), 0, 10);
            slice(track, OpId(-1), 0, 10);
            AllocationRecord allocation;
            allocation.id = AllocationId(1);
            allocation.bytes = -5;
            producer->allocated(RankId(0), allocation);
            producer->freed(RankId(0), AllocationId(77), Instant{3});
            CollectiveRecord collective; // in no group
            collective.track = track;
            producer->collective(collective);
            producer->flow({"launch", TrackId(44), Instant{0}, track, Instant{1}});
            StepRecord step;
            step.range = {Instant{10}, Instant{5}};
            producer->step(RankId(0), step);
        }
        QVERIFY((*writer)->finish({}).ok());
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        QCOMPARE((*trace)->info().counts.slices, 1);
        QCOMPARE(auditOf(**trace, "invalid_records"), 10);
        QCOMPARE(auditOf(**trace, "unknown_frees"), 1);
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound);
    }

    void manyThreadsRecordTogether()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("trace.fourwalls").toStdString();
        store::WriterOptions options;
        options.batchInterval = std::chrono::milliseconds(5);
        options.queueBytes = 16384;
        auto writer = store::TraceWriter::create(path, TraceHeader{}, options);
        QVERIFY(writer.ok());
        constexpr int kThreads = 6, kEach = 20'000;
        std::barrier start(kThreads);
        std::vector<std::thread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&, t] {
                auto producer = (*writer)->openProducer();
                const TrackId track = (*writer)->defineTrack({RankId(t), TrackKind::Operators, "t", 0});
                start.arrive_and_wait();
                for (int i = 0; i < kEach; ++i) {
                    // All threads intern the same names at the same time.
                    const OpId op = (*writer)->defineOp(namedOp("op " + std::to_string(i % 17)));
                    producer->slice({track, op, Instant{i * 100}, Duration{50 + t}, std::nullopt, std::nullopt});
                    if (i % 100 == 0) (*writer)->audit({"round", AuditSeverity::Info, 1, ""});
                    if (i % 100 == 0) (*writer)->audit({"distance_ns", AuditSeverity::Info, -5, ""});
                    if (i % 500 == 0) static_cast<void>((*writer)->statistics());
                    if (i % 1000 == 999) producer = (*writer)->openProducer();
                    if (i % 50 == 0)
                        producer->event({EventKind::Annotation, RankId(t), Instant{i}, "at " + std::to_string(i % 7)});
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        QVERIFY((*writer)->finish({}).ok());
        QCOMPARE((*writer)->statistics().events, kThreads * (kEach + kEach / 50));
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        QCOMPARE((*trace)->info().counts.slices, kThreads * kEach);
        QCOMPARE((*trace)->info().counts.ops, 17);
        QCOMPARE(auditOf(**trace, "round"), kThreads * kEach / 100);
        QCOMPARE(auditOf(**trace, "distance_ns"), -5 * (kThreads * kEach / 100));
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound);
    }

    void readersOnSeveralThreads()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("trace.fourwalls").toStdString();
        test::RandomTrace random(5);
        auto writer = store::TraceWriter::create(path, random.header());
        QVERIFY(writer.ok());
        random.write(**writer, 4);
        QVERIFY((*writer)->finish(random.closing()).ok());
        auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        const std::int64_t expected = countSlices(**trace);
        QVERIFY(expected > 0);
        std::atomic<int> right{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                auto own = (*trace)->reopen();
                if (own.ok() && countSlices(**own) == expected) ++right;
            });
        }
        for (std::thread& thread : threads) thread.join();
        QCOMPARE(right.load(), 4);
    }

    void sameRecordsGiveTheSameFile()
    {
        // Dealt over several producers, records arrive in another order each time.
        QTemporaryDir folder{test::folderTemplate()};
        for (const int producers : {1, 3}) {
            const QString path = folder.filePath("trace.fourwalls");
            test::RandomTraceSize size;
            size.slicesPerTrack = 300;
            test::RandomTrace random(9, size);
            auto writer = store::TraceWriter::create(path.toStdString(), random.header());
            QVERIFY(writer.ok());
            random.write(**writer, producers);
            QVERIFY((*writer)->finish(random.closing()).ok());
            auto report = store::checkTrace(path.toStdString());
            QVERIFY(report.ok() && report->sound);
        }
    }

    /// What waited for all of its time: the wait lies below it, whichever operator was known first.
    void aWaitLiesBelowWhatWaitedAsLong()
    {
        const auto op = [](const char* name, SliceKind kind) {
            OpInfo info;
            info.name = name;
            info.kind = kind;
            return info;
        };
        const auto record = [&](TraceSink& sink) {
            const TrackId track = sink.defineTrack({RankId{0}, TrackKind::CommStream, "communication", 0});
            const OpId early = sink.defineOp(op("receive from 1", SliceKind::Collective)),
                       wait = sink.defineOp(op("wait", SliceKind::Wait)),
                       late = sink.defineOp(op("receive from 2", SliceKind::Collective));
            const auto producer = sink.openProducer();
            std::int64_t at = 0;
            for (const auto& [first, second] : {std::pair(early, wait), std::pair(wait, early), std::pair(late, wait),
                                                std::pair(wait, late), std::pair(wait, wait)}) {
                for (const OpId each : {first, second})
                    producer->slice({track, each, Instant{at}, Duration{100}, {}, {}});
                at += 200;
            }
            producer->slice({track, wait, Instant{at}, Duration{100}, {}, {}}); // the last one, alone
        };
        const auto isRight = [](TraceQuery& trace) {
            int above = 0, below = 0;
            const auto isFound = trace.scanSlices([&](const SliceView& slice) {
                const bool isWait = slice.op.value == 1, isTie = slice.start.ns < 800;
                if (isTie) ++(slice.lane == (isWait ? 1 : 0) ? below : above);
                return true;
            });
            return isFound.ok() && above == 0 && below == 8 && trace.info().counts.slices == 11;
        };
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("waits.fourwalls").toStdString();
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok());
        record(**writer);
        QVERIFY((*writer)->finish({}).ok());
        auto file = store::openTrace(path);
        QVERIFY(file.ok());
        QVERIFY(isRight(**file));
        InMemoryTrace memory(TraceHeader{});
        record(memory);
        QVERIFY(memory.finish({}).ok());
        InMemoryTraceQuery query(memory.data());
        QVERIFY(isRight(query));
    }

    void longTracksAreMergedInOrder();

    /// Begins that never end, by the ten thousand: what has no lane is left out and counted, and the trace opens.
    void deepNesting()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const std::string path = folder.filePath("deep.fourwalls").toStdString();
        const auto fill = [](TraceSink& sink) {
            const TrackId track = sink.defineTrack({RankId(0), TrackKind::Operators, "a", 0});
            const OpId op = sink.defineOp(namedOp("work"));
            auto producer = sink.openProducer();
            for (std::int64_t i = 0; i < 66'000; ++i)
                producer->slice({track, op, Instant{i}, Duration{1'000'000 - i}, std::nullopt, std::nullopt});
            producer->slice(
                {track, op, Instant{70'000}, Duration{2'000'000}, std::nullopt, std::nullopt}); // no lane for it
            producer->slice({track, op, Instant{1'000'000}, Duration{10}, std::nullopt, std::nullopt});
        };
        const auto most = static_cast<std::int64_t>(LaneAssigner::kMostAssigned);
        auto writer = store::TraceWriter::create(path, TraceHeader{});
        QVERIFY(writer.ok());
        fill(**writer);
        QVERIFY((*writer)->finish(TraceClosing{}).ok());
        auto report = store::checkTrace(path);
        QVERIFY(report.ok() && report->sound);
        auto trace = store::openTrace(path);
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QCOMPARE(countSlices(**trace), most + 1);
        QCOMPARE(auditOf(**trace, "invalid_records"), 66'001 - most);
        QCOMPARE((*trace)->info().range.end, Instant{1'000'010});
        InMemoryTrace memory{TraceHeader{}};
        fill(memory);
        QVERIFY(memory.finish(TraceClosing{}).ok());
        QCOMPARE(static_cast<std::int64_t>(memory.data()->slices.size()), most + 1);
        QCOMPARE(memory.data()->info.counts.slices, most + 1);
        QVERIFY(memory.data()->info.range == (*trace)->info().range);
    }

    void finishingKeepsFewPages()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const QString path = folder.filePath("long.fourwalls");
        auto writer = store::TraceWriter::create(path.toStdString(), TraceHeader{});
        QVERIFY(writer.ok());
        const TrackId track = (*writer)->defineTrack({RankId(0), TrackKind::Operators, "a", 0});
        const OpId op = (*writer)->defineOp(namedOp("work"));
        auto producer = (*writer)->openProducer();
        for (std::int64_t i = 0; i < 2'000'000; ++i)
            producer->slice({track, op, Instant{(std::int64_t{1} << 60) + i * 100'000'000}, Duration{90'000'000},
                             std::nullopt, CorrelationId(i << 40)});
        producer.reset();
        sqlite3_memory_highwater(1);
        QVERIFY((*writer)->finish(TraceClosing{}).ok());
        QVERIFY(QFileInfo(path).size() > 60'000'000);
        const std::int64_t most = sqlite3_memory_highwater(0);
        QVERIFY2(most > 1'000'000 && most < 48'000'000, qPrintable(QString::number(most)));
    }

    void plainSqlReadsIt()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const QString path = folder.filePath("trace.fourwalls");
        test::RandomTrace random(5);
        auto writer = store::TraceWriter::create(path.toStdString(), random.header());
        QVERIFY(writer.ok());
        random.write(**writer);
        QVERIFY((*writer)->finish(random.closing()).ok());
        sqlite3* database = nullptr;
        QCOMPARE(sqlite3_open_v2(path.toUtf8().constData(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
        const auto integer = [&](const char* sql) {
            sqlite3_stmt* statement = nullptr;
            sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
            sqlite3_step(statement);
            const std::int64_t value = sqlite3_column_int64(statement, 0);
            sqlite3_finalize(statement);
            return value;
        };
        QCOMPARE(integer("SELECT count(*) FROM slice JOIN run ON run.id=slice.run JOIN track ON track.id=run.track"),
                 12000);
        QCOMPARE(integer("SELECT count(*) FROM slice WHERE op NOT IN (SELECT id FROM op)"), 0);
        QCOMPARE(
            integer("SELECT count(*) FROM run r JOIN slice s ON s.id BETWEEN r.first AND r.last WHERE s.run<>r.id"), 0);
        QCOMPARE(integer("SELECT value FROM meta WHERE key='slices'"), 12000);
        QCOMPARE(integer("PRAGMA application_id"), 0x34574c53);
        sqlite3_close(database);
    }

private:
    QTemporaryDir m_folder{test::folderTemplate()};
};

namespace {

/// A source of one track whose batches are given.
class ListSource final : public store::RecordSource {
public:
    explicit ListSource(std::vector<std::vector<store::SliceRow>> batches) : m_batches(std::move(batches)) {}
    const store::Definitions& definitions() const override { return m_definitions; }
    const std::set<std::int32_t>& ranks() const override { return m_ranks; }
    const store::Skipped& skipped() const override { return m_skipped; }
    Status slices(std::int32_t, const std::function<bool(std::vector<store::SliceRow>&)>& visit) override
    {
        for (std::vector<store::SliceRow> batch : m_batches)
            if (!visit(batch)) break;
        return {};
    }
    Status allocations(std::int32_t, ChunkStore&, const std::function<void(const store::AllocationRow&)>&) override
    {
        return {};
    }
    Status counters(std::int32_t, std::vector<store::CounterRow>&) override { return {}; }
    Status collectives(std::int32_t, std::vector<store::CollectiveRow>&) override { return {}; }
    Status flows(const std::function<void(const store::FlowRow&)>&) override { return {}; }
    Status events(std::vector<store::EventRow>&) override { return {}; }
    Status steps(std::int32_t, std::vector<StepRecord>&) override { return {}; }

private:
    std::vector<std::vector<store::SliceRow>> m_batches;
    store::Definitions m_definitions;
    std::set<std::int32_t> m_ranks;
    store::Skipped m_skipped;
};

} // namespace

void TraceWriterTest::longTracksAreMergedInOrder()
{
    std::mt19937_64 random(17);
    for (int round = 0; round < 30; ++round) {
        std::vector<std::vector<store::SliceRow>> batches;
        std::vector<store::SliceRow> all;
        std::int64_t now = 0;
        for (int b = 0; b < 20; ++b) {
            std::vector<store::SliceRow>& batch = batches.emplace_back();
            for (int i = 0; i < 50; ++i) {
                store::SliceRow row;
                now += static_cast<std::int64_t>(random() % 4);
                row.start = now - static_cast<std::int64_t>(random() % 100);
                if (random() % 40 == 0) row.start = now - static_cast<std::int64_t>(random() % 3000); // late
                row.duration = static_cast<std::int64_t>(random() % 50);
                row.op = static_cast<std::int32_t>(random() % 5);
                batch.push_back(row);
                all.push_back(row);
            }
        }
        std::sort(all.begin(), all.end());
        ListSource source(batches);
        std::vector<store::SliceRow> merged;
        ChunkStore chunks({}, 1000);
        QVERIFY(store::forEachSorted(
                    source, 0, chunks, [&](const store::SliceRow& row) { merged.push_back(row); }, 10)
                    .ok());
        QVERIFY(merged == all);
        merged.clear();
        QVERIFY(
            store::forEachSorted(source, 0, chunks, [&](const store::SliceRow& row) { merged.push_back(row); }).ok());
        QVERIFY(merged == all);
    }
}

FOURWALLS_TEST(TraceWriterTest, QCoreApplication)

} // namespace tst_trace_writer

#include "tst_trace_writer.moc"
