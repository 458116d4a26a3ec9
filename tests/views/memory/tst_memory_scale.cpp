// SPDX-License-Identifier: GPL-3.0-or-later
// Where the wall stands on the memory axis: to scale when the curve is near it, above a broken axis when it is far.
#include "tests/support/test_program.h"
#include "views/memory/memory_scale.h"

#include <QtTest>

namespace tst_memory_scale {

using namespace fourwalls::views;

class MemoryScaleTest : public QObject {
    Q_OBJECT

    const QRectF m_area{50, 20, 800, 300};

private slots:
    void withoutACapacityThereIsNoWall()
    {
        const MemoryScale scale = MemoryScale::fit(m_area, 2e9, 0, false);
        QCOMPARE(scale.wall(), WallPlacement::None);
        QVERIFY(scale.band().isEmpty());
        QCOMPARE(scale.linear(), m_area);
        QVERIFY(scale.y(2e9) > m_area.top() + 20); // room for the label
        QCOMPARE(scale.y(0), m_area.bottom());
    }

    void aNearWallIsToScale()
    {
        const MemoryScale scale = MemoryScale::fit(m_area, 76e9, 80e9, false);
        QCOMPARE(scale.wall(), WallPlacement::ToScale);
        // The band's lower edge is the limit, on the same axis as the curve.
        QCOMPARE(scale.band().bottom(), scale.y(80e9));
        QVERIFY(scale.y(76e9) > scale.band().bottom());
        QCOMPARE(scale.band().top(), m_area.top());
        QVERIFY(scale.band().height() >= 20);
    }

    void aFarWallStandsAboveABrokenAxis()
    {
        const MemoryScale scale = MemoryScale::fit(m_area, 2e9, 80e9, false);
        QCOMPARE(scale.wall(), WallPlacement::Broken);
        QVERIFY(scale.band().bottom() < scale.linear().top());
        // The curve uses most of the plot.
        QVERIFY(scale.y(2e9) < m_area.top() + m_area.height() * 0.35);
        QVERIFY(scale.y(2e9) > scale.linear().top());
    }

    void theSwitchKeepsTheAxisWhole()
    {
        const MemoryScale scale = MemoryScale::fit(m_area, 2e9, 80e9, true);
        QCOMPARE(scale.wall(), WallPlacement::ToScale);
        QCOMPARE(scale.band().bottom(), scale.y(80e9));
        QVERIFY(scale.y(2e9) > m_area.bottom() - 12);
    }

    void aCurveAboveTheWallRisesThroughTheBricks()
    {
        const MemoryScale scale = MemoryScale::fit(m_area, 95e9, 80e9, false);
        QCOMPARE(scale.wall(), WallPlacement::ToScale);
        QVERIFY(scale.y(95e9) < scale.band().bottom());
        QVERIFY(scale.y(95e9) >= m_area.top());
    }

    void pixelsAndBytesAreInverse()
    {
        for (const double capacity : {0.0, 3e9, 80e9}) {
            const MemoryScale scale = MemoryScale::fit(m_area, 2e9, capacity, false);
            for (const double bytes : {0.0, 1.0, 5e8, 2e9})
                QVERIFY(std::abs(scale.bytesAt(scale.y(bytes)) - bytes) < 1);
        }
    }

    void aTinyPlotStaysSound()
    {
        const MemoryScale scale = MemoryScale::fit(QRectF(0, 0, 10, 8), 1e9, 80e9, false);
        QVERIFY(scale.linear().height() >= 1);
        QVERIFY(scale.band().height() <= 8);
        QVERIFY(MemoryScale::fit(QRectF(0, 0, 10, 8), 0, 0, false).top() > 0);
    }
};

FOURWALLS_TEST(MemoryScaleTest, QCoreApplication)

} // namespace tst_memory_scale

#include "tst_memory_scale.moc"
