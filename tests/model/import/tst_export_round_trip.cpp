// SPDX-License-Identifier: Apache-2.0
// A trace exported as Chrome JSON and imported again is the same trace, record by record: a synthetic one from a file,
// imported ones, and one with every odd thing that a trace can hold.
#include "model/export/chrome_trace_exporter.h"
#include "model/store/synthetic_trace.h"
#include "model/store/trace_file.h"
#include "model/trace/allocator_text.h"
#include "model/trace/in_memory_query.h"
#include "model/trace/metrics.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <set>
#include <sstream>

namespace tst_export_round_trip {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

constexpr TimeRange kEverything{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};

std::string textOf(const OpInfo& op)
{
    std::ostringstream out;
    out.precision(17);
    out << op.name << '|' << name(op.kind) << '|' << name(op.phase) << '|' << name(op.activity) << '|'
        << (op.layer ? op.layer->value : -1) << '|' << op.flops << '|' << op.bytes << '|' << op.detail;
    return out.str();
}

/// Everything a trace says, as sorted lines that do not depend on how ids were given.
std::vector<std::string> linesOf(TraceQuery& trace)
{
    std::vector<std::string> lines;
    std::ostringstream out;
    out.precision(17);
    const auto line = [&] {
        lines.push_back(out.str());
        out.str({});
    };
    const auto optional = [&out](const auto& value) {
        if (value)
            out << ' ' << *value;
        else
            out << " -";
    };
    const TraceInfo& info = trace.info();
    const auto track = [&](TrackId id) {
        const TrackInfo& t = trace.tracks()[static_cast<std::size_t>(id.value)].info;
        return std::to_string(t.rank.value) + "/" + std::string(name(t.kind)) + "/" + t.name + "/" +
               std::to_string(t.order);
    };
    const auto op = [&](OpId id) {
        const auto found = trace.op(id);
        return found.ok() ? textOf(**found) : std::string("?");
    };
    out << "header " << name(info.header.source) << ' ' << name(info.header.clock) << ' ' << info.header.producer << ' '
        << info.header.computeLabel << ' ' << info.header.communicationLabel << ' ' << info.header.originUnixNs << ' '
        << (info.header.spec ? toJson(*info.header.spec) : "");
    line();
    const TraceClosing& closing = info.closing;
    out << "closing " << closing.peakSource;
    for (const auto& value : {closing.peakFlopsPerDevice, closing.memoryBytesPerSecond,
                              closing.recorderOverheadFraction, closing.recorderOverheadMeasured})
        optional(value);
    line();
    out << "allocator " << segmentsText(closing.segments) << ' ' << blocksText(closing.blocks);
    line();
    std::set<RankId> ranks;
    for (const RankInfo& rank : info.header.ranks) {
        ranks.insert(rank.rank);
        out << "rank " << rank.rank.value << ' ' << rank.device << ' ' << rank.host << ' ' << rank.pipelineStage << ' '
            << rank.memoryBytes << ' ' << rank.multiplicity;
        line();
    }
    for (const TrackView& view : trace.tracks()) {
        out << "track " << track(view.id) << ' ' << view.slices << ' ' << view.lanes;
        line();
    }
    for (const AuditRecord& record : info.audit) {
        out << "audit " << record.name << ' ' << name(record.severity) << ' ' << record.count << ' ' << record.detail;
        line();
    }
    const auto ok = [](const Status& status) {
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
    };
    ok(trace.scanSlices([&](const SliceView& s) {
        out << "slice " << track(s.track) << ' ' << s.lane << ' ' << s.start.ns << ' ' << s.duration.ns << ' '
            << (s.microbatch ? s.microbatch->value : -1) << ' '
            << (s.correlation ? std::to_string(s.correlation->value) : "-") << ' ' << op(s.op);
        line();
        return true;
    }));
    ok(trace.scanAllocations([&](const AllocationView& a) {
        out << "buffer " << a.rank.value << ' ' << a.start.ns << ' ' << (a.end ? std::to_string(a.end->ns) : "-") << ' '
            << a.bytes << ' ' << a.address << ' ' << name(a.category) << ' '
            << (a.microbatch ? a.microbatch->value : -1) << ' ' << (a.op ? op(*a.op) : "-");
        line();
        return true;
    }));
    ok(trace.scanCounters([&](const CounterRecord& c) {
        const CounterInfo& counter = info.counters[static_cast<std::size_t>(c.counter.value)];
        out << "sample " << counter.name << ' ' << name(counter.unit) << ' '
            << (counter.rank ? counter.rank->value : -1) << ' ' << c.at.ns << ' ' << c.value;
        line();
        return true;
    }));
    ok(trace.scanFlows([&](const FlowRecord& f) {
        out << "flow " << f.kind << ' ' << track(f.fromTrack) << ' ' << f.from.ns << ' ' << track(f.toTrack) << ' '
            << f.to.ns;
        line();
        return true;
    }));
    const auto collectives = trace.collectives(std::nullopt, kEverything, SIZE_MAX);
    for (const CollectiveView& view : *collectives) {
        const CollectiveRecord& c = view.record;
        const ProcessGroupInfo& group = info.groups[static_cast<std::size_t>(c.group.value)];
        out << "collective " << track(c.track) << ' ' << c.start.ns << ' ' << c.lastArrival.ns << ' ' << c.end.ns << ' '
            << name(c.operation) << ' ' << group.name << ' ' << group.transport << ' ' << group.ranks.size() << ' '
            << c.sequence << ' ' << c.payloadBytes.value_or(-1) << ' ' << c.wireBytes.value_or(-1) << ' '
            << (c.peer ? c.peer->value : -1) << ' ' << c.algorithm << ' ' << c.protocol;
        line();
    }
    const auto events = trace.events(kEverything, SIZE_MAX);
    for (const EventRecord& event : *events) {
        out << "event " << name(event.kind) << ' ' << (event.rank ? event.rank->value : -1) << ' ' << event.at.ns << ' '
            << event.text;
        line();
    }
    for (const RankId rank : ranks) {
        const auto steps = trace.steps(rank);
        for (const StepView& view : *steps) {
            const StepRecord& s = view.record;
            out << "step " << rank.value << ' ' << s.step.value << ' ' << s.range.begin.ns << ' ' << s.range.end.ns
                << ' ' << s.samples << ' ' << s.tokens << ' ' << name(s.state);
            for (const auto& value : {s.loss, s.learningRate, s.gradientNorm}) optional(value);
            line();
        }
    }
    // The figures follow from all that.
    const auto metrics = computeMetrics(trace);
    out << "metrics " << metrics->collectives.size() << ' ' << metrics->memory.size();
    for (const auto& value : {metrics->mfu, metrics->hfu, metrics->bubbleFraction, metrics->exposedCommFraction,
                              metrics->idleFraction, metrics->tokensPerSecond})
        optional(value);
    line();
    std::sort(lines.begin(), lines.end());
    return lines;
}

Imported roundTrip(TraceQuery& trace)
{
    std::ostringstream out;
    const Status status = exportChromeTrace(trace, out);
    Imported result;
    if (status.ok()) return importText(out.str(), "export.json");
    result.error = status.error().message();
    return result;
}

/// What differs, at most a few lines of each side.
std::string differences(const std::vector<std::string>& a, const std::vector<std::string>& b)
{
    std::vector<std::string> only;
    std::string text;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only));
    for (std::size_t i = 0; i < only.size() && i < 5; ++i) text += "- " + only[i].substr(0, 600) + "\n";
    only.clear();
    std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only));
    for (std::size_t i = 0; i < only.size() && i < 5; ++i) text += "+ " + only[i].substr(0, 600) + "\n";
    return text;
}

void compare(TraceQuery& original)
{
    const Imported back = roundTrip(original);
    QCOMPARE(back.error, std::string());
    InMemoryTraceQuery query(back.data);
    const auto before = linesOf(original), after = linesOf(query);
    const std::string difference = differences(before, after);
    QVERIFY2(difference.empty(), difference.c_str());
    QCOMPARE(after.size(), before.size());
}

} // namespace

class ExportRoundTripTest : public QObject {
    Q_OBJECT

private slots:
    void syntheticFile()
    {
        const QTemporaryDir folder;
        const std::string path = folder.path().toStdString() + "/synthetic.fourwalls";
        store::SyntheticOptions options;
        options.slices = 6000;
        options.ranks = 2;
        QVERIFY(store::generateSynthetic(options, path).ok());
        const auto trace = store::openTrace(path);
        QVERIFY(trace.ok());
        compare(**trace);
    }

    void imported_data()
    {
        QTest::addColumn<QStringList>("files");
        QTest::newRow("two ranks with collectives")
            << QStringList{"Megatron-LM/tp2/result/0/9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz",
                           "Megatron-LM/tp2/result/1/9c44bd29b3f0_1376.1724066820237002797.pt.trace.json.gz"};
        QTest::newRow("overlapping slices, long names") << QStringList{
            "HolisticTraceAnalysis/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"};
        QTest::newRow("memory snapshot") << QStringList{"MAGMA27__assignment2-systems/memory_snapshot.pickle"};
        QTest::newRow("Nsight") << QStringList{"nsys-ai/healthy_1pct.sqlite"};
        QTest::newRow("counters and instants") << QStringList{"catapult/simple_trace.json"};
    }
    void imported()
    {
        QFETCH(QStringList, files);
        std::vector<std::string> paths;
        for (const QString& file : files) paths.push_back(committedFolder() + "/" + file.toStdString());
        const Imported trace = importPaths(paths);
        QCOMPARE(trace.error, std::string());
        InMemoryTraceQuery query(trace.data);
        compare(query);
    }

    void oddThings()
    {
        TraceHeader header;
        header.source = TraceSource::Predicted;
        header.clock = ClockKind::Predicted;
        header.producer = "a \"quoted\" \\ name";
        header.computeLabel = header.communicationLabel = "modelled";
        header.originUnixNs = 1'700'000'000'123'456'789;
        header.spec = RunSpec{};
        header.spec->model = *loadModel("gpt-tiny");
        header.spec->cluster = *loadCluster("dgx-a100");
        header.spec->plan = *parsePlan("pp=2 microbatches=4");
        for (int r = 0; r < 2; ++r)
            header.ranks.push_back({RankId{r * 7}, "H100 \xc3\xa9", "host", r, 80'000'000'000, 4});
        InMemoryTrace trace(header);
        const TrackId track = trace.defineTrack({RankId{7}, TrackKind::CommStream, "a\tb", 3});
        const TrackId other = trace.defineTrack({RankId{0}, TrackKind::Other, "", -2});
        OpInfo info{"x\ny",
                    SliceKind::Collective,
                    Phase::GradientSync,
                    Activity::PipelineTransfer,
                    LayerIndex{0},
                    1.0 / 3 * 1e17,
                    5,
                    "[1, 2]"};
        const OpId op = trace.defineOp(info);
        info.name = "outer";
        info.kind = SliceKind::Layer;
        const OpId outer = trace.defineOp(info);
        const GroupId group = trace.defineGroup({"g", {RankId{0}, RankId{7}}, "nccl"}),
                      twin = trace.defineGroup({"g", {RankId{7}}, "nccl"});
        auto producer = trace.openProducer();
        producer->slice({track, outer, Instant{-5}, Duration{1000}, Microbatch{0}, CorrelationId{-9}});
        producer->slice({track, op, Instant{-5}, Duration{10}, {}, CorrelationId{INT64_MAX}});
        producer->slice({track, op, Instant{100}, Duration{0}, {}, {}});
        producer->slice({track, op, Instant{95}, Duration{10}, {}, {}});
        CollectiveRecord record{track, Instant{-5}, Instant{0}, Instant{5}, CollectiveOp::Send, group, 12, 1 << 20,
                                7,     RankId{7},   "ring",     "LL128"};
        producer->collective(record);
        record.group = twin;
        record.end = Instant{50};
        producer->collective(record); // the same track and start
        record.start = record.lastArrival = Instant{300};
        record.end = Instant{400};
        producer->collective(record); // without a slice
        producer->flow({"message", track, Instant{1}, other, Instant{-1}});
        producer->flow({"message", track, Instant{1}, other, Instant{-1}});
        const CounterId ofJob = trace.defineCounter({std::nullopt, "loss", CounterUnit::None}),
                        ofRank = trace.defineCounter({RankId{0}, "loss", CounterUnit::None});
        producer->counter({ofJob, Instant{3}, 0.1 + 0.2});
        producer->counter({ofRank, Instant{3}, -1e-300});
        producer->allocated(RankId{7},
                            {AllocationId{5}, Instant{1}, 1024, 4096, MemoryCategory::Gradients, outer, Microbatch{3}});
        producer->freed(RankId{7}, AllocationId{5}, Instant{9});
        producer->allocated(RankId{7}, {AllocationId{6}, Instant{2}, 2048, 0, MemoryCategory::Other, {}, {}});
        producer->event({EventKind::LossSpike, std::nullopt, Instant{4}, "spike"});
        producer->event({EventKind::OutOfMemory, RankId{7}, Instant{4}, "{\"ph\":\"X\"}"});
        producer->step(RankId{7}, {StepIndex{3}, {Instant{-5}, Instant{500}}, 2.5, {}, 0.25, 4, 8, StepState::Warmup});
        producer.reset();
        trace.audit({"queue_full", AuditSeverity::Dropped, 3, "spool"});
        TraceClosing closing;
        closing.recorderOverheadMeasured = 0.01;
        QVERIFY(trace.finish(closing).ok());
        QCOMPARE(trace.data()->collectives.size(), std::size_t{3});
        InMemoryTraceQuery query(trace.data());
        compare(query);
    }

    void damagedExports()
    {
        const Imported cut = importText(
            "{\"fourwalls_export\":1,\"otherData\":{},\"fourwalls\":{\"tracks\":[{\"rank\":0}]},\"traceEvents\":[");
        QVERIFY(cut.data);
        QCOMPARE(cut.audit("file_cut"), std::int64_t{1});
        QVERIFY(importText("{\"fourwalls_export\":1,\"traceEvents\":[]}").error.find("without its definitions") !=
                std::string::npos);
        const Imported strange =
            importText(js("{'fourwalls_export':1,'fourwalls':{'tracks':[{'rank':-1,'kind':'x'}],'groups':[5],'steps':[{"
                          "'begin_ns':9e99}]},"
                          "'traceEvents':[{'ph':'X','ts':1e9,'dur':-1},{'ph':'f','id':1},{'ph':'C','cat':'counter:99','"
                          "ts':0},{'ph':'N','ts':1,'id':1},{'ph':'D','ts':0,'id':1},"
                          "{'ph':'N','ts':1,'id':1},{'ph':'D','ts':2,'id':7}]}"));
        QVERIFY(strange.data);
        QCOMPARE(strange.audit("export_events_unread"), std::int64_t{5});
        QCOMPARE(strange.audit("invalid_records"),
                 std::int64_t{0}); // found by fuzzing: buffers that come twice or go unmet
    }
};

FOURWALLS_TEST(ExportRoundTripTest, QCoreApplication)

} // namespace tst_export_round_trip

#include "tst_export_round_trip.moc"
