// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels of the timeline's painter: fills, gaps, hatching, shares, clipping and nothing outside.
#include "tests/support/test_program.h"
#include "views/timeline/bar_painter.h"

#include <QtTest>

namespace tst_bar_painter {

using namespace fourwalls;
using namespace fourwalls::views;

class BarPainterTest : public QObject {
    Q_OBJECT

    static BarPalette palette() { return barPaletteOf(theme(true)); }

    static BarRect rect(int x0, int x1, ColourKey key = ColourKey::Communication, int coverage = 255, bool whole = true)
    {
        BarRect result;
        result.x0 = static_cast<std::int16_t>(x0);
        result.x1 = static_cast<std::int16_t>(x1);
        result.key = key;
        result.coverage = static_cast<std::uint8_t>(coverage);
        result.whole = whole;
        return result;
    }

private slots:
    void fillsItsPixelsAndNoOthers()
    {
        const BarPalette colours = palette();
        QImage image(60, 20, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.lane(4, 6, {rect(10, 13)});
        const QRgb fill = colours.fill[static_cast<std::size_t>(ColourKey::Communication)];
        for (int y = 0; y < image.height(); ++y) {
            for (int x = 0; x < image.width(); ++x) {
                const bool inside = x >= 10 && x < 13 && y >= 4 && y < 10;
                QCOMPARE(image.pixel(x, y), inside ? fill : colours.background);
            }
        }
    }

    void wideBarsLeaveAGapAndHaveSoftCorners()
    {
        const BarPalette colours = palette();
        QImage image(60, 20, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.lane(2, 12, {rect(10, 30), rect(30, 50)});
        const QRgb fill = colours.fill[static_cast<std::size_t>(ColourKey::Communication)];
        QCOMPARE(image.pixel(28, 8), fill);
        QCOMPARE(image.pixel(29, 8), colours.background);
        QCOMPARE(image.pixel(30, 8), fill);
        for (const QPoint corner : {QPoint(10, 2), QPoint(28, 2), QPoint(10, 13), QPoint(28, 13)}) {
            QVERIFY(image.pixel(corner) != fill);
            QVERIFY(image.pixel(corner) != colours.background);
        }
    }

    void sharesBlendWithTheBackground()
    {
        const BarPalette colours = palette();
        QImage image(20, 10, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({5});
        painter.lane(0, 10, {rect(3, 4, ColourKey::Copy, 128, false), rect(5, 6, ColourKey::Copy, 128, false)});
        const QRgb fill = colours.fill[static_cast<std::size_t>(ColourKey::Copy)];
        QCOMPARE(image.pixel(3, 5), blend(colours.background, fill, 128));
        QCOMPARE(image.pixel(5, 5), blend(colours.gridLine, fill, 128));
        QCOMPARE(image.pixel(4, 5), colours.background);
    }

    void blendingHitsBothEnds()
    {
        QCOMPARE(blend(0xff102030, 0xff405060, 0), 0xff102030u);
        QCOMPARE(blend(0xff102030, 0xff405060, 255), 0xff405060u);
        QCOMPARE(blend(0xff405060, 0xff102030, 255), 0xff102030u);
        QCOMPARE(blend(0xff000000, 0xffffffff, 51), 0xff333333u);
    }

    void waitingIsHatched()
    {
        const BarPalette colours = palette();
        QImage image(64, 16, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.lane(0, 16, {rect(0, 64, ColourKey::Waiting)});
        int lines = 0, base = 0;
        for (int x = 8; x < 40; ++x) {
            lines += image.pixel(x, 8) == colours.hatchLine;
            base += image.pixel(x, 8) == colours.hatchBase;
        }
        QCOMPARE(lines, 8); // two of every eight pixels
        QCOMPARE(base, 24);
        // The lines lean: the next row is shifted by one.
        for (int x = 8; x < 40; ++x) QCOMPARE(image.pixel(x, 8), image.pixel(x - 1, 9));
    }

    void dimmedBarsAreFainter()
    {
        const BarPalette colours = palette();
        QImage image(20, 6, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        BarRect dimmed = rect(2, 8);
        dimmed.dimmed = true;
        painter.lane(0, 6, {dimmed});
        QCOMPARE(image.pixel(4, 3), colours.dimmed[static_cast<std::size_t>(ColourKey::Communication)]);
    }

    void aFinerImageHasLinesGapsAndCornersOfMorePixels()
    {
        const BarPalette colours = palette();
        QImage image(60, 40, QImage::Format_RGB32);
        image.setDevicePixelRatio(2);
        BarPainter painter(image, colours);
        painter.clear({50});
        painter.horizontalLine(30, colours.groupLine);
        painter.lane(0, 20, {rect(10, 30), rect(30, 37)});
        const QRgb fill = colours.fill[static_cast<std::size_t>(ColourKey::Communication)];
        QCOMPARE(image.pixel(27, 10), fill);
        QCOMPARE(image.pixel(28, 10), colours.background);
        QCOMPARE(image.pixel(29, 10), colours.background);
        QCOMPARE(image.pixel(36, 10), fill); // too narrow for a gap
        QVERIFY(image.pixel(10, 0) != fill && image.pixel(11, 0) != fill && image.pixel(10, 1) != fill);
        QCOMPARE(image.pixel(11, 1), fill);
        for (const int x : {50, 51}) QCOMPARE(image.pixel(x, 5), colours.gridLine);
        QCOMPARE(image.pixel(52, 5), colours.background);
        for (const int y : {30, 31}) QCOMPARE(image.pixel(5, y), colours.groupLine);
        QCOMPARE(image.pixel(5, 32), colours.background);
    }

    void staysInsideItsClip()
    {
        const BarPalette colours = palette();
        QImage image(20, 20, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.setClip(5, 9);
        painter.lane(0, 20, {rect(0, 20), rect(0, 20, ColourKey::Waiting)});
        painter.lane(-30, 20, {rect(0, 20)});
        painter.lane(18, 50, {rect(0, 20)});
        painter.horizontalLine(2, 0xffffffff);
        painter.activity(0, 20, std::vector<BarPainter::ActivityColumn>(20, {1, 0, 0}));
        for (const int y : {0, 4, 9, 19}) QCOMPARE(image.pixel(10, y), colours.background);
        QVERIFY(image.pixel(10, 6) != colours.background);
    }

    void activityStacksItsShares()
    {
        const BarPalette colours = palette();
        QImage image(4, 20, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.activity(0, 20, {{0.5f, 0.25f, 0}, {0, 0, 0}, {0, 0, 0.001f}, {1, 1, 0}});
        const QRgb compute = colours.fill[static_cast<std::size_t>(ColourKey::Compute)];
        const QRgb comm = colours.fill[static_cast<std::size_t>(ColourKey::Communication)];
        const QRgb copy = colours.fill[static_cast<std::size_t>(ColourKey::Copy)];
        QCOMPARE(image.pixel(0, 19), compute);
        QCOMPARE(image.pixel(0, 10), compute);
        QCOMPARE(image.pixel(0, 9), comm);
        QCOMPARE(image.pixel(0, 5), comm);
        QCOMPARE(image.pixel(0, 4), colours.background);
        QCOMPARE(image.pixel(1, 19), colours.background);
        QCOMPARE(image.pixel(2, 19), copy); // the slightest activity shows
        QCOMPARE(image.pixel(3, 0), comm);  // more than all is scaled down
        QCOMPARE(image.pixel(3, 10), compute);
    }

    void whatARankWaitedIsHatchedOnTop()
    {
        const BarPalette colours = palette();
        QImage image(16, 20, QImage::Format_RGB32);
        BarPainter painter(image, colours);
        painter.clear({});
        painter.activity(0, 20, std::vector<BarPainter::ActivityColumn>(16, {0.25f, 0.25f, 0, 0.4f}));
        const QRgb comm = colours.fill[static_cast<std::size_t>(ColourKey::Communication)];
        int lines = 0, base = 0;
        for (int x = 0; x < 16; ++x) {
            QCOMPARE(image.pixel(x, 10), comm);
            QCOMPARE(image.pixel(x, 1), colours.background); // a tenth is idle
            for (int y = 2; y < 10; ++y) {
                lines += image.pixel(x, y) == colours.hatchLine;
                base += image.pixel(x, y) == colours.hatchBase;
            }
        }
        QCOMPARE(lines, 16 * 8 / 4); // two of every eight pixels, as in a lane
        QCOMPARE(base, 16 * 8 - lines);
        // A wait of next to nothing shows, too.
        painter.clear({});
        painter.activity(0, 20, std::vector<BarPainter::ActivityColumn>(16, {0, 0, 0, 0.001f}));
        QVERIFY(image.pixel(5, 19) == colours.hatchLine || image.pixel(5, 19) == colours.hatchBase);
        QCOMPARE(image.pixel(5, 18), colours.background);
    }
};

FOURWALLS_TEST(BarPainterTest, QCoreApplication)

} // namespace tst_bar_painter

#include "tst_bar_painter.moc"
