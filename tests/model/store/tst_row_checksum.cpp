// SPDX-License-Identifier: Apache-2.0
// Rows that were changed after a trace was written, in ways that leave everything derived from them as it was.
#include "model/store/check.h"
#include "model/store/row_checksum.h"
#include "model/store/schema.h"
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tst_row_checksum {

using namespace fourwalls;

class RowChecksumTest : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder{test::folderTemplate()};
    QString m_good = m_folder.filePath("good.fourwalls");

    static void sql(const QString& path, const QByteArray& statements)
    {
        sqlite3* database = nullptr;
        QCOMPARE(sqlite3_open(path.toUtf8().constData(), &database), SQLITE_OK);
        const int rc = sqlite3_exec(database, statements.constData(), nullptr, nullptr, nullptr);
        sqlite3_close(database);
        QCOMPARE(rc, SQLITE_OK);
    }

    QString changed(const QByteArray& statements)
    {
        const QString path = m_folder.filePath("changed.fourwalls");
        QFile::remove(path);
        if (!QFile::copy(m_good, path)) qFatal("no copy");
        sql(path, statements);
        return path;
    }

private slots:
    void initTestCase()
    {
        test::RandomTrace trace(7);
        auto writer = store::TraceWriter::create(m_good.toStdString(), trace.header(), {});
        QVERIFY(writer.ok());
        trace.write(**writer);
        QVERIFY((*writer)->finish(trace.closing()).ok());
    }

    void changedRows_data()
    {
        QTest::addColumn<QByteArray>("statements");
        QTest::addColumn<QString>("problem");
        QTest::addColumn<QString>("rows");
        QTest::newRow("a name") << QByteArray("UPDATE op SET name = name || 'x' WHERE id = 0") << "op_checksum"
                                << "0";
        QTest::newRow("a correlation") << QByteArray("UPDATE slice SET corr = 77 WHERE id = 1500") << "slice_checksum"
                                       << "rows 1025 to 2048";
        QTest::newRow("an address") << QByteArray("UPDATE allocation SET address = address + 512 WHERE id = 1")
                                    << "allocation_checksum"
                                    << "rows 1 to 1024";
        QTest::newRow("a device") << QByteArray("UPDATE rank SET device = 'devicf' WHERE id = 1") << "rank_checksum"
                                  << "from row 0 on";
        QTest::newRow("a type") << QByteArray("UPDATE meta SET value = CAST(value AS BLOB) WHERE key = 'producer'")
                                << "meta_checksum"
                                << "from row";
        QTest::newRow("a checksum") << QByteArray("UPDATE checksum SET sum = sum + 1 WHERE tbl = 'step'")
                                    << "step_checksum"
                                    << "from row";
        QTest::newRow("no checksum") << QByteArray("DELETE FROM checksum WHERE tbl = 'string'") << "string_checksum"
                                     << "from row";
    }
    void changedRows()
    {
        QFETCH(QByteArray, statements);
        QFETCH(QString, problem);
        QFETCH(QString, rows);
        const auto report = store::checkTrace(changed(statements).toStdString());
        QVERIFY(report.ok());
        QVERIFY(!report->sound);
        const auto found =
            std::find_if(report->problems.begin(), report->problems.end(),
                         [&](const store::CheckProblem& each) { return each.name == problem.toStdString(); });
        QVERIFY2(found != report->problems.end(), report->problems.front().name.c_str());
        QVERIFY2(found->detail.find(rows.toStdString()) != std::string::npos, found->detail.c_str());
    }

    void unchangedRowsAreSound()
    {
        const auto report = store::checkTrace(m_good.toStdString());
        QVERIFY(report.ok() && report->sound);
        // What was changed and put back is sound, wherever it lies in the file now.
        const auto again = store::checkTrace(changed("UPDATE op SET name = name || printf('%.20000c', 'x'); "
                                                     "UPDATE op SET name = substr(name, 1, length(name) - 20000)")
                                                 .toStdString());
        QVERIFY(again.ok() && again->sound);
    }

    /// A file from before there were checksums opens and is checked as it was.
    void versionTwo()
    {
        const QString old = changed("DROP TABLE checksum; PRAGMA user_version=2");
        const auto trace = store::openTrace(old.toStdString());
        QVERIFY2(trace.ok(), trace.ok() ? "" : trace.error().message().c_str());
        QCOMPARE((*trace)->info().formatVersion, 2);
        const auto now = store::openTrace(m_good.toStdString());
        QCOMPARE((*now)->info().formatVersion, store::kFormatVersion);
        QCOMPARE((*trace)->info().counts.slices, (*now)->info().counts.slices);
        const auto report = store::checkTrace(old.toStdString());
        QVERIFY(report.ok() && report->sound);
    }

    /// The definition in docs/trace-format.md, worked out by hand.
    void theSumIsAsDocumented()
    {
        store::RowChecksum sum;
        const std::vector<store::Value> row{store::Value(std::int64_t{5}), store::Value(), store::Value("123456789")};
        sum.add(row);
        const auto turn = [](std::uint64_t value, int by) { return value << by | value >> (64 - by); };
        constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15;
        std::uint64_t expected = 5 * kFactor;
        expected = turn(expected, 5) * kFactor;
        expected = (turn(expected, 8) ^ 9) * kFactor;
        expected = (turn(expected, 10) ^ 0x3837363534333231) * kFactor;
        expected = (turn(expected, 10) ^ 0x39) * kFactor;
        QCOMPARE(static_cast<std::uint64_t>(sum.sum()), expected);
        QCOMPARE(sum.rows(), std::int64_t{1});
    }
};

FOURWALLS_TEST(RowChecksumTest, QCoreApplication)

} // namespace tst_row_checksum

#include "tst_row_checksum.moc"
