// SPDX-License-Identifier: GPL-3.0-or-later
// Zooming and panning: the point under the pointer stays, there and back is exact, limits hold.
#include "tests/support/test_program.h"
#include "views/plot/time_camera.h"

#include <QtTest>

#include <cmath>

namespace tst_time_camera {

using namespace fourwalls;
using namespace fourwalls::views;

class TimeCameraTest : public QObject {
    Q_OBJECT

    static TimeCamera camera(std::int64_t begin, std::int64_t end, int width)
    {
        TimeCamera result;
        result.setBounds({Instant{begin}, Instant{end}});
        result.setWidth(width);
        return result;
    }

private slots:
    void mapsTimesToPixels()
    {
        TimeCamera c = camera(1000, 3000, 100);
        QCOMPARE(c.nsPerPixel(), 20.0);
        QCOMPARE(c.xOf(Instant{1000}), 0.0);
        QCOMPARE(c.xOf(Instant{2000}), 50.0);
        QCOMPARE(c.xOf(Instant{3000}), 100.0);
        QCOMPARE(c.timeAt(25).ns, 1500);
        c.show({Instant{1500}, Instant{2500}});
        QCOMPARE(c.xOf(Instant{2000}), 50.0);
        QCOMPARE(c.nsPerPixel(), 10.0);
    }

    void zoomKeepsTheTimeUnderThePointer()
    {
        TimeCamera c = camera(0, 1'000'000'000, 1000);
        const double x = 731;
        const Instant before = c.timeAt(x);
        for (int notch = 0; notch < 40; ++notch) {
            c.zoomAt(x, 120);
            QVERIFY(std::abs((c.timeAt(x) - before).ns) <= 1);
        }
        // Four notches halve the span.
        QVERIFY(std::abs(c.nsPerPixel() - 1e6 / 1024) < 1e-6);
    }

    void zoomingThereAndBackDoesNotDrift()
    {
        TimeCamera c = camera(0, 3'600'000'000'000, 1400);
        c.show({Instant{1'700'000'000'123}, Instant{1'700'900'000'456}});
        const TimeRange before = c.range();
        const double beginBefore = c.beginNs(), scaleBefore = c.nsPerPixel();
        for (int round = 0; round < 1000; ++round) {
            for (int i = 0; i < 7; ++i) c.zoomAt(900.5, 120);
            for (int i = 0; i < 7; ++i) c.zoomAt(900.5, -120);
        }
        QCOMPARE(c.range(), before);
        QCOMPARE(c.nsPerPixel(), scaleBefore);
        QVERIFY(std::abs(c.beginNs() - beginBefore) < 0.01);
    }

    void panningThereAndBackDoesNotDrift()
    {
        TimeCamera c = camera(0, 3'600'000'000'000, 1400);
        c.show({Instant{1'700'000'000'123}, Instant{1'700'900'000'456}});
        const TimeRange before = c.range();
        for (int i = 0; i < 10'000; ++i) c.pan(i % 2 == 0 ? 3.7 : -3.7);
        QCOMPARE(c.range(), before);
        // One pixel to the right shows earlier times.
        c.pan(1);
        QVERIFY(c.range().begin < before.begin);
    }

    void staysInsideTheBounds()
    {
        TimeCamera c = camera(500, 100'500, 1000);
        c.pan(1e9);
        QCOMPARE(c.range().begin.ns, 500);
        c.zoomAt(10, -100'000);
        QCOMPARE(c.range(), (TimeRange{Instant{500}, Instant{100'500}}));
        c.show({Instant{-1000}, Instant{1'000'000}});
        QCOMPARE(c.range(), (TimeRange{Instant{500}, Instant{100'500}}));
        c.show({Instant{100'000}, Instant{110'000}});
        QCOMPARE(c.range().end.ns, 100'500);
        QCOMPARE(c.range().length().ns, 10'000);
    }

    void stopsAtTheNarrowestView()
    {
        TimeCamera c = camera(0, 1'000'000, 1000);
        for (int i = 0; i < 1000; ++i) c.zoomAt(500, 120);
        QCOMPARE(c.range().length().ns, static_cast<std::int64_t>(TimeCamera::kNarrowestNs));
        c.show({Instant{5000}, Instant{5000}});
        QCOMPARE(c.range().length().ns, static_cast<std::int64_t>(TimeCamera::kNarrowestNs));
        QCOMPARE(c.range().begin.ns, 5000 - static_cast<std::int64_t>(TimeCamera::kNarrowestNs) / 2);
    }

    void keepsTheRangeWhenTheWidthChanges()
    {
        TimeCamera c = camera(0, 1'000'000, 1000);
        c.show({Instant{1000}, Instant{9000}});
        c.setWidth(333);
        QCOMPARE(c.range(), (TimeRange{Instant{1000}, Instant{9000}}));
        c.setWidth(0);
        QCOMPARE(c.width(), 1);
    }

    void emptyBoundsAreWidened()
    {
        TimeCamera c = camera(70, 70, 10);
        QVERIFY(!c.range().empty());
        QCOMPARE(c.range().begin.ns, 70);
    }
};

FOURWALLS_TEST(TimeCameraTest, QCoreApplication)

} // namespace tst_time_camera

#include "tst_time_camera.moc"
