// SPDX-License-Identifier: Apache-2.0
// Pieces of a stretch of memory, by hand.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/gpu/memory_arena.h"
#include "tests/support/test_program.h"

#include <vector>

namespace tst_memory_arena {

using namespace fourwalls;
using namespace fourwalls::engine;

class MemoryArenaTest : public QObject {
    Q_OBJECT

private slots:
    void piecesOfAnArena()
    {
        std::vector<char> memory(100);
        const auto at = [&](std::int64_t offset) -> void* { return memory.data() + offset; };
        MemoryArena arena(memory.data(), 100);
        QCOMPARE(arena.take(60), at(0));
        QCOMPARE(arena.take(30), at(60));
        QCOMPARE(arena.take(20), nullptr);
        QCOMPARE(arena.take(10), at(90));
        QVERIFY(!arena.give(at(10))); // the begin of none
        QVERIFY(arena.give(at(60)));
        QVERIFY(!arena.give(at(60)));
        QCOMPARE(arena.take(40), nullptr);
        QVERIFY(arena.give(at(90)));
        QCOMPARE(arena.take(40), at(60)); // of two neighbours
        QVERIFY(arena.give(at(60)));
        QVERIFY(arena.give(at(0)));
        QCOMPARE(arena.take(100), at(0));
    }
};

FOURWALLS_TEST(MemoryArenaTest, QCoreApplication)

} // namespace tst_memory_arena

#include "tst_memory_arena.moc"
