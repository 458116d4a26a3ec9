// SPDX-License-Identifier: Apache-2.0
// Trimming: what is kept, what is cut, what is redacted.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/export/redaction.h"
#include "model/export/trim_trace.h"
#include "model/trace/metrics.h"
#include "tests/model/export/sample_trace.h"
#include "tests/support/test_program.h"

#include <set>

namespace tst_trim_trace {

using namespace fourwalls;

namespace {

/// The sample trimmed into another in-memory trace.
struct Trimmed {
    test::SampleTrace sample;
    std::unique_ptr<InMemoryTraceQuery> source, result;

    explicit Trimmed(const TrimOptions& options)
    {
        source = sample.finish();
        InMemoryTrace target(trimmedHeader(source->info(), options));
        const Status status = trimTrace(*source, options, target);
        if (status.ok()) result = std::make_unique<InMemoryTraceQuery>(target.data());
    }
};

TrimOptions steps(int first, int last)
{
    TrimOptions options;
    options.steps = {StepIndex{first}, StepIndex{last}};
    return options;
}

std::int64_t auditOf(const TraceInfo& info, const std::string& name)
{
    for (const AuditRecord& record : info.audit)
        if (record.name == name) return record.count;
    return 0;
}

} // namespace

class TrimTraceTest : public QObject {
    Q_OBJECT

private slots:
    void keepsWholeSteps();
    void memoryIsExactInside();
    void metricsOfAStepStayTheSame();
    void rangeCutsSteps();
    void noBarOfALateRanksEarlierStep();
    void ranksAreSelected();
    void nothingToTrimKeepsEverything();
    void refusals();
    void redactionOfTexts();
    void redactedTraceNamesNobody();
    void allocatorOfTheRange();
};

void TrimTraceTest::allocatorOfTheRange()
{
    TraceHeader header;
    for (const int rank : {0, 1}) header.ranks.push_back({RankId{rank}, "", "", 0, 0, 1});
    InMemoryTrace trace(header);
    {
        const auto producer = trace.openProducer();
        producer->event({EventKind::Annotation, RankId{0}, Instant{0}, "begin"});
        producer->event({EventKind::Annotation, RankId{0}, Instant{100}, "end"});
        for (const std::int64_t id : {1, 2}) {
            AllocationRecord record;
            record.id = AllocationId{id};
            record.bytes = 512;
            for (const int rank : {0, 1}) producer->allocated(RankId{rank}, record);
        }
        producer->freed(RankId{0}, AllocationId{2}, Instant{10});
    }
    TraceClosing closing;
    const auto segment = [&](int rank, std::int64_t start, std::optional<std::int64_t> end) {
        AllocatorSegment made;
        made.rank = RankId{rank};
        made.bytes = 2 << 20;
        made.start = Instant{start};
        if (end) made.end = Instant{*end};
        closing.segments.push_back(made);
    };
    segment(0, 0, 20);
    segment(0, 0, 90);
    segment(0, 50, 60);
    segment(0, 80, std::nullopt);
    segment(1, 0, std::nullopt);
    closing.blocks.push_back({RankId{0}, AllocationId{1}, 512, Instant{5}});
    closing.blocks.push_back({RankId{0}, AllocationId{2}, 512, Instant{5}}); // gone before the range
    closing.blocks.push_back({RankId{1}, AllocationId{1}, 512, std::nullopt});
    QVERIFY(trace.finish(closing).ok());
    InMemoryTraceQuery query(trace.data());
    TrimOptions options;
    options.range = TimeRange{Instant{20}, Instant{80}};
    options.ranks = {RankId{0}};
    InMemoryTrace result(trimmedHeader(query.info(), options));
    QVERIFY(trimTrace(query, options, result, {}, {}).ok());
    const TraceClosing& kept = result.data()->info.closing;
    QCOMPARE(kept.segments.size(), std::size_t{2});
    QVERIFY(kept.segments[0].start == Instant{20} && !kept.segments[0].end);
    QVERIFY(kept.segments[1].start == Instant{50} && kept.segments[1].end == Instant{60});
    QCOMPARE(kept.blocks.size(), std::size_t{1});
    QCOMPARE(kept.blocks[0].buffer.value, std::int64_t{1});
    QCOMPARE(kept.blocks[0].letGo.value().ns, std::int64_t{20});
}

void TrimTraceTest::keepsWholeSteps()
{
    const Trimmed trimmed(steps(1, 1));
    QVERIFY(trimmed.result);
    const TraceInfo& info = trimmed.result->info();
    QCOMPARE(info.counts.slices, 6);
    QCOMPARE(info.counts.flows, 2);
    QCOMPARE(info.counts.collectives, 2);
    QCOMPARE(info.counts.counterSamples, 1);
    QCOMPARE(info.counts.events, 1);
    QCOMPARE(info.stepCount, 1);
    QCOMPARE(trimmed.result->steps(RankId{1})->front().record.step.value, 1);
    QCOMPARE(trimmed.result->tracks().size(), std::size_t{4});
    QCOMPARE(auditOf(info, "trimmed"), 1);
    QCOMPARE(auditOf(info, "queue_full"), 2);
    QCOMPARE(auditOf(info, "steps_cut"), 0);
    QVERIFY(info.header.spec);
    // Times stay as they were.
    QCOMPARE(qint64{trimmed.result->data().slices.front().start.ns}, qint64{1010});
}

void TrimTraceTest::memoryIsExactInside()
{
    const Trimmed trimmed(steps(1, 2));
    const TimeRange range{Instant{1000}, Instant{3000}};
    const auto before = trimmed.source->memory(RankId{0}, range, 2000);
    const auto after = trimmed.result->memory(RankId{0}, range, 2000);
    QCOMPARE(after->samples.size(), before->samples.size());
    for (std::size_t i = 0; i < after->samples.size(); ++i) {
        QCOMPARE(qint64{after->samples[i].at.ns}, qint64{before->samples[i].at.ns});
        QCOMPARE(after->samples[i].total(), before->samples[i].total());
    }
}

void TrimTraceTest::metricsOfAStepStayTheSame()
{
    Trimmed trimmed(steps(1, 2));
    const auto before = computeMetrics(*trimmed.source);
    const auto after = computeMetrics(*trimmed.result);
    QVERIFY(before->waterfall == after->waterfall);
    QCOMPARE(after->stepTime->ns, before->stepTime->ns);
    QCOMPARE(*after->mfu, *before->mfu);
    QVERIFY(after->memory == before->memory);
    QVERIFY(after->collectives[0].summary == before->collectives[0].summary);
}

void TrimTraceTest::rangeCutsSteps()
{
    TrimOptions options;
    options.range = TimeRange{Instant{300}, Instant{2000}};
    const Trimmed trimmed(options);
    QCOMPARE(trimmed.result->info().stepCount, 1);
    QCOMPARE(auditOf(trimmed.result->info(), "steps_cut"), 2); // step 0 of both ranks
    QCOMPARE(trimmed.result->info().counts.slices, 12);        // slices over the border are kept whole
    QCOMPARE(qint64{trimmed.result->data().slices.front().start.ns}, qint64{10});
}

void TrimTraceTest::noBarOfALateRanksEarlierStep()
{
    test::SampleTrace sample;
    const TrackId bars = sample.sink().defineTrack({RankId{1}, TrackKind::Steps, "steps", 2});
    const OpId step = sample.sink().defineOp({"step", SliceKind::Step, Phase::None, Activity::None, {}, 0, 0, ""});
    sample.producer().slice({bars, step, Instant{1000}, Duration{1010}, std::nullopt, std::nullopt});
    sample.producer().slice({bars, step, Instant{2010}, Duration{1000}, std::nullopt, std::nullopt}); // ends late, too
    const auto source = sample.finish();
    const TrimOptions options = steps(2, 2);
    InMemoryTrace target(trimmedHeader(source->info(), options));
    QVERIFY(trimTrace(*source, options, target).ok());
    const InMemoryTraceQuery trimmed(target.data());
    QCOMPARE(qint64{trimmed.info().range.begin.ns}, qint64{2000}); // 1000 with the bar of step 1
    QCOMPARE(qint64{trimmed.info().range.end.ns}, qint64{3010});
}

void TrimTraceTest::ranksAreSelected()
{
    TrimOptions options;
    options.ranks = {RankId{1}};
    const Trimmed trimmed(options);
    const TraceInfo& info = trimmed.result->info();
    QCOMPARE(info.header.ranks.size(), std::size_t{1});
    QCOMPARE(info.counts.slices, 9);
    QCOMPARE(info.counts.allocations, 4);
    QCOMPARE(info.counts.counterSamples, 3); // the loss is of the whole job
    QCOMPARE(info.counts.events, 0);         // the event was rank 0's
    for (const TrackView& track : trimmed.result->tracks()) QCOMPARE(track.info.rank.value, 1);
}

void TrimTraceTest::nothingToTrimKeepsEverything()
{
    const Trimmed trimmed(TrimOptions{});
    const TraceCounts& before = trimmed.source->info().counts;
    const TraceCounts& after = trimmed.result->info().counts;
    QCOMPARE(after.slices, before.slices);
    QCOMPARE(after.allocations, before.allocations);
    QCOMPARE(after.counterSamples, before.counterSamples);
    QCOMPARE(after.flows, before.flows);
    QCOMPARE(after.collectives, before.collectives);
    QCOMPARE(trimmed.result->info().stepCount, 3);
    QVERIFY(*trimmed.result->stepSummaries() == *trimmed.source->stepSummaries());
}

void TrimTraceTest::refusals()
{
    test::SampleTrace sample;
    const auto query = sample.finish();
    const auto fails = [&](const TrimOptions& options, const std::string& field) {
        const auto range = trimRange(*query, options);
        return !range.ok() && range.error().code == ErrorCode::InvalidArgument && range.error().where == field;
    };
    QVERIFY(fails(steps(5, 9), "steps"));
    TrimOptions both = steps(0, 1);
    both.range = TimeRange{Instant{0}, Instant{10}};
    QVERIFY(fails(both, "steps"));
    TrimOptions outside;
    outside.range = TimeRange{Instant{50'000}, Instant{60'000}};
    QVERIFY(fails(outside, "range"));
    outside.range = TimeRange{Instant{10}, Instant{10}};
    QVERIFY(fails(outside, "range"));
    TrimOptions stranger;
    stranger.ranks = {RankId{7}};
    QVERIFY(fails(stranger, "ranks"));
}

void TrimTraceTest::redactionOfTexts()
{
    const Redaction redaction(test::SampleTrace::makeHeader().ranks);
    QCOMPARE(redaction.text("plain text, 3/4 done"), "plain text, 3/4 done");
    QCOMPARE(redaction.text("saved to /home/ada/x.bin, at last"), "saved to (path), at last");
    QCOMPARE(redaction.text("path=\"/a/b\" C:\\data\\x ~/y ../z"), "path=\"(path)\" (path) (path) (path)");
    QCOMPARE(redaction.text("node-a talks to node-b, not to node-ab"), "host 1 talks to host 2, not to node-ab");
    QCOMPARE(redaction.text("aten/add"), "aten/add"); // names of operators are no paths
}

void TrimTraceTest::redactedTraceNamesNobody()
{
    TrimOptions options;
    options.redact = true;
    const Trimmed trimmed(options);
    const auto& data = trimmed.result->data();
    QCOMPARE(data.info.header.ranks[1].host, "host 2");
    QCOMPARE(data.info.header.spec->training.dataFile, "(path)");
    QCOMPARE(data.events[0].text, "saved to (path) 7 on host 1");
    for (const auto& op : data.ops) QVERIFY(op->detail.find("/data") == std::string::npos);
    for (const AuditRecord& record : data.info.audit) QVERIFY(record.detail.find("/tmp") == std::string::npos);
    QCOMPARE(auditOf(data.info, "redacted"), 1);
}

FOURWALLS_TEST(TrimTraceTest, QCoreApplication)

} // namespace tst_trim_trace

#include "tst_trim_trace.moc"
