// SPDX-License-Identifier: Apache-2.0
// Why the search chose each part of its best plan: what stands beside it is the best of all plans with another value, and
// agrees with the list of plans.
#include <QtTest>

#include "model/cost/plan_reasons.h"
#include "model/cost/predicted_step.h"
#include "tests/model/cost/searched_run.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tst_plan_reasons {

using namespace fourwalls;
using namespace fourwalls::cost;
using namespace fourwalls::cost::testing;

class PlanReasonsTest : public QObject {
    Q_OBJECT

private slots:
    void reasons_data();
    void reasons();
    void reasonsAgreeWithTheList_data();
    void reasonsAgreeWithTheList();
};

void PlanReasonsTest::reasons_data()
{
    QTest::addColumn<int>("objective");
    QTest::newRow("time") << static_cast<int>(SearchObjective::Time);
    QTest::newRow("memory") << static_cast<int>(SearchObjective::Memory);
    QTest::newRow("cost") << static_cast<int>(SearchObjective::Cost);
    QTest::newRow("energy") << static_cast<int>(SearchObjective::Energy);
}

/// What stands beside the best plan is the best of all plans with that value, found here by looking at each of them.
void PlanReasonsTest::reasons()
{
    QFETCH(int, objective);
    const RunSpec spec = specOf("llama3-70b", "dgx-h100", 64);
    SearchOptions options;
    options.devices = 32;
    options.objective = static_cast<SearchObjective>(objective);
    options.keepAll = true;
    options.explains = true;
    const auto found = search(spec, options);
    QVERIFY(found.ok() && found->best.front().feasible);
    const SearchedPlan& best = found->best.front();
    const auto less = [&](const SearchedPlan& a, const SearchedPlan& b) {
        if (a.feasible != b.feasible) return a.feasible;
        return a.feasible ? valueOf(a, options.objective) < valueOf(b, options.objective) : a.peakBytes < b.peakBytes;
    };
    std::map<std::string, const SearchedPlan*> expected; // by "tp=4"
    for (const PlanPart& part : searchedParts()) {
        const int own = part.valueOf(best.plan);
        std::map<int, const SearchedPlan*> byValue;
        for (const SearchedPlan& plan : found->all) {
            const SearchedPlan*& kept = byValue[part.valueOf(plan.plan)];
            if (!kept || less(plan, *kept)) kept = &plan;
        }
        for (const auto& [value, plan] : byValue) {
            const auto isBetween = [&, v = value](const auto& other) {
                return std::min(own, v) < other.first && other.first < std::max(own, v);
            };
            if (value == own || (part.isOrdered && std::any_of(byValue.begin(), byValue.end(), isBetween))) continue;
            expected[std::string(part.key) + '=' + part.wordOf(plan->plan)] = plan;
        }
    }
    QVERIFY(expected.size() > 5);
    const std::vector<PlanReason>& reasons = found->reasons;
    QCOMPARE(reasons.size(), expected.size());
    for (const PlanReason& reason : reasons) {
        const auto at = expected.find(reason.key + '=' + reason.instead);
        QVERIFY2(at != expected.end(), reason.key.c_str());
        const auto same = std::find_if(found->all.begin(), found->all.end(), [&reason](const SearchedPlan& plan) {
            return formatPlan(plan.plan) == formatPlan(reason.plan);
        });
        QVERIFY(same != found->all.end());
        RunSpec other = spec;
        other.plan = reason.plan;
        const auto predicted = predictStep(other);
        QVERIFY(predicted.ok());
        QCOMPARE(reason.seconds, predicted->seconds);
        QCOMPARE(reason.feasible, predicted->feasible);
        // The best by closed form, or one that the simulation likes as much.
        other.plan = at->second->plan;
        const auto expectedStep = predictStep(other);
        QVERIFY(expectedStep.ok());
        QVERIFY(!less(
            {other.plan, expectedStep->seconds, expectedStep->peakBytes, expectedStep->feasible, expectedStep->joules},
            {reason.plan, reason.seconds, reason.peakBytes, reason.feasible, predicted->joules}));
        const double change =
            valueOf({reason.plan, reason.seconds, reason.peakBytes, true, predicted->joules}, options.objective) /
                valueOf(best, options.objective) -
            1;
        QVERIFY(std::abs(reason.change - change) < 1e-9);
        QVERIFY(reason.sentence.find(reason.feasible ? "at best with" : "does not fit") != std::string::npos);
    }
}

void PlanReasonsTest::reasonsAgreeWithTheList_data()
{
    QTest::addColumn<QString>("framework");
    for (const char* name : {"zero-bubble", "fourwalls", "torchtitan", "fsdp"}) QTest::newRow(name) << name;
}

/// What is said of another value is no worse than a plan of the list that has it.
void PlanReasonsTest::reasonsAgreeWithTheList()
{
    QFETCH(QString, framework);
    for (const auto& [model, devices, batch] :
         {std::tuple{"llama2-7b", 16, 32}, {"llama2-7b", 8, 16}, {"llama3-70b", 32, 64}, {"gpt2-124m", 8, 24}}) {
        RunSpec spec = specOf(model, "dgx-h100", batch);
        spec.framework = framework.toStdString();
        SearchOptions options;
        options.devices = devices;
        options.limit = 60;
        options.explains = true;
        const auto found = search(spec, options);
        QVERIFY(found.ok());
        for (const PlanReason& reason : found->reasons)
            for (const SearchedPlan& plan : found->best)
                for (const PlanPart& part : searchedParts()) {
                    if (reason.key != part.key || part.valueOf(plan.plan) != part.valueOf(reason.plan)) continue;
                    QVERIFY2(!plan.feasible || (reason.feasible && reason.seconds <= plan.seconds * (1 + 1e-9)),
                             (reason.key + '=' + reason.instead + ": " + reason.sentence + "; but " +
                              formatPlan(plan.plan) + ' ' + std::to_string(plan.seconds))
                                 .c_str());
                }
    }
}

FOURWALLS_TEST(PlanReasonsTest, QCoreApplication)

} // namespace tst_plan_reasons

#include "tst_plan_reasons.moc"
