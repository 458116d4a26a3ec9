// SPDX-License-Identifier: Apache-2.0
// Connections, statements, and the hardening of connections to files from strangers.
#include "model/sqlite/database.h"
#include "model/sqlite/stranger.h"
#include "tests/support/file_lease.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <sys/stat.h>

#ifndef Q_MOC_RUN
#include <thread>
#endif

namespace tst_database {

using namespace fourwalls;
using namespace fourwalls::sqlite;

class DatabaseTest : public QObject {
    Q_OBJECT

private slots:
    void valuesKeepTheirTypes()
    {
        auto database = Database::open("memory", OpenMode::Memory);
        QVERIFY(database.ok());
        QVERIFY(database->exec("CREATE TABLE t(v)").ok());
        auto insert = database->prepare("INSERT INTO t VALUES(?)");
        QVERIFY(insert.ok());
        insert->bind(1, std::int64_t{1} << 60);
        QVERIFY(insert->run().ok());
        insert->bind(1, 1.5);
        QVERIFY(insert->run().ok());
        insert->bind(1, std::string_view("text"));
        QVERIFY(insert->run().ok());
        insert->bindBlob(1, std::string_view("\0x", 2));
        QVERIFY(insert->run().ok());
        insert->bindNull(1);
        QVERIFY(insert->run().ok());
        auto rows = database->prepare("SELECT v FROM t ORDER BY rowid");
        QVERIFY(rows.ok());
        QVERIFY(*rows->step() == Row::Some);
        QCOMPARE(rows->asInteger(0), std::optional(std::int64_t{1} << 60));
        QVERIFY(!rows->asText(0) && !rows->asBlob(0));
        QVERIFY(*rows->step() == Row::Some);
        QCOMPARE(rows->asReal(0), std::optional(1.5));
        QVERIFY(!rows->asInteger(0));
        QVERIFY(*rows->step() == Row::Some);
        QVERIFY(rows->asText(0) == std::string_view("text"));
        std::optional<std::int64_t> value;
        QVERIFY(!rows->integerOrNull(0, value));
        QVERIFY(*rows->step() == Row::Some);
        QVERIFY(rows->asBlob(0) == std::string_view("\0x", 2));
        QVERIFY(*rows->step() == Row::Some);
        QVERIFY(rows->isNull(0) && rows->integerOrNull(0, value) && !value);
        QVERIFY(*rows->step() == Row::Done);
    }

    void namesWithSignsOfUris()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("100% #1?mode=memory.db").toStdString();
        auto made = Database::open(path, OpenMode::Create);
        QVERIFY(made.ok());
        QVERIFY(made->exec("CREATE TABLE t(x); INSERT INTO t VALUES(7)").ok());
        QVERIFY(made->close().ok());
        QVERIFY(QFile::exists(QString::fromStdString(path)));
        auto opened = Database::open(path, OpenMode::Immutable);
        QVERIFY(opened.ok());
        QCOMPARE(*opened->integer("SELECT x FROM t"), std::optional<std::int64_t>(7));
        QVERIFY(!opened->exec("INSERT INTO t VALUES(8)").ok());
    }

    void errorsNameTheFile()
    {
        auto missing = Database::open("/nowhere/at/all.db", OpenMode::ReadOnly);
        QVERIFY(!missing.ok());
        QCOMPARE(missing.error().where, std::string("/nowhere/at/all.db"));
        auto database = Database::open("name of it", OpenMode::Memory);
        QVERIFY(database.ok());
        auto statement = database->prepare("SELECT nonsense FROM nothing");
        QVERIFY(!statement.ok());
        QCOMPARE(statement.error().where, std::string("name of it"));
        QCOMPARE(errorFor(SQLITE_FULL, "", "f").code, ErrorCode::Io);
        QCOMPARE(errorFor(SQLITE_CORRUPT, "", "f").code, ErrorCode::Format);
        QCOMPARE(errorFor(SQLITE_INTERRUPT, "", "f").code, ErrorCode::Cancelled);
    }

    void hardenedConnectionsOnlyRead()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("stranger.db").toStdString();
        {
            auto made = Database::open(path, OpenMode::Create);
            QVERIFY(made.ok());
            QVERIFY(made->exec("CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(100000)); "
                               "CREATE VIEW v AS SELECT load_extension('evil') FROM t; CREATE TABLE u(x)")
                        .ok());
        }
        auto database = Database::open(path, OpenMode::ReadWrite);
        QVERIFY(database.ok());
        QVERIFY(harden(*database, 1 << 20, 50'000).ok());
        QVERIFY(!database->exec("INSERT INTO u VALUES(1)").ok());
        QVERIFY(!database->exec("PRAGMA writable_schema=ON; DELETE FROM sqlite_schema").ok());
        QVERIFY(!database->exec("SELECT * FROM v").ok());
        QVERIFY(!database->exec("SELECT load_extension('evil')").ok());
        QVERIFY(!database->exec("ATTACH 'other.db' AS other").ok());
        auto large = database->prepare("SELECT x FROM t");
        QVERIFY(large.ok());
        QCOMPARE(large->stepCode(), SQLITE_TOOBIG);
        QCOMPARE(*database->integer("PRAGMA mmap_size"), std::optional<std::int64_t>(0));
        QCOMPARE(*database->integer("PRAGMA cell_size_check"), std::optional<std::int64_t>(1));
    }

    void stopsEndLongStatements()
    {
        auto database = Database::open("memory", OpenMode::Memory);
        QVERIFY(database.ok());
        const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n";
        std::stop_source stopped;
        stopped.request_stop();
        {
            const StopGuard guard(*database, stopped.get_token());
            const auto result = database->integer(endless);
            QVERIFY(!result.ok());
            QCOMPARE(result.error().code, ErrorCode::Cancelled);
        }
        QVERIFY(database->integer("SELECT 1").ok()); // the guard is gone
    }

    void pipesAreNotWaitedForAndLentFilesAre()
    {
        QTemporaryDir folder;
        const std::string pipe = folder.filePath("pipe").toStdString(), path = folder.filePath("file").toStdString();
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        const int reads = openForReading(pipe); // nobody writes to it
        QVERIFY(reads >= 0);
        ::close(reads);
        QCOMPARE(openForReading(folder.filePath("none").toStdString()), -1);
        QCOMPARE(errno, ENOENT);
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::WriteOnly) && file.write("x") == 1);
        file.close();
        test::FileLease lease(path);
        if (!lease.taken()) QSKIP("this file system has no leases");
        int opened = -1;
        std::thread reader([&] { opened = openForReading(path); });
        const bool waited = QTest::qWaitFor([&] { return lease.someoneWaits(); }, 60'000);
        lease.giveBack();
        reader.join();
        QVERIFY(waited);
        QVERIFY(opened >= 0);
        ::close(opened);
    }

    void headersAreReadBeforeSqliteSeesTheFile()
    {
        QTemporaryDir folder;
        const QString path = folder.filePath("some.db");
        {
            auto made = Database::open(path.toStdString(), OpenMode::Create);
            QVERIFY(made.ok());
            QVERIFY(made->exec("PRAGMA page_size=8192; PRAGMA application_id=305419896; PRAGMA user_version=3; "
                               "CREATE TABLE t(x)")
                        .ok());
        }
        auto header = readHeader(path.toStdString(), "thing");
        QVERIFY(header.ok());
        QCOMPARE(header->pageSize, 8192);
        QCOMPARE(header->pageCount * header->pageSize, header->fileBytes);
        QCOMPARE(header->applicationId, 305419896U);
        QCOMPARE(header->userVersion, 3U);
        QVERIFY(!header->wal && header->schemaOnFirstPage && !header->walBeside);
        QVERIFY(!readHeader(folder.path().toStdString(), "thing").ok());
        QVERIFY(!readHeader(folder.filePath("none").toStdString(), "thing").ok());
    }
};

FOURWALLS_TEST(DatabaseTest, QCoreApplication)

} // namespace tst_database

#include "tst_database.moc"
