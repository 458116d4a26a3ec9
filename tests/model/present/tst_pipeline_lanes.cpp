// SPDX-License-Identifier: Apache-2.0
// Lanes and bubbles of a pipeline: known schedules against their theory and against `metrics`; passes inferred where none
// were recorded; and the same passes from a prediction, from its trace and from a replay.
#include <QtTest>

#include "model/present/predicted_lanes.h"
#include "model/present/stage_lanes.h"
#include "model/trace/drawn_trace.h"
#include "tests/support/imported_stages.h"
#include "tests/support/modelled_trace.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tst_pipeline_lanes {

using namespace fourwalls;
using namespace fourwalls::sample;

class PipelineLanesTest : public QObject {
    Q_OBJECT

private slots:
    /// What the framework does between the last backward pass and the optimizer is no micro-batch.
    void aForwardPassHasItsBackwardBehindIt()
    {
        const auto piece = [](std::int64_t begin, Phase phase) {
            return PassPiece{{Instant{begin}, Instant{begin + 10}}, phase};
        };
        const std::vector<PassPiece> work{piece(0, Phase::Forward), piece(20, Phase::BackwardInput),
                                          piece(40, Phase::Forward)};
        const std::vector<InferredPass> passes = inferPasses(work, {});
        QCOMPARE(passes.size(), std::size_t{2});
        QVERIFY(passes[0].phase == Phase::Forward && passes[1].phase == Phase::BackwardInput);
        QCOMPARE(inferPasses(std::vector<PassPiece>{piece(0, Phase::Forward)}, {}).size(), std::size_t{1});
    }

    void lanesOfASchedule_data()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<int>("forwards");
        QTest::addColumn<int>("chunks");
        QTest::newRow("naive") << "pp=4 microbatches=8 schedule=naive" << 8 << 1;
        QTest::newRow("gpipe") << "pp=4 microbatches=8 schedule=gpipe" << 8 << 1;
        QTest::newRow("1f1b") << "pp=4 microbatches=8" << 8 << 1;
        QTest::newRow("recompute") << "pp=4 microbatches=8 recompute=full" << 8 << 1;
        QTest::newRow("interleaved") << "pp=4 vpp=2 microbatches=8 schedule=interleaved" << 16 << 2;
        QTest::newRow("zb") << "pp=4 microbatches=8 schedule=zb" << 8 << 1;
        QTest::newRow("zbv") << "pp=4 microbatches=8 schedule=zbv" << 16 << 2;
    }

    void lanesOfASchedule()
    {
        QFETCH(QString, plan);
        QFETCH(int, forwards);
        QFETCH(int, chunks);
        PipelineFacts facts;
        const PipelinePicture picture =
            pictureOf(modelledTrace(specOf(plan.toStdString()), TraceSource::Recorded), &facts);
        QCOMPARE(picture.lanes.size(), std::size_t{4});
        QCOMPARE(picture.microbatches, 8);
        QCOMPARE(picture.chunks, chunks);
        QVERIFY(!picture.passesInferred);
        const std::vector<int> scheduled = scheduledInFlight(*facts.plan);
        for (std::size_t i = 0; i < picture.lanes.size(); ++i) {
            const StageLane& lane = picture.lanes[i];
            QCOMPARE(static_cast<int>(std::count_if(lane.passes.begin(), lane.passes.end(), isForward)), forwards);
            // What was alive is what the schedule needs; every activation is released in the end.
            QCOMPARE(lane.mostInFlight, scheduled[i]);
            QCOMPARE(lane.inFlight.back().count, 0);
            // The figures of `metrics`, taken apart.
            QVERIFY(picture.shares[i].has_value());
            const StageShares& shares = *picture.shares[i];
            QVERIFY(std::abs(shares.busy + shares.warmUp + shares.waits + shares.drain - 1) < 1e-12);
            QVERIFY(shares.warmUp >= 0 && shares.waits >= 0 && shares.drain >= 0);
            QVERIFY(std::abs(shares.bubble() - facts.metrics.bubbleByStage[i]) < 1e-12);
        }
        QVERIFY(std::abs(*picture.bubble() - *facts.metrics.bubbleFraction) < 1e-12);
        QVERIFY(picture.times.forward.ns > 0 && picture.times.backwardInput.ns > 0);
        QVERIFY(picture.times.backwardWeight.ns > 0); // told apart also where it is a part of the backward
        QCOMPARE(picture.times.recompute.ns > 0, plan.contains(QStringLiteral("recompute")));
    }

    void idealsAreTheClosedForms()
    {
        // docs/metrics: 4 stages, 8 micro-batches: 75 %, 27.3 %, 27.3 %, 15.8 %; ZB-1p with F = B = W a third of 27.3 %'s.
        const std::vector<IdealBubble> ideals = idealBubbles(4, 8, 2, {});
        QCOMPARE(ideals.size(), std::size_t{5});
        const double expected[] = {0.75, 3.0 / 11, 3.0 / 11, 3.0 / 19, 3.0 / 27};
        for (std::size_t i = 0; i < ideals.size(); ++i) QVERIFY(std::abs(ideals[i].fraction - expected[i]) < 1e-12);
        QVERIFY(ideals.back().unitTimes);
        QVERIFY(idealBubbles(1, 8, 1, {}).empty());
        // Weight gradients of any length: what they take beyond the shortest pass fills nothing, but keeps a stage busy.
        for (const std::int64_t weight : {20, 60, 300}) {
            PassTimes times;
            times.forward = Duration{100};
            times.backwardInput = Duration{90};
            times.backwardWeight = Duration{weight};
            const double idle = 3.0 * (190 - std::min<double>(90, static_cast<double>(weight)));
            const double expectedBubble = idle / (8 * (190 + static_cast<double>(weight)) + idle);
            QVERIFY(std::abs(idealBubbles(4, 8, 1, times).back().fraction - expectedBubble) < 1e-12);
        }
        ParallelPlan plan;
        plan.pp = 4;
        plan.microbatches = 8;
        plan.schedule = PipelineSchedule::ZeroBubbleV;
        QVERIFY(!idealOf(plan, {})); // no closed form
        plan.schedule = PipelineSchedule::GPipe;
        QVERIFY(std::abs(*idealOf(plan, {}) - 3.0 / 11) < 1e-12);
    }

    void passesAreInferredWhereNoneWereRecorded()
    {
        PipelineFacts facts;
        const PipelinePicture picture = pictureOf(importedTrace(), &facts);
        QVERIFY(picture.passesInferred && facts.stagesInferred);
        QCOMPARE(picture.lanes.size(), std::size_t{2});
        for (const StageLane& lane : picture.lanes) {
            QCOMPARE(lane.passes.size(), std::size_t{4});
            const Phase phases[] = {Phase::Forward, Phase::Forward, Phase::BackwardInput, Phase::BackwardInput};
            for (int i = 0; i < 4; ++i) {
                const StagePass& pass = lane.passes[static_cast<std::size_t>(i)];
                QCOMPARE(pass.phase, phases[i]);
                QCOMPARE(pass.microbatch->value, i % 2);
                QCOMPARE(pass.range.length().ns, std::int64_t{9'000});
            }
            QCOMPARE(lane.mostInFlight, 2);
        }
        QVERIFY(std::abs(*picture.bubble() - *facts.metrics.bubbleFraction) < 1e-12);
    }

    /// What follows a slider is drawn from the step; the trace of the step has the same passes.
    void aPredictedPictureIsThatOfItsTrace()
    {
        for (const char* plan : {"pp=4 microbatches=8", "pp=4 microbatches=8 recompute=full",
                                 "pp=2 microbatches=4 schedule=interleaved vpp=2", "pp=4 microbatches=8 schedule=zb",
                                 "pp=1 microbatches=2"}) {
            const auto step = cost::predictStep(specOf(plan));
            QVERIFY2(step, plan);
            const PipelinePicture fast = predictedPicture(step->drawn);
            InMemoryTraceQuery query(*cost::traceOf(*step));
            const PipelineFacts facts = *askPipelineFacts(query);
            const PipelinePicture exact = *askPipelinePicture(query, facts, 0, *facts.job.median);
            QCOMPARE(fast.step.range, exact.step.range);
            QCOMPARE(fast.window, exact.window);
            QCOMPARE(fast.chunks, exact.chunks);
            QCOMPARE(fast.microbatches, exact.microbatches);
            QCOMPARE(fast.lanes.size(), exact.lanes.size());
            for (std::size_t i = 0; i < fast.lanes.size(); ++i) {
                QCOMPARE(fast.lanes[i].rank, exact.lanes[i].rank);
                QCOMPARE(fast.lanes[i].mostInFlight, exact.lanes[i].mostInFlight);
                QCOMPARE(fast.lanes[i].passes.size(), exact.lanes[i].passes.size());
                for (std::size_t k = 0; k < fast.lanes[i].passes.size(); ++k) {
                    const StagePass &a = fast.lanes[i].passes[k], &b = exact.lanes[i].passes[k];
                    QVERIFY(a.phase == b.phase && a.microbatch == b.microbatch && a.chunk == b.chunk);
                    QCOMPARE(a.range, b.range);
                    QCOMPARE(a.withWeights, b.withWeights);
                    // Shares of the whole pass here, of its computing there.
                    QVERIFY(std::abs(a.recompute - b.recompute) < 0.1 && std::abs(a.weight - b.weight) < 0.1);
                }
                QCOMPARE(fast.shares[i].has_value(), exact.shares[i].has_value());
                if (fast.shares[i]) QVERIFY(std::abs(fast.shares[i]->bubble() - exact.shares[i]->bubble()) < 1e-4);
            }
        }
    }

    /// A replayed step is drawn from its trace: as the same passes as the trace that nobody changed.
    void theDrawnFormOfATraceHasItsPasses()
    {
        for (const char* plan : {"pp=4 microbatches=8", "pp=2 microbatches=4 schedule=interleaved vpp=2",
                                 "pp=4 microbatches=8 schedule=zb", "pp=2 dp=2 microbatches=4 recompute=full"}) {
            const auto step = cost::predictStep(specOf(plan));
            QVERIFY2(step, plan);
            const auto drawn = drawnStepOf(*cost::traceOf(*step), Provenance::Measured);
            QVERIFY2(drawn.ok(), plan);
            QVERIFY(drawn->byRank);
            const PipelinePicture own = predictedPicture(*drawn), modelled = predictedPicture(step->drawn);
            QCOMPARE(own.step.range, modelled.step.range);
            QCOMPARE(own.window, modelled.window);
            QCOMPARE(own.lanes.size(), modelled.lanes.size());
            for (std::size_t i = 0; i < own.lanes.size(); ++i) {
                const auto &a = own.lanes[i].passes, &b = modelled.lanes[i].passes;
                QCOMPARE(a.size(), b.size());
                for (std::size_t k = 0; k < a.size(); ++k) {
                    QVERIFY(a[k].phase == b[k].phase && a[k].microbatch == b[k].microbatch && a[k].chunk == b[k].chunk);
                    QCOMPARE(a[k].range, b[k].range);
                }
                if (own.shares[i]) QVERIFY(std::abs(own.shares[i]->bubble() - modelled.shares[i]->bubble()) < 1e-4);
                // Memory, too: the same highest level.
                const auto highest = [](const DrawnLane& lane) {
                    std::int64_t most = 0;
                    for (const MemorySample& sample : memoryCurve(lane)) most = std::max(most, sample.total());
                    return most;
                };
                QVERIFY(std::abs(highest(drawn->lanes[i]) - highest(step->drawn.lanes[i])) <= 16);
                QCOMPARE(drawn->lanes[i].peakBytes, highest(drawn->lanes[i]));
                QCOMPARE(drawn->lanes[i].sent.size(), step->drawn.lanes[i].sent.size());
            }
        }
        // Where no phases were recorded, passes are those that the picture of the recording has.
        const auto data = importedTrace();
        const auto drawn = drawnStepOf(data, Provenance::Scaled);
        QVERIFY(drawn.ok());
        const PipelinePicture own = predictedPicture(*drawn), recorded = pictureOf(data);
        for (std::size_t i = 0; i < own.lanes.size(); ++i) {
            QCOMPARE(own.lanes[i].passes.size(), recorded.lanes[i].passes.size());
            for (std::size_t k = 0; k < own.lanes[i].passes.size(); ++k)
                QCOMPARE(own.lanes[i].passes[k].range.begin - own.step.range.begin,
                         recorded.lanes[i].passes[k].range.begin - recorded.step.range.begin);
        }
        for (const DrawnInterval& each : drawn->lanes.front().intervals) QCOMPARE(each.provenance, Provenance::Scaled);
    }
};

FOURWALLS_TEST(PipelineLanesTest, QCoreApplication)

} // namespace tst_pipeline_lanes

#include "tst_pipeline_lanes.moc"
