// SPDX-License-Identifier: Apache-2.0
// The robust choice: regrets by hand, and of a real search with loops of their own.
#include <QTest>

#include "model/cost/cost_model.h"
#include "model/cost/plan_search.h"
#include "model/cost/robust_choice.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tst_robust_choice {

using namespace fourwalls;
using namespace fourwalls::cost;

class RobustChoiceTest : public QObject {
    Q_OBJECT

private slots:
    void byHand();
    void sharesOfParts();
    void ofASearch_data();
    void ofASearch();
    void onlyOfTime();
};

namespace {

/// Nothing is uncertain but communication.
Calibration uncertainLinks(double low, double high)
{
    Calibration calibration = *loadCalibration("published");
    calibration.computeLow = calibration.computeHigh = calibration.memoryLow = calibration.memoryHigh = 1;
    calibration.communicationLow = low;
    calibration.communicationHigh = high;
    return calibration;
}

RunSpec jobOf(const char* model, const char* cluster, std::int64_t batch)
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.cluster = *loadCluster(cluster);
    spec.framework = "megatron-core";
    spec.training.batch = batch;
    spec.training.sequence = spec.model.transformer()->sequence;
    spec.training.precision = Precision::Bf16;
    return spec;
}

} // namespace

/// One plan only computes, the other is quicker and mostly sends.
void RobustChoiceTest::byHand()
{
    const std::vector<UncertainPlan> plans{{10, {1, 0, 0}}, {9, {1.0 / 3, 0, 2.0 / 3}}};
    // Links at 0.9: 10 against 3 + 5.4; as believed: 10 against 9; at 2: 10 against 3 + 12.
    const std::vector<double> regrets = expectedRegrets(plans, uncertainLinks(0.9, 2));
    QVERIFY(std::abs(regrets[0] - (10 / 8.4 - 1 + 10.0 / 9 - 1 + 0) / 3) < 1e-12);
    QVERIFY(std::abs(regrets[1] - (0 + 0 + 0.5) / 3) < 1e-12);
    QVERIFY(regrets[0] < regrets[1]); // the slower one is robust
    // What slows all alike costs none of them.
    Calibration slow = uncertainLinks(1, 1);
    slow.computeLow = 0.5;
    slow.computeHigh = 2;
    const std::vector<UncertainPlan> alike{{10, {1, 0, 0}}, {11, {1, 0, 0}}};
    const std::vector<double> same = expectedRegrets(alike, slow);
    QVERIFY(same[0] == 0 && std::abs(same[1] - 0.1) < 1e-12);
    QVERIFY(expectedRegrets({}, slow).empty());
}

void RobustChoiceTest::sharesOfParts()
{
    PartSeconds parts;
    parts[CostPart::Gemm] = 2;
    parts[CostPart::Attention] = 1;
    parts[CostPart::MemoryBound] = 1;
    parts[CostPart::Optimizer] = 1;
    parts[CostPart::TensorComm] = 2;
    parts[CostPart::Copy] = 1;
    const auto shares = rateShares(parts);
    QCOMPARE(shares[0], 3.0 / 8);
    QCOMPARE(shares[1], 2.0 / 8);
    QCOMPARE(shares[2], 3.0 / 8);
    QCOMPARE(rateShares({})[0], 0.0);
}

void RobustChoiceTest::ofASearch_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("cluster");
    QTest::addColumn<int>("devices");
    QTest::addColumn<double>("high");
    QTest::addColumn<bool>("first");   // the robust plan is asked for as the first one
    QTest::addColumn<bool>("differs"); // from the plan that is best as believed
    QTest::newRow("nothing is uncertain") << "llama2-7b"
                                          << "dgx-h100" << 16 << 1.0 << false << false;
    QTest::newRow("usual band") << "gpt3-13b"
                                << "dgx-a100" << 16 << 1.3 << false << false;
    QTest::newRow("usual band, experts") << "mixtral-8x7b"
                                         << "dgx-h100" << 16 << 1.3 << false << false;
    QTest::newRow("much slower links") << "llama2-7b"
                                       << "dgx-h100" << 16 << 8.0 << false << true;
    QTest::newRow("robust first") << "llama2-7b"
                                  << "dgx-h100" << 16 << 8.0 << true << true;
}

/// All plans of a small job are returned: which of them is robust is worked out here.
void RobustChoiceTest::ofASearch()
{
    QFETCH(QString, model);
    QFETCH(QString, cluster);
    QFETCH(int, devices);
    QFETCH(double, high);
    QFETCH(bool, first);
    QFETCH(bool, differs);
    const RunSpec spec = jobOf(model.toUtf8().constData(), cluster.toUtf8().constData(), 16);
    const Calibration calibration = uncertainLinks(1 / high, high);
    const FrameworkPreset framework = *loadFramework(spec.framework);
    SearchOptions options;
    options.devices = devices;
    options.limit = 5000;
    options.robust = first;
    const auto found = searchPlans(spec, framework, calibration, options);
    QVERIFY(found.ok() && found->best.size() < 5000 && found->robust);
    CostModel costs = *CostModel::create(spec, framework, calibration);
    struct Plan {
        const SearchedPlan* plan;
        double fixed, sent; ///< seconds that links do not change, and those that they do
    };
    std::vector<Plan> plans;
    for (const SearchedPlan& each : found->best) {
        if (!each.feasible) continue;
        const PartSeconds parts = closedForm(costs, each.plan, spec.training.batch)->parts;
        double sent = 0;
        for (const CostPart part :
             {CostPart::TensorComm, CostPart::ContextComm, CostPart::ExpertComm, CostPart::ParameterComm,
              CostPart::GradientComm, CostPart::PipelineComm, CostPart::Copy, CostPart::Contention})
            sent += parts[part];
        const double share = sent / parts.total();
        plans.push_back({&each, each.seconds * (1 - share), each.seconds * share});
    }
    std::vector<double> regrets(plans.size());
    for (const double links : {1 / high, 1.0, high}) {
        double least = 1e300;
        for (const Plan& each : plans) least = std::min(least, each.fixed + links * each.sent);
        for (std::size_t i = 0; i < plans.size(); ++i)
            regrets[i] += ((plans[i].fixed + links * plans[i].sent) / least - 1) / 3;
    }
    const auto robust = static_cast<std::size_t>(std::min_element(regrets.begin(), regrets.end()) - regrets.begin());
    const auto quickest = std::min_element(
        plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.plan->seconds < b.plan->seconds; });
    const RobustChoice& choice = *found->robust;
    QVERIFY(std::abs(choice.regret - regrets[robust]) < 1e-9);
    QVERIFY(std::abs(choice.regretOfBest - regrets[static_cast<std::size_t>(quickest - plans.begin())]) < 1e-9);
    QVERIFY(std::abs(choice.change - (choice.plan.seconds / quickest->plan->seconds - 1)) < 1e-9);
    QCOMPARE(choice.isBest, choice.plan.seconds <= quickest->plan->seconds);
    QCOMPARE(!choice.isBest, differs);
    QCOMPARE(first && formatPlan(found->best.front().plan) != formatPlan(choice.plan.plan), false);
    QVERIFY(choice.sentence.find(choice.isBest ? "the best plan is also" : formatPlan(choice.plan.plan)) !=
            std::string::npos);
}

void RobustChoiceTest::onlyOfTime()
{
    const RunSpec spec = jobOf("gpt3-1.3b", "dgx-h100", 16);
    const FrameworkPreset framework = *loadFramework(spec.framework);
    const Calibration calibration = *loadCalibration("published");
    SearchOptions options;
    options.devices = 2;
    for (const SearchObjective objective : {SearchObjective::Memory, SearchObjective::Energy}) {
        options.objective = objective;
        options.robust = false;
        QVERIFY(!searchPlans(spec, framework, calibration, options)->robust);
        options.robust = true;
        const auto refused = searchPlans(spec, framework, calibration, options);
        QVERIFY(!refused.ok() && refused.error().code == ErrorCode::InvalidArgument);
    }
}

FOURWALLS_TEST(RobustChoiceTest, QCoreApplication)

} // namespace tst_robust_choice

#include "tst_robust_choice.moc"
