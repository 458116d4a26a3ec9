// SPDX-License-Identifier: Apache-2.0
// The communicator between threads: every operation, algorithm, element type and group size against sums made by
// hand; order, overlap, and what happens when a rank fails.
#include <QtTest>

#include "model/spec/collective_algorithm.h"
#include "profiler/engine/core/engine_error.h"
#include "profiler/engine/train/rank_world.h"
#include "tests/support/test_program.h"

#ifndef Q_MOC_RUN
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#endif

namespace tst_communicator {

using namespace fourwalls;
using namespace fourwalls::engine;

namespace {

constexpr NumberFormat kF32{DType::F32, DType::F32};

Tensor make(RankContext& rank, std::int64_t elements, DType type = DType::F32)
{
    return Tensor::make(rank.allocator, {elements}, type, MemoryCategory::Other);
}

// Small whole numbers: every sum is exact in every type.
double value(int rank, std::int64_t i)
{
    return static_cast<double>((rank * 7 + i * 3) % 11) - 5;
}

Tensor filled(RankContext& rank, std::int64_t elements, DType type, int seed)
{
    const Tensor t = make(rank, elements, type);
    for (std::int64_t i = 0; i < elements; ++i) setElement(t, i, value(seed, i));
    return t;
}

// Collects what went wrong on any rank: Qt's own checks belong to the main thread.
class Verdict {
public:
    void check(bool holds, const std::string& what)
    {
        if (holds) return;
        const std::lock_guard lock(m_mutex);
        if (m_text.empty()) m_text = what;
    }
    std::string text() const { return m_text; }

private:
    std::mutex m_mutex;
    std::string m_text;
};

ParallelPlan dataParallel(int ranks, CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct)
{
    ParallelPlan plan;
    plan.dp = ranks;
    plan.collective = algorithm;
    return plan;
}

void require(const Status& status)
{
    if (!status.ok()) QFAIL(status.error().message().c_str());
}

} // namespace

class CommunicatorTest : public QObject {
    Q_OBJECT

private slots:
    void hopsSendWhatTheFormulaSays();
    void collectives_data();
    void collectives();
    void unevenAllToAll();
    void lettersKeepTheirOrder();
    void startedOperationsRunBeside();
    void groupsFollowTheLayout();
    void failureReachesEverybody();
    void disagreementIsFound();
    void manyRounds();
};

void CommunicatorTest::hopsSendWhatTheFormulaSays()
{
    using enum CollectiveAlgorithm;
    using enum CollectiveKind;
    for (const auto kind : {AllReduce, ReduceScatter, AllGather, Broadcast})
        for (const auto algorithm : {Ring, Tree, Direct, Hierarchical})
            for (int members = 2; members <= 12; ++members)
                for (const int perNode : {0, 2, 3, 4})
                    for (const std::int64_t elements : {1, 5, 24, 1000}) {
                        const CollectiveShape shape{kind, members, elements, members / 2, perNode};
                        std::vector<std::int64_t> sent(static_cast<std::size_t>(members), 0);
                        for (const CollectiveHop& hop : collectiveHops(shape, algorithm)) {
                            QVERIFY(hop.from != hop.to && hop.count > 0 && hop.first + hop.count <= elements);
                            sent[static_cast<std::size_t>(hop.from)] += hop.count;
                        }
                        for (int member = 0; member < members; ++member)
                            QCOMPARE(sent[static_cast<std::size_t>(member)], elementsSent(shape, algorithm, member));
                    }
    // The textbook values where the buffer divides.
    QCOMPARE(elementsSent({AllReduce, 8, 800, 0, 0}, Ring, 3), std::int64_t{2 * 7 * 100});
    QCOMPARE(elementsSent({AllReduce, 8, 800, 0, 0}, Direct, 3), std::int64_t{2 * 7 * 100});
    QCOMPARE(elementsSent({AllGather, 8, 800, 0, 0}, Ring, 3), std::int64_t{7 * 100});
    QCOMPARE(elementsSent({AllReduce, 8, 800, 0, 0}, Tree, 0), std::int64_t{3 * 800});
}

void CommunicatorTest::collectives_data()
{
    QTest::addColumn<int>("ranks");
    QTest::addColumn<int>("algorithm");
    QTest::addColumn<int>("perNode");
    using enum CollectiveAlgorithm;
    for (const int ranks : {1, 2, 3, 4, 8})
        for (const auto algorithm : {Auto, Ring, Tree, Direct})
            QTest::addRow("%d ranks, algorithm %d", ranks, static_cast<int>(algorithm))
                << ranks << static_cast<int>(algorithm) << 0;
    QTest::addRow("2 nodes of 2") << 4 << static_cast<int>(Hierarchical) << 2;
    QTest::addRow("2 nodes of 4") << 8 << static_cast<int>(Hierarchical) << 4;
    QTest::addRow("3 nodes of 2") << 6 << static_cast<int>(Hierarchical) << 2;
}

void CommunicatorTest::collectives()
{
    QFETCH(int, ranks);
    QFETCH(int, algorithm);
    QFETCH(int, perNode);
    Verdict verdict;
    WorldOptions options;
    options.plan = dataParallel(ranks, static_cast<CollectiveAlgorithm>(algorithm));
    options.format = kF32;
    options.ranksPerNode = perNode;
    const Status status = runRanks(options, [&](RankSlot& slot) -> Status {
        RankContext& rank = *slot.context;
        if (!rank.groups) return {};
        Communicator& group = *rank.groups->data;
        const int own = group.index(), n = group.size();
        for (const DType type : {DType::F32, DType::F64, DType::Bf16, DType::I32})
            for (const std::int64_t each : {1, 3, 1000}) {
                const std::int64_t total = each * n;
                const auto sum = [&](std::int64_t i) {
                    double s = 0;
                    for (int r = 0; r < n; ++r) s += value(r, i);
                    return s;
                };
                const std::string at = std::string(engine::name(type)) + " x " + std::to_string(each);
                Tensor buffer = filled(rank, total - 1, type, own); // does not divide
                group.allReduce(buffer, ReduceOp::Sum);
                for (std::int64_t i = 0; i < total - 1; ++i)
                    verdict.check(element(buffer, i) == sum(i), "sum of " + at);
                buffer = filled(rank, total, type, own);
                group.allReduce(buffer, ReduceOp::Max);
                for (std::int64_t i = 0; i < total; ++i) {
                    double most = value(0, i);
                    for (int r = 1; r < n; ++r) most = std::max(most, value(r, i));
                    verdict.check(element(buffer, i) == most, "maximum of " + at);
                }
                const Tensor in = filled(rank, total, type, own);
                const Tensor part = make(rank, each, type);
                group.reduceScatter(in, part);
                for (std::int64_t i = 0; i < each; ++i)
                    verdict.check(element(part, i) == sum(own * each + i), "reduce-scatter of " + at);
                const Tensor inPlace = filled(rank, total, type, own);
                group.reduceScatter(inPlace, inPlace.reshaped({n, each}).rowRange(own, 1).reshaped({each}));
                for (std::int64_t i = 0; i < each; ++i)
                    verdict.check(element(inPlace, own * each + i) == sum(own * each + i), "in-place scatter of " + at);
                const Tensor gathered = make(rank, total, type);
                group.allGather(part, gathered);
                for (std::int64_t i = 0; i < total; ++i)
                    verdict.check(element(gathered, i) == sum(i), "all-gather of " + at);
                const Tensor news = filled(rank, each, type, own);
                group.broadcast(news, n - 1);
                for (std::int64_t i = 0; i < each; ++i)
                    verdict.check(element(news, i) == value(n - 1, i), "broadcast of " + at);
                group.barrier();
            }
        return {};
    });
    require(status);
    QCOMPARE(verdict.text(), std::string());
}

void CommunicatorTest::unevenAllToAll()
{
    Verdict verdict;
    require(runRanks(dataParallel(4), kF32, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const int own = group.index();
        // Rank a sends a * b + (b odd) elements to b; nothing goes from 0 to 0 and 2.
        const auto count = [](int a, int b) { return std::int64_t{a} * b + b % 2; };
        std::vector<std::int64_t> out, in;
        for (int other = 0; other < 4; ++other) {
            out.push_back(count(own, other));
            in.push_back(count(other, own));
        }
        const Tensor send = filled(rank, std::accumulate(out.begin(), out.end(), std::int64_t{0}), DType::F32, own);
        const Tensor receive = make(rank, std::accumulate(in.begin(), in.end(), std::int64_t{0}));
        group.allToAll(send, out, receive, in);
        std::int64_t next = 0;
        for (int from = 0; from < 4; ++from) {
            std::int64_t first = 0;
            for (int to = 0; to < own; ++to) first += count(from, to);
            for (std::int64_t i = 0; i < count(from, own); ++i)
                verdict.check(element(receive, next++) == value(from, first + i), "element of the exchange");
        }
    }));
    QCOMPARE(verdict.text(), std::string());
}

void CommunicatorTest::lettersKeepTheirOrder()
{
    Verdict verdict;
    ParallelPlan plan;
    plan.pp = 3;
    require(runRanks(plan, kF32, [&](RankContext& rank) {
        Communicator& pipe = *rank.groups->pipeline;
        const int stage = pipe.index();
        for (int round = 0; round < 50; ++round) {
            const Tensor own = filled(rank, 100 + round, DType::F32, stage + round);
            CommRequest early;
            const Tensor in = make(rank, 100 + round);
            if (stage > 0 && round % 2 == 0) early = pipe.startReceive(in, stage - 1);
            if (stage < 2) pipe.send(own, stage + 1);
            for (std::int64_t i = 0; i < own.elements(); ++i) setElement(own, i, 99); // a copy has gone
            if (stage > 0 && round % 2 == 1) pipe.receive(in, stage - 1);
            early.wait();
            for (std::int64_t i = 0; stage > 0 && i < in.elements(); ++i)
                verdict.check(element(in, i) == value(stage - 1 + round, i), "message " + std::to_string(round));
        }
    }));
    QCOMPARE(verdict.text(), std::string());
}

void CommunicatorTest::startedOperationsRunBeside()
{
    Verdict verdict;
    require(runRanks(dataParallel(4, CollectiveAlgorithm::Ring), kF32, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        std::vector<Tensor> buffers, parts;
        std::vector<CommRequest> requests;
        for (int k = 0; k < 20; ++k) {
            buffers.push_back(filled(rank, 4000, DType::F32, group.index() + k));
            requests.push_back(group.startAllReduce(buffers.back(), ReduceOp::Sum));
        }
        // A blocking operation of the same group comes after them, one of another group runs beside them.
        const Tensor last = filled(rank, 8, DType::F32, group.index());
        group.allReduce(last, ReduceOp::Sum);
        const Tensor other = filled(rank, 8, DType::F32, group.index());
        rank.groups->gradient->allReduce(other, ReduceOp::Sum);
        verdict.check(element(last, 3) == element(other, 3), "two groups of the same ranks");
        for (int k = 0; k < 20; ++k) {
            requests[static_cast<std::size_t>(k)].wait();
            for (std::int64_t i = 0; i < 4000; ++i) {
                double sum = 0;
                for (int r = 0; r < 4; ++r) sum += value(r + k, i);
                verdict.check(element(buffers[static_cast<std::size_t>(k)], i) == sum, "started all-reduce");
            }
        }
        const Tensor whole = filled(rank, 4000, DType::F32, group.index()), part = make(rank, 1000);
        CommRequest scatter = group.startReduceScatter(whole, part);
        scatter.wait();
        const Tensor back = make(rank, 4000);
        group.startAllGather(part, back).wait();
        verdict.check(element(back, 1234) == value(0, 1234) + value(1, 1234) + value(2, 1234) + value(3, 1234),
                      "scatter and gather");
    }));
    QCOMPARE(verdict.text(), std::string());
}

void CommunicatorTest::groupsFollowTheLayout()
{
    Verdict verdict;
    ParallelPlan plan;
    plan.tp = 2;
    plan.dp = 2;
    plan.pp = 2;
    plan.ep = 2;
    require(runRanks(plan, kF32, [&](RankContext& rank) {
        const ParallelGroups& g = *rank.groups;
        const int own = rank.recorder.rank().value;
        verdict.check(g.world->size() == 8 && g.world->index() == own, "world");
        verdict.check(g.tensor->size() == 2 && g.tensor->index() == own % 2, "tensor");
        verdict.check(g.data->size() == 2 && g.data->index() == own / 2 % 2, "data");
        verdict.check(g.pipeline->size() == 2 && g.pipeline->index() == own / 4, "pipeline");
        verdict.check(g.context->size() == 1 && g.expert->size() == 2 && g.expertData->size() == 1, "others");
        verdict.check(g.embedding->size() == 2 && g.embedding->index() == own / 4, "embedding");
        const Tensor t = make(rank, 1);
        setElement(t, 0, own);
        g.pipeline->allReduce(t);
        verdict.check(element(t, 0) == 2 * (own % 4) + 4, "sum over the stages");
    }));
    QCOMPARE(verdict.text(), std::string());
}

void CommunicatorTest::failureReachesEverybody()
{
    for (const bool started : {false, true}) {
        std::atomic<int> told{0};
        const Status status = runRanks(dataParallel(4), kF32, [&](RankContext& rank) {
            const Tensor t = filled(rank, 1000, DType::F32, 0);
            if (rank.groups->data->index() == 2)
                throw EngineError(ErrorCode::InvalidArgument, "this rank has had enough", "here", "rest");
            try {
                if (started)
                    rank.groups->data->startAllReduce(t).wait();
                else
                    rank.groups->data->allReduce(t);
            } catch (const EngineError& error) {
                if (error.error().where == "rank 2") ++told;
                throw;
            }
        });
        QVERIFY(!status.ok());
        QCOMPARE(status.error().what, std::string("this rank has had enough"));
        QCOMPARE(status.error().where, std::string("rank 2, here"));
        QCOMPARE(told.load(), 3);
    }
}

void CommunicatorTest::disagreementIsFound()
{
    const Status status = runRanks(dataParallel(2), kF32, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        group.allReduce(filled(rank, group.index() == 0 ? 100 : 200, DType::F32, 0));
    });
    QVERIFY(!status.ok());
    QVERIFY2(status.error().what.find("disagree") != std::string::npos, status.error().what.c_str());
}

void CommunicatorTest::manyRounds()
{
    // Reuse of slots and board entries: far more operations than there are of either.
    Verdict verdict;
    require(runRanks(dataParallel(3, CollectiveAlgorithm::Ring), kF32, [&](RankContext& rank) {
        Communicator& group = *rank.groups->data;
        const Tensor t = make(rank, 7);
        for (int round = 0; round < 1000; ++round) {
            for (std::int64_t i = 0; i < 7; ++i) setElement(t, i, group.index() + round % 5);
            group.allReduce(t);
            verdict.check(element(t, 6) == 3 + 3 * (round % 5), "round " + std::to_string(round));
        }
    }));
    QCOMPARE(verdict.text(), std::string());
}

FOURWALLS_TEST(CommunicatorTest, QCoreApplication)

} // namespace tst_communicator

#include "tst_communicator.moc"
