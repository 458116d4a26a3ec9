// SPDX-License-Identifier: Apache-2.0
// Parameter counts and FLOPs of the presets against published counts and sums done by hand.
#include "model/spec/model_extents.h"
#include "model/spec/run_spec.h"
#include "tests/support/test_program.h"

#include <QTest>

namespace tst_model_size {

using namespace fourwalls;

class ModelSizeTest : public QObject {
    Q_OBJECT

private slots:
    void parametersOfPublishedModels_data();
    void parametersOfPublishedModels();
    void flopsOfTransformerByHand();
    void groupedQueriesShrinkTheProjections();
    void flopsOfResNetByHand();
    void flopsFollowTheClosedFormula();
    void enormousExtentsAreRefused_data();
    void enormousExtentsAreRefused();
};

void ModelSizeTest::enormousExtentsAreRefused_data()
{
    QTest::addColumn<QString>("field");
    for (const TransformerExtent& extent : kTransformerExtents) QTest::newRow(extent.key) << extent.key;
    QTest::newRow("experts") << "experts";
    QTest::newRow("batch") << "batch";
}

/// Sizes that no machine can hold get a sentence, before anything is multiplied with them.
void ModelSizeTest::enormousExtentsAreRefused()
{
    QFETCH(QString, field);
    constexpr std::int64_t kEnormous = std::int64_t{1} << 60;
    RunSpec spec;
    spec.model = *loadModel("moe-tiny");
    spec.training.steps = 1;
    spec.training.batch = 8;
    TransformerSpec t = *spec.model.transformer();
    for (const TransformerExtent& extent : kTransformerExtents)
        if (field == extent.key) t.*extent.field = kEnormous;
    if (field == "experts") t.mixture.experts = kEnormous;
    if (field == "batch") spec.training.batch = kEnormous;
    spec.model.architecture = t;
    const Status status = resolve(spec);
    QVERIFY(!status.ok());
    QCOMPARE(QString::fromStdString(status.error().where), field);

    // Every extent at its limit: more parameters than can be counted.
    for (const TransformerExtent& extent : kTransformerExtents) t.*extent.field = extent.most;
    t.mixture.experts = 1000;
    spec.model.architecture = t;
    QVERIFY(!checkExtents(spec.model).ok());
}

void ModelSizeTest::parametersOfPublishedModels_data()
{
    QTest::addColumn<QString>("preset");
    QTest::addColumn<qint64>("parameters");
    QTest::newRow("gpt2") << "gpt2-124m" << qint64{124'439'808};        // the released weights
    QTest::newRow("resnet50") << "resnet50" << qint64{25'557'032};      // torchvision's documentation
    QTest::newRow("resnet152") << "resnet152" << qint64{60'192'808};    // likewise
    QTest::newRow("llama2-7b") << "llama2-7b" << qint64{6'738'415'616}; // the released weights
    QTest::newRow("llama3-70b") << "llama3-70b" << qint64{70'553'706'496};
    QTest::newRow("llama3-405b") << "llama3-405b" << qint64{405'853'388'800};
    QTest::newRow("bloom") << "bloom-176b" << qint64{176'247'271'424}; // arXiv:2211.05100, model card
}

void ModelSizeTest::parametersOfPublishedModels()
{
    QFETCH(QString, preset);
    QFETCH(qint64, parameters);
    const auto model = loadModel(preset.toStdString());
    QVERIFY2(model.ok(), model.ok() ? "" : model.error().message().c_str());
    QCOMPARE(qint64{parameterCount(*model)}, parameters);
}

void ModelSizeTest::flopsOfTransformerByHand()
{
    // One layer, hidden 4, feed-forward 16, vocabulary 10, 2 sequences of 3 tokens.
    TransformerSpec t;
    t.layers = 1;
    t.hidden = 4;
    t.heads = t.kvHeads = 2;
    t.ffnHidden = 16;
    t.vocabulary = 10;
    t.sequence = 3;
    const ModelSpec model{"by hand", t};
    // Per token: 4 projections of 4x4, 2 matrices of 4x16, the head of 4x10 = 64 + 128 + 40 = 232 products.
    // Attention, whole: scores 3x3x4 and values 3x3x4 = 72 products per sequence; causal counts half.
    const double whole = 3 * 2 * 2 * (3 * 232 + 72);
    const double half = 3 * 2 * 2 * (3 * 232 + 36);
    QCOMPARE(trainingFlops(model, 2, 3, true), whole);
    QCOMPARE(trainingFlops(model, 2, 3), half);
    t.causal = false;
    QCOMPARE(trainingFlops(ModelSpec{"encoder", t}, 2, 3), whole);
}

void ModelSizeTest::groupedQueriesShrinkTheProjections()
{
    TransformerSpec t;
    t.layers = 1;
    t.hidden = 8;
    t.heads = 4;
    t.kvHeads = 1;
    t.ffnHidden = 6;
    t.vocabulary = 5;
    t.sequence = 2;
    t.positions = Positions::Rotary;
    t.activation = Activation::SwiGlu;
    t.normalization = Normalization::RmsNorm;
    t.biases = false;
    t.tiedEmbeddings = false;
    const ModelSpec model{"grouped", t};
    // Query and output 8x8, key and value 8x2, three matrices 8x6, three norms of 8, two tables of 5x8.
    QCOMPARE(qint64{parameterCount(model)}, qint64{2 * 64 + 2 * 16 + 3 * 48 + 3 * 8 + 2 * 40});
    // Per token 128 + 32 + 144 + 40 products; attention 2 x 2x2x8 whole.
    QCOMPARE(trainingFlops(model, 1, 2, true), 6.0 * (2 * (128 + 32 + 144 + 40) + 64));
}

void ModelSizeTest::flopsOfResNetByHand()
{
    // 4,089,184,256 multiply-adds per 224x224 image, as torchvision documents (4.09 G).
    const auto model = loadModel("resnet50");
    QVERIFY(model.ok());
    QCOMPARE(trainingFlops(*model, 2, 0), 2 * 3 * 2 * 4'089'184'256.0);
}

void ModelSizeTest::flopsFollowTheClosedFormula()
{
    // arXiv:2205.05198, appendix A: 72 B L s h^2 (1 + s/6h + V/12hL) for forward and backward, attention whole.
    const auto model = loadModel("gpt3-175b");
    QVERIFY(model.ok());
    const double B = 4, L = 96, s = 2048, h = 12288, V = 50257;
    const double formula = 72 * B * L * s * h * h * (1 + s / (6 * h) + V / (12 * h * L));
    const double counted = trainingFlops(*model, 4, 2048, true);
    QVERIFY(qAbs(counted / formula - 1) < 1e-12);
}

FOURWALLS_TEST(ModelSizeTest, QCoreApplication)

} // namespace tst_model_size

#include "tst_model_size.moc"
