// SPDX-License-Identifier: Apache-2.0
// The facts of real files equal figures that another program worked out from the same bytes: counts exactly, times to
// the nanosecond. The larger set is read where the environment names it.
#include "model/import/common/decimal_time.h"
#include "model/import/import_registry.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/import/facts_table.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <fstream>

namespace tst_facts {

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
            number = column.kind == FactKind::Microseconds ? nanosecondsFromMicroseconds(expected)
                                                           : integerFromText(expected);
        if (value != number)
            text += std::string(column.name) + ": " + (value ? std::to_string(*value) : "nothing") + ", not " +
                    (expected.empty() ? "nothing" : expected) + "\n";
    }
    return text;
}

bool isKnownFormat(const FactsRow& row)
{
    const std::string& format = row.columns.at("format");
    return format == "kineto" || format == "chrome-trace" || format == "memory-snapshot" || format == "nsys-sqlite" ||
           format == "xspace";
}

void addRows(const std::string& folder, const char* prefix)
{
    for (const FactsRow& row : factsTable(folder))
        if (isKnownFormat(row))
            QTest::newRow((prefix + row.columns.at("file")).c_str()) << QString::fromStdString(folder);
}

} // namespace

class FactsTest : public QObject {
    Q_OBJECT

private slots:
    /// What other writers and tools make of the format; the figures are worked out by hand.
    void oddFiles_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("expected");
        const auto kernel = [](const std::string& ts, const std::string& dur) {
            return "{'ph':'X','cat':'kernel','name':'ncclDevKernel','pid':0,'tid':7,'ts':" + ts + ",'dur':" + dur +
                   ",'args':{'device':0,'stream':7}}";
        };
        const auto row = [](const char* name, const std::string& text, const char* expected) {
            QTest::newRow(name) << QByteArray::fromStdString(text).replace('\'', '"') << expected;
        };
        row("picoseconds",
            "[" + kernel("1.0004", "0.0004") + "," + kernel("2.0004", "0.0004") + "," + kernel("3", "0.0004") + "]",
            "gpu_kernel_time_us=0.0012 gpu_kernel_busy_us=0.0012 span_us=2 first_event_ns=1000");
        row("floating point of another tool",
            "[" + kernel("1234567.1000000001", "0.30000000000000004") + "," + kernel("1234567.4000000001", "0.1") + "]",
            "gpu_kernel_time_us=0.4 gpu_kernel_busy_us=0.4 span_us=0.4 first_event_ns=1234567100");
        row("exponents", "[" + kernel("1.5e3", "2E1") + "," + kernel("17000000000000e2", "1e-3") + "]",
            "gpu_kernel_time_us=20.001 gpu_kernel_busy_us=20.001 span_us=1699999999998500.001 first_event_ns=1500000");
        row("times as text", "[" + kernel("'1700000000000000.123'", "'4.5'") + "]",
            "gpu_kernel_time_us=4.5 first_event_ns=1700000000000000123 streams=1");
        row("before zero", "[" + kernel("-5.5", "2") + "," + kernel("-0.0", "1") + "]",
            "gpu_kernel_time_us=3 gpu_kernel_busy_us=3 span_us=6.5 first_event_ns=-5500");
        row("no ts, no dur",
            "[{'ph':'X','cat':'kernel','name':'nccl','dur':4},{'ph':'X','cat':'kernel','name':'k','ts':4}," +
                kernel("NaN", "3") + "," + kernel("10", "1") + "]",
            "events_total=4 gpu_kernel_events=4 gpu_kernel_time_us=8 gpu_kernel_busy_us=1 nccl_kernels=3 "
            "nccl_time_us=8 span_us=7");
        row("keys twice",
            "[{'ph':'B','ph':'X','cat':'kernel','ts':9,'ts':1,'dur':2,'args':{'device':0,'stream':7},'args':{'stream':"
            "9}}]",
            "gpu_kernel_events=1 gpu_kernel_time_us=2 first_event_ns=1000 streams=0");
        row("base last, as text",
            "{'traceEvents':[" + kernel("1.001", "2") + "],'baseTimeNanoseconds':'1719853254000000001'}",
            "first_event_ns=1719853254000001002");
        row("base in the exponent form",
            "{'baseTimeNanoseconds':1.719853254e18,'traceEvents':[" + kernel("1.001", "2") + "]}",
            "first_event_ns=1719853254000001001");
        row("byte order mark and Windows line ends",
            "\xef\xbb\xbf\r\n[\r\n" + kernel("1", "2") + "\r\n,\r\n" + kernel("2", "2") + "]\r\n",
            "events_total=2 gpu_kernel_time_us=4 gpu_kernel_busy_us=3 span_us=3");
        row("every type of pid",
            "[{'ph':'X','pid':'GPU "
            "0','tid':{},'ts':1,'dur':2},{'ph':'X','pid':null,'tid':[1],'ts':1.5,'dur':2},{'ph':'X','pid':1.5,'tid':"
            "true,'ts':1,'dur':2},{}]",
            "events_total=4 span_us=2.5 gpu_kernel_events=0");
        row("ROCm tracer",
            "{ 'traceEvents':[{}\n,{'args':{'name':'0 CPU HIP "
            "API'},'ph':'M','pid':2,'name':'process_name','sort_index':1}\n,"
            "{'ph':'X','name':'hipLaunchKernel','pid':2,'tid':15,'ts':'7062013391','dur':'22','args':{'BeginNs':'"
            "7062013391000'}}\n], 'otherData':{'ROCM':{'R':1}}}",
            "events_total=3 span_us=22 first_event_ns=7062013391000");
        row("TensorFlow and JAX",
            "{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'traceEvents':[{'args':{'name':'/"
            "device:GPU:0'},'name':'process_name','ph':'M','pid':1},"
            "{'dur':10.239999999990687,'name':'fusion_1','ph':'X','pid':1,'tid':13,'ts':7158.11},{}]}",
            "events_total=3 span_us=10.24 first_event_ns=7158110");
    }
    void oddFiles()
    {
        QFETCH(QByteArray, text);
        QFETCH(QString, expected);
        const QTemporaryDir folder;
        FactsRow row;
        row.path = folder.filePath(QStringLiteral("trace.json")).toStdString();
        std::ofstream(row.path, std::ios::binary) << text.toStdString();
        for (const QString& pair : expected.split(' '))
            row.columns[pair.section('=', 0, 0).toStdString()] = pair.section('=', 1).toStdString();
        const auto facts = factsOfFile(row.path);
        QVERIFY2(facts.ok(), facts.ok() ? "" : facts.error().message().c_str());
        QCOMPARE(differences(*facts, row), std::string());
    }

    void ofFiles_data()
    {
        QTest::addColumn<QString>("folder");
        addRows(committedFolder(), "");
        if (!largerFolder().empty())
            addRows(largerFolder(), "larger set: ");
        else
            QTest::newRow("larger set") << QString();
    }
    void ofFiles()
    {
        QFETCH(QString, folder);
        if (folder.isEmpty()) QSKIP("FOURWALLS_TRACES does not name the larger set of files");
        const std::string file = QString::fromUtf8(QTest::currentDataTag()).remove("larger set: ").toStdString();
        const auto rows = factsTable(folder.toStdString());
        const auto row =
            std::find_if(rows.begin(), rows.end(), [&](const FactsRow& r) { return r.columns.at("file") == file; });
        QVERIFY(row != rows.end());

        const auto facts = factsOfFile(row->path);
        QVERIFY2(facts.ok(), facts.ok() ? "" : facts.error().message().c_str());
        QCOMPARE(differences(*facts, *row), std::string());

        // The trace made of it says the same. Two files hold nothing that can be shown: they have facts, and make no trace.
        const auto import = openImport({row->path});
        if (file == "speedscope/trace-event/simple-with-samples.json" ||
            file == "catapult/chromeos_system_trace.json" || file == "JACC.jl/report1.sqlite") {
            QVERIFY(!import.ok());
            return;
        }
        QVERIFY2(import.ok(), import.ok() ? "" : import.error().message().c_str());
        InMemoryTrace trace((*import)->header());
        const Status written = (*import)->write(trace, {});
        QVERIFY2(written.ok(), written.ok() ? "" : written.error().message().c_str());
        QVERIFY(trace.finish((*import)->closing()).ok());
        const auto stored = factsFromAudit(trace.data()->info.audit);
        QVERIFY(stored);
        QCOMPARE(differences(*stored, *row), std::string());
        QCOMPARE(stored->eventPhases, facts->eventPhases);
        for (const AuditRecord& record : trace.data()->info.audit)
            QVERIFY2(record.name != "invalid_records", "the sink refused records");
    }

    /// The record holds nanoseconds and says so; what earlier versions wrote below other names is read, too.
    void theRecordNamesItsUnit()
    {
        TraceFacts facts;
        facts.gpuKernelTimeNs = 635'237'000;
        facts.firstEventNs = 7;
        AuditRecord record = toAudit(facts);
        QCOMPARE(record.detail, std::string("gpu_kernel_time_ns=635237000 first_event_ns=7"));
        QCOMPARE(factsFromAudit({record})->gpuKernelTimeNs, facts.gpuKernelTimeNs);
        record.detail = "gpu_kernel_time_us=635237000 first_event_ns=7";
        QCOMPARE(factsFromAudit({record})->gpuKernelTimeNs, facts.gpuKernelTimeNs);
        QCOMPARE(factsFromAudit({record})->firstEventNs, facts.firstEventNs);
    }
};

FOURWALLS_TEST(FactsTest, QCoreApplication)

} // namespace tst_facts

#include "tst_facts.moc"
