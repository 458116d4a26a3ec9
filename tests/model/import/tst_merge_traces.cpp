// SPDX-License-Identifier: Apache-2.0
// Merging the traces of single ranks: clocks that were moved on purpose come back, waiting is found across files, ranks
// that clash are resolved or refused, and buffers of a memory snapshot join the kernels of the same run.
#include "model/import/merge_traces.h"
#include "model/trace/in_memory_query.h"
#include "tests/model/import/facts_table.h"
#include "tests/model/import/import_helpers.h"
#include "tests/model/import/spool_sample.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <filesystem>
#include <map>

namespace tst_merge_traces {

using namespace fourwalls;
using namespace fourwalls::importers;
using namespace fourwalls::importers::test;

namespace {

using TracePointer = std::shared_ptr<const InMemoryTraceData>;

TraceHeader recordedHeader(int rank, std::int64_t originUnixNs)
{
    TraceHeader header;
    header.producer = "test";
    header.computeLabel = header.communicationLabel = "measured";
    header.originUnixNs = originUnixNs;
    RankInfo info;
    info.rank = RankId{rank};
    info.host = "node" + std::to_string(rank);
    header.ranks.push_back(info);
    return header;
}

/// Rank `rank` of a job of three: an all-reduce every millisecond, to which it comes `rank` x 100 us late, ended by all
/// at 800 us. Its clock shows `wrong` ns too much.
TracePointer reducingRank(int rank, std::int64_t originUnixNs, std::int64_t wrong)
{
    InMemoryTrace trace(recordedHeader(rank, originUnixNs));
    const auto at = [&](std::int64_t trueUnixNs) { return Instant{trueUnixNs + wrong - originUnixNs}; };
    const TrackId track = trace.defineTrack({RankId{rank}, TrackKind::CommStream, "communication", 0});
    const GroupId group = trace.defineGroup({"dp", {RankId{0}, RankId{1}, RankId{2}}, "gloo"});
    const CounterId loss = trace.defineCounter({std::nullopt, "loss", CounterUnit::None});
    OpInfo op;
    op.name = "all-reduce";
    op.kind = SliceKind::Collective;
    op.activity = Activity::Transfer;
    const OpId id = trace.defineOp(op);
    auto producer = trace.openProducer();
    for (int i = 0; i < 5; ++i) {
        const std::int64_t begin = 1'000'000'000'000 + i * 1'000'000, start = begin + rank * 100'000,
                           end = begin + 800'000 + rank * 1000;
        producer->slice({track, id, at(start), Duration{end - start}, {}, {}});
        CollectiveRecord record;
        record.track = track;
        record.start = record.lastArrival = at(start);
        record.end = at(end);
        record.group = group;
        record.sequence = i;
        record.payloadBytes = 4096;
        producer->collective(record);
        producer->step(RankId{rank}, {StepIndex{i},
                                      {at(begin), at(begin + 1'000'000)},
                                      2.0 - i,
                                      {},
                                      {},
                                      8,
                                      64,
                                      i == 0 ? StepState::Warmup : StepState::Measured});
        producer->counter({loss, at(begin + 900'000), 2.0 - i});
    }
    producer.reset();
    return trace.finish({}).ok() ? trace.data() : nullptr;
}

/// Rank 0 sends to rank 1 and gets an answer; messages take 50 us.
TracePointer messagingRank(int rank, std::int64_t wrong)
{
    InMemoryTrace trace(recordedHeader(rank, 0));
    const TrackId track = trace.defineTrack({RankId{rank}, TrackKind::CommStream, "communication", 0});
    const GroupId group = trace.defineGroup({"pp", {RankId{0}, RankId{1}}, "gloo"});
    auto producer = trace.openProducer();
    for (int i = 0; i < 4; ++i) {
        for (const bool there : {true, false}) {
            const bool sends = there == (rank == 0);
            const std::int64_t begin = i * 1'000'000 + (there ? 0 : 500'000);
            CollectiveRecord record;
            record.track = track;
            record.start = record.lastArrival = Instant{wrong + (sends ? begin : begin - 200'000)};
            record.end = Instant{wrong + begin + 50'000};
            record.operation = sends ? CollectiveOp::Send : CollectiveOp::Receive;
            record.group = group;
            record.sequence = i * 2 + (there ? 0 : 1);
            record.peer = RankId{1 - rank};
            producer->collective(record);
        }
    }
    producer.reset();
    return trace.finish({}).ok() ? trace.data() : nullptr;
}

Imported merged(const std::vector<TracePointer>& parts)
{
    Imported result;
    std::vector<std::unique_ptr<InMemoryTraceQuery>> queries;
    std::vector<MergeInput> inputs;
    for (const TracePointer& part : parts) {
        queries.push_back(std::make_unique<InMemoryTraceQuery>(part));
        inputs.push_back({"file " + std::to_string(inputs.size()), queries.back().get()});
    }
    const auto merge = TraceMerge::create(std::move(inputs));
    if (!merge.ok()) {
        result.error = merge.error().message();
        return result;
    }
    InMemoryTrace trace((*merge)->header());
    Status status = (*merge)->write(trace, {}, {});
    if (status.ok()) status = trace.finish((*merge)->closing());
    if (!status.ok()) result.error = status.error().message();
    result.data = trace.data();
    return result;
}

std::map<int, std::int64_t> waits(const InMemoryTraceData& data)
{
    std::map<int, std::int64_t> sums;
    for (const CollectiveView& view : data.collectives)
        sums[view.rank.value] += (view.record.lastArrival - view.record.start).ns;
    return sums;
}

} // namespace

class MergeTracesTest : public QObject {
    Q_OBJECT

private slots:
    void clocksComeBack()
    {
        constexpr std::int64_t kOrigin = 999'000'000'000;
        const Imported trace = merged({reducingRank(0, kOrigin, 0), reducingRank(1, kOrigin + 5'000'000, 7'000'000),
                                       reducingRank(2, kOrigin - 1'000'000, -3'000'000)});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{3});
        // What the clocks were wrong by, to the microseconds by which the ranks end apart.
        QCOMPARE(trace.audit("clock_offset_ns_rank_1"), std::int64_t{-7'001'000});
        QCOMPARE(trace.audit("clock_offset_ns_rank_2"), std::int64_t{2'998'000});
        QCOMPARE(trace.audit("clock_residual_ns_rank_1"), std::int64_t{0});
        QCOMPARE(trace.audit("clock_offset_ns_rank_0"), std::int64_t{0});
        QCOMPARE(trace.audit("collectives_matched"), std::int64_t{5});
        // The last rank is the straggler: the others wait for it, 200 and 100 us each time.
        const auto sums = waits(*trace.data);
        QVERIFY(std::abs(sums.at(0) - 5 * 200'000) <= 5 * 2000);
        QVERIFY(std::abs(sums.at(1) - 5 * 100'000) <= 5 * 2000);
        QVERIFY(std::abs(sums.at(2)) <= 5 * 2000);
        // What belongs to the job is there once, what belongs to ranks as often as there are ranks.
        QCOMPARE(trace.data->counters.size(), std::size_t{1});
        QCOMPARE(trace.data->counters[0].size(), std::size_t{5});
        QCOMPARE(trace.data->slices.size(), std::size_t{15});
        QCOMPARE(trace.data->info.groups.size(), std::size_t{1});
        for (int rank = 0; rank < 3; ++rank) QCOMPARE(trace.data->steps.at(RankId{rank}).size(), std::size_t{5});
        QCOMPARE(trace.data->collectiveSummaries.size(), std::size_t{1});
        QCOMPARE(trace.data->collectiveSummaries[0].count, std::int64_t{4}); // the first step is a warm-up
    }

    void oneClockIsLeftAlone()
    {
        const Imported trace = merged({reducingRank(0, 1'000, 0), reducingRank(1, 1'000, 20'000)});
        QCOMPARE(trace.audit("clock_offset_ns_rank_1"), std::int64_t{0});
        QCOMPARE(trace.audit("clock_residual_ns_rank_1"), std::int64_t{21'000});
    }

    void messagesBoundTheOffset()
    {
        const Imported trace = merged({messagingRank(0, 0), messagingRank(1, 40'000'000)});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.audit("clock_offset_ns_rank_1"), std::int64_t{-40'000'000});
        QCOMPARE(trace.audit("clock_residual_ns_rank_1"), std::int64_t{50'000});
        QCOMPARE(trace.audit("clock_not_aligned"), std::int64_t{0});
    }

    void clashesAreRefused()
    {
        const Imported twice = merged({reducingRank(1, 0, 0), reducingRank(1, 0, 0)});
        QVERIFY(twice.error.find("rank 1 is also in file 0") != std::string::npos);
        const auto withSpec = [](const char* plan) {
            TraceHeader header = recordedHeader(plan[3] - '0', 0);
            header.spec = RunSpec{};
            header.spec->plan = *parsePlan(plan);
            InMemoryTrace trace(header);
            return trace.finish({}).ok() ? trace.data() : nullptr;
        };
        QVERIFY(merged({withSpec("dp=2"), withSpec("dp=4")}).error.find("its specification is not that of file 0") !=
                std::string::npos);
        TraceHeader predicted = recordedHeader(3, 0);
        predicted.clock = ClockKind::Predicted;
        predicted.source = TraceSource::Predicted;
        InMemoryTrace trace(predicted);
        QVERIFY(trace.finish({}).ok());
        QVERIFY(merged({reducingRank(0, 0, 0), trace.data()}).error.find("predicted") != std::string::npos);
    }

    /// Files of a run imported one by one and merged are the run imported at once.
    void importedRanks()
    {
        std::vector<std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(committedFolder() + "/Megatron-LM"))
            if (entry.is_regular_file()) files.push_back(entry.path().string());
        std::sort(files.begin(), files.end());
        QCOMPARE(files.size(), std::size_t{2});
        const Imported together = importPaths(files);
        const Imported trace = merged({importPaths({files[0]}).data, importPaths({files[1]}).data});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->slices.size(), together.data->slices.size());
        QCOMPARE(trace.data->flows.size(), together.data->flows.size());
        QCOMPARE(trace.audit("collectives_matched"), std::int64_t{13});
        QCOMPARE(waits(*trace.data), waits(*together.data));
        QCOMPARE(trace.audit("clock_offset_ns_rank_1"), together.audit("clock_offset_ns_rank_1"));
    }

    void unknownRanksAreNumbered()
    {
        const std::string text = js("[{'ph':'X','pid':1,'tid':1,'ts':5000,'dur':10,'name':'a','cat':'cpu_op'}]");
        const Imported trace = merged({importText(text).data, importText(text).data});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{2});
        QCOMPARE(trace.audit("rank_assumed"), std::int64_t{1});
    }

    /// One clock, one rank; the snapshot's buffers stand in for those that the profile has too.
    void snapshotAndKernels_data()
    {
        QTest::addColumn<bool>("merge");
        QTest::newRow("import of both") << false;
        QTest::newRow("merge of two traces") << true;
    }
    void snapshotAndKernels()
    {
        QFETCH(bool, merge);
        const std::string snapshot = committedFolder() + "/MAGMA27__assignment2-systems/memory_snapshot.pickle";
        const Imported buffers = importPaths({snapshot});
        const std::int64_t firstUnixNs = buffers.data->info.header.originUnixNs;
        QVERIFY(firstUnixNs > 0);
        // A kernel of rank 3, a millisecond before the snapshot's first entry, and an allocation that the profiler saw.
        const std::string text =
            js("{'distributedInfo':{'rank':3},'baseTimeNanoseconds':" + std::to_string(firstUnixNs - 1'000'000) +
               ",'traceEvents':[{'ph':'X','cat':'kernel','pid':0,'tid':7,'ts':0,'dur':10,'name':'gemm','args':{'stream'"
               ":7}},"
               "{'ph':'i','cat':'cpu_instant_event','name':'[memory]','pid':0,'tid':1,'ts':1,'args':{'Device "
               "Type':1,'Device Id':0,'Addr':4096,'Bytes':512,"
               "'Total Allocated':512,'Total Reserved':2048}}]}");
        const QTemporaryDir folder;
        const std::string kernels = writeFile(folder, "kernels.json", text);
        const Imported trace =
            merge ? merged({importPaths({kernels}).data, buffers.data}) : importPaths({snapshot, kernels});
        QCOMPARE(trace.error, std::string());
        QCOMPARE(trace.data->info.header.ranks.size(), std::size_t{1});
        QCOMPARE(trace.data->info.header.ranks[0].rank.value, 3);
        QCOMPARE(trace.data->info.header.originUnixNs, firstUnixNs - 1'000'000);
        const auto& own = buffers.data->allocations.begin()->second;
        const auto& joined = trace.data->allocations.at(RankId{3});
        QCOMPARE(joined.size(), own.size());
        for (std::size_t i = 0; i < own.size(); ++i) QCOMPARE(joined[i].start.ns, own[i].start.ns + 1'000'000);
        const std::vector<AllocatorSegment>& segments = trace.data->info.closing.segments;
        QCOMPARE(segments.size(), std::size_t{216});
        QVERIFY(segments.front().rank == RankId{3} && segments.front().start == Instant{1'000'000});
        QCOMPARE(trace.data->info.closing.blocks.size(), buffers.data->info.closing.blocks.size());
        QCOMPARE(trace.slice("gemm")->start.ns, std::int64_t{0});
        QCOMPARE(trace.audit("clock_not_aligned"), std::int64_t{0});
        int reserved = 0;
        for (const CounterInfo& counter : trace.data->info.counters) reserved += counter.name == "reserved_bytes";
        QCOMPARE(reserved, 1);
    }

    void formatsThatDoNotMix()
    {
        const QTemporaryDir folder;
        const std::string kernels =
            writeFile(folder, "kernels.json", js("[{'ph':'X','pid':1,'tid':1,'ts':5,'dur':1,'name':'a'}]"));
        const Imported trace = importPaths({kernels, committedFolder() + "/nsys-ai/healthy_1pct.sqlite"});
        QVERIFY(trace.error.find("different formats") != std::string::npos);
    }

    /// Ranks that were converted one by one, merged: the same waits as of both files at once.
    void spoolsConvertedOneByOne()
    {
        const QTemporaryDir folder;
        std::vector<std::unique_ptr<InMemoryTraceQuery>> queries;
        std::vector<MergeInput> inputs;
        for (int rank = 0; rank < 2; ++rank) {
            const std::string path =
                folder.path().toStdString() + (rank == 0 ? "/a-1-rank0.fwspool" : "/b-1-rank1.fwspool");
            {
                SpoolSample spool(path, rank, 2, 1, static_cast<std::uint64_t>(rank + 1), 0, rank * 5000);
                spool.communicator(1, 0x77, 2, rank);
                for (int i = 0; i < 5; ++i) {
                    const std::int64_t end = 1000 + i * 700, length = rank == 0 ? 80 : 50;
                    spool.collective("ReduceScatter", 1, static_cast<std::uint64_t>(i + 7), 1000, end - 200,
                                     end - length, length);
                }
                spool.end(9000);
            }
            const Imported imported = importPaths({path});
            QVERIFY(imported.data);
            queries.push_back(std::make_unique<InMemoryTraceQuery>(imported.data));
            inputs.push_back({path, queries.back().get()});
        }
        const auto merge = TraceMerge::create(std::move(inputs));
        QVERIFY2(merge.ok(), merge.ok() ? "" : merge.error().message().c_str());
        InMemoryTrace merged((*merge)->header());
        QVERIFY((*merge)->write(merged, {}, {}).ok());
        QVERIFY(merged.finish((*merge)->closing()).ok());
        QCOMPARE(merged.data()->collectives.size(), std::size_t{10});
        for (const CollectiveView& view : merged.data()->collectives) {
            QCOMPARE((view.record.lastArrival - view.record.start).ns,
                     std::int64_t{view.rank == RankId{0} ? 30'000 : 0});
            QCOMPARE(view.record.payloadBytes.value_or(-1), std::int64_t{8000}); // per rank 1000 floats, of two ranks
            QVERIFY(view.record.sequence >= 7);
        }
    }
};

FOURWALLS_TEST(MergeTracesTest, QCoreApplication)

} // namespace tst_merge_traces

#include "tst_merge_traces.moc"
