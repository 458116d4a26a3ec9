// SPDX-License-Identifier: Apache-2.0
// The facts of real files equal figures that another program worked out from the same bytes: counts exactly, times to
// the nanosecond. The larger set is read where the environment names it.
#include "model/import/decimal_time.h"
#include "model/import/trace_import.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/import/facts_table.h"

#include <QTest>

#include <algorithm>

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

/// Differences of facts from a row of the table, in words.
std::string differences(const TraceFacts& facts, const FactsRow& row)
{
    std::string text;
    for (const FactColumn& column : factColumns()) {
        const auto known = row.columns.find(std::string(column.name));
        if (known == row.columns.end()) continue;
        const std::string& expected = known->second;
        const auto& value = facts.*column.value;
        std::optional<std::int64_t> number;
        if (!expected.empty())
            number = column.kind == FactKind::Microseconds ? nanosecondsFromMicroseconds(expected) : integerFromText(expected);
        if (value != number)
            text += std::string(column.name) + ": " + (value ? std::to_string(*value) : "nothing") + ", not " +
                    (expected.empty() ? "nothing" : expected) + "\n";
    }
    return text;
}

bool isKnownFormat(const FactsRow& row)
{
    const std::string& format = row.columns.at("format");
    return format == "kineto" || format == "chrome-trace" || format == "memory-snapshot" || format == "nsys-sqlite";
}

void addRows(const std::string& folder, const char* prefix)
{
    for (const FactsRow& row : factsTable(folder))
        if (isKnownFormat(row)) QTest::newRow((prefix + row.columns.at("file")).c_str()) << QString::fromStdString(folder);
}

} // namespace

class FactsTest : public QObject {
    Q_OBJECT

private slots:
    void ofFiles_data()
    {
        QTest::addColumn<QString>("folder");
        addRows(committedFolder(), "");
        if (!largerFolder().empty()) addRows(largerFolder(), "larger set: ");
        else QTest::newRow("larger set") << QString();
    }
    void ofFiles()
    {
        QFETCH(QString, folder);
        if (folder.isEmpty()) QSKIP("FOURWALLS_TRACES does not name the larger set of files");
        const std::string file = QString::fromUtf8(QTest::currentDataTag()).remove("larger set: ").toStdString();
        const auto rows = factsTable(folder.toStdString());
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const FactsRow& r) { return r.columns.at("file") == file; });
        QVERIFY(row != rows.end());

        const auto facts = factsOfFile(row->path);
        QVERIFY2(facts.ok(), facts.ok() ? "" : facts.error().message().c_str());
        QCOMPARE(differences(*facts, *row), std::string());

        // The trace made of it says the same.
        const auto import = TraceImport::open({row->path});
        QVERIFY2(import.ok(), import.ok() ? "" : import.error().message().c_str());
        InMemoryTrace trace((*import)->header());
        const Status written = (*import)->write(trace, {});
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message().c_str());
        QVERIFY(trace.finish((*import)->closing()).ok());
        const auto stored = factsFromAudit(trace.data()->info.audit);
        QVERIFY(stored);
        QCOMPARE(differences(*stored, *row), std::string());
        QCOMPARE(stored->eventPhases, facts->eventPhases);
        for (const AuditRecord& record : trace.data()->info.audit) QVERIFY2(record.name != "invalid_records", "the sink refused records");
    }
};

QTEST_GUILESS_MAIN(FactsTest)
#include "tst_facts.moc"
