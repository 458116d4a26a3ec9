// SPDX-License-Identifier: Apache-2.0
// Tables that were written as pages, read by SQLite itself.
#include "model/sqlite/database.h"
#include "model/sqlite/table_pages.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tst_table_pages {

using namespace fourwalls;
using namespace fourwalls::sqlite;

using Row = std::vector<std::optional<std::int64_t>>; ///< the id first

class TablePagesTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    /// A database with an empty table `t` between two others; its root.
    static std::int64_t create(const std::string& path, int pageBytes, int columns)
    {
        auto database = Database::open(path, OpenMode::Create);
        std::string sql =
            "PRAGMA page_size=" + std::to_string(pageBytes) +
            "; CREATE TABLE before(x); INSERT INTO before VALUES(1); CREATE TABLE t(id INTEGER PRIMARY KEY";
        for (int i = 1; i < columns; ++i) sql += ", c" + std::to_string(i) + " INTEGER";
        sql += "); CREATE TABLE after(x); INSERT INTO after VALUES(2)";
        if (!database.ok() || !database->exec(sql).ok()) return 0;
        return database->integer("SELECT rootpage FROM sqlite_schema WHERE name='t'")->value_or(0);
    }

    static Status write(const std::string& path, int pageBytes, const std::vector<Row>& rows, std::size_t budget)
    {
        const std::int64_t root = create(path, pageBytes, static_cast<int>(rows.front().size()));
        TablePages pages(static_cast<std::size_t>(pageBytes), {}, budget);
        for (const Row& row : rows) pages.add(*row.front(), std::span(row).subspan(1));
        return pages.appendTo(path, root);
    }

    static std::vector<Row> read(Database& database)
    {
        std::vector<Row> rows;
        auto select = database.prepare("SELECT * FROM t ORDER BY id");
        while (select.ok() && select->stepCode() == SQLITE_ROW) {
            Row row;
            for (int i = 0; i < select->columns(); ++i) row.push_back(select->asInteger(i));
            rows.push_back(std::move(row));
        }
        return rows;
    }

    static std::string integrity(Database& database)
    {
        auto check = database.prepare("PRAGMA integrity_check");
        return check.ok() && check->stepCode() == SQLITE_ROW ? std::string(check->text(0)) : "no answer";
    }

private slots:
    void sqliteReadsEveryNumberOfRows_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("pageBytes");
        QTest::addColumn<int>("budget");
        for (const int rows : {1, 2, 9, 30, 31, 32, 33, 500, 3'000, 60'000})
            for (const int pageBytes : {512, 16384})
                QTest::addRow("%d rows, %d", rows, pageBytes) << rows << pageBytes << (rows % 2 == 0 ? 1 << 20 : 4096);
    }
    void sqliteReadsEveryNumberOfRows()
    {
        QFETCH(int, rows);
        QFETCH(int, pageBytes);
        QFETCH(int, budget);
        std::mt19937_64 chance(static_cast<std::uint64_t>(rows));
        std::vector<Row> wanted;
        std::int64_t id = -6;
        for (int i = 0; i < rows; ++i) {
            // Now and then a leap, so that ids of all lengths occur.
            id += i % 1000 == 999 ? std::int64_t{1} << (chance() % 45) : 1;
            Row row{id};
            for (int column = 0; column < 6; ++column) {
                const auto value = static_cast<std::int64_t>(chance()) >> (chance() % 64);
                row.push_back(chance() % 8 == 0 ? std::nullopt : std::optional(value));
            }
            wanted.push_back(std::move(row));
        }
        const std::string path = m_folder.filePath("rows").toStdString();
        QFile::remove(QString::fromStdString(path));
        QVERIFY(write(path, pageBytes, wanted, static_cast<std::size_t>(budget)).ok());
        auto database = Database::open(path, OpenMode::ReadWrite);
        QVERIFY(database.ok());
        QCOMPARE(QString::fromStdString(integrity(*database)), QString("ok"));
        QVERIFY(read(*database) == wanted);
        // It is a table as any other one.
        QVERIFY(database
                    ->exec("INSERT INTO t(id, c1) VALUES(-100, 1); DELETE FROM t WHERE id=-5; "
                           "INSERT INTO t(c1) SELECT c1 FROM t LIMIT 1000; INSERT INTO after VALUES(3)")
                    .ok());
        QCOMPARE(QString::fromStdString(integrity(*database)), QString("ok"));
        QCOMPARE(database->integer("SELECT count(*) FROM t")->value_or(0), rows + std::min(rows, 1000));
    }

    void integersOfEveryLength()
    {
        std::vector<Row> wanted;
        std::int64_t id = 0;
        for (int bit = 0; bit < 64; ++bit)
            for (const std::int64_t by : {-1, 0, 1}) {
                const auto value =
                    static_cast<std::int64_t>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(by));
                wanted.push_back({id++, value, ~value, std::nullopt});
            }
        const std::string path = m_folder.filePath("lengths").toStdString();
        QVERIFY(write(path, 1024, wanted, 1 << 20).ok());
        auto database = Database::open(path, OpenMode::ReadOnly);
        QVERIFY(database.ok());
        QCOMPARE(QString::fromStdString(integrity(*database)), QString("ok"));
        QVERIFY(read(*database) == wanted);
    }

    /// A table with blobs and two indexes, each as pages: SQLite finds every row by them, and goes on writing.
    void blobsAndIndexes_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("pageBytes");
        for (const int rows : {1, 5, 8, 9, 10, 11, 12, 200, 5'000, 40'000})
            for (const int pageBytes : {1024, 16384})
                QTest::addRow("%d rows, %d", rows, pageBytes) << rows << pageBytes;
    }
    void blobsAndIndexes()
    {
        QFETCH(int, rows);
        QFETCH(int, pageBytes);
        const std::string path = m_folder.filePath("indexed").toStdString();
        QFile::remove(QString::fromStdString(path));
        auto database = Database::open(path, OpenMode::Create);
        QVERIFY(database
                    ->exec("PRAGMA page_size=" + std::to_string(pageBytes) +
                           "; CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, data BLOB); "
                           "CREATE INDEX by_a ON t(a, b); CREATE INDEX by_b ON t(b)")
                    .ok());
        const auto rootOf = [&](const char* name) {
            return database->integer("SELECT rootpage FROM sqlite_schema WHERE name='" + std::string(name) + "'")
                ->value_or(0);
        };
        const std::int64_t table = rootOf("t"), byA = rootOf("by_a"), byB = rootOf("by_b");
        QVERIFY(database->close().ok());
        const auto size = static_cast<std::size_t>(pageBytes);
        TablePages pages(size, {}, 1 << 16);
        IndexPages first(size, {}, 1 << 16), second(size, {}, 1 << 16);
        std::mt19937_64 chance(static_cast<std::uint64_t>(rows));
        std::vector<std::array<std::int64_t, 3>> a, b;
        std::int64_t bytes = 0;
        for (std::int64_t id = 1; id <= rows; ++id) {
            const auto value = static_cast<std::int64_t>(chance()) >> (chance() % 64);
            const std::size_t longest = chance() % 16 == 0 ? TablePages::longestBlob(size) : 80;
            const std::string blob(chance() % (longest + 1), static_cast<char>(id));
            bytes += static_cast<std::int64_t>(blob.size());
            const std::array<std::optional<std::int64_t>, 2> others{id / 3 - 7, value};
            pages.add(id, others, blob);
            a.push_back({id / 3 - 7, value, id});
            b.push_back({value, id, 0});
        }
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        for (const auto& entry : a) first.add(entry);
        for (const auto& entry : b) second.add(std::span(entry).first(2));
        QVERIFY(pages.appendTo(path, table).ok() && first.appendTo(path, byA).ok() && second.appendTo(path, byB).ok());

        database = Database::open(path, OpenMode::ReadWrite);
        QCOMPARE(QString::fromStdString(integrity(*database)), QString("ok"));
        QCOMPARE(database->integer("SELECT sum(length(data)) FROM t")->value_or(0), bytes);
        QCOMPARE(database
                     ->integer(
                         "SELECT count(*) FROM t WHERE length(data)>0 AND hex(substr(data,1,1))<>printf('%02X',id&255)")
                     ->value_or(-1),
                 0);
        for (const auto& [x, y, id] : a)
            if (id % 97 == 1)
                QCOMPARE(database
                             ->integer("SELECT count(*) FROM t INDEXED BY by_a WHERE a=" + std::to_string(x) +
                                       " AND b=" + std::to_string(y) + " AND id=" + std::to_string(id))
                             ->value_or(0),
                         1);
        QVERIFY(
            database->exec("INSERT INTO t(a, b) SELECT a + 1000000, b FROM t; DELETE FROM t WHERE id % 5 = 0").ok());
        QCOMPARE(QString::fromStdString(integrity(*database)), QString("ok"));
    }

    void aBlobLongerThanAPageIsRefused()
    {
        TablePages pages(1024, {}, 1 << 16);
        pages.add(1, {}, std::string(1024, 'x'));
        QVERIFY(!pages.status().ok());
    }

    void noRowsLeaveTheTableEmpty()
    {
        const std::string path = m_folder.filePath("none").toStdString();
        const std::int64_t root = create(path, 4096, 3);
        QVERIFY(TablePages(4096, {}, 1 << 20).appendTo(path, root).ok());
        auto database = Database::open(path, OpenMode::ReadOnly);
        QVERIFY(read(*database).empty());
    }

    void theLockedPageStaysEmpty()
    {
        constexpr int kPage = 16384;
        constexpr std::int64_t kLocked = (std::int64_t{1} << 30) / kPage + 1;
        const QString path = m_folder.filePath("large");
        const std::int64_t root = create(path.toStdString(), kPage, 2);
        QFile file(path);
        QVERIFY(file.resize((kLocked - 3) * kPage)); // a hole
        std::vector<Row> wanted;
        TablePages pages(kPage, {}, 1 << 20);
        for (std::int64_t id = 0; id < 12'000; ++id) {
            wanted.push_back({id, id * 1'000'000'007});
            pages.add(id, std::span(wanted.back()).subspan(1));
        }
        QVERIFY(pages.appendTo(path.toStdString(), root).ok());
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.size() > kLocked * kPage);
        QVERIFY(file.seek((kLocked - 1) * kPage));
        QCOMPARE(file.read(kPage), QByteArray(kPage, '\0'));
        auto database = Database::open(path.toStdString(), OpenMode::ReadOnly);
        QVERIFY(database.ok());
        QVERIFY(read(*database) == wanted);
    }

    void aFileThatCannotBeWrittenIsAnError()
    {
        TablePages pages(4096, {}, 1 << 20);
        const Row row{1};
        pages.add(1, row);
        const Status status = pages.appendTo(m_folder.filePath("missing/file").toStdString(), 2);
        QVERIFY(!status.ok());
        QVERIFY(status.error().code == ErrorCode::Io);
    }
};

FOURWALLS_TEST(TablePagesTest, QCoreApplication)

} // namespace tst_table_pages

#include "tst_table_pages.moc"
