// SPDX-License-Identifier: Apache-2.0
// The verb that searches for plans: what it finds, why it finds none, its words for other frameworks, and its plans trained
// to verify it.
#include "tests/app/cli/program.h"
#include "tests/support/test_program.h"

#include <QJsonArray>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tst_cli_plan {

using namespace fourwalls::test;

class CliPlanTest : public QObject {
    Q_OBJECT

private slots:
    void planSearches();
    void planThatNothingFits();
    void planVerifies();
    void planSaysWhyThereIsNone();

private:
    QTemporaryDir m_folder;
};

void CliPlanTest::planSearches()
{
    const Answer answer = run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "16", "--batch", "32",
                               "--limit", "3", "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject found = answer.json();
    QCOMPARE(found["plans"].toArray().size(), 3);
    QVERIFY(found["considered"].toDouble() >= found["evaluated"].toDouble());
    QVERIFY(found["evaluated"].toDouble() >= found["feasible"].toDouble());
    const QJsonObject best = found["plans"].toArray().first().toObject();
    QVERIFY(best["feasible"].toBool());
    // What plan says is what predict says.
    const QJsonObject predicted = run({"predict", "--model", "llama2-7b", "--cluster", "dgx-h100", "--batch", "32",
                                       "--plan", best["plan"].toString(), "--json"})
                                      .json();
    QVERIFY(qAbs(predicted["step_time_ms"].toDouble() / best["step_time_ms"].toDouble() - 1) < 1e-5);
    QCOMPARE(run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "0"}).exitCode, 2);

    // Energy is the same in both verbs; the robust plan comes first where that is asked for, and is refused of memory.
    const QStringList mixture{"plan", "--model", "mixtral-8x7b", "--cluster", "dgx-h100", "--gpus",
                              "16",   "--batch", "16",           "--limit",   "1",        "--json"};
    const QJsonObject usual = run(mixture).json(), robust = usual["robust"].toObject();
    const QString said = robust["is_best"].toBool() ? "the best plan is also" : robust["plan"].toString();
    QVERIFY2(robust["sentence"].toString().contains(said), qPrintable(robust["sentence"].toString()));
    QVERIFY(robust["expected_regret_pct"].toDouble() <= robust["expected_regret_of_best_pct"].toDouble());
    QVERIFY(robust["expected_regret_of_best_pct"].toDouble() > 0);
    const QJsonObject first = run(mixture + QStringList{"--robust"}).json()["plans"].toArray().first().toObject();
    QCOMPARE(first["plan"], robust["plan"]);
    const QJsonObject lean =
        run(mixture + QStringList{"--objective", "energy"}).json()["plans"].toArray().first().toObject();
    QVERIFY(lean["energy_joules"].toDouble() <= first["energy_joules"].toDouble());
    const QJsonObject same = run({"predict", "--model", "mixtral-8x7b", "--cluster", "dgx-h100", "--batch", "16",
                                  "--plan", lean["plan"].toString(), "--json"})
                                 .json();
    QCOMPARE(same["energy_joules"].toDouble(), lean["energy_joules"].toDouble());
    QCOMPARE(run(mixture + QStringList{"--objective", "memory", "--robust"}).exitCode, 2);
    // The best plan in the words of the framework that was searched for.
    const Answer words = run({"plan", "--model", "llama2-7b", "--cluster", "dgx-h100", "--gpus", "16", "--batch", "32",
                              "--emit", "megatron", "--json"});
    QVERIFY2(words.exitCode == 0, words.err.constData());
    const QJsonArray arguments = words.json()["emit"].toObject()["arguments"].toArray();
    QVERIFY(arguments.contains("--tensor-model-parallel-size") && arguments.contains("--global-batch-size"));
    QVERIFY(!words.json()["plans"].toArray().first().toObject()["plan"].toString().contains("zero=3"));
    // A configuration of DeepSpeed has no pipeline: what is passed over is said.
    const QStringList deep{"plan", "--model", "llama3-70b", "--cluster", "jean-zay-a100", "--gpus",
                           "64",   "--batch", "128",        "--emit",    "deepspeed"};
    const Answer passed = run(deep + QStringList{"--limit", "1", "--json"});
    QVERIFY2(passed.exitCode == 0, passed.err.constData());
    const QJsonObject told = passed.json()["emit"].toObject(), over = told["passed_over"].toObject();
    QCOMPARE(over["plan"], passed.json()["plans"].toArray().first().toObject()["plan"]);
    QVERIFY(over["plan"].toString().contains("pp=") && over["because"].toString().contains("pp="));
    QVERIFY(!told["plan"].toString().contains("pp=") && told["configuration"].isObject());
    QVERIFY(run(deep).out.contains("passed over: " + over["plan"].toString().toUtf8()));
    // The text says what it is for, and what was not said.
    const QByteArray text = run({"plan", "--model", "gpt2-124m", "--cluster", "dgx-h100", "--gpus", "8"}).out;
    QVERIFY2(text.startsWith("gpt2-124m on dgx-h100 in megatron-core, bf16, batch 8, sequences of 1024 tokens\n"),
             text.constData());
    QVERIFY(text.contains("batch=8, sequence=1024") && text.contains("step       peak    energy*  plan"));
}

/// A search that finds nothing to run could not do what it was asked for.
void CliPlanTest::planThatNothingFits()
{
    const auto refused = [this](const QStringList& words, const char* because) {
        const Answer answer = run(QStringList{"plan", "--model", "llama3-70b", "--json"} + words);
        QCOMPARE(answer.exitCode, 1);
        QVERIFY2(answer.err.contains(because) && answer.err.count('\n') == 1, answer.err.constData());
        QVERIFY(answer.json()["why"].isString() || !answer.json()["plans"].toArray().isEmpty());
    };
    refused({"--cluster", "dgx-h100", "--gpus", "2"}, "more memory than a device");
    refused({"--cluster", "dgx-h100", "--gpus", "7", "--batch", "4", "--plan", "dp=4"}, "no plan divides");
    refused(
        {"--cluster", "dgx-h100", "--gpus", "64", "--batch", "128", "--framework", "torchtitan", "--plan", "zero=1"},
        "torchtitan has no zero=1");
}

/// The search's plans trained: what is said of them follows from the rows. How well they agree depends on the machine.
void CliPlanTest::planVerifies()
{
    const QString trace = m_folder.filePath("verified.fourwalls"), table = m_folder.filePath("verified.json");
    const Answer recorded = run({"record", "-o", trace, "--model", "gpt-tiny", "--seq", "32", "--batch", "4", "--steps",
                                 "3", "--plan", "dp=2", "--clock", "device", "--kernel-times", table});
    QVERIFY2(recorded.exitCode == 0, recorded.err.constData());
    const Answer answer = run(
        {"plan", "--like", trace, "--gpus", "4", "--limit", "1", "--verify", "2", "--kernel-times", table, "--json"});
    QVERIFY2(answer.exitCode == 0, answer.err.constData());
    const QJsonObject found = answer.json(), verified = found["verified"].toObject();
    QCOMPARE(found["like"].toObject()["plan"].toString(), QString("dp=2"));
    QCOMPARE(found["plans"].toArray().size(), 1);
    const QJsonArray plans = verified["plans"].toArray();
    QCOMPARE(plans.size(), 4);
    int best = 0, pairs = 0, inOrder = 0;
    double least = 1e300;
    std::vector<double> times;
    for (const QJsonValue& value : plans) {
        const QJsonObject plan = value.toObject();
        best += plan["best"].toBool();
        times.push_back(plan["recorded_ms"].toDouble());
        QVERIFY(times.back() > 0 && plan["recorded_peak_bytes"].toDouble() > 0);
        least = std::min(least, times.back());
        QVERIFY(plan["low_ms"].toDouble() > 0 && plan["high_ms"].toDouble() >= plan["low_ms"].toDouble());
    }
    QCOMPARE(best, 2);
    for (std::size_t i = 0; i < times.size(); ++i)
        for (std::size_t j = i + 1; j < times.size(); ++j, ++pairs) inOrder += times[i] <= times[j];
    QCOMPARE(verified["pairs_in_order_pct"].toDouble(), 100.0 * inOrder / pairs);
    QVERIFY(std::abs(verified["regret_pct"].toDouble() - 100 * (times.front() / least - 1)) < 1e-6);
    // The plan that is the best of all with its own degrees is a reason for none.
    for (const QJsonValue& value : found["reasons"].toArray())
        QVERIFY(value.toObject()["chosen"] != value.toObject()["instead"]);
    // What fails while they are trained leaves the search's answer.
    const Answer ended = run({"plan", "--like", trace, "--gpus", "4", "--limit", "1", "--verify", "1", "--kernel-times",
                              m_folder.filePath("none/table.json"), "--json"});
    QCOMPARE(ended.exitCode, 1);
    QCOMPARE(ended.json()["plans"].toArray().size(), 1);
    QVERIFY(!ended.json()["verified"].toObject()["complete"].toBool(true));
    QVERIFY(ended.json()["verified"].toObject()["regret_pct"].isNull());
    const Answer foreign =
        run({"plan", "--model", "gpt2-124m", "--cluster", "dgx-h100", "--gpus", "8", "--verify", "2"});
    QCOMPARE(foreign.exitCode, 2);
    QVERIFY(foreign.saysOneLine() && foreign.err.contains("--like"));
    QCOMPARE(run({"plan", "--like", trace, "--gpus", "4", "--verify", "0"}).exitCode, 2);
}

void CliPlanTest::planSaysWhyThereIsNone()
{
    const QStringList words{"plan", "--model", "llama3-70b", "--cluster", "dgx-h100", "--gpus"};
    const QJsonObject tooLarge = run(words + QStringList{"1", "--json"}).json();
    QVERIFY(tooLarge["plans"].toArray().isEmpty());
    QVERIFY(tooLarge["too_large"].toInt() > 0);
    QVERIFY2(tooLarge["why"].toString().contains("memory"), qPrintable(tooLarge["why"].toString()));
    QVERIFY(!tooLarge["why"].toString().contains("no plan divides"));
    // More devices than samples, heads and layers can be dealt out to.
    const QJsonObject misfit = run(words + QStringList{"8191", "--batch", "3", "--json"}).json();
    QCOMPARE(misfit["too_large"].toInt(), 0);
    QVERIFY2(misfit["why"].toString().contains("no plan divides"), qPrintable(misfit["why"].toString()));
}

FOURWALLS_TEST(CliPlanTest, QCoreApplication)

} // namespace tst_cli_plan

#include "tst_cli_plan.moc"
