// SPDX-License-Identifier: Apache-2.0
// A job that others recorded and analysed: what was published about it has to come out. The job "ST" of
// ByteDance-Seed/StragglerAnalysis at 8efcd7f37f15 (Apache-2.0), as recorded operations and as the answers of its authors'
// analysis [s].
#include <QTest> // first: moc stumbles over <compare> otherwise

#include "model/import/import_registry.h"
#include "model/replay/replay.h"
#include "model/trace/in_memory_query.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>

namespace tst_operation_replay {

using namespace fourwalls;
using namespace fourwalls::replay;
using nlohmann::json;

std::string dataPath(const std::string& name)
{
    return FOURWALLS_SOURCE_DIR "/tests/data/replay/" + name;
}

json published(const std::string& name)
{
    std::ifstream file(dataPath(name));
    return json::parse(file);
}

Replay read(const std::string& path)
{
    auto import = importers::openImport({path});
    if (!import.ok()) qFatal("%s", import.error().message().c_str());
    InMemoryTrace trace((*import)->header());
    if (!(*import)->write(trace, {}).ok() || !trace.finish((*import)->closing()).ok()) qFatal("not imported");
    InMemoryTraceQuery query(trace.data());
    return *Replay::of(query, {});
}

/// The job, read once.
const Replay& job()
{
    static const Replay replay = read(dataPath("recorded-ST.json.gz"));
    return replay;
}

double secondsAfter(const std::vector<const char*>& changes, DelayRule rule = DelayRule::None)
{
    std::vector<ReplayChange> parsed;
    for (const char* change : changes) parsed.push_back(*parseChange(change));
    return job().run(rule, parsed)->changed.seconds();
}

class OperationReplayTest : public QObject {
    Q_OBJECT

private slots:
    void stepsAsPublished();
    void answersAsPublished_data();
    void answersAsPublished();
    void unchangedWithDelaysOfOtherSteps();
    void aLargerJobAsPublished();
    void timesAndOrderTogether();
    void aWrongChangeSaysWhy_data();
    void aWrongChangeSaysWhy();
};

void OperationReplayTest::stepsAsPublished()
{
    const json answers = published("result-ST.json");
    const ReplayQuality quality = job().quality(DelayRule::None);
    QCOMPARE(quality.steps.size(), answers["step_t_base"].size());
    QCOMPARE(quality.ranks, std::int64_t(8));
    for (const ReplayedStep& step : quality.steps) {
        const std::string number = std::to_string(step.step.value);
        // The recording was written as single-precision seconds and again as microseconds.
        QVERIFY(std::abs(step.recorded.seconds() / answers["step_t_base"][number].get<double>() - 1) < 1e-5);
        QVERIFY(std::abs(step.replayed.seconds() / answers["step_t_nodelay"][number].get<double>() - 1) < 1e-5);
    }
    QVERIFY(std::abs(quality.errorWithoutDelays - 1.886) < 0.001); // "mean error 1.89 %"
    QVERIFY(std::abs(quality.maxError - 2.013) < 0.001);
}

void OperationReplayTest::answersAsPublished_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("answer");
    QTest::addColumn<QStringList>("changes");
    QTest::newRow("unchanged") << "ms-ST.json"
                               << "tori" << QStringList{"rank:0=recorded"};
    QTest::newRow("without stragglers") << "ms-ST.json"
                                        << "tideal" << QStringList{"stragglers=none"};
    QTest::newRow("without the last stage's") << "ms-ST.json"
                                              << "trem" << QStringList{"stage:3=fleet"};
    QTest::newRow("only the last stage's") << "ms-ST.json"
                                           << "tadd" << QStringList{"stragglers=none", "stage:3=recorded"};
    QTest::newRow("without the worst worker") << "mw-ST.json"
                                              << "trem" << QStringList{"rank:7=fleet"};
    QTest::newRow("only the worst worker") << "mw-ST.json"
                                           << "tadd" << QStringList{"stragglers=none", "rank:7=recorded"};
}

void OperationReplayTest::answersAsPublished()
{
    QFETCH(QString, file);
    QFETCH(QString, answer);
    QFETCH(QStringList, changes);
    std::vector<std::string> texts;
    for (const QString& change : changes) texts.push_back(change.toStdString());
    std::vector<const char*> pointers;
    for (const std::string& text : texts) pointers.push_back(text.c_str());
    const double expected = published(file.toStdString())[answer.toStdString()];
    const double found = secondsAfter(pointers);
    QVERIFY2(std::abs(found / expected - 1) < 1e-6,
             qPrintable(QString("%1 s, published %2 s").arg(found, 0, 'f', 6).arg(expected, 0, 'f', 6)));
}

void OperationReplayTest::unchangedWithDelaysOfOtherSteps()
{
    const ReplayQuality quality = job().quality(DelayRule::Class);
    QVERIFY2(quality.meanError < 0.03, qPrintable(QString::number(quality.meanError)));
    QVERIFY2(quality.maxError < 0.1, qPrintable(QString::number(quality.maxError)));
    QVERIFY(quality.derivedEdges > 0);
    // Contradictions are of the clocks' size: own delays, which may be negative, give back the recording.
    QCOMPARE(job().quality(DelayRule::Own).maxError, 0.0);
}

void OperationReplayTest::aLargerJobAsPublished()
{
    // The job "SE" of the same study, 64 recorded ranks with sequences of uneven length: too large to be kept here.
    const char* const folder = std::getenv("FOURWALLS_STRAGGLERS");
    if (!folder) QSKIP("FOURWALLS_STRAGGLERS does not name the folder of the study's files");
    const Replay replay = read(std::string(folder) + "/recorded-SE.json.gz");
    const auto after = [&](const std::vector<const char*>& texts) {
        std::vector<ReplayChange> changes;
        for (const char* text : texts) changes.push_back(*parseChange(text));
        return replay.run(DelayRule::None, changes)->changed.seconds();
    };
    std::ifstream file(std::string(folder) + "/ms-SE.json");
    const json published = json::parse(file);
    const auto isAbout = [](double found, double expected) { return std::abs(found / expected - 1) < 1e-6; };
    QVERIFY(isAbout(published["tori"], 9.0665553) && isAbout(published["tideal"], 5.8974778));
    QVERIFY(isAbout(after({"rank:0=recorded"}), published["tori"]));
    QVERIFY(isAbout(after({"stragglers=none"}), published["tideal"]));
    QVERIFY(replay.quality(DelayRule::Class).meanError < 0.03);
}

void OperationReplayTest::timesAndOrderTogether()
{
    // One micro-batch after another takes the pipeline's time for one, whatever its passes take.
    const auto after = [](const std::vector<const char*>& texts) { return secondsAfter(texts, DelayRule::Class); };
    const double recorded = job().quality(DelayRule::Class).replayed.seconds();
    const double halved = after({"kernels:compute*0.5"}), fewer = after({"microbatches=1"});
    const double both = after({"kernels:compute*0.5", "microbatches=1"});
    QVERIFY2(both > 0 && both < halved && both < fewer, qPrintable(QString::number(both)));
    // Half the time in every pass: the order gains half of what it gained.
    QVERIFY2(std::abs((halved - both) / (recorded - fewer) - 0.5) < 0.01,
             qPrintable(QString("%1 %2 %3 %4").arg(recorded).arg(fewer).arg(halved).arg(both)));
    // Halves of a pass that was recorded as one are a rule, not measured.
    const std::vector<ReplayChange> split{*parseChange("schedule=zb")};
    const auto halves = job().run(DelayRule::Class, split);
    QVERIFY(halves.ok() && halves->modelled > 0.1 && halves->modelled < 1);
    // Without any passes there is nothing to gain.
    const double none = after({"kernels:compute*0"}), ordered = after({"kernels:compute*0", "microbatches=1"});
    QVERIFY2(ordered > 0 && ordered <= none, qPrintable(QString("%1 %2").arg(none).arg(ordered)));
}

void OperationReplayTest::aWrongChangeSaysWhy_data()
{
    QTest::addColumn<QString>("change");
    QTest::addColumn<QString>("says");
    QTest::newRow("no such rank") << "rank:80=fleet"
                                  << "rank 80 has no work";
    QTest::newRow("no such stage") << "stage:4=fleet"
                                   << "stage 4 has no work";
    QTest::newRow("no calls") << "launches=graph"
                              << "no calls of the program";
    QTest::newRow("no host work") << "host:*0.5"
                                  << "no host work is in the chosen steps";
    QTest::newRow("no such kernel") << "kernels:flash*0.5"
                                    << "has 'flash' in its name";
    QTest::newRow("hosts unknown") << "link:between*2"
                                   << "which ranks share a host";
    QTest::newRow("no such group") << "link:tp*2"
                                   << "no transfer";
}

void OperationReplayTest::aWrongChangeSaysWhy()
{
    QFETCH(QString, change);
    QFETCH(QString, says);
    const std::vector<ReplayChange> changes{*parseChange(change.toStdString())};
    const auto outcome = job().run(DelayRule::Class, changes);
    QVERIFY(!outcome.ok());
    QVERIFY2(QString::fromStdString(outcome.error().message()).contains(says), outcome.error().message().c_str());
}

FOURWALLS_TEST(OperationReplayTest, QCoreApplication)

} // namespace tst_operation_replay

#include "tst_operation_replay.moc"
