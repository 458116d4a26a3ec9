// SPDX-License-Identifier: GPL-3.0-or-later
// Tiles of the timeline: what is asked for, how answers are cut, and what is drawn while tiles are missing.
#include "tests/support/test_program.h"
#include "views/timeline/tile_cache.h"

#include <QtTest>

namespace tst_tile_cache {

using namespace fourwalls;
using namespace fourwalls::views;

class TileCacheTest : public QObject {
    Q_OBJECT

    static constexpr std::int64_t kTile = kTileColumns; // nanoseconds at level 0

    static SliceView slice(int id, std::int64_t start, std::int64_t length, int track = 0, int lane = 0)
    {
        SliceView result;
        result.id = SliceId{id};
        result.track = TrackId{track};
        result.lane = lane;
        result.start = Instant{start};
        result.duration = Duration{length};
        return result;
    }

    static SliceWindow window(std::vector<SliceView> slices, std::vector<SliceBin> bins = {})
    {
        SliceWindow result;
        result.lanes.push_back({TrackId{0}, 0, std::move(slices), std::move(bins)});
        return result;
    }

    static const std::vector<TrackId>& oneTrack()
    {
        static const std::vector<TrackId> tracks{TrackId{0}};
        return tracks;
    }

    static QList<int> ids(const TrackPieces& pieces)
    {
        QList<int> result;
        if (pieces.lanes.empty()) return result;
        for (const auto& piece : pieces.lanes[0])
            for (const auto& slice : piece.slices->exact) result << static_cast<int>(slice.id.value);
        return result;
    }

private slots:
    void levelsArePowersOfTwoNeverWiderThanAPixel()
    {
        QCOMPARE(TileCache::levelFor(0.01), 0);
        QCOMPARE(TileCache::levelFor(1.99), 0);
        QCOMPARE(TileCache::levelFor(2), 1);
        QCOMPARE(TileCache::levelFor(1023), 9);
        QCOMPARE(TileCache::levelFor(1024), 10);
    }

    void spansCoverTheRange()
    {
        TileCache cache;
        cache.reset(Instant{100});
        const TileSpan span = cache.spanFor({Instant{100}, Instant{100 + kTile}}, 0);
        QCOMPARE(span, (TileSpan{0, 0, 0}));
        QCOMPARE(cache.spanFor({Instant{99}, Instant{101 + kTile}}, 0), (TileSpan{0, -1, 1}));
        QCOMPARE(cache.rangeOf({2, 1, 2}), (TimeRange{Instant{100 + 4 * kTile}, Instant{100 + 12 * kTile}}));
    }

    void asksOnlyForWhatIsMissing()
    {
        TileCache cache;
        cache.reset(Instant{0});
        const std::vector<TrackId> tracks{TrackId{0}, TrackId{1}};
        const TileSpan span{0, 0, 3};
        auto requests = cache.missing(span, tracks);
        QCOMPARE(requests.size(), std::size_t{1});
        QCOMPARE(requests[0].tracks.size(), std::size_t{2});
        const SliceQuery query = cache.queryFor(requests[0]);
        QCOMPARE(query.range, (TimeRange{Instant{0}, Instant{4 * kTile}}));
        QCOMPARE(query.pixels, 4 * kTileColumns);

        cache.insert({{0, 0, 1}, tracks}, {});
        cache.insert({{0, 2, 2}, {TrackId{0}}}, {});
        requests = cache.missing(span, tracks);
        QCOMPARE(requests.size(), std::size_t{2});
        for (const auto& request : requests) {
            QCOMPARE(request.tracks.size(), std::size_t{1});
            QCOMPARE(request.span.first, request.tracks[0] == TrackId{0} ? 3 : 2);
            QCOMPARE(request.span.last, 3);
        }
        cache.insert({span, tracks}, {});
        QVERIFY(cache.missing(span, tracks).empty());
    }

    void answersAreCutAtTileEdges()
    {
        TileCache cache;
        cache.reset(Instant{0});
        cache.insert({{0, 0, 2}, oneTrack()},
                     window({slice(1, 10, 20), slice(2, kTile - 5, 2 * kTile), slice(3, 2 * kTile + 50, 10)}));
        QCOMPARE(ids(cache.pieces(TrackId{0}, {Instant{0}, Instant{kTile}}, 0)), (QList<int>{1, 2}));
        QCOMPARE(ids(cache.pieces(TrackId{0}, {Instant{kTile}, Instant{2 * kTile}}, 0)), (QList<int>{2}));
        QCOMPARE(ids(cache.pieces(TrackId{0}, {Instant{2 * kTile}, Instant{3 * kTile}}, 0)), (QList<int>{2, 3}));
        const auto all = cache.pieces(TrackId{0}, {Instant{0}, Instant{3 * kTile}}, 0);
        QCOMPARE(all.coverage, Coverage::Exact);
        QCOMPARE(all.lanes[0].size(), std::size_t{3});
    }

    void widerTilesStandInForMissingOnes()
    {
        TileCache cache;
        cache.reset(Instant{0});
        cache.insert({{2, 0, 0}, oneTrack()}, window({slice(7, 100, 500)}));
        const TimeRange range{Instant{0}, Instant{kTile}};
        auto pieces = cache.pieces(TrackId{0}, range, 0);
        QCOMPARE(pieces.coverage, Coverage::Coarse);
        QCOMPARE(ids(pieces), (QList<int>{7}));
        QCOMPARE(pieces.lanes[0][0].clip, range);

        TileCache rough;
        rough.reset(Instant{0});
        rough.insert({{3, 0, 0}, oneTrack()}, window({slice(7, 100, 500)}));
        QCOMPARE(rough.pieces(TrackId{0}, range, 0).coverage, Coverage::Rough);
    }

    void finerTilesStandInWhereTheyAre()
    {
        TileCache cache;
        cache.reset(Instant{0});
        const TimeRange range{Instant{0}, Instant{2 * kTile}};
        cache.insert({{0, 1, 1}, oneTrack()}, window({slice(8, kTile + 3, 5)}));
        QCOMPARE(cache.pieces(TrackId{0}, range, 1).coverage, Coverage::Missing);
        QCOMPARE(ids(cache.pieces(TrackId{0}, range, 1)), (QList<int>{8}));
        cache.insert({{0, 0, 0}, oneTrack()}, {});
        QCOMPARE(cache.pieces(TrackId{0}, range, 1).coverage, Coverage::Exact);
    }

    void absurdLanesAreLeftAway()
    {
        TileCache cache;
        cache.reset(Instant{0});
        SliceWindow hostile;
        for (const int lane : {-7, 2'000'000'000, 0})
            hostile.lanes.push_back({TrackId{0}, lane, {slice(lane, 5, 5, 0, lane)}, {}});
        cache.insert({{0, 0, 0}, oneTrack()}, hostile);
        const auto pieces = cache.pieces(TrackId{0}, {Instant{0}, Instant{100}}, 0);
        QCOMPARE(pieces.lanes.size(), std::size_t{1});
        QCOMPARE(ids(pieces), (QList<int>{0}));
    }

    void nothingIsMissingCoverage()
    {
        TileCache cache;
        cache.reset(Instant{0});
        QCOMPARE(cache.pieces(TrackId{0}, {Instant{0}, Instant{100}}, 0).coverage, Coverage::Missing);
    }

    void activityIsCutIntoTiles()
    {
        TileCache cache;
        cache.reset(Instant{0});
        const std::vector<RankId> ranks{RankId{0}, RankId{3}};
        const TileSpan span{0, 0, 1};
        QCOMPARE(cache.missingActivity(span, ranks).size(), std::size_t{2});
        RankActivity activity{RankId{3}, {}};
        activity.columns.resize(2 * kTileColumns);
        activity.columns[kTileColumns + 1].compute = 0.5f;
        cache.insertActivity(span, std::vector<RankActivity>{activity});
        QCOMPARE(cache.missingActivity(span, ranks), (std::vector<RankId>{RankId{0}}));
        Coverage coverage = Coverage::Missing;
        const auto pieces = cache.activity(RankId{3}, {Instant{kTile}, Instant{2 * kTile}}, 0, coverage);
        QCOMPARE(coverage, Coverage::Exact);
        QCOMPARE(pieces.size(), std::size_t{1});
        QCOMPARE(pieces[0].columns[1].compute, 0.5f);
        // A rank's activity and a track of the same number are different things.
        QCOMPARE(cache.pieces(TrackId{3}, {Instant{0}, Instant{10}}, 0).coverage, Coverage::Missing);
    }

    void forgetsTheLongestUnseenFirst()
    {
        TileCache cache;
        cache.reset(Instant{0});
        std::vector<SliceView> many;
        for (int i = 0; i < 200; ++i) many.push_back(slice(i, i, 1));
        cache.insert({{0, 0, 0}, oneTrack()}, window(many));
        const auto one = cache.bytes();
        for (auto& each : many) each.start = each.start + Duration{kTile};
        cache.insert({{0, 1, 1}, oneTrack()}, window(many));
        QVERIFY(cache.bytes() > one);
        (void)cache.pieces(TrackId{0}, {Instant{0}, Instant{10}}, 0);
        cache.trim(one);
        QCOMPARE(cache.pieces(TrackId{0}, {Instant{0}, Instant{10}}, 0).coverage, Coverage::Exact);
        QCOMPARE(cache.pieces(TrackId{0}, {Instant{kTile}, Instant{kTile + 10}}, 0).coverage, Coverage::Missing);
        cache.trim(0);
        QCOMPARE(cache.bytes(), std::size_t{0});
    }
};

FOURWALLS_TEST(TileCacheTest, QCoreApplication)

} // namespace tst_tile_cache

#include "tst_tile_cache.moc"
