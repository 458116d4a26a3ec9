// SPDX-License-Identifier: Apache-2.0
// Experts shared out over ranks: results, gradients and the auxiliary loss are those of one rank with all tokens.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "profiler/engine/nn/mixture.h"
#include "profiler/engine/train/rank_world.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#ifndef Q_MOC_RUN
#include <map>
#include <mutex>
#endif

namespace tst_expert_parallel {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr std::int64_t kTokensPerRank = 12, kHidden = 6;
constexpr NumberFormat kDouble{DType::F64, DType::F64};

TransformerSpec specOf(std::int64_t topK)
{
    TransformerSpec s;
    s.layers = 1;
    s.hidden = kHidden;
    s.activation = Activation::SwiGlu;
    s.biases = true;
    s.mixture.experts = 4;
    s.mixture.topK = topK;
    s.mixture.expertHidden = 5;
    return s;
}

Tensor slice(const RankContext& rank, std::uint64_t stream, std::int64_t firstToken, std::int64_t tokens)
{
    const Tensor t = Tensor::make(rank.allocator, {tokens, kHidden}, rank.format.compute, MemoryCategory::Other);
    const RandomStream random(5, stream);
    for (std::int64_t i = 0; i < t.elements(); ++i)
        setElement(t, i, 2.0 * random.uniform(static_cast<std::uint64_t>(firstToken * kHidden + i)) - 1.0);
    return t;
}

struct Outcome {
    std::vector<double> y, dx;
    std::map<std::string, std::vector<double>> gradients; // summed over the ranks that share a parameter
    double auxiliaryLoss = 0, margin = 1;
};

std::vector<double> valuesOf(const Tensor& t)
{
    std::vector<double> values;
    for (std::int64_t i = 0; i < t.elements(); ++i) values.push_back(element(t, i));
    return values;
}

Outcome run(const ParallelPlan& plan, const TransformerSpec& spec, MoeRouting routing, std::int64_t tokens)
{
    Outcome outcome;
    std::mutex mutex;
    const std::int64_t own = tokens / plan.dp;
    outcome.y.resize(static_cast<std::size_t>(tokens * kHidden));
    outcome.dx.resize(outcome.y.size());
    const Status status = runRanks(
        plan, kDouble,
        [&](RankContext& rank) {
            const std::int64_t index = rank.groups ? rank.groups->data->index() : 0;
            ParameterList list;
            MixtureOptions options;
            options.routing = routing;
            const MixtureOfExperts mixture(rank, list, spec, "m.", 3, 1.0, 1.0, options);
            const Tensor x = slice(rank, 1, index * own, own), residual = slice(rank, 2, index * own, own),
                         dy = slice(rank, 3, index * own, own);
            MixtureOfExperts::Saved saved;
            const Tensor y = mixture.forward(rank, x, residual, own / kTokensPerRank, saved);
            const double auxiliary = saved.auxiliaryLoss, margin = saved.margin;
            const Tensor dx = mixture.backward(rank, dy, saved);
            const std::lock_guard lock(mutex);
            if (rank.groups && rank.groups->tensor->index() > 0) return; // the same rows as the first of its group
            outcome.auxiliaryLoss = auxiliary;
            outcome.margin = std::min(outcome.margin, margin);
            const auto put = [&](std::vector<double>& all, const Tensor& part) {
                const std::vector<double> values = valuesOf(part);
                std::copy(values.begin(), values.end(), all.begin() + index * own * kHidden);
            };
            put(outcome.y, y);
            put(outcome.dx, dx);
            for (const auto& p : list.all()) {
                if (p->gradientEmpty) continue;
                std::vector<double>& sum = outcome.gradients[p->name];
                const std::vector<double> values = valuesOf(p->gradient);
                sum.resize(values.size());
                for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
            }
        },
        [](Recorder& recorder, Allocator& allocator) {
            return std::make_unique<ReferenceDevice>(recorder, allocator);
        });
    if (!status.ok()) qFatal("%s", status.error().message().c_str());
    return outcome;
}

double difference(const std::vector<double>& a, const std::vector<double>& b)
{
    if (a.size() != b.size()) return INFINITY;
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
    return worst;
}

} // namespace

class ExpertParallel : public QObject {
    Q_OBJECT

private slots:
    void equalsOneRank_data()
    {
        QTest::addColumn<int>("dp");
        QTest::addColumn<int>("ep");
        QTest::addColumn<int>("topK");
        QTest::addColumn<bool>("balanced");
        for (const auto& [dp, ep] : {std::pair{2, 1}, std::pair{2, 2}, std::pair{4, 2}, std::pair{4, 4}})
            for (const int k : {1, 2})
                for (const bool balanced : {false, true})
                    QTest::addRow("dp=%d ep=%d k=%d %s", dp, ep, k, balanced ? "balanced" : "natural")
                        << dp << ep << k << balanced;
    }

    void equalsOneRank()
    {
        QFETCH(int, dp);
        QFETCH(int, ep);
        QFETCH(int, topK);
        QFETCH(bool, balanced);
        const MoeRouting routing = balanced ? MoeRouting::Balanced : MoeRouting::Natural;
        ParallelPlan plan;
        plan.dp = dp;
        plan.ep = ep;
        const Outcome one = run(ParallelPlan{}, specOf(topK), routing, dp * kTokensPerRank);
        const Outcome many = run(plan, specOf(topK), routing, dp * kTokensPerRank);
        // Every token's distance between the last expert chosen and the first one rejected is far above rounding.
        if (!balanced) QVERIFY(one.margin > 1e-6);
        QVERIFY(difference(many.y, one.y) < 1e-13);
        QVERIFY(difference(many.dx, one.dx) < 1e-12);
        QVERIFY(std::abs(many.auxiliaryLoss - one.auxiliaryLoss) < 1e-14);
        QCOMPARE(many.gradients.size(), one.gradients.size());
        for (const auto& [name, gradient] : one.gradients)
            QVERIFY2(difference(many.gradients.at(name), gradient) < 1e-12, name.c_str());
    }
};

FOURWALLS_TEST(ExpertParallel, QCoreApplication)

} // namespace tst_expert_parallel

#include "tst_expert_parallel.moc"
