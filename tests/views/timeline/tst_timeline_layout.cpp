// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of the timeline: order, folding, pinning, hiding, and which rows a viewport touches.
#include "tests/support/test_program.h"
#include "views/timeline/timeline_layout.h"

#include <QtTest>

namespace tst_timeline_layout {

using namespace fourwalls;
using namespace fourwalls::views;

class TimelineLayoutTest : public QObject {
    Q_OBJECT

    static TrackView track(int id, int rank, TrackKind kind, int order, int lanes = 1, std::int64_t slices = 5)
    {
        return {TrackId{id}, {RankId{rank}, kind, std::string("t").append(std::to_string(id)), order}, lanes, slices};
    }

    static std::vector<TrackView> twoRanks()
    {
        return {track(0, 1, TrackKind::ComputeStream, 2), track(1, 1, TrackKind::Steps, 0),
                track(2, 0, TrackKind::Operators, 1, 3), track(3, 0, TrackKind::Steps, 0),
                track(4, 0, TrackKind::CopyStream, 3, 1, 0)};
    }

    static QStringList describe(const std::vector<TimelineRow>& rows)
    {
        QStringList result;
        for (const auto& row : rows) {
            const char* kinds[] = {"head", "activity", "track"};
            QString text =
                QStringLiteral("%1 r%2").arg(QLatin1String(kinds[static_cast<int>(row.kind)])).arg(row.rank.value);
            if (row.track) text += QStringLiteral(" t%1").arg(row.track->value);
            result << text;
        }
        return result;
    }

private slots:
    void countersLieBelowTheTracksOfTheirRank()
    {
        const std::vector<CounterTrack> counters{{CounterId{0}, std::nullopt},
                                                 {CounterId{1}, RankId{0}},
                                                 {CounterId{2}, RankId{1}},
                                                 {CounterId{3}, RankId{0}}};
        TimelineArrangement arrangement;
        arrangement.hiddenCounters = {CounterId{3}};
        const auto layout = layoutTimeline(twoRanks(), arrangement, 600, counters);
        std::vector<std::pair<int, int>> found; // counter, rank of the row above (-1: none)
        for (std::size_t i = 0; i < layout.rows.size(); ++i) {
            if (layout.rows[i].kind != TimelineRow::Kind::Counter) continue;
            QVERIFY(!layout.rows[i].track);
            found.emplace_back(layout.rows[i].counter.value, i == 0 ? -1 : layout.rows[i - 1].rank.value);
        }
        QCOMPARE(found, (std::vector<std::pair<int, int>>{{0, -1}, {1, 0}, {2, 1}}));
        for (std::size_t i = 1; i < layout.rows.size(); ++i) QVERIFY(layout.rows[i].top >= layout.rows[i - 1].bottom());
        arrangement.collapsed = {RankId{0}};
        const auto folded = layoutTimeline(twoRanks(), arrangement, 600, counters);
        for (const TimelineRow& row : folded.rows)
            if (row.kind == TimelineRow::Kind::Counter) QVERIFY(row.counter != CounterId{1}); // with its rank
    }

    static std::vector<TrackView> sameStreams()
    {
        std::vector<TrackView> tracks;
        for (int rank = 0; rank < 2; ++rank)
            for (int i = 0; i < 3; ++i) {
                TrackView view = track(3 * rank + i, rank, TrackKind::ComputeStream, i, 1 + i);
                view.info.name = std::string("stream ") + std::to_string(i);
                tracks.push_back(view);
            }
        return tracks;
    }

    void aStreamThatIsMovedMovesInEveryRank()
    {
        const std::vector<TrackView> tracks = sameStreams();
        const auto shown = [&](const TimelineArrangement& arrangement) {
            std::vector<int> order;
            for (const TimelineRow& row : layoutTimeline(tracks, arrangement, 600).rows)
                if (row.track) order.push_back(row.track->value);
            return order;
        };
        TimelineArrangement arrangement;
        QCOMPARE(shown(arrangement), (std::vector<int>{0, 1, 2, 3, 4, 5}));
        moveStream(arrangement, tracks, streamOf(tracks[2]), streamOf(tracks[0]));
        QCOMPARE(shown(arrangement), (std::vector<int>{2, 0, 1, 5, 3, 4}));
        moveStream(arrangement, tracks, streamOf(tracks[3]), std::nullopt); // of the other rank: the same stream
        QCOMPARE(shown(arrangement), (std::vector<int>{2, 1, 0, 5, 4, 3}));
        moveStream(arrangement, tracks, streamOf(tracks[1]), streamOf(tracks[1]));
        QCOMPARE(shown(arrangement), (std::vector<int>{2, 1, 0, 5, 4, 3}));
        arrangement.order = RowOrder::ByStream;
        QCOMPARE(shown(arrangement), (std::vector<int>{2, 5, 1, 4, 0, 3}));
        arrangement.streams.clear();
        QCOMPARE(shown(arrangement), (std::vector<int>{0, 3, 1, 4, 2, 5}));
    }

    void aRowThatIsPulledLeavesTheOthersAsTheyAre()
    {
        const std::vector<TrackView> tracks = sameStreams();
        for (const int room : {2000, 120}) { // rows that grow into the room, and rows without
            TimelineArrangement arrangement;
            const TimelineLayout before = layoutTimeline(tracks, arrangement, room);
            arrangement.streamHeight[streamOf(tracks[1])] = 200;
            const TimelineLayout after = layoutTimeline(tracks, arrangement, room);
            QCOMPARE(after.rows.size(), before.rows.size());
            for (std::size_t i = 0; i < after.rows.size(); ++i) {
                const TimelineRow &was = before.rows[i], &is = after.rows[i];
                const bool pulled = is.track == TrackId{1} || is.track == TrackId{4};
                if (pulled)
                    QVERIFY(is.laneHeight >= 2 * was.laneHeight - 1 && is.laneHeight <= 2 * was.laneHeight + 1);
                else
                    QCOMPARE(is.laneHeight, was.laneHeight);
                if (i > 0) QCOMPARE(is.top, after.rows[i - 1].bottom());
            }
        }
    }

    void ranksAscendAndTracksFollowTheirOrder()
    {
        const auto layout = layoutTimeline(twoRanks(), {}, 600);
        // The track of steps is the head of its rank; the empty copy stream is left out.
        QCOMPARE(describe(layout.rows), (QStringList{"head r0 t3", "track r0 t2", "head r1 t1", "track r1 t0"}));
        int y = 0;
        for (const auto& row : layout.rows) {
            QCOMPARE(row.top, y);
            y = row.bottom();
        }
        QCOMPARE(layout.height, y);
        QCOMPARE(layout.rows[1].lanes, 3);
        QVERIFY(layout.rows[1].height >= 3 * layout.rows[1].laneHeight);
    }

    void bracketsOfLanesDoNotOverlap()
    {
        const auto layout = layoutTimeline(twoRanks(), {}, 600);
        const auto& row = layout.rows[1];
        for (int lane = 1; lane < row.lanes; ++lane)
            QVERIFY(row.laneTop(lane - 1) + row.barHeight(lane - 1) < row.laneTop(lane) + 1);
        QVERIFY(row.laneTop(row.lanes - 1) + row.barHeight(row.lanes - 1) <= row.height);
    }

    void deepLanesOfCommunicationAreLow()
    {
        const std::vector<TrackView> tracks{track(0, 0, TrackKind::CommStream, 0, 5),
                                            track(1, 0, TrackKind::Operators, 1, 5)};
        const auto layout = layoutTimeline(tracks, {}, 600);
        const auto& communication = layout.rows[1];
        const auto& operators = layout.rows[2];
        QCOMPARE(communication.barHeight(1), communication.laneHeight - 1);
        QVERIFY(communication.barHeight(2) < communication.barHeight(1));
        QVERIFY(communication.height < operators.height);
        QCOMPARE(operators.barHeight(4), operators.barHeight(0));
        for (const auto& row : {communication, operators}) {
            for (int lane = 0; lane < row.lanes; ++lane) {
                QCOMPARE(row.laneAt(row.laneTop(lane)), lane);
                QCOMPARE(row.laneAt(row.laneTop(lane + 1) - 1), lane);
            }
            QCOMPARE(row.laneAt(-5), 0);
            QCOMPARE(row.laneAt(10'000), row.lanes - 1);
        }
    }

    void byStreamTheSameTrackOfAllRanksIsTogether()
    {
        std::vector<TrackView> tracks;
        for (int rank = 0; rank < 3; ++rank)
            for (int stream = 0; stream < 2; ++stream) {
                tracks.push_back(track(rank * 2 + stream, rank, TrackKind::ComputeStream, stream));
                tracks.back().info.name = stream == 0 ? "stream 7" : "stream 13";
            }
        tracks.push_back(track(6, 2, TrackKind::CopyStream, 2)); // only the last rank has it
        TimelineArrangement arrangement;
        arrangement.order = RowOrder::ByStream;
        arrangement.collapsed = {RankId{1}}; // of ranks, so without effect
        const auto layout = layoutTimeline(tracks, arrangement, 600);
        std::vector<int> order, groups;
        for (const TimelineRow& row : layout.rows) {
            QCOMPARE(row.kind, TimelineRow::Kind::Track);
            order.push_back(row.track->value);
            if (row.startsGroup) groups.push_back(row.track->value);
        }
        QCOMPARE(order, (std::vector<int>{0, 2, 4, 1, 3, 5, 6}));
        QCOMPARE(groups, (std::vector<int>{1, 6})); // nothing is above the first
        QCOMPARE(layout.rows[0].group, layout.rows[2].group);
        QVERIFY(layout.rows[0].group != layout.rows[3].group);
        // The numbers are those of the other order, too: colours stay when it changes.
        arrangement.order = RowOrder::ByRank;
        const auto byRank = layoutTimeline(tracks, arrangement, 600);
        QCOMPARE(byRank.rowOf(TrackId{5})->group, layout.rowOf(TrackId{5})->group);
        for (std::size_t i = 1; i < layout.rows.size(); ++i) QVERIFY(layout.rows[i].top >= layout.rows[i - 1].bottom());
    }

    void aFilterLeavesItsRowsAndTheirRanks()
    {
        TimelineArrangement arrangement;
        arrangement.filter = RowFilter{{TrackId{0}}, {CounterId{2}}};
        arrangement.collapsed = {RankId{1}}; // what is looked for is shown
        const std::vector<CounterTrack> counters{{CounterId{1}, RankId{1}}, {CounterId{2}, RankId{1}}};
        const auto layout = layoutTimeline(twoRanks(), arrangement, 600, counters);
        QCOMPARE(layout.rows.size(), std::size_t{3});
        QCOMPARE(layout.rows[0].kind, TimelineRow::Kind::Head);
        QVERIFY(!layout.rows[0].track); // its steps were not asked for
        QCOMPARE(layout.rows[1].track, std::optional(TrackId{0}));
        QCOMPARE(layout.rows[2].counter, CounterId{2});
        QCOMPARE(layout.hiddenTracks, 0);
        // A counter alone has its rank, too.
        arrangement.filter = RowFilter{{}, {CounterId{2}}};
        const auto alone = layoutTimeline(twoRanks(), arrangement, 600, counters);
        QCOMPARE(alone.rows.size(), std::size_t{2});
        QCOMPARE(alone.rows[0].rank, RankId{1});
        QCOMPARE(alone.rows[1].counter, CounterId{2});
        arrangement.filter = RowFilter{};
        QVERIFY(layoutTimeline(twoRanks(), arrangement, 600).rows.empty());
    }

    void rowsAreAsHighAsTheUserSays()
    {
        TimelineArrangement arrangement;
        const auto usual = layoutTimeline(twoRanks(), arrangement, 10);
        arrangement.heightPercent = 200;
        const auto high = layoutTimeline(twoRanks(), arrangement, 10);
        QCOMPARE(high.rows[1].laneHeight, 2 * usual.rows[1].laneHeight);
        arrangement.heightPercent = 50;
        const auto low = layoutTimeline(twoRanks(), arrangement, 5000); // no room is filled against his wish
        QCOMPARE(low.rows[1].laneHeight, usual.rows[1].laneHeight / 2);
        QVERIFY(low.rows[3].laneHeight >= 5);
    }

    void collapsedRanksAreOneRow()
    {
        TimelineArrangement arrangement;
        arrangement.collapsed = {RankId{0}};
        const auto layout = layoutTimeline(twoRanks(), arrangement, 600);
        QCOMPARE(describe(layout.rows), (QStringList{"activity r0", "head r1 t1", "track r1 t0"}));
        QVERIFY(!layout.rowOf(TrackId{2}));
        QVERIFY(layout.rowOf(TrackId{0}));
    }

    void manyCollapsedRanksGetFlatter()
    {
        std::vector<TrackView> tracks;
        TimelineArrangement arrangement;
        for (int rank = 0; rank < 256; ++rank) {
            tracks.push_back(track(rank, rank, TrackKind::ComputeStream, 0));
            arrangement.collapsed.insert(RankId{rank});
        }
        const auto many = layoutTimeline(tracks, arrangement, 800);
        const auto few = layoutTimeline(std::span(tracks).first(10), arrangement, 800);
        QCOMPARE(many.rows.size(), std::size_t{256});
        QVERIFY(many.rows[0].height < few.rows[0].height);
        QVERIFY(many.rows[0].laneHeight > 0);
    }

    void pinnedTracksLeaveTheirRank()
    {
        TimelineArrangement arrangement;
        arrangement.pinned = {TrackId{0}, TrackId{2}};
        arrangement.collapsed = {RankId{1}};
        const auto layout = layoutTimeline(twoRanks(), arrangement, 600);
        QCOMPARE(describe(layout.pinned), (QStringList{"track r1 t0", "track r0 t2"}));
        QCOMPARE(describe(layout.rows), (QStringList{"head r0 t3", "activity r1"}));
        QCOMPARE(layout.pinnedHeight, layout.pinned.back().bottom());
        QVERIFY(layout.rowOf(TrackId{0})->pinned);
    }

    void hiddenTracksAreCounted()
    {
        TimelineArrangement arrangement;
        arrangement.hidden = {TrackId{2}, TrackId{3}};
        arrangement.pinned = {TrackId{2}};
        const auto layout = layoutTimeline(twoRanks(), arrangement, 600);
        QCOMPARE(describe(layout.rows), (QStringList{"head r0", "head r1 t1", "track r1 t0"}));
        QVERIFY(layout.pinned.empty());
        QCOMPARE(layout.hiddenTracks, 2);
    }

    void lanesGrowIntoSpareRoomButNotBeyond()
    {
        const auto tight = layoutTimeline(twoRanks(), {}, 10);
        const auto roomy = layoutTimeline(twoRanks(), {}, tight.height * 5 / 4);
        const auto vast = layoutTimeline(twoRanks(), {}, 5000);
        QVERIFY(roomy.rows[1].laneHeight > tight.rows[1].laneHeight);
        QVERIFY(roomy.height <= tight.height * 5 / 4);
        QVERIFY(vast.rows[1].laneHeight > roomy.rows[1].laneHeight);
        QVERIFY(vast.rows[1].laneHeight < 2 * tight.rows[1].laneHeight);
    }

    void visibleRowsTouchTheViewport()
    {
        const auto layout = layoutTimeline(twoRanks(), {}, 600);
        QCOMPARE(layout.visible(0, layout.height).size(), layout.rows.size());
        const int edge = layout.rows[1].top;
        QCOMPARE(layout.visible(edge - 1, edge).size(), std::size_t{1});
        QCOMPARE(layout.visible(edge - 1, edge + 1).size(), std::size_t{2});
        QVERIFY(layout.visible(layout.height, layout.height + 100).empty());
    }

    void onlyLargeJobsStartCollapsed()
    {
        std::vector<TrackView> tracks;
        for (int rank = 0; rank < 8; ++rank) tracks.push_back(track(rank, rank, TrackKind::ComputeStream, 0));
        QVERIFY(initiallyCollapsed(tracks).empty());
        tracks.push_back(track(8, 8, TrackKind::ComputeStream, 0));
        const auto collapsed = initiallyCollapsed(tracks);
        QCOMPARE(collapsed.size(), std::size_t{8});
        QVERIFY(!collapsed.contains(RankId{0}));
    }
};

FOURWALLS_TEST(TimelineLayoutTest, QCoreApplication)

} // namespace tst_timeline_layout

#include "tst_timeline_layout.moc"
