// SPDX-License-Identifier: Apache-2.0
// Live bytes over time, reduced to pixels and summarised.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/memory_curve.h"
#include "tests/support/test_program.h"

#include <random>

namespace tst_memory_curve {

using namespace fourwalls;

namespace {

AllocationView buffer(std::int64_t start, std::optional<std::int64_t> end, std::int64_t bytes,
                      MemoryCategory category = MemoryCategory::Activations)
{
    AllocationView view;
    view.start = Instant{start};
    if (end) view.end = Instant{*end};
    view.bytes = bytes;
    view.category = category;
    return view;
}

StepRecord step(int index, std::int64_t begin, std::int64_t end, bool warmup = false)
{
    StepRecord record;
    record.step = StepIndex{index};
    record.range = {Instant{begin}, Instant{end}};
    if (warmup) record.state = StepState::Warmup;
    return record;
}

/// "at:total at:total …"
QString text(const std::vector<MemorySample>& samples)
{
    QStringList list;
    for (const MemorySample& sample : samples) list << QStringLiteral("%1:%2").arg(sample.at.ns).arg(sample.total());
    return list.join(' ');
}

std::vector<MemorySummary> summarise(const std::vector<AllocationView>& buffers, const std::vector<StepRecord>& steps)
{
    MemorySummarizer summarizer(RankId{0}, steps);
    for (const MemoryEvent& event : memoryEvents(buffers)) summarizer.add(event);
    return summarizer.finish();
}

constexpr auto kWeights = static_cast<std::size_t>(MemoryCategory::Weights);
constexpr auto kActivations = static_cast<std::size_t>(MemoryCategory::Activations);

} // namespace

class MemoryCurveTest : public QObject {
    Q_OBJECT

private slots:
    void curveStepsAtEveryChange();
    void freesComeBeforeAllocations();
    void buffersThatNeverLiveCountNothing();
    void reductionKeepsEveryPeak();
    void reductionCarriesTheValueIn();
    void summaryOfTheClassicCurve();
    void residentPartIsThatOfTheStepsEnd();
    void warmupIsLeftOutOfTheWhole();
    void withoutStepsTheWholeTraceCounts();
    void summariesMatchBruteForce();
    void reservedIsTheLargestInside();
};

void MemoryCurveTest::curveStepsAtEveryChange()
{
    const std::vector<AllocationView> buffers{buffer(0, {}, 100, MemoryCategory::Weights), buffer(10, 30, 50),
                                              buffer(20, 40, 7)};
    QCOMPARE(text(memoryCurve(memoryEvents(buffers))), "0:100 10:150 20:157 30:107 40:100");
}

void MemoryCurveTest::freesComeBeforeAllocations()
{
    // Two buffers of 60 in turn, never together.
    QCOMPARE(text(memoryCurve(memoryEvents(std::vector{buffer(0, 10, 60), buffer(10, 20, 60)}))), "0:60 10:60 20:0");
    QCOMPARE(summarise({buffer(0, 10, 60), buffer(10, 20, 60)}, {}).front().peakBytes, 60);
}

void MemoryCurveTest::buffersThatNeverLiveCountNothing()
{
    QCOMPARE(text(memoryCurve(memoryEvents(std::vector{buffer(5, 5, 60), buffer(9, 3, 60)}))), "");
}

void MemoryCurveTest::reductionKeepsEveryPeak()
{
    std::vector<AllocationView> buffers;
    for (int i = 0; i < 100; ++i) buffers.push_back(buffer(i * 10, i * 10 + 5, i == 57 ? 900 : 10));
    const auto curve = memoryCurve(memoryEvents(buffers));
    const auto reduced = reduceMemory(curve, {Instant{0}, Instant{1000}}, 10);
    QVERIFY(reduced.size() <= 21); // the begin, and two per column
    std::int64_t peak = 0;
    for (const MemorySample& sample : reduced) peak = std::max(peak, sample.total());
    QCOMPARE(peak, 900);
    QCOMPARE(text(reduceMemory(curve, {Instant{570}, Instant{580}}, 10)), "570:900 575:0");
}

void MemoryCurveTest::reductionCarriesTheValueIn()
{
    const auto curve = memoryCurve(memoryEvents(std::vector{buffer(0, 100, 8)}));
    QCOMPARE(text(reduceMemory(curve, {Instant{40}, Instant{60}}, 5)), "40:8");
    QCOMPARE(text(reduceMemory(curve, {Instant{-20}, Instant{60}}, 4)), "-20:0 0:8");
    QCOMPARE(text(reduceMemory(curve, {Instant{60}, Instant{60}}, 4)), "");
}

void MemoryCurveTest::summaryOfTheClassicCurve()
{
    // Weights stay; activations climb in forward, fall in backward; the temporary at 25 makes the peak.
    const auto summaries = summarise({buffer(0, {}, 100, MemoryCategory::Weights), buffer(12, 34, 40),
                                      buffer(15, 32, 40), buffer(25, 26, 30, MemoryCategory::Temporaries)},
                                     {step(0, 10, 40)});
    QCOMPARE(summaries.size(), std::size_t{2});
    for (const MemorySummary& summary : summaries) {
        QCOMPARE(summary.peakBytes, 210);
        QCOMPARE(qint64{summary.peakAt.ns}, qint64{25});
        QCOMPARE(summary.atPeak[kWeights], 100);
        QCOMPARE(summary.atPeak[kActivations], 80);
        std::int64_t sum = 0;
        for (const auto bytes : summary.atPeak) sum += bytes;
        QCOMPARE(sum, summary.peakBytes);
        QCOMPARE(summary.categoryPeaks[kActivations], 80);
        QCOMPARE(summary.residentBytes, 100);
        QVERIFY(!summary.peakReservedBytes);
    }
    QVERIFY(!summaries[0].step);
    QCOMPARE(summaries[1].step->value, 0);
}

void MemoryCurveTest::residentPartIsThatOfTheStepsEnd()
{
    // A free at the step's very end belongs to it; an allocation there belongs to the next step.
    const auto summaries =
        summarise({buffer(0, {}, 5), buffer(2, 10, 70), buffer(10, 20, 300)}, {step(0, 0, 10), step(1, 10, 20)});
    QCOMPARE(summaries[1].peakBytes, 75);
    QCOMPARE(summaries[1].residentBytes, 5);
    QCOMPARE(summaries[2].peakBytes, 305);
    QCOMPARE(qint64{summaries[2].peakAt.ns}, qint64{10});
    QCOMPARE(summaries[2].residentBytes, 5);
}

void MemoryCurveTest::warmupIsLeftOutOfTheWhole()
{
    const auto summaries = summarise({buffer(1, 3, 999), buffer(12, 15, 10)}, {step(0, 0, 10, true), step(1, 10, 20)});
    QCOMPARE(summaries[0].peakBytes, 10);
    QCOMPARE(summaries[1].peakBytes, 999);
    QCOMPARE(summaries[2].peakBytes, 10);
}

void MemoryCurveTest::withoutStepsTheWholeTraceCounts()
{
    const auto summaries = summarise({buffer(-50, 3, 20), buffer(0, {}, 4)}, {});
    QCOMPARE(summaries.size(), std::size_t{1});
    QCOMPARE(summaries[0].peakBytes, 24);
    QCOMPARE(summaries[0].residentBytes, 4);
}

void MemoryCurveTest::summariesMatchBruteForce()
{
    std::mt19937 random(3);
    std::vector<AllocationView> buffers;
    for (int i = 0; i < 400; ++i) {
        const std::int64_t start = random() % 500;
        buffers.push_back(buffer(start, start + 1 + std::int64_t(random() % 60), 1 + std::int64_t(random() % 1000),
                                 static_cast<MemoryCategory>(random() % kMemoryCategoryCount)));
    }
    std::vector<StepRecord> steps;
    for (int s = 0; s < 10; ++s) steps.push_back(step(s, s * 50, s * 50 + 40 + (s % 3) * 5));
    const auto summaries = summarise(buffers, steps);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        std::int64_t peak = -1, peakAt = 0;
        for (std::int64_t t = steps[s].range.begin.ns; t < steps[s].range.end.ns; ++t) {
            std::int64_t live = 0;
            for (const AllocationView& b : buffers)
                if (b.start.ns <= t && t < b.end->ns) live += b.bytes;
            if (live > peak) {
                peak = live;
                peakAt = t;
            }
        }
        QCOMPARE(summaries[s + 1].peakBytes, peak);
        QCOMPARE(qint64{summaries[s + 1].peakAt.ns}, qint64{peakAt});
    }
}

void MemoryCurveTest::reservedIsTheLargestInside()
{
    const std::vector<StepRecord> steps{step(0, 0, 10), step(1, 10, 20), step(2, 20, 30)};
    MemorySummarizer summarizer(RankId{0}, steps);
    summarizer.addReserved(Instant{5}, 100);
    summarizer.addReserved(Instant{2}, 300);
    summarizer.addReserved(Instant{12}, 50);
    const auto summaries = summarizer.finish();
    QCOMPARE(*summaries[0].peakReservedBytes, 300);
    QCOMPARE(*summaries[1].peakReservedBytes, 300);
    QCOMPARE(*summaries[2].peakReservedBytes, 100); // what held when it began
    QCOMPARE(*summaries[3].peakReservedBytes, 50);  // likewise, and nothing changed
}

FOURWALLS_TEST(MemoryCurveTest, QCoreApplication)

} // namespace tst_memory_curve

#include "tst_memory_curve.moc"
