// SPDX-License-Identifier: Apache-2.0
// Places of buffers: blocks that live together never overlap, the pile is tidy, and it does not jump between answers.
#include "model/present/memory_blocks.h"
#include "tests/support/test_program.h"

#include <QtTest>

#include <random>

namespace tst_memory_blocks {

using namespace fourwalls;

class MemoryBlocksTest : public QObject {
    Q_OBJECT

    const TimeRange m_range{Instant{0}, Instant{1000}};

    static AllocationView buffer(std::int64_t id, std::int64_t from, std::optional<std::int64_t> to, std::int64_t bytes,
                                 std::int64_t address = 0)
    {
        AllocationView view;
        view.id = AllocationId(id);
        view.start = Instant{from};
        if (to) view.end = Instant{*to};
        view.bytes = bytes;
        view.address = address;
        return view;
    }

    static AllocationList random(int count, unsigned seed)
    {
        std::mt19937 generator(seed);
        const auto upTo = [&](int n) { return static_cast<std::int64_t>(generator() % static_cast<unsigned>(n)); };
        AllocationList list;
        for (int i = 0; i < count; ++i) {
            const std::int64_t from = upTo(900);
            list.items.push_back(buffer(i, from, from + 1 + upTo(300), 1 + upTo(1000)));
        }
        list.totalCount = count;
        return list;
    }

    static bool overlap(const MemoryBlock& a, const MemoryBlock& b)
    {
        return a.life.overlaps(b.life) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
    }

    static void checkSound(const BlockLayout& layout)
    {
        for (std::size_t i = 0; i < layout.blocks.size(); ++i) {
            QVERIFY(layout.blocks[i].offset >= 0);
            QVERIFY(layout.blocks[i].offset + layout.blocks[i].bytes <= layout.height);
            for (std::size_t j = i + 1; j < layout.blocks.size(); ++j)
                QVERIFY(!overlap(layout.blocks[i], layout.blocks[j]));
        }
    }

private slots:
    void nestedLivesPileUpLikeTheCurve()
    {
        // Made in order, freed in reverse: as high as the live bytes, no holes.
        AllocationList list;
        list.items = {buffer(1, 0, 100, 5), buffer(2, 10, 90, 7), buffer(3, 20, 80, 11)};
        const BlockLayout layout = packBlocks(list, m_range);
        QCOMPARE(layout.height, 23);
        QCOMPARE(layout.blocks[0].offset, 0);
        QCOMPARE(layout.blocks[1].offset, 5);
        QCOMPARE(layout.blocks[2].offset, 12);
    }

    void whatStaysLiesAtTheBottom()
    {
        AllocationList list;
        list.items = {buffer(1, 10, 20, 1000), buffer(2, 0, std::nullopt, 8)};
        const BlockLayout layout = packBlocks(list, m_range);
        QCOMPARE(layout.blocks[1].offset, 0);
        QCOMPARE(layout.blocks[0].offset, 8);
        QCOMPARE(layout.blocks[1].life, m_range);
    }

    void staticCategoriesLieInTheOrderOfTheAreas()
    {
        AllocationList list;
        list.items = {buffer(1, 0, std::nullopt, 50), buffer(2, 5, std::nullopt, 40), buffer(3, 9, 60, 30)};
        list.items[0].category = MemoryCategory::OptimizerState;
        list.items[1].category = MemoryCategory::Weights;
        list.items[2].category = MemoryCategory::Gradients;
        const BlockLayout layout = packBlocks(list, m_range);
        QCOMPARE(layout.blocks[1].offset, 0);
        QCOMPARE(layout.blocks[2].offset, 40);
        QCOMPARE(layout.blocks[0].offset, 70);
    }

    void aFreedPlaceIsUsedAgain()
    {
        AllocationList list;
        list.items = {buffer(1, 0, 50, 10), buffer(2, 50, 90, 10)};
        QCOMPARE(packBlocks(list, m_range).height, 10);
    }

    void nothingOverlaps()
    {
        for (unsigned seed = 1; seed <= 5; ++seed) checkSound(packBlocks(random(300, seed), m_range));
    }

    void equalListsGiveEqualPictures()
    {
        const AllocationList list = random(200, 7);
        const BlockLayout a = packBlocks(list, m_range), b = packBlocks(list, m_range);
        for (std::size_t i = 0; i < a.blocks.size(); ++i) QCOMPARE(a.blocks[i].offset, b.blocks[i].offset);
    }

    void placesAreKeptWhenSmallerBuffersComeIn()
    {
        AllocationList few = random(80, 3);
        const BlockLayout before = packBlocks(few, m_range);
        AllocationList more = random(80, 3);
        for (int i = 0; i < 120; ++i) more.items.push_back(buffer(1000 + i, 5 * i, 5 * i + 40, 3 + i % 7));
        const BlockLayout after = packBlocks(more, m_range, &few, &before);
        checkSound(after);
        for (std::size_t i = 0; i < before.blocks.size(); ++i)
            QCOMPARE(after.blocks[i].offset, before.blocks[i].offset);
    }

    void aBufferThatTurnsOutToLiveLongerMovesRatherThanOverlap()
    {
        // Unfreed in a short range; in a longer one its life meets the next buffer in its place.
        AllocationList list;
        list.items = {buffer(1, 0, std::nullopt, 10), buffer(2, 600, 700, 10)};
        const BlockLayout narrow = packBlocks(list, {Instant{0}, Instant{500}});
        const BlockLayout wide = packBlocks(list, m_range, &list, &narrow);
        checkSound(wide);
        QCOMPARE(wide.height, 20);
    }

    void emptyAndDamagedBuffersTakeNoPlace()
    {
        AllocationList list;
        list.items = {buffer(1, 0, 10, 0), buffer(2, 0, 10, -5), buffer(3, 20, 10, 4)};
        const BlockLayout layout = packBlocks(list, m_range);
        QCOMPARE(layout.blocks.size(), std::size_t(1));
        QVERIFY(!layout.blocks[0].life.empty());
    }

    void hugeSizesDoNotOverflow()
    {
        AllocationList list;
        const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
        list.items = {buffer(1, 0, 10, huge, huge - 1), buffer(2, 0, 10, huge, huge - 5), buffer(3, 0, 10, huge, 1)};
        checkSound(packBlocks(list, m_range));
        QVERIFY(placeByAddress(list, m_range).height > 0);
    }

    void addressesAreKeptWithoutUnusedSpace()
    {
        AllocationList list;
        list.items = {buffer(1, 0, 10, 100, 5000), buffer(2, 5, 20, 50, 5100), buffer(3, 0, 30, 10, 900'000)};
        const BlockLayout layout = placeByAddress(list, m_range);
        QVERIFY(layout.byAddress);
        QCOMPARE(layout.blocks[0].offset, 0);
        QCOMPARE(layout.blocks[1].offset, 100);
        QCOMPARE(layout.blocks[2].offset, 150); // 894,850 unused bytes are left out
        QCOMPARE(layout.height, 160);
        checkSound(layout);
    }

    void anUnknownAddressMeansPacked()
    {
        AllocationList list;
        list.items = {buffer(1, 0, 10, 100, 5000), buffer(2, 5, 20, 50)};
        QVERIFY(!placeByAddress(list, m_range).byAddress);
    }
};

FOURWALLS_TEST(MemoryBlocksTest, QCoreApplication)

} // namespace tst_memory_blocks

#include "tst_memory_blocks.moc"
