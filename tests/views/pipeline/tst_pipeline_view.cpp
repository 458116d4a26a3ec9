// SPDX-License-Identifier: GPL-3.0-or-later
// The pipeline: lanes and bubbles of known schedules against their theory and against `metrics`; passes inferred where
// none were recorded; the view offscreen, driven as a person would. Any Qt warning fails.
#include <QtTest>

#include "model/trace/drawn_trace.h"
#include "tests/support/test_program.h"
#include "tests/views/fail_on_warning.h"
#include "tests/views/trace_probe.h"
#include "views/pipeline/ideal_bars.h"
#include "views/pipeline/order_controls.h"
#include "views/pipeline/pipeline_view.h"
#include "views/pipeline/predicted_lanes.h"
#include "views/pipeline/stage_lanes.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_table.h"
#include "views/whatif/knob_row.h"
#include "views/whatif/replayer.h"

#include <QAction>
#include <QComboBox>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTableView>

namespace tst_pipeline_view {

using namespace fourwalls;
using namespace fourwalls::views;

namespace {

QString plain(QString text)
{
    return text.replace(QChar(0x202F), QLatin1Char(' '));
}

/// Two stages without a specification and without phases: kernels of known direction, messages between the stages.
/// shorter: how much less the kernels of the second step take [ns].
std::shared_ptr<const InMemoryTraceData> importedTrace(bool directions = true, std::int64_t shorter = 0)
{
    TraceHeader header;
    header.source = TraceSource::Imported;
    for (int stage = 0; stage < 2; ++stage) header.ranks.push_back({RankId{stage}, "GPU", "host", stage, 0, 1});
    InMemoryTrace trace(header);
    const GroupId pair = trace.defineGroup({"pp", {RankId{0}, RankId{1}}, "nccl"});
    {
        const auto producer = trace.openProducer();
        for (int rank = 0; rank < 2; ++rank) {
            const TrackId kernels = trace.defineTrack({RankId{rank}, TrackKind::ComputeStream, "stream 7", 0});
            const TrackId messages = trace.defineTrack({RankId{rank}, TrackKind::CommStream, "stream 13", 1});
            const auto op = [&](Phase phase) {
                OpInfo info;
                info.name = phase == Phase::Forward ? "gemm" : "gemm backward";
                info.kind = SliceKind::Kernel;
                info.phase = directions ? phase : Phase::None;
                info.activity = Activity::Compute;
                return trace.defineOp(info);
            };
            for (int step = 0; step < 2; ++step) {
                const std::int64_t begin = 100'000 * step;
                const auto work = [&](Phase phase, std::int64_t at) {
                    const Duration length{4'000 - shorter * step};
                    producer->slice({kernels, op(phase), Instant{begin + at}, length, {}, {}});
                    producer->slice({kernels, op(phase), Instant{begin + at + 5'000}, length, {}, {}});
                };
                const auto send = [&](std::int64_t at) {
                    CollectiveRecord record;
                    record.track = messages;
                    record.start = record.lastArrival = Instant{begin + at};
                    record.end = Instant{begin + at + 100};
                    record.operation = CollectiveOp::Send;
                    record.group = pair;
                    record.payloadBytes = 1000;
                    producer->collective(record);
                };
                // Forwards of two micro-batches in a row, cut by the message in between; then both backwards.
                work(Phase::Forward, rank * 10'000);
                send(rank * 10'000 + 9'200);
                work(Phase::Forward, 10'000 + rank * 10'000);
                work(Phase::BackwardInput, 40'000 - rank * 10'000);
                send(40'000 - rank * 10'000 + 9'200);
                work(Phase::BackwardInput, 50'000 - rank * 10'000);
                StepRecord record;
                record.step = StepIndex{step};
                record.range = {Instant{begin}, Instant{begin + 80'000 + 1'000 * step}};
                producer->step(RankId{rank}, record);
            }
        }
    }
    return trace.finish({}).ok() ? trace.data() : nullptr;
}

PipelinePicture pictureOf(const std::shared_ptr<const InMemoryTraceData>& data, PipelineFacts* factsOut = nullptr)
{
    if (!data) return {};
    InMemoryTraceQuery trace(data);
    auto facts = askPipelineFacts(trace);
    if (!facts.ok() || !facts->job.median) return {};
    auto picture = askPipelinePicture(trace, *facts, 0, *facts->job.median);
    if (factsOut) *factsOut = *facts;
    return picture.ok() ? *picture : PipelinePicture{};
}

} // namespace

class PipelineViewTest : public QObject {
    Q_OBJECT

    using Probe = TraceProbe<PipelineView>;

    static double exact(PipelineView& view, int row, int column)
    {
        return view.table().model()->index(row, column).data(kExactRole).toDouble();
    }
    static constexpr int kBubbleColumn = 6;

private slots:
    void init() { failOnWarning = std::make_unique<tests::FailOnWarning>(); }
    void cleanup()
    {
        QCOMPARE(tests::FailOnWarning::take(), QString());
        failOnWarning.reset();
    }

    /// Two stages are two ranks, not all between them.
    void pipelinesAreNamedByTheirRanks()
    {
        Probe probe(modelledTrace(specOf("dp=2 pp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        QStringList named;
        for (const QComboBox* box : probe.view->findChildren<QComboBox*>())
            for (int i = 0; i < box->count(); ++i)
                if (box->itemText(i).startsWith(QStringLiteral("ranks"))) named << box->itemText(i);
        QVERIFY(!named.isEmpty());
        static const QRegularExpression kTwo(QStringLiteral("^ranks \\d+, \\d+$"));
        for (const QString& each : named) QVERIFY2(kTwo.match(each).hasMatch(), qPrintable(each));
    }

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

    void theViewSaysWhatMetricsSay()
    {
        const auto data = modelledTrace(specOf("pp=4 microbatches=8 dp=2"), TraceSource::Recorded);
        QVERIFY(data);
        InMemoryTraceQuery trace(data);
        const auto metrics = computeMetrics(trace);
        QVERIFY(metrics.ok());
        Probe probe(data);
        QVERIFY(probe.ready());
        PipelineView& view = *probe.view;
        QVERIFY(view.finding().contains(formatPercent(*metrics->bubbleFraction)));
        QVERIFY(plain(view.finding()).contains(QStringLiteral("ideal 1F1B 27.3 %")));
        QCOMPARE(view.table().model()->rowCount(), 4);
        for (int stage = 0; stage < 4; ++stage)
            QVERIFY(std::abs(exact(view, stage, kBubbleColumn) -
                             metrics->bubbleByStage[static_cast<std::size_t>(stage)]) < 1e-12);
        QVERIFY(std::abs(view.bars().bars().front().fraction - *metrics->bubbleFraction) < 1e-12);
        QCOMPARE(view.table().model()->index(0, 8).data().toString(), QStringLiteral("4 of 4"));
        QVERIFY(view.inferredNote().isEmpty());
        QVERIFY(view.tableAsCsv().startsWith(QStringLiteral("stage,rank,busy")));
        // Beside it, as predicted: the same model, so the same step.
        QVERIFY(view.predictedPlot().picture() && view.predictedPlot().isVisible());
        QCOMPARE(view.predictedPlot().picture()->lanes.size(), std::size_t{4});
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

    /// The measured passes in another order: as the cost model orders its own passes, from which they were "measured".
    void theOrderIsChangedByHand()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelineView& view = *probe.view;
        OrderControls& order = view.order();
        QVERIFY2(order.blocked().isEmpty(), qPrintable(order.blocked()));
        Replayer& replayer = probe.whatIf.replayer();
        const auto choose = [&](PipelineSchedule schedule) {
            order.schedule().setCurrentIndex(order.schedule().findData(static_cast<int>(schedule)));
            emit order.schedule().activated(order.schedule().currentIndex());
            return QTest::qWaitFor([&] { return !replayer.isBusy() && probe.ready(); }, 20'000);
        };
        const double before = view.recordedPlot().picture()->bubble().value_or(0);
        QVERIFY(choose(PipelineSchedule::GPipe));
        QCOMPARE(replayer.changes(), std::vector<std::string>{"schedule=gpipe"});
        const auto gpipe = view.predictedPlot().picture();
        QVERIFY(gpipe && view.predictedPlot().isVisible());
        const PipelinePicture modelled =
            predictedPicture(cost::predictStep(specOf("pp=4 microbatches=8 schedule=gpipe"))->drawn);
        QCOMPARE(gpipe->lanes.size(), std::size_t{4});
        for (std::size_t i = 0; i < 4; ++i) {
            QCOMPARE(gpipe->lanes[i].mostInFlight, 8);
            QCOMPARE(gpipe->lanes[i].passes.size(), modelled.lanes[i].passes.size());
            for (std::size_t k = 0; k < gpipe->lanes[i].passes.size(); ++k) {
                const StagePass &a = gpipe->lanes[i].passes[k], &b = modelled.lanes[i].passes[k];
                QVERIFY(isForward(a) == isForward(b) && a.microbatch == b.microbatch);
            }
        }
        QVERIFY2(std::abs(*gpipe->bubble() - *modelled.bubble()) < 0.02,
                 qPrintable(QString("%1 %2").arg(*gpipe->bubble()).arg(*modelled.bubble())));
        // Weight gradients apart, and less of a bubble.
        QVERIFY(choose(PipelineSchedule::ZeroBubbleH1));
        const auto zb = view.predictedPlot().picture();
        QVERIFY(std::any_of(zb->lanes[0].passes.begin(), zb->lanes[0].passes.end(),
                            [](const StagePass& pass) { return pass.phase == Phase::BackwardWeight; }));
        QVERIFY(*zb->bubble() < before && *zb->bubble() < *gpipe->bubble());
        // Chunks say that passes are interleaved, and the recorded schedule takes all of it back.
        order.chunks().setValue(2);
        QCOMPARE(replayer.changes(), std::vector<std::string>{"vpp=2"});
        QCOMPARE(order.schedule().currentData().toInt(), static_cast<int>(PipelineSchedule::Interleaved));
        emit order.slider().valueChosen(16);
        QCOMPARE(replayer.changes(), (std::vector<std::string>{"microbatches=16", "vpp=2"}));
        QVERIFY(QTest::qWaitFor([&] { return !replayer.isBusy() && probe.ready(); }, 20'000));
        const auto interleaved = view.predictedPlot().picture();
        QCOMPARE(interleaved->chunks, 2);
        QCOMPARE(interleaved->microbatches, 16);
        order.microbatches().setValue(8);
        QVERIFY(choose(PipelineSchedule::OneFOneB));
        QVERIFY(replayer.changes().empty() && !probe.whatIf.showsReplay());
    }

    void whatCannotBeOrderedSaysWhy()
    {
        Probe probe(modelledTrace(specOf("pp=1 microbatches=2"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const OrderControls& order = probe.view->order();
        QVERIFY2(order.blocked().contains(QStringLiteral("no pipeline stages")), qPrintable(order.blocked()));
        QComboBox* schedule = probe.view->order().findChild<QComboBox*>();
        QVERIFY(!schedule->isEnabled());
        QCOMPARE(schedule->toolTip(), order.blocked());
        QVERIFY(!probe.view->order().slider().isEnabled());
        QCOMPARE(probe.view->order().microbatches().toolTip(), order.blocked());
    }

    void aWhatIfTakesTheGhostsPlace()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const QString own = probe.view->tableAsCsv();
        RunSpec spec = *probe.whatIf.recorded();
        spec.plan.pp = 2;
        spec.plan.dp = 2;
        probe.whatIf.propose(spec);
        QVERIFY(QTest::qWaitFor(
            [&] {
                const auto& ghost = probe.view->predictedPlot().picture();
                return ghost && ghost->lanes.size() == 2;
            },
            20'000));
        QVERIFY(probe.ready());
        QVERIFY(probe.view->tableAsCsv() != own);
        probe.whatIf.setActive(false); // back to the prediction of what was recorded
        QVERIFY(QTest::qWaitFor([&] { return probe.view->predictedPlot().picture()->lanes.size() == 4; }, 20'000));
        QCOMPARE(probe.view->tableAsCsv(), own);
    }

    void aPassIsHoveredClickedAndFoundOnTheTimeline()
    {
        Probe probe(modelledTrace(specOf("pp=4 microbatches=8"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelinePlot& plot = probe.view->recordedPlot();
        const PassPlace place{2, 3};
        const QPoint at = plot.boxOf(place).center().toPoint();
        QCOMPARE(plot.placeAt(at), place);
        QSignalSpy hovered(&plot, &PipelinePlot::microbatchHovered);
        QMouseEvent move(QEvent::MouseMove, QPointF(at), plot.mapToGlobal(QPointF(at)), Qt::NoButton, Qt::NoButton, {});
        QApplication::sendEvent(&plot, &move);
        QCOMPARE(hovered.count(), 1);
        plot.grab();
        QTest::mouseClick(&plot, Qt::LeftButton, {}, at);
        QCOMPARE(plot.selected(), place);
        const StagePass& pass = *plot.pass(place);
        QVERIFY(probe.selection.slice() && probe.selection.slice()->slice.id == pass.slice->id);
        QCOMPARE(probe.selection.rank(), plot.picture()->lanes[2].rank);
        QSignalSpy requested(&probe.selection, &Selection::viewRequested);
        for (QAction* action : probe.view->viewActions())
            if (action->objectName() == QLatin1String("pipeline.timeline")) action->trigger();
        QCOMPARE(requested.count(), 1);
        QCOMPARE(requested.front().front().toString(), QStringLiteral("timeline"));
        QVERIFY(probe.selection.range().begin <= pass.range.begin && probe.selection.range().end >= pass.range.end);
        // Without a mouse: the next pass, then the next stage.
        for (const char* name : {"pipeline.nextPass", "pipeline.nextStage"})
            for (QAction* action : probe.view->viewActions())
                if (action->objectName() == QLatin1String(name)) action->trigger();
        QCOMPARE(plot.selected(), (PassPlace{3, 4}));
    }

    void theWheelZoomsAndOtherViewsFollow()
    {
        Probe probe(modelledTrace(specOf("pp=2 microbatches=4"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        PipelinePlot& plot = probe.view->recordedPlot();
        const TimeRange whole = plot.camera().range();
        const QPointF at = plot.plotRect().center();
        QWheelEvent event(at, plot.mapToGlobal(at), {}, {0, 240}, Qt::NoButton, {}, Qt::NoScrollPhase, false);
        QApplication::sendEvent(&plot, &event);
        QVERIFY(plot.camera().range().length() < whole.length());
        QCOMPARE(probe.selection.range(), plot.camera().range());
        QCOMPARE(probe.view->predictedPlot().camera().range(), plot.camera().range());
        probe.view->fitAll();
        QCOMPARE(plot.camera().range(), whole);
    }

    void anImportSaysWhatWasInferredAndStepsCanBeChosen()
    {
        Probe probe(importedTrace());
        QVERIFY(probe.ready());
        QVERIFY(probe.view->inferredNote().contains(QStringLiteral("inferred: passes")));
        QVERIFY(probe.view->inferredNote().contains(QStringLiteral("stages")));
        QVERIFY(!probe.view->predictedPlot().isVisible());
        QCOMPARE(*probe.view->shownStep(), StepIndex{0}); // of two steps the lower middle
        probe.selection.setStep(StepIndex{1});
        QVERIFY(probe.ready());
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{1});
        probe.selection.setStep(StepIndex{0});
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{0});
        probe.selection.setStep(std::nullopt);
        probe.selection.setRange({Instant{110'000}, Instant{170'000}}); // the timeline went on to the next step
        QTRY_COMPARE(*probe.view->shownStep(), StepIndex{1});
    }

    /// The title and the card below give the figure of the step that is shown; that of the median one has its name.
    void theTitleAgreesWithTheCard()
    {
        const auto data = importedTrace(true, 1'000);
        PipelineFacts facts;
        pictureOf(data, &facts);
        const QString mean = formatPercent(*facts.metrics.bubbleFraction);
        Probe probe(data);
        QVERIFY(probe.ready());
        const auto own = [&] { return formatPercent(probe.view->bars().bars().front().fraction); };
        const JobStep median = *typicalStep(*InMemoryTraceQuery(data).jobSteps());
        const StepIndex other{1 - median.step.value};
        QCOMPARE(*probe.view->shownStep(), median.step);
        QCOMPARE(own(), mean);
        const auto steps = InMemoryTraceQuery(data).jobSteps();
        for (const JobStep& step : *steps)
            if (step.step == other) probe.selection.setRange(step.range); // the timeline went there
        QTRY_COMPARE(*probe.view->shownStep(), other);
        QVERIFY(probe.ready());
        QVERIFY(own() != mean);
        QVERIFY2(probe.view->finding().startsWith(QStringLiteral("bubble %1 of").arg(own())),
                 qPrintable(probe.view->finding()));
        QVERIFY2(probe.view->finding().contains(QStringLiteral("median step ") + mean),
                 qPrintable(probe.view->finding()));
        probe.selection.setStep(other);
        QVERIFY(probe.ready());
        QTRY_COMPARE(*probe.view->shownStep(), other);
        QVERIFY2(probe.view->finding().startsWith(QStringLiteral("bubble %1 of").arg(own())),
                 qPrintable(probe.view->finding()));
        QVERIFY(!probe.view->finding().contains(QStringLiteral("median")));
    }

    void nothingToSeeIsExplained()
    {
        Probe none(importedTrace(false)); // nothing says what is forward
        QVERIFY(none.ready());
        QVERIFY(none.view->emptyReason().contains(QStringLiteral("forward")));
        none.view->grab();

        Probe single(modelledTrace(specOf("dp=4 microbatches=2"), TraceSource::Recorded));
        QVERIFY(single.ready());
        QVERIFY(single.view->finding().contains(QStringLiteral("pp=1")));
        QCOMPARE(single.view->recordedPlot().picture()->lanes.size(), std::size_t{1});
        QVERIFY(!single.view->bars().isVisible());
    }

    void languagesAndThemesSwitch()
    {
        Probe probe(modelledTrace(specOf("pp=2 microbatches=4 schedule=zb"), TraceSource::Recorded));
        QVERIFY(probe.ready());
        const QImage light = probe.view->grab().toImage();
        setCurrentTheme(true);
        QEvent palette(QEvent::PaletteChange);
        QApplication::sendEvent(probe.view.get(), &palette);
        QApplication::sendEvent(&probe.view->recordedPlot(), &palette);
        QVERIFY(probe.ready());
        QVERIFY(probe.view->grab().toImage() != light);
        setCurrentTheme(false);
        QEvent language(QEvent::LanguageChange);
        QApplication::sendEvent(probe.view.get(), &language);
        QVERIFY(probe.ready());
    }

private:
    std::unique_ptr<tests::FailOnWarning> failOnWarning;
};

FOURWALLS_TEST(PipelineViewTest, QApplication)

} // namespace tst_pipeline_view

#include "tst_pipeline_view.moc"
