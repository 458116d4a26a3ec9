// SPDX-License-Identifier: Apache-2.0
// Faults as words, and what an attempt at a job learns from the notes of those before.
#include <QtTest>

#include "profiler/engine/core/fault.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/fault_points.h"
#include "profiler/engine/train/loss_watch.h"
#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

#include <cmath>

#include <sys/mman.h>
#include <unistd.h>

namespace tst_job_notes {

using namespace fourwalls;
using namespace fourwalls::engine;
using What = JobNote::What;

namespace {

/// Attempt 0 takes steps 0 to 4, and a rank is killed in step 5; attempt 1 begins at step 3 and meets a spike in step 6.
void writeTwoAttempts(JobNotes& notes)
{
    notes.add({.what = What::Attempt, .step = 0, .at = Instant{10}});
    notes.add({.what = What::Begun, .step = 0, .at = Instant{20}});
    for (std::int64_t step = 0; step < 5; ++step)
        notes.add({.what = What::Step, .step = step, .loss = 5 - 0.25 * static_cast<double>(step)});
    notes.add({.what = What::Fired, .rank = RankId{0}, .step = 1, .at = Instant{60}});
    notes.add({.what = What::Fired, .isEnd = true, .rank = RankId{1}, .step = 0, .at = Instant{70}});
    notes.add({.what = What::Detected, .rank = RankId{1}, .at = Instant{90}}, "was killed");
    notes.add({.what = What::Detected, .rank = RankId{0}, .at = Instant{95}}, "heard of it");
    notes.add({.what = What::Attempt, .step = 1, .at = Instant{100}});
    notes.add({.what = What::Step, .step = 3, .loss = 1});
    notes.add({.what = What::Spiked, .step = 6, .at = Instant{160}});
    notes.add({.what = What::Skip, .step = 6});
    notes.add({.what = What::Skip, .step = 5});
}

} // namespace

class TestJobNotes : public QObject {
    Q_OBJECT

private slots:
    void faultsAreWords()
    {
        const auto kill = parseFault("kill:1:5");
        QVERIFY(kill.ok() && kill->kind == FaultKind::Kill && kill->rank == RankId{1} && kill->step == 5);
        const auto hang = parseFault("hang:0:2.3");
        QVERIFY(hang.ok() && hang->kind == FaultKind::Hang && hang->operation == 3);
        QCOMPARE(textOf(*kill), std::string("kill of rank 1 in step 5"));
        for (const char* word : {"kill", "hang", "slow", "flip", "oom", "spike"})
            QCOMPARE(name(parseFault(std::string(word) + ":0:0")->kind), std::string_view(word));
        for (const char* wrong : {"", "kill", "kill:1", "kill:1:", "kill::1", "kill:1:2.3", "kill:-1:2", "kill:1:-2",
                                  "burn:1:2", "hang:1:2.", "hang:1:.2", "kill:1:2:3", "kill:99999999999999999999:1"})
            QVERIFY2(!parseFault(wrong).ok(), wrong);
    }

    void killsAtChance()
    {
        const auto kills = randomKills(10'000, 50, 4, 7);
        QVERIFY(kills.size() > 150 && kills.size() < 250); // 200 are expected, give or take 14
        std::array<int, 4> ofRank{};
        for (const Fault& kill : kills) ++ofRank[static_cast<std::size_t>(kill.rank.value)];
        for (const int count : ofRank) QVERIFY(count > 25);
        QCOMPARE(randomKills(10'000, 50, 4, 7).size(), kills.size());
        QVERIFY(randomKills(10'000, 50, 4, 8).front().step != kills.front().step ||
                randomKills(10'000, 50, 4, 8).size() != kills.size());
        QCOMPARE(randomKills(5, 1, 2, 1).size(), std::size_t{5}); // every step
    }

    void anAttemptKnowsTheOneBefore()
    {
        JobNotes notes;
        writeTwoAttempts(notes);
        const AttemptStart first = startOf(notes.all(), 0);
        QVERIFY(first.fired.empty() && first.steps.empty() && first.skipped.empty());
        const AttemptStart second = startOf(notes.all(), 1);
        QCOMPARE(second.fired, (std::vector<std::int64_t>{1, 0}));
        QCOMPARE(second.steps.size(), std::size_t{5});
        QCOMPARE(second.steps[3].loss, 4.25); // what attempt 1 wrote does not count yet
        QCOMPARE(second.failedAt, Instant{70});
        QCOMPARE(second.detectedAt, Instant{90}); // by whoever noticed it first
        QCOMPARE(second.failed, RankId{1});
        QCOMPARE(second.why, std::string("was killed"));
        const AttemptStart third = startOf(notes.all(), 2);
        QCOMPARE(third.steps[3].loss, 1.0); // as last taken
        QVERIFY(third.newly.empty());
        QCOMPARE(third.skipped, (std::vector<std::int64_t>{5, 6}));
        QCOMPARE(notesOf(notes.all(), 1).size(), std::size_t{5});
    }

    void notesAreTheSameInAFile()
    {
        const int file = memfd_create("notes", MFD_CLOEXEC);
        QVERIFY(file >= 0);
        JobNotes writer(file);
        const JobNotes reader(file);
        writeTwoAttempts(writer);
        const AttemptStart start = startOf(reader.all(), 1);
        QCOMPARE(start.why, std::string("was killed"));
        QCOMPARE(start.steps.size(), std::size_t{5});
        writer.add({.what = What::Detected}, std::string(1000, 'x')); // longer than a note
        QCOMPARE(std::string(reader.all().back().text).size(), sizeof(JobNote::text) - 1);
        close(file);
    }

    void faultsHappenOnce()
    {
        JobNotes notes;
        writeTwoAttempts(notes);
        const std::vector<Fault> faults{
            {FaultKind::Kill, RankId{1}, 5}, {FaultKind::Spike, RankId{0}, 4}, {FaultKind::Hang, RankId{0}, 6}};
        const auto pending = pendingFaults(faults, startOf(notes.all(), 1), 8);
        QCOMPARE(pending.size(), std::size_t{2}); // a spike happens whenever its batch is taken
        QCOMPARE(pending[0].number, std::int64_t{1});
        QCOMPARE(pending[1].number, std::int64_t{2});
    }

    void batchesThatAreLeftOut()
    {
        const std::vector<std::int64_t> skipped{2, 3, 6};
        const std::vector<std::int64_t> expected{0, 1, 4, 5, 7, 8};
        for (std::size_t step = 0; step < expected.size(); ++step)
            QCOMPARE(batchOf(static_cast<std::int64_t>(step), skipped), expected[step]);
    }

    void lossesThatJump()
    {
        LossWatch watch;
        QVERIFY(!watch.look(0, 5.5, 1)); // the first one may be anything
        for (int step = 1; step < 40; ++step) QVERIFY(!watch.look(step, 5.5 - 0.1 * step, 1));
        QVERIFY(!watch.look(40, 2.4, 1e6)); // the mean of the last 16 is 2.35
        const auto problem = watch.look(41, 3.7, 1);
        QVERIFY(problem && problem->find("step 41") != std::string::npos);
        QVERIFY(watch.look(41, 3.7, 1)); // it was not remembered
        QVERIFY(!watch.look(41, 2.5, 1));
        QVERIFY(watch.look(42, std::nan(""), 1) && watch.look(42, 2, INFINITY));
        watch.remember(std::nan("")); // gone on with, and no measure for what follows
        QVERIFY(!watch.look(43, 2.5, 1));
        LossWatch small;
        for (int step = 0; step < 20; ++step) small.remember(0.01);
        QVERIFY(!small.look(20, 0.9, 1)); // many times as much, and still nothing to go back for
    }

    void gradientsInWords()
    {
        StepProgress step;
        step.gradientNorm = 13;
        QCOMPARE(gradientWords(step), std::string("gradient norm 13"));
        step.layerNorms = {3, 4, 12, 0};
        QCOMPARE(gradientWords(step),
                 std::string("gradient norm 13, of it layer 1 12, layer 0 4, outside of layers 3"));
        step.gradientNorm = step.layerNorms[3] = std::nan("");
        QCOMPARE(gradientWords(step),
                 std::string("gradient norm no number, of it layer 2 no number, layer 1 12, layer 0 4"));
    }

    // However the network is cut, a layer's norm is that of one rank.
    void normsOfLayers()
    {
        std::vector<double> alone;
        for (const char* plan : {"", "pp=2 microbatches=2", "tp=2 dp=2 zero=1", "dp=2 zero=3"}) {
            RunSpec spec = testing::paritySpec(plan);
            spec.training.steps = 1;
            QVERIFY(resolve(spec).ok());
            RunOptions options;
            options.measurePeak = false;
            const auto report = runTraining(spec, options);
            QVERIFY2(report.ok(), report ? "" : report.error().message().c_str());
            const StepProgress& step = report->steps.front();
            QCOMPARE(step.layerNorms.size(), static_cast<std::size_t>(1 + spec.model.transformer()->layers));
            double squares = 0;
            for (const double each : step.layerNorms) squares += each * each;
            QVERIFY(std::abs(std::sqrt(squares) / step.gradientNorm - 1) < 1e-12);
            if (alone.empty()) alone = step.layerNorms;
            for (std::size_t i = 0; i < alone.size(); ++i) {
                QVERIFY(alone[i] > 0);
                QVERIFY2(std::abs(step.layerNorms[i] / alone[i] - 1) < 1e-4, plan);
            }
        }
    }
};

FOURWALLS_TEST(TestJobNotes, QCoreApplication)

} // namespace tst_job_notes

#include "tst_job_notes.moc"
