// SPDX-License-Identifier: GPL-3.0-or-later
// Pixels of the stacked areas: whole and partly covered rows, order of layers, clipping.
#include "tests/support/test_program.h"
#include "views/plot/plot_area.h"

#include <QtTest>

namespace tst_plot_area {

using namespace fourwalls::views;

class PlotAreaTest : public QObject {
    Q_OBJECT

    static constexpr QRgb kRed = 0xffff0000, kBlue = 0xff0000ff;
    static constexpr std::array<QRgb, 2> kColors = {kRed, kBlue};

    static AreaStack stack(int columns, std::vector<float> tops)
    {
        AreaStack result;
        result.columns = columns;
        result.layers = static_cast<int>(tops.size()) / columns;
        result.tops = std::move(tops);
        return result;
    }

    static QImage blank(int width, int height)
    {
        QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::transparent);
        return image;
    }

private slots:
    void layersLieOnOneAnother()
    {
        QImage image = blank(2, 10);
        paintStack(image, 0, 10, stack(2, {6, 8, 3, 8}), kColors);
        for (int y = 0; y < 10; ++y) {
            QCOMPARE(image.pixel(0, y), y < 3 ? 0u : y < 6 ? kBlue : kRed);
            // The second column's upper layer is empty.
            QCOMPARE(image.pixel(1, y), y < 8 ? 0u : kRed);
        }
    }

    void aPartlyCoveredRowIsBlended()
    {
        QImage image = blank(1, 4);
        paintStack(image, 0, 4, stack(1, {2.5f, 2.5f}), kColors);
        QCOMPARE(qAlpha(image.pixel(0, 1)), 0);
        QVERIFY(std::abs(qAlpha(image.pixel(0, 2)) - 128) <= 1);
        QCOMPARE(image.pixel(0, 3), kRed);
    }

    void anEdgeInsideOneRowMixesBothLayers()
    {
        QImage image = blank(1, 4);
        paintStack(image, 0, 4, stack(1, {2.25f, 1.0f}), kColors);
        QCOMPARE(image.pixel(0, 1), kBlue);
        const QRgb mixed = image.pixel(0, 2);
        QVERIFY(std::abs(qRed(mixed) - 191) <= 2);
        QVERIFY(std::abs(qBlue(mixed) - 64) <= 2);
        QCOMPARE(qAlpha(mixed), 255);
    }

    void nothingIsPaintedOutside()
    {
        // Wider and higher than the image, and beginning left of it.
        QImage image = blank(3, 5);
        std::vector<float> tops;
        for (int i = 0; i < 2 * 40; ++i) tops.push_back(i < 40 ? 2.0f : -100.0f);
        paintStack(image, -5, 90, stack(40, tops), kColors);
        for (int x = 0; x < 3; ++x) {
            for (int y = 0; y < 5; ++y) QCOMPARE(image.pixel(x, y), y < 2 ? kBlue : kRed);
        }
        QImage untouched = blank(3, 5);
        paintStack(untouched, 10, 5, stack(2, {0, 0, 0, 0}), kColors);
        QCOMPARE(untouched, blank(3, 5));
    }

    void aLineJoinsItsColumns()
    {
        QImage image = blank(4, 10);
        const std::vector<float> ys = {2.5f, 2.5f, 7.5f, std::nanf("")};
        paintColumnLine(image, 0, ys, {kRed, 1});
        for (int y = 0; y < 10; ++y) {
            QCOMPARE(image.pixel(0, y), y == 2 ? kRed : 0u);
            QCOMPARE(image.pixel(2, y), y >= 2 && y <= 7 ? kRed : 0u);
            QCOMPARE(image.pixel(3, y), 0u);
        }
    }

    void dashesAndTranslucency()
    {
        QImage image = blank(100, 3);
        paintColumnLine(image, 0, std::vector<float>(100, 1.5f), {qRgba(255, 0, 0, 128), 1, 4, 3});
        int on = 0;
        for (int x = 0; x < 100; ++x) {
            const int alpha = qAlpha(image.pixel(x, 1));
            QVERIFY(alpha == 0 || alpha == 128);
            on += alpha != 0;
        }
        QVERIFY(on >= 55 && on <= 60);
    }

    void aLineIsClipped()
    {
        QImage image = blank(3, 3);
        paintColumnLine(image, -1, std::vector<float>{-1e6f, 1e6f, -1e6f, 1e6f, 0}, {kRed, 1});
        for (int x = 0; x < 3; ++x) QCOMPARE(image.pixel(x, 1), kRed);
    }

    void columnsBeyondOneBlockAreAllPainted()
    {
        QImage image = blank(100, 3);
        paintStack(image, 0, 3, stack(100, std::vector<float>(100, 1.0f)), kColors);
        for (int x = 0; x < 100; ++x) QCOMPARE(image.pixel(x, 1), kRed);
    }
};

FOURWALLS_TEST(PlotAreaTest, QCoreApplication)

} // namespace tst_plot_area

#include "tst_plot_area.moc"
