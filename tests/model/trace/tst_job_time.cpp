// SPDX-License-Identifier: Apache-2.0
// Where the time of a job went, against jobs that are put together by hand.
#include <QtTest>

#include "model/trace/job_time.h"
#include "model/trace/step_window.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

namespace tst_job_time {

using namespace fourwalls;
using namespace fourwalls::test;

namespace {

void phase(Builder& job, const char* name, SliceKind kind, Phase phase, std::int64_t begin, std::int64_t end)
{
    OpInfo info;
    info.name = name;
    info.kind = kind;
    info.phase = phase;
    const TrackId track = job.trace.defineTrack({RankId{0}, TrackKind::Phases, "phases", 1});
    job.producer->slice({track, job.trace.defineOp(info), Instant{begin * kMs}, Duration{(end - begin) * kMs}, {}, {}});
}

void step(Builder& job, int number, std::int64_t begin, std::int64_t end, bool warmup = false)
{
    job.step(0, number, begin * kMs, end * kMs, warmup);
}

std::optional<JobTime> timeOf(Builder& job, const TraceClosing& closing = {})
{
    job.producer.reset();
    if (!job.trace.finish(closing).ok()) return std::nullopt;
    InMemoryTraceQuery query(job.trace.data());
    const auto time = jobTime(query);
    return time.ok() ? *time : std::nullopt;
}

} // namespace

class TestJobTime : public QObject {
    Q_OBJECT

private slots:
    void everyMillisecondHasAName()
    {
        Builder job(1);
        phase(job, "setup", SliceKind::Phase, Phase::Setup, 0, 50); // before the first step: no part of it
        step(job, 0, 50, 70, true);
        step(job, 1, 70, 80);
        phase(job, "save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 80, 83);
        step(job, 2, 83, 93); // lost
        // A rank is killed at 97, within step 3; noticed at 100, gone on with at 130.
        phase(job, kDetectionName, SliceKind::Phase, Phase::None, 97, 100);
        phase(job, kRestartName, SliceKind::Phase, Phase::Setup, 100, 110);
        phase(job, "setup", SliceKind::Phase, Phase::Setup, 110, 130);
        phase(job, "load checkpoint", SliceKind::Checkpoint, Phase::CheckpointLoad, 124, 129);
        step(job, 2, 130, 141);
        step(job, 3, 141, 151);
        phase(job, "evaluation", SliceKind::Phase, Phase::Evaluation, 151, 158);
        phase(job, kBetweenStepsName, SliceKind::Phase, Phase::None, 151,
              162); // the evaluation inside has its own name
        step(job, 4, 164, 170);
        phase(job, "save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 170, 174);
        const auto time = timeOf(job);
        QVERIFY(time.has_value());
        QCOMPARE(time->range, (TimeRange{Instant{50 * kMs}, Instant{174 * kMs}}));
        QCOMPARE(time->keptSteps, 5);
        QCOMPARE(time->lostSteps, 1);
        QCOMPARE(time->failures, 1);
        QCOMPARE(time->checkpoints, 2);
        QCOMPARE(time->stepsBetweenCheckpoints, 2.5);   // after 2 of 5 steps, and after all of them
        QCOMPARE(time->medianStep, Duration{10 * kMs}); // of 10, 11, 10 and 6
        QCOMPARE(time->training, Duration{50 * kMs});
        const auto ms = [&](LostTime part) { return time->of(part).ns / kMs; };
        QCOMPARE(ms(LostTime::LostWork), 10 + 4); // the step, and what came before the kill
        QCOMPARE(ms(LostTime::Detection), 3);
        QCOMPARE(ms(LostTime::Restart), 10 + 20 - 5);
        QCOMPARE(ms(LostTime::Loading), 5);
        QCOMPARE(ms(LostTime::Checkpoints), 7);
        QCOMPARE(ms(LostTime::SlowSteps), 20 + 10 + 11 + 10 + 6 - 50);
        QCOMPARE(ms(LostTime::Evaluation), 7);
        QCOMPARE(ms(LostTime::BetweenSteps), 4);
        QCOMPARE(ms(LostTime::Other), 2);
        Duration sum = time->training;
        for (const Duration part : time->lost) sum += part;
        QCOMPARE(sum, time->range.length());
        QCOMPARE(time->goodput(), 50.0 / 124);
    }

    void aJobWithoutFailures()
    {
        Builder job(1);
        for (int i = 0; i < 4; ++i) step(job, i, 10 * i, 10 * i + 10);
        const auto time = timeOf(job);
        QVERIFY(time.has_value());
        QCOMPARE(time->wasted(), Duration{0});
        QCOMPARE(time->goodput(), 1.0);
        Builder empty(1);
        QVERIFY(!timeOf(empty).has_value());
    }

    /// A trace that is one step for want of marks has no goodput.
    void aTraceWithoutSteps()
    {
        Builder job(1);
        step(job, 0, 0, 10);
        TraceClosing closing;
        closing.stepsBy = std::string(kWholeTrace);
        QVERIFY(!timeOf(job, closing).has_value());
    }
};

FOURWALLS_TEST(TestJobTime, QCoreApplication)

} // namespace tst_job_time

#include "tst_job_time.moc"
