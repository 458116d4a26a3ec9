// SPDX-License-Identifier: Apache-2.0
// Files from strangers: a good small trace, damaged in many ways. Each damage either makes the file be refused with
// one sentence, or its rows be skipped while `check` calls the file unsound. Nothing may crash, hang or grow.
#include "model/store/check.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <sqlite3.h>

#include <sys/stat.h>
#include <unistd.h>

#include <functional>

namespace tst_hostile_traces {

using namespace fourwalls;

namespace {

/// What a damage must lead to.
enum class Outcome {
    Refused, ///< openTrace gives one clear sentence
    Unsound, ///< opens; every query survives; check finds it unsound
};

struct Damage {
    const char* name;
    Outcome outcome;
    const char* sentence;                           ///< part of the message of a refusal
    std::function<void(const QString& path)> apply; ///< damages the copy of the good trace at `path`
};

void sql(const QString& path, const char* statements)
{
    sqlite3* database = nullptr;
    QCOMPARE(sqlite3_open(path.toUtf8().constData(), &database), SQLITE_OK);
    char* message = nullptr;
    sqlite3_exec(database, "PRAGMA writable_schema=ON", nullptr, nullptr, nullptr);
    const int rc = sqlite3_exec(database, statements, nullptr, nullptr, &message);
    if (rc != SQLITE_OK) qWarning("%s: %s", statements, message);
    sqlite3_free(message);
    sqlite3_close(database);
    QCOMPARE(rc, SQLITE_OK);
}

std::function<void(const QString&)> withSql(const char* statements)
{
    return [statements](const QString& path) { sql(path, statements); };
}

std::function<void(const QString&)> withBytes(qint64 at, const QByteArray& bytes)
{
    return [at, bytes](const QString& path) {
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.seek(at < 0 ? file.size() + at : at));
        QCOMPARE(file.write(bytes), bytes.size());
    };
}

std::function<void(const QString&)> withContent(const QByteArray& content)
{
    return [content](const QString& path) {
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly | QIODevice::Truncate));
        file.write(content);
    };
}

std::function<void(const QString&)> withFreshDatabase(const char* statements)
{
    return [statements](const QString& path) {
        QVERIFY(QFile::remove(path));
        sql(path, statements);
    };
}

std::function<void(const QString&)> cutTo(double share)
{
    return [share](const QString& path) {
        QFile file(path);
        QVERIFY(file.resize(static_cast<qint64>(static_cast<double>(file.size()) * share)));
    };
}

std::function<void(const QString&)> beside(const char* suffix, const QByteArray& content)
{
    return [suffix, content](const QString& path) {
        QFile file(path + suffix);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(content);
    };
}

const std::vector<Damage>& damages()
{
    using enum Outcome;
    static const QByteArray kMagic("SQLite format 3\0", 16);
    static const std::vector<Damage> kDamages{
        // Not a trace at all.
        {"missing file", Refused, "no such file", [](const QString& path) { QFile::remove(path); }},
        {"empty file", Refused, "empty", withContent("")},
        {"text file", Refused, "not a Fourwalls trace", withContent("step,loss\n1,2.5\n")},
        {"one byte", Refused, "not a Fourwalls trace", withContent("S")},
        {"magic only", Refused, "truncated", withContent(kMagic)},
        {"zeros", Refused, "not a Fourwalls trace", withContent(QByteArray(100'000, '\0'))},
        {"gzip", Refused, "not a Fourwalls trace",
         withContent(QByteArray("\x1f\x8b\x08\0\0\0\0\0", 8) + QByteArray(500, 'x'))},
        {"magic and rubbish", Refused, "not a Fourwalls trace", withContent(kMagic + QByteArray(50'000, '\x55'))},
        {"folder", Refused, "folder",
         [](const QString& path) {
             QVERIFY(QFile::remove(path));
             QVERIFY(QDir().mkdir(path));
         }},
        {"pipe", Refused, "not a regular file",
         [](const QString& path) {
             QVERIFY(QFile::remove(path));
             QCOMPARE(::mkfifo(path.toUtf8().constData(), 0600), 0);
         }},
        {"another database", Refused, "not a Fourwalls trace",
         withFreshDatabase("CREATE TABLE person(name); INSERT INTO person VALUES('x')")},
        {"another database with our id", Refused, "tables are not those",
         withFreshDatabase("PRAGMA page_size=16384; PRAGMA application_id=0x34574c53; PRAGMA user_version=2; CREATE "
                           "TABLE slice(id)")},
        {"no application id", Refused, "not a Fourwalls trace", withSql("PRAGMA application_id=0")},
        {"newer version", Refused, "newer", withSql("PRAGMA user_version=4")},
        {"newest version", Refused, "newer", withSql("PRAGMA user_version=2147483647")},
        {"older version", Refused, "before the first release", withSql("PRAGMA user_version=1")},
        {"no version", Refused, "no format version", withSql("PRAGMA user_version=0")},
        {"cut in half", Refused, "truncated", cutTo(0.5)},
        {"cut to its first page", Refused, "truncated",
         [](const QString& path) { QVERIFY(QFile(path).resize(16384)); }},
        {"cut by one byte", Refused, "truncated",
         [](const QString& path) {
             QFile f(path);
             QVERIFY(f.resize(f.size() - 1));
         }},
        {"bytes behind the end", Refused, "bytes behind",
         [](const QString& path) {
             QFile file(path);
             QVERIFY(file.open(QIODevice::Append));
             file.write("appended");
         }},
        {"another page size", Refused, "page size",
         withSql("PRAGMA journal_mode=DELETE; PRAGMA page_size=4096; VACUUM")},
        {"log left beside", Refused, "journal lies beside", beside("-wal", QByteArray(5000, '\x7f'))},
        {"journal left beside", Refused, "journal lies beside", beside("-journal", QByteArray(5000, '\x7f'))},
        // Tables that are not ours.
        {"extra trigger", Refused, "tables are not those",
         withSql("CREATE TRIGGER t AFTER INSERT ON slice BEGIN DELETE FROM slice; END")},
        {"extra view", Refused, "tables are not those", withSql("CREATE VIEW v AS SELECT * FROM slice")},
        {"extra table", Refused, "tables are not those", withSql("CREATE TABLE more(x)")},
        {"extra index", Refused, "tables are not those", withSql("CREATE INDEX i ON slice(op)")},
        {"view in place of a table", Refused, "tables are not those",
         withSql("ALTER TABLE op RENAME TO hidden; CREATE VIEW op AS SELECT * FROM hidden")},
        {"missing table", Refused, "tables are not those", withSql("DROP TABLE fence")},
        {"missing index", Refused, "tables are not those", withSql("DROP INDEX slice_bin_tile")},
        {"renamed column", Refused, "tables are not those", withSql("ALTER TABLE slice RENAME COLUMN dur TO length")},
        {"extra column", Refused, "tables are not those", withSql("ALTER TABLE slice ADD COLUMN extra")},
        {"default with a function", Refused, "tables are not those",
         withSql("UPDATE sqlite_schema SET sql='CREATE TABLE string(id INTEGER PRIMARY KEY, text TEXT NOT NULL DEFAULT "
                 "(hex(randomblob(9))))' WHERE name='string'")},
        {"generated column", Refused, "tables are not those",
         withSql("UPDATE sqlite_schema SET sql='CREATE TABLE event(id INTEGER PRIMARY KEY, at INTEGER, kind INTEGER, "
                 "rank INTEGER, text TEXT AS (abs(at)))' WHERE name='event'")},
        {"schema that does not parse", Refused, "",
         withSql("UPDATE sqlite_schema SET sql='CREATE TABLE (' WHERE name='flow'")},
        {"table without a root", Refused, "", withSql("UPDATE sqlite_schema SET rootpage=99999999 WHERE name='meta'")},
        {"first page overwritten", Refused, "", withBytes(100, QByteArray(8, '\xff'))},
        {"write-ahead mode without a log", Refused, "tables are not those", withBytes(18, QByteArray("\x02\x02", 2))},
        // Tables that are ours, rows that are not.
        {"text for a start", Unsound, "", withSql("UPDATE slice SET start='soon' WHERE id%100=1")},
        {"blob for a duration", Unsound, "", withSql("UPDATE slice SET dur=x'ffffffff' WHERE id%100=2")},
        {"real for an operator", Unsound, "", withSql("UPDATE slice SET op=1.5 WHERE id%100=3")},
        {"no start", Unsound, "", withSql("UPDATE slice SET start=NULL WHERE id%100=4")},
        {"overflowing start", Unsound, "", withSql("UPDATE slice SET start=9223372036854775807 WHERE id%50=5")},
        {"overflowing duration", Unsound, "", withSql("UPDATE slice SET dur=9223372036854775807 WHERE id%50=6")},
        {"negative duration", Unsound, "", withSql("UPDATE slice SET dur=-dur-1 WHERE id%50=7")},
        {"dangling operator", Unsound, "", withSql("UPDATE slice SET op=1000000 WHERE id%50=8")},
        {"negative operator", Unsound, "", withSql("UPDATE slice SET op=-1 WHERE id%50=8")},
        {"dangling run", Unsound, "", withSql("UPDATE slice SET run=777777 WHERE id%50=9")},
        {"unsorted run", Unsound, "", withSql("UPDATE slice SET start=start-1000000 WHERE id%50=10")},
        {"wrong class", Unsound, "", withSql("UPDATE slice SET dur=dur*64+64 WHERE id%50=11")},
        {"missing slices", Unsound, "", withSql("DELETE FROM slice WHERE id%40=12")},
        {"surplus slice", Unsound, "", withSql("INSERT INTO slice VALUES(99999999,1,1,1,1,NULL,NULL)")},
        {"all slices gone", Unsound, "", withSql("DELETE FROM slice")},
        {"huge value in a slice", Unsound, "", withSql("UPDATE slice SET corr=zeroblob(20000000) WHERE id=100")},
        {"huge micro-batch", Unsound, "", withSql("UPDATE slice SET mb=4611686018427387904 WHERE id%60=13")},
        {"runs upside down", Unsound, "", withSql("UPDATE run SET first=last, last=first-1")},
        {"every run over everything", Unsound, "", withSql("UPDATE run SET first=1, last=9223372036854775807")},
        {"runs in a circle", Unsound, "",
         withSql("UPDATE run SET first=(SELECT max(last) FROM run)-first, last=(SELECT max(last) FROM run)-first")},
        {"run of class 99", Unsound, "", withSql("UPDATE run SET class=99 WHERE id%3=0")},
        {"run on lane two billion", Unsound, "", withSql("UPDATE run SET lane=2000000000 WHERE id%3=0")},
        {"track with a billion lanes", Unsound, "", withSql("UPDATE track SET lanes=1000000000")},
        {"track of endless runs", Unsound, "", withSql("UPDATE track SET first_run=1, last_run=9223372036854775807")},
        {"track id far away", Unsound, "", withSql("UPDATE track SET id=2000000000 WHERE id=2")},
        {"fences to nowhere", Unsound, "", withSql("UPDATE fence SET id=id+100000000")},
        {"fences too late", Unsound, "", withSql("UPDATE fence SET start=-1000000000")},
        {"no fences", Unsound, "", withSql("DELETE FROM fence")},
        {"bins of ones", Unsound, "",
         withSql("UPDATE slice_bin SET data=x'ffffffffffffffffffffffffffffffffffffffffff'")},
        {"bins cut short", Unsound, "", withSql("UPDATE slice_bin SET data=substr(data,1,length(data)/2)")},
        {"bins of text", Unsound, "", withSql("UPDATE slice_bin SET data='bins'")},
        {"bins far away", Unsound, "", withSql("UPDATE slice_bin SET tile=tile+4611686018427387904")},
        {"huge bins", Unsound, "", withSql("UPDATE slice_bin SET data=zeroblob(10000000) WHERE id=1")},
        {"levels upside down", Unsound, "", withSql("UPDATE lane SET finest=31, top=1")},
        {"level minus one", Unsound, "", withSql("UPDATE lane SET finest=-1, top=-1")},
        {"huge name", Unsound, "", withSql("UPDATE op SET name=replace(hex(zeroblob(5000000)),'0','n') WHERE id=3")},
        {"name of bytes", Unsound, "", withSql("UPDATE op SET name=x'00ff00' WHERE id=4")},
        {"unknown kind", Unsound, "", withSql("UPDATE op SET kind=200, phase=-3, activity=99 WHERE id=5")},
        {"endless flops", Unsound, "", withSql("UPDATE op SET flops='much' WHERE id=6")},
        {"operators gone", Unsound, "", withSql("DELETE FROM op")},
        {"lives that overflow", Unsound, "", withSql("UPDATE allocation SET start=9223372036854775807 WHERE id%9=0")},
        {"lives backwards", Unsound, "", withSql("UPDATE allocation SET dur=-5 WHERE id%9=1")},
        {"endless bytes", Unsound, "", withSql("UPDATE allocation SET bytes=9223372036854775807 WHERE id%9=2")},
        {"unknown category", Unsound, "", withSql("UPDATE allocation SET category=77 WHERE id%9=3")},
        {"memory bins of ones", Unsound, "", withSql("UPDATE memory_bin SET data=x'ffffffffffffffffffffffffffffff'")},
        {"memory bins negative", Unsound, "", withSql("UPDATE memory_bin SET data=x'0001010101010101010101'")},
        {"peak set of rubbish", Unsound, "", withSql("UPDATE peak_alive SET data=x'ff00ff00ff'")},
        {"peak set too large", Unsound, "", withSql("UPDATE peak_alive SET data=x'01010101010101010101'")},
        {"summary of text", Unsound, "", withSql("UPDATE step_summary SET compute='all'")},
        {"summary too good", Unsound, "", withSql("UPDATE step_summary SET compute=compute+1 WHERE seq=1")},
        {"memory summary changed", Unsound, "", withSql("UPDATE memory_summary SET peak=peak-1")},
        {"operator summary overflowing", Unsound, "", withSql("UPDATE op_summary SET total=9223372036854775807")},
        {"counter of text", Unsound, "", withSql("UPDATE counter_sample SET value='high' WHERE at%7=0")},
        {"counter bins of ones", Unsound, "", withSql("UPDATE counter_bin SET data=x'ffffffffff'")},
        {"counter of unknown unit", Unsound, "", withSql("UPDATE counter SET unit=50, top=99")},
        {"step ends before it starts", Unsound, "", withSql("UPDATE step SET end=start-1 WHERE seq=2")},
        {"step of text", Unsound, "", withSql("UPDATE step SET step='first' WHERE seq=2")},
        {"collective in no group", Unsound, "", withSql("UPDATE collective SET grp=44 WHERE id%5=0")},
        {"collective of unknown kind", Unsound, "", withSql("UPDATE collective SET operation=1000 WHERE id%5=1")},
        {"flow from nowhere", Unsound, "", withSql("UPDATE flow SET from_track=-8, to_track=123456 WHERE id%5=0")},
        {"event of bytes", Unsound, "", withSql("UPDATE event SET text=x'00' WHERE id%5=0")},
        {"huge event", Unsound, "",
         withSql("UPDATE event SET text=replace(hex(zeroblob(9000000)),'0','e') WHERE id=3")},
        {"group of words", Unsound, "", withSql("UPDATE process_group SET ranks='one,two'")},
        {"rank without device", Unsound, "", withSql("UPDATE rank SET device=NULL, memory_bytes='lots'")},
        {"heat map of ones", Unsound, "", withSql("UPDATE rank_bin SET data=x'ffffffffffff'")},
        {"heat map of no width", Unsound, "", withSql("UPDATE meta SET value=0 WHERE key='rank_bin_width'")},
        {"heat map of nine classes", Unsound, "", withSql("UPDATE meta SET value=9 WHERE key='rank_bin_classes'")},
        {"counts of text", Unsound, "", withSql("UPDATE meta SET value='many' WHERE key='slices'")},
        {"range upside down", Unsound, "",
         withSql("UPDATE meta SET value=-5 WHERE key='range_end'; UPDATE meta SET value=9223372036854775807 WHERE "
                 "key='range_begin'")},
        {"unknown source", Unsound, "", withSql("UPDATE meta SET value=12 WHERE key='source'")},
        {"no meta at all", Unsound, "", withSql("DELETE FROM meta")},
        {"spec that is no JSON", Unsound, "", withSql("INSERT OR REPLACE INTO meta VALUES('spec','{')")},
        {"spec of a newer version", Refused, "",
         withSql("INSERT OR REPLACE INTO meta VALUES('spec','{\"spec_version\":1000}')")},
        {"audit of bytes", Unsound, "", withSql("UPDATE audit SET count=x'01'")},
        {"page of zeros in the middle", Unsound, "",
         [](const QString& path) {
             QFile file(path);
             QVERIFY(file.open(QIODevice::ReadWrite));
             QVERIFY(file.seek(file.size() / 16384 / 2 * 16384));
             file.write(QByteArray(16384, '\0'));
         }},
        {"page of ones at the end", Unsound, "", withBytes(-16384, QByteArray(16384, '\xff'))},
    };
    return kDamages;
}

} // namespace

class HostileTracesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        m_good = m_folder.filePath("good.fourwalls");
        test::RandomTraceSize size;
        size.slicesPerTrack = 600;
        size.allocationsPerRank = 300;
        test::RandomTrace random(7, size);
        auto writer = store::TraceWriter::create(m_good.toStdString(), random.header());
        QVERIFY(writer.ok());
        random.write(**writer);
        QVERIFY((*writer)->finish(random.closing()).ok());
        auto report = store::checkTrace(m_good.toStdString());
        QVERIFY(report.ok() && report->sound && report->complete);
        QVERIFY(damages().size() >= 40);
    }

    void damage_data()
    {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < damages().size(); ++i) QTest::newRow(damages()[i].name) << static_cast<int>(i);
    }

    void damage()
    {
        QFETCH(int, index);
        const Damage& damage = damages()[static_cast<std::size_t>(index)];
        QTemporaryDir folder{test::folderTemplate()};
        const QString path = folder.filePath("hostile.fourwalls");
        QVERIFY(QFile::copy(m_good, path));
        damage.apply(path);
        if (QTest::currentTestFailed()) return;

        auto opened = store::openTrace(path.toStdString());
        auto report = store::checkTrace(path.toStdString());
        if (damage.outcome == Outcome::Refused) {
            QVERIFY(!opened.ok());
            const std::string message = opened.error().message();
            QVERIFY2(message.find(damage.sentence) != std::string::npos, message.c_str());
            QVERIFY(message.find('\n') == std::string::npos);
            QVERIFY(message.find("hostile.fourwalls") != std::string::npos);
            QVERIFY(!report.ok() || !report->sound);
            return;
        }
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().message().c_str());
        askEverything(**opened);
        QVERIFY2(report.ok(), report.ok() ? "" : report.error().message().c_str());
        QVERIFY(!report->sound);
        QVERIFY(!report->problems.empty());
        QVERIFY(!report->problems[0].name.empty() && report->problems[0].count > 0);
    }

    void skippedRowsAreCounted()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const QString path = folder.filePath("hostile.fourwalls");
        QVERIFY(QFile::copy(m_good, path));
        sql(path, "UPDATE slice SET start='soon' WHERE id IN (10, 20, 30)");
        auto opened = store::openTrace(path.toStdString());
        QVERIFY(opened.ok());
        std::vector<TrackId> tracks;
        for (const TrackView& track : (*opened)->tracks()) tracks.push_back(track.id);
        auto window = (*opened)->slices({tracks, (*opened)->info().range, 100'000'000});
        QVERIFY(window.ok());
        QCOMPARE(window->skippedRows, 3);
        std::size_t shown = 0;
        for (const LaneSlices& lane : window->lanes) shown += lane.exact.size();
        QVERIFY(shown > 0);
        QVERIFY(!(*opened)->slice(SliceId(10)).ok());
    }

    void noPermission()
    {
        const QString path = m_folder.filePath("locked.fourwalls");
        QVERIFY(QFile::copy(m_good, path));
        QVERIFY(QFile::setPermissions(path, QFileDevice::Permissions()));
        // Root may read everything, so it steps back for the moment.
        const bool isRoot = ::geteuid() == 0;
        if (isRoot) {
            QCOMPARE(::chmod(m_folder.path().toUtf8().constData(), 0755), 0);
            QCOMPARE(::seteuid(65534), 0);
        }
        auto opened = store::openTrace(path.toStdString());
        if (isRoot) QCOMPARE(::seteuid(0), 0);
        QVERIFY(!opened.ok());
        QCOMPARE(opened.error().code, ErrorCode::Io);
    }

    void flippedBits()
    {
        // Every file with a few flipped bits opens or is refused, and every query comes back.
        QFile good(m_good);
        QVERIFY(good.open(QIODevice::ReadOnly));
        const QByteArray bytes = good.readAll();
        std::mt19937_64 random(11);
        int opens = 0, refusals = 0, unsound = 0;
        for (int round = 0; round < 120; ++round) {
            QByteArray damaged = bytes;
            const int flips = 1 + static_cast<int>(random() % 30);
            for (int i = 0; i < flips; ++i) {
                // Half of them in the first pages, where the structure is.
                const std::size_t span = random() % 2 ? static_cast<std::size_t>(bytes.size()) : 65536;
                const auto at =
                    static_cast<qsizetype>(random() % std::min(span, static_cast<std::size_t>(bytes.size())));
                damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
            }
            QTemporaryDir folder{test::folderTemplate()};
            const QString path = folder.filePath("hostile.fourwalls");
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(damaged);
            file.close();
            auto opened = store::openTrace(path.toStdString());
            if (opened.ok()) {
                ++opens;
                askEverything(**opened);
            } else {
                ++refusals;
            }
            if (round % 4 != 0) continue;
            auto report = store::checkTrace(path.toStdString());
            if (!report.ok() || !report->sound) ++unsound;
        }
        QVERIFY(opens > 0 && refusals > 0 && unsound > 20);
    }

private:
    /// Every query over everything; errors are fine, crashes and endless answers are not.
    void askEverything(TraceQuery& trace)
    {
        const TimeRange all{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
        const TimeRange usual{Instant{-1000}, Instant{60'000'000}};
        std::vector<TrackId> tracks;
        for (const TrackView& track : trace.tracks()) tracks.push_back(track.id);
        for (const TimeRange& range : {all, usual, TimeRange{Instant{1'000'000}, Instant{1'100'000}}}) {
            for (const int pixels : {1, 1000}) {
                auto window = trace.slices({tracks, range, pixels});
                if (window.ok())
                    for (const LaneSlices& lane : window->lanes)
                        for (const SliceView& slice : lane.exact) QVERIFY(slice.duration.ns >= 0);
                static_cast<void>(trace.memory(RankId(0), range, pixels));
                static_cast<void>(trace.counter(CounterId(0), range, pixels));
                const std::vector<RankId> ranks{RankId(0), RankId(1)};
                static_cast<void>(trace.rankActivity(ranks, range, pixels));
            }
            static_cast<void>(trace.allocations(RankId(1), range, 10));
            static_cast<void>(trace.aliveAt(RankId(0), range.begin, 10));
            static_cast<void>(trace.collectives(std::nullopt, range, 100));
            static_cast<void>(trace.events(range, 100));
            static_cast<void>(trace.flows(TrackId(0), range, 100));
            static_cast<void>(trace.search({"norm", false, range, {}, 50}));
        }
        auto memory = trace.memorySummaries();
        if (memory.ok())
            for (const MemorySummary& s : *memory) static_cast<void>(trace.aliveAt(s.rank, s.peakAt, 10));
        for (int i = 0; i < 45; ++i) static_cast<void>(trace.op(OpId(i)));
        for (int i = 0; i < 200; ++i) static_cast<void>(trace.slice(SliceId(i)));
        static_cast<void>(trace.steps(RankId(0)));
        static_cast<void>(trace.stepSummaries());
        static_cast<void>(trace.collectiveSummaries());
        static_cast<void>(trace.opSummaries(100));
        static_cast<void>(trace.scanSlices([](const SliceView&) { return true; }));
        static_cast<void>(trace.scanAllocations([](const AllocationView&) { return true; }));
        static_cast<void>(trace.scanCounters([](const CounterRecord&) { return true; }));
        static_cast<void>(trace.scanFlows([](const FlowRecord&) { return true; }));
    }

    QTemporaryDir m_folder{test::folderTemplate()};
    QString m_good;
};

FOURWALLS_TEST(HostileTracesTest, QCoreApplication)

} // namespace tst_hostile_traces

#include "tst_hostile_traces.moc"
