// SPDX-License-Identifier: GPL-3.0-or-later
// Figures as text: units, thin spaces, digits, and the values at which a unit changes.
#include "tests/support/test_program.h"
#include "views/words/format.h"

#include <QtTest/QtTest>

#include <cmath>
#include <limits>

namespace tst_format {

using namespace fourwalls;
using namespace fourwalls::views;

class TestFormat : public QObject {
    Q_OBJECT
private:
    /// Thin spaces as "_" and the true minus as "-", so that the expected texts can be read.
    static QString plain(QString text)
    {
        return text.replace(kThinSpace, QLatin1Char('_')).replace(QChar(0x2212), QLatin1Char('-'));
    }

private slots:
    void counts()
    {
        QCOMPARE(plain(formatCount(0)), QStringLiteral("0"));
        QCOMPARE(plain(formatCount(999)), QStringLiteral("999"));
        QCOMPARE(plain(formatCount(18'412'907)), QStringLiteral("18_412_907"));
        QCOMPARE(plain(formatCount(-1234)), QStringLiteral("-1234"));
        QCOMPARE(plain(formatCount(-12345)), QStringLiteral("-12_345"));
    }

    void durations()
    {
        QCOMPARE(plain(formatDuration({684'000'000})), QStringLiteral("684_ms"));
        QCOMPARE(plain(formatDuration({3'214'400})), QStringLiteral("3.214_ms"));
        QCOMPARE(plain(formatDuration({12'500})), QStringLiteral("12.5_\u00b5s"));
        QCOMPARE(plain(formatDuration({999'990})), QStringLiteral("1_ms"));
        QCOMPARE(plain(formatDuration({17})), QStringLiteral("17_ns"));
        QCOMPARE(plain(formatDuration({-2'000'000'000})), QStringLiteral("-2_s"));
        QCOMPARE(plain(formatDuration({0})), QStringLiteral("0_ms"));
    }

    void axisMarksTellNeighboursApart()
    {
        // Deep in a long trace marks are microseconds apart: neighbouring labels must still differ.
        const Duration spacing{2'000};
        const Instant late{61'000'002'000};
        QVERIFY(formatAxisTime(late, spacing) != formatAxisTime(late + spacing, spacing));
        QCOMPARE(plain(formatAxisTime({170'000'000}, {85'000'000})), QStringLiteral("170_ms"));
        QCOMPARE(plain(formatAxisTime({0}, {100'000'000})), QStringLiteral("0_ms"));
    }

    void bytes()
    {
        QCOMPARE(plain(formatBytes(76.1e9, ByteUnit::GB)), QStringLiteral("76.1_GB"));
        QCOMPARE(plain(formatBytes(1073741824.0, ByteUnit::GiB)), QStringLiteral("1_GiB"));
        QCOMPARE(plain(formatBytes(1.5e6, ByteUnit::GB)), QStringLiteral("1.5_MB"));
        QCOMPARE(plain(formatBytes(12, ByteUnit::GB)), QStringLiteral("12_B"));
    }

    void unknownIsADash()
    {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        QCOMPARE(formatPercent(nan), QString(kDash));
        QCOMPARE(formatFigure(nan), QString(kDash));
        QCOMPARE(formatRate(nan, QStringLiteral("B/s")), QString(kDash));
    }

    void figures()
    {
        QCOMPARE(plain(formatPercent(0.041)), QStringLiteral("4.1_%"));
        QCOMPARE(plain(formatChange(0.041)), QStringLiteral("+4.1_%"));
        QCOMPARE(plain(formatChange(-0.041)), QStringLiteral("-4.1_%"));
        for (const double nothing : {0.0, 1e-5, -1e-5}) QCOMPARE(plain(formatChange(nothing)), QStringLiteral("0_%"));
        for (const double unknown :
             {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})
            QCOMPARE(formatChange(unknown), QString(kDash));
        QCOMPARE(plain(formatRate(989e12, QStringLiteral("FLOP/s"))), QStringLiteral("989_TFLOP/s"));
        QCOMPARE(plain(formatFigure(0.00031)), QStringLiteral("0.00031"));
        QCOMPARE(plain(formatFigure(3.21784)), QStringLiteral("3.218"));
        QCOMPARE(plain(formatFigure(3e-5)), QStringLiteral("3e-5"));
        QCOMPARE(plain(formatFigure(-2.5e12)), QStringLiteral("-2.5e12"));
        QCOMPARE(plain(formatFigure(0)), QStringLiteral("0"));
    }

    void niceSteps()
    {
        QCOMPARE(niceStep(100, 5), 20.0);
        QCOMPARE(niceStep(0.7, 5), 0.2);
        QCOMPARE(niceTimeStep({680'000'000}, 8).ns, std::int64_t{100'000'000});
        QCOMPARE(niceTimeStep({0}, 8).ns, std::int64_t{1}); // never zero: marks would not advance
    }
};

FOURWALLS_TEST(TestFormat, QCoreApplication)

} // namespace tst_format

#include "tst_format.moc"
