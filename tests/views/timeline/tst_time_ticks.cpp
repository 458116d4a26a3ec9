// SPDX-License-Identifier: GPL-3.0-or-later
// The marks of the timeline's axis: round steps, one unit, no mark missing at the ends.
#include "tests/support/test_program.h"
#include "views/plot/time_ticks.h"
#include "views/words/format.h"

#include <QtTest>

namespace tst_time_ticks {

using namespace fourwalls;
using namespace fourwalls::views;

class TimeTicksTest : public QObject {
    Q_OBJECT

    static QStringList texts(std::int64_t begin, std::int64_t end, std::int64_t zero, int width, int spacing)
    {
        QStringList result;
        for (const auto& tick : timeTicks({Instant{begin}, Instant{end}}, Instant{zero}, width, spacing).ticks)
            if (tick.major) result << QString(tick.text).replace(kThinSpace, QLatin1Char(' '));
        return result;
    }

private slots:
    void roundStepsInOneUnit()
    {
        QCOMPARE(texts(0, 680'000'000, 0, 800, 100),
                 (QStringList{"0 ms", "100 ms", "200 ms", "300 ms", "400 ms", "500 ms", "600 ms"}));
        QCOMPARE(texts(0, 1'000'000'000, 0, 500, 100),
                 (QStringList{"0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"}));
        QCOMPARE(texts(0, 400, 0, 400, 90), (QStringList{"0 ns", "100 ns", "200 ns", "300 ns", "400 ns"}));
    }

    void decimalsFollowTheStep()
    {
        QCOMPARE(texts(10'000'000, 10'001'000, 0, 400, 100),
                 (QStringList{"10 000.0 \u00b5s", "10 000.5 \u00b5s", "10 001.0 \u00b5s"}));
        QCOMPARE(texts(1'000'000, 1'300'000, 0, 300, 100), (QStringList{"1.0 ms", "1.1 ms", "1.2 ms", "1.3 ms"}));
    }

    void countsFromZero()
    {
        QCOMPARE(texts(4'500'000, 7'500'000, 5'000'000, 300, 90), (QStringList{"0 ms", "1 ms", "2 ms"}));
        QCOMPARE(texts(3'000'000, 6'000'000, 5'000'000, 300, 90),
                 (QStringList{"\u22122 ms", "\u22121 ms", "0 ms", "1 ms"}));
    }

    void minorMarksDivideTheStep()
    {
        const TimeTicks ticks = timeTicks({Instant{0}, Instant{1000}}, Instant{0}, 500, 90);
        QCOMPARE(ticks.step.ns, 200);
        // 0, 50, 100 … 1000.
        QCOMPARE(ticks.ticks.size(), std::size_t{21});
        QCOMPARE(ticks.ticks[1].at.ns, 50);
        QVERIFY(!ticks.ticks[1].major);
        QVERIFY(ticks.ticks[1].text.isEmpty());
        QVERIFY(ticks.ticks[4].major);
    }

    void neverMoreThanFit()
    {
        for (const std::int64_t length : {1ll, 7ll, 999ll, 123'456ll, 98'765'432'100ll, 2'000'000'000'000'000'000ll}) {
            const TimeTicks ticks =
                timeTicks({Instant{-length / 3}, Instant{length - length / 3}}, Instant{0}, 1000, 96);
            const auto majors =
                std::count_if(ticks.ticks.begin(), ticks.ticks.end(), [](const TimeTick& tick) { return tick.major; });
            QVERIFY(majors <= 12);
            QVERIFY(!ticks.ticks.empty());
        }
    }
};

FOURWALLS_TEST(TimeTicksTest, QCoreApplication)

} // namespace tst_time_ticks

#include "tst_time_ticks.moc"
