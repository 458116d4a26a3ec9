// SPDX-License-Identifier: Apache-2.0
// The same tables as a database, and the views over them.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/export/sqlite_exporter.h"
#include "model/sqlite/database.h"
#include "tests/model/export/sample_trace.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

namespace tst_sqlite_exporter {

using namespace fourwalls;

class SqliteExporterTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void numbersByHand_data();
    void numbersByHand();
    void unknownIsNull();
    void replacesAnOlderFile();
    void placeThatCannotBeWritten();

private:
    std::string path() const { return m_folder.filePath("run.db").toStdString(); }
    QTemporaryDir m_folder;
};

void SqliteExporterTest::initTestCase()
{
    test::SampleTrace sample;
    const Status status = exportSqlite(*sample.finish(), path());
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
}

void SqliteExporterTest::numbersByHand_data()
{
    QTest::addColumn<QString>("query");
    QTest::addColumn<qint64>("expected");
    const auto is = [](const char* query, qint64 expected) { QTest::newRow(query) << QString(query) << expected; };
    is("SELECT count(*) FROM sqlite_master WHERE type = 'table'", 20);
    is("SELECT count(*) FROM sqlite_master WHERE type = 'view'", 4);
    is("SELECT count(*) FROM ranks", 2);
    is("SELECT count(DISTINCT step) FROM steps", 3);
    is("SELECT count(*) FROM job_steps WHERE complete", 3);
    is("SELECT count(*) FROM counter_samples", 3);
    is("SELECT at_ns FROM named_counter_samples WHERE name = 'loss' AND value = 4.5", 1999);
    is("SELECT (SELECT count(*) FROM named_slices) - (SELECT count(*) FROM slices)", 0);
    is("SELECT (SELECT count(*) FROM named_collectives) - (SELECT count(*) FROM collectives)", 0);
    is("SELECT (SELECT count(*) FROM named_allocations) - (SELECT count(*) FROM allocations)", 0);
    is("SELECT count(*) > 0 FROM named_collectives WHERE transport = 'local' AND \"group\" = 'dp'", 1);
    is("SELECT bytes FROM named_allocations WHERE category = 'weights' AND rank = 1", 4000);
    is("SELECT count FROM audit WHERE name = 'queue_full' AND severity = 'dropped'", 2);
}

void SqliteExporterTest::numbersByHand()
{
    QFETCH(const QString, query);
    QFETCH(const qint64, expected);
    auto database = sqlite::Database::open(path(), sqlite::OpenMode::ReadOnly);
    QVERIFY(database);
    const auto value = database->integer(query.toStdString());
    QVERIFY2(value, value ? "" : value.error().message().c_str());
    QVERIFY(value->has_value());
    QCOMPARE(qint64(**value), expected);
}

void SqliteExporterTest::unknownIsNull()
{
    auto database = sqlite::Database::open(path(), sqlite::OpenMode::ReadOnly);
    QVERIFY(database);
    const auto capacity = database->integer("SELECT count(*) FROM ranks WHERE memory_bytes = 0");
    QVERIFY(capacity);
    QCOMPARE(**capacity, 0);
    const auto rank = database->integer("SELECT count(*) FROM counters WHERE name = 'loss' AND rank IS NULL");
    QVERIFY(rank);
    QCOMPARE(**rank, 1);
}

void SqliteExporterTest::replacesAnOlderFile()
{
    test::SampleTrace sample;
    const auto query = sample.finish();
    const std::string twice = m_folder.filePath("twice.db").toStdString();
    QVERIFY(exportSqlite(*query, twice).ok());
    QVERIFY(exportSqlite(*query, twice).ok());
}

void SqliteExporterTest::placeThatCannotBeWritten()
{
    test::SampleTrace sample;
    const Status status = exportSqlite(*sample.finish(), m_folder.filePath("missing/run.db").toStdString());
    QVERIFY(!status.ok());
}

FOURWALLS_TEST(SqliteExporterTest, QCoreApplication)

} // namespace tst_sqlite_exporter

#include "tst_sqlite_exporter.moc"
