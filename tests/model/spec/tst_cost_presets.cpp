// SPDX-License-Identifier: Apache-2.0
// Presets of frameworks, clusters and the calibration: all load, all are complete, and a wrong file is told by line and
// field.
#include <QTest>

#include "model/spec/calibration.h"
#include "model/spec/framework_preset.h"
#include "model/spec/preset_data.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <array>

namespace tst_cost_presets {

using namespace fourwalls;

class CostPresetsTest : public QObject {
    Q_OBJECT

private slots:
    void allLoad();
    void whatAPresetIsLike();
    void everyFileNamesItsSource();
    void clustersAreComplete();
    void linksSurviveTheSpec();
    void specialModelsSurviveTheSpec();
    void wrongFiles_data();
    void wrongFiles();
    void publishedCalibration();
    void rateGrids();
};

/// Rates between measured points lie on a straight line over the logarithms, those beyond are held, and a file gives
/// back what was written.
void CostPresetsTest::rateGrids()
{
    const RateGrid grid{{{1, 100}, {10, 1000}}, {1, 4, 16, 64}};
    const auto at = [&grid](double a, double b) { return grid.at(std::array{a, b}); };
    QCOMPARE(at(1, 10), 1.0);
    QCOMPARE(at(100, 1000), 64.0);
    QVERIFY(qFuzzyCompare(at(10, 10), 4.0));    // half way on the first axis: the root of 1 x 16
    QVERIFY(qFuzzyCompare(at(10, 100), 8.0));   // and on both
    QVERIFY(qFuzzyCompare(at(0.01, 1e9), 4.0)); // below the first, above the last
    const auto read = operatorRatesFromJson(toJson(OperatorRates{{"gemm", grid}}), "test", "operators");
    QVERIFY2(read.ok(), read.ok() ? "" : read.error().message().c_str());
    QCOMPARE(read->at("gemm").axes, grid.axes);
    QCOMPARE(read->at("gemm").rates, grid.rates);
    for (const char* wrong :
         {R"({"gemm": {"axes": [[2, 1]], "rates": [1, 2]}})", R"({"gemm": {"axes": [[1, 2]], "rates": [1]}})",
          R"({"gemm": {"axes": [[1, 2]], "rates": [1, -2]}})", R"({"gemm": {"axes": [], "rates": [1]}})",
          R"({"gemm": {"rates": [1]}})", R"([1])"})
        QVERIFY2(!operatorRatesFromJson(nlohmann::json::parse(wrong), "test", "operators").ok(), wrong);
}

void CostPresetsTest::allLoad()
{
    QVERIFY(frameworkPresetNames().size() >= 12);
    for (const std::string& name : frameworkPresetNames()) {
        const auto preset = loadFramework(name);
        QVERIFY2(preset.ok(), preset.ok() ? "" : preset.error().message().c_str());
        QVERIFY(!preset->version.empty());
        QCOMPARE(preset->name, name);
    }
    QVERIFY(modelPresetNames().size() >= 60);
    QVERIFY(clusterPresetNames().size() >= 15);
}

void CostPresetsTest::whatAPresetIsLike()
{
    const auto read = [](const char* json) { return frameworkPresetFromJson(json, "mine.json"); };
    const FrameworkPreset core = *loadFramework("megatron-core");
    const auto mine = read(R"({"like": "nemo", "name": "mine", "dropout": true, "launch": null})");
    QVERIFY2(mine.ok(), mine.ok() ? "" : mine.error().message().c_str());
    QCOMPARE(mine->name, std::string("mine"));
    QCOMPARE(mine->gradientBytes, 2.0); // of nemo, which is like megatron-core
    QCOMPARE(mine->schedules, core.schedules);
    QVERIFY(mine->dropout && !core.dropout);
    QVERIFY(core.launch && !mine->launch);
    QCOMPARE(read(R"({"like": "nemo"})")->name, std::string());
    for (const char* wrong : {R"({"like": "no-such-thing"})", R"({"like": 7})", R"({"like": "nemo", "dropout": 3})"}) {
        const auto refused = read(wrong);
        QVERIFY2(!refused.ok(), wrong);
        QVERIFY2(refused.error().message().find("mine.json") != std::string::npos, refused.error().message().c_str());
    }
}

void CostPresetsTest::everyFileNamesItsSource()
{
    for (const PresetFile& file : embeddedPresets())
        QVERIFY2(file.json.find("\"source\"") != std::string_view::npos, std::string(file.name).c_str());
}

void CostPresetsTest::clustersAreComplete()
{
    for (const std::string& name : clusterPresetNames()) {
        if (name == "this-machine") continue;
        const auto c = loadCluster(name);
        QVERIFY2(c.ok(), c.ok() ? "" : c.error().message().c_str());
        QVERIFY2(c->nodeLink.bytesPerSecond > 0 && c->nicsPerNode > 0 && c->nicLink.bytesPerSecond > 0, name.c_str());
        QVERIFY2(!c->device.family.empty() && c->device.multiprocessors > 0, name.c_str());
        QVERIFY2(c->device.memoryBytesPerSecond > 0 && c->device.hostBytesPerSecond > 0, name.c_str());
        QVERIFY2(c->networkBytesPerSecondPerDevice() > 0, name.c_str());
    }
}

void CostPresetsTest::linksSurviveTheSpec()
{
    RunSpec spec;
    spec.model = *loadModel("gpt-tiny");
    spec.cluster = *loadCluster("a100-torus");
    const auto again = runSpecFromJson(toJson(spec));
    QVERIFY(again.ok());
    QCOMPARE(again->cluster.nodeLink, spec.cluster.nodeLink);
    QCOMPARE(again->cluster.nicLink, spec.cluster.nicLink);
    QVERIFY(again->cluster.topology == Topology::Torus);
    QCOMPARE(again->cluster.device.family, std::string("ampere"));
    QCOMPARE(specHash(*again), specHash(spec));
}

void CostPresetsTest::specialModelsSurviveTheSpec()
{
    for (const char* name : {"deepseek-v3", "bert-large", "dlrm-criteo", "switch-base-128", "qwen3-30b-a3b"}) {
        RunSpec spec;
        spec.model = *loadModel(name);
        const auto again = runSpecFromJson(toJson(spec));
        QVERIFY2(again.ok(), name);
        QCOMPARE(parameterCount(again->model), parameterCount(spec.model));
        QCOMPARE(activeParameterCount(again->model), activeParameterCount(spec.model));
        QCOMPARE(specHash(*again), specHash(spec));
    }
    // Published counts.
    QCOMPARE(parameterCount(*loadModel("deepseek-v3")) / 1'000'000'000, std::int64_t{671});
    QCOMPARE(activeParameterCount(*loadModel("deepseek-v3")) / 1'000'000'000, std::int64_t{37});
    QCOMPARE(parameterCount(*loadModel("mixtral-8x7b")) / 100'000'000, std::int64_t{467});
    QCOMPARE(parameterCount(*loadModel("llama3-8b")), std::int64_t{8'030'261'248});
}

void CostPresetsTest::wrongFiles_data()
{
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("line");
    QTest::addColumn<QString>("field");
    QTest::newRow("model") << "model"
                           << "{\n \"layers\": 2,\n \"hidden\": \"wide\"\n}"
                           << "line 3"
                           << "hidden";
    QTest::newRow("broken") << "model"
                            << "{\n \"layers\": 2,,\n}"
                            << "line 2"
                            << "";
    QTest::newRow("mixture") << "model"
                             << "{\"layers\": 2, \"hidden\": 8, \"heads\": 2, \"vocabulary\": 256, \"sequence\": 8,\n"
                                "\"mixture\": {\n\"experts\": 4,\n\"top_k\": 5}}"
                             << "line 4"
                             << "mixture.top_k";
    QTest::newRow("cluster") << "cluster"
                             << "{\n\"device\": {\"name\": \"x\"},\n\"nics_per_node\": 2,\n\"nic_link\": {\n"
                                "\"bytes_per_second\": -1}}"
                             << "line 5"
                             << "nic_link.bytes_per_second";
    QTest::newRow("framework") << "framework"
                               << "{\n\"dropout\": \"yes\"\n}"
                               << "line 2"
                               << "dropout";
    QTest::newRow("calibration") << "calibration"
                                 << "{\n\"contention\": -1,\n\"families\": {}}"
                                 << "line 2"
                                 << "contention";
    QTest::newRow("networks") << "calibration"
                              << "{\n\"network_fractions\": {\n\"omni_path\": 2},\n\"families\": {}}"
                              << "line 3"
                              << "network_fractions.omni_path";
}

void CostPresetsTest::wrongFiles()
{
    QFETCH(QString, kind);
    QFETCH(QString, text);
    QFETCH(QString, line);
    QFETCH(QString, field);
    QTemporaryDir folder;
    const QString path = folder.filePath("mine.json");
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(text.toUtf8());
    file.close();
    const auto message = [&](const auto& result) {
        return result.ok() ? QString() : QString::fromStdString(result.error().message());
    };
    QString said;
    if (kind == "model") said = message(loadModel(path.toStdString()));
    if (kind == "cluster") said = message(loadCluster(path.toStdString()));
    if (kind == "framework") said = message(loadFramework(path.toStdString()));
    if (kind == "calibration") said = message(loadCalibration(path.toStdString()));
    QVERIFY2(said.contains(line), qPrintable(said));
    QVERIFY2(said.contains(field), qPrintable(said));
    QVERIFY2(said.contains("mine.json"), qPrintable(said));
}

void CostPresetsTest::publishedCalibration()
{
    const auto c = loadCalibration("published");
    QVERIFY2(c.ok(), c.ok() ? "" : c.error().message().c_str());
    QVERIFY(c->curves.size() >= 8);
    // 40 of an adapter's 100 Gb/s over Omni-Path; elsewhere as well used as the links of a node.
    QVERIFY(std::abs(c->fractionOfNetwork("omni_path") - 0.40) < 0.01);
    QCOMPARE(c->fractionOfNetwork(""), c->networkFraction);
    QCOMPARE(loadCluster("jean-zay-a100")->network, std::string("omni_path"));
    for (const char* family : {"ampere", "hopper", "blackwell", ""}) QVERIFY(c->families.contains(family));
    const double ceiling = c->family("ampere").gemmCeiling.at(Precision::F16);
    QVERIFY(ceiling > 0.75 && ceiling < 0.87); // of bursts at the shapes of layers; the best shape found has 0.87
    QVERIFY(c->band.dense > 0 && c->band.dense < c->band.experts);
    QCOMPARE(c->family("volta").relative, std::string("ampere")); // nobody measured it
    QVERIFY(c->family("cdna3").relative.empty());
    QVERIFY(!loadCalibration("no-such-thing").ok());
}

FOURWALLS_TEST(CostPresetsTest, QCoreApplication)

} // namespace tst_cost_presets

#include "tst_cost_presets.moc"
