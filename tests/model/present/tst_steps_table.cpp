// SPDX-License-Identifier: Apache-2.0
// The rows of the steps view from a trace: times over all ranks, shares that add up, medians without warm-up.
#include <QtTest> // Qt's headers first: the moc of Qt 6.4 cannot read <compare> as the first header

#include "model/present/steps_table.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "tests/support/sample_training.h"
#include "tests/support/test_program.h"

namespace tst_steps_table {

using namespace fourwalls;

class StepsTableTest : public QObject {
    Q_OBJECT

    static StepTable table(const sample::TrainingShape& shape)
    {
        InMemoryTraceQuery trace(sample::training(shape));
        Result<StepTable> result = askSteps(trace, RankId(0));
        return result.ok() ? *result : StepTable{};
    }

    static StepRow row(int step, std::int64_t ms, bool warmup = false)
    {
        StepRow r;
        r.step = StepIndex(step);
        r.range = {Instant{0}, Instant{ms * 1'000'000}};
        if (warmup) r.state = StepState::Warmup;
        return r;
    }

private slots:
    void oneRowPerStep()
    {
        const StepTable t = table({});
        QCOMPARE(t.rows.size(), std::size_t(3));
        QVERIFY(t.rows[0].state == StepState::Warmup && t.rows[1].state == StepState::Measured);
        // 16 forward, 16 backward and 4 optimizer operators of 1 ms.
        QCOMPARE(t.rows[1].range.length(), Duration{36'000'000});
        QCOMPARE(*t.rows[2].loss, 2.2);
        QCOMPARE(*t.rows[2].learningRate, 3e-3);
        QCOMPARE(*t.rows[1].tokensPerSecond(), 32 * 256 / 0.036);
    }

    void sharesAddUpToOne()
    {
        sample::TrainingShape shape;
        shape.ranks = 3;
        for (const StepRow& step : table(shape).rows) {
            QVERIFY(step.parts);
            double sum = 0;
            for (const double share : *step.parts) sum += share;
            QVERIFY(std::abs(sum - 1) < 1e-9);
            QCOMPARE((*step.parts)[0], 1.0); // the sample computes all the time
        }
    }

    /// A job's own log has lengths of steps and an execution trace has an order: neither says that devices were idle.
    void whatWasNotRecordedIsNotIdle()
    {
        for (const bool log : {false, true}) {
            TraceHeader header;
            header.source = TraceSource::Imported;
            header.computeLabel = header.communicationLabel =
                log ? "none" : "none: operators in their order, 1 us each";
            header.ranks.push_back({RankId(0), "", "", 0, 0, 1});
            InMemoryTrace trace(header);
            const TrackId track =
                trace.defineTrack({RankId(0), log ? TrackKind::Markers : TrackKind::CpuThread, "0", 0});
            OpInfo op;
            op.name = log ? "step" : "aten::mm";
            op.kind = log ? SliceKind::Step : SliceKind::Operator;
            auto producer = trace.openProducer();
            producer->slice({track, trace.defineOp(op), Instant{0}, Duration{1'000'000}, {}, {}});
            StepRecord step;
            step.range = {Instant{0}, Instant{1'000'000}};
            producer->step(RankId(0), step);
            producer.reset();
            if (!log) trace.audit({"no_times", AuditSeverity::Info, 1, "order only"});
            QVERIFY(trace.finish({}).ok());
            InMemoryTraceQuery query(trace.data());
            const auto table = askSteps(query, RankId(0));
            QVERIFY(table.ok());
            QCOMPARE(table->rows.size(), std::size_t(1));
            QVERIFY(!table->rows[0].parts);
            const auto metrics = computeMetrics(query);
            QVERIFY(metrics.ok());
            QCOMPARE(metrics->stepTime.has_value(), log);
            QVERIFY(!metrics->idleFraction && metrics->waterfall.empty());
        }
    }

    void sharesAreThoseOfTheMetrics()
    {
        // Rank 1 begins 10 ms late and stands for three, rank 0 ends 5 ms early: the job's step is from 10 to 40 ms. Of it
        // rank 0 computes 10 ms and each of the three 20.
        TraceHeader header;
        for (int rank = 0; rank < 2; ++rank) {
            RankInfo info;
            info.rank = RankId(rank);
            info.multiplicity = rank == 0 ? 1 : 3;
            header.ranks.push_back(info);
        }
        InMemoryTrace trace(header);
        for (int rank = 0; rank < 2; ++rank) {
            constexpr std::int64_t kMs = 1'000'000;
            const TrackId track = trace.defineTrack({RankId(rank), TrackKind::ComputeStream, "kernels", 0});
            OpInfo product;
            product.name = "product";
            product.kind = SliceKind::Kernel;
            product.activity = Activity::Compute;
            const OpId op = trace.defineOp(product);
            const auto producer = trace.openProducer();
            const std::int64_t begin = rank == 0 ? 0 : 10 * kMs, end = rank == 0 ? 35 * kMs : 40 * kMs;
            producer->slice({track, op, Instant{begin}, Duration{20 * kMs}, {}, {}});
            StepRecord step;
            step.step = StepIndex(0);
            step.range = {Instant{begin}, Instant{end}};
            producer->step(RankId(rank), step);
        }
        QVERIFY(trace.finish({}).ok());
        InMemoryTraceQuery query(trace.data());
        const Result<StepTable> steps = askSteps(query, RankId(0));
        const Result<TraceMetrics> metrics = computeMetrics(query);
        QVERIFY(steps.ok() && metrics.ok());
        QCOMPARE(steps->rows.size(), std::size_t(1));
        const auto& parts = *steps->rows.front().parts;
        QCOMPARE(parts[static_cast<std::size_t>(StepPart::Compute)], 7.0 / 12);
        QCOMPARE(parts[static_cast<std::size_t>(StepPart::Idle)], *metrics->idleFraction);
        QCOMPARE(*steps->medianTime(), *metrics->stepTime);
    }

    void theMedianLeavesWarmupOut()
    {
        StepTable t;
        QVERIFY(!t.medianTime());
        t.rows = {row(0, 900, true)};
        QVERIFY(!t.medianTime());
        t.rows = {row(0, 900, true), row(1, 10), row(2, 30), row(3, 20)};
        QCOMPARE(*t.medianTime(), Duration{20'000'000});
        t.rows.push_back(row(4, 40));
        QCOMPARE(*t.medianTime(), Duration{20'000'000});
        t.rows.push_back(row(5, 5));
        t.rows.back().complete = false; // a rank did not take it
        QCOMPARE(*t.medianTime(), Duration{20'000'000});
        t.rows.pop_back();
        QVERIFY(!t.throughput()); // neither tokens nor samples recorded: unknown, not 0
        for (StepRow& each : t.rows) each.samples = 4;
        QVERIFY(!t.hasTokens());
        QCOMPARE(*t.throughput(), 4 / 0.020); // the lower one of the two in the middle
        t.rows[1].tokens = 1000;
        QCOMPARE(*t.throughput(), 1000 / 0.020); // the lower one of the two in the middle
    }
};

FOURWALLS_TEST(StepsTableTest, QCoreApplication)

} // namespace tst_steps_table

#include "tst_steps_table.moc"
