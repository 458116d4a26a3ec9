// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels of blocks: clipping, the least size of a pixel, seams between neighbours.
#include "tests/support/test_program.h"
#include "views/plot/plot_blocks.h"

#include <QtTest>

namespace tst_plot_blocks {

using namespace fourwalls::views;

class PlotBlocksTest : public QObject {
    Q_OBJECT

    static constexpr QRgb kBack = 0xffffffff, kFill = 0xff204060;

    static int count(const QImage& image, QRgb color)
    {
        int n = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) n += image.pixel(x, y) == color;
        return n;
    }

    static QImage painted(const QRectF& box)
    {
        QImage image(20, 20, QImage::Format_ARGB32_Premultiplied);
        image.fill(kBack);
        BlockPainter(image, kBack).fill(box, kFill);
        return image;
    }

private slots:
    void aTinyBlockIsStillAPixel() { QCOMPARE(count(painted(QRectF(5.2, 7.1, 0.01, 0.02)), kFill), 1); }

    void largeBlocksHaveSeams()
    {
        const QImage image = painted(QRectF(2, 3, 8, 6));
        QCOMPARE(image.pixel(2, 4), kFill);
        QCOMPARE(image.pixel(8, 8), kFill);
        QVERIFY(image.pixel(9, 5) != kFill && image.pixel(9, 5) != kBack);
        QVERIFY(image.pixel(5, 3) != kFill && image.pixel(5, 3) != kBack);
        QCOMPARE(image.pixel(10, 5), kBack);
        QCOMPARE(image.pixel(5, 2), kBack);
        QCOMPARE(image.pixel(5, 9), kBack);
    }

    void thinBlocksHaveNone() { QCOMPARE(count(painted(QRectF(2, 3, 3, 3)), kFill), 9); }

    void blocksOutsideOrHugeAreClipped()
    {
        QCOMPARE(count(painted(QRectF(-30, 2, 10, 10)), kBack), 400);
        QCOMPARE(count(painted(QRectF(25, 2, 10, 10)), kBack), 400);
        QCOMPARE(count(painted(QRectF(2, 30, 10, 10)), kBack), 400);
        QCOMPARE(count(painted(QRectF(-1e18, -1e18, 2e18, 2e18)), kFill), 400);
    }
};

FOURWALLS_TEST(PlotBlocksTest, QCoreApplication)

} // namespace tst_plot_blocks

#include "tst_plot_blocks.moc"
