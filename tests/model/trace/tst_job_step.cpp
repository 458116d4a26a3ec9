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
    record.warmup = warmup;
    return record;
}

JobStep lasting(int step, std::int64_t length, bool warmup = false, bool complete = true)
{
    JobStep each;
    each.step = StepIndex(step);
    each.range = {Instant{100 * step}, Instant{100 * step + length}};
    each.warmup = warmup;
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
        QCOMPARE(steps[0].range, (TimeRange{Instant{8}, Instant{20}}));
        QCOMPARE(steps[0].loss, std::optional(3.5)); // the lowest rank that knows it
        QVERIFY(steps[0].warmup && steps[0].complete);
        QCOMPARE(steps[1].range, (TimeRange{Instant{21}, Instant{33}}));
        QCOMPARE(steps[1].samples, std::int64_t{8}); // global already: not added up
        QVERIFY(!steps[1].warmup && steps[1].complete);
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

    void findsTheMedian()
    {
        using List = std::vector<JobStep>;
        QVERIFY(medianSteps({}).empty() && !typicalStep({}));
        const List odd{lasting(0, 90, true), lasting(1, 30), lasting(2, 10), lasting(3, 20), lasting(4, 1, false, false)};
        QCOMPARE(medianSteps(odd), List{lasting(3, 20)});
        const List even{lasting(1, 30), lasting(2, 10), lasting(3, 20), lasting(4, 20)};
        QCOMPARE(medianSteps(even), (List{lasting(3, 20), lasting(4, 20)}));
        QCOMPARE(*typicalStep(even), lasting(4, 20));
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
                if (step.complete && !step.warmup) sorted.push_back(step);
            std::stable_sort(sorted.begin(), sorted.end(),
                             [](const JobStep& a, const JobStep& b) { return a.range.length() < b.range.length(); });
            std::vector<JobStep> middle;
            if (!sorted.empty() && sorted.size() % 2 == 0) middle.push_back(sorted[sorted.size() / 2 - 1]);
            if (!sorted.empty()) middle.push_back(sorted[sorted.size() / 2]);
            QCOMPARE(medianSteps(steps), middle);
        }
    }
};

FOURWALLS_TEST(TestJobStep, QCoreApplication)

} // namespace tst_job_step

#include "tst_job_step.moc"
