// SPDX-License-Identifier: Apache-2.0
// Where the time of a job went, against jobs that are put together by hand.
#include <QtTest>

#include "model/cost/recorded_goodput.h"
#include "model/trace/job_time.h"
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

std::optional<JobTime> timeOf(Builder& job)
{
    job.producer.reset();
    if (!job.trace.finish({}).ok()) return std::nullopt;
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
        step(job, 4, 158, 170);
        phase(job, "save checkpoint", SliceKind::Checkpoint, Phase::CheckpointSave, 170, 174);
        const auto time = timeOf(job);
        QVERIFY(time.has_value());
        QCOMPARE(time->range, (TimeRange{Instant{50 * kMs}, Instant{174 * kMs}}));
        QCOMPARE(time->keptSteps, 5);
        QCOMPARE(time->lostSteps, 1);
        QCOMPARE(time->failures, 1);
        QCOMPARE(time->checkpoints, 2);
        QCOMPARE(time->medianStep, Duration{10 * kMs}); // of 10, 11, 10 and 12
        QCOMPARE(time->training, Duration{50 * kMs});
        const auto ms = [&](LostTime part) { return time->of(part).ns / kMs; };
        QCOMPARE(ms(LostTime::LostWork), 10 + 4); // the step, and what came before the kill
        QCOMPARE(ms(LostTime::Detection), 3);
        QCOMPARE(ms(LostTime::Restart), 10 + 20 - 5);
        QCOMPARE(ms(LostTime::Loading), 5);
        QCOMPARE(ms(LostTime::Checkpoints), 7);
        QCOMPARE(ms(LostTime::SlowSteps), 20 + 10 + 11 + 10 + 12 - 50);
        QCOMPARE(ms(LostTime::Other), 7);
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
        QVERIFY(!cost::goodputInputOf(*time)); // no rate of failures to predict from
        Builder empty(1);
        QVERIFY(!timeOf(empty).has_value());
    }

    void theModelsInputsAreTheJobs()
    {
        JobTime time;
        time.range = {Instant{0}, Instant{100'000 * kMs}};
        time.training = Duration{60'000 * kMs};
        const auto set = [&](LostTime part, std::int64_t ms) {
            time.lost[static_cast<std::size_t>(part)] = Duration{ms * kMs};
        };
        set(LostTime::Detection, 4'000);
        set(LostTime::Restart, 5'000);
        set(LostTime::Loading, 1'000);
        set(LostTime::LostWork, 20'000);
        set(LostTime::Checkpoints, 8'000);
        set(LostTime::SlowSteps, 2'000);
        time.failures = 5;
        time.checkpoints = 16;
        const auto input = cost::goodputInputOf(time);
        QVERIFY(input.has_value());
        QCOMPARE(input->deviceMtbfHours * 3600, 20.0);
        QCOMPARE(input->restartSeconds, 2.0);
        QCOMPARE(input->checkpointSeconds, 0.5);
        QCOMPARE(input->checkpointIntervalSeconds, (60.0 + 2 + 20) / 16);
        // Daly's equation 20, worked out here.
        const double m = 20, r = 2, d = 0.5, t = 82.0 / 16;
        const double perWork = m / t * std::exp(r / m) * (std::exp((t + d) / m) - 1);
        const auto predicted = cost::predictedGoodput(*input, time);
        QVERIFY(predicted.ok() && std::abs(*predicted - 60.0 / 62 / perWork) < 1e-12);
        time.checkpoints = 0; // from the beginning each time
        QCOMPARE(cost::goodputInputOf(time)->checkpointIntervalSeconds, 62.0);
    }
};

FOURWALLS_TEST(TestJobTime, QCoreApplication)

} // namespace tst_job_time

#include "tst_job_time.moc"
