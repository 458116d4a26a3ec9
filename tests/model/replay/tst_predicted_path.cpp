// SPDX-License-Identifier: Apache-2.0
// Predicted steps as graphs: critical path and slack of a pipeline of two stages, worked out by hand, and that the
// order of real ones explains their time.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/cost/cost_model.h"
#include "model/cost/predicted_step.h"
#include "model/replay/critical_path.h"
#include "model/replay/replay.h"
#include "model/replay/replayed_trace.h"
#include "model/replay/step_slack.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>

namespace tst_predicted_path {

using namespace fourwalls;
using namespace fourwalls::test;

/// Two stages, two micro-batches, one forward one backward, as a prediction writes them: a message is one record of its
/// sender. Forward 2 and 3 ms, backward 4 and 6 ms, messages 1 ms:
///   stage 0  F0 0-2, F1 2-4, B0 13-17, B1 22-26
///   stage 1  F0 3-6, B0 6-12, F1 12-15, B1 15-21
InMemoryTraceQuery twoStages(TraceSource source)
{
    TraceHeader header = headerOf(2, source);
    header.ranks[1].pipelineStage = 1;
    Builder b(2, header);
    const auto slice = [&](TrackId track, const char* name, SliceKind kind, Phase phase, Activity activity, int batch,
                           std::int64_t from, std::int64_t to) {
        OpInfo info;
        info.name = name;
        info.kind = kind;
        info.phase = phase;
        info.activity = activity;
        b.producer->slice({track, b.trace.defineOp(info), Instant{from * kMs}, Duration{(to - from) * kMs},
                           Microbatch{batch}, std::nullopt});
    };
    const auto pass = [&](int rank, Phase phase, int batch, std::int64_t from, std::int64_t to) {
        slice(b.kernels(rank), phase == Phase::Forward ? "forward" : "backward", SliceKind::Kernel, phase,
              Activity::Compute, batch, from, to);
    };
    const auto send = [&](int rank, Phase phase, int batch, std::int64_t from) {
        slice(b.wire(rank), "send", SliceKind::Collective, phase, Activity::PipelineTransfer, batch, from, from + 1);
        b.collective(rank, from * kMs, from * kMs, (from + 1) * kMs, 2 * batch + rank, CollectiveOp::Send,
                     RankId{1 - rank});
    };
    for (const int rank : {0, 1}) b.step(rank, 0, 0, 26 * kMs);
    pass(0, Phase::Forward, 0, 0, 2);
    send(0, Phase::Forward, 0, 2);
    pass(0, Phase::Forward, 1, 2, 4);
    send(0, Phase::Forward, 1, 4);
    pass(1, Phase::Forward, 0, 3, 6);
    pass(1, Phase::BackwardInput, 0, 6, 12);
    send(1, Phase::BackwardInput, 0, 12);
    pass(1, Phase::Forward, 1, 12, 15);
    pass(1, Phase::BackwardInput, 1, 15, 21);
    send(1, Phase::BackwardInput, 1, 21);
    pass(0, Phase::BackwardInput, 0, 13, 17);
    pass(0, Phase::BackwardInput, 1, 22, 26);
    return b.finish();
}

class PredictedPathTest : public QObject {
    Q_OBJECT

private slots:
    void pathOfTwoStages();
    void slackOfTwoStages();
    void messagesCarryTheStep();
    void whatIsHiddenHoldsUpNobody();
    void whoWaitsForTheOthersComesEarlier();
    void noDelaysArePredicted_data();
    void noDelaysArePredicted();
};

void PredictedPathTest::pathOfTwoStages()
{
    InMemoryTraceQuery trace = twoStages(TraceSource::Predicted);
    const auto path = criticalPath(trace, {});
    QVERIFY2(path.ok(), path.ok() ? "" : path.error().message().c_str());
    // Over to stage 1, through all that it does, and back.
    const std::int64_t begins[] = {0, 2, 3, 6, 12, 15, 21, 22, 26};
    const int ranks[] = {0, 1, 1, 1, 1, 1, 0, 0};
    QCOMPARE(path->segments.size(), std::size(ranks));
    for (std::size_t i = 0; i < std::size(ranks); ++i) {
        QCOMPARE(path->segments[i].range, (TimeRange{Instant{begins[i] * kMs}, Instant{begins[i + 1] * kMs}}));
        QCOMPARE(path->segments[i].rank, RankId{ranks[i]});
        QCOMPARE(path->segments[i].part, i == 1 || i == 6 ? PathPart::Transfer : PathPart::Work);
    }
    QCOMPARE(path->time(PathPart::Work), Duration{24 * kMs});
    QCOMPARE(path->time(PathPart::Gap), Duration{});
}

void PredictedPathTest::slackOfTwoStages()
{
    InMemoryTraceQuery trace = twoStages(TraceSource::Predicted);
    const auto slack = stepSlack(trace, {});
    QVERIFY2(slack.ok(), slack.ok() ? "" : slack.error().message().c_str());
    const auto of = [&](int rank, std::int64_t begin) -> const SlackPiece* {
        for (const SlackPiece& piece : slack->pieces)
            if (trace.tracks()[static_cast<std::size_t>(piece.track.value)].info.rank == RankId{rank} &&
                trace.tracks()[static_cast<std::size_t>(piece.track.value)].info.kind == TrackKind::ComputeStream &&
                piece.range.begin == Instant{begin * kMs})
                return &piece;
        return nullptr;
    };
    // F1 of stage 0 is there at 5 and wanted at 12; after B0 stage 0 waits from 17 to 22; the rest is on the path.
    QCOMPARE(of(0, 2)->slack, Duration{7 * kMs});
    QCOMPARE(of(0, 13)->slack, Duration{5 * kMs});
    QVERIFY(!of(0, 2)->onPath && !of(0, 13)->onPath);
    for (const auto& [rank, begin] : {std::pair(0, 0), {0, 22}, {1, 3}, {1, 6}, {1, 12}, {1, 15}}) {
        QCOMPARE(of(rank, begin)->slack, Duration{});
        QVERIFY(of(rank, begin)->onPath);
    }
}

void PredictedPathTest::messagesCarryTheStep()
{
    // Without delays the step is as long as predicted, and backward passes in half the time move all of it.
    InMemoryTraceQuery predicted = twoStages(TraceSource::Predicted);
    const auto replay = replay::Replay::of(predicted, std::nullopt);
    QVERIFY(replay.ok());
    QCOMPARE(replay->quality(replay::DelayRule::None).replayed, Duration{26 * kMs});
    const replay::ReplayChange changes[] = {*replay::parseChange("kernels:backward*0.5")};
    const auto outcome = replay->run(replay::DelayRule::None, changes);
    QVERIFY(outcome.ok());
    // Stage 1: F0 3-6, B0 6-9, F1 9-12, B1 12-15; its gradient is there at 16, B1 of stage 0 until 18.
    QCOMPARE(outcome->changed, Duration{18 * kMs});
    // A recording without the receiver's records does not say who waited for the message.
    InMemoryTraceQuery recorded = twoStages(TraceSource::Recorded);
    const auto unknown = replay::Replay::of(recorded, std::nullopt);
    QVERIFY(unknown.ok());
    QVERIFY(unknown->quality(replay::DelayRule::None).replayed < Duration{26 * kMs});
}

void PredictedPathTest::whatIsHiddenHoldsUpNobody()
{
    // The rank waits for two of the four of the first transfer, for none of the second, and for the last one of the third.
    Builder b(1, headerOf(1, TraceSource::Predicted));
    b.step(0, 0, 0, 12 * kMs);
    b.work(0, "forward", Phase::Forward, 0, 4 * kMs);
    b.collective(0, 4 * kMs, 4 * kMs, 8 * kMs, 0);
    b.work(0, "backward", Phase::BackwardInput, 6 * kMs, 10 * kMs);
    b.collective(0, 8 * kMs, 8 * kMs, 9 * kMs, 1);
    b.collective(0, 9 * kMs, 9 * kMs, 11 * kMs, 2);
    b.work(0, "adam", Phase::Optimizer, 11 * kMs, 12 * kMs);
    InMemoryTraceQuery trace = b.finish();
    const auto replay = replay::Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    const replay::ReplayQuality quality = replay->quality(replay::DelayRule::None);
    QCOMPARE(quality.replayed, Duration{12 * kMs});
    QCOMPARE(quality.negativeDelays, std::int64_t(0));
    const auto path = criticalPath(trace, {});
    QVERIFY(path.ok());
    QCOMPARE(path->time(PathPart::Transfer), Duration{3 * kMs});
    QCOMPARE(path->time(PathPart::Work), Duration{9 * kMs});
    const replay::ReplayChange changes[] = {*replay::parseChange("link:dp*2")};
    QCOMPARE(replay->run(replay::DelayRule::None, changes)->changed, Duration{10 * kMs + kMs / 2});
    // In the changed step a transfer still goes on for two beside the work behind it, and for one beside that before it.
    const auto changed = replay::ChangedTrace::of(trace.info(), *replay, replay::DelayRule::None, changes);
    QVERIFY2(changed.ok(), changed.ok() ? "" : changed.error().message().c_str());
    InMemoryTrace written(changed->header());
    QVERIFY(changed->write(trace, written).ok());
    const auto records = InMemoryTraceQuery(written.data()).collectives(RankId{0}, {Instant{0}, Instant{12 * kMs}}, 10);
    QVERIFY(records.ok());
    QCOMPARE(records->size(), std::size_t(3));
    QCOMPARE(records->front().record.start, Instant{4 * kMs});
    QCOMPARE(records->front().record.end, Instant{7 * kMs});
    QCOMPARE(records->back().record.start, Instant{8 * kMs});
    QCOMPARE(records->back().record.end, Instant{9 * kMs + kMs / 2});
}

void PredictedPathTest::whoWaitsForTheOthersComesEarlier()
{
    // A predicted operation begins when all are there: rank 1 has waited since 4.
    Builder b(2, headerOf(2, TraceSource::Predicted));
    for (const int rank : {0, 1}) {
        b.step(rank, 0, 0, 11 * kMs);
        b.work(rank, rank == 0 ? "long" : "short", Phase::Forward, 0, (rank == 0 ? 10 : 4) * kMs);
        b.collective(rank, 10 * kMs, 10 * kMs, 11 * kMs);
    }
    InMemoryTraceQuery trace = b.finish();
    const auto replay = replay::Replay::of(trace, std::nullopt);
    QVERIFY(replay.ok());
    const replay::ReplayChange changes[] = {*replay::parseChange("kernels:long*0.5")};
    QCOMPARE(replay->run(replay::DelayRule::Own, changes)->changed, Duration{6 * kMs});
}

void PredictedPathTest::noDelaysArePredicted_data()
{
    QTest::addColumn<QString>("plan");
    QTest::addColumn<QString>("framework");
    QTest::addColumn<bool>("operators"); // each for itself, else a few slices per pass
    QTest::addColumn<double>("error");   // [%]
    const auto rows = [](const char* plan, const char* framework = "megatron-core", double error = 0.001) {
        for (const bool operators : {true, false})
            QTest::addRow("%s, %s, %s", plan, framework, operators ? "operators" : "parts")
                << QString::fromLatin1(plan) << QString::fromLatin1(framework) << operators << error;
    };
    rows("pp=2 microbatches=4");
    rows("pp=4 microbatches=8 schedule=zb");
    rows("pp=4 vpp=2 microbatches=8");
    rows("pp=4 microbatches=8", "fourwalls");
    rows("tp=4");
    rows("dp=8 zero=3");
    rows("tp=2 pp=2 microbatches=4 sp=1");
    rows("dp=2 pp=2 microbatches=4");
    rows("dp=2 tp=2 pp=2 microbatches=4");
    rows("cp=2 pp=2 microbatches=4", "torchtitan");
    // Stages that stand still while they send: nothing in the trace says so.
    rows("pp=4 microbatches=8", "deepspeed", 0.2);
}

void PredictedPathTest::noDelaysArePredicted()
{
    QFETCH(const QString, plan);
    QFETCH(const QString, framework);
    QFETCH(const bool, operators);
    QFETCH(const double, error);
    RunSpec spec;
    spec.model = *loadModel("gpt3-1.3b");
    spec.cluster = *loadCluster("dgx-h100");
    spec.plan = *parsePlan(plan.toStdString());
    spec.training.batch = 32;
    spec.training.sequence = 2048;
    spec.training.precision = Precision::Bf16;
    spec.training.device = DeviceKind::Cuda;
    spec.framework = framework.toStdString();
    auto model = cost::CostModel::create(spec);
    QVERIFY(model.ok());
    const auto step = cost::predictStep(*model, spec);
    QVERIFY2(step.ok(), step.ok() ? "" : step.error().message().c_str());
    InMemoryTraceQuery trace(*cost::traceOf(*step, operators ? &*model : nullptr));
    const auto replay = replay::Replay::of(trace, std::nullopt);
    QVERIFY2(replay.ok(), replay.ok() ? "" : replay.error().message().c_str());
    // The cost model's own simulation is the other computation: what it says must follow from the graph alone.
    const replay::ReplayQuality quality = replay->quality(replay::DelayRule::None);
    QVERIFY2(quality.errorWithoutDelays < error, qPrintable(QString::number(quality.errorWithoutDelays)));
    QCOMPARE(quality.negativeDelays, std::int64_t(0));
    // Of passes in parts, transfers begin far within one.
    QVERIFY(!operators || quality.longDelaysOffPath == 0);
    const auto path = criticalPath(trace, {});
    QVERIFY(path.ok());
    // The last stage cannot begin before the first has forwarded, nor the first end before the last one is back.
    QVERIFY(spec.plan.pp == 1 || path->jumps >= 2);
    QVERIFY(path->time(PathPart::Gap).seconds() <= (error / 100 + 1e-6) * path->window.range.length().seconds() * 2);
}

FOURWALLS_TEST(PredictedPathTest, QCoreApplication)

} // namespace tst_predicted_path

#include "tst_predicted_path.moc"
