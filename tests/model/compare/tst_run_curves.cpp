// SPDX-License-Identifier: Apache-2.0
// Curves of trainings: what of a trace becomes a point, which losses are spikes and what is said of them.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/compare/run_curves.h"
#include "model/spec/width_transfer.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/support/test_program.h"

#include <cmath>

namespace tst_run_curves {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

/// A falling loss; each step takes a second and sees 64 tokens.
std::vector<CurvePoint> falling(std::size_t steps)
{
    std::vector<CurvePoint> points;
    for (std::size_t i = 0; i < steps; ++i) {
        CurvePoint point;
        point.step = static_cast<std::int64_t>(i);
        point.loss = 2.0 + 3.0 * std::exp(-0.05 * static_cast<double>(i)) + (i % 2 == 0 ? 0.01 : -0.01);
        point.gradientNorm = 1.0;
        points.push_back(point);
    }
    return points;
}

RunSpec smallRun()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.training.learningRate = 0.004;
    spec.training.batch = 4;
    spec.cluster = *loadCluster("dgx-a100");
    const Status resolved = resolve(spec);
    Q_ASSERT(resolved.ok());
    return spec;
}

} // namespace

class RunCurvesTest : public QObject {
    Q_OBJECT

private slots:
    void aFallingLossHasNoSpikes()
    {
        QVERIFY(findLossSpikes(falling(200)).empty());
        QVERIFY(findLossSpikes({}).empty());
    }

    void aJumpIsASpikeAndTheHighestStepOfItIsNamed()
    {
        std::vector<CurvePoint> points = falling(80);
        points[50].loss = 4.0;
        points[51].loss = 6.0;
        points[51].gradientNorm = 12.0;
        points[52].loss = 3.5;
        const std::vector<LossSpike> spikes = findLossSpikes(points);
        QCOMPARE(spikes.size(), std::size_t{1});
        QCOMPARE(spikes[0].step, std::int64_t{51});
        QCOMPARE(*spikes[0].loss, 6.0);
        QVERIFY(spikes[0].before > 2.0 && spikes[0].before < 2.6);
        QVERIFY(spikes[0].gradientFactor && std::abs(*spikes[0].gradientFactor - 12.0) < 1e-9);
        // A rise of a twentieth is noise, whatever the deviation.
        points = falling(80);
        points[50].loss = *points[50].loss * 1.05;
        QVERIFY(findLossSpikes(points).empty());
    }

    void stepsWithoutALossAreNoSpikes()
    {
        std::vector<CurvePoint> points = falling(80);
        for (std::size_t i = 0; i < points.size(); ++i)
            if (i % 10 != 0) points[i].loss.reset(); // a log that says it every tenth step
        QVERIFY(findLossSpikes(points).empty());
    }

    void goodputFallsWithLostSteps()
    {
        TraceHeader header;
        header.ranks.resize(1);
        InMemoryTrace trace(header);
        {
            const auto producer = trace.openProducer();
            // Steps 0 to 3, a failure of four seconds, and again from step 2 on.
            const int numbers[] = {0, 1, 2, 3, 2, 3, 4};
            for (int i = 0; i < 7; ++i) {
                StepRecord step;
                step.step = StepIndex{numbers[i]};
                const std::int64_t begin = i + (i >= 4 ? 4 : 0);
                step.range = {Instant{begin * 1'000'000'000LL}, Instant{(begin + 1) * 1'000'000'000LL}};
                producer->step(RankId{0}, step);
            }
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        const auto run = readRunCurves(query);
        QVERIFY(run.ok());
        QCOMPARE(run->points.size(), std::size_t{5}); // those that stay
        QCOMPARE(*run->points[1].goodput, 1.0);
        QCOMPARE(*run->points[2].goodput, 3.0 / 9); // two steps were lost, and four seconds
        QCOMPARE(*run->points[4].goodput, 5.0 / 11);
    }

    void whatATraceSaysBecomesCurves()
    {
        RunSpec spec = smallRun();
        setMupBaseWidth(spec, 32);
        TraceHeader header;
        header.spec = spec;
        header.producer = "test";
        header.ranks.push_back({});
        header.ranks.back().rank = RankId{0};
        InMemoryTrace trace(header);
        const CounterId scale = trace.defineCounter({std::nullopt, "Loss Scale", CounterUnit::None});
        {
            const auto producer = trace.openProducer();
            for (int i = 0; i < 30; ++i) {
                StepRecord step;
                step.step = StepIndex{i};
                step.range = {Instant{i * 1'000'000'000LL}, Instant{(i + 1) * 1'000'000'000LL}};
                step.loss = i == 20 ? 9.0 : 3.0 - 0.01 * i;
                step.gradientNorm = 1;
                step.learningRate = 0.001;
                step.samples = 4;
                step.tokens = 512;
                if (i == 29) step.loss.reset();
                producer->step(RankId{0}, step);
                producer->counter({scale, step.range.end, i < 15 ? 1024.0 : 512.0});
            }
            producer->event({EventKind::Checkpoint, RankId{0}, Instant{20'100'000'000}, "step 20"});
            producer->event({EventKind::Fault, RankId{0}, Instant{19'500'000'000}, "bit flip"});
            producer->event({EventKind::LossSpike, RankId{0}, Instant{29'900'000'000}, "no finite number"});
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        const auto run = readRunCurves(query);
        QVERIFY(run.ok());
        QCOMPARE(run->points.size(), std::size_t{30});
        QCOMPARE(run->points[9].seconds, 10.0);
        QCOMPARE(run->points[9].tokens, 5120.0);
        QCOMPARE(*run->points[9].tokensPerSecond, 512.0);
        QCOMPARE(*run->points[9].goodput, 1.0);
        QCOMPARE(*run->points[14].lossScale, 1024.0);
        QCOMPARE(*run->points[15].lossScale, 512.0);
        QCOMPARE(run->model, std::string("gpt-tiny"));
        QCOMPARE(*run->width, std::int64_t{128});
        QCOMPARE(*run->mupBaseWidth, std::int64_t{32});
        QCOMPARE(*run->learningRate, 0.004);
        QCOMPARE(run->spikes.size(), std::size_t{2});
        // The checkpoint happened there, too, but it is no cause.
        QCOMPARE(run->spikes[0].step, std::int64_t{20});
        QCOMPARE(run->spikes[0].event, std::string("fault: bit flip"));
        QCOMPARE(run->spikes[1].step, std::int64_t{29});
        QVERIFY(!run->spikes[1].loss);
        QCOMPARE(run->spikes[1].event, std::string("loss spike: no finite number"));
        // The last tenth of the 29 steps with a loss.
        QVERIFY(std::abs(*run->finalLoss() - (2.73 + 2.72) / 2) < 1e-9);
        QVERIFY(std::abs(*run->leastLoss() - 2.72) < 1e-9);
        QVERIFY(run->matches("GPT test"));
        QVERIFY(run->matches(""));
        QVERIFY(!run->matches("gpt llama"));
    }

    void fewPointsKeepTheEndsAndThePeaks()
    {
        std::vector<CurvePoint> points = falling(10'000);
        points[7777].loss = 50;
        const std::vector<CurvePoint> few = thinned(points, 100);
        QVERIFY(few.size() <= 101);
        QCOMPARE(few.front().step, std::int64_t{0});
        QCOMPARE(few.back().step, std::int64_t{9999});
        QVERIFY(std::any_of(few.begin(), few.end(), [](const CurvePoint& point) { return point.step == 7777; }));
        QVERIFY(std::is_sorted(few.begin(), few.end(),
                               [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; }));
        QCOMPARE(thinned(falling(50), 100).size(), std::size_t{50});
    }

    void anotherWidthKeepsTheHeads()
    {
        const ModelSpec base = *loadModel("gpt-tiny");
        const auto wide = withWidth(base, 256);
        QVERIFY(wide.ok());
        const TransformerSpec& t = *wide->transformer();
        QCOMPARE(t.hidden, std::int64_t{256});
        QCOMPARE(t.heads, std::int64_t{16});
        QCOMPARE(t.headSize(), base.transformer()->headSize());
        QCOMPARE(t.ffnHidden, std::int64_t{1024});
        QCOMPARE(wide->name, std::string("gpt-tiny-w256"));
        QCOMPARE(withWidth(base, 128)->name, base.name);
        QCOMPARE(withWidth(base, 100).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(withWidth(base, 0).error().code, ErrorCode::InvalidArgument);
        QCOMPARE(withWidth(*loadModel("resnet50"), 64).error().code, ErrorCode::Unsupported);
        QCOMPARE(withWidth(*loadModel("moe-tiny"), 64).error().code, ErrorCode::Unsupported);
    }

    void theBaseWidthStaysInTheSpec()
    {
        RunSpec spec = smallRun();
        QCOMPARE(mupBaseWidth(spec), std::int64_t{0});
        const std::string before = specHash(spec);
        setMupBaseWidth(spec, 64);
        QVERIFY(specHash(spec) != before);
        const auto read = runSpecFromJson(toJson(spec));
        QVERIFY(read.ok());
        QCOMPARE(mupBaseWidth(*read), std::int64_t{64});
        setMupBaseWidth(spec, 0);
        QCOMPARE(specHash(spec), before);
    }
};

FOURWALLS_TEST(RunCurvesTest, QCoreApplication)

} // namespace tst_run_curves

#include "tst_run_curves.moc"
