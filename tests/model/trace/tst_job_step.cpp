// SPDX-License-Identifier: Apache-2.0
// Steps of the job from those of its ranks, and the one that stands for them.
#include <QtTest>

#include "model/trace/job_step.h"
#include "tests/support/test_program.h"

namespace tst_job_step {

using namespace fourwalls;

namespace {

StepRecord record(int step, std::int64_t begin, std::int64_t end, std::optional<double> loss = {}, bool warmup = false)
{
    StepRecord record;
    record.step = StepIndex(step);
    record.range = {Instant{begin}, Instant{end}};
    record.loss = loss;
    record.samples = 8;
    if (warmup) record.state = StepState::Warmup;
    return record;
}

JobStep lasting(int step, std::int64_t length, bool warmup = false, bool complete = true)
{
    JobStep each;
    each.step = StepIndex(step);
    each.range = {Instant{100 * step}, Instant{100 * step + length}};
    if (warmup) each.state = StepState::Warmup;
    each.complete = complete;
    return each;
}

} // namespace

class TestJobStep : public QObject {
    Q_OBJECT

private slots:
    void spansAllRanks()
    {
        const std::vector<JobStep> steps = jobSteps({{RankId(0), {record(0, 10, 20, {}, true), record(1, 22, 30)}},
                                                     {RankId(1), {record(0, 8, 19, 3.5), record(1, 21, 33, 3.25)}},
                                                     {RankId(2), {}}});
        QCOMPARE(steps.size(), std::size_t{2});
        QCOMPARE(steps[0].range, (TimeRange{Instant{10}, Instant{20}})); // the last rank to begin, the last one to end
        QCOMPARE(steps[0].loss, std::optional(3.5));                     // the lowest rank that knows it
        QVERIFY(steps[0].state == StepState::Warmup && steps[0].complete);
        QCOMPARE(steps[1].range, (TimeRange{Instant{21}, Instant{33}})); // nobody is in a step from 20 to 21
        QCOMPARE(steps[1].samples, std::int64_t{8});                     // global already: not added up
        QVERIFY(steps[1].state == StepState::Measured && steps[1].complete);
    }

    void knowsWhatIsMissingOrRepeated()
    {
        const std::vector<JobStep> steps =
            jobSteps({{RankId(0), {record(0, 0, 10), record(1, 10, 20), record(1, 20, 30)}},
                      {RankId(1), {record(1, 10, 20), record(2, 20, 30)}}});
        QCOMPARE(steps.size(), std::size_t{3});
        for (const JobStep& step : steps) QVERIFY(!step.complete);
        // As many records as ranks, but one rank took it twice and the other one never.
        const std::vector<JobStep> twice =
            jobSteps({{RankId(0), {record(1, 0, 10), record(1, 10, 20)}}, {RankId(1), {record(2, 0, 10)}}});
        QVERIFY(!twice[0].complete && !twice[1].complete);
        QVERIFY(jobSteps({}).empty());
    }

    void whatWasTakenAgainIsLost()
    {
        // Back from step 4 to step 2, and once more from 3 to 3.
        std::vector<StepRecord> steps{record(1, 0, 9),   record(2, 10, 19), record(3, 20, 29), record(4, 30, 39),
                                      record(2, 50, 59), record(3, 60, 69), record(3, 80, 89), record(4, 90, 99)};
        markLost(steps);
        std::vector<int> lost;
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (steps[i].state == StepState::Lost) lost.push_back(static_cast<int>(i));
        QCOMPARE(lost, (std::vector<int>{1, 2, 3, 5}));
        QCOMPARE(keptSteps(steps).size(), std::size_t{4});
        const std::vector<JobStep> job = jobSteps({{RankId(0), steps}, {RankId(1), steps}});
        QCOMPARE(job.size(), std::size_t{4});
        QVERIFY(job[1].complete);
        QCOMPARE(job[1].range, (TimeRange{Instant{50}, Instant{59}}));
        QCOMPARE(job[2].range.begin, Instant{80}); // not where the lost one began
        const std::vector<StepRecord> shared = sharedSteps(steps, job);
        QCOMPARE(shared.size(), std::size_t{4});
        QCOMPARE(shared[2].range, job[2].range);
        std::vector<StepRecord> rising{record(1, 0, 9), record(3, 10, 19)};
        markLost(rising);
        QCOMPARE(keptSteps(rising).size(), std::size_t{2});
    }

    void aStepBeginsWhereTheOneBeforeEnded()
    {
        // Rank 1 is ahead: it begins its second step at 18, while rank 0 is in its first one until 20.
        const std::map<RankId, std::vector<StepRecord>> ranks{{RankId(0), {record(0, 2, 20), record(1, 20, 41)}},
                                                              {RankId(1), {record(0, 9, 18), record(1, 18, 40)}}};
        const std::vector<JobStep> steps = jobSteps(ranks);
        QCOMPARE(steps[0].range, (TimeRange{Instant{9}, Instant{20}}));
        QCOMPARE(steps[1].range, (TimeRange{Instant{20}, Instant{41}}));
        // What its time is shared out over is the job's, so that the ranks' shares are of one length.
        const std::vector<StepRecord> shared = sharedSteps(ranks.at(RankId(1)), steps);
        QCOMPARE(shared[0].range, steps[0].range);
        QCOMPARE(shared[1].range, steps[1].range);
        // Ranks further apart than a step (asynchronous training) keep the hull.
        const std::vector<JobStep> apart =
            jobSteps({{RankId(0), {record(0, 0, 10)}}, {RankId(1), {record(0, 30, 40)}}});
        QCOMPARE(apart[0].range, (TimeRange{Instant{30}, Instant{40}}));
    }

    void findsTheMedian()
    {
        using List = std::vector<JobStep>;
        QVERIFY(!medianStep({}) && !typicalStep({}) && !medianStepTime({}));
        const List odd{lasting(0, 90, true), lasting(1, 30), lasting(2, 10), lasting(3, 20),
                       lasting(4, 1, false, false)};
        QCOMPARE(medianStep(odd), lasting(3, 20));
        // The lower one of the two in the middle: a figure that a step had, never a mean of two.
        const List even{lasting(1, 30), lasting(2, 10), lasting(3, 20), lasting(4, 22)};
        QCOMPARE(medianStep(even), lasting(3, 20));
        QCOMPARE(medianStepTime(even), Duration{20});
        QCOMPARE(*typicalStep(even), lasting(3, 20));
        // Without measured steps a warm-up one stands for them, and one that not all ranks took only as a last resort.
        QCOMPARE(*typicalStep({lasting(0, 5, true), lasting(1, 9, false, false)}), lasting(0, 5, true));
        QCOMPARE(*typicalStep({lasting(1, 9, false, false)}), lasting(1, 9, false, false));
    }

    void theMedianIsThatOfSortedSteps()
    {
        std::mt19937 random(7);
        for (int round = 0; round < 300; ++round) {
            std::vector<JobStep> steps;
            const int count = static_cast<int>(random() % 20) + 1;
            for (int i = 0; i < count; ++i)
                steps.push_back(
                    lasting(i, static_cast<std::int64_t>(random() % 8), random() % 5 == 0, random() % 7 != 0));
            std::vector<JobStep> sorted;
            for (const JobStep& step : steps)
                if (step.complete && step.state == StepState::Measured) sorted.push_back(step);
            std::stable_sort(sorted.begin(), sorted.end(),
                             [](const JobStep& a, const JobStep& b) { return a.range.length() < b.range.length(); });
            std::optional<JobStep> middle;
            if (!sorted.empty()) middle = sorted[(sorted.size() - 1) / 2];
            QCOMPARE(medianStep(steps), middle);
        }
    }
};

FOURWALLS_TEST(TestJobStep, QCoreApplication)

} // namespace tst_job_step

#include "tst_job_step.moc"
