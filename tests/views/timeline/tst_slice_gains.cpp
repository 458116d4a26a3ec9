// SPDX-License-Identifier: GPL-3.0-or-later
// What a step would gain if the selected slice were better: against times worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"
#include "views/session/trace_session.h"
#include "views/timeline/slice_gains.h"
#include "views/whatif/replayer.h"
#include "views/words/format.h"

#include <QApplication>

namespace tst_slice_gains {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::views;

/// Rank 1 computes for 6 ms, rank 0 for 4 and waits; 2 ms of transfer; both update for 2 ms: 10 ms.
InMemoryTraceQuery unevenStep(TraceSource source)
{
    Builder b(2, headerOf(2, source));
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 10 * kMs);
        b.work(rank, "forward", Phase::Forward, 0, (rank == 0 ? 4 : 6) * kMs);
        b.collective(rank, (rank == 0 ? 4 : 6) * kMs, 6 * kMs, 8 * kMs);
        b.work(rank, "adam", Phase::Optimizer, 8 * kMs, 10 * kMs);
    }
    return b.finish();
}

class SliceGainsTest : public QObject {
    Q_OBJECT

    static QStringList texts(const std::vector<SliceFact>& facts)
    {
        QStringList all;
        for (const SliceFact& fact : facts) {
            QString text = fact.label + QStringLiteral(": ") + fact.value;
            all << text.replace(kThinSpace, QLatin1Char(' '));
        }
        return all;
    }

private slots:
    void aKernelALinkAndARank()
    {
        const InMemoryTraceQuery trace = unevenStep(TraceSource::Recorded);
        TraceSession session(
            [data = trace](const QString&) -> Result<std::unique_ptr<TraceQuery>> {
                return std::unique_ptr<TraceQuery>(std::make_unique<InMemoryTraceQuery>(data));
            },
            QStringLiteral("a.fourwalls"));
        QTRY_VERIFY(session.isOpen());
        Replayer replayer;
        replayer.setSession(&session);
        SliceContext context;
        context.trace = &session.info();
        const auto around = std::make_shared<SliceSurroundings>();
        context.around = around;
        SelectedSlice kernel;
        for (const SliceView& slice : trace.data().slices) {
            const TrackView& track = session.tracks()[static_cast<std::size_t>(slice.track.value)];
            if (track.info.rank != RankId{1} ||
                trace.data().ops[static_cast<std::size_t>(slice.op.value)]->name != "forward")
                continue;
            kernel = {slice, trace.data().ops[static_cast<std::size_t>(slice.op.value)]};
            context.track = &track;
        }
        QVERIFY(context.track);
        const QString trust = QStringLiteral("how far to trust it: unchanged, this replay of step 0 is 0 % off");
        // Nothing is known at first; asking is enough. Halved: 3 ms and 4 behind it. Rank 1 takes the mean of 4 and 6.
        QVERIFY(gainFacts(kernel, context, replayer).empty());
        QTRY_COMPARE(
            texts(gainFacts(kernel, context, replayer)),
            (QStringList{"all of this name in half the time: step 30 % shorter, replayed (40 % measured, 60 % scaled)",
                         "rank 1 like the mean: step 10 % shorter, replayed (100 % measured)", trust}));
        // Of an operation the links: 1 ms of transfer instead of 2.
        SelectedSlice transfer = kernel;
        auto op = std::make_shared<OpInfo>();
        op->name = "all-reduce";
        op->kind = SliceKind::Collective;
        op->activity = Activity::Transfer;
        transfer.op = op;
        around->collective = trace.data().collectives.front().record;
        QTRY_COMPARE(texts(gainFacts(transfer, context, replayer)),
                     (QStringList{"links of dp twice as fast: step 10 % shorter, replayed (80 % measured, 20 % scaled)",
                                  "rank 1 like the mean: step 10 % shorter, replayed (100 % measured)", trust}));
        // What the replayed step does not hold cannot be said, with the reason.
        around->collective.reset();
        op = std::make_shared<OpInfo>(*kernel.op);
        op->name = "elsewhere";
        transfer.op = op;
        QTRY_VERIFY(!gainFacts(transfer, context, replayer).empty());
        const QString text = texts(gainFacts(transfer, context, replayer)).front();
        QVERIFY2(text.startsWith(QLatin1String("all of this name in half the time: cannot be said: ")),
                 qPrintable(text));
        // Structure is nothing that could be quicker, and a prediction was not measured.
        op = std::make_shared<OpInfo>(*kernel.op);
        op->kind = SliceKind::Phase;
        transfer.op = op;
        QVERIFY(gainFacts(transfer, context, replayer).empty());
        TraceInfo predicted = session.info();
        predicted.header.source = TraceSource::Predicted;
        context.trace = &predicted;
        QVERIFY(gainFacts(kernel, context, replayer).empty());
    }
};

FOURWALLS_TEST(SliceGainsTest, QApplication)

} // namespace tst_slice_gains

#include "tst_slice_gains.moc"
