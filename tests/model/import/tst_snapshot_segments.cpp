// SPDX-License-Identifier: Apache-2.0
// The holes of an allocator's segments against a count of every unit, and what a source may add to a run's closing.
#include "model/import/common/placed_sink.h"
#include "model/import/snapshot/snapshot_allocator.h"
#include "model/import/snapshot/snapshot_segments.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <algorithm>
#include <random>
#include <vector>

namespace tst_snapshot_segments {

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

constexpr std::int64_t kUnit = 512;

SegmentLife partOf(std::int64_t unit, std::int64_t units)
{
    SegmentLife part;
    part.address = unit * kUnit;
    part.bytes = units * kUnit;
    part.expandable = true;
    return part;
}

/// Units of an address space: not mapped, free, or begin and rest of a block.
class UnitsOfMemory {
public:
    enum class State { Unmapped, Free, Block, Rest };
    std::vector<State> units = std::vector<State>(64, State::Unmapped);

    bool are(std::size_t from, std::size_t count, State state) const
    {
        return std::all_of(units.begin() + static_cast<std::ptrdiff_t>(from),
                           units.begin() + static_cast<std::ptrdiff_t>(from + count),
                           [&](State each) { return each == state; });
    }
    void set(std::size_t from, std::size_t count, State state)
    {
        std::fill_n(units.begin() + static_cast<std::ptrdiff_t>(from), count, state);
    }
    std::int64_t largestHole() const
    {
        std::int64_t largest = 0, now = 0;
        for (const State each : units) {
            now = each == State::Free ? now + 1 : 0;
            largest = std::max(largest, now);
        }
        return largest * kUnit;
    }
    void release(std::size_t at)
    {
        units[at] = State::Free;
        for (++at; at < units.size() && units[at] == State::Rest; ++at) units[at] = State::Free;
    }
};

} // namespace

class SnapshotSegmentsTest : public QObject {
    Q_OBJECT
private slots:
    void holesOfAnExpandableSegment()
    {
        using State = UnitsOfMemory::State;
        std::mt19937 random(27);
        UnitsOfMemory memory;
        SegmentHoles holes;
        int done = 0;
        for (int i = 0; i < 20'000; ++i) {
            const std::size_t from = random() % memory.units.size();
            const std::size_t count = 1 + random() % std::min<std::size_t>(6, memory.units.size() - from);
            const auto address = static_cast<std::int64_t>(from) * kUnit, units = static_cast<std::int64_t>(count);
            if (memory.are(from, count, State::Unmapped)) {
                holes.map(partOf(static_cast<std::int64_t>(from), units));
                memory.set(from, count, State::Free);
            } else if (memory.are(from, count, State::Free) && random() % 3 == 0) {
                holes.unmap(address, units * kUnit);
                memory.set(from, count, State::Unmapped);
            } else if (memory.are(from, count, State::Free)) {
                QCOMPARE(holes.take(address, units * kUnit), units * kUnit);
                memory.set(from, count, State::Rest);
                memory.units[from] = State::Block;
            } else if (memory.units[from] == State::Block) {
                holes.release(address);
                memory.release(from);
            } else {
                continue;
            }
            ++done;
            QCOMPARE(holes.largest(), memory.largestHole());
        }
        QVERIFY(done > 1000);
    }

    void blocksInWhatIsUnmapped()
    {
        SegmentHoles holes;
        holes.map(partOf(0, 16));
        holes.take(2 * kUnit, 4 * kUnit); // reaches into the cut
        holes.take(8 * kUnit, kUnit);     // lies in it
        holes.take(14 * kUnit, kUnit);
        holes.unmap(4 * kUnit, 7 * kUnit);
        QCOMPARE(holes.largest(), 3 * kUnit); // 11 to 14
        holes.release(2 * kUnit);
        QCOMPARE(holes.largest(), 4 * kUnit); // 0 to 4
        holes.release(14 * kUnit);
        QCOMPARE(holes.largest(), 5 * kUnit); // 11 to 16
        holes.map(partOf(4, 7));
        QCOMPARE(holes.largest(), 16 * kUnit);
    }

    void devicesShareTheRoom()
    {
        AllocatorKept kept;
        const auto most = static_cast<std::int64_t>(kMostBlocks);
        for (std::int64_t i = 0; i < most; ++i) kept.add({RankId{0}, AllocationId{i}, 1024, std::nullopt}, 10 + i % 2);
        kept.add({RankId{1}, AllocationId{1}, 1024, std::nullopt}, 100);
        kept.add({RankId{1}, AllocationId{2}, kMostSegmentBytes + 1, std::nullopt}, 100); // no trace can hold it
        for (std::size_t i = 0; i <= kMostSegments; ++i) {
            AllocatorSegment segment;
            segment.address = static_cast<std::int64_t>(i);
            segment.bytes = 1;
            segment.end = Instant{i == 7 ? 1 : 2};
            kept.add(segment);
        }
        InMemoryTrace trace{TraceHeader{}};
        TraceClosing closing;
        kept.end(closing, trace);
        QVERIFY(trace.finish(closing).ok());
        QCOMPARE(closing.blocks.size(), kMostBlocks);
        QVERIFY(closing.blocks.back().rank == RankId{1});
        QCOMPARE(closing.segments.size(), kMostSegments);
        std::int64_t segments = 0, blocks = 0;
        for (const AuditRecord& each : trace.data()->info.audit) {
            if (each.name == "segments_left_out") segments += each.count;
            if (each.name == "allocator_blocks_left_out") blocks += each.count;
        }
        QCOMPARE(segments, std::int64_t{1});
        QCOMPARE(blocks, std::int64_t{2});
    }

    void sourcesShareTheRoom()
    {
        TraceClosing source;
        for (std::size_t i = 0; i < kMostSegments; ++i) {
            AllocatorSegment segment;
            segment.address = static_cast<std::int64_t>(i);
            segment.bytes = 1;
            segment.end = Instant{1};
            source.segments.push_back(segment);
        }
        TraceClosing other = source;
        for (AllocatorSegment& each : other.segments) {
            each.rank = RankId{1};
            each.end.reset();
        }
        TraceClosing run;
        AllocatorLeftOut left;
        addAllocatorState(run, source, {}, left);
        QCOMPARE(left.segments, std::int64_t{0});
        addAllocatorState(run, other, {}, left);
        QCOMPARE(left.segments, static_cast<std::int64_t>(kMostSegments));
        QVERIFY(run.segments == other.segments); // they existed for longer
    }
};

FOURWALLS_TEST(SnapshotSegmentsTest, QCoreApplication)

} // namespace tst_snapshot_segments

#include "tst_snapshot_segments.moc"
