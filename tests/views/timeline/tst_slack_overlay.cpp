// SPDX-License-Identifier: GPL-3.0-or-later
// What of a step the timeline shows pale: slack of a job worked out by hand, and its columns of pixels.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/replay/step_slack.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "views/timeline/slack_overlay.h"

namespace tst_slack_overlay {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::views;

class SlackOverlayTest : public QObject {
    Q_OBJECT

private slots:
    void slackByHand();
    void columns();
};

void SlackOverlayTest::slackByHand()
{
    // Rank 1 computes for 6 ms, rank 0 for 4: it could take 2 ms longer. Then both meet, and both update for 2 ms.
    Builder b(2, headerOf(2, TraceSource::Recorded));
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 10 * kMs);
        b.work(rank, "forward", Phase::Forward, 0, (rank == 0 ? 4 : 6) * kMs);
        b.collective(rank, (rank == 0 ? 4 : 6) * kMs, 6 * kMs, 8 * kMs);
        b.work(rank, "adam", Phase::Optimizer, 8 * kMs, 10 * kMs);
    }
    InMemoryTraceQuery trace(b.finish());
    const auto slack = stepSlack(trace, std::nullopt);
    QVERIFY2(slack.ok(), slack.ok() ? "" : slack.error().message().c_str());
    QCOMPARE(slack->least().ns, std::int64_t(10'000));
    std::map<std::pair<int, std::int64_t>, const SlackPiece*> pieces; // by rank and start
    for (const SlackPiece& piece : slack->pieces)
        for (const TrackView& track : trace.tracks())
            if (track.id == piece.track) pieces[{track.info.rank.value, piece.range.begin.ns / kMs}] = &piece;
    const auto at = [&](int rank, std::int64_t ms) { return pieces.at({rank, ms}); };
    QCOMPARE(at(0, 0)->slack.milliseconds(), 2.0);
    QVERIFY(!at(0, 0)->onPath);
    QCOMPARE(at(1, 0)->slack.ns, std::int64_t(0));
    QVERIFY(at(1, 0)->onPath);
    QCOMPARE(at(0, 8)->slack.ns, std::int64_t(0));
    QCOMPARE(slackOfSlice(*slack, at(0, 0)->track, 0, {Instant{0}, Instant{4 * kMs}}), at(0, 0));
    QVERIFY(!slackOfSlice(*slack, at(0, 0)->track, 0, {Instant{0}, Instant{3 * kMs}}));
}

void SlackOverlayTest::columns()
{
    const TrackId track{3};
    const auto piece = [&](std::int64_t begin, std::int64_t end, std::int64_t slack, bool onPath) {
        return SlackPiece{track, 0, {Instant{begin}, Instant{end}}, Duration{slack}, onPath};
    };
    const std::vector<SlackPiece> pieces{piece(0, 20, 50, false), piece(20, 22, 0, true), piece(22, 40, 60, false),
                                         piece(60, 80, 1, false)};
    // Ten columns of ten: the short piece of the path rules the column that it is in.
    const auto columns = slackColumns(pieces, Duration{5}, {Instant{0}, Instant{100}}, 10);
    const std::vector<SlackColumn> expected{
        SlackColumn::Pale,    SlackColumn::Pale,  SlackColumn::Path,  SlackColumn::Pale,    SlackColumn::Nothing,
        SlackColumn::Nothing, SlackColumn::Tight, SlackColumn::Tight, SlackColumn::Nothing, SlackColumn::Nothing};
    QVERIFY(columns == expected);
    QVERIFY(slackColumns(pieces, Duration{5}, {Instant{0}, Instant{0}}, 0).empty());
}

FOURWALLS_TEST(SlackOverlayTest, QCoreApplication)

} // namespace tst_slack_overlay

#include "tst_slack_overlay.moc"
