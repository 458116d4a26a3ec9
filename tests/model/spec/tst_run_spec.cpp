// SPDX-License-Identifier: Apache-2.0
// The specification's JSON form, presets, and the checks that its fields fit together.
#include "model/spec/names.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <nlohmann/json.hpp>

#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <fstream>

namespace tst_run_spec {

using namespace fourwalls;

namespace {

RunSpec demo(const std::string& model = "gpt-tiny", const std::string& plan = "")
{
    RunSpec spec;
    spec.model = *loadModel(model);
    spec.plan = *parsePlan(plan);
    spec.cluster = *loadCluster("dgx-h100");
    return spec;
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

class RunSpecTest : public QObject {
    Q_OBJECT

private slots:
    void presetsAreSound();
    void roundTrip();
    void unknownFieldsAreKept();
    void newerVersionIsRefused();
    void brokenJsonNamesTheLine();
    void wrongFieldsAreNamed_data();
    void wrongFieldsAreNamed();
    void hashFollowsTheContent();
    void loadsFilesAndListsPresets();
    void resolveFillsTheSequence();
    void resolveNamesTheField_data();
    void resolveNamesTheField();
    void textOfAnotherEncodingIsStored();
    void depthIsLimited();
};

void RunSpecTest::presetsAreSound()
{
    QVERIFY(modelPresetNames().size() >= 12);
    for (const std::string& name : modelPresetNames()) {
        const auto model = loadModel(name);
        QVERIFY2(model.ok(), name.c_str());
        QCOMPARE(model->name, name);
    }
    for (const std::string& name : clusterPresetNames()) {
        const auto cluster = loadCluster(name);
        QVERIFY2(cluster.ok(), cluster.ok() ? "" : cluster.error().message().c_str());
        QCOMPARE(cluster->name, name);
        if (name == "this-machine") continue;
        QVERIFY(cluster->device.memoryBytes > 10'000'000'000);
        QVERIFY(cluster->device.memoryBytesPerSecond > 1e11);
        QVERIFY(cluster->device.peak(Precision::F32).has_value());
    }
    const auto h100 = loadCluster("dgx-h100");
    QCOMPARE(h100->devicesPerNode, 8);
    QCOMPARE(*h100->device.peak(Precision::Bf16), 989e12);
}

void RunSpecTest::roundTrip()
{
    for (const char* model : {"gpt-tiny", "llama-tiny", "bloom-176b", "resnet50"}) {
        RunSpec spec = demo(model, "dp=2 microbatches=2 recompute=full");
        spec.training.seed = 0xfedcba9876543210ULL;
        spec.training.optimizer = Optimizer::Sgd;
        spec.training.precision = Precision::Bf16;
        spec.training.learningRate = 0.1;
        spec.training.dataFile = "a \"quoted\" name";
        const std::string json = toJson(spec);
        const auto read = runSpecFromJson(json);
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().message().c_str());
        QCOMPARE(toJson(*read), json);
        QCOMPARE(read->training.seed, spec.training.seed);
        QCOMPARE(read->training.learningRate, 0.1);
        QVERIFY(read->plan == spec.plan);
        QVERIFY(read->unknownFieldsJson.empty());
        QCOMPARE(parameterCount(read->model), parameterCount(spec.model));
    }
}

void RunSpecTest::unknownFieldsAreKept()
{
    nlohmann::json object = nlohmann::json::parse(toJson(demo()));
    object["experiment"] = {{"id", 7}};
    object["model"]["experts"] = 8;
    object["cluster"]["device"]["cores"] = 132;
    const auto read = runSpecFromJson(object.dump());
    QVERIFY(read.ok());
    const nlohmann::json again = nlohmann::json::parse(toJson(*read));
    QCOMPARE(again["experiment"]["id"].get<int>(), 7);
    QCOMPARE(again["model"]["experts"].get<int>(), 8);
    QCOMPARE(again["cluster"]["device"]["cores"].get<int>(), 132);
    QCOMPARE(again["model"]["layers"].get<int>(), 8);
}

void RunSpecTest::newerVersionIsRefused()
{
    nlohmann::json object = nlohmann::json::parse(toJson(demo()));
    object["spec_version"] = kSpecVersion + 1;
    const auto read = runSpecFromJson(object.dump());
    QVERIFY(!read.ok());
    QCOMPARE(read.error().code, ErrorCode::Unsupported);
}

void RunSpecTest::brokenJsonNamesTheLine()
{
    const auto model = modelSpecFromJson("{\n  \"layers\": 8,\n  \"hidden\" 128\n}", "my.json");
    QVERIFY(!model.ok());
    QCOMPARE(model.error().code, ErrorCode::Format);
    QVERIFY2(contains(model.error().message(), "line 3"), model.error().message().c_str());
    QVERIFY(contains(model.error().message(), "my.json"));
}

void RunSpecTest::wrongFieldsAreNamed_data()
{
    QTest::addColumn<QString>("json");
    QTest::addColumn<QString>("field");
    const auto row = [](const char* name, const char* field, const char* value) {
        nlohmann::json model{{"layers", 2}, {"hidden", 8}, {"heads", 2}, {"vocabulary", 10}, {"sequence", 4}};
        if (std::string(value).empty())
            model.erase(field);
        else
            model[field] = nlohmann::json::parse(value);
        QTest::newRow(name) << QString::fromStdString(model.dump()) << QString(field);
    };
    row("missing", "layers", "");
    row("text", "hidden", "\"wide\"");
    row("fraction", "heads", "1.5");
    row("zero", "layers", "0");
    row("negative", "vocabulary", "-3");
    row("huge", "hidden", "1e300");
    row("beyond 64 bits", "sequence", "18446744073709551615");
    row("not divisible", "hidden", "9");
    row("kv heads", "kv_heads", "3");
    row("word", "activation", "\"tanh\"");
    row("flag", "biases", "1");
    row("kind", "kind", "\"rnn\"");
}

void RunSpecTest::wrongFieldsAreNamed()
{
    QFETCH(QString, json);
    QFETCH(QString, field);
    const auto model = modelSpecFromJson(json.toStdString(), "test");
    QVERIFY(!model.ok());
    QCOMPARE(model.error().code, ErrorCode::Format);
    QVERIFY2(contains(model.error().what, '"' + field.toStdString() + '"'), model.error().message().c_str());
}

void RunSpecTest::hashFollowsTheContent()
{
    RunSpec spec = demo();
    const std::string hash = specHash(spec);
    QCOMPARE(hash.size(), std::size_t{16});
    QCOMPARE(specHash(demo()), hash);
    spec.training.seed = 2;
    QVERIFY(specHash(spec) != hash);
}

void RunSpecTest::loadsFilesAndListsPresets()
{
    const auto missing = loadModel("gpt-huge");
    QVERIFY(!missing.ok());
    QCOMPARE(missing.error().code, ErrorCode::NotFound);
    QVERIFY(contains(missing.error().message(), "gpt-tiny"));

    const QTemporaryDir directory;
    const std::string path = directory.filePath("mine.json").toStdString();
    std::ofstream(path) << R"({"layers":2,"hidden":8,"heads":2,"vocabulary":10,"sequence":4})";
    const auto model = loadModel(path);
    QVERIFY2(model.ok(), model.ok() ? "" : model.error().message().c_str());
    QCOMPARE(QString::fromStdString(model->name), QString("mine"));
    QCOMPARE(qint64{model->transformer()->ffnHidden}, qint64{32});

    const std::string cluster = directory.filePath("two.json").toStdString();
    std::ofstream(cluster) << R"({"device":"a100-sxm-80gb","devices_per_node":4,"nodes":2})";
    QCOMPARE(loadCluster(cluster)->nodes, 2);
    std::ofstream(cluster) << R"({"device":"a900"})";
    QVERIFY(contains(loadCluster(cluster).error().message(), "a900"));

    // A whole specification, as it is exported, has both.
    const RunSpec spec = demo("llama-tiny");
    const std::string whole = directory.filePath("run.json").toStdString();
    std::ofstream(whole) << toJson(spec);
    RunSpec again = spec;
    again.model = *loadModel(whole);
    again.cluster = *loadCluster(whole);
    QCOMPARE(toJson(again), toJson(spec));
}

void RunSpecTest::resolveFillsTheSequence()
{
    RunSpec spec = demo();
    QVERIFY(resolve(spec).ok());
    QCOMPARE(qint64{spec.training.sequence}, qint64{128});
    RunSpec images = demo("resnet50");
    QVERIFY(resolve(images).ok());
    QCOMPARE(qint64{images.training.sequence}, qint64{0});
}

void RunSpecTest::resolveNamesTheField_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QString>("plan");
    QTest::addColumn<int>("batch");
    QTest::addColumn<int>("sequence");
    QTest::addColumn<QString>("field");
    QTest::newRow("batch") << "gpt-tiny"
                           << "dp=2 microbatches=3" << 8 << 0 << "batch";
    QTest::newRow("no batch") << "gpt-tiny"
                              << "" << 0 << 0 << "batch";
    QTest::newRow("heads") << "gpt-tiny"
                           << "tp=3" << 8 << 0 << "tp";
    QTest::newRow("stages") << "gpt-tiny"
                            << "pp=9" << 8 << 0 << "pp";
    QTest::newRow("layers of too few stages") << "gpt-tiny"
                                              << "pp=4 layers=4,4" << 8 << 0 << "layers";
    QTest::newRow("layers of virtual stages") << "gpt-tiny"
                                              << "pp=2 vpp=2 layers=4,4" << 8 << 0 << "layers";
    QTest::newRow("more layers than there are") << "gpt-tiny"
                                                << "pp=2 layers=5,4" << 8 << 0 << "layers";
    QTest::newRow("recomputation of too few stages") << "gpt-tiny"
                                                     << "pp=4 recompute=full,none" << 8 << 0 << "recompute";
    QTest::newRow("recomputation of stages without a pipeline") << "gpt-tiny"
                                                                << "recompute=full,none" << 8 << 0 << "recompute";
    QTest::newRow("a module of mixtures") << "gpt-tiny"
                                          << "recompute=moe_act" << 8 << 0 << "recompute";
    QTest::newRow("a module of latent attention") << "moe-tiny"
                                                  << "recompute=mla_up_proj" << 8 << 0 << "recompute";
    QTest::newRow("modules of images") << "resnet50"
                                       << "recompute=layernorm" << 8 << 0 << "recompute";
    QTest::newRow("experts and stages first") << "moe-tiny"
                                              << "dp=2 pp=2 ep=2 order=tp-cp-ep-pp-dp" << 8 << 0 << "order";
    QTest::newRow("layers of images") << "resnet50"
                                      << "pp=2 layers=8,8" << 8 << 0 << "layers";
    QTest::newRow("virtual stages") << "gpt-tiny"
                                    << "pp=8 vpp=2" << 8 << 0 << "vpp";
    QTest::newRow("virtual without pipeline") << "gpt-tiny"
                                              << "vpp=2" << 8 << 0 << "vpp";
    QTest::newRow("schedule") << "gpt-tiny"
                              << "pp=2 vpp=2 schedule=gpipe" << 8 << 0 << "schedule";
    QTest::newRow("positions") << "gpt-tiny"
                               << "" << 8 << 256 << "seq";
    QTest::newRow("context") << "gpt-tiny"
                             << "cp=5" << 8 << 128 << "cp";
    QTest::newRow("experts") << "gpt-tiny"
                             << "dp=2 ep=2" << 8 << 0 << "ep";
    QTest::newRow("experts divide") << "gpt-tiny"
                                    << "dp=2 ep=3" << 8 << 0 << "ep";
    QTest::newRow("servers") << "gpt-tiny"
                             << "servers=2" << 8 << 0 << "servers";
    QTest::newRow("no servers") << "gpt-tiny"
                                << "ps=sync" << 8 << 0 << "servers";
    QTest::newRow("image sequence") << "resnet50"
                                    << "" << 8 << 128 << "seq";
    QTest::newRow("image tensor") << "resnet50"
                                  << "tp=2" << 8 << 0 << "tp";
}

void RunSpecTest::resolveNamesTheField()
{
    QFETCH(QString, model);
    QFETCH(QString, plan);
    QFETCH(int, batch);
    QFETCH(int, sequence);
    QFETCH(QString, field);
    RunSpec spec = demo(model.toStdString(), plan.toStdString());
    spec.training.batch = batch;
    spec.training.sequence = sequence;
    const Status status = resolve(spec);
    QVERIFY(!status.ok());
    QCOMPARE(status.error().code, ErrorCode::InvalidArgument);
    QCOMPARE(QString::fromStdString(status.error().where), field);
}

void RunSpecTest::textOfAnotherEncodingIsStored()
{
    RunSpec spec = demo();
    spec.training.dataFile = "caf\xe9.txt"; // Latin-1
    const auto read = runSpecFromJson(toJson(spec));
    QVERIFY(read.ok());
    QVERIFY(contains(read->training.dataFile, "caf"));
}

void RunSpecTest::depthIsLimited()
{
    std::string json = toJson(demo());
    json.pop_back();
    std::string deep(1'000'000, '[');
    deep.append(1'000'000, ']');
    const auto read = runSpecFromJson(json + ",\"x\":" + deep + "}");
    QVERIFY(!read.ok());
    QCOMPARE(read.error().code, ErrorCode::Format);
    QVERIFY(runSpecFromJson(json + ",\"x\":[[[]]],\"y\":\"[[[\\\"[[\"}").ok());
}

FOURWALLS_TEST(RunSpecTest, QCoreApplication)

} // namespace tst_run_spec

#include "tst_run_spec.moc"
