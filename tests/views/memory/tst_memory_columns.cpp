// SPDX-License-Identifier: GPL-3.0-or-later
// From samples to columns: no peak is lost between pixels, samples hold until the next one, nothing outside the window.
#include "tests/support/test_program.h"
#include "views/memory/memory_columns.h"

#include <QtTest>

namespace tst_memory_columns {

using namespace fourwalls;
using namespace fourwalls::views;

class MemoryColumnsTest : public QObject {
    Q_OBJECT

    static MemorySample sample(std::int64_t at, std::int64_t weights, std::int64_t activations)
    {
        MemorySample s;
        s.at = Instant{at};
        s.bytes[static_cast<std::size_t>(MemoryCategory::Weights)] = weights;
        s.bytes[static_cast<std::size_t>(MemoryCategory::Activations)] = activations;
        return s;
    }

    static MemoryWindow window(std::vector<MemorySample> samples, TimeRange range = {Instant{0}, Instant{1000}})
    {
        MemoryWindow w;
        w.range = range;
        w.samples = std::move(samples);
        return w;
    }

    static TimeCamera camera(int width)
    {
        TimeCamera c;
        c.setBounds({Instant{0}, Instant{1000}});
        c.setWidth(width);
        return c;
    }

    /// 100 bytes over 100 pixels from the image's top: a byte is a pixel.
    static MemoryScale bytePerPixel() { return MemoryScale::fit(QRectF(0, 0, 10, 116), 100, 0, false); }

    static float height(const AreaStack& stack, MemoryCategory category, int column)
    {
        return 116 - stack.top(static_cast<int>(category), column);
    }

private slots:
    void layersAddUp()
    {
        const AreaStack stack = stackOf(window({sample(0, 10, 30)}), camera(10), bytePerPixel(), 10, 1, 0);
        QCOMPARE(stack.columns, 10);
        QCOMPARE(stack.layers, kMemoryCategoryCount);
        for (int column = 0; column < 10; ++column) {
            QCOMPARE(height(stack, MemoryCategory::Weights, column), 10.f);
            QCOMPARE(height(stack, MemoryCategory::Gradients, column), 10.f); // empty: on the one below
            QCOMPARE(height(stack, MemoryCategory::Activations, column), 40.f);
            QCOMPARE(height(stack, MemoryCategory::Other, column), 40.f);
        }
    }

    void aPeakInsideAColumnIsShown()
    {
        // The spike lasts 2 ns of a 100 ns column.
        const auto w = window({sample(0, 10, 0), sample(451, 10, 80), sample(453, 10, 5)});
        const AreaStack stack = stackOf(w, camera(10), bytePerPixel(), 10, 1, 0);
        QCOMPARE(height(stack, MemoryCategory::Other, 3), 10.f);
        QCOMPARE(height(stack, MemoryCategory::Other, 4), 90.f);
        QCOMPARE(height(stack, MemoryCategory::Other, 5), 15.f);
    }

    void aWindowOfOtherColumnsLeavesNoGaps()
    {
        // Columns of 100 ns were asked for from -50 on: each has a peak at its begin or at its end, and a low rest.
        std::vector<MemorySample> samples;
        for (int i = 0; i < 11; ++i) {
            const int begin = -50 + 100 * i;
            samples.push_back(sample(begin + (i % 2 == 0 ? 95 : 2), 10, 80));
            samples.push_back(sample(begin + (i % 2 == 0 ? 98 : 5), 10, 0));
        }
        const auto w = window(samples, {Instant{-50}, Instant{1050}});
        const AreaStack plain = stackOf(w, camera(10), bytePerPixel(), 10, 1, 0);
        const AreaStack whole = stackOf(w, camera(10), bytePerPixel(), 10, 1, 0, 100);
        int gaps = 0;
        for (int column = 1; column < 10; ++column) {
            gaps += height(plain, MemoryCategory::Other, column) < 90.f ? 1 : 0;
            QCOMPARE(height(whole, MemoryCategory::Other, column), 90.f);
        }
        QVERIFY(gaps > 0);
    }

    void columnsOutsideTheWindowAreEmpty()
    {
        const auto w = window({sample(300, 50, 0)}, {Instant{300}, Instant{600}});
        const AreaStack stack = stackOf(w, camera(10), bytePerPixel(), 10, 1, 0);
        for (int column = 0; column < 10; ++column) {
            QCOMPARE(height(stack, MemoryCategory::Other, column), column >= 3 && column < 6 ? 50.f : 0.f);
        }
    }

    void zoomingFollowsTheCamera()
    {
        const auto w = window({sample(0, 10, 0), sample(500, 60, 0)});
        TimeCamera near = camera(10);
        near.show({Instant{450}, Instant{550}});
        const AreaStack stack = stackOf(w, near, bytePerPixel(), 10, 1, 0);
        QCOMPARE(height(stack, MemoryCategory::Other, 4), 10.f);
        QCOMPARE(height(stack, MemoryCategory::Other, 5), 60.f);
    }

    void devicePixelsScaleBothWays()
    {
        const AreaStack stack = stackOf(window({sample(0, 10, 0)}), camera(10), bytePerPixel(), 20, 2, 0);
        QCOMPARE(stack.columns, 20);
        QCOMPARE(232 - stack.top(0, 19), 20.f);
    }

    void noSamplesGiveAnEmptyPicture()
    {
        const AreaStack stack = stackOf(window({}), camera(10), bytePerPixel(), 10, 1, 0);
        for (const float top : stack.tops) QCOMPARE(top, 116.f);
    }

    void theSampleOfAnInstant()
    {
        const auto w = window({sample(0, 1, 0), sample(500, 2, 0)});
        QCOMPARE(sampleAt(w, Instant{0})->total(), 1);
        QCOMPARE(sampleAt(w, Instant{499})->total(), 1);
        QCOMPARE(sampleAt(w, Instant{500})->total(), 2);
        QVERIFY(!sampleAt(w, Instant{1000}));
        QVERIFY(!sampleAt(w, Instant{-1}));
        QVERIFY(!sampleAt(window({}), Instant{5}));
    }

    void staticBytesAreWhatStays()
    {
        CategoryBytes bytes{};
        for (int i = 0; i < kMemoryCategoryCount; ++i) bytes[static_cast<std::size_t>(i)] = 1 << i;
        QCOMPARE(staticBytes(bytes), 1 + 2 + 4);
    }
};

FOURWALLS_TEST(MemoryColumnsTest, QCoreApplication)

} // namespace tst_memory_columns

#include "tst_memory_columns.moc"
