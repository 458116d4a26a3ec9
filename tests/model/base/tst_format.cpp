// SPDX-License-Identifier: Apache-2.0
// Figures as text. A plain space stands for the thin space in the expectations.
#include "model/base/format.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <cmath>
#include <limits>

namespace tst_format {

using namespace fourwalls;

namespace {

QString plain(const std::string& text)
{
    return QString::fromStdString(text).replace(QChar(0x202F), ' ');
}

} // namespace

class FormatTest : public QObject {
    Q_OBJECT

private slots:
    void counts();
    void durations();
    void bytes();
    void ratesAndShares();
    void figures();
};

void FormatTest::counts()
{
    QCOMPARE(plain(formatCount(0)), "0");
    QCOMPARE(plain(formatCount(9999)), "9999");
    QCOMPARE(plain(formatCount(10'000)), "10 000");
    QCOMPARE(plain(formatCount(18'412'907)), "18 412 907");
    QCOMPARE(plain(formatCount(-123'456)), "-123 456");
    QCOMPARE(plain(formatCount(std::numeric_limits<std::int64_t>::min())), "-9 223 372 036 854 775 808");
}

void FormatTest::durations()
{
    QCOMPARE(plain(formatTime({0})), "0 ms");
    QCOMPARE(plain(formatTime({999})), "999 ns");
    QCOMPARE(plain(formatTime({1000})), QString::fromUtf8("1 µs"));
    QCOMPARE(plain(formatTime({3'214'000})), "3.214 ms");
    QCOMPARE(plain(formatTime({684'012'345})), "684 ms");
    QCOMPARE(plain(formatTime({999'999'999})), "1 s"); // rounds up into the next unit
    QCOMPARE(plain(formatTime({-1'500'000'000})), "-1.5 s");
    QCOMPARE(plain(formatTime({123'456'000'000'000})), "123456 s");
}

void FormatTest::bytes()
{
    QCOMPARE(plain(formatBytes(0)), "0 B");
    QCOMPARE(plain(formatBytes(512)), "512 B");
    QCOMPARE(plain(formatBytes(76'100'000'000.0)), "76.1 GB");
    QCOMPARE(plain(formatBytes(76'100'000'000.0, ByteUnits::Binary)), "70.9 GiB");
    QCOMPARE(plain(formatBytes(1e6)), "1 MB");
    QCOMPARE(plain(formatBytes(999'999)), "1 MB");
    QCOMPARE(plain(formatBytes(1536, ByteUnits::Binary)), "1.5 KiB");
    QCOMPARE(plain(formatBytes(3.5e12)), "3.5 TB");
}

void FormatTest::ratesAndShares()
{
    QCOMPARE(plain(formatRate(989e12, "FLOP/s")), "989 TFLOP/s");
    QCOMPARE(plain(formatRate(47'900, "")), "47.9 k");
    QCOMPARE(plain(formatRate(12.5, "tokens/s")), "12.5 tokens/s");
    QCOMPARE(plain(formatPercent(0.041)), "4.1 %");
    QCOMPARE(plain(formatPercent(1, 0)), "100 %");
    QCOMPARE(plain(formatPercent(0.00029)), "0.029 %");
    QCOMPARE(plain(formatPercent(-0.00029)), "-0.029 %");
    QCOMPARE(plain(formatPercent(0.004, 0)), "0.4 %");
    QCOMPARE(plain(formatPercent(0.0006)), "0.1 %");
    QCOMPARE(plain(formatPercent(1e-12)), "0 %");
    QCOMPARE(plain(formatPercent(0)), "0 %");
}

void FormatTest::figures()
{
    QCOMPARE(plain(formatFigure(3.21784)), "3.218");
    QCOMPARE(plain(formatFigure(0)), "0");
    QCOMPARE(plain(formatFigure(9.99996)), "10");
    QCOMPARE(plain(formatFigure(0.0003)), "0.0003");
    QCOMPARE(plain(formatFigure(3e-5, 2)), "3e-5");
    QCOMPARE(plain(formatFigure(9.99996e-5)), "1e-4");
    QCOMPARE(plain(formatFigure(std::nan(""))), QString::fromUtf8("–"));
    QCOMPARE(plain(formatFigure(std::numeric_limits<double>::infinity())), QString::fromUtf8("–"));
}

FOURWALLS_TEST(FormatTest, QCoreApplication)

} // namespace tst_format

#include "tst_format.moc"
