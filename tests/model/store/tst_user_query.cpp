// SPDX-License-Identifier: Apache-2.0
// SQL that a person typed: it reads the trace's tables and views, says what is wrong with it and where, and can do
// nothing else.
#include <QtTest>

#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/user_query.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

namespace tst_user_query {

using namespace fourwalls;

class UserQueryTest : public QObject {
    Q_OBJECT
private:
    QTemporaryDir m_folder{test::folderTemplate()};
    std::unique_ptr<TraceQuery> m_trace;
    QByteArray m_before;

    QString path() const { return m_folder.filePath("queried.fourwalls"); }
    QByteArray bytes() const
    {
        QFile file(path());
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }
    Result<UserRows> ask(const char* text, UserQuery limits = {}, std::stop_token stop = {})
    {
        limits.text = text;
        return askInSql(*m_trace, limits, stop);
    }

private slots:
    void initTestCase()
    {
        test::RandomTraceSize size;
        size.slicesPerTrack = 300;
        size.allocationsPerRank = 200;
        const std::string file = path().toStdString();
        test::RandomTrace random(7, size);
        auto writer = store::TraceWriter::create(file, random.header(), {});
        QVERIFY(writer.ok());
        random.write(**writer);
        QVERIFY((*writer)->finish(random.closing()).ok());
        auto opened = store::openTrace(file);
        QVERIFY(opened.ok());
        m_trace = std::move(*opened);
        m_before = bytes();
        QVERIFY(!m_before.isEmpty());
    }

    void readsTablesAndViews()
    {
        const auto counted = ask("SELECT count(*) AS n, 'x' || NULL, 1.5, x'0102' FROM slice;  -- all of them\n");
        QVERIFY2(counted.ok(), counted.ok() ? "" : counted.error().message().c_str());
        QCOMPARE(counted->columns.front(), std::string("n"));
        const auto& row = counted->rows.front();
        QCOMPARE(std::get<std::int64_t>(row[0]), m_trace->info().counts.slices);
        QVERIFY(std::holds_alternative<std::monostate>(row[1]));
        QCOMPARE(std::get<double>(row[2]), 1.5);
        QCOMPARE(std::get<UserBlob>(row[3]).bytes, std::int64_t{2});
        QVERIFY(!counted->limited);
        for (const char* view : {"named_slices", "named_collectives", "named_allocations", "named_counter_samples"}) {
            const auto all = ask((std::string("SELECT * FROM ") + view).c_str());
            QVERIFY2(all.ok(), all.ok() ? "" : all.error().message().c_str());
            QVERIFY2(!all->rows.empty(), view);
        }
        const auto words = ask("SELECT DISTINCT phase FROM named_slices WHERE phase IS NOT NULL ORDER BY 1");
        QVERIFY(words.ok());
        QVERIFY(std::holds_alternative<std::string>(words->rows.front().front()));
        QVERIFY(ask("WITH t AS (SELECT bytes FROM allocation) SELECT sum(bytes) FROM t").ok());
        QVERIFY(ask("VALUES (1),(2)").ok());
        QVERIFY(ask("EXPLAIN QUERY PLAN SELECT * FROM op").ok());
        const auto unpacked = ask("SELECT j.value FROM meta, json_each(meta.value) j WHERE meta.key = 'traffic'");
        QVERIFY2(unpacked.ok(), unpacked.ok() ? "" : unpacked.error().message().c_str());
    }

    void writesNothing_data()
    {
        QTest::addColumn<QByteArray>("text");
        const QByteArray aside = m_folder.filePath("aside.db").toUtf8();
        const QByteArray statements[] = {"DELETE FROM slice",
                                         "UPDATE op SET name = 'x'",
                                         "INSERT INTO string VALUES (99, 'x')",
                                         "DROP TABLE slice",
                                         "CREATE TABLE t(x)",
                                         "CREATE TEMP TABLE t(x)",
                                         "CREATE TEMP VIEW v AS SELECT 1",
                                         "CREATE INDEX i ON slice(op)",
                                         "ATTACH '" + aside + "' AS a",
                                         "DETACH main",
                                         "VACUUM",
                                         "VACUUM INTO '" + aside + "'",
                                         "REINDEX",
                                         "ANALYZE",
                                         "PRAGMA query_only=OFF",
                                         "PRAGMA journal_mode=WAL",
                                         "PRAGMA writable_schema=ON",
                                         "SELECT * FROM pragma_database_list",
                                         "BEGIN",
                                         "COMMIT",
                                         "SAVEPOINT s",
                                         "SELECT load_extension('" + aside + "')",
                                         "ALTER TABLE op RENAME TO other",
                                         "CREATE VIRTUAL TABLE temp.v USING fts5(x)",
                                         "SELECT 1; DELETE FROM slice",
                                         "WITH t AS (SELECT 1) DELETE FROM slice",
                                         "EXPLAIN DELETE FROM slice"};
        for (const QByteArray& text : statements) QTest::newRow(text.left(40).constData()) << text;
    }
    void writesNothing()
    {
        QFETCH(QByteArray, text);
        const auto answer = ask(text.constData());
        QVERIFY(!answer.ok());
        QVERIFY(!answer.error().what.empty());
        QVERIFY(!QFile::exists(m_folder.filePath("aside.db")));
        QCOMPARE(bytes(), m_before);
        QVERIFY(ask("SELECT count(*) FROM slice").ok());
    }

    void saysWhatIsWrongAndWhere()
    {
        const auto unknown = ask("SELECT name\nFROM operators");
        QVERIFY(!unknown.ok());
        QVERIFY(unknown.error().what.find("operators") != std::string::npos);
        const auto syntax = ask("SELECT name\nFORM op");
        QVERIFY(!syntax.ok());
        QCOMPARE(syntax.error().code, ErrorCode::InvalidArgument);
        QVERIFY2(syntax.error().where.find("line 2") != std::string::npos, syntax.error().message().c_str());
        for (const char* nothing : {"", "  \n", "-- only a remark", "/* open", ";;"}) {
            const auto answer = ask(nothing);
            QVERIFY2(!answer.ok() && answer.error().code == ErrorCode::InvalidArgument, nothing);
        }
        QVERIFY(!ask("SELECT 1 SELECT 2").ok());
        QVERIFY(!ask("SELECT abs(-9223372036854775807 - 1)").ok()); // an error while it runs
        UserQuery zero;
        zero.text = std::string("SELECT 1\0; DELETE FROM slice", 28);
        QVERIFY(!askInSql(*m_trace, zero).ok());
    }

    void costsNoMoreThanItMay()
    {
        const char* endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x FROM t";
        UserQuery few;
        few.mostRows = 25;
        const auto rows = ask(endless, few);
        QVERIFY(rows.ok());
        QCOMPARE(rows->rows.size(), std::size_t{25});
        QVERIFY(rows->limited);
        UserQuery small;
        small.mostBytes = 100'000;
        const auto wide =
            ask("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT hex(zeroblob(20000)) FROM t",
                small);
        QVERIFY(wide.ok() && wide->limited && wide->rows.size() < 10);
        const char* counting = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t";
        UserQuery quick;
        quick.mostTime = std::chrono::milliseconds(20);
        const auto late = ask(counting, quick);
        QVERIFY(!late.ok());
        QCOMPARE(late.error().code, ErrorCode::Unsupported);
        std::stop_source stop;
        stop.request_stop();
        const auto stopped = ask(counting, {}, stop.get_token());
        QVERIFY(!stopped.ok());
        QCOMPARE(stopped.error().code, ErrorCode::Cancelled);
        const auto fat = ask("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
                             "SELECT x FROM t ORDER BY randomblob(900000)");
        QVERIFY(!fat.ok());
        QVERIFY2(fat.error().what.find("memory") != std::string::npos, fat.error().message().c_str());
        QVERIFY(!ask("SELECT zeroblob(100000000)").ok());
        const auto padded = ask("SELECT printf('%.*c', 100000000, 'x')");
        QVERIFY(!padded.ok() || std::holds_alternative<std::monostate>(padded->rows.front().front()));
    }

    void aFileThatIsGoneIsSaid()
    {
        QTemporaryDir folder{test::folderTemplate()};
        const QString copy = folder.filePath("gone.fourwalls");
        QVERIFY(QFile::copy(path(), copy));
        auto trace = store::openTrace(copy.toStdString());
        QVERIFY(trace.ok());
        QVERIFY(QFile::remove(copy));
        UserQuery query;
        query.text = "SELECT 1";
        const auto answer = askInSql(**trace, query);
        QVERIFY(!answer.ok());
        QCOMPARE(answer.error().code, ErrorCode::NotFound);
    }

    void onlyFilesAreAsked()
    {
        InMemoryTrace trace{TraceHeader{}};
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery inMemory(trace.data());
        UserQuery query;
        query.text = "SELECT 1";
        const auto answer = askInSql(inMemory, query);
        QVERIFY(!answer.ok());
        QCOMPARE(answer.error().code, ErrorCode::Unsupported);
    }

    void whatWasMeantIsNamed()
    {
        const std::pair<const char*, const char*> cases[] = {
            {"SELECT count(*) FROM slices", "FROM slice"},
            {"SELECT * FROM Named_Slice", "FROM named_slices"},
            {"SELECT * FROM somewhere", "one of "},
            {"SELECT nam FROM named_slices", "name"},
            {"SELECT s.strat FROM slice s", "start"},
            {"SELECT nothing_like_it FROM slice", ""},
            {"SELECT 1 FROM \"x\"\"; DROP TABLE slice\"", "one of "},
        };
        for (const auto& [text, hint] : cases) {
            const auto answer = ask(text);
            QVERIFY2(!answer.ok(), text);
            const std::string& said = answer.error().hint;
            QVERIFY2(std::string_view(hint) == "one of " ? said.starts_with(hint) : said == hint,
                     (std::string(text) + ": " + said).c_str());
        }
        const auto all = ask("SELECT * FROM somewhere");
        for (const char* table : {"slice", "step", "named_slices", "collective"})
            QVERIFY(all.error().hint.find(table) != std::string::npos);
    }
};

FOURWALLS_TEST(UserQueryTest, QCoreApplication)

} // namespace tst_user_query

#include "tst_user_query.moc"
