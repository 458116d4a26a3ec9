// SPDX-License-Identifier: Apache-2.0
// What findings may not say: more than the trace holds.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/diagnosis.h"
#include "model/diagnose/finding_text.h"
#include "model/trace/step_window.h"
#include "tests/model/trace/allocator_example.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>

namespace tst_diagnosis_limits {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

using diagnose::Cause;
using diagnose::Diagnosis;
using diagnose::EvidenceKind;
using diagnose::Finding;
using diagnose::Lack;

const Finding* has(const Diagnosis& diagnosis, Cause cause)
{
    const auto at = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                 [cause](const Finding& each) { return each.cause == cause; });
    return at == diagnosis.findings.end() ? nullptr : &*at;
}

Diagnosis diagnosed(Builder& builder, const TraceClosing& closing = {})
{
    InMemoryTraceQuery trace = builder.finish(closing);
    auto said = diagnose::diagnose(trace);
    if (!said.ok()) qFatal("%s", said.error().message().c_str());
    return std::move(*said);
}

void slice(Builder& builder, TrackId track, const std::string& name, SliceKind kind, Activity activity,
           std::int64_t begin, std::int64_t end)
{
    OpInfo info;
    info.name = name;
    info.kind = kind;
    info.activity = activity;
    builder.producer->slice({track, builder.trace.defineOp(info), Instant{begin}, Duration{end - begin}, {}, {}});
}

void program(Builder& builder, int rank, const std::string& name, SliceKind kind, Activity activity, std::int64_t begin,
             std::int64_t end)
{
    const TrackId track = builder.trace.defineTrack({RankId{rank}, TrackKind::CpuThread, "python", 2});
    slice(builder, track, name, kind, activity, begin, end);
}

TraceClosing withoutSteps()
{
    TraceClosing closing;
    closing.stepsBy = std::string(kWholeTrace);
    return closing;
}

bool isAbout(double value, double expected)
{
    return std::abs(value - expected) < 1e-6 * std::max(1.0, std::abs(expected));
}

} // namespace

class DiagnosisLimitsTest : public QObject {
    Q_OBJECT

private slots:
    /// One step of ten takes 40 ms in place of 10. It is the rank's doing where its processor worked for it, and nobody's
    /// where it worked as long as ever.
    void longStepsOfABusyMachine()
    {
        const auto said = [](double work, bool onTheWallClock) {
            TraceHeader header = headerOf(1);
            header.clock = onTheWallClock ? ClockKind::Wall : ClockKind::Device;
            Builder b(1, header);
            const CounterId cpu = b.trace.defineCounter({RankId{0}, "step_cpu_ms", {}});
            std::int64_t at = 0;
            for (int i = 0; i < 10; ++i) {
                const std::int64_t length = (i == 6 ? 40 : 10) * kMs;
                b.step(0, i, at, at + length);
                b.work(0, "forward", Phase::Forward, at, at + length);
                b.producer->counter({cpu, Instant{at + length - 1}, i == 6 ? work : 9});
                at += length;
            }
            return diagnosed(b);
        };
        const auto abstains = [](const Diagnosis& of) {
            return std::any_of(of.abstained.begin(), of.abstained.end(), [](const diagnose::Abstention& each) {
                return each.lack == Lack::Cores && each.because.find("1 of 10 steps are longer, by 30 ms") == 0;
            });
        };
        QVERIFY(has(said(39, true), Cause::BadSteps) && !abstains(said(39, true)));
        QVERIFY(!has(said(9.5, true), Cause::BadSteps) && abstains(said(9.5, true)));
        // On a clock that no other program moves, the step is what it is.
        QVERIFY(has(said(9.5, false), Cause::BadSteps));
    }

    /// One rank takes 15 ms where the other takes 10: always, or from the tenth step on. It is slow where its processor
    /// worked for it, and else other programs had its core.
    void slowRanksOfABusyMachine()
    {
        const auto said = [](int from, double work) {
            TraceHeader header = headerOf(2);
            header.clock = ClockKind::Wall;
            Builder b(2, header);
            CounterId cpu[2];
            for (int rank = 0; rank < 2; ++rank) cpu[rank] = b.trace.defineCounter({RankId{rank}, "step_cpu_ms", {}});
            std::int64_t at = 0;
            for (int i = 0; i < 20; ++i) {
                const bool slow = i >= from;
                const std::int64_t last = at + (slow ? 15 : 10) * kMs, end = last + kMs;
                for (int rank = 0; rank < 2; ++rank) {
                    const std::int64_t done = rank == 1 ? last : at + 10 * kMs;
                    b.step(rank, i, at, end);
                    b.work(rank, "forward", Phase::Forward, at, done);
                    b.collective(rank, done, last, end, i);
                    b.producer->counter({cpu[rank], Instant{end - 1}, rank == 1 && slow ? work : 10.0});
                }
                at = end;
            }
            return diagnosed(b);
        };
        const auto abstains = [](const Diagnosis& of, Cause cause) {
            return std::any_of(of.abstained.begin(), of.abstained.end(), [cause](const diagnose::Abstention& each) {
                return each.cause == cause && each.lack == Lack::Cores && each.because.find("rank 1 takes 1.50") == 0;
            });
        };
        for (const auto& [from, cause] : {std::pair(0, Cause::SlowRank), std::pair(10, Cause::Throttling)}) {
            const Diagnosis works = said(from, 15), stands = said(from, 10.5);
            QVERIFY(has(works, cause) && !abstains(works, cause));
            QCOMPARE(has(works, cause)->ranks, std::vector<RankId>{RankId{1}});
            QVERIFY(!has(stands, cause) && abstains(stands, cause));
        }
    }

    /// Two steps of twenty are long, by 12 ms each. In one of them nobody worked for it: that one costs nothing that could be
    /// had back, and the other one alone decides.
    void longStepsAreJudgedOneByOne()
    {
        const auto gain = [](double first, double second) {
            TraceHeader header = headerOf(1);
            header.clock = ClockKind::Wall;
            Builder b(1, header);
            const CounterId cpu = b.trace.defineCounter({RankId{0}, "step_cpu_ms", {}});
            std::int64_t at = 0;
            for (int i = 0; i < 20; ++i) {
                const bool isLong = i == 5 || i == 15;
                const std::int64_t length = (isLong ? 22 : 10) * kMs;
                b.step(0, i, at, at + length);
                b.work(0, "forward", Phase::Forward, at, at + length);
                b.producer->counter({cpu, Instant{at + length - 1}, i == 5 ? first : i == 15 ? second : 9});
                at += length;
            }
            const Diagnosis said = diagnosed(b);
            const Finding* bad = has(said, Cause::BadSteps);
            return bad ? bad->gain->share : 0;
        };
        QVERIFY(std::abs(gain(21, 20) - 24.0 / 224) < 1e-9);
        QVERIFY(std::abs(gain(21, 9) - 12.0 / 212) < 1e-9);
        QCOMPARE(gain(12, 11), 0.0);
    }

    /// In a pipeline the first stage is the last one to end a step, and the other has begun the next one by then. What the
    /// first one's processor worked belongs to its own step.
    void longStepsOfAPipelineOverlap()
    {
        TraceHeader header = headerOf(2);
        header.clock = ClockKind::Wall;
        header.ranks[1].pipelineStage = 1;
        Builder b(2, header);
        CounterId cpu[2];
        for (int rank = 0; rank < 2; ++rank) cpu[rank] = b.trace.defineCounter({RankId{rank}, "step_cpu_ms", {}});
        std::int64_t whole = 0, at[2] = {0, 0};
        for (int i = 0; i < 12; ++i) {
            const bool isLong = i == 4 || i == 9;
            whole += (isLong ? 40 : 10) * kMs;
            for (int rank = 0; rank < 2; ++rank) {
                const std::int64_t end = whole - rank * 3 * kMs;
                b.step(rank, i, at[rank], end);
                b.work(rank, "forward", Phase::Forward, at[rank], end);
                b.producer->counter({cpu[rank], Instant{end - 1}, isLong && rank == 0 ? 39.0 : 9.0});
                at[rank] = end;
            }
        }
        const Diagnosis said = diagnosed(b);
        const Finding* bad = has(said, Cause::BadSteps);
        QVERIFY(bad);
        QCOMPARE(bad->steps.size(), std::size_t{2});
    }

    /// One kernel of 20 ns, and nobody marked a step: that all of it is small kernels tells nobody anything.
    void aFewKernelsAreNoStep()
    {
        for (const int kernels : {1, 19, 20}) {
            Builder b(1);
            b.step(0, 0, 0, kernels * 10 * kUs);
            for (int i = 0; i < kernels; ++i) b.work(0, "k", Phase::None, i * 10 * kUs, i * 10 * kUs + 2 * kUs);
            program(b, 0, "main", SliceKind::Operator, Activity::None, 0, kernels * 10 * kUs);
            const Diagnosis said = diagnosed(b, withoutSteps());
            QCOMPARE(said.findings.empty(), kernels < 20);
            QCOMPARE(std::any_of(said.abstained.begin(), said.abstained.end(),
                                 [](const auto& each) { return each.lack == Lack::Steps; }),
                     kernels < 20);
        }
    }

    /// A trace without steps has no share of a step.
    void sharesOfATraceWithoutSteps()
    {
        for (const bool marked : {true, false}) {
            Builder b(1);
            b.step(0, 0, 0, 1 * kMs);
            for (int i = 0; i < 20; ++i) b.work(0, "k", Phase::None, i * 50 * kUs, i * 50 * kUs + 30 * kUs);
            program(b, 0, "main", SliceKind::Operator, Activity::None, 0, 1 * kMs);
            const Diagnosis said = diagnosed(b, marked ? TraceClosing() : withoutSteps());
            const Finding* bound = has(said, Cause::HostBound);
            QVERIFY(bound);
            QCOMPARE(gainText(*bound),
                     std::string(marked ? "40.0 % of the step (at most)" : "40.0 % of the trace (at most)"));
            QCOMPARE(wordsOf(bound->evidence.front(), *bound),
                     std::string_view(marked ? "share of the step" : "share of the trace"));
        }
    }

    /// Many, and what joining them would win is not known.
    void smallKernelsThatAreMany()
    {
        for (const int kernels : {49, 50}) {
            Builder b(1);
            b.step(0, 0, 0, 1 * kMs);
            for (int i = 0; i < kernels; ++i) b.work(0, "k", Phase::None, i * 20 * kUs, i * 20 * kUs + 8 * kUs);
            const Diagnosis said = diagnosed(b);
            const Finding* small = has(said, Cause::SmallKernels);
            QCOMPARE(small != nullptr, kernels == 50);
            if (!small) continue;
            QVERIFY(isAbout(small->value(EvidenceKind::ShareOfStep), 0.4));
            QCOMPARE(small->value(EvidenceKind::Occurrences), 50.0);
            QVERIFY(!small->gain);
        }
    }

    /// Both ranks load for 5 ms. Rank 1 marked its step 5 ms earlier, so the job's step holds the loading of rank 0 alone;
    /// and rank 0 comes to every collective 4 ms late, which no loading explains.
    void loadingBeforeTheJobsStepIsNobodysFault()
    {
        Builder b(2);
        constexpr int kCollectives = 10;
        constexpr std::int64_t kEach = 5 * kMs, kBegin = 10 * kMs, kEnd = kBegin + kCollectives * kEach;
        b.step(0, 0, 5 * kMs, kEnd);
        b.step(1, 0, 0, kEnd);
        program(b, 0, "next batch", SliceKind::DataLoading, Activity::DataLoading, 5 * kMs, kBegin);
        program(b, 1, "next batch", SliceKind::DataLoading, Activity::DataLoading, 0, 5 * kMs);
        for (int i = 0; i < kCollectives; ++i) {
            const std::int64_t at = kBegin + i * kEach, late = at + 4 * kMs;
            for (const int rank : {0, 1}) {
                const std::int64_t arrival = rank == 0 ? late : at + 100 * kUs;
                b.work(rank, rank == 0 ? "pad" : "gemm", Phase::None, at, arrival);
                b.collective(rank, arrival, late, at + kEach, i);
            }
        }
        const Diagnosis said = diagnosed(b);
        const Finding* loading = has(said, Cause::DataLoading);
        QVERIFY(loading);
        QCOMPARE(loading->ranks.size(), std::size_t(2));
        QVERIFY(isAbout(loading->value(EvidenceKind::ShareOfStep), 2.5 / 55)); // the mean of 5 ms and none
        const Finding* late = has(said, Cause::SlowRank);
        QVERIFY(late);
        QCOMPARE(late->ranks, std::vector<RankId>{RankId{0}});
        QCOMPARE(late->value(EvidenceKind::ComesLast), double(kCollectives));
        QVERIFY(isAbout(late->value(EvidenceKind::DelaysOthers), kCollectives * 3.9));
    }

    /// Two of four ranks: an operation that both took part in is one for each of them.
    void operationsAreCountedByRank()
    {
        TraceHeader header = headerOf(2);
        header.worldSize = 4;
        Builder b(2, std::move(header));
        for (const int rank : {0, 1}) {
            b.step(rank, 0, 0, 10 * kMs);
            b.work(rank, "gemm", Phase::None, 0, 2 * kMs);
            for (int i = 0; i < 4; ++i) {
                const std::int64_t begin = (2 + 2 * i) * kMs, end = (4 + 2 * i) * kMs;
                b.collective(rank, begin, begin, end, i);
                slice(b, b.wire(rank), "all_reduce", SliceKind::Collective, Activity::Transfer, begin, end);
            }
        }
        const Diagnosis said = diagnosed(b);
        const Finding* exposed = has(said, Cause::ExposedCommunication);
        QVERIFY(exposed && exposed->find(EvidenceKind::HoldsWaiting));
        QCOMPARE(exposed->value(EvidenceKind::Occurrences), 4.0);
    }

    /// Both ranks are there: an operation whose other member is behind the step asks for no file of another rank.
    void operationsAtTheEdgeOfTheStep()
    {
        Builder b(2);
        for (const int rank : {0, 1}) {
            b.step(rank, 0, 0, 10 * kMs);
            b.work(rank, "gemm", Phase::None, 0, 6 * kMs);
            b.collective(rank, 6 * kMs, 6 * kMs, 9 * kMs, 0);
        }
        b.collective(0, 9 * kMs, 9500 * kUs, 10 * kMs, 1);
        b.collective(1, 11 * kMs, 11 * kMs, 12 * kMs, 1);
        const Diagnosis said = diagnosed(b);
        QVERIFY(std::none_of(said.abstained.begin(), said.abstained.end(),
                             [](const auto& each) { return each.lack == Lack::OtherRanks; }));
        const Finding* exposed = has(said, Cause::ExposedCommunication);
        QVERIFY(!exposed || !exposed->find(EvidenceKind::HoldsWaiting));
    }

    /// Where nothing computes, nothing is known about what hides communication.
    void communicationBesideNothing()
    {
        for (const bool computes : {true, false}) {
            Builder b(1);
            b.step(0, 0, 0, 10 * kMs);
            if (computes) b.work(0, "gemm", Phase::None, 0, 2 * kMs);
            slice(b, b.wire(0), "all_reduce", SliceKind::Collective, Activity::Transfer, 2 * kMs, 10 * kMs);
            const Diagnosis said = diagnosed(b);
            QCOMPARE(has(said, Cause::ExposedCommunication) != nullptr, computes);
            QCOMPARE(std::any_of(said.abstained.begin(), said.abstained.end(),
                                 [](const auto& each) { return each.cause == Cause::ExposedCommunication; }),
                     !computes);
        }
    }

    /// The step's first work was launched 1 ms after its begin and is begun 6 ms later: the program made nobody wait for that.
    void workThatWaitsForTheDevice()
    {
        for (const bool isLinked : {true, false}) {
            Builder b(1);
            b.step(0, 0, 0, 10 * kMs);
            b.work(0, "gemm", Phase::None, 7 * kMs, 10 * kMs);
            program(b, 0, "cudaLaunchKernel", SliceKind::HostCall, Activity::Launch, 500 * kUs, 1 * kMs);
            const TrackId host = b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "python", 2});
            if (isLinked) b.producer->flow({"launch", host, Instant{500 * kUs}, b.kernels(0), Instant{7 * kMs}});
            const Diagnosis said = diagnosed(b);
            const Finding* bound = has(said, Cause::HostBound);
            QVERIFY(bound);
            QVERIFY(isAbout(bound->value(EvidenceKind::ShareOfStep), isLinked ? 0.1 : 0.7));
            QCOMPARE(std::any_of(said.abstained.begin(), said.abstained.end(),
                                 [](const auto& each) { return each.lack == Lack::WorkBefore; }),
                     isLinked);
        }
    }

    /// Ranks that come in turns, in eight steps: even arrivals would save what they wait in the mean.
    void evenArrivalsSaveTheMeanWait()
    {
        Builder b(4);
        std::int64_t at = 0;
        for (int step = 0; step < 8; ++step, at += 16 * kMs)
            for (int rank = 0; rank < 4; ++rank) {
                const std::int64_t own = at + (rank == (step * 7 + step / 4) % 4 ? 14 : 10) * kMs;
                b.step(rank, step, at, at + 16 * kMs);
                b.work(rank, "gemm", Phase::Forward, at, own);
                b.collective(rank, own, at + 14 * kMs, at + 16 * kMs, step);
            }
        const Diagnosis said = diagnosed(b);
        const Finding* uneven = has(said, Cause::UnevenArrivals);
        QVERIFY(uneven && uneven->gain);
        QVERIFY(isAbout(uneven->gain->share, 3.0 / 16)); // three of four ranks wait for 4 ms in a step of 16
    }

    /// Where one gap is much of the idle time, what the program did then says more than how many kernels there are; what it
    /// waits for is told elsewhere.
    void theLongestGapAndWhatIsDoneInIt()
    {
        for (const Activity activity : {Activity::None, Activity::Launch, Activity::Synchronisation}) {
            Builder b(1);
            b.step(0, 0, 0, 100 * kMs);
            for (int i = 0; i < 20; ++i) b.work(0, "k", Phase::None, i * kMs, (i + 1) * kMs);
            b.work(0, "k", Phase::None, 90 * kMs, 100 * kMs);
            program(b, 0, "train", SliceKind::Marker, Activity::None, 0, 100 * kMs);
            program(b, 0, "aten::conv2d", SliceKind::Operator, Activity::None, 21 * kMs, 89 * kMs);
            program(b, 0, "call", SliceKind::HostCall, activity, 25 * kMs, 85 * kMs);
            const Diagnosis said = diagnosed(b);
            const Finding* bound = has(said, Cause::HostBound);
            QVERIFY(bound);
            const bool own = activity == Activity::None;
            // A launch of 60 ms does something else first.
            QCOMPARE(has(said, Cause::WarmUp) != nullptr, activity == Activity::Launch);
            QCOMPARE(bound->find(EvidenceKind::LongestPause) != nullptr, own);
            if (own) QVERIFY(isAbout(bound->value(EvidenceKind::LongestPause), 70));
            QCOMPARE(bound->text(EvidenceKind::Meanwhile), std::string(own ? "call" : ""));
        }
    }

    /// 17.5 MiB less 1 KiB are free in holes of at most 10.5 MiB, and one more on the device; 16 were wanted.
    void memoryThatIsFreeInPieces()
    {
        constexpr double kMiB = 1 << 20;
        InMemoryTraceQuery trace(allocator::example());
        const auto said = diagnose::diagnose(trace);
        QVERIFY(said.ok());
        const Finding* out = has(*said, Cause::OutOfMemory);
        QVERIFY(out);
        QCOMPARE(out->value(EvidenceKind::Wanted), 16 * kMiB);
        QCOMPARE(out->value(EvidenceKind::FreeTogether), 18.5 * kMiB - 1024);
        QCOMPARE(out->value(EvidenceKind::LargestHole), 10.5 * kMiB);
        QVERIFY(out->find(EvidenceKind::FreeInPieces));
    }
};

FOURWALLS_TEST(DiagnosisLimitsTest, QCoreApplication)

} // namespace tst_diagnosis_limits

#include "tst_diagnosis_limits.moc"
