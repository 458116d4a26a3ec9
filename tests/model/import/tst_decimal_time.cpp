// SPDX-License-Identifier: Apache-2.0
// Times as text: exact to the nanosecond at any magnitude.
#include "model/import/common/decimal_time.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_decimal_time {

using namespace fourwalls;
using namespace fourwalls::importers;

class DecimalTimeTest : public QObject {
    Q_OBJECT

private slots:
    void microseconds_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<bool>("valid");
        QTest::addColumn<qint64>("ns");
        const auto row = [](const char* text, qint64 ns) { QTest::newRow(text) << text << true << ns; };
        row("0", 0);
        row("7", 7000);
        row("12.0", 12000);
        row("1712170998123456.789", 1712170998123456789);
        row("1712170998123456.7", 1712170998123456700);
        row("4212936055000.12", 4212936055000120);
        row("-3.5", -3500);
        row("0.0004", 0);
        row("0.0005", 1);
        row("-0.0005", -1);
        row("327.8460000000001", 327846);
        row("1.5e3", 1500000);
        row("1.712170998123457e+15", 1712170998123457000);
        row("5E-4", 1);
        row("1e-30", 0);
        row("00012", 12000);
        row("12345678", 12345678000);
        row("12345678.9", 12345678900);
        row("1234567.25", 1234567250);
        for (const char* text : {"", "-", ".", "1234567:", "/2345678", "123x5678.5", "abc", "1.2.3", "nan", "inf", "1e",
                                 "12 ", "0x10", "99999999999999999999", "1e30", "2305843009213694.0e1"})
            QTest::newRow(text) << text << false << qint64{0};
    }
    void microseconds()
    {
        QFETCH(QString, text);
        QFETCH(bool, valid);
        QFETCH(qint64, ns);
        const auto got = nanosecondsFromMicroseconds(text.toStdString());
        QCOMPARE(got.has_value(), valid);
        if (valid) QCOMPARE(static_cast<qint64>(*got), ns);
    }

    void finerThanNanoseconds()
    {
        const auto fine = [](const char* text) { return fineTimeFromMicroseconds(text).value(); };
        QVERIFY((fine("12.5") == FineTime{12500, 0}));
        QVERIFY((fine("1712170998123456.7891234") == FineTime{1712170998123456789, 123}));
        QVERIFY((fine("0.0000005") == FineTime{0, 1}));
        QVERIFY((fine("0.00000049") == FineTime{0, 0}));
        QVERIFY((fine("0.9999999") == FineTime{1000, 0}));
        QVERIFY((fine("-0.0004") == FineTime{-1, 600}));
        QVERIFY((fine("1e-6") == FineTime{0, 1}));
        QVERIFY(!fineTimeFromMicroseconds("1e30") && !fineTimeFromMicroseconds("x"));
        QCOMPARE((fine("0.0006") + fine("0.0006")).rounded(), std::int64_t{1});
        QVERIFY((fine("5.0001") - fine("0.0002") == FineTime{4999, 900}));
        QVERIFY(fine("-3") < fine("-2.9999") && fine("1.0001") < fine("1.0002"));
    }

    void roundedNumbers()
    {
        QCOMPARE(roundedFromText("1.719853254e18").value(), std::int64_t{1719853254000000000});
        QCOMPARE(roundedFromText("1719853254000000001").value(), std::int64_t{1719853254000000001});
        QCOMPARE(roundedFromText("-12.5").value(), std::int64_t{-13});
        QVERIFY(!roundedFromText("") && !roundedFromText("1e19"));
    }

    void integers()
    {
        QCOMPARE(integerFromText("10159970886766084423").value(), static_cast<std::int64_t>(10159970886766084423ULL));
        QCOMPARE(integerFromText("-1").value(), std::int64_t{-1});
        QCOMPARE(integerFromText("0x262ca50").value(), std::int64_t{0x262ca50});
        QCOMPARE(integerFromText("12.0").value(), std::int64_t{12});
        for (const char* text : {"", "-", "12.5", "0x", "0xg", "18446744073709551616", "1e3", "null"})
            QVERIFY2(!integerFromText(text), text);
    }

    void textOfTimes()
    {
        QCOMPARE(microsecondsText(110881), std::string("110.881"));
        QCOMPARE(microsecondsText(45000), std::string("45"));
        QCOMPARE(microsecondsText(162532340), std::string("162532.34"));
        QCOMPARE(microsecondsText(-3000), std::string("-3"));
        QCOMPARE(microsecondsText(-1), std::string("-0.001"));
        QCOMPARE(microsecondsText(INT64_MIN), std::string("-9223372036854775.808"));
    }
};

FOURWALLS_TEST(DecimalTimeTest, QCoreApplication)

} // namespace tst_decimal_time

#include "tst_decimal_time.moc"
