// SPDX-License-Identifier: Apache-2.0
// An allocator's segments and holes worked out by hand, why a request was refused, and the state as text, sound or not.
#include "model/trace/allocator_map.h"
#include "model/trace/allocator_text.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/model/trace/allocator_example.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <cmath>
#include <limits>

namespace tst_allocator_map {

using namespace fourwalls;
using namespace fourwalls::test::allocator;

namespace {

std::vector<std::pair<MapPiece::State, std::int64_t>> piecesOf(const MapRow& row)
{
    std::vector<std::pair<MapPiece::State, std::int64_t>> pieces;
    for (const MapPiece& piece : row.pieces) pieces.emplace_back(piece.state, piece.bytes);
    return pieces;
}

} // namespace

class AllocatorMapTest : public QObject {
    Q_OBJECT
    using State = MapPiece::State;
    using Pieces = std::vector<std::pair<MapPiece::State, std::int64_t>>;

private slots:
    void cuts()
    {
        QCOMPARE(cutBytes(0), std::int64_t{512});
        QCOMPARE(cutBytes(512), std::int64_t{512});
        QCOMPARE(cutBytes(513), std::int64_t{1024});
        QVERIFY(cutBytes(std::numeric_limits<std::int64_t>::max()) > 0);
    }

    void atTheBegin()
    {
        InMemoryTraceQuery query(example());
        const auto map = allocatorMap(query, RankId{0}, Instant{5});
        QVERIFY(map.ok());
        QCOMPARE(map->rows.size(), std::size_t{2});
        const Pieces first{{State::Used, 4 * kMiB},
                           {State::Free, 4 * kMiB},
                           {State::Used, kMiB + kMiB / 2},
                           {State::Free, 10 * kMiB + kMiB / 2}};
        QVERIFY(piecesOf(map->rows[0]) == first);
        QVERIFY(piecesOf(map->rows[1]) == (Pieces{{State::Free, 2 * kMiB}}));
        QCOMPARE(map->all.reservedBytes, 22 * kMiB);
        QCOMPARE(map->all.requestedBytes, 5 * kMiB);
        QCOMPARE(map->all.cutBytes + map->all.freeBytes, map->all.reservedBytes);
        QCOMPARE(map->all.largestFree, 10 * kMiB + kMiB / 2);
        QCOMPARE(map->all.outsideCount, std::int64_t{1});
        QCOMPARE(map->all.outsideBytes, std::int64_t{64});
    }

    void partsOfARangeAreOneRow()
    {
        InMemoryTraceQuery query(example());
        const auto map = allocatorMap(query, RankId{0}, Instant{26});
        QVERIFY(map.ok());
        QCOMPARE(map->rows.size(), std::size_t{3});
        // Neighbours by address, and segments of their own.
        QCOMPARE(map->rows[0].segment.bytes, 20 * kMiB);
        QVERIFY(piecesOf(map->rows[1]) == (Pieces{{State::Used, 1024}, {State::Free, 2 * kMiB - 1024}}));
        QCOMPARE(map->rows[2].segment.bytes, 4 * kMiB);
        QVERIFY(piecesOf(map->rows[2]) == (Pieces{{State::Free, kMiB}, {State::Used, 3 * kMiB}}));
        QVERIFY(map->rows[0].pieces[2].state == State::Awaited);
        QCOMPARE(map->all.awaitedBytes, kMiB + kMiB / 2);
        const double free = 4.0 * kMiB + 10.5 * kMiB + 2.0 * kMiB - 1024 + kMiB;
        QVERIFY(std::abs(fragmentation(map->all) - (1 - 10.5 * kMiB / free)) < 1e-12);
        const auto end = allocatorMap(query, RankId{0}, Instant{30});
        QVERIFY(end.ok());
        QCOMPARE(end->rows.size(), std::size_t{2});
        QVERIFY(piecesOf(end->rows[0]) == (Pieces{{State::Used, 4 * kMiB}, {State::Free, 16 * kMiB}}));
        QVERIFY(!allocatorMap(query, RankId{0}, Instant{5}, 1).ok());
    }

    void momentsAndRefusals()
    {
        InMemoryTraceQuery query(example());
        const auto moments = allocatorMoments(query);
        QVERIFY(moments.ok());
        QCOMPARE(moments->size(), std::size_t{3});
        const AllocatorMoment& refused = (*moments)[1];
        QVERIFY(refused.kind == AllocatorMoment::Kind::OutOfMemory);
        // 17.5 MiB less 1 KiB are free in holes of at most 10.5 MiB, one more on the device; 16 were wanted.
        QVERIFY(refusalOf(*refused.refused, refused.figures) == Refusal::Fragmented);
        OutOfMemory more = *refused.refused;
        more.askedBytes = 30 * kMiB;
        QVERIFY(refusalOf(more, refused.figures) == Refusal::Full);
        more.freeBytes.reset(); // the device may have had enough
        QVERIFY(refusalOf(more, refused.figures) == Refusal::Unknown);
        more.askedBytes = 17 * kMiB; // what is free in the segments would do
        QVERIFY(refusalOf(more, refused.figures) == Refusal::Fragmented);
        more.askedBytes = 10 * kMiB;
        QVERIFY(refusalOf(more, refused.figures) == Refusal::Unknown);
        more.askedBytes.reset();
        QVERIFY(refusalOf(more, refused.figures) == Refusal::Unknown);
        InMemoryTrace empty{TraceHeader{}};
        QVERIFY(empty.finish({}).ok());
        InMemoryTraceQuery nothing(empty.data());
        const auto none = allocatorMoments(nothing);
        QVERIFY(none.ok() && none->empty());
    }

    void buffersUponEachOtherAndWrongBlocks()
    {
        TraceHeader header;
        header.ranks.push_back({RankId{0}, "", "", 0, 0, 1});
        InMemoryTrace trace(header);
        {
            const auto producer = trace.openProducer();
            for (const std::int64_t id : {1, 2, 3}) {
                AllocationRecord record;
                record.id = AllocationId{id};
                record.bytes = 2048;
                record.address = kBegin + (id == 3 ? 4096 : 0) + (id == 2 ? 1024 : 0);
                producer->allocated(RankId{0}, record);
            }
        }
        TraceClosing closing;
        closing.segments.push_back(segment(0, 8192, 0, std::nullopt));
        closing.blocks.push_back({RankId{0}, AllocationId{3}, std::int64_t{1} << 40, std::nullopt});
        QVERIFY(trace.finish(closing).ok());
        InMemoryTraceQuery query(trace.data());
        const auto map = allocatorMap(query, RankId{0}, Instant{0});
        QVERIFY(map.ok());
        QVERIFY(piecesOf(map->rows[0]) == (Pieces{{State::Used, 2048}, {State::Free, 2048}, {State::Used, 4096}}));
        QCOMPARE(map->all.outsideCount, std::int64_t{1});
    }

    void text()
    {
        const TraceClosing closing = example()->info.closing;
        const auto segments = segmentsOf(segmentsText(closing.segments));
        QVERIFY(segments && *segments == closing.segments);
        const auto blocks = blocksOf(blocksText(closing.blocks));
        QVERIFY(blocks && *blocks == closing.blocks);
        QVERIFY(segmentsOf("[]")->empty());
        QCOMPARE(QString::fromStdString(blocksText(closing.blocks)), QString("[[0,2,1572864,25]]"));
    }

    void asMuchAsATraceKeeps()
    {
        TraceClosing closing;
        constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < kMostSegments + 3; ++i) {
            AllocatorSegment made;
            made.rank = RankId{std::numeric_limits<std::int32_t>::max()};
            made.address = kMostAddress - static_cast<std::int64_t>(i);
            made.bytes = kMostSegmentBytes;
            made.start = Instant{-kLargestTimeNs};
            made.end = Instant{kLargestTimeNs - (i == 1 ? 2 : 0)};
            if (i < 1 || i == 70) made.end = Instant{-kLargestTimeNs + 1};
            made.stream = -kLargest;
            made.small = made.privatePool = made.expandable = true;
            closing.segments.push_back(made);
        }
        for (std::size_t i = 0; i < kMostBlocks + 1; ++i)
            closing.blocks.push_back({RankId{std::numeric_limits<std::int32_t>::max()},
                                      AllocationId{-kLargest + static_cast<std::int64_t>(i)},
                                      kMostSegmentBytes - (i == 20 ? 1 : 0), Instant{-kLargestTimeNs}});
        const AllocatorLeftOut left = limitAllocatorState(closing);
        QCOMPARE(left.segments, std::int64_t{3});
        QCOMPARE(left.blocks, std::int64_t{1});
        for (const AllocatorSegment& each : closing.segments) QVERIFY(each.end == Instant{kLargestTimeNs});
        for (const AllocatorBlock& each : closing.blocks) QCOMPARE(each.bytes, kMostSegmentBytes);
        const std::string segments = segmentsText(closing.segments), blocks = blocksText(closing.blocks);
        constexpr std::size_t kOneValue = 8 << 20; // of a trace file, with its key
        QVERIFY(segments.size() + 100 < kOneValue && blocks.size() + 100 < kOneValue);
        QVERIFY(segmentsOf(segments) == closing.segments);
        QVERIFY(blocksOf(blocks) == closing.blocks);
    }

    void damagedText_data()
    {
        QTest::addColumn<QByteArray>("text");
        for (const char* text :
             {"", "[", "[]x", "[[0,1,1,0,null,0,0]", "[[0,1,1,0,null,0]]", "[[0,1,1,0,null,0,0,0]]",
              "[[-1,1,1,0,null,0,0]]", "[[0,-1,1,0,null,0,0]]", "[[0,1,0,0,null,0,0]]", "[[0,1,1,null,null,0,0]]",
              "[[0,1,1,0,null,0,8]]", "[[0,1,5000000000000,0,null,0,0]]", "[[0,9223372036854775807,1,0,null,0,0]]",
              "[[0,1,1,9223372036854775807,null,0,0]]", "[[0,1,1,0,null,0,0],]", "[[0,1,1,0,null,1.5,0]]"})
            QTest::newRow(text) << QByteArray(text);
    }
    void damagedText()
    {
        QFETCH(QByteArray, text);
        QVERIFY(!segmentsOf(text.toStdString()));
    }
    void damagedBlocks()
    {
        for (const char* text : {"[[0,1,1]]", "[[0,1,-1,null]]", "[[0,null,1,null]]", "[[0,1,1,99999999999999999999]]"})
            QVERIFY2(!blocksOf(text), text);
    }
};

FOURWALLS_TEST(AllocatorMapTest, QCoreApplication)

} // namespace tst_allocator_map

#include "tst_allocator_map.moc"
