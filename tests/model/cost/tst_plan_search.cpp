// SPDX-License-Identifier: Apache-2.0
// The search over plans: what it finds is sound, repeatable and the best of what it priced.
#include <QtTest>

#include "model/cost/predicted_step.h"
#include "tests/model/cost/searched_run.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace tst_plan_search {

using namespace fourwalls;
using namespace fourwalls::cost;
using namespace fourwalls::cost::testing;

class PlanSearchTest : public QObject {
    Q_OBJECT

private slots:
    void bestOfAll();
    void sameWhateverTheThreads();
    void agreesWithPredict();
    void objectives();
    void nothingFitsIsSaid();
    void stops();
    void refuses_data();
    void refuses();
};

void PlanSearchTest::bestOfAll()
{
    const RunSpec spec = specOf("llama2-7b", "dgx-a100", 64);
    SearchOptions options;
    options.devices = 16;
    options.limit = 5;
    options.keepAll = true;
    const auto found = search(spec, options);
    QVERIFY2(found.ok(), found.ok() ? "" : found.error().message().c_str());
    QCOMPARE(found->best.size(), std::size_t(5));
    QCOMPARE(found->counts.evaluated, std::int64_t(found->all.size()));
    QVERIFY(found->counts.considered >= found->counts.evaluated);
    QVERIFY(found->counts.evaluated >= found->counts.feasible);
    QVERIFY(found->counts.feasible > 0);
    double quickest = 1e300;
    for (const SearchedPlan& plan : found->all) {
        QVERIFY(std::isfinite(plan.seconds) && plan.seconds > 0);
        QCOMPARE(plan.plan.worldSize(), 16);
        QCOMPARE(spec.training.batch % (plan.plan.dp * plan.plan.microbatches), std::int64_t(0));
        if (plan.feasible) quickest = std::min(quickest, plan.seconds);
    }
    // The simulated time of the winner is near the closed form's best.
    QVERIFY(std::abs(found->best.front().seconds / quickest - 1) < 0.1);
    for (std::size_t i = 1; i < found->best.size(); ++i)
        QVERIFY(found->best[i].seconds >= found->best[i - 1].seconds || !found->best[i].feasible);
}

void PlanSearchTest::sameWhateverTheThreads()
{
    const RunSpec spec = specOf("gpt2-124m", "dgx-a100", 32);
    std::vector<std::string> plans[2];
    for (const int threads : {1, 3}) {
        SearchOptions options;
        options.devices = 8;
        options.threads = threads;
        const auto found = search(spec, options);
        QVERIFY(found.ok());
        for (const SearchedPlan& plan : found->best) plans[threads == 1 ? 0 : 1].push_back(formatPlan(plan.plan));
    }
    QVERIFY(plans[0] == plans[1]);
    QVERIFY(std::set<std::string>(plans[0].begin(), plans[0].end()).size() == plans[0].size());
}

void PlanSearchTest::agreesWithPredict()
{
    RunSpec spec = specOf("llama2-7b", "dgx-h100", 64);
    SearchOptions options;
    options.devices = 8;
    options.limit = 3;
    const auto found = search(spec, options);
    QVERIFY(found.ok());
    for (const SearchedPlan& plan : found->best) {
        spec.plan = plan.plan;
        const auto predicted = predictStep(spec);
        QVERIFY2(predicted.ok(), predicted.ok() ? "" : predicted.error().message().c_str());
        QCOMPARE(predicted->seconds, plan.seconds);
        QCOMPARE(predicted->peakBytes, plan.peakBytes);
        QCOMPARE(predicted->feasible, plan.feasible);
    }
}

void PlanSearchTest::objectives()
{
    RunSpec spec = specOf("gpt2-124m", "dgx-a100", 32);
    spec.framework = "fourwalls"; // with every ZeRO stage
    SearchOptions options;
    options.devices = 8;
    options.limit = 50;
    const std::vector<SearchedPlan> plans = search(spec, options)->best;
    int equallyQuick = 0, ofLessMemory = 0;
    for (std::size_t i = 1; i < plans.size(); ++i) {
        if (plans[i - 1].seconds != plans[i].seconds) continue;
        QVERIFY(plans[i - 1].peakBytes <= plans[i].peakBytes);
        ++equallyQuick;
        ofLessMemory += plans[i - 1].peakBytes < plans[i].peakBytes;
    }
    QVERIFY2(ofLessMemory > 0, qPrintable(QString::number(equallyQuick)));
    options.limit = 1;
    const double quickest = search(spec, options)->best.front().seconds;
    options.objective = SearchObjective::Memory;
    const auto smallest = search(spec, options);
    QVERIFY(smallest->best.front().seconds >= quickest);
    options.objective = SearchObjective::Cost;
    const SearchedPlan cheapest = search(spec, options)->best.front();
    QVERIFY(cheapest.seconds * cheapest.plan.worldSize() <= quickest * 8 * 1.0001);
    options.objective = SearchObjective::Energy;
    options.keepAll = true;
    const auto leanest = search(spec, options);
    const SearchedPlan& lean = leanest->best.front();
    RunSpec same = spec;
    same.plan = lean.plan;
    QVERIFY(lean.joules > 0);
    QCOMPARE(predictStep(same)->joules, lean.joules);
    for (const SearchedPlan& each : leanest->all) // in closed form, a little off what is simulated
        QVERIFY(!each.feasible || each.joules > 0.95 * lean.joules);
    spec.cluster.device.powerWatts = 0;
    const auto refused = search(spec, options);
    QVERIFY(!refused.ok() && refused.error().code == ErrorCode::Unsupported);
}

void PlanSearchTest::nothingFitsIsSaid()
{
    SearchOptions options;
    options.devices = 1;
    const auto found = search(specOf("llama2-7b", "rtx4090", 1), options);
    QVERIFY(found.ok());
    QCOMPARE(found->counts.feasible, std::int64_t(0));
    for (const SearchedPlan& plan : found->best) QVERIFY(!plan.feasible);
}

void PlanSearchTest::stops()
{
    SearchOptions options;
    options.devices = 64;
    options.mostPlans = 100;
    options.threads = 1;
    const auto found = search(specOf("llama2-7b", "dgx-a100", 64), options);
    QVERIFY(found.ok());
    QVERIFY(found->stopped);
    QCOMPARE(found->counts.evaluated, std::int64_t(100));
}

void PlanSearchTest::refuses_data()
{
    QTest::addColumn<int>("devices");
    QTest::addColumn<int>("limit");
    QTest::addColumn<qlonglong>("batch");
    QTest::addColumn<QString>("field");
    QTest::newRow("no devices") << 0 << 1 << 8LL << "gpus";
    QTest::newRow("fewer than none") << -4 << 1 << 8LL << "gpus";
    QTest::newRow("too many") << 2'000'000'000 << 1 << 8LL << "gpus";
    QTest::newRow("no plans") << 8 << 0 << 8LL << "limit";
    QTest::newRow("no batch") << 8 << 1 << 0LL << "batch";
}

void PlanSearchTest::refuses()
{
    QFETCH(int, devices);
    QFETCH(int, limit);
    QFETCH(qlonglong, batch);
    QFETCH(QString, field);
    SearchOptions options;
    options.devices = devices;
    options.limit = limit;
    const auto found = search(specOf("gpt2-124m", "dgx-a100", batch), options);
    QVERIFY(!found.ok());
    QCOMPARE(QString::fromStdString(found.error().where), field);
}

FOURWALLS_TEST(PlanSearchTest, QCoreApplication)

} // namespace tst_plan_search

#include "tst_plan_search.moc"
