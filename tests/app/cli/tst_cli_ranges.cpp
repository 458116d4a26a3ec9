// SPDX-License-Identifier: Apache-2.0
// Ranges as the command line writes them.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "app/cli/ranges.h"
#include "tests/support/test_program.h"

namespace tst_cli_ranges {

using namespace fourwalls;
using namespace fourwalls::cli;

class CliRangesTest : public QObject {
    Q_OBJECT

private slots:
    void steps();
    void times_data();
    void times();
    void ranks();
};

void CliRangesTest::steps()
{
    QVERIFY(*readStepRange("2-4") == std::pair(StepIndex{2}, StepIndex{4}));
    QVERIFY(*readStepRange("7") == std::pair(StepIndex{7}, StepIndex{7}));
    for (const char* wrong : {"", "-", "4-2", "a", "1-", "-3", "1-2-3", "99999999999"})
        QVERIFY2(!readStepRange(wrong).ok(), wrong);
}

void CliRangesTest::times_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<qint64>("begin");
    QTest::addColumn<qint64>("end");
    QTest::newRow("nanoseconds") << "5:12" << qint64{5} << qint64{12};
    QTest::newRow("units") << "1.5ms:2s" << qint64{1'500'000} << qint64{2'000'000'000};
    QTest::newRow("exact") << "1234567890.123456789s:1234567891s" << qint64{1'234'567'890'123'456'789}
                           << qint64{1'234'567'891'000'000'000};
    QTest::newRow("negative") << "-1us:0" << qint64{-1000} << qint64{0};
    QTest::newRow("point first") << ".5us:1us" << qint64{500} << qint64{1000};
}

void CliRangesTest::times()
{
    QFETCH(QString, text);
    QFETCH(qint64, begin);
    QFETCH(qint64, end);
    const auto range = readTimeRange(text.toStdString());
    QVERIFY(range.ok());
    QCOMPARE(qint64{range->begin.ns}, begin);
    QCOMPARE(qint64{range->end.ns}, end);
    for (const char* wrong :
         {"", ":", "5", "5:", ":5", "5:5", "6:5", "1x:2", "1e3:2e3", "99999999999s:999999999999s", "1..2:3"})
        QVERIFY2(!readTimeRange(wrong).ok(), wrong);
}

void CliRangesTest::ranks()
{
    QVERIFY(*readRanks("0,2-3,2") == (std::vector{RankId{0}, RankId{2}, RankId{3}}));
    for (const char* wrong : {"", ",", "1,", "a", "3-1", "0-2000000000"}) QVERIFY2(!readRanks(wrong).ok(), wrong);
}

FOURWALLS_TEST(CliRangesTest, QCoreApplication)

} // namespace tst_cli_ranges

#include "tst_cli_ranges.moc"
