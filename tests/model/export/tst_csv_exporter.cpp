// SPDX-License-Identifier: Apache-2.0
// The tables of a small trace.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/export/csv_exporter.h"
#include "tests/model/export/sample_trace.h"
#include "tests/support/test_program.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

namespace tst_csv_exporter {

using namespace fourwalls;

class CsvExporterTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase();
    void everyTableIsThere();
    void rowsByHand_data();
    void rowsByHand();
    void textsAreQuoted();
    void folderThatCannotBeMade();

private:
    QByteArray table(const QString& name) const
    {
        QFile file(m_folder.filePath("tables/" + name + ".csv"));
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    QTemporaryDir m_folder;
};

void CsvExporterTest::initTestCase()
{
    test::SampleTrace sample;
    const Status status = exportCsv(*sample.finish(), m_folder.filePath("tables").toStdString());
    QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
}

void CsvExporterTest::everyTableIsThere()
{
    const QStringList files = QDir(m_folder.filePath("tables")).entryList(QDir::Files, QDir::Name);
    QCOMPARE(files.size(), 20);
    for (const QString& file : files) {
        const QByteArray text = table(file.chopped(4));
        QVERIFY2(text.endsWith("\r\n"), qPrintable(file));
        const QList<QByteArray> lines = text.split('\n');
        const auto columns = lines.first().count(',');
        for (const QByteArray& line : lines)
            if (!line.contains('"') && !line.isEmpty()) QCOMPARE(line.count(','), columns);
    }
}

void CsvExporterTest::rowsByHand_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<int>("lines");
    QTest::addColumn<QString>("row");
    QTest::newRow("slices") << "slices" << 19 << "0,0,0,0,10,490,0,";
    QTest::newRow("steps") << "steps" << 7 << "1,2,2000,3000,0,measured,3.5,,,8,1024";
    QTest::newRow("job steps") << "job_steps" << 4 << "2,2000,3000,0,measured,1,3.5,,,8,1024";
    QTest::newRow("samples") << "counter_samples" << 4 << "0,1999,4.5";
    QTest::newRow("allocations") << "allocations" << 9 << "0,1,0,,4000,0,weights,,";
    QTest::newRow("segments") << "segments" << 2 << "0,4096,8192,10,900,7,small,0";
    QTest::newRow("collectives") << "collectives" << 7 << "0,1,all_reduce,0,0,600,650,900,4000,4000,,ring,";
    QTest::newRow("groups") << "process_groups" << 2 << "0,dp,local,0 1";
    QTest::newRow("flows") << "flows" << 7 << "launch,0,450,1,600";
    QTest::newRow("audit") << "audit" << 2 << "queue_full,dropped,2,spool /tmp/spool";
    QTest::newRow("summary") << "collective_summaries" << 2 << "all_reduce,0,2,8000,8000,500,200";
    QTest::newRow("ranks") << "ranks" << 3 << "1,\"CPU \"\"core\"\"\",node-b,0,,1";
}

void CsvExporterTest::rowsByHand()
{
    QFETCH(QString, file);
    QFETCH(int, lines);
    QFETCH(QString, row);
    const QList<QByteArray> rows = table(file).split('\n');
    QCOMPARE(rows.size(), lines + 1); // the last line ends, too
    QVERIFY2(rows.contains(row.toUtf8() + '\r'), table(file).constData());
}

void CsvExporterTest::textsAreQuoted()
{
    QVERIFY(table("operators").contains("0,\"forward, \"\"fused\"\"\",phase,forward,none,,,,\r\n"));
}

void CsvExporterTest::folderThatCannotBeMade()
{
    test::SampleTrace sample;
    const Status status = exportCsv(*sample.finish(), "/proc/no/such/folder");
    QVERIFY(!status.ok());
    QCOMPARE(status.error().code, ErrorCode::Io);
}

FOURWALLS_TEST(CsvExporterTest, QCoreApplication)

} // namespace tst_csv_exporter

#include "tst_csv_exporter.moc"
