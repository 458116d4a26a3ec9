// SPDX-License-Identifier: GPL-3.0-or-later
// Marks of value axes: round steps, never too many, labels without superfluous digits, round in the shown unit.
#include "tests/support/test_program.h"
#include "views/plot/plot_ticks.h"

#include <QtTest>

namespace tst_plot_ticks {

using namespace fourwalls::views;

class PlotTicksTest : public QObject {
    Q_OBJECT

    static QString labels(const std::vector<ValueTick>& ticks)
    {
        QStringList texts;
        for (const ValueTick& tick : ticks) texts << tick.label;
        return texts.join(QLatin1Char(' '));
    }

private slots:
    void roundSteps_data()
    {
        QTest::addColumn<double>("low");
        QTest::addColumn<double>("high");
        QTest::addColumn<int>("atMost");
        QTest::addColumn<QString>("expected");
        QTest::newRow("tens") << 0.0 << 100.0 << 5 << "0 20 40 60 80 100";
        QTest::newRow("exactly five steps") << 0.0 << 5.0 << 5 << "0 1 2 3 4 5";
        QTest::newRow("tenths") << 0.05 << 0.36 << 4 << "0.1 0.2 0.3";
        QTest::newRow("negative") << -3.0 << 3.0 << 6 << "-3 -2 -1 0 1 2 3";
        QTest::newRow("empty") << 1.0 << 1.0 << 5 << "";
        QTest::newRow("backwards") << 2.0 << 1.0 << 5 << "";
        QTest::newRow("endless") << 0.0 << std::numeric_limits<double>::infinity() << 5 << "";
    }

    void roundSteps()
    {
        QFETCH(double, low);
        QFETCH(double, high);
        QFETCH(int, atMost);
        QFETCH(QString, expected);
        QCOMPARE(labels(valueTicks(low, high, atMost)), expected);
    }

    void neverMoreStepsThanAsked()
    {
        for (double high = 1e-6; high < 1e12; high *= 1.37) {
            for (int atMost = 1; atMost < 10; ++atMost) {
                const auto ticks = valueTicks(0, high, atMost);
                QVERIFY(!ticks.empty());
                QVERIFY(static_cast<int>(ticks.size()) <= atMost + 1);
                QVERIFY(ticks.back().value <= high * (1 + 1e-8));
            }
        }
    }

    void bytesAreRoundInTheShownUnit()
    {
        const auto decimal = byteTicks(4e9, ByteUnit::GB, 4);
        QCOMPARE(labels(decimal), QStringLiteral("0 1 2 3 4"));
        QCOMPARE(decimal[1].value, 1e9);
        const auto binary = byteTicks(4.0 * (1 << 30), ByteUnit::GiB, 4);
        QCOMPARE(labels(binary), QStringLiteral("0 1 2 3 4"));
        QCOMPARE(binary[1].value, double(1 << 30));
        QVERIFY(byteTicks(0, ByteUnit::GB, 4).empty());
    }

    void theUnitHasOneToThreeDigits()
    {
        QCOMPARE(byteScale(999, ByteUnit::GB).name, QStringLiteral("B"));
        QCOMPARE(byteScale(1000, ByteUnit::GB).name, QStringLiteral("kB"));
        QCOMPARE(byteScale(999.6e6, ByteUnit::GB).name, QStringLiteral("GB"));
        QCOMPARE(byteScale(1024.0 * 1024, ByteUnit::GiB).name, QStringLiteral("MiB"));
        QCOMPARE(byteScale(0, ByteUnit::GiB).name, QStringLiteral("B"));
        QCOMPARE(byteScale(1e30, ByteUnit::GB).name, QStringLiteral("EB"));
    }
};

FOURWALLS_TEST(PlotTicksTest, QCoreApplication)

} // namespace tst_plot_ticks

#include "tst_plot_ticks.moc"
