// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers are cut over ranks against the same decoder on one rank: tensor and sequence parallelism,
// recomputation, fused and unfused variants, grouped queries, vocabularies that do not divide. In double on the
// reference device, where nothing but the order of sums differs; in f32 and bf16 on the CPU within their rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parallel_decoder_fixture.h"

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

DecoderCase caseOf(bool llama, int kvHeads, int vocabulary)
{
    DecoderCase c;
    TransformerSpec& s = c.spec;
    s.layers = 2;
    s.hidden = 16;
    s.heads = 4;
    s.kvHeads = kvHeads;
    s.ffnHidden = 20;
    s.vocabulary = vocabulary;
    s.sequence = 10;
    s.positions = llama ? Positions::Rotary : Positions::Learned;
    s.activation = llama ? Activation::SwiGlu : Activation::Gelu;
    s.normalization = llama ? Normalization::RmsNorm : Normalization::LayerNorm;
    s.biases = !llama;
    s.tiedEmbeddings = !llama;
    return c;
}

const char* nameOf(Recompute r)
{
    return r == Recompute::None ? "none" : r == Recompute::Selective ? "selective" : "full";
}

} // namespace

class TensorParallel : public QObject {
    Q_OBJECT

    static void addRows()
    {
        QTest::addColumn<QString>("plan");
        QTest::addColumn<bool>("llama");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<int>("vocabulary");
        QTest::addColumn<bool>("deferred");
        const auto row = [](const QString& plan, bool llama, int kvHeads, int vocabulary, bool deferred = false) {
            QTest::addRow("%s, %s, %d key/value heads, vocabulary %d%s", qPrintable(plan), llama ? "LLaMA" : "GPT",
                          kvHeads, vocabulary, deferred ? ", deferred" : "")
                << plan << llama << kvHeads << vocabulary << deferred;
        };
        for (const bool llama : {false, true})
            for (const int sp : {0, 1})
                for (const char* attention : {"fused", "unfused"})
                    for (const int fuse : {1, 0})
                        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
                            row(QString("tp=2 sp=%1 attention=%2 fuse=%3 recompute=%4")
                                    .arg(sp)
                                    .arg(attention)
                                    .arg(fuse)
                                    .arg(nameOf(recompute)),
                                llama, llama ? 2 : 4, 24);
        for (const int vocabulary : {23, 5, 26}) {
            row("tp=4", false, 4, vocabulary);
            row("tp=4 sp=1", false, 4, vocabulary);
            row("tp=4 sp=1 overlap=0", true, 4, vocabulary);
        }
        row("tp=2 overlap=0", false, 2, 23);
        row("tp=2 sp=1", false, 2, 23, true);
        row("tp=2", true, 2, 23, true);
        row("", false, 2, 23, true);
        row("recompute=full", true, 1, 23);
        row("recompute=selective attention=unfused", true, 1, 23);
    }

    // Loss and gradients of the row in this format.
    static void check(NumberFormat format, double lossTolerance, double gradientTolerance)
    {
        QFETCH(QString, plan);
        QFETCH(bool, llama);
        QFETCH(int, kvHeads);
        QFETCH(int, vocabulary);
        QFETCH(bool, deferred);
        const auto parsed = parsePlan(plan.toStdString());
        QVERIFY(parsed.ok());
        DecoderCase c = caseOf(llama, kvHeads, vocabulary);
        c.options = {parsed->fusedAttention, parsed->fuse, parsed->recompute};
        c.deferred = deferred;
        const DecoderDifference d = compareDecoder(*parsed, c, format);
        QVERIFY2(d.status.ok(), d.status.ok() ? "" : d.status.error().message().c_str());
        QVERIFY2(d.loss <= lossTolerance, qPrintable(QString("loss differs by %1").arg(d.loss)));
        QVERIFY2(d.gradient <= gradientTolerance,
                 qPrintable(QString("%1 differs by %2").arg(QString::fromStdString(d.where)).arg(d.gradient)));
    }

private slots:
    void inDouble_data() { addRows(); }
    void inDouble() { check({DType::F64, DType::F64}, 1e-12, 1e-10); }

    void inF32_data() { addRows(); }
    void inF32()
    {
        const double tolerance = 400 * unitRoundoff(DType::F32); // as for one rank: a few hundred roundings on a path
        check({DType::F32, DType::F32}, tolerance, tolerance);
    }

    void inBf16_data() { addRows(); }
    void inBf16()
    {
        if (!OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        // About thirty roundings on a path (sums over ranks add some); their root counts, with a margin of 4.
        const double tolerance = 4 * std::sqrt(30.0) * unitRoundoff(DType::Bf16);
        check({DType::Bf16, DType::F32}, tolerance, 4 * tolerance);
    }
};

QTEST_GUILESS_MAIN(TensorParallel)
#include "tst_tensor_parallel.moc"
