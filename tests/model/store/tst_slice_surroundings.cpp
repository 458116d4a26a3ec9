// SPDX-License-Identifier: Apache-2.0
// What surrounds a slice against all pairs of rows of a random trace, and its place among its namesakes against SQL.
#include "model/store/trace_file.h"
#include "model/store/trace_writer.h"
#include "model/trace/longest_slice.h"
#include "model/trace/range_summaries.h"
#include "model/trace/slice_reduction.h"
#include "model/trace/slice_surroundings.h"
#include "model/trace/user_query.h"
#include "tests/model/store/random_trace.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <map>
#include <set>

namespace tst_slice_surroundings {

using namespace fourwalls;

class SliceSurroundingsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::RandomTraceSize size;
        size.slicesPerTrack = 500;
        size.allocationsPerRank = 100;
        const std::string path = m_folder.filePath("random.fourwalls").toStdString();
        test::RandomTrace random(21, size);
        auto writer = store::TraceWriter::create(path, random.header());
        QVERIFY(writer.ok());
        random.write(**writer);
        QVERIFY((*writer)->finish(random.closing()).ok());
        auto opened = store::openTrace(path);
        QVERIFY(opened.ok());
        m_trace = std::move(*opened);
        QVERIFY(m_trace
                    ->scanSlices([&](const SliceView& slice) {
                        m_slices[slice.track].push_back(slice);
                        return true;
                    })
                    .ok());
    }

    void parentsAndChildren()
    {
        for (const SliceView& slice : sample(150)) {
            const auto found = sliceSurroundings(*m_trace, named(slice));
            QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
            std::set<std::int64_t> parents, expected;
            int lane = -1;
            for (const NamedSlice& parent : found->parents) {
                QVERIFY(parent.op && parent.slice.lane > lane); // outermost first
                lane = parent.slice.lane;
                parents.insert(parent.slice.id.value);
            }
            std::int64_t children = 0;
            Duration longest;
            for (const SliceView& other : m_slices[slice.track]) {
                if (contains(other, slice)) expected.insert(other.id.value);
                const SliceView* parent = parentOf(other);
                if (!parent || parent->id != slice.id) continue;
                ++children;
                longest = std::max(longest, other.duration);
            }
            QCOMPARE(parents, expected);
            QCOMPARE(found->childCount, children);
            QVERIFY(found->self.has_value());
            QVERIFY(*found->self <= slice.duration && found->self->ns >= 0);
            if (children > 0) QCOMPARE(found->children.front().slice.duration.ns, longest.ns);
            QVERIFY(found->aliveBytes.has_value());
            std::optional<Instant> ended;
            for (const SliceView& other : m_slices[slice.track])
                if (other.lane == slice.lane && other.start < slice.start)
                    ended = std::max(ended.value_or(other.end()), other.end());
            QCOMPARE(found->emptyBefore.has_value(), ended.has_value());
            if (ended) QCOMPARE(found->emptyBefore->ns, (slice.start - *ended).ns);
        }
    }

    void arrowsEndOnTheDeepestSlice()
    {
        int checked = 0;
        for (const SliceView& slice : sample(200)) {
            const auto found = sliceSurroundings(*m_trace, named(slice));
            QVERIFY(found.ok());
            for (const SliceArrow& arrow : found->arrows) {
                const auto right = [&](TrackId track, Instant at, const std::optional<NamedSlice>& end) {
                    const SliceView* deepest = nullptr;
                    for (const SliceView& each : m_slices[track]) {
                        const bool there = each.start <= at && (each.end() > at || each.start == at);
                        if (there && (!deepest || each.lane > deepest->lane)) deepest = &each;
                    }
                    if (!deepest) return !end || end->slice.end() <= at;
                    ++checked;
                    return end && end->slice.lane == deepest->lane && end->slice.start <= at;
                };
                QVERIFY(right(arrow.flow.fromTrack, arrow.flow.from, arrow.from));
                QVERIFY(right(arrow.flow.toTrack, arrow.flow.to, arrow.to));
            }
        }
        QVERIFY(checked > 0);
    }

    void namesakesEqualSql()
    {
        for (const SliceView& slice : sample(60)) {
            const auto place = placeAmongNamesakes(*m_trace, named(slice));
            QVERIFY2(place.ok(), place.ok() ? "" : place.error().message().c_str());
            UserQuery query;
            query.text =
                QString("WITH a AS (SELECT s.id, s.start, s.dur FROM slice s JOIN run r ON r.id=s.run JOIN op o ON "
                        "o.id=s.op WHERE r.track=%1 AND o.name=(SELECT name FROM op WHERE id=%2)) SELECT "
                        "(SELECT count(*) FROM a), (SELECT count(*) FROM a WHERE dur<%3), (SELECT dur FROM a "
                        "ORDER BY dur LIMIT 1 OFFSET ((SELECT count(*) FROM a)+1)/2-1), (SELECT count(*) FROM "
                        "a WHERE start<%4), (SELECT count(*) FROM a WHERE start<=%4)")
                    .arg(slice.track.value)
                    .arg(slice.op.value)
                    .arg(slice.duration.ns)
                    .arg(slice.start.ns)
                    .toStdString();
            const auto sql = askInSql(*m_trace, query);
            QVERIFY2(sql.ok(), sql.ok() ? "" : sql.error().message().c_str());
            const auto value = [&](std::size_t column) { return std::get<std::int64_t>(sql->rows[0][column]); };
            QCOMPARE(place->count, value(0));
            QCOMPARE(place->shorter, value(1));
            QCOMPARE(place->median.ns, value(2));
            QVERIFY(place->position > value(3) && place->position <= value(4));
            QCOMPARE(place->previous.has_value(), place->position > 1);
            QCOMPARE(place->next.has_value(), place->position < place->count);
            if (place->next) QVERIFY(place->next->start >= slice.start);
            if (place->previous) QVERIFY(place->previous->start <= slice.start);
        }
    }

    void namesakesFromSumsAreThoseOfTheRows()
    {
        SummaryLimits limits;
        limits.blocks = {16, 1};
        RangeSummaries sums;
        QVERIFY(summarize(*m_trace, sums, {}, limits).ok());
        const auto idOf = [](const std::optional<SliceView>& slice) { return slice ? slice->id.value : -1; };
        int withNeighbours = 0;
        for (const SliceView& slice : sample(300)) {
            const auto rows = placeAmongNamesakes(*m_trace, named(slice)),
                       quick = placeAmongNamesakes(*m_trace, named(slice), &sums);
            QVERIFY2(rows.ok() && quick.ok(), quick.ok() ? "" : quick.error().message().c_str());
            QCOMPARE(quick->count, rows->count);
            QCOMPARE(quick->position, rows->position);
            QCOMPARE(quick->median.ns, rows->median.ns);
            QCOMPARE(quick->shorter, rows->shorter);
            QCOMPARE(idOf(quick->previous), idOf(rows->previous));
            QCOMPARE(idOf(quick->next), idOf(rows->next));
            withNeighbours += rows->previous && rows->next ? 1 : 0;
        }
        QVERIFY(withNeighbours > 50);
    }

    void theLongestIsFound()
    {
        const std::set<SliceKind> kinds{SliceKind::Kernel, SliceKind::Operator};
        const auto isWanted = [&](const OpInfo& op) { return kinds.contains(op.kind); };
        const TimeRange all = m_trace->info().range;
        int found = 0;
        for (const SliceView& at : sample(60)) {
            // Ranges around some slices, short and long.
            for (const std::int64_t part : {1, 20, 3000}) {
                const Duration half{std::max<std::int64_t>(all.length().ns / part / 2, 2)};
                const TimeRange range = TimeRange{at.start - half, at.start + half}.intersected(all);
                const std::vector<TrackId> tracks{at.track};
                const auto longest = longestSlice(*m_trace, tracks, range, isWanted);
                QVERIFY2(longest.ok(), longest.ok() ? "" : longest.error().message().c_str());
                std::optional<Duration> expected;
                for (const SliceView& slice : m_slices[at.track]) {
                    const NamedSlice each = named(slice);
                    if (each.op && isWanted(*each.op) && isVisible(slice, range))
                        expected = std::max(expected.value_or(Duration{}), slice.duration);
                }
                QCOMPARE(longest->has_value(), expected.has_value());
                if (!expected) continue;
                ++found;
                QCOMPARE((*longest)->slice.duration.ns, expected->ns);
            }
        }
        QVERIFY(found > 50);
    }

    void strangersAreRefused()
    {
        NamedSlice none = named(m_slices.begin()->second.front());
        none.slice.track = TrackId{77};
        QCOMPARE(sliceSurroundings(*m_trace, none).error().code, ErrorCode::NotFound);
        QCOMPARE(placeAmongNamesakes(*m_trace, none).error().code, ErrorCode::NotFound);
    }

private:
    NamedSlice named(const SliceView& slice)
    {
        const auto op = m_trace->op(slice.op);
        return {slice, op.ok() ? *op : nullptr};
    }

    static bool contains(const SliceView& outer, const SliceView& inner)
    {
        return outer.lane < inner.lane && outer.start <= inner.start &&
               outer.end() >= std::max(inner.end(), inner.start + Duration{1});
    }

    const SliceView* parentOf(const SliceView& slice)
    {
        const SliceView* parent = nullptr;
        for (const SliceView& each : m_slices[slice.track])
            if (contains(each, slice) && (!parent || each.lane > parent->lane)) parent = &each;
        return parent;
    }

    std::vector<SliceView> sample(std::size_t count)
    {
        std::vector<SliceView> chosen;
        const std::vector<TrackView>& tracks = m_trace->tracks();
        while (chosen.size() < count) {
            const auto& all = m_slices[tracks[m_random() % tracks.size()].id];
            chosen.push_back(all[m_random() % all.size()]);
        }
        return chosen;
    }

    QTemporaryDir m_folder{test::folderTemplate()};
    std::unique_ptr<TraceQuery> m_trace;
    std::map<TrackId, std::vector<SliceView>> m_slices;
    std::mt19937_64 m_random{3};
};

FOURWALLS_TEST(SliceSurroundingsTest, QCoreApplication)

} // namespace tst_slice_surroundings

#include "tst_slice_surroundings.moc"
