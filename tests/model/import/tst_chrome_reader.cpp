// SPDX-License-Identifier: Apache-2.0
// The walk over whole and broken JSON, in pieces of any size.
#include "model/import/chrome/chrome_reader.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <zlib.h>

#include <string>
#include <vector>

namespace tst_chrome_reader {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

/// JSON with ' for ": easier to read, and raw strings confuse Qt's moc.
std::string js(std::string text)
{
    for (char& c : text)
        if (c == '\'') c = '"';
    return text;
}

struct Seen final : ChromeVisitor {
    std::vector<std::string> names;
    std::vector<std::pair<std::string, std::string>> headers;
    std::vector<std::string> streams;
    bool wantsHeader(std::string_view key) override { return key == "keep" || key == "baseTimeNanoseconds"; }
    void header(std::string_view key, const JsonToken& value) override { headers.emplace_back(key, value.text); }
    void event(const ChromeEvent& event) override
    {
        names.push_back(decoded(event[EventKey::Name]));
        streams.emplace_back(event[ArgKey::Stream].text);
    }
};

struct Outcome {
    Seen seen;
    ChromeReadReport report;
    std::string error;
};

Outcome read(const std::string& text, std::size_t piece = 1 << 16)
{
    Outcome outcome;
    TextWindow window(memorySource(text, piece), piece);
    const auto report = readChromeTrace(window, outcome.seen, "test.json");
    if (report.ok())
        outcome.report = *report;
    else
        outcome.error = report.error().message();
    return outcome;
}

std::string gzipped(const std::string& text)
{
    std::string packed(text.size() + 1024, '\0');
    z_stream stream{};
    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY); // 16: gzip
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

const std::string kA = js("{'ph':'X','name':'a','ts':1,'dur':2}");
const std::string kB = js("{'ph':'X','name':'b','ts':3,'dur':2,'args':{'stream':7}}");

} // namespace

class ChromeReaderTest : public QObject {
    Q_OBJECT

private slots:
    void shapes()
    {
        for (const std::string& text :
             {"[" + kA + "," + kB + "]", js("{'traceEvents':[") + kA + ",\n" + kB + "]}",
              js("{'x':{'y':[1,{'z':'}'}]},'traceEvents':[") + kA + "," + kB + js("],'keep':'v'}"),
              "\xef\xbb\xbf  [" + kA + " , " + kB + " , ]"}) {
            const Outcome outcome = read(text);
            QCOMPARE(outcome.error, std::string());
            QCOMPARE(outcome.seen.names, (std::vector<std::string>{"a", "b"}));
            QCOMPARE(outcome.seen.streams[1], std::string("7"));
            QCOMPARE(outcome.report.recoveries, std::int64_t{0});
            QVERIFY(outcome.report.closed);
        }
    }

    void keysInAnyOrder()
    {
        const Outcome outcome =
            read(js("{'traceEvents':[") + kA +
                 js("],'other':[[[]]],'baseTimeNanoseconds':1700000000000000000,'keep':{'a':[1]}}"));
        QCOMPARE(outcome.seen.headers.size(), std::size_t{2});
        QCOMPARE(outcome.seen.headers[0].second, std::string("1700000000000000000"));
        QCOMPARE(outcome.seen.headers[1].second, std::string(js("{'a':[1]}")));
    }

    void broken_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("events");
        QTest::addColumn<int>("recoveries");
        QTest::addColumn<bool>("bytesLeft");
        const auto row = [](const char* name, const std::string& text, int events, int recoveries, bool left = false) {
            QTest::newRow(name) << QByteArray::fromStdString(text) << events << recoveries << left;
        };
        row("never closed", "[" + kA + "," + kB, 2, 0);
        row("trailing comma", "[" + kA + "," + kB + ",", 2, 0);
        row("cut in an event", "[" + kA + "," + kB.substr(0, 30), 1, 0, true);
        row("cut in a string", "[" + kA + js(",{'ph':'X','name':'lo"), 1, 0, true);
        row("inf and nan", js("[{'ph':'X','ts':1,'args':{'bw':inf,'x':-nan,'y':NaN,'z':-Infinity}},") + kA + "]", 2, 0);
        row("control characters", js("[{'ph':'X','name':'x\x01\ny','ts':1},") + kA + "]", 2, 0);
        row("bare backslashes", js("[{'ph':'X','name':'torch\\cuda\\__init__.py','ts':1},") + kA + "]", 2, 0);
        row("unescaped quotes", js("[{'ph':'X','name':'{'device': 'cpu'}(12): run','ts':1},") + kA + "," + kB + "]", 2,
            1);
        row("quote missing before a key", js("[{'ph':'X','name':'x', tid': 0,'ts':1},") + kA + "," + kB + "]", 2, 1);
        row("bare hexadecimal", js("[{'ph':'X','args':{'Stream': 0x262ca50},'ts':1},") + kA + "]", 2, 0);
        row("empty tail of args", js("[{'ph':'X','ts':1,'args':{'a':1, }},") + kA + "]", 2, 0);
        row("missing value", js("[{'ph':'X','ts':1,'args':{'a':}},") + kA + "]", 2, 0);
        row("null entries", "[null," + kA + ",null,5,\"x\"," + kB + "]", 2, 0);
        row("missing comma", "[" + kA + kB + "]", 2, 0);
        row("header never closed", js("{'deviceProperties':[{'a':1},'traceEvents':[") + kA + "," + kB + "]}", 2, 1);
        row("wanted header never closed", js("{'keep':[{'a':1},'traceEvents':[") + kA + "," + kB + "]}", 2, 1);
        row("brackets never closed", js("[{'ph':'X','name':'x','ts':1,'args':{'a':[[[[[1}},") + kA + "," + kB + "]", 2,
            1);
        row("brackets never closed, and cut",
            "[" + kA + js(",{'ph':'X','args':{'a':[[[[[1,{'name':'no entry'},{'id':2"), 1, 0, true);
        row("bracket in between", "[" + kA + "]" + kB + "]", 1, 0);
        row("object closed too early", js("{'traceEvents':[") + kA + js("],}],'z':[") + kB + "]}", 1, 0);
    }
    void broken()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, events);
        QFETCH(int, recoveries);
        QFETCH(bool, bytesLeft);
        for (const std::size_t piece : {1, 2, 3, 7, 16, 61, 1 << 16}) {
            const Outcome outcome = read(text.toStdString(), piece);
            QCOMPARE(outcome.error, std::string());
            QCOMPARE(static_cast<int>(outcome.report.events), events);
            QCOMPARE(static_cast<int>(outcome.report.recoveries), recoveries);
            QCOMPARE(outcome.report.bytesLeft > 0, bytesLeft);
            if (recoveries > 0) {
                QVERIFY(outcome.report.lostBytes > 0);
                QVERIFY(outcome.report.firstBrokenAt >= 0);
            }
        }
    }

    void recoveryFindsTheVeryNextEvent()
    {
        const std::string text = js("[{'ph':'X','name':'bad' oops,'args':{'name':'not an event'}}, ") + kA + "]";
        const Outcome outcome = read(text);
        QCOMPARE(outcome.seen.names, std::vector<std::string>{"a"});
    }

    void namesAreDecoded()
    {
        const Outcome outcome =
            read(js("[{'name':'a\\u00e9\\'\\ud83d\\ude00\\q'},{'name':'\\ud83d!'},{'name':'\xff\xc3\xa9\x02'}]"));
        QCOMPARE(outcome.seen.names[0], std::string("a\xc3\xa9\"\xf0\x9f\x98\x80\\q"));
        QCOMPARE(outcome.seen.names[1], std::string("\xef\xbf\xbd!"));
        QCOMPARE(outcome.seen.names[2], std::string("\xef\xbf\xbd\xc3\xa9 "));
    }

    void packed()
    {
        std::string text = "[";
        for (int i = 0; i < 5000; ++i) text += kA + ",\n" + kB + ",";
        text += "{}]";
        const std::string packed = gzipped(text);
        const Outcome whole = read(packed, 1000);
        QCOMPARE(whole.report.events, std::int64_t{10001});
        QCOMPARE(whole.report.damage, std::string());

        const Outcome cut = read(packed.substr(0, packed.size() / 2), 1000);
        QVERIFY(cut.report.events > 10);
        QVERIFY(cut.report.events < 10001);
        QVERIFY(!cut.report.damage.empty());

        const Outcome members = read(packed + gzipped("   "), 777);
        QCOMPARE(members.report.events, std::int64_t{10001});
    }

    /// Every entry loses a bracket: none may swallow all the others, and none may cost a walk to the end.
    void manySwallowers()
    {
        const std::string broken =
            js("{'ph':'X','name':'x','ts':1,'args':{'a':[[[[[1,'b':'") + std::string(100, 'y') + js("'}},\n");
        std::string text = "[";
        constexpr int kCount = 3000;
        for (int i = 0; i < kCount; ++i) text += broken + kA + ",\n";
        const Outcome outcome = read(text + "{}]");
        QCOMPARE(outcome.report.events, std::int64_t{kCount + 1});
        QCOMPARE(outcome.report.recoveries, std::int64_t{kCount});
    }

    /// A web server may have packed the packed file once more.
    void packedTwice()
    {
        const Outcome outcome = read(gzipped(gzipped("[" + kA + "," + kB + "]")), 5);
        QCOMPARE(outcome.report.events, std::int64_t{2});
        QVERIFY(!read(gzipped(gzipped(gzipped("[" + kA + "]")))).error.empty());
    }

    void notJson()
    {
        QVERIFY(read("hello").error.find("neither") != std::string::npos);
        QVERIFY(!read("").error.empty());
    }

    void largeEventsGrowTheWindow()
    {
        std::string text = "[";
        text += js("{'name':'big','ts':1,'args':{'text':'") + std::string(3 << 20, 'x') + js("'}},") + kB + "]";
        const Outcome outcome = read(text, 100000);
        QCOMPARE(outcome.seen.names, (std::vector<std::string>{"big", "b"}));
    }
};

FOURWALLS_TEST(ChromeReaderTest, QCoreApplication)

} // namespace tst_chrome_reader

#include "tst_chrome_reader.moc"
