// SPDX-License-Identifier: Apache-2.0
// Ranks with a GPU each and NCCL between them: with processors in the GPUs' place, which work as lazily, do not reach
// each other's memory and wait for each other as NCCL does; and on GPUs where there are enough. Every collective, whole
// trainings against those of ranks that share a GPU, and what is recorded.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/in_memory_query.h"
#include "model/trace/in_memory_trace.h"
#include "tests/profiler/engine/gpu/nccl_fixture.h"
#include "tests/profiler/engine/gpu/training_fixture.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace tst_gpu_nccl {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr TimeRange kAlways{Instant{-kLargestTimeNs}, Instant{kLargestTimeNs}};

/// Small whole numbers: their sums are the same in every order and in every type.
double numberOf(int rank, std::int64_t i)
{
    return static_cast<double>((rank * 7 + i * 3) % 11 - 4);
}

/// A recorded run, by collective.
struct Recording {
    RunReport report;
    std::unique_ptr<InMemoryTrace> trace;
    std::unique_ptr<InMemoryTraceQuery> query;
    std::vector<CollectiveView> collectives;

    const ProcessGroupInfo& group(GroupId id) const
    {
        return query->info().groups.at(static_cast<std::size_t>(id.value));
    }
};

Result<Recording> record(RunSpec spec, const RunOptions& options)
{
    spec.training.device = DeviceKind::Cuda;
    FOURWALLS_TRY(resolve(spec));
    const ClockOrigin origin = ClockOrigin::now();
    Recording recording;
    recording.trace = std::make_unique<InMemoryTrace>(describeRun(spec, origin));
    FOURWALLS_TRY_ASSIGN(recording.report, train(spec, DeviceKind::Cuda, recording.trace.get(), origin, options));
    FOURWALLS_TRY(recording.trace->finish(recording.report.closing));
    recording.query = std::make_unique<InMemoryTraceQuery>(recording.trace->data());
    FOURWALLS_TRY_ASSIGN(recording.collectives, recording.query->collectives(std::nullopt, kAlways, 1'000'000));
    return recording;
}

bool isMessage(const CollectiveRecord& record)
{
    return record.operation == CollectiveOp::Send || record.operation == CollectiveOp::Receive;
}

} // namespace

class GpuNccl : public QObject, private NcclRanks {
    Q_OBJECT

private:
    static void addRanks()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<int>("ranks");
        for (const bool real : {false, true})
            for (const int ranks : {2, 3, 4})
                QTest::addRow("%s, %d ranks", real ? "GPUs" : "processor", ranks) << real << ranks;
    }

private slots:
    void init() { reset(); }
    void cleanup() { checkTheEnd(); }

    void collectives_data() { addRanks(); }
    void collectives()
    {
        QFETCH(bool, real);
        QFETCH(int, ranks);
        if (!choose(real, ranks)) return;
        const auto sum = [ranks](std::int64_t i) {
            double all = 0;
            for (int r = 0; r < ranks; ++r) all += numberOf(r, i);
            return all;
        };
        const Status status = runWorld(ranks, [&](RankContext& rank) {
            Communicator& group = *rank.groups->world;
            const int own = group.index();
            const std::int64_t part = 5, whole = part * ranks, first = own * part;
            for (const DType type : {DType::F32, DType::Bf16, DType::F64, DType::I32}) {
                const auto mine = [own](std::int64_t i) { return numberOf(own, i); };
                const auto make = [&](std::int64_t elements) { return filled(rank, elements, type, mine); };
                const auto summed = [&](std::int64_t i) { return sum(first + i); };
                const auto gathered = [&](std::int64_t i) { return numberOf(static_cast<int>(i / part), i % part); };

                const Tensor all = make(37);
                group.allReduce(all);
                expect("sum", all, sum);
                const Tensor most = make(37);
                group.allReduce(most, ReduceOp::Max);
                expect("maximum", most, [&](std::int64_t i) {
                    double largest = numberOf(0, i);
                    for (int r = 1; r < ranks; ++r) largest = std::max(largest, numberOf(r, i));
                    return largest;
                });

                const Tensor apart = make(part);
                group.reduceScatter(make(whole), apart);
                expect("reduce-scatter", apart, summed);
                const Tensor within = make(whole);
                group.reduceScatter(within, within.part(first, {part}));
                expect("reduce-scatter in place", within.part(first, {part}), summed);

                const Tensor everything = make(whole);
                group.allGather(make(part), everything);
                expect("all-gather", everything, gathered);
                const Tensor inside =
                    filled(rank, whole, type, [&](std::int64_t i) { return numberOf(own, i - first); });
                group.allGather(inside.part(first, {part}), inside);
                expect("all-gather in place", inside, gathered);

                const Tensor told = make(7);
                group.broadcast(told, 1);
                expect("broadcast", told, [](std::int64_t i) { return numberOf(1, i); });

                // To some more, to some nothing; the own part stays.
                const auto count = [](int from, int to) { return static_cast<std::int64_t>((from + 2 * to) % 3); };
                std::vector<std::int64_t> sent, received;
                std::vector<double> expected;
                for (int r = 0; r < ranks; ++r) {
                    sent.push_back(count(own, r));
                    received.push_back(count(r, own));
                    std::int64_t before = 0;
                    for (int to = 0; to < own; ++to) before += count(r, to);
                    for (std::int64_t i = 0; i < count(r, own); ++i) expected.push_back(numberOf(r, before + i));
                }
                const Tensor leaving = make(std::accumulate(sent.begin(), sent.end(), std::int64_t{0}));
                const Tensor coming = make(static_cast<std::int64_t>(expected.size()));
                group.allToAll(leaving, sent, coming, received);
                expect("all-to-all", coming, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });

                // Several at once, waited for in another order, and one behind them that must not overtake.
                const Tensor a = make(11), b = make(whole), shard = make(part), c = make(part), full = make(whole);
                CommRequest summing = group.startAllReduce(a), scattering = group.startReduceScatter(b, shard),
                            gathering = group.startAllGather(c, full);
                const Tensor d = make(3);
                group.allReduce(d);
                gathering.wait();
                summing.wait();
                scattering.wait();
                expect("started sum", a, sum);
                expect("started reduce-scatter", shard, summed);
                expect("started all-gather", full, gathered);
                expect("sum behind them", d, sum);

                // Messages, from GPU to GPU.
                group.send(make(6), (own + 1) % ranks);
                const Tensor message = make(6);
                group.receive(message, (own + ranks - 1) % ranks);
                expect("message", message, [&](std::int64_t i) { return numberOf((own + ranks - 1) % ranks, i); });
                group.barrier();
            }
        });
        QVERIFY2(status.ok(), status.ok() ? "" : status.error().message().c_str());
    }

    // The stand-in finds what it is for.
    void theStandInComplains()
    {
        const auto complaint = [](const std::function<void(Communicator&, RankContext&)>& wrong) {
            choose(false, 2);
            const Status status = runWorld(2, [&](RankContext& rank) {
                wrong(*rank.groups->world, rank);
                rank.recorder.settle();
                rank.allocator.memory()->settle();
            });
            return status.ok() ? std::string() : status.error().what;
        };
        const auto tensor = [](RankContext& rank, std::int64_t elements) {
            return Tensor::make(rank.allocator, {elements}, DType::F32, MemoryCategory::Other);
        };
        std::string said = complaint(
            [&](Communicator& group, RankContext& rank) { group.allReduce(tensor(rank, group.index() == 0 ? 4 : 5)); });
        QVERIFY2(said.find("different operations") != std::string::npos, said.c_str());
        said = complaint([&](Communicator& group, RankContext& rank) {
            const Tensor t = tensor(rank, 8);
            group.reduceScatter(t, t.part(1, {4}));
        });
        QVERIFY2(said.find("overlap") != std::string::npos, said.c_str());
        const auto patience = std::exchange(state().patience, std::chrono::milliseconds(200));
        said = complaint([&](Communicator& group, RankContext& rank) {
            if (group.index() == 0) group.allReduce(tensor(rank, 4));
        });
        state().patience = patience;
        QVERIFY(std::exchange(state().inVain, 0) > 0);
        QVERIFY2(said.find("wait for each other") != std::string::npos, said.c_str());
    }

    void likeRanksThatShareAGpu_data()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<int>("net");
        QTest::addColumn<QByteArray>("plan");
        const auto row = [](Net net, const char* plan) {
            for (const bool real : {false, true})
                QTest::addRow("%s, net %d: %s", real ? "GPUs" : "processor", static_cast<int>(net), plan)
                    << real << static_cast<int>(net) << QByteArray(plan);
        };
        row(Net::Decoder, "");
        for (const char* plan : {"dp=2",
                                 "dp=2 overlap=0",
                                 "dp=4",
                                 "dp=2 zero=1",
                                 "dp=2 zero=1 overlap=0",
                                 "dp=2 zero=2",
                                 "dp=2 zero=3",
                                 "dp=2 zero=3 overlap=0",
                                 "dp=4 zero=3 microbatches=2",
                                 "dp=2 zero=3 offload=parameters",
                                 "dp=2 offload=optimizer,activations",
                                 "tp=2",
                                 "tp=2 sp=1",
                                 "tp=2 sp=1 overlap=0",
                                 "tp=4",
                                 "dp=2 tp=2",
                                 "dp=2 tp=2 sp=1 zero=2",
                                 "tp=2 recompute=full",
                                 "cp=2 tp=2",
                                 "pp=2 microbatches=2",
                                 "pp=2 microbatches=4 schedule=naive",
                                 "pp=2 microbatches=4 schedule=gpipe",
                                 "pp=2 microbatches=4 schedule=zb",
                                 "pp=2 microbatches=4 schedule=zb2p",
                                 "pp=2 microbatches=4 schedule=zbv",
                                 "pp=2 vpp=2 microbatches=4",
                                 "pp=4 microbatches=4",
                                 "pp=4 microbatches=4 schedule=zb",
                                 "pp=2 dp=2 zero=1 microbatches=2",
                                 "pp=2 tp=2 sp=1 microbatches=2",
                                 "pp=2 cp=2 microbatches=2"})
            row(Net::Decoder, plan);
        for (const char* plan : {"tp=2 sp=1", "cp=2", "cp=2 overlap=0", "cp=4", "dp=2 cp=2 zero=3"})
            row(Net::Llama, plan);
        for (const char* plan :
             {"dp=2 ep=2", "dp=4 ep=2", "dp=4 ep=4 zero=1", "dp=2 tp=2 ep=2", "dp=2 ep=2 recompute=full"})
            row(Net::Experts, plan);
        for (const char* plan : {"dp=2", "dp=2 ps=sync servers=1", "dp=1 ps=async servers=2"}) row(Net::Clicks, plan);
    }
    void likeRanksThatShareAGpu()
    {
        QFETCH(bool, real);
        QFETCH(int, net);
        QFETCH(QByteArray, plan);
        const RunSpec spec = specOf(static_cast<Net>(net), plan.constData(), 3, Precision::F32, 4);
        const int servers = spec.plan.parameterServer == ParameterServer::None ? 0 : spec.plan.servers;
        if (!choose(real, spec.plan.worldSize() + servers)) return;
        const auto shared = train(spec, DeviceKind::Cuda),
                   apart = train(spec, DeviceKind::Cuda, nullptr, {}, withNccl());
        QVERIFY2(shared.ok(), shared.ok() ? "" : shared.error().message().c_str());
        QVERIFY2(apart.ok(), apart.ok() ? "" : apart.error().message().c_str());
        QCOMPARE(apart->steps.size(), shared->steps.size());
        for (std::size_t i = 0; i < shared->steps.size(); ++i) {
            // Sums over ranks are taken in another order; training amplifies what differs.
            QVERIFY2(std::abs(apart->steps[i].loss - shared->steps[i].loss) < 2e-5 * shared->steps[i].loss,
                     qPrintable(QString("loss of step %1: %2 against %3")
                                    .arg(i)
                                    .arg(apart->steps[i].loss, 0, 'g', 9)
                                    .arg(shared->steps[i].loss, 0, 'g', 9)));
            QVERIFY(std::abs(apart->steps[i].gradientNorm - shared->steps[i].gradientNorm) <
                    1e-3 * shared->steps[i].gradientNorm);
        }
    }

    void bf16()
    {
        choose(false, 4);
        const RunSpec spec = specOf(Net::Decoder, "dp=2 tp=2 sp=1 zero=1", 4, Precision::Bf16);
        const auto shared = train(spec, DeviceKind::Cuda),
                   apart = train(spec, DeviceKind::Cuda, nullptr, {}, withNccl());
        QVERIFY(shared.ok() && apart.ok());
        for (std::size_t i = 0; i < 4; ++i) // activations are rounded to 8 bits
            QVERIFY(std::abs(apart->steps[i].loss - shared->steps[i].loss) < 5e-3 * shared->steps[i].loss);
    }

    // The same operations with the same payloads as between ranks that share a GPU, NCCL's bytes by the convention, and
    // times that fit together.
    void recordsItself_data()
    {
        QTest::addColumn<bool>("real");
        QTest::addColumn<QByteArray>("plan");
        for (const char* plan : {"dp=2", "dp=2 zero=3", "tp=2 sp=1", "dp=2 tp=2 overlap=0", "pp=2 microbatches=4",
                                 "dp=2 pp=2 zero=1 microbatches=2"})
            for (const bool real : {false, true})
                QTest::addRow("%s: %s", real ? "GPUs" : "processor", plan) << real << QByteArray(plan);
    }
    void recordsItself()
    {
        QFETCH(bool, real);
        QFETCH(QByteArray, plan);
        const RunSpec spec = specOf(Net::Decoder, plan.constData(), 3);
        if (!choose(real, spec.plan.worldSize())) return;
        const auto shared = record(spec, {}), apart = record(spec, withNccl());
        QVERIFY2(shared.ok(), shared.ok() ? "" : shared.error().message().c_str());
        QVERIFY2(apart.ok(), apart.ok() ? "" : apart.error().message().c_str());
        for (const auto& audit : apart->query->info().audit)
            QVERIFY2(audit.severity == AuditSeverity::Info, audit.name.c_str());

        using Kind = std::tuple<std::string, CollectiveOp, RankId, std::int64_t>; // group, operation, rank, payload
        const auto countsOf = [](const Recording& recording) {
            std::map<Kind, int> counts;
            for (const CollectiveView& view : recording.collectives)
                ++counts[{recording.group(view.record.group).name, view.record.operation, view.rank,
                          view.record.payloadBytes.value()}];
            return counts;
        };
        QVERIFY(!shared->collectives.empty());
        QVERIFY(countsOf(*apart) == countsOf(*shared));
        for (const auto& group : apart->query->info().groups)
            QCOMPARE(group.transport, std::string(group.name == "pp" ? "local" : "nccl"));
        QVERIFY(apart->report.closing.traffic.empty()); // who sent what to whom, NCCL does not say

        std::map<RankId, std::vector<TimeRange>> steps;
        for (const auto& rank : apart->query->info().header.ranks) {
            const auto all = apart->query->steps(rank.rank);
            QVERIFY(all.ok());
            for (const auto& step : *all) steps[rank.rank].push_back(step.record.range);
        }
        std::map<std::pair<GroupId, std::int64_t>, std::vector<CollectiveView>> operations;
        for (const CollectiveView& view : apart->collectives) {
            const CollectiveRecord& r = view.record;
            QVERIFY(r.start <= r.lastArrival && r.lastArrival <= r.end);
            // The two clocks of each GPU are set against the host's by themselves.
            const Duration slack{5'000'000};
            QVERIFY(std::ranges::any_of(steps[view.rank], [&](const TimeRange& step) {
                return step.begin.ns - slack.ns <= r.start.ns && r.end.ns <= step.end.ns + slack.ns;
            }));
            if (isMessage(r)) continue;
            operations[{r.group, r.sequence}].push_back(view);
            QVERIFY(r.algorithm.empty()); // NCCL does not say
            const auto n = static_cast<double>(apart->group(r.group).ranks.size());
            const double share = r.operation == CollectiveOp::AllReduce ? 2 * (n - 1) / n : (n - 1) / n;
            // What does not divide by the members is a few elements more or less.
            QVERIFY(std::abs(static_cast<double>(r.wireBytes.value()) -
                             share * static_cast<double>(r.payloadBytes.value())) <= 16);
        }
        QVERIFY(!operations.empty());
        for (const auto& [key, members] : operations) {
            QCOMPARE(members.size(), apart->group(key.first).ranks.size());
            Instant latest = members.front().record.start;
            for (const auto& member : members) latest = std::max(latest, member.record.start);
            for (const auto& member : members) QCOMPARE(member.record.lastArrival, std::min(latest, member.record.end));
        }
    }

    // With one GPU a communicator of one is opened, so that the library is tried.
    void oneRank_data()
    {
        QTest::addColumn<bool>("real");
        QTest::newRow("processor") << false;
        QTest::newRow("GPU") << true;
    }
    void oneRank()
    {
        QFETCH(bool, real);
        if (!choose(real, 1)) return;
        const RunSpec spec = specOf(Net::Decoder, "", 3);
        const auto without = train(spec, DeviceKind::Cuda);
        qputenv("NVIDIA_TF32_OVERRIDE", "0"); // what the libraries obey behind our back is told
        const auto with = record(spec, withNccl());
        qunsetenv("NVIDIA_TF32_OVERRIDE");
        QVERIFY(without.ok());
        QVERIFY2(with.ok(), with.ok() ? "" : with.error().message().c_str());
        QCOMPARE(with->report.steps.back().loss, without->steps.back().loss);
        QVERIFY(with->collectives.empty());
        bool told = false, forced = false;
        const auto events = with->query->events(kAlways, 1000, std::nullopt);
        QVERIFY(events.ok());
        for (const auto& event : *events) {
            told = told || event.text.starts_with("NCCL 2.");
            forced = forced || event.text == "NVIDIA_TF32_OVERRIDE=0";
        }
        QVERIFY(told);
        QVERIFY(forced);
    }
};

FOURWALLS_TEST(GpuNccl, QCoreApplication)

} // namespace tst_gpu_nccl

#include "tst_gpu_nccl.moc"
