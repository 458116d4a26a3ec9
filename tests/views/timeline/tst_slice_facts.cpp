// SPDX-License-Identifier: GPL-3.0-or-later
// The facts of a slice: rates from work and duration, what is unknown is left out.
#include "tests/support/test_program.h"
#include "views/timeline/slice_facts.h"
#include "views/words/format.h"

#include <QtTest>

namespace tst_slice_facts {

using namespace fourwalls;
using namespace fourwalls::views;

class SliceFactsTest : public QObject {
    Q_OBJECT

    static QString value(const SliceFacts& facts, const QString& label)
    {
        for (const auto& fact : facts.facts)
            if (fact.label == label) return QString(fact.value).replace(kThinSpace, QLatin1Char(' '));
        return {};
    }

    static SelectedSlice matmul()
    {
        auto op = std::make_shared<OpInfo>();
        op->name = "sgemm";
        op->kind = SliceKind::Kernel;
        op->phase = Phase::Forward;
        op->activity = Activity::Compute;
        op->layer = LayerIndex{23};
        op->flops = 2e9;
        op->bytes = 50'000'000;
        op->detail = "m=1 n=2 k=3";
        SelectedSlice result;
        result.slice.start = Instant{5'250'000};
        result.slice.duration = Duration{100'000};
        result.slice.microbatch = Microbatch{5};
        result.op = op;
        return result;
    }

    static CollectiveRecord reduceScatter()
    {
        CollectiveRecord record;
        record.start = Instant{1000};
        record.lastArrival = Instant{1'103'000};
        record.end = Instant{3'103'000};
        record.operation = CollectiveOp::ReduceScatter;
        record.group = GroupId{0};
        record.sequence = 1184;
        record.payloadBytes = 256'000'000;
        record.wireBytes = 192'000'000;
        record.algorithm = "ring";
        record.protocol = "LL";
        return record;
    }

private slots:
    void ratesFollowFromWorkAndDuration()
    {
        TraceInfo trace;
        trace.closing.peakFlopsPerDevice = 1e14;
        TrackView track{TrackId{0}, {RankId{2}, TrackKind::ComputeStream, "stream 7", 0}, 1, 1};
        SliceContext context;
        context.trace = &trace;
        context.track = &track;
        context.step = StepSpan{{Instant{5'000'000}, Instant{9'000'000}}, StepIndex{11}, StepState::Measured};
        const SliceFacts facts = factsOf(matmul(), context, ByteUnit::GB);
        QCOMPARE(facts.title, QStringLiteral("sgemm"));
        QVERIFY(facts.chips.contains(QStringLiteral("stream 7")));
        QVERIFY(facts.chips.contains(QStringLiteral("layer 23")));
        QVERIFY(facts.chips.contains(QStringLiteral("micro-batch 5")));
        QCOMPARE(value(facts, "duration"), QString::fromUtf8("100 \u00b5s"));
        QCOMPARE(value(facts, "starts"), QString::fromUtf8("250 \u00b5s into step 11"));
        QCOMPARE(value(facts, "achieved"), QStringLiteral("20 TFLOP/s (20 % of peak)")); // 2e9 / 1e-4
        QCOMPARE(value(facts, "bandwidth"), QStringLiteral("500 GB/s"));                 // 5e7 / 1e-4
        QCOMPARE(value(facts, "intensity"), QStringLiteral("40 FLOP/B"));
        QVERIFY(facts.asText().contains(QStringLiteral("m=1 n=2 k=3")));
    }

    void whyHere()
    {
        // launch -> kernel, three calls deep; the second of three of its name, twice their median.
        const auto named = [](const char* name, SliceKind kind, int track, int lane, std::int64_t start,
                              std::int64_t duration, std::int64_t id) {
            auto op = std::make_shared<OpInfo>();
            op->name = name;
            op->kind = kind;
            NamedSlice slice;
            slice.slice.id = SliceId{id};
            slice.slice.track = TrackId{track};
            slice.slice.lane = lane;
            slice.slice.start = Instant{start};
            slice.slice.duration = Duration{duration};
            slice.op = op;
            return slice;
        };
        SelectedSlice kernel = matmul();
        kernel.slice.id = SliceId{7};
        kernel.slice.track = TrackId{1};
        const std::vector<TrackView> tracks{{TrackId{0}, {RankId{2}, TrackKind::CpuThread, "thread 17", 0}, 3, 9},
                                            {TrackId{1}, {RankId{2}, TrackKind::ComputeStream, "stream 7", 1}, 1, 9}};
        SliceSurroundings around;
        const NamedSlice launch = named("cudaLaunchKernel", SliceKind::HostCall, 0, 2, 5'000'000, 10'000, 3);
        around.arrows.push_back({{"launch", TrackId{0}, Instant{5'000'000}, TrackId{1}, kernel.slice.start},
                                 launch,
                                 NamedSlice{kernel.slice, kernel.op}});
        around.launchParents = {named("train.py(12): main", SliceKind::Operator, 0, 0, 0, 9'000'000, 1),
                                named("aten::mm", SliceKind::Operator, 0, 1, 4'990'000, 50'000, 2)};
        around.aliveBytes = 61'200'000'000;
        NamesakePlace place;
        place.count = 3;
        place.position = 2;
        place.median = Duration{50'000};
        place.next = kernel.slice;
        place.next->id = SliceId{9};
        TraceInfo trace;
        trace.header.ranks.resize(1);
        trace.header.ranks[0].rank = RankId{2};
        trace.header.ranks[0].memoryBytes = 80'000'000'000;
        SliceContext context;
        context.trace = &trace;
        context.track = &tracks[1];
        context.tracks = &tracks;
        context.around = std::make_shared<const SliceSurroundings>(around);
        context.place = std::make_shared<const NamesakePlace>(place);
        const SliceFacts facts = factsOf(kernel, context, ByteUnit::GB);
        QCOMPARE(value(facts, "duration"), QString::fromUtf8("100 \u00b5s (median 50 \u00b5s: 2 times)"));
        QCOMPARE(value(facts, "launched by"), QString::fromUtf8("cudaLaunchKernel on thread 17, 250 \u00b5s before"));
        QCOMPARE(value(facts, "queued"), QString::fromUtf8("240 \u00b5s"));
        QCOMPARE(value(facts, "called from"), QString::fromUtf8("aten::mm \u203a main \u00b7 train.py:12"));
        QCOMPARE(value(facts, "memory then"), QStringLiteral("61.2 GB of 80 GB"));
        QCOMPARE(facts.place, QStringLiteral("2 of 3 of its name here"));
        QVERIFY(facts.previous.isEmpty());
        QCOMPARE(facts.next, QStringLiteral("slice:9"));
        const auto by = std::find_if(facts.facts.begin(), facts.facts.end(),
                                     [](const SliceFact& fact) { return fact.label == QLatin1String("launched by"); });
        QCOMPARE(by->parts.front().link, QStringLiteral("slice:3"));
    }

    void membersSayWhoCameLast()
    {
        SliceSurroundings around;
        around.members = {{RankId{3}, TrackId{5}, Instant{100}, Instant{900}},
                          {RankId{0}, TrackId{1}, Instant{150}, Instant{900}},
                          {RankId{1}, TrackId{2}, Instant{650}, Instant{900}}};
        SliceContext context;
        context.around = std::make_shared<const SliceSurroundings>(around);
        const SliceFacts facts = factsOf(matmul(), context, ByteUnit::GB);
        const QString members = value(facts, "members");
        QVERIFY2(members.startsWith(QStringLiteral("rank 1 came last, by 500 ns, rank 3 +0")), qPrintable(members));
        QVERIFY2(members.endsWith(QStringLiteral("rank 1 +550 ns")), qPrintable(members));
    }

    void unknownIsLeftOut()
    {
        SelectedSlice bare;
        bare.slice.start = Instant{10};
        const SliceFacts facts = factsOf(bare, {}, ByteUnit::GB);
        QVERIFY(!facts.title.isEmpty());
        for (const char* label : {"achieved", "bandwidth", "work", "memory", "waited", "starts"})
            QVERIFY2(value(facts, QLatin1String(label)).isEmpty(), label);
    }

    void aSliceWithoutLengthHasNoRates()
    {
        SelectedSlice mark = matmul();
        mark.slice.duration = Duration{0};
        const SliceFacts facts = factsOf(mark, {}, ByteUnit::GB);
        QVERIFY(value(facts, "achieved").isEmpty());
        QVERIFY(!value(facts, "work").isEmpty());
    }

    void collectivesTellWaitingFromTransfer()
    {
        TraceInfo trace;
        trace.groups.push_back({"dp", {RankId{0}, RankId{1}, RankId{2}, RankId{3}}, "nccl"});
        trace.header.ranks.resize(4);
        for (int rank = 0; rank < 4; ++rank) trace.header.ranks[static_cast<std::size_t>(rank)].rank = RankId{rank};
        SliceSurroundings around;
        around.collective = reduceScatter();
        SliceContext context;
        context.trace = &trace;
        context.around = std::make_shared<const SliceSurroundings>(around);
        const SliceFacts facts = factsOf(matmul(), context, ByteUnit::GB);
        QCOMPARE(value(facts, "waited"), QStringLiteral("1.102 ms"));
        QCOMPARE(value(facts, "transfer"), QStringLiteral("2 ms"));
        QCOMPARE(value(facts, "payload"), QStringLiteral("256 MB"));
        QCOMPARE(value(facts, "algbw"), QStringLiteral("128 GB/s")); // 256 MB / 2 ms
        QVERIFY(value(facts, "group").startsWith(QStringLiteral("dp, 4 ranks")));
        QCOMPARE(value(facts, "algorithm"), QStringLiteral("ring, LL"));
        trace.header.ranks.resize(1); // one of four: nobody knows when the others came
        const SliceFacts alone = factsOf(matmul(), context, ByteUnit::GB);
        QCOMPARE(value(alone, "wait + transfer"), QStringLiteral("3.102 ms"));
        QCOMPARE(value(alone, "in the trace"), QStringLiteral("1 of its 4 ranks"));
        for (const char* label : {"waited", "transfer", "algbw"})
            QVERIFY2(value(alone, QLatin1String(label)).isEmpty(), label);
        trace.groups.clear(); // a stranger's file may name any
        QVERIFY(value(factsOf(matmul(), context, ByteUnit::GB), "group").isEmpty());
    }
};

FOURWALLS_TEST(SliceFactsTest, QCoreApplication)

} // namespace tst_slice_facts

#include "tst_slice_facts.moc"
