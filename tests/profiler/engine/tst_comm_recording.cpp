// SPDX-License-Identifier: Apache-2.0
// What communication leaves in the trace: collectives with arrival, waiting and transfer, hops with peer and bytes,
// messages as arrows, tracks of both threads; and the device clock, whose times follow the links' formula exactly.
#include <QtTest>

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"
#include "profiler/engine/comm/cluster_links.h"
#include "profiler/engine/comm/link_clock.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/train/rank_world.h"
#include "tests/support/test_program.h"

#ifndef Q_MOC_RUN
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>
#endif

namespace tst_comm_recording {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

constexpr TimeRange kAlways{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};
constexpr std::size_t kAll = 1'000'000;

/// A world that records into memory.
struct RecordedWorld {
    WorldOptions options;
    std::unique_ptr<InMemoryTrace> trace;

    explicit RecordedWorld(const char* plan, bool deviceClock = false)
    {
        options.plan = *parsePlan(plan);
        options.format = {DType::F32, DType::F32};
        options.origin = ClockOrigin::now();
        options.deviceClock = deviceClock;
        TraceHeader header;
        header.clock = deviceClock ? ClockKind::Device : ClockKind::Wall;
        RunSpec spec;
        spec.plan = options.plan;
        header.spec = spec;
        for (int r = 0; r < options.plan.worldSize(); ++r) header.ranks.push_back({RankId{r}, "core", "host", 0, 0, 1});
        trace = std::make_unique<InMemoryTrace>(header);
        options.sink = trace.get();
    }

    /// Runs and gives the finished trace.
    std::unique_ptr<TraceQuery> run(const std::function<void(RankContext&)>& work)
    {
        const Status status = runRanks(options, [&work](RankSlot& slot) -> Status {
            work(*slot.context);
            slot.recorder->close();
            return {};
        });
        if (!status.ok()) qFatal("%s", status.error().message().c_str());
        const Status finished = trace->finish({});
        if (!finished.ok()) qFatal("%s", finished.error().message().c_str());
        return std::make_unique<InMemoryTraceQuery>(trace->data());
    }
};

Tensor zeros(RankContext& rank, std::int64_t elements)
{
    const Tensor t = Tensor::make(rank.allocator, {elements}, DType::F32, MemoryCategory::Other);
    std::fill_n(t.as<float>(), elements, 0.0f);
    return t;
}

LinkTable uniform(double latencySeconds, double bytesPerSecond)
{
    return [=](RankId, RankId) { return LinkTimes{latencySeconds, bytesPerSecond, 0}; };
}

struct Recorded {
    std::vector<CollectiveView> collectives;
    std::vector<SliceView> slices;
    std::vector<FlowRecord> flows;
    std::map<OpId, OpInfo> ops;

    explicit Recorded(TraceQuery& query)
    {
        auto all = query.collectives(std::nullopt, kAlways, kAll);
        if (all) collectives = *all;
        (void)query.scanSlices([&](const SliceView& slice) {
            slices.push_back(slice);
            if (!ops.count(slice.op)) ops[slice.op] = **query.op(slice.op);
            return true;
        });
        (void)query.scanFlows([&](const FlowRecord& flow) {
            flows.push_back(flow);
            return true;
        });
    }
};

} // namespace

class CommRecordingTest : public QObject {
    Q_OBJECT

private slots:
    void collectiveWithWaitAndHops();
    void wireBytesAreTheFormulas_data();
    void wireBytesAreTheFormulas();
    void pipelineMessagesAreTransfers();
    void waitingForOtherStagesIsBubble();
    void startedOperationsHaveTheirOwnTrack();
    void deviceClockFollowsTheFormula_data();
    void deviceClockFollowsTheFormula();
    void deviceClockLateRank();
    void absurdLinksStayWithinTime();
    void pipelineOnTheDeviceClock();
    void faultyLinks();
    void chosenAlgorithm();
};

void CommRecordingTest::collectiveWithWaitAndHops()
{
    RecordedWorld world("dp=4 collective=ring");
    const auto query = world.run([](RankContext& rank) {
        const Tensor t = zeros(rank, 4000);
        const Scope scope(rank.recorder, SliceKind::Phase, "sync", Phase::GradientSync, 3);
        rank.recorder.setMicrobatch(Microbatch{5});
        for (int i = 0; i < 3; ++i) rank.groups->gradient->allReduce(t);
    });
    const Recorded recorded(*query);
    QCOMPARE(recorded.collectives.size(), std::size_t{12});
    std::map<std::int64_t, std::set<std::int64_t>> lastArrivals;
    for (const CollectiveView& view : recorded.collectives) {
        const CollectiveRecord& c = view.record;
        QVERIFY(c.start <= c.lastArrival && c.lastArrival <= c.end);
        QCOMPARE(c.operation, CollectiveOp::AllReduce);
        QCOMPARE(c.payloadBytes.value_or(-1), std::int64_t{16000});
        QCOMPARE(c.wireBytes.value_or(-1), std::int64_t{2 * 3 * 4000});
        QCOMPARE(c.algorithm, std::string("ring"));
        QVERIFY(c.sequence >= 0 && c.sequence < 3);
        lastArrivals[c.sequence].insert(c.lastArrival.ns);
        const ProcessGroupInfo& group = query->info().groups[static_cast<std::size_t>(c.group.value)];
        QCOMPARE(group.name, std::string("dp_cp"));
        QCOMPARE(group.transport, std::string("local"));
        QCOMPARE(group.ranks.size(), std::size_t{4});
    }
    for (const auto& [sequence, instants] : lastArrivals) QCOMPARE(instants.size(), std::size_t{1}); // all agree
    int whole = 0, hops = 0;
    for (const SliceView& slice : recorded.slices) {
        const OpInfo& op = recorded.ops.at(slice.op);
        if (op.kind == SliceKind::Collective) {
            ++whole;
            QCOMPARE(op.name, std::string("all_reduce"));
            QCOMPARE(op.activity, Activity::Transfer);
            QCOMPARE(op.phase, Phase::GradientSync);
            QCOMPARE(op.layer->value, 3);
            QCOMPARE(slice.microbatch->value, 5);
        }
        if (op.kind == SliceKind::Hop) {
            ++hops;
            QCOMPARE(op.bytes, std::int64_t{4000});
            const RankId rank = query->tracks()[static_cast<std::size_t>(slice.track.value)].info.rank;
            QCOMPARE(op.name, "hop from " + std::to_string((rank.value + 3) % 4));
        }
        if (op.kind == SliceKind::Wait) QCOMPARE(op.activity, Activity::CollectiveWait);
    }
    QCOMPARE(whole, 12);
    QCOMPARE(hops, 12 * 6);
    QCOMPARE(recorded.flows.size(), std::size_t{12 * 6});
    for (const FlowRecord& flow : recorded.flows) QVERIFY(flow.from <= flow.to && flow.fromTrack != flow.toTrack);
}

void CommRecordingTest::wireBytesAreTheFormulas_data()
{
    QTest::addColumn<int>("ranks");
    QTest::addColumn<QString>("algorithm");
    for (const char* algorithm : {"ring", "tree", "direct"})
        for (const int ranks : {2, 3, 4, 7, 8}) QTest::addRow("%s of %d", algorithm, ranks) << ranks << algorithm;
}

// Of an all-reduce whose elements do not divide by the ranks: what the trace says that each of them sent, and the closed form.
void CommRecordingTest::wireBytesAreTheFormulas()
{
    QFETCH(int, ranks);
    QFETCH(QString, algorithm);
    constexpr std::int64_t kElements = 10007;
    RecordedWorld world(qPrintable(QString("dp=%1 collective=%2").arg(ranks).arg(algorithm)));
    const auto query = world.run([](RankContext& rank) { rank.groups->data->allReduce(zeros(rank, kElements)); });
    const CollectiveShape shape{CollectiveKind::AllReduce, ranks, kElements, 0, 0};
    std::vector<std::int64_t> recorded(static_cast<std::size_t>(ranks)), formula;
    for (const CollectiveView& view : Recorded(*query).collectives)
        recorded[static_cast<std::size_t>(view.rank.value)] += view.record.wireBytes.value();
    for (int rank = 0; rank < ranks; ++rank)
        formula.push_back(4 * elementsSent(shape, world.options.plan.collective, rank));
    const auto text = [](const std::vector<std::int64_t>& bytes) {
        std::string line;
        for (const std::int64_t value : bytes) line += ' ' + std::to_string(value);
        return line;
    };
    qInfo("%-6s of %d, %lld bytes: sent by each rank%s, formula%s", qPrintable(algorithm), ranks,
          static_cast<long long>(4 * kElements), text(recorded).c_str(), text(formula).c_str());
    QCOMPARE(recorded, formula);
    if (algorithm == "tree") return;
    // The textbook's 2 (n - 1) / n of the buffer, on the average over the ranks: exactly.
    const std::int64_t all = std::accumulate(recorded.begin(), recorded.end(), std::int64_t{0});
    QCOMPARE(all, std::int64_t{2} * (ranks - 1) * 4 * kElements);
}

void CommRecordingTest::pipelineMessagesAreTransfers()
{
    RecordedWorld world("pp=2");
    const auto query = world.run([](RankContext& rank) {
        Communicator& pipe = *rank.groups->pipeline;
        const Tensor t = zeros(rank, 1000);
        for (int i = 0; i < 3; ++i) {
            if (pipe.index() == 0)
                pipe.send(t, 1);
            else
                pipe.receive(t, 0);
        }
    });
    const Recorded recorded(*query);
    QCOMPARE(recorded.collectives.size(), std::size_t{6});
    std::map<std::int64_t, int> members;
    for (const CollectiveView& view : recorded.collectives) {
        const bool sends = view.record.operation == CollectiveOp::Send;
        QCOMPARE(view.rank.value, sends ? 0 : 1);
        QCOMPARE(view.record.peer->value, sends ? 1 : 0);
        QCOMPARE(view.record.wireBytes.value_or(-1), sends ? std::int64_t{4000} : std::int64_t{0});
        ++members[view.record.sequence];
    }
    QCOMPARE(members.size(), std::size_t{3});
    for (const auto& [sequence, count] : members) QCOMPARE(count, 2); // one number for both ends
    for (const SliceView& slice : recorded.slices) {
        const OpInfo& op = recorded.ops.at(slice.op);
        if (op.kind == SliceKind::Collective) QCOMPARE(op.activity, Activity::None);
        if (op.kind == SliceKind::Wait) QCOMPARE(op.activity, Activity::PipelineWait);
        if (op.kind == SliceKind::Hop) QCOMPARE(op.activity, Activity::PipelineTransfer);
    }
    QCOMPARE(recorded.flows.size(), std::size_t{3});
}

void CommRecordingTest::waitingForOtherStagesIsBubble()
{
    RecordedWorld world("dp=2 pp=2", true);
    world.options.links = uniform(1e-6, 1e9);
    const auto query = world.run([](RankContext& rank) {
        const Tensor t = zeros(rank, 1000);
        rank.recorder.advanceTo(Instant{rank.recorder.rank().value * 1'000'000});
        rank.groups->world->allReduce(t);
        rank.recorder.advanceTo(Instant{(10 + rank.recorder.rank().value) * 1'000'000});
        rank.groups->gradient->allReduce(t);
    });
    std::map<Activity, int> waits, wholes;
    const Recorded recorded(*query);
    for (const SliceView& slice : recorded.slices) {
        const OpInfo& op = recorded.ops.at(slice.op);
        if (op.kind == SliceKind::Wait) ++waits[op.activity];
        if (op.kind == SliceKind::Collective) ++wholes[op.activity];
    }
    QCOMPARE(waits[Activity::PipelineWait], 3);   // of the world's four ranks all but the last one
    QCOMPARE(waits[Activity::CollectiveWait], 2); // one in each of the two groups inside a stage
    QCOMPARE(wholes[Activity::None], 4);
    QCOMPARE(wholes[Activity::Transfer], 4);
}

void CommRecordingTest::startedOperationsHaveTheirOwnTrack()
{
    RecordedWorld world("dp=2");
    const auto query = world.run([](RankContext& rank) {
        const Tensor t = zeros(rank, 1000);
        CommRequest request;
        {
            const Scope scope(rank.recorder, SliceKind::Phase, "backward", Phase::BackwardWeight, 7);
            request = rank.groups->gradient->startAllReduce(t);
        }
        request.wait();
    });
    const Recorded recorded(*query);
    QCOMPARE(recorded.collectives.size(), std::size_t{2});
    for (const SliceView& slice : recorded.slices) {
        const OpInfo& op = recorded.ops.at(slice.op);
        if (op.kind != SliceKind::Collective) continue;
        const TrackInfo& track = query->tracks()[static_cast<std::size_t>(slice.track.value)].info;
        QCOMPARE(track.name, std::string("communication thread"));
        QCOMPARE(track.kind, TrackKind::CommStream);
        QCOMPARE(op.phase, Phase::BackwardWeight); // where it was started
        QCOMPARE(op.layer->value, 7);
    }
    // On each rank: from where it was started to its begin, and from its end to where the rank went on.
    std::map<std::string, int> arrows;
    for (const FlowRecord& flow : recorded.flows) {
        ++arrows[flow.kind];
        QVERIFY(flow.from <= flow.to);
        const auto nameOf = [&](TrackId id) { return query->tracks()[static_cast<std::size_t>(id.value)].info.name; };
        if (flow.kind == "launch") QCOMPARE(nameOf(flow.toTrack), std::string("communication thread"));
        if (flow.kind == "wait") QCOMPARE(nameOf(flow.fromTrack), std::string("communication thread"));
    }
    QCOMPARE(arrows["launch"], 2);
    QCOMPARE(arrows["wait"], 2);
}

void CommRecordingTest::deviceClockFollowsTheFormula_data()
{
    QTest::addColumn<int>("ranks");
    QTest::addColumn<QString>("algorithm");
    QTest::addColumn<int>("perNode");
    for (const int ranks : {2, 4, 8})
        for (const char* algorithm : {"ring", "tree", "direct"})
            QTest::addRow("%s of %d", algorithm, ranks) << ranks << algorithm << 0;
    QTest::newRow("ring of 3") << 3 << "ring" << 0;
    QTest::newRow("direct of 6") << 6 << "direct" << 0;
    QTest::newRow("2 nodes of 4") << 8 << "hierarchical" << 4;
    QTest::newRow("3 nodes of 2") << 6 << "hierarchical" << 2;
}

void CommRecordingTest::deviceClockFollowsTheFormula()
{
    QFETCH(int, ranks);
    QFETCH(QString, algorithm);
    QFETCH(int, perNode);
    const std::int64_t elements = 840 * 24; // divides by every size here
    RecordedWorld world(qPrintable(QString("dp=%1 collective=%2").arg(ranks).arg(algorithm)), true);
    const LinkSpec inside{200e9, 3e-6}, between{25e9, 14e-6};
    world.options.ranksPerNode = perNode;
    world.options.links = [&](RankId a, RankId b) {
        const LinkSpec& link = perNode == 0 || a.value / perNode == b.value / perNode ? inside : between;
        return LinkTimes{link.latencySeconds, link.bytesPerSecond, 0};
    };
    const auto query = world.run([&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const int n = group.size();
        const Tensor t = zeros(rank, elements), part = zeros(rank, elements / n);
        const auto together = [&rank](std::int64_t milliseconds) {
            rank.recorder.advanceTo(Instant{milliseconds * 1'000'000});
        };
        group.allReduce(t);
        together(10);
        group.reduceScatter(t, part);
        together(20);
        group.allGather(part, t);
        together(30);
        group.broadcast(t, 0);
    });
    std::map<CollectiveOp, std::pair<Instant, Instant>> span; // last arrival, last end
    for (const CollectiveView& view : Recorded(*query).collectives) {
        const auto [found, isNew] = span.try_emplace(view.record.operation, view.record.lastArrival, view.record.end);
        found->second.first = std::max(found->second.first, view.record.lastArrival);
        found->second.second = std::max(found->second.second, view.record.end);
    }
    const std::pair<CollectiveOp, CollectiveKind> kinds[] = {
        {CollectiveOp::AllReduce, CollectiveKind::AllReduce},
        {CollectiveOp::ReduceScatter, CollectiveKind::ReduceScatter},
        {CollectiveOp::AllGather, CollectiveKind::AllGather},
        {CollectiveOp::Broadcast, CollectiveKind::Broadcast}};
    for (const auto& [operation, kind] : kinds) {
        const CollectiveShape shape{kind, ranks, elements, 0, perNode};
        const double expected =
            collectiveSeconds(shape, world.options.plan.collective, 4, {inside, between, true}) * 1e9;
        const double actual = static_cast<double>((span[operation].second - span[operation].first).ns);
        // A tree over three is quicker than the formula's whole levels. Every hop is rounded to nanoseconds.
        if (kind == CollectiveKind::Broadcast && ranks == 6 && perNode == 2) {
            QVERIFY(actual < expected);
            continue;
        }
        QVERIFY2(std::abs(actual - expected) <= 4.0 * ranks,
                 qPrintable(QString("%1: %2 ns, formula %3").arg(name(operation).data()).arg(actual).arg(expected)));
    }
}

void CommRecordingTest::absurdLinksStayWithinTime()
{
    const LinkTimes slow{1e300, 1e-300, 0.5};
    LinkClock clock;
    Instant last;
    for (int i = 0; i < 5000; ++i) {
        const auto flight = clock.send(slow, Instant{i}, 1 << 20);
        QVERIFY(flight.begins >= last && flight.arrives >= flight.begins);
        QVERIFY(clock.receive(slow, flight.arrives, 1 << 20) >= flight.begins);
        last = flight.begins;
    }
    QVERIFY(clock.outFree() <= Instant{kLargestTimeNs});
    const LinkTimes lossy{0, 1e9, 0.5}, none{};
    QVERIFY(std::abs(lossy.occupancy(1000).ns - 2000) <= 1);
    QCOMPARE(none.occupancy(1 << 20).ns, std::int64_t{0});
}

void CommRecordingTest::deviceClockLateRank()
{
    RecordedWorld world("dp=3 collective=direct", true);
    world.options.links = uniform(1e-6, 1e9);
    const auto query = world.run([](RankContext& rank) {
        const Tensor t = zeros(rank, 3000);
        if (rank.groups->data->index() == 1) rank.recorder.advanceTo(Instant{5'000'000});
        rank.groups->data->allReduce(t);
    });
    for (const CollectiveView& view : Recorded(*query).collectives) {
        QCOMPARE(view.record.start.ns, view.rank.value == 1 ? 5'000'000 : 0);
        QCOMPARE(view.record.lastArrival.ns, 5'000'000);
        // Twice two messages of a third of 12000 bytes at 1 ns each, and the latency.
        QVERIFY(view.record.end.ns <= 5'000'000 + 2 * (8000 + 1000));
        QVERIFY(view.record.end.ns > 5'000'000 + 8000);
    }
}

void CommRecordingTest::pipelineOnTheDeviceClock()
{
    RecordedWorld world("pp=2", true);
    world.options.links = uniform(2e-6, 1e9);
    const auto query = world.run([](RankContext& rank) {
        Communicator& pipe = *rank.groups->pipeline;
        const Tensor t = zeros(rank, 1000); // 4 us on the link
        if (pipe.index() == 0) {
            rank.recorder.advanceTo(Instant{10'000});
            pipe.send(t, 1);
            pipe.send(t, 1); // behind the first one
            if (rank.recorder.now().ns != 10'000) throw EngineError(ErrorCode::Internal, "a send took time", "test");
        } else {
            pipe.receive(t, 0);
            if (rank.recorder.now().ns != 16'000) throw EngineError(ErrorCode::Internal, "first arrival", "test");
            pipe.receive(t, 0);
            if (rank.recorder.now().ns != 20'000) throw EngineError(ErrorCode::Internal, "second arrival", "test");
        }
    });
    for (const CollectiveView& view : Recorded(*query).collectives) {
        if (view.record.operation != CollectiveOp::Receive || view.record.start.ns != 0) continue;
        QCOMPARE(view.record.lastArrival.ns, 10'000); // waiting until it was sent, transfer after that
        QCOMPARE(view.record.end.ns, 16'000);
    }
}

void CommRecordingTest::faultyLinks()
{
    ClusterSpec cluster;
    cluster.devicesPerNode = 2;
    cluster.nodes = 2;
    cluster.nodeLink = {100e9, 1e-6};
    cluster.nicLink = {20e9, 5e-6};
    cluster.nicsPerNode = 1;
    LinkFault fault;
    fault.a = RankId{3};
    fault.b = RankId{2};
    fault.bandwidthFactor = 0.5;
    fault.addedLatency = Duration{4000};
    fault.loss = 0.2;
    const LinkTable links = clusterLinks(cluster, std::span(&fault, 1));
    QCOMPARE(links(RankId{0}, RankId{1}).occupancy(1000).ns, 10);
    QCOMPARE(links(RankId{0}, RankId{1}).latency().ns, 1000);
    QCOMPARE(links(RankId{1}, RankId{2}).occupancy(1000).ns, 100); // two devices share the adapter
    QCOMPARE(links(RankId{2}, RankId{3}).occupancy(1000).ns, 25);  // half the rate, 80 % of it arrives
    QCOMPARE(links(RankId{3}, RankId{2}).latency().ns, 5000);
}

void CommRecordingTest::chosenAlgorithm()
{
    using enum CollectiveAlgorithm;
    const CollectiveLinks links{{200e9, 3e-6}, {25e9, 14e-6}, true};
    CollectiveShape shape{CollectiveKind::AllReduce, 8, 1 << 20, 0, 0};
    QCOMPARE(chooseAlgorithm(shape, 4, links), Direct);
    CollectiveLinks ring = links;
    ring.fullyConnected = false;
    QCOMPARE(chooseAlgorithm(shape, 4, ring), Ring);
    shape.elements = 8;
    QCOMPARE(chooseAlgorithm(shape, 4, ring), Tree); // latency counts
    shape = {CollectiveKind::AllReduce, 64, 1 << 24, 0, 8};
    QCOMPARE(chooseAlgorithm(shape, 4, links), Hierarchical);
}

FOURWALLS_TEST(CommRecordingTest, QCoreApplication)

} // namespace tst_comm_recording

#include "tst_comm_recording.moc"
