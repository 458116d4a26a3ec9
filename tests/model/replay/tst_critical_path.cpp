// SPDX-License-Identifier: Apache-2.0
// The critical path on traces small enough to be worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/critical_path.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

namespace tst_critical_path {

using namespace fourwalls;
using namespace fourwalls::test;

class CriticalPathTest : public QObject {
    Q_OBJECT

private slots:
    void pathThroughTheSlowRank();
    void pathAlongMessages();
    void pathCoversTheStep();
    void recordsThatContradictEachOtherAreRefused();
};

void CriticalPathTest::pathThroughTheSlowRank()
{
    // Rank 1: forward 0..6, transfer 6..8, optimizer 8..10. Rank 0 does not matter.
    InMemoryTraceQuery trace = slowNeighbour();
    const CriticalPath path = *criticalPath(trace, {});
    QCOMPARE(path.segments.size(), std::size_t(3));
    QCOMPARE(path.jumps, std::int64_t(0));
    for (const PathSegment& segment : path.segments) QCOMPARE(segment.rank, RankId{1});
    QCOMPARE(path.segments[0].range, (TimeRange{Instant{0}, Instant{6 * kMs}}));
    QCOMPARE(path.segments[0].phase, Phase::Forward);
    QCOMPARE(path.segments[1].part, PathPart::Transfer);
    QCOMPARE(path.segments[1].range, (TimeRange{Instant{6 * kMs}, Instant{8 * kMs}}));
    QCOMPARE(path.segments[2].phase, Phase::Optimizer);
    QCOMPARE(path.time(PathPart::Work), Duration{8 * kMs});
    QCOMPARE(path.byRank().front().first, RankId{1});
    const auto shares = path.shares();
    QCOMPARE(shares.front().kind.phase, Phase::Forward);
    QVERIFY(qAbs(shares.front().share - 0.6) < 1e-12);
}

void CriticalPathTest::pathAlongMessages()
{
    // Rank 0 computes 0..3 and sends; rank 1 receives 3..4, computes 4..7 and sends back; rank 0 receives 7..8, then a
    // gap, then works 9..10.
    Builder b(2);
    for (const int rank : {0, 1}) b.step(rank, 0, 0, (rank == 0 ? 10 : 7) * kMs);
    b.work(0, "f0", Phase::Forward, 0, 3 * kMs);
    b.collective(0, 3 * kMs, 3 * kMs, 4 * kMs, 0, CollectiveOp::Send, RankId{1});
    b.collective(1, 0, 3 * kMs, 4 * kMs, 0, CollectiveOp::Receive, RankId{0});
    b.work(1, "f1", Phase::Forward, 4 * kMs, 7 * kMs);
    b.collective(1, 7 * kMs, 7 * kMs, 8 * kMs, 1, CollectiveOp::Send, RankId{0});
    b.collective(0, 4 * kMs, 7 * kMs, 8 * kMs, 1, CollectiveOp::Receive, RankId{1});
    b.work(0, "b0", Phase::BackwardInput, 9 * kMs, 10 * kMs);
    InMemoryTraceQuery trace = b.finish();
    const CriticalPath path = *criticalPath(trace, {});
    QCOMPARE(path.segments.size(), std::size_t(6));
    const int ranks[] = {0, 1, 1, 0, 0, 0};
    const PathPart parts[] = {PathPart::Work,     PathPart::Transfer, PathPart::Work,
                              PathPart::Transfer, PathPart::Gap,      PathPart::Work};
    for (std::size_t i = 0; i < 6; ++i) {
        QCOMPARE(path.segments[i].rank, RankId{ranks[i]});
        QCOMPARE(path.segments[i].part, parts[i]);
    }
    QCOMPARE(path.jumps, std::int64_t(2));
    QCOMPARE(path.time(PathPart::Gap), Duration{kMs});
}

void CriticalPathTest::pathCoversTheStep()
{
    // Ranks that work and meet at random: the segments lie end to end from the step's begin to its end.
    for (int seed = 1; seed <= 40; ++seed) {
        std::uint64_t state = static_cast<std::uint64_t>(seed) * 2654435761u;
        const auto next = [&](int below) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
        };
        Builder b(3);
        std::int64_t now[3] = {next(20), next(20), next(20)};
        for (int i = 0; i < 12; ++i) {
            std::int64_t last = 0;
            for (int rank = 0; rank < 3; ++rank) {
                const std::int64_t start = now[rank] + next(5);
                now[rank] = start + 1 + next(90);
                b.work(rank, "k" + std::to_string(next(4)), Phase(1 + next(3)), start, now[rank]);
                last = std::max(last, now[rank]);
            }
            const std::int64_t moving = 1 + next(60);
            for (int rank = 0; rank < 3; ++rank) {
                b.collective(rank, now[rank], last, last + moving, i);
                now[rank] = last + moving;
            }
        }
        for (int rank = 0; rank < 3; ++rank) b.step(rank, 0, 0, now[rank] + next(50));
        InMemoryTraceQuery trace = b.finish();
        const auto found = criticalPath(trace, {});
        QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
        const CriticalPath& path = *found;
        QVERIFY(!path.segments.empty());
        QCOMPARE(path.segments.front().range.begin, path.window.range.begin);
        QCOMPARE(path.segments.back().range.end, path.window.range.end);
        for (std::size_t i = 1; i < path.segments.size(); ++i)
            QCOMPARE(path.segments[i].range.begin, path.segments[i - 1].range.end);
        double shares = 0;
        for (const PathShare& share : path.shares()) shares += share.share;
        QVERIFY(qAbs(shares - 1) < 1e-9);
    }
}

void CriticalPathTest::recordsThatContradictEachOtherAreRefused()
{
    // Two operations that the ranks call in different orders would never have ended.
    Builder b(2);
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 10 * kMs);
        b.collective(rank, 1 * kMs, 1 * kMs, 3 * kMs, rank);
        b.collective(rank, 5 * kMs, 5 * kMs, 7 * kMs, 1 - rank);
    }
    InMemoryTraceQuery trace = b.finish();
    const auto path = criticalPath(trace, {});
    QVERIFY(!path.ok());
    QVERIFY2(path.error().what.find("waits for") != std::string::npos, path.error().message().c_str());
}

FOURWALLS_TEST(CriticalPathTest, QCoreApplication)

} // namespace tst_critical_path

#include "tst_critical_path.moc"
