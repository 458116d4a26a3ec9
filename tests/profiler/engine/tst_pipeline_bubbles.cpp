// SPDX-License-Identifier: Apache-2.0
// Pipelines on the device clock: the bubble of every schedule against the closed forms for equal stages, and against a
// replay of the action lists with the times that the stages' passes really took (unequal stages).
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/spec/pipeline_schedule.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/run.h"
#include "tests/support/even_kernels.h"
#include "tests/support/test_program.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace tst_pipeline_bubbles {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

constexpr std::int64_t kSteps = 4;

RunSpec pipelineSpec(const std::string& plan, std::int64_t layers, int microbatches)
{
    TransformerSpec t;
    t.layers = layers;
    t.hidden = 64;
    t.heads = 4;
    t.kvHeads = 4;
    t.ffnHidden = 256;
    t.vocabulary = 256;
    t.sequence = 16;
    RunSpec spec;
    spec.model = {"pipeline", t};
    spec.plan = *parsePlan(plan);
    spec.training.steps = kSteps;
    spec.training.batch = microbatches;
    spec.training.optimizer = Optimizer::Sgd;
    return spec;
}

struct Pass {
    std::int64_t start = 0, end = 0;
};

// When everything ends if each stage works through its list with the given times and messages take none; returns the
// mean share of the window in which stages do not work.
double replayedBubble(const PipelineShape& shape, const std::vector<std::vector<PipelineAction>>& actions,
                      const std::vector<std::vector<double>>& seconds)
{
    std::map<std::tuple<PipelineTensor, int, int>, double> arrived; // tensor, micro-batch, position it is for
    std::vector<std::size_t> next(actions.size(), 0);
    std::vector<double> now(actions.size(), 0.0), busy(actions.size(), 0.0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t s = 0; s < actions.size(); ++s)
            while (next[s] < actions[s].size()) {
                const PipelineAction& action = actions[s][next[s]];
                const auto need = shape.needs(static_cast<int>(s), action);
                double start = now[s];
                if (need) {
                    const auto found = arrived.find({need->tensor, need->microbatch, need->toPosition});
                    if (found == arrived.end()) break;
                    start = std::max(start, found->second);
                }
                now[s] = start + seconds[s][next[s]];
                busy[s] += seconds[s][next[s]];
                if (const auto given = shape.gives(static_cast<int>(s), action))
                    arrived[{given->tensor, given->microbatch, given->toPosition}] = now[s];
                ++next[s];
                moved = true;
            }
    }
    const double window = *std::max_element(now.begin(), now.end());
    double bubble = 0;
    for (const double b : busy) bubble += (1 - b / window) / static_cast<double>(busy.size());
    return bubble;
}

/// The norm of the gradients and the tokens of the flush are beside the passes.
constexpr double kBesidePasses = 0.02;

} // namespace

class PipelineBubbles : public QObject {
    Q_OBJECT

private slots:
    void bubblesAreThoseOfTheSchedule_data()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<int>("layers");
        for (const auto& [stages, microbatches] : {std::pair{4, 8}, std::pair{8, 16}})
            for (const char* schedule : {"naive", "gpipe", "1f1b", "interleaved vpp=2", "zb", "zb2p", "zbv"}) {
                const QString plan =
                    QString("pp=%1 microbatches=%2 schedule=%3").arg(stages).arg(microbatches).arg(schedule);
                QTest::newRow(qPrintable(plan)) << plan << 2 * stages;
            }
        QTest::newRow("unequal 1f1b") << "pp=4 microbatches=8" << 6;
        QTest::newRow("unequal gpipe") << "pp=4 microbatches=8 schedule=gpipe" << 7;
    }

    /// One run against the replay of its own passes. Its kernels take what their work says, which one step before finds:
    /// a step takes milliseconds, and an interrupt of the host would move its bubble by more than what is allowed.
    void bubblesAreThoseOfTheSchedule()
    {
        QFETCH(QString, plan);
        QFETCH(int, layers);
        const auto parsed = parsePlan(plan.toStdString());
        QVERIFY(parsed.ok());
        RunSpec spec = pipelineSpec(plan.toStdString(), layers, parsed->microbatches);
        QVERIFY(resolve(spec).ok());
        const QTemporaryDir folder;
        const QString table = folder.filePath("even.json");
        RunOptions options;
        options.measurePeak = false;
        options.clock = ClockKind::Device;
        options.kernelTimesFile = table.toStdString();
        QVERIFY(runTraining(spec, options).ok());
        QVERIFY(test::makeKernelsEven(table));
        options.origin = ClockOrigin::now();
        InMemoryTrace trace(describeRun(spec, options.origin, options.clock));
        options.sink = &trace;
        auto report = runTraining(spec, options);
        QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
        QVERIFY(trace.finish(report->closing).ok());
        InMemoryTraceQuery query(trace.data());
        const auto metrics = computeMetrics(query);
        QVERIFY(metrics.ok());
        QVERIFY(metrics->bubbleFraction.has_value());

        // The passes of the step that metrics speaks of, by rank, in order.
        const auto median = medianStep(*query.jobSteps());
        QVERIFY(median.has_value());
        const PipelineShape shape = pipelineShape(spec.plan);
        const auto actions = pipelineActions(shape);
        QVERIFY(actions.ok());
        std::map<int, std::vector<std::pair<Pass, std::string>>> passes;
        QVERIFY(query
                    .scanSlices([&](const SliceView& s) {
                        const OpInfo op = **query.op(s.op);
                        const int rank = query.tracks()[static_cast<std::size_t>(s.track.value)].info.rank.value;
                        if (op.kind == SliceKind::Phase && op.phase != Phase::Optimizer && op.phase != Phase::Setup)
                            passes[rank].push_back({{s.start.ns, s.end().ns}, op.name});
                        return true;
                    })
                    .ok());
        std::vector<std::vector<double>> seconds(actions->size());
        for (auto& [rank, all] : passes) {
            std::sort(all.begin(), all.end(),
                      [](const auto& a, const auto& b) { return a.first.start < b.first.start; });
            const auto own = query.steps(RankId{rank});
            QVERIFY(own.ok());
            const auto step = std::find_if(own->begin(), own->end(),
                                           [&](const StepView& each) { return each.record.step == median->step; });
            QVERIFY(step != own->end());
            const TimeRange range = step->record.range;
            auto& times = seconds[static_cast<std::size_t>(rank)];
            for (const auto& [pass, name] : all) {
                if (pass.start < range.begin.ns || pass.end > range.end.ns) continue;
                const double took = static_cast<double>(pass.end - pass.start) * 1e-9;
                if (name == "loss") // belongs to the forward pass before it
                    times.back() += took;
                else
                    times.push_back(took);
            }
            QCOMPARE(times.size(), (*actions)[static_cast<std::size_t>(rank)].size());
        }
        const double expected = replayedBubble(shape, *actions, seconds);
        // The same lists with equal stages: every pass takes the mean of its kind.
        std::map<PipelinePass, double> mean;
        std::map<PipelinePass, int> count;
        for (std::size_t s = 0; s < actions->size(); ++s)
            for (std::size_t i = 0; i < seconds[s].size(); ++i) {
                mean[(*actions)[s][i].pass] += seconds[s][i];
                ++count[(*actions)[s][i].pass];
            }
        for (auto& [pass, sum] : mean) sum /= count[pass];
        auto equal = seconds;
        for (std::size_t s = 0; s < actions->size(); ++s)
            for (std::size_t i = 0; i < seconds[s].size(); ++i) equal[s][i] = mean[(*actions)[s][i].pass];
        const double even = replayedBubble(shape, *actions, equal);
        std::optional<double> closed;
        if (shape.schedule == PipelineSchedule::ZeroBubbleH1)
            closed = zeroBubbleBubble(shape.stages, shape.microbatches, mean[PipelinePass::Forward],
                                      mean[PipelinePass::BackwardInput], mean[PipelinePass::BackwardWeight]);
        else if (!shape.splitsBackward())
            closed = pipelineBubble(shape.schedule, shape.stages, shape.microbatches, shape.chunks);
        qInfo("%s, %d layers: measured %.4f, replayed %.4f, with equal stages %.4f, closed form %s", qPrintable(plan),
              layers, *metrics->bubbleFraction, expected, even,
              closed ? qPrintable(QString::number(*closed, 'f', 4)) : "none");
        QVERIFY2(!closed || std::abs(even - *closed) < 1e-9, qPrintable(QString("%1 %2").arg(even).arg(*closed)));
        const double off = std::abs(*metrics->bubbleFraction - expected);
        QVERIFY2(off < kBesidePasses, qPrintable(QString("off by %1").arg(off)));
    }
};

FOURWALLS_TEST(PipelineBubbles, QCoreApplication)

} // namespace tst_pipeline_bubbles

#include "tst_pipeline_bubbles.moc"
