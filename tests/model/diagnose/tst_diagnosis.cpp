// SPDX-License-Identifier: Apache-2.0
// What a trace says costs its step, on steps worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/diagnosis.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tst_diagnosis {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

using diagnose::Cause;
using diagnose::diagnose;
using diagnose::Diagnosis;
using diagnose::EvidenceKind;
using diagnose::Finding;

const Finding* found(const Diagnosis& diagnosis, Cause cause)
{
    const auto at = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                 [cause](const Finding& each) { return each.cause == cause; });
    return at == diagnosis.findings.end() ? nullptr : &*at;
}

/// Steps of a pass and an all-reduce in which all meet; `passes` gives what a rank computes in a step [ms].
struct Job {
    Builder builder;
    int ranks;
    std::int64_t at = 0; ///< where the next step begins

    explicit Job(int count, TraceHeader header) : builder(count, std::move(header)), ranks(count) {}
    explicit Job(int count) : Job(count, headerOf(count)) {}

    void steps(int first, int last, const std::function<double(int rank, int step)>& passes, double moving = 2)
    {
        for (int step = first; step <= last; ++step) {
            std::int64_t arrival = at;
            for (int rank = 0; rank < ranks; ++rank) arrival = std::max(arrival, at + ns(passes(rank, step)));
            const std::int64_t end = arrival + ns(moving);
            for (int rank = 0; rank < ranks; ++rank) {
                const std::int64_t own = at + ns(passes(rank, step));
                builder.step(rank, step, at, end);
                builder.work(rank, "gemm", Phase::Forward, at, own);
                builder.collective(rank, own, arrival, end, step);
            }
            at = end;
        }
    }
    static std::int64_t ns(double ms) { return std::llround(ms * 1e6); }

    Diagnosis diagnosis()
    {
        InMemoryTraceQuery trace = builder.finish();
        auto said = diagnose(trace);
        if (!said.ok()) qFatal("%s", said.error().message().c_str());
        return std::move(*said);
    }
};

bool isNear(double value, double expected)
{
    return std::abs(value - expected) < 1e-6 * std::max(1.0, std::abs(expected));
}

} // namespace

class DiagnosisTest : public QObject {
    Q_OBJECT

private slots:
    void aBusyDeviceIsAnAnswer()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 0, 97 * kMs);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = diagnose(trace);
        QVERIFY(findings.ok());
        QVERIFY(findings->findings.empty());
        QVERIFY(std::abs(*findings->compute - 0.97) < 1e-9);
        QCOMPARE(findings->stepTime, Duration{100 * kMs});
    }

    /// Without the program on the processor nobody knows why the device is idle.
    void idleOfAnUnseenProgramIsNotExplained()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 0, 40 * kMs);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = diagnose(trace);
        QVERIFY(findings.ok());
        QVERIFY(!found(*findings, Cause::HostBound));
        QVERIFY(
            std::any_of(findings->abstained.begin(), findings->abstained.end(),
                        [](const fourwalls::diagnose::Abstention& each) { return each.cause == Cause::HostBound; }));
    }

    /// Ten samples a tenth of the trace apart: rank 0 at 1980 MHz for three of them, then at 1386 (0.7 of it) by its power
    /// limit for seven; rank 1 at 1980 throughout, the last samples idle.
    void loweredClocksByTheirSamples()
    {
        Builder b(2);
        for (const int rank : {0, 1}) {
            b.step(rank, 0, 0, 1000 * kMs);
            b.work(rank, "k", Phase::None, 0, 1000 * kMs);
            const CounterId clock = b.trace.defineCounter({RankId{rank}, "sm_clock", CounterUnit::Hertz});
            const CounterId reasons = b.trace.defineCounter({RankId{rank}, "throttle_reasons", CounterUnit::None});
            for (int i = 0; i <= 10; ++i) {
                const bool low = rank == 0 && i >= 3;
                const Instant at{std::min<std::int64_t>(i * 100 * kMs, 1000 * kMs - 1)};
                b.producer->counter({clock, at, low ? 1386e6 : 1980e6});
                b.producer->counter({reasons, at, low ? 0x4 + 0x20 : rank == 1 && i > 8 ? 0x1 : 0.0});
            }
        }
        InMemoryTraceQuery trace = b.finish();
        const auto findings = diagnose(trace);
        QVERIFY(findings.ok());
        const Finding* lowered = found(*findings, Cause::Throttling);
        QVERIFY(lowered);
        QVERIFY(std::abs(lowered->value(EvidenceKind::SampledShare) - 0.35) < 1e-6); // mean of 0.7 and 0
        QVERIFY(std::abs(lowered->gain->share - 0.35 * 0.3) < 1e-6);                 // what the full clock saves of it
        QVERIFY(std::abs(lowered->value(EvidenceKind::Clock) - 1386) < 1e-6 &&
                std::abs(lowered->value(EvidenceKind::FullClock) - 1980) < 1e-6);
        QCOMPARE(lowered->text(EvidenceKind::Reasons), std::string("power cap, temperature (software)"));
        QCOMPARE(lowered->value(EvidenceKind::Samples), 22.0);
        QVERIFY(lowered->steps.empty()); // of the whole trace
        QCOMPARE(lowered->ranks, std::vector<RankId>{RankId{0}});
        QVERIFY(lowered->show.view == fourwalls::diagnose::FindingView::Timeline && lowered->show.rank == RankId{0});
        QCOMPARE(lowered->show.range->begin.ns, 300 * kMs);
        QCOMPARE(lowered->show.range->end.ns, 1000 * kMs - 1);
    }

    /// A few percent of clock, an idle device's clock, or samples without clocks are no finding.
    void clocksThatCostLittleAreNone()
    {
        for (const bool withClock : {true, false}) {
            Builder b(1);
            b.step(0, 0, 0, 1000 * kMs);
            b.work(0, "k", Phase::None, 0, 1000 * kMs);
            const CounterId reasons = b.trace.defineCounter({RankId{0}, "throttle_reasons", CounterUnit::None});
            const CounterId clock = b.trace.defineCounter({RankId{0}, "sm_clock", CounterUnit::Hertz});
            for (int i = 0; i < 10; ++i) {
                b.producer->counter({reasons, Instant{i * 100 * kMs}, 0x4});
                if (withClock) b.producer->counter({clock, Instant{i * 100 * kMs}, i == 0 ? 1980e6 : 1930e6});
            }
            InMemoryTraceQuery trace = b.finish();
            const auto findings = diagnose(trace);
            QVERIFY(findings.ok());
            QVERIFY(!found(*findings, Cause::Throttling));
        }
    }

    /// Each time another rank is late: that is known where the ranks' clocks are the same.
    void whoIsLateByClocksThatDiffer()
    {
        for (const bool aligned : {true, false}) {
            Job job(4);
            if (!aligned) job.builder.trace.audit({"clock_not_aligned", AuditSeverity::Info, 3, ""});
            job.steps(0, 7, [](int rank, int step) { return rank == (step * 7 + step / 4) % 4 ? 14.0 : 10.0; });
            const Diagnosis said = job.diagnosis();
            QCOMPARE(found(said, Cause::UnevenArrivals) != nullptr, aligned);
        }
    }

    void aRankThatIsSlowerForTheSameWork()
    {
        Job job(4);
        job.steps(0, 7, [](int rank, int) { return rank == 2 ? 15.0 : 10.0; });
        const Diagnosis said = job.diagnosis();
        const Finding* slow = found(said, Cause::SlowRank);
        QVERIFY(slow && slow == &said.findings.front());
        QCOMPARE(slow->ranks, std::vector<RankId>{RankId{2}});
        QVERIFY(isNear(slow->value(EvidenceKind::Ratio), 1.5));
        QVERIFY(isNear(slow->value(EvidenceKind::OwnTime), 15) && isNear(slow->value(EvidenceKind::PeersTime), 10));
        QVERIFY(slow->gain->source == fourwalls::diagnose::GainSource::Replay);
        QVERIFY(isNear(slow->gain->share, 5.0 / 17)); // 15 + 2 ms become 10 + 2
        QVERIFY(!found(said, Cause::UnevenArrivals) && !found(said, Cause::SequenceImbalance));
    }

    /// Now and then somebody else is late, nobody more often than by chance.
    void nobodyIsSlowByChance()
    {
        Job job(4);
        job.steps(0, 15, [](int rank, int step) { return rank == step * 7 % 4 ? 10.6 : 10.0 + 0.01 * rank; });
        const Diagnosis said = job.diagnosis();
        QVERIFY(!found(said, Cause::SlowRank) && !found(said, Cause::Throttling) && !found(said, Cause::BadSteps));
    }

    void workThatTakesLongerFromAStepOn()
    {
        Job job(2);
        job.steps(0, 15, [](int rank, int step) { return rank == 1 && step >= 9 ? 13.0 : 10.0; });
        const Diagnosis said = job.diagnosis();
        const Finding* slower = found(said, Cause::Throttling);
        QVERIFY(slower);
        QCOMPARE(slower->ranks, std::vector<RankId>{RankId{1}});
        QCOMPARE(slower->value(EvidenceKind::FromStep), 9.0);
        QVERIFY(isNear(slower->value(EvidenceKind::Ratio), 1.3));
        QVERIFY(isNear(slower->gain->share, 7 * 3.0 / (9 * 12 + 7 * 15)));
        QVERIFY(!found(said, Cause::SlowRank));
    }

    /// Times of a rank as they were on a machine that did other work: a tenth to either side, and twice as long from a step
    /// on. Where they only drift, nothing changed at a step.
    void workThatTakesLongerOnABusyMachine()
    {
        constexpr double kSlower[] = {0.74, 0.59, 0.73, 0.56, 0.68, 0.56, 0.69, 0.61, 0.71, 1.14,
                                      1.27, 1.03, 1.18, 1.07, 1.32, 1.34, 1.30, 1.26, 1.36};
        Job job(2);
        job.steps(0, 18, [&](int rank, int step) { return rank == 0 ? 20 * kSlower[step] : 10.0; });
        const Diagnosis said = job.diagnosis();
        const Finding* slower = found(said, Cause::Throttling);
        QVERIFY(slower);
        QCOMPARE(slower->ranks, std::vector<RankId>{RankId{0}});
        QCOMPARE(slower->value(EvidenceKind::FromStep), 9.0);

        Job drifts(2);
        drifts.steps(0, 18, [](int rank, int step) { return rank == 0 ? 20 + 0.4 * step : 20.0; });
        QVERIFY(!found(drifts.diagnosis(), Cause::Throttling));
    }

    /// All ranks are throttled from step 10 on, and one of them has a bad step on either side: both are said, each with what
    /// it costs beside the other.
    void fewStepsAreLongWhileRanksAreThrottled()
    {
        Job job(2);
        job.steps(0, 19, [](int rank, int step) {
            return (step < 10 ? 10.0 : 20.0) * (rank == 1 && (step == 5 || step == 15) ? 4 : 1);
        });
        const Diagnosis said = job.diagnosis();
        const Finding *throttled = found(said, Cause::Throttling), *bad = found(said, Cause::BadSteps);
        QVERIFY(throttled && bad);
        QCOMPARE(throttled->ranks, (std::vector<RankId>{RankId{0}, RankId{1}}));
        QCOMPARE(throttled->value(EvidenceKind::FromStep), 10.0);
        QCOMPARE(bad->ranks, std::vector<RankId>{RankId{1}});
        QCOMPARE(bad->steps, (std::vector<StepIndex>{StepIndex{5}, StepIndex{15}}));
        // 10 steps of 12 ms, 10 of 22, and 30 and 60 ms more; each step has 2 ms of a transfer.
        const double all = 10 * 12 + 10 * 22 + 30 + 60;
        QVERIFY(isNear(bad->gain->share, 90 / all));
        QVERIFY(isNear(throttled->gain->share, (9 * 10 + 40) / all));
    }

    void fewStepsAreLong()
    {
        Job job(2);
        job.steps(0, 19, [](int rank, int step) { return rank == 0 && step % 10 == 4 ? 40.0 : 10.0; });
        const Diagnosis said = job.diagnosis();
        const Finding* bad = found(said, Cause::BadSteps);
        QVERIFY(bad);
        QCOMPARE(bad->steps, (std::vector<StepIndex>{StepIndex{4}, StepIndex{14}}));
        QCOMPARE(bad->ranks, std::vector<RankId>{RankId{0}});
        QVERIFY(isNear(bad->value(EvidenceKind::LongestStep), 42) && isNear(bad->value(EvidenceKind::MedianStep), 12));
        QVERIFY(isNear(bad->gain->share, 60.0 / (20 * 12 + 60)));
        QVERIFY(!found(said, Cause::Throttling) && !found(said, Cause::SlowRank));
    }

    /// Micro-batches of unequal length, forward and backward alike; each rank is slow now and then.
    void microbatchesOfUnequalLength()
    {
        Job job(2);
        std::int64_t at = 0;
        const auto pass = [&job](int rank, int microbatch, Phase phase, std::int64_t from, double ms) {
            OpInfo info;
            info.name = phase == Phase::Forward ? "forward" : "backward";
            info.kind = SliceKind::Kernel;
            info.phase = phase;
            info.activity = Activity::Compute;
            const std::int64_t length = Job::ns(ms);
            job.builder.producer->slice({job.builder.kernels(rank),
                                         job.builder.trace.defineOp(info),
                                         Instant{from},
                                         Duration{length},
                                         Microbatch{microbatch},
                                         {}});
            return from + length;
        };
        for (int step = 0; step < 8; ++step) {
            std::int64_t ends[2] = {at, at};
            for (int rank = 0; rank < 2; ++rank)
                for (int microbatch = 0; microbatch < 2; ++microbatch) {
                    const double length = 5 + (rank * 3 + microbatch * 5 + step * 7) % 9;
                    ends[rank] = pass(rank, microbatch, Phase::Forward, ends[rank], length);
                    ends[rank] = pass(rank, microbatch, Phase::BackwardInput, ends[rank], 2 * length);
                }
            const std::int64_t last = std::max(ends[0], ends[1]);
            for (int rank = 0; rank < 2; ++rank) {
                job.builder.step(rank, step, at, last + Job::ns(1));
                job.builder.collective(rank, ends[rank], last, last + Job::ns(1), step);
            }
            at = last + Job::ns(1);
        }
        const Diagnosis said = job.diagnosis();
        const Finding* uneven = found(said, Cause::SequenceImbalance);
        QVERIFY(uneven);
        QVERIFY(uneven->value(EvidenceKind::ForwardBackward) > 0.99);
        QVERIFY(uneven->gain->share > 0.03 && uneven->gain->share < 0.5);
        QVERIFY(!found(said, Cause::SlowRank) && !found(said, Cause::UnevenArrivals));
    }

    void aStageWithMoreWork()
    {
        TraceHeader header = headerOf(2);
        header.ranks[1].pipelineStage = 1;
        Job job(2, header);
        for (int step = 0; step < 6; ++step) {
            const std::int64_t at = step * 40 * kMs;
            for (int rank = 0; rank < 2; ++rank) {
                job.builder.step(rank, step, at, at + 40 * kMs);
                // Layers take equally long; the last stage has the head besides.
                job.builder.work(rank, "layer", Phase::Forward, at, at + 10 * kMs);
                if (rank == 1) job.builder.work(rank, "head", Phase::Forward, at + 10 * kMs, at + 30 * kMs);
                job.builder.collective(rank, at + (rank == 1 ? 30 : 10) * kMs, at + 30 * kMs, at + 40 * kMs, step);
            }
        }
        const Diagnosis said = job.diagnosis();
        const Finding* stage = found(said, Cause::SlowStage);
        QVERIFY(stage);
        QCOMPARE(stage->stage, std::optional<int>(1));
        QVERIFY(isNear(stage->value(EvidenceKind::Ratio), 3));
        QVERIFY(isNear(stage->gain->share, 10.0 / 40)); // 30 ms become 20
        QVERIFY(!found(said, Cause::SlowRank));
    }

    void memoryThatGrows()
    {
        for (const bool grows : {true, false}) {
            Job job(1);
            job.steps(0, 9, [](int, int) { return 10.0; });
            for (int step = 0; step < 10; ++step) {
                AllocationRecord allocation;
                allocation.id = AllocationId{step + 1};
                allocation.at = Instant{step * 12 * kMs + kMs};
                allocation.bytes = 1'000'000;
                job.builder.producer->allocated(RankId{0}, allocation);
                if (!grows) job.builder.producer->freed(RankId{0}, allocation.id, Instant{step * 12 * kMs + 2 * kMs});
            }
            const Diagnosis said = job.diagnosis();
            const Finding* growth = found(said, Cause::MemoryGrowth);
            QCOMPARE(growth != nullptr, grows);
            if (growth) QVERIFY(isNear(growth->value(EvidenceKind::BytesPerStep), 1e6));
        }
    }

    void noStepsSayNothing()
    {
        Builder b(1);
        b.work(0, "k", Phase::None, 5, 25);
        InMemoryTraceQuery trace = b.finish();
        const auto findings = diagnose(trace);
        QVERIFY(findings.ok());
        QVERIFY(findings->findings.empty() && !findings->compute);
        QVERIFY(!findings->abstained.empty());
    }
};

FOURWALLS_TEST(DiagnosisTest, QCoreApplication)

} // namespace tst_diagnosis

#include "tst_diagnosis.moc"
