// SPDX-License-Identifier: Apache-2.0
// The page about a trace: well formed, self-contained, its figures those of the metrics, and nobody's names in it.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include <QXmlStreamReader>

#include "model/base/format.h"
#include "model/export/export_text.h"
#include "model/export/html_report.h"
#include "model/export/svg_figures.h"
#include "model/trace/figures.h"
#include "tests/model/export/sample_trace.h"
#include "tests/model/trace/allocator_example.h"
#include "tests/support/test_program.h"

#include <sstream>

namespace tst_html_report {

using namespace fourwalls;
using fourwalls::test::SampleTrace;

namespace {

QString pageOf(TraceQuery& trace)
{
    std::ostringstream out;
    const Status written = writeHtmlReport(trace, out);
    if (!written.ok()) qWarning("%s", written.error().message().c_str());
    return QString::fromStdString(out.str());
}

/// The texts of all elements of that name; empty and a message if the page is not well formed.
QStringList textsOf(const QString& page, const QString& element)
{
    QXmlStreamReader reader(page);
    QStringList texts;
    while (!reader.atEnd())
        if (reader.readNext() == QXmlStreamReader::StartElement && reader.name() == element)
            texts += reader.readElementText(QXmlStreamReader::IncludeChildElements);
    if (!reader.hasError()) return texts;
    qWarning("%s in line %lld", qPrintable(reader.errorString()), static_cast<long long>(reader.lineNumber()));
    return {};
}

} // namespace

class TestHtmlReport : public QObject {
    Q_OBJECT
private slots:
    void whatTheAllocatorHeld()
    {
        InMemoryTraceQuery trace(test::allocator::example());
        const QStringList cells = textsOf(pageOf(trace), "td");
        QVERIFY(cells.contains("peak"));
        const std::string refused = "out of memory: " + formatBytes(16 << 20) + " wanted, free in pieces";
        QVERIFY(cells.contains(QString::fromStdString(refused)));
        QVERIFY(cells.contains(QString::fromStdString(formatBytes(10.5 * (1 << 20))))); // the largest hole
    }

    void allSectionsWithTheFiguresOfMetrics()
    {
        const auto trace = SampleTrace().finish();
        QVERIFY(trace);
        const QString page = pageOf(*trace);
        const QStringList headings = textsOf(page, "h2");
        for (const char* heading :
             {"What this is", "At a glance", "Where the time of a step goes", "Memory", "Steps",
              "Operators that took the most time", "Communication between ranks", "What was lost, repaired or noticed"})
            QVERIFY2(headings.contains(heading), heading);
        QVERIFY(!headings.contains("Pipeline bubble")); // no stages

        const auto metrics = computeMetrics(*trace);
        QVERIFY(metrics.ok());
        const QStringList cells = textsOf(page, "td"), figures = textsOf(page, "b");
        QVERIFY(figures.contains(QString::fromStdString(formatTime(*metrics->stepTime))));
        QVERIFY(figures.contains(QString::fromStdString(formatPercent(*metrics->exposedCommFraction))));
        for (const auto& [part, share] : metrics->waterfall.parts())
            QVERIFY2(cells.contains(QString::fromStdString(formatPercent(share))), infoOf(part).key);
        QVERIFY(
            cells.contains(QString::fromStdString(formatBytes(4700)))); // weights and activations at the peak of a rank
        QVERIFY(cells.contains("linear"));
        QVERIFY(page.contains("5.5 at first, 3.5 at last"));
        QCOMPARE(page.count("<svg viewBox=\"0 0 1000"), 4); // bar, memory, step times, losses
    }

    void nothingFromOutsideAndNoScripts()
    {
        const auto trace = SampleTrace().finish();
        const QString page = pageOf(*trace);
        for (const char* word : {"<script", "<link", "http", "src=", "href=", "@import", "url("})
            QVERIFY2(!page.contains(word), word);
        QVERIFY(page.contains("prefers-color-scheme:dark"));
    }

    void aViewIsThePagesBeginning()
    {
        const auto trace = SampleTrace().finish();
        QVERIFY(trace);
        // Of every length modulo three, bytes of every kind.
        QByteArray png = QByteArray::fromHex("89504e470d0a1a0a");
        for (int i = 0; i < 700; ++i) png += static_cast<char>(i * 37);
        for (int extra = 0; extra < 3; ++extra, png += '\xff') {
            std::ostringstream out;
            const ReportView view{png.toStdString(), "Timeline <rank 0> & step 3", "fourwalls X --range '1ns:2ns'"};
            QVERIFY(writeHtmlReport(*trace, out, {}, view).ok());
            const QString page = QString::fromStdString(out.str());
            QCOMPARE(textsOf(page, "h2").value(0), QString("What was looked at"));
            QVERIFY(textsOf(page, "p").contains("Timeline <rank 0> & step 3"));
            QCOMPARE(textsOf(page, "code"), QStringList{"fourwalls X --range '1ns:2ns'"});
            const QString packed = page.section("src=\"data:image/png;base64,", 1).section('"', 0, 0);
            QCOMPARE(page.count("src="), 1);
            const auto bytes =
                QByteArray::fromBase64Encoding(packed.toLatin1(), QByteArray::AbortOnBase64DecodingErrors);
            QVERIFY(bytes);
            QCOMPARE(*bytes, png);
        }
        std::ostringstream out;
        const Status refused = writeHtmlReport(*trace, out, {}, {"<svg onload='x'/>", "", ""});
        QCOMPARE(refused.error().code, ErrorCode::Format);
        QVERIFY(out.str().empty());
    }

    void noNamesOfHostsFilesOrPaths()
    {
        const auto trace = SampleTrace().finish();
        const QString page = pageOf(*trace);
        for (const char* word : {"node-a", "node-b", "secret.txt", "/home", "/tmp", "model.bin"})
            QVERIFY2(!page.contains(word), word);
        QVERIFY(page.contains("queue full"));
        QVERIFY(page.contains("spool (path)"));
    }

    void strangersNamesAreText()
    {
        SampleTrace sample;
        sample.sink().audit({"odd", AuditSeverity::Skipped, 3, "<script>alert('x')</script> & \x01\xff\"end\""});
        const auto trace = sample.finish();
        const QString page = pageOf(*trace);
        QVERIFY(!page.contains("<script"));
        QVERIFY(!textsOf(page, "td").filter("alert('x')").isEmpty()); // and it is still well formed
        QCOMPARE(htmlText("a<b>&\"'\n"), std::string("a&lt;b&gt;&amp;&quot;&#39; "));
    }

    void anEmptyTraceSaysWhatItLacks()
    {
        InMemoryTrace empty{TraceHeader{}};
        QVERIFY(empty.finish({}).ok());
        InMemoryTraceQuery query(empty.data());
        const QString page = pageOf(query);
        QVERIFY(!textsOf(page, "h2").isEmpty());
        QVERIFY(page.contains("The trace has no complete step"));
        QVERIFY(page.contains("The trace holds no buffers"));
        QVERIFY(!page.contains("nan"));
        QVERIFY(!page.contains("inf "));
    }

    void stoppedOnRequest()
    {
        const auto trace = SampleTrace().finish();
        std::stop_source source;
        source.request_stop();
        std::ostringstream out;
        const Status written = writeHtmlReport(*trace, out, source.get_token());
        QVERIFY(!written.ok());
        QCOMPARE(written.error().code, ErrorCode::Cancelled);
        QVERIFY(out.str().empty());
    }

    void figuresStayInTheirBox()
    {
        QCOMPARE(roundTicks(0, 10), (std::vector<double>{0, 5, 10}));
        QCOMPARE(roundTicks(0, 0.7, 4), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001}));
        QVERIFY(roundTicks(1, 1).empty());
        StackedCurve curve;
        curve.styles = {"a", "b"};
        curve.samples = {{0.0, {1.0, 2.0}}, {0.5, {1.0, 0.0}}};
        curve.top = 4;
        curve.limit = 3.5;
        const QString svg = QString::fromStdString(svgStackedCurve(curve, "t"));
        // The first layer does not change: one rectangle from 1/4 of the height down, over the whole width.
        QVERIFY2(svg.contains("class=\"a\" d=\"M78.0 208.0H986.0V274.0Z\""), qPrintable(svg));
        QVERIFY2(svg.contains("class=\"b\" d=\"M78.0 76.0H532.0V208.0H986.0V208.0Z\""), qPrintable(svg));
        QVERIFY(svg.contains("class=\"wall\""));
        const QString bar =
            QString::fromStdString(svgBar({{"half", "x", 0.5}, {"none", "y", -1}, {"more", "z", 7}}, "t"));
        QVERIFY(bar.contains("x=\"500.0\" y=\"0\" width=\"499.0\""));
        QVERIFY(!bar.contains("class=\"y\""));
    }
};

FOURWALLS_TEST(TestHtmlReport, QCoreApplication)

} // namespace tst_html_report

#include "tst_html_report.moc"
