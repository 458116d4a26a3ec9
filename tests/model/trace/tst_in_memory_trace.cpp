// SPDX-License-Identifier: Apache-2.0
// The in-memory trace: what goes into the sink comes out of the queries, exactly.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/memory_facts.h"
#include "tests/support/test_program.h"

#include <thread>

namespace tst_in_memory_trace {

using namespace fourwalls;

namespace {

OpInfo op(const std::string& name, Activity activity = Activity::Compute)
{
    OpInfo info;
    info.name = name;
    info.activity = activity;
    return info;
}

TraceHeader headerOf(TraceSource source)
{
    TraceHeader header;
    header.source = source;
    return header;
}

/// Two tracks of rank 0, one of rank 1.
struct Sample {
    TraceSource source = TraceSource::Recorded;
    InMemoryTrace trace{headerOf(source)};
    TrackId operators = trace.defineTrack({RankId{0}, TrackKind::Operators, "operators", 0});
    TrackId stream = trace.defineTrack({RankId{0}, TrackKind::CommStream, "communication", 1});
    TrackId other = trace.defineTrack({RankId{1}, TrackKind::Operators, "operators", 0});
    std::unique_ptr<TraceProducer> producer = trace.openProducer();

    void slice(TrackId track, const OpInfo& info, std::int64_t start, std::int64_t end)
    {
        producer->slice({track, trace.defineOp(info), Instant{start}, Duration{end - start}, {}, {}});
    }

    InMemoryTraceQuery query()
    {
        producer.reset();
        const Status finished = trace.finish({});
        Q_ASSERT(finished.ok());
        return InMemoryTraceQuery(trace.data());
    }
};

/// "lane: exact start-end… bins start+width busy/count" per line.
QString text(const SliceWindow& window)
{
    QStringList lines;
    for (const LaneSlices& lane : window.lanes) {
        QString line = QStringLiteral("%1/%2:").arg(lane.track.value).arg(lane.lane);
        for (const SliceView& slice : lane.exact)
            line += QStringLiteral(" %1-%2").arg(slice.start.ns).arg(slice.end().ns);
        for (const SliceBin& bin : lane.bins)
            line +=
                QStringLiteral(" [%1+%2 %3/%4]").arg(bin.start.ns).arg(bin.width.ns).arg(bin.busy.ns).arg(bin.count);
        lines << line;
    }
    return lines.join('\n');
}

} // namespace

class InMemoryTraceTest : public QObject {
    Q_OBJECT

private slots:
    void definitionsAreInterned();
    void slicesReturnInLanes();
    void shortSlicesBecomeBins();
    void binsSplitTimeButNotCounts();
    void slicesBeforeTheViewAreFound();
    void activityOfRanks();
    void searchesNames();
    void allocationsAliveAndOverlapping();
    void countersByColumn();
    void eventsFlowsCollectivesSteps();
    void ranksThatRanOutOfMemory();
    void damagedRecordsAreCounted();
    void producersOfSeveralThreads();
    void wrongQueriesAreErrors();
    void cancelledQueries();
    void emptyTrace();
};

void InMemoryTraceTest::definitionsAreInterned()
{
    InMemoryTrace trace{TraceHeader{}};
    QCOMPARE(trace.defineOp(op("a")).value, 0);
    QCOMPARE(trace.defineOp(op("b")).value, 1);
    QCOMPARE(trace.defineOp(op("a")).value, 0);
    QCOMPARE(trace.defineOp(op("a", Activity::Copy)).value, 2);
    OpInfo flops = op("a");
    flops.flops = 1;
    QCOMPARE(trace.defineOp(flops).value, 3);
    QCOMPARE(trace.defineCounter({RankId{0}, "loss", CounterUnit::None}).value, 0);
    QCOMPARE(trace.defineCounter({std::nullopt, "loss", CounterUnit::None}).value, 1);
    QCOMPARE(trace.defineGroup({"dp", {RankId{0}}, "local"}).value, 0);
    QCOMPARE(trace.defineGroup({"dp", {RankId{1}}, "local"}).value, 1);
}

void InMemoryTraceTest::slicesReturnInLanes()
{
    Sample s;
    s.slice(s.operators, op("inner"), 10, 40);
    s.slice(s.operators, op("outer"), 0, 100);
    s.slice(s.operators, op("overlap"), 90, 120);
    s.slice(s.stream, op("reduce"), 30, 60);
    InMemoryTraceQuery query = s.query();
    QCOMPARE(query.tracks()[0].lanes, 2);
    QCOMPARE(query.tracks()[0].slices, 3);
    QCOMPARE(query.info().counts.slices, 4);
    QCOMPARE(qint64{query.info().range.end.ns}, qint64{120});
    const auto window = query.slices({{s.operators, s.stream, s.other}, {Instant{0}, Instant{200}}, 200});
    QCOMPARE(text(*window), "0/0: 0-100\n0/1: 10-40 90-120\n1/0: 30-60");
    QCOMPARE(window->ops.size(), std::size_t{4});
    const SliceView inner = window->lanes[1].exact[0];
    QCOMPARE(query.slice(inner.id)->start.ns, 10);
    QCOMPARE((*query.op(inner.op))->name, "inner");
    std::vector<std::int64_t> scanned;
    QVERIFY(query
                .scanSlices([&](const SliceView& slice) {
                    scanned.push_back(slice.id.value);
                    return scanned.size() < 3;
                })
                .ok());
    QCOMPARE(scanned, (std::vector<std::int64_t>{0, 1, 2}));
}

void InMemoryTraceTest::shortSlicesBecomeBins()
{
    // 100 ns per pixel.
    Sample s;
    for (int i = 0; i < 5; ++i) s.slice(s.operators, op("short"), i * 10, i * 10 + 4);
    s.slice(s.operators, op("long"), 60, 70);
    s.slice(s.operators, op("exact"), 200, 300);
    InMemoryTraceQuery query = s.query();
    const auto window = query.slices({{s.operators}, {Instant{0}, Instant{1000}}, 10});
    QCOMPARE(text(*window), "0/0: 200-300 [0+100 30/6]");
    const SliceBin& bin = window->lanes[0].bins[0];
    QCOMPARE((*query.op(bin.dominant))->name, "short"); // 20 ns against 10
    QCOMPARE(qint64{bin.longest.ns}, qint64{10});
}

void InMemoryTraceTest::binsSplitTimeButNotCounts()
{
    Sample s;
    s.slice(s.operators, op("over the border"), 95, 115);
    InMemoryTraceQuery query = s.query();
    QCOMPARE(text(*query.slices({{s.operators}, {Instant{0}, Instant{1000}}, 10})), "0/0: [0+100 5/1] [100+100 15/0]");
}

void InMemoryTraceTest::slicesBeforeTheViewAreFound()
{
    Sample s;
    s.slice(s.operators, op("whole run"), 0, 1'000'000);
    s.slice(s.operators, op("inside"), 500, 600);
    InMemoryTraceQuery query = s.query();
    QCOMPARE(text(*query.slices({{s.operators}, {Instant{700}, Instant{800}}, 100})), "0/0: 0-1000000");
    QCOMPARE(text(*query.slices({{s.operators}, {Instant{599}, Instant{600}}, 1})), "0/0: 0-1000000\n0/1: 500-600");
    QCOMPARE(text(*query.slices({{s.operators}, {Instant{600}, Instant{601}}, 1})), "0/0: 0-1000000");
}

void InMemoryTraceTest::activityOfRanks()
{
    Sample s;
    s.slice(s.operators, op("work"), 0, 50);
    s.slice(s.stream, op("send", Activity::Transfer), 25, 100);
    s.slice(s.operators, op("load", Activity::DataLoading), 150, 200);
    s.slice(s.stream, op("wait for the last", Activity::CollectiveWait), 75, 100); // whatever is sent meanwhile
    s.slice(s.stream, op("wait", Activity::PipelineWait), 90, 160);                // not while it copies
    s.slice(s.operators, op("structure", Activity::None), 0, 200);
    InMemoryTraceQuery query = s.query();
    const RankId ranks[]{RankId{0}, RankId{1}};
    const auto activity = query.rankActivity(ranks, {Instant{0}, Instant{200}}, 2);
    QCOMPARE(activity->size(), std::size_t{2});
    const auto& columns = (*activity)[0].columns;
    QCOMPARE(columns[0].compute, 0.5f);
    QCOMPARE(columns[0].communication, 0.25f); // only where nothing is computed, and everybody is there
    QCOMPARE(columns[0].other, 0.0f);
    QCOMPARE(columns[0].waiting, 0.25f);
    QCOMPARE(columns[1].other, 0.5f);
    QCOMPARE(columns[1].waiting, 0.5f);
    QCOMPARE((*activity)[1].columns[0].compute, 0.0f);
}

void InMemoryTraceTest::searchesNames()
{
    Sample s;
    s.slice(s.operators, op("attention.scores"), 0, 10);
    s.slice(s.operators, op("Attention.values"), 10, 20);
    s.slice(s.other, op("attention.scores"), 5, 10);
    s.slice(s.operators, op("mlp.up"), 20, 30);
    InMemoryTraceQuery query = s.query();
    const TimeRange all{Instant{0}, Instant{100}};
    QCOMPARE(query.search({"ATTENTION", false, all, {}, 10})->slices.size(), std::size_t{3});
    QCOMPARE(query.search({"attention", false, all, {s.operators}, 10})->slices.size(), std::size_t{2});
    QCOMPARE(query.search({"^(mlp|attention\\.v)", true, all, {}, 10})->slices.size(), std::size_t{2});
    QCOMPARE(query.search({".", false, all, {}, 10})->slices.size(), std::size_t{4}); // a plain dot
    QCOMPARE(query.search({"", false, {Instant{12}, Instant{15}}, {}, 10})->slices.size(), std::size_t{1});
    const auto limited = query.search({"", false, all, {}, 2});
    QVERIFY(limited->limited);
    QCOMPARE(limited->slices.size(), std::size_t{2});
    QCOMPARE(limited->slices[1].start.ns, 5); // by start over all tracks
    QCOMPARE(query.search({"scores", false, all, {}, 10})->matchingOps.size(), std::size_t{1});
    const auto broken = query.search({"(", true, all, {}, 10});
    QVERIFY(!broken.ok());
    QCOMPARE(broken.error().code, ErrorCode::InvalidArgument);
}

void InMemoryTraceTest::allocationsAliveAndOverlapping()
{
    Sample s;
    const OpId asked = s.trace.defineOp(op("linear"));
    const auto allocate = [&](int id, std::int64_t at, std::int64_t bytes) {
        s.producer->allocated(RankId{0},
                              {AllocationId{id}, Instant{at}, bytes, 0, MemoryCategory::Activations, asked, {}});
    };
    allocate(1, 0, 10);
    allocate(2, 5, 30);
    allocate(3, 20, 20);
    s.producer->freed(RankId{0}, AllocationId{2}, Instant{20});
    InMemoryTraceQuery query = s.query();
    const auto bytes = [](const Result<AllocationList>& list) {
        QStringList sizes;
        for (const AllocationView& item : list->items) sizes << QString::number(item.bytes);
        return sizes.join(' ');
    };
    QCOMPARE(bytes(query.aliveAt(RankId{0}, Instant{19}, 10)), "30 10");
    QCOMPARE(bytes(query.aliveAt(RankId{0}, Instant{20}, 10)), "20 10");
    QCOMPARE(bytes(query.allocations(RankId{0}, {Instant{6}, Instant{21}}, 10)), "30 20 10");
    const auto limited = query.aliveAt(RankId{0}, Instant{19}, 1);
    QCOMPARE(bytes(limited), "30");
    QCOMPARE(limited->totalCount, 2);
    QCOMPARE(limited->totalBytes, 40);
    QCOMPARE(limited->ops.at(asked)->name, "linear");
    QCOMPARE(query.memory(RankId{0}, {Instant{0}, Instant{40}}, 40)->samples.size(), std::size_t{3});
    QVERIFY(query.memory(RankId{7}, {Instant{0}, Instant{40}}, 40)->samples.empty());
}

void InMemoryTraceTest::countersByColumn()
{
    Sample s;
    const CounterId loss = s.trace.defineCounter({std::nullopt, "loss", CounterUnit::None});
    for (const auto& [at, value] : {std::pair{30, 3.0}, {10, 1.0}, {12, 7.0}, {14, 2.0}, {50, 9.0}})
        s.producer->counter({loss, Instant{at}, value});
    InMemoryTraceQuery query = s.query();
    const auto samples = query.counter(loss, {Instant{11}, Instant{41}}, 3);
    QCOMPARE(samples->size(), std::size_t{3});
    QCOMPARE((*samples)[0].at.ns, 10); // holds into the range
    QCOMPARE((*samples)[1].min, 2.0);
    QCOMPARE((*samples)[1].max, 7.0);
    QCOMPARE((*samples)[1].last, 2.0);
    QCOMPARE((*samples)[2].at.ns, 30);
}

void InMemoryTraceTest::ranksThatRanOutOfMemory()
{
    const auto ranks = [](TraceSource source) {
        std::vector<std::optional<RankId>> found;
        Sample s{source};
        s.producer->event({EventKind::OutOfMemory, RankId{1}, Instant{30}, "1 GB"});
        s.producer->event({EventKind::OutOfMemory, std::nullopt, Instant{40}, "somewhere"});
        s.producer->event({EventKind::Fault, RankId{0}, Instant{20}, "link"});
        InMemoryTraceQuery query = s.query();
        const auto moments = outOfMemoryMoments(query);
        for (const OutOfMemory& moment : *moments) found.push_back(moment.rank);
        return found;
    };
    using Ranks = std::vector<std::optional<RankId>>;
    QCOMPARE(ranks(TraceSource::Recorded), (Ranks{RankId{1}, std::nullopt}));
    QCOMPARE(ranks(TraceSource::Predicted), Ranks{}); // there it is a forecast, told by the peak
}

void InMemoryTraceTest::eventsFlowsCollectivesSteps()
{
    Sample s;
    s.producer->flow({"message", s.operators, Instant{5}, s.other, Instant{15}});
    s.producer->event({EventKind::Checkpoint, RankId{0}, Instant{30}, "saved"});
    StepRecord step;
    step.step = StepIndex{4};
    step.range = {Instant{0}, Instant{100}};
    step.loss = 1.5;
    s.producer->step(RankId{1}, step);
    CollectiveRecord collective;
    collective.track = s.stream;
    collective.group = s.trace.defineGroup({"dp", {RankId{0}, RankId{1}}, "local"});
    collective.start = Instant{10};
    collective.lastArrival = Instant{12};
    collective.end = Instant{20};
    s.producer->collective(collective);
    InMemoryTraceQuery query = s.query();
    QCOMPARE(query.flows(s.other, {Instant{10}, Instant{20}}, 10)->size(), std::size_t{1});
    QCOMPARE(query.flows(s.operators, {Instant{10}, Instant{20}}, 10)->size(), std::size_t{0});
    QCOMPARE(query.events({Instant{30}, Instant{31}}, 10, std::nullopt)->size(), std::size_t{1});
    QCOMPARE(query.events({Instant{30}, Instant{31}}, 10, EventKind::Checkpoint)->size(), std::size_t{1});
    QCOMPARE(query.events({Instant{30}, Instant{31}}, 10, EventKind::Fault)->size(), std::size_t{0});
    QCOMPARE(*query.steps(RankId{1})->front().record.loss, 1.5);
    QVERIFY(query.steps(RankId{0})->empty());
    QCOMPARE(query.collectives(RankId{0}, {Instant{0}, Instant{11}}, 10)->size(), std::size_t{1});
    QCOMPARE(query.collectives(RankId{1}, {Instant{0}, Instant{11}}, 10)->size(), std::size_t{0});
    QCOMPARE(query.collectives(std::nullopt, {Instant{0}, Instant{100}}, 0)->size(), std::size_t{0});
    QCOMPARE(query.info().stepCount, 1);
    QCOMPARE(query.stepSummaries()->size(), std::size_t{1});
}

void InMemoryTraceTest::damagedRecordsAreCounted()
{
    Sample s;
    const OpId good = s.trace.defineOp(op("good"));
    s.producer->slice({TrackId{99}, good, Instant{0}, Duration{1}, {}, {}});
    s.producer->slice({s.operators, OpId{-1}, Instant{0}, Duration{1}, {}, {}});
    s.producer->slice({s.operators, good, Instant{0}, Duration{-1}, {}, {}});
    s.producer->slice({s.operators, good, Instant{kLargestTimeNs}, Duration{kLargestTimeNs}, {}, {}});
    s.producer->freed(RankId{0}, AllocationId{5}, Instant{0});
    s.producer->allocated(RankId{0}, {AllocationId{1}, Instant{0}, -5, 0, MemoryCategory::Other, {}, {}});
    s.producer->counter({CounterId{3}, Instant{0}, 1});
    s.slice(s.operators, op("good"), 0, 10);
    InMemoryTraceQuery query = s.query();
    QCOMPARE(query.info().counts.slices, 1);
    QCOMPARE(query.info().audit.size(), std::size_t{1});
    QCOMPARE(query.info().audit[0].name, "invalid_records");
    QCOMPARE(query.info().audit[0].count, 7);
    QCOMPARE(query.info().audit[0].severity, AuditSeverity::Skipped);
}

void InMemoryTraceTest::producersOfSeveralThreads()
{
    InMemoryTrace trace{TraceHeader{}};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&trace, t] {
            const TrackId track = trace.defineTrack({RankId{t}, TrackKind::Operators, "operators", 0});
            const OpId work = trace.defineOp(op("work"));
            const auto producer = trace.openProducer();
            for (int i = 0; i < 1000; ++i) producer->slice({track, work, Instant{i * 10}, Duration{5}, {}, {}});
        });
    threads.clear();
    QCOMPARE(trace.statistics().events, 4000);
    QVERIFY(trace.finish({}).ok());
    QCOMPARE(trace.data()->info.counts.slices, 4000);
    QCOMPARE(trace.data()->ops.size(), std::size_t{1});
    for (const TrackView& track : trace.data()->tracks) QCOMPARE(track.slices, 1000);
    QVERIFY(!trace.finish({}).ok());
}

void InMemoryTraceTest::wrongQueriesAreErrors()
{
    Sample s;
    InMemoryTraceQuery query = s.query();
    const TimeRange range{Instant{0}, Instant{10}};
    QCOMPARE(query.slices({{TrackId{9}}, range, 10}).error().code, ErrorCode::NotFound);
    QCOMPARE(query.slices({{s.operators}, {Instant{5}, Instant{5}}, 10}).error().code, ErrorCode::InvalidArgument);
    QCOMPARE(query.slices({{s.operators}, range, 0}).error().code, ErrorCode::InvalidArgument);
    QCOMPARE(query.slice(SliceId{0}).error().code, ErrorCode::NotFound);
    QCOMPARE(query.op(OpId{-1}).error().code, ErrorCode::NotFound);
    QCOMPARE(query.counter(CounterId{0}, range, 10).error().code, ErrorCode::NotFound);
}

void InMemoryTraceTest::cancelledQueries()
{
    Sample s;
    s.slice(s.operators, op("work"), 0, 10);
    InMemoryTraceQuery query = s.query();
    std::stop_source stop;
    stop.request_stop();
    QCOMPARE(query.slices({{s.operators}, {Instant{0}, Instant{10}}, 10}, stop.get_token()).error().code,
             ErrorCode::Cancelled);
    QCOMPARE(query.search({"", false, {Instant{0}, Instant{10}}, {}, 10}, stop.get_token()).error().code,
             ErrorCode::Cancelled);
    const auto again = query.reopen();
    QVERIFY(again.ok());
    QCOMPARE((*again)->info().counts.slices, 1);
}

void InMemoryTraceTest::emptyTrace()
{
    Sample s;
    InMemoryTraceQuery query = s.query();
    QVERIFY(query.info().range.empty());
    QVERIFY(query.info().complete);
    QVERIFY(query.slices({{s.operators}, {Instant{0}, Instant{10}}, 10})->lanes.empty());
    QVERIFY(query.memorySummaries()->empty());
    QVERIFY(query.opSummaries(10)->empty());
}

FOURWALLS_TEST(InMemoryTraceTest, QCoreApplication)

} // namespace tst_in_memory_trace

#include "tst_in_memory_trace.moc"
