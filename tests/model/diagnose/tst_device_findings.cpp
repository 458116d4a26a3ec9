// SPDX-License-Identifier: Apache-2.0
// Copies, stalls between steps, experts and memory: on small traces, with each figure worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/diagnose/diagnosis.h"
#include "model/trace/expert_load.h"
#include "model/trace/job_time.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>

namespace tst_device_findings {

using namespace fourwalls;
using namespace fourwalls::test;
using namespace fourwalls::diagnose;

namespace {

constexpr std::int64_t kGB = 1'000'000'000;

const Finding* has(const Diagnosis& said, Cause cause)
{
    const auto at = std::find_if(said.findings.begin(), said.findings.end(),
                                 [cause](const Finding& each) { return each.cause == cause; });
    return at == said.findings.end() ? nullptr : &*at;
}

Diagnosis diagnosed(Builder& builder)
{
    InMemoryTraceQuery trace = builder.finish();
    auto said = diagnose::diagnose(trace);
    if (!said.ok()) qFatal("%s", said.error().message().c_str());
    return std::move(*said);
}

OpInfo operatorOf(const std::string& name, SliceKind kind, Activity activity, Phase phase = Phase::None)
{
    OpInfo info;
    info.name = name;
    info.kind = kind;
    info.activity = activity;
    info.phase = phase;
    return info;
}

void slice(Builder& b, TrackId track, const OpInfo& info, std::int64_t begin, std::int64_t end)
{
    b.producer->slice({track, b.trace.defineOp(info), Instant{begin}, Duration{end - begin}, {}, {}});
}

bool isAbout(double value, double expected)
{
    return std::abs(value - expected) < 1e-6 * std::max(1.0, std::abs(expected));
}

TraceHeader ofCapacity(std::int64_t bytes)
{
    TraceHeader header = headerOf(1);
    header.ranks[0].memoryBytes = bytes;
    return header;
}

void allocate(Builder& b, std::int64_t id, std::int64_t at, std::int64_t bytes, std::int64_t until)
{
    AllocationRecord record;
    record.id = AllocationId{id};
    record.at = Instant{at};
    record.bytes = bytes;
    b.producer->allocated(RankId{0}, record);
    b.producer->freed(RankId{0}, record.id, Instant{until});
}

/// Ten steps of 10 ms, and 20 ms after the fourth and the eighth, for what `fill` puts on the host's track: 140 ms.
template <class Fill>
void addStepsWithGaps(Builder& b, const Fill& fill)
{
    std::int64_t at = 0;
    for (int step = 0; step < 10; ++step) {
        b.step(0, step, at, at + 10 * kMs);
        b.work(0, "k", Phase::Forward, at, at + 10 * kMs);
        at += 10 * kMs;
        if (step != 3 && step != 7) continue;
        fill(b.trace.defineTrack({RankId{0}, TrackKind::CpuThread, "thread 1", 2}), at);
        at += 20 * kMs;
    }
}

} // namespace

class DeviceFindingsTest : public QObject {
    Q_OBJECT

private slots:
    /// A copy of 30 ms in a step of 100, of which computation hides the first 10.
    void copies()
    {
        Builder b(1);
        b.step(0, 0, 0, 100 * kMs);
        b.work(0, "k", Phase::None, 0, 50 * kMs);
        b.work(0, "k", Phase::None, 70 * kMs, 100 * kMs);
        const TrackId stream = b.trace.defineTrack({RankId{0}, TrackKind::CopyStream, "copies", 2});
        slice(b, stream, operatorOf("Memcpy HtoD (Pageable -> Device)", SliceKind::Copy, Activity::Copy), 40 * kMs,
              70 * kMs);
        const Diagnosis said = diagnosed(b);
        const Finding* copies = has(said, Cause::CopyBound);
        QVERIFY(copies && copies->gain);
        QVERIFY(isAbout(copies->value(EvidenceKind::ShareOfStep), 0.2));
        QVERIFY(isAbout(copies->gain->perStep.milliseconds(), 20));
        QCOMPARE(copies->text(EvidenceKind::Mostly), std::string("Memcpy HtoD"));
        QVERIFY(copies->show.range);
    }

    /// All of the gaps for a checkpoint or an evaluation: 40 of 140 ms.
    void stalls()
    {
        for (const bool checkpoint : {true, false}) {
            Builder b(1);
            addStepsWithGaps(b, [&](TrackId host, std::int64_t at) {
                slice(b, host,
                      checkpoint ? operatorOf("save", SliceKind::Checkpoint, Activity::None, Phase::CheckpointSave)
                                 : operatorOf("evaluate", SliceKind::Operator, Activity::None, Phase::Evaluation),
                      at, at + 20 * kMs);
            });
            const Diagnosis said = diagnosed(b);
            const Finding* stall = has(said, checkpoint ? Cause::CheckpointStall : Cause::EvaluationStall);
            QVERIFY(stall && stall->gain);
            QVERIFY(!has(said, checkpoint ? Cause::EvaluationStall : Cause::CheckpointStall));
            QVERIFY(isAbout(stall->gain->share, 40.0 / 140));
            QVERIFY(isAbout(stall->value(EvidenceKind::TimePerStep), 4));
            QVERIFY(isAbout(stall->value(EvidenceKind::LongestPause), 20));
            QCOMPARE(stall->value(EvidenceKind::StepsAffected), 2.0);
        }
    }

    /// A checkpoint of 15 ms and an evaluation of 5 in each gap: each has its own part of it.
    void stallsInOneGap()
    {
        Builder b(1);
        addStepsWithGaps(b, [&](TrackId host, std::int64_t at) {
            slice(b, host, operatorOf("save", SliceKind::Checkpoint, Activity::None, Phase::CheckpointSave), at,
                  at + 15 * kMs);
            slice(b, host, operatorOf("evaluate", SliceKind::Operator, Activity::None, Phase::Evaluation),
                  at + 15 * kMs, at + 20 * kMs);
        });
        const Diagnosis said = diagnosed(b);
        const Finding *checkpoint = has(said, Cause::CheckpointStall), *evaluation = has(said, Cause::EvaluationStall);
        QVERIFY(checkpoint && evaluation);
        QVERIFY(isAbout(checkpoint->gain->share, 30.0 / 140));
        QVERIFY(isAbout(evaluation->gain->share, 10.0 / 140));
        QVERIFY(isAbout(evaluation->value(EvidenceKind::LongestPause), 5));
    }

    /// In the first gap a failure with a checkpoint before it, in the second a checkpoint of 20 ms. Of the first gap 4 ms
    /// are the checkpoint's, 6 nobody's before the failure was noticed, 10 detection, restart and loading.
    void failures()
    {
        Builder b(1);
        const TrackId phases = b.trace.defineTrack({RankId{0}, TrackKind::Phases, "phases", 3});
        bool isFirst = true;
        addStepsWithGaps(b, [&](TrackId, std::int64_t at) {
            const auto add = [&](const char* called, SliceKind kind, Phase phase, std::int64_t from, std::int64_t to) {
                slice(b, phases, operatorOf(called, kind, Activity::None, phase), at + from * kMs, at + to * kMs);
            };
            add("save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 0, isFirst ? 4 : 20);
            if (!std::exchange(isFirst, false)) return;
            add(kDetectionName, SliceKind::Phase, Phase::None, 10, 13);
            add(kRestartName, SliceKind::Phase, Phase::Setup, 13, 17);
            add("load checkpoint", SliceKind::Checkpoint, Phase::CheckpointLoad, 17, 20);
        });
        const Diagnosis said = diagnosed(b);
        const Finding *failed = has(said, Cause::Failures), *checkpoint = has(said, Cause::CheckpointStall);
        QVERIFY(failed && failed->gain && checkpoint && checkpoint->gain);
        QCOMPARE(failed->value(EvidenceKind::Restarts), 1.0);
        QVERIFY(isAbout(failed->value(EvidenceKind::TimePerRestart), 16));
        QVERIFY(isAbout(failed->gain->share, 16.0 / 140));
        QCOMPARE(failed->show.range->begin, Instant{40 * kMs});
        QVERIFY(isAbout(checkpoint->gain->share, 24.0 / 140)); // of both gaps, as goodput has it
        QVERIFY(isAbout(checkpoint->value(EvidenceKind::LongestPause), 20));
    }

    /// One rank's experts get three times the tokens of the other's, and take three times as long: evenly, each would take
    /// 20 of the 30 ms.
    void experts()
    {
        for (const double tokens : {30.0, 10.0}) {
            Builder b(2);
            b.trace.defineGroup({"ep", {RankId{0}, RankId{1}}, "local"});
            CounterId counters[2];
            for (const int rank : {0, 1})
                counters[rank] = b.trace.defineCounter(
                    {RankId{rank}, std::string(kExpertTokens) + std::to_string(rank), CounterUnit::None});
            for (int step = 0; step < 4; ++step) {
                const std::int64_t at = step * 50 * kMs;
                const auto most = static_cast<std::int64_t>(tokens);
                for (const int rank : {0, 1}) {
                    const std::int64_t took = rank == 0 ? most : 10;
                    b.step(rank, step, at, at + (most + 10) * kMs);
                    const auto op = [&](TrackId track, std::string_view name, SliceKind kind, std::int64_t from,
                                        std::int64_t to) {
                        OpInfo info = operatorOf(std::string(name), kind, Activity::Compute, Phase::Forward);
                        info.layer = LayerIndex{5};
                        slice(b, track, info, at + from, at + to);
                    };
                    const TrackId operators = b.trace.defineTrack({RankId{rank}, TrackKind::Operators, "operators", 2});
                    op(operators, kExpertDispatch, SliceKind::Operator, 0, kMs);
                    b.producer->counter({counters[rank], Instant{at + kUs}, static_cast<double>(took)});
                    op(b.kernels(rank), kExpertProducts, SliceKind::Kernel, kMs, (1 + took) * kMs);
                    b.collective(rank, at + (1 + took) * kMs, at + (1 + most) * kMs, at + (most + 10) * kMs, step,
                                 CollectiveOp::AllToAll);
                }
            }
            const Diagnosis said = diagnosed(b);
            const Finding* experts = has(said, Cause::ExpertImbalance);
            QCOMPARE(experts != nullptr, tokens == 30);
            if (!experts) continue;
            QVERIFY(isAbout(experts->value(EvidenceKind::BusiestShare), 1.5));
            QVERIFY(isAbout(experts->value(EvidenceKind::BusiestExpert), 1.5));
            QVERIFY(isAbout(experts->gain->perStep.milliseconds(), 10));
            QCOMPARE(experts->source.layer, std::optional(LayerIndex{5}));
        }
    }

    /// A peak of 95 of 100 GB, in the second of three steps.
    void nearTheWall()
    {
        for (const std::int64_t peak : {95, 85}) {
            Builder b(1, ofCapacity(100 * kGB));
            for (int step = 0; step < 3; ++step) {
                b.step(0, step, step * 10 * kMs, (step + 1) * 10 * kMs);
                b.work(0, "k", Phase::None, step * 10 * kMs, (step + 1) * 10 * kMs);
                allocate(b, step + 1, step * 10 * kMs + kMs, (step == 1 ? peak : 50) * kGB, step * 10 * kMs + 9 * kMs);
            }
            const Diagnosis said = diagnosed(b);
            const Finding* full = has(said, Cause::MemoryNearWall);
            QCOMPARE(full != nullptr, peak == 95);
            if (!full) continue;
            QCOMPARE(full->value(EvidenceKind::Peak), 95.0 * kGB);
            QCOMPARE(full->value(EvidenceKind::Capacity), 100.0 * kGB);
            QVERIFY(full->show.range && full->show.range->contains(Instant{11 * kMs}));
        }
    }

    /// 60 of 100 GB are reserved; of them at most 30 were used, or 50.
    void reservedAndNotUsed()
    {
        for (const std::int64_t peak : {30, 50}) {
            Builder b(1, ofCapacity(100 * kGB));
            b.step(0, 0, 0, 10 * kMs);
            b.work(0, "k", Phase::None, 0, 10 * kMs);
            allocate(b, 1, kMs, peak * kGB, 9 * kMs);
            const CounterId reserved = b.trace.defineCounter({RankId{0}, "reserved_bytes", CounterUnit::Bytes});
            b.producer->counter({reserved, Instant{2 * kMs}, 60.0 * kGB});
            const Diagnosis said = diagnosed(b);
            const Finding* unused = has(said, Cause::Fragmentation);
            QCOMPARE(unused != nullptr, peak == 30);
            if (!unused) continue;
            QCOMPARE(unused->value(EvidenceKind::Reserved), 60.0 * kGB);
            QCOMPARE(unused->value(EvidenceKind::Peak), 30.0 * kGB);
        }
    }

    /// At the end of a snapshot without a known capacity 3 of 4 GB are free in three segments; or in one.
    void freeInPieces()
    {
        for (const bool pieces : {true, false}) {
            Builder b(1);
            TraceClosing closing;
            for (int i = 0; i < 4; ++i) {
                const std::int64_t begin = (1 + i) * (std::int64_t{1} << 40);
                const bool whole = !pieces && i == 1;
                if (!pieces && i > 1) break;
                closing.segments.push_back({RankId{0}, begin, whole ? 3 * kGB : kGB, Instant{0}});
            }
            AllocationRecord record;
            record.id = AllocationId{1};
            record.at = Instant{kMs};
            record.bytes = kGB;
            record.address = std::int64_t{1} << 40;
            b.producer->allocated(RankId{0}, record);
            InMemoryTraceQuery trace = b.finish(closing);
            const auto said = diagnose::diagnose(trace);
            QVERIFY2(said.ok(), said.ok() ? "" : said.error().message().c_str());
            const Finding* free = has(*said, Cause::Fragmentation);
            QCOMPARE(free != nullptr, pieces);
            if (!free) continue;
            QCOMPARE(free->value(EvidenceKind::Reserved), 4.0 * kGB);
            QVERIFY(std::abs(free->value(EvidenceKind::FreeAtEnd) - 3.0 * kGB) < 1e6);
            QCOMPARE(free->value(EvidenceKind::LargestHole), 1.0 * kGB);
        }
    }
};

FOURWALLS_TEST(DeviceFindingsTest, QCoreApplication)

} // namespace tst_device_findings

#include "tst_device_findings.moc"
