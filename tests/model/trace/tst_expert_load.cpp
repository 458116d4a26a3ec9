// SPDX-License-Identifier: Apache-2.0
// Tokens of experts by layer, and what uneven loads cost, on a step worked out by hand.
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/expert_load.h"
#include "tests/model/trace/step_builder.h"
#include "tests/support/test_program.h"

#include <map>
#include <string>
#include <vector>

namespace tst_expert_load {

using namespace fourwalls;
using namespace fourwalls::test;

/// Two ranks with two experts each.
struct Mixture {
    Builder b;
    GroupId exchange;
    std::map<std::pair<int, int>, CounterId> counters;

    explicit Mixture(const char* group = "ep")
        : b(2)
        , exchange(b.trace.defineGroup({group, {RankId{0}, RankId{1}}, "local"}))
    {
        for (const int rank : {0, 1}) b.step(rank, 0, 0, 100);
    }

    /// Through a layer: the experts' tokens are counted at `start` + 2, their products take `products`.
    void pass(int rank, int layer, int microbatch, std::int64_t start, std::int64_t products,
              const std::map<int, double>& tokens)
    {
        op(rank, kExpertDispatch, Phase::Forward, layer, microbatch, start, start + 4);
        op(rank, kExpertProducts, Phase::Forward, layer, microbatch, start + 4, start + 4 + products);
        for (const auto& [expert, count] : tokens) {
            auto [counter, isNew] = counters.try_emplace({rank, expert});
            if (isNew)
                counter->second = b.trace.defineCounter(
                    {RankId{rank}, std::string(kExpertTokens) + std::to_string(expert), CounterUnit::None});
            b.producer->counter({counter->second, Instant{start + 2}, count});
        }
    }

    void op(int rank, std::string_view name, Phase phase, int layer, int microbatch, std::int64_t begin,
            std::int64_t end)
    {
        OpInfo info;
        info.name = std::string(name);
        info.phase = phase;
        info.layer = LayerIndex{layer};
        const TrackId track = b.trace.defineTrack({RankId{rank}, TrackKind::Operators, "operators", 2});
        b.producer->slice(
            {track, b.trace.defineOp(info), Instant{begin}, Duration{end - begin}, Microbatch{microbatch}, {}});
    }

    void exchanged(int rank, std::int64_t start, std::int64_t last, GroupId group)
    {
        CollectiveRecord record;
        record.track = b.wire(rank);
        record.start = Instant{start};
        record.lastArrival = Instant{last};
        record.end = Instant{last + 1};
        record.operation = CollectiveOp::AllToAll;
        record.group = group;
        b.producer->collective(record);
    }
};

class ExpertLoadTest : public QObject {
    Q_OBJECT

private slots:
    void tokensByLayerAndRank()
    {
        Mixture m;
        m.pass(0, 0, 0, 0, 10, {{0, 6}, {1, 2}});
        m.pass(1, 0, 0, 0, 4, {{2, 4}, {3, 0}});
        m.pass(0, 1, 0, 20, 5, {{0, 3}, {1, 3}});
        m.pass(1, 1, 0, 20, 5, {{2, 3}, {3, 3}});
        m.pass(0, 0, 1, 40, 6, {{0, 2}, {1, 2}});
        m.pass(1, 0, 1, 40, 10, {{2, 2}, {3, 6}});
        m.op(0, kExpertProducts, Phase::BackwardInput, 0, 0, 60, 68);
        m.op(1, kExpertProducts, Phase::BackwardInput, 0, 0, 60, 64);
        m.exchanged(1, 6, 14, m.exchange);
        m.exchanged(0, 14, 14, m.exchange);
        m.exchanged(0, 70, 75, m.b.world); // not of the experts
        InMemoryTraceQuery trace = m.b.finish();
        const ExpertLoad load = *expertLoad(trace, {});
        QCOMPARE(load.layers.size(), std::size_t{2});
        QCOMPARE(load.layers[0].layer, 0);
        QCOMPARE(load.layers[0].tokens, (std::vector<double>{8, 4, 6, 6}));
        QCOMPARE(load.layers[0].mostOverMean(), 8.0 * 4 / 24);
        QCOMPARE(load.layers[1].tokens, (std::vector<double>{3, 3, 3, 3}));
        QCOMPARE(load.layers[1].mostOverMean(), 1.0);
        QCOMPARE(load.mostOverMean(), 8.0 * 4 / 24);
        QCOMPARE(load.expertCount(), std::size_t{4});
        QVERIFY(load.exchanged);
        QCOMPARE(load.ranks.size(), std::size_t{2});
        QCOMPARE(load.ranks[0].tokens, 18.0);
        QCOMPARE(load.ranks[1].tokens, 18.0);
        QCOMPARE(load.ranks[0].experts, std::int64_t{2});
        QCOMPARE(load.ranks[0].products, Duration{10 + 5 + 6 + 8});
        QCOMPARE(load.ranks[1].products, Duration{4 + 5 + 10 + 4});
        QCOMPARE(load.ranks[0].waited, Duration{0});
        QCOMPARE(load.ranks[1].waited, Duration{8});
        // The busiest rank has 8 of 12, 6 of 12 and 8 of 12 tokens; the products take 14 + 12 (backward), 10 and 16.
        QCOMPARE(load.lost, Duration{7});
        // Passes of 12, 12 and 12 tokens over four experts: at most 3 each, so 3 + 1, 0, and 3 are too many.
        QCOMPARE(load.drops.front().factor, 1.0);
        QVERIFY(std::abs(load.drops.front().dropped - (4.0 + 0 + 3) / 36) < 1e-12);
        QVERIFY(std::abs(load.drops.back().dropped - 0.0) < 1e-12); // at most 6
    }

    void ranksOfATensorGroupSeeTheSameTokens()
    {
        Mixture m("tp");
        for (const int rank : {0, 1}) m.pass(rank, 3, 0, 0, 5, {{0, 7}, {1, 1}});
        InMemoryTraceQuery trace = m.b.finish();
        const ExpertLoad load = *expertLoad(trace, {});
        QCOMPARE(load.layers.size(), std::size_t{1});
        QCOMPARE(load.layers[0].layer, 3);
        QCOMPARE(load.layers[0].tokens, (std::vector<double>{7, 1}));
        QVERIFY(!load.exchanged);
        QCOMPARE(load.lost, Duration{});
        QCOMPARE(load.ranks[1].tokens, 8.0);
    }

    void replicasWithoutExchangeAreAddedUp()
    {
        Mixture m("dp_cp");
        m.pass(0, 0, 0, 0, 5, {{0, 4}, {1, 0}});
        m.pass(1, 0, 0, 0, 5, {{0, 0}, {1, 4}});
        InMemoryTraceQuery trace = m.b.finish();
        const ExpertLoad load = *expertLoad(trace, {});
        QCOMPARE(load.layers[0].tokens, (std::vector<double>{4, 4}));
        QCOMPARE(load.drops.front().dropped, 0.5); // each for itself is as uneven as can be
    }

    void whatIsNoMixture()
    {
        Builder b(1);
        b.step(0, 0, 0, 100);
        b.work(0, "gemm", Phase::Forward, 0, 50);
        for (const char* name :
             {"tokens of expert ", "tokens of expert x", "tokens of expert -1", "tokens of expert 9999999999999"})
            b.trace.defineCounter({RankId{0}, name, CounterUnit::None});
        InMemoryTraceQuery trace = b.finish();
        const ExpertLoad load = *expertLoad(trace, {});
        QVERIFY(load.layers.empty() && load.ranks.empty() && load.drops.empty());
        QCOMPARE(load.mostOverMean(), 0.0);
    }
};

FOURWALLS_TEST(ExpertLoadTest, QCoreApplication)

} // namespace tst_expert_load

#include "tst_expert_load.moc"
