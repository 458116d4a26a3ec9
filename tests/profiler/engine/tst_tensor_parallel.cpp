// SPDX-License-Identifier: Apache-2.0
// Networks whose layers and sequences are cut over ranks against the same network on one rank: tensor, sequence and
// context parallelism, recomputation, fused and unfused variants, grouped queries, vocabularies that do not divide. In double on the
// reference device, where nothing but the order of sums differs; in f32 and bf16 on the CPU within their rounding.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "tests/profiler/engine/parallel_decoder_fixture.h"
#include "tests/support/test_program.h"

namespace tst_tensor_parallel {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

enum Style { Gpt, Llama, Encoder };

DecoderCase caseOf(int style, int kvHeads, int vocabulary, int sequence)
{
    const bool llama = style == Llama;
    DecoderCase c;
    c.sequence = sequence;
    TransformerSpec& s = c.spec;
    s.layers = 2;
    s.hidden = 16;
    s.heads = 4;
    s.kvHeads = kvHeads;
    s.ffnHidden = 20;
    s.vocabulary = vocabulary;
    s.sequence = sequence + 2;
    s.positions = llama ? Positions::Rotary : Positions::Learned;
    s.activation = llama ? Activation::SwiGlu : Activation::Gelu;
    s.normalization = llama ? Normalization::RmsNorm : Normalization::LayerNorm;
    s.biases = !llama;
    s.tiedEmbeddings = !llama;
    s.causal = style != Encoder;
    s.postNorm = style == Encoder;
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
        QTest::addColumn<int>("style");
        QTest::addColumn<int>("kvHeads");
        QTest::addColumn<int>("vocabulary");
        QTest::addColumn<int>("sequence");
        QTest::addColumn<bool>("deferred");
        const auto row = [](const QString& plan, int style, int kvHeads, int vocabulary, bool deferred = false,
                            int sequence = 8) {
            const char* const names[] = {"GPT", "LLaMA", "encoder"};
            QTest::addRow("%s, %s, %d key/value heads, vocabulary %d, sequence %d%s", qPrintable(plan), names[style],
                          kvHeads, vocabulary, sequence, deferred ? ", deferred" : "")
                << plan << style << kvHeads << vocabulary << sequence << deferred;
        };
        for (const int style : {Gpt, Llama})
            for (const int sp : {0, 1})
                for (const char* attention : {"fused", "unfused"})
                    for (const int fuse : {1, 0})
                        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full})
                            row(QString("tp=2 sp=%1 attention=%2 fuse=%3 recompute=%4")
                                    .arg(sp)
                                    .arg(attention)
                                    .arg(fuse)
                                    .arg(nameOf(recompute)),
                                style, style == Llama ? 2 : 4, 24);
        for (const int vocabulary : {23, 5, 26}) {
            row("tp=4", Gpt, 4, vocabulary);
            row("tp=4 sp=1", Gpt, 4, vocabulary);
            row("tp=4 sp=1 overlap=0", Llama, 4, vocabulary);
        }
        row("tp=2 overlap=0", Gpt, 2, 23);
        row("tp=2 sp=1", Gpt, 2, 23, true);
        row("tp=2", Llama, 2, 23, true);
        row("", Gpt, 2, 23, true);
        row("recompute=full", Llama, 1, 23);
        row("recompute=selective attention=unfused", Llama, 1, 23);
        row("tp=2 sp=1", Encoder, 4, 23, true);
        row("tp=2 recompute=full", Encoder, 4, 23);
        for (const char* attention : {"fused", "unfused"}) {
            for (const char* cuts : {"cp=2", "cp=4", "cp=2 tp=2 overlap=0", "cp=2 tp=2 sp=1 recompute=full",
                                     "cp=4 recompute=selective overlap=0", "cp=4 tp=2 sp=1"})
                for (const int style : {Gpt, Llama}) row(QString("%1 attention=%2").arg(cuts, attention), style, 2, 23);
            // One stretch per rank, where two do not divide.
            row(QString("cp=2 attention=%1").arg(attention), Llama, 2, 23, false, 6);
            row(QString("cp=3 attention=%1").arg(attention), Gpt, 2, 23, false, 9);
            row(QString("cp=2 tp=2 sp=1 attention=%1").arg(attention), Encoder, 2, 23);
            row(QString("cp=3 attention=%1").arg(attention), Encoder, 2, 23, true, 9);
        }
    }

    // Loss and gradients of the row in this format.
    static void check(NumberFormat format, double lossTolerance, double gradientTolerance)
    {
        QFETCH(QString, plan);
        QFETCH(int, style);
        QFETCH(int, kvHeads);
        QFETCH(int, vocabulary);
        QFETCH(int, sequence);
        QFETCH(bool, deferred);
        const auto parsed = parsePlan(plan.toStdString());
        QVERIFY(parsed.ok());
        DecoderCase c = caseOf(style, kvHeads, vocabulary, sequence);
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

FOURWALLS_TEST(TensorParallel, QCoreApplication)

} // namespace tst_tensor_parallel

#include "tst_tensor_parallel.moc"
