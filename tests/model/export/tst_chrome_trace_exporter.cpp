// SPDX-License-Identifier: Apache-2.0
// The Chrome JSON of a small trace, read back with a JSON parser.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/base/csv.h"
#include "model/export/chrome_trace_exporter.h"
#include "model/export/export_text.h"
#include "tests/model/export/sample_trace.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <sstream>

namespace tst_chrome_trace_exporter {

using namespace fourwalls;
using nlohmann::json;

namespace {

json exported(test::SampleTrace& sample)
{
    std::ostringstream out;
    const auto query = sample.finish();
    const Status status = exportChromeTrace(*query, out);
    if (!status.ok()) return status.error().message();
    return json::parse(out.str());
}

std::vector<json> events(const json& document, const std::string& phase, const std::string& name = "")
{
    std::vector<json> found;
    for (const json& event : document["traceEvents"])
        if (event["ph"] == phase && (name.empty() || event["name"] == name)) found.push_back(event);
    return found;
}

} // namespace

class ChromeTraceExporterTest : public QObject {
    Q_OBJECT

private slots:
    void numbersAndTexts();
    void processesAndThreadsAreNamed();
    void slicesCarryTheirArguments();
    void overlapsGoToAnotherThread();
    void countersAndMemory();
    void flowsEndsMeetSlices();
    void eventsAndOtherData();
    void hugeTimesStayExact();
    void brokenEncodingIsReplaced();
    void failingStreamIsAnError();
};

void ChromeTraceExporterTest::numbersAndTexts()
{
    QCOMPARE(microseconds(0), "0.000");
    QCOMPARE(microseconds(1), "0.001");
    QCOMPARE(microseconds(1234567), "1234.567");
    QCOMPARE(microseconds(-1234567), "-1234.567");
    QCOMPARE(microseconds(-5), "-0.005");
    QCOMPARE(microseconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
    QCOMPARE(shortestNumber(0.1), "0.1");
    QCOMPARE(shortestNumber(std::numeric_limits<double>::infinity()), "");
    QCOMPARE(jsonText("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\u0001\"");
    QCOMPARE(csvField("plain"), "plain");
    QCOMPARE(csvField("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

void ChromeTraceExporterTest::processesAndThreadsAreNamed()
{
    test::SampleTrace sample;
    const json document = exported(sample);
    const auto processes = events(document, "M", "process_name");
    QCOMPARE(processes.size(), std::size_t{2});
    QCOMPARE(processes[1]["pid"].get<int>(), 1);
    QCOMPARE(processes[1]["args"]["name"].get<std::string>(), "rank 1 (CPU \"core\")");
    const auto threads = events(document, "M", "thread_name");
    QCOMPARE(threads.size(), std::size_t{4});
    QCOMPARE(threads[1]["args"]["name"].get<std::string>(), "communication");
}

void ChromeTraceExporterTest::slicesCarryTheirArguments()
{
    test::SampleTrace sample;
    const json document = exported(sample);
    QCOMPARE(events(document, "X").size(), std::size_t{18});
    const json product = events(document, "X", "linear")[1]; // rank 0, step 1
    QCOMPARE(product["ts"].get<double>(), 1.02);
    QCOMPARE(product["dur"].get<double>(), 0.38);
    QCOMPARE(product["cat"].get<std::string>(), "kernel");
    QCOMPARE(product["args"]["layer"].get<int>(), 2);
    QCOMPARE(product["args"]["flops"].get<int>(), 100);
    QCOMPARE(product["args"]["microbatch"].get<int>(), 1);
    QCOMPARE(product["args"]["phase"].get<std::string>(), "forward");
    const json reduce = events(document, "X", "all_reduce")[0];
    QCOMPARE(reduce["args"]["payload_bytes"].get<int>(), 4000);
    QCOMPARE(reduce["args"]["group"].get<std::string>(), "dp");
    QCOMPARE(reduce["args"]["wait_us"].get<double>(), 0.05);
    QCOMPARE(events(document, "X", "forward, \"fused\"").size(), std::size_t{6});
}

void ChromeTraceExporterTest::overlapsGoToAnotherThread()
{
    test::SampleTrace sample;
    const TrackId track = sample.sink().defineTrack({RankId{0}, TrackKind::ComputeStream, "stream 7", 5});
    OpInfo info;
    info.name = "overlap";
    const OpId op = sample.sink().defineOp(info);
    for (const auto& [begin, end] : {std::pair{0, 10}, {5, 15}, {6, 8}, {20, 30}})
        sample.producer().slice({track, op, Instant{begin}, Duration{end - begin}, {}, {}});
    const json document = exported(sample);
    const auto slices = events(document, "X", "overlap");
    QCOMPARE(slices.size(), std::size_t{4});
    // On each thread the slices nest or follow each other.
    for (const json& a : slices)
        for (const json& b : slices) {
            if (a == b || a["tid"] != b["tid"] || a["ts"] > b["ts"]) continue;
            const double endA = a["ts"].get<double>() + a["dur"].get<double>();
            const double endB = b["ts"].get<double>() + b["dur"].get<double>();
            QVERIFY(endA <= b["ts"].get<double>() + 1e-9 || endB <= endA + 1e-9);
        }
    QCOMPARE(slices[0]["tid"].get<int>(), slices[3]["tid"].get<int>());
    QVERIFY(slices[0]["tid"] != slices[1]["tid"]);
}

void ChromeTraceExporterTest::countersAndMemory()
{
    test::SampleTrace sample;
    const CounterId odd = sample.sink().defineCounter({RankId{1}, "odd", CounterUnit::Bytes});
    sample.producer().counter({odd, Instant{5}, std::numeric_limits<double>::quiet_NaN()});
    const json document = exported(sample);
    const auto losses = events(document, "C", "loss");
    QCOMPARE(losses.size(), std::size_t{3});
    QCOMPARE(losses[1]["args"]["value"].get<double>(), 4.5);
    QVERIFY(events(document, "C", "odd").empty()); // JSON has no NaN
    const auto memory = events(document, "C", "memory");
    QCOMPARE(memory.size(), std::size_t{14}); // per rank: the weights, three times up and down
    QCOMPARE(memory[1]["args"]["weights"].get<int>(), 4000);
    QCOMPARE(memory[1]["args"]["activations"].get<int>(), 700);
    QCOMPARE(memory[2]["args"]["activations"].get<int>(), 0);
}

void ChromeTraceExporterTest::flowsEndsMeetSlices()
{
    test::SampleTrace sample;
    const json document = exported(sample);
    const auto starts = events(document, "s"), ends = events(document, "f");
    QCOMPARE(starts.size(), std::size_t{6});
    QCOMPARE(ends.size(), std::size_t{6});
    for (std::size_t i = 0; i < starts.size(); ++i) {
        QCOMPARE(starts[i]["id"].get<int>(), ends[i]["id"].get<int>());
        QCOMPARE(ends[i]["bp"].get<std::string>(), "e");
        bool bound = false;
        for (const json& slice : events(document, "X"))
            bound |= slice["tid"] == ends[i]["tid"] && slice["ts"] == ends[i]["ts"];
        QVERIFY(bound);
    }
}

void ChromeTraceExporterTest::eventsAndOtherData()
{
    test::SampleTrace sample;
    const json document = exported(sample);
    QCOMPARE(events(document, "i").size(), std::size_t{1});
    QCOMPARE(document["otherData"]["communication"].get<std::string>(), "modelled");
    QCOMPARE(document["otherData"]["spec"]["model"]["name"].get<std::string>(), "gpt-tiny");
}

void ChromeTraceExporterTest::hugeTimesStayExact()
{
    test::SampleTrace sample;
    const TrackId track = sample.sink().defineTrack({RankId{0}, TrackKind::Operators, "operators", 0});
    OpInfo info;
    info.name = "late";
    sample.producer().slice(
        {track, sample.sink().defineOp(info), Instant{1'234'567'890'123'456'789}, Duration{7}, {}, {}});
    std::ostringstream out;
    QVERIFY(exportChromeTrace(*sample.finish(), out).ok());
    QVERIFY(out.str().find("\"ts\":1234567890123456.789,\"dur\":0.007") != std::string::npos);
}

void ChromeTraceExporterTest::brokenEncodingIsReplaced()
{
    test::SampleTrace sample;
    const TrackId track = sample.sink().defineTrack({RankId{0}, TrackKind::Operators, "caf\xe9", 0});
    OpInfo info;
    info.name = "na\xefve";
    sample.producer().slice({track, sample.sink().defineOp(info), Instant{0}, Duration{7}, {}, {}});
    QVERIFY(exported(sample).is_object());
}

void ChromeTraceExporterTest::failingStreamIsAnError()
{
    test::SampleTrace sample;
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    const Status status = exportChromeTrace(*sample.finish(), out);
    QVERIFY(!status.ok());
    QCOMPARE(status.error().code, ErrorCode::Io);
}

FOURWALLS_TEST(ChromeTraceExporterTest, QCoreApplication)

} // namespace tst_chrome_trace_exporter

#include "tst_chrome_trace_exporter.moc"
