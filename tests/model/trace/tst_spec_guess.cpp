// SPDX-License-Identifier: Apache-2.0
// Specifications put together from what imports inferred: everything known is taken over, everything else is named.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/trace/spec_guess.h"
#include "tests/support/test_program.h"

#include <algorithm>

namespace tst_spec_guess {

using namespace fourwalls;

namespace {

TraceInfo imported(const std::vector<std::pair<std::string, std::string>>& fields, int ranks = 1)
{
    TraceInfo info;
    info.header.source = TraceSource::Imported;
    for (int rank = 0; rank < ranks; ++rank)
        info.header.ranks.push_back({RankId(rank), "NVIDIA A100-SXM4-80GB", "", 0, 0, 1});
    for (const auto& [field, value] : fields) info.audit.push_back(toAudit({field, value, Confidence::High, "a test"}));
    return info;
}

bool assumed(const SpecGuess& guess, const std::string& field)
{
    return std::find(guess.assumed.begin(), guess.assumed.end(), field) != guess.assumed.end();
}

} // namespace

class TestSpecGuess : public QObject {
    Q_OBJECT
private slots:
    void whatWasInferredIsTakenOver()
    {
        const auto guess = guessSpec(imported({{"layers", "24"},
                                               {"hidden", "1024"},
                                               {"heads", "16"},
                                               {"vocabulary", "50304"},
                                               {"sequence", "2048"},
                                               {"tp", "2"},
                                               {"pp", "2"},
                                               {"dp", "4"},
                                               {"microbatches", "8"},
                                               {"microbatch_size", "2"},
                                               {"precision", "bf16"},
                                               {"optimizer", "FusedAdam"},
                                               {"device", "NVIDIA A100-SXM4-80GB"}},
                                              16));
        QVERIFY(guess);
        const TransformerSpec* network = guess->spec.model.transformer();
        QVERIFY(network);
        QCOMPARE(network->layers, 24);
        QCOMPARE(network->hidden, 1024);
        QCOMPARE(network->heads, 16);
        QCOMPARE(network->vocabulary, 50304);
        QCOMPARE(formatPlan(guess->spec.plan), std::string("dp=4 tp=2 pp=2 microbatches=8"));
        QCOMPARE(guess->spec.training.batch, 4 * 8 * 2);
        QCOMPARE(guess->spec.training.sequence, 2048);
        QCOMPARE(guess->spec.training.precision, Precision::Bf16);
        QCOMPARE(guess->spec.cluster.name, std::string("dgx-a100"));
        QCOMPARE(guess->spec.cluster.devicesPerNode * guess->spec.cluster.nodes, 16);
        QCOMPARE(guess->spec.framework, std::string("megatron-core"));
        // Only what a profile never shows is left to ask for.
        QCOMPARE(guess->assumed, (std::vector<std::string>{"kv_heads", "ffn_hidden", "framework"}));
        QCOMPARE(guess->evidence.size(), std::size_t{13});
    }

    void theRestIsUsualAndNamed()
    {
        const auto guess = guessSpec(imported({{"hidden", "4096"}}, 4));
        QVERIFY(guess);
        const TransformerSpec* network = guess->spec.model.transformer();
        QCOMPARE(network->layers, 32);
        QCOMPARE(network->heads, 32);
        QCOMPARE(network->ffnHidden, 16384);
        QCOMPARE(guess->spec.plan.dp, 4);
        for (const char* field : {"layers", "heads", "vocabulary", "sequence", "dp", "microbatches", "microbatch_size",
                                  "precision", "optimizer"})
            QVERIFY2(assumed(*guess, field), field);
        QVERIFY(!assumed(*guess, "hidden"));
        QVERIFY(!assumed(*guess, "device"));
    }

    void anUnknownDeviceIsTheNearestOneWithItsOwnFigures()
    {
        TraceInfo info = imported({{"layers", "2"}, {"hidden", "256"}, {"device", "Example H100 NVL"}});
        info.closing.peakFlopsPerDevice = 5e14;
        const auto guess = guessSpec(info);
        QVERIFY(guess);
        QVERIFY(assumed(*guess, "device"));
        QCOMPARE(guess->spec.cluster.device.family, std::string("hopper"));
        QCOMPARE(guess->spec.cluster.device.name, std::string("Example H100 NVL"));
        QCOMPARE(guess->spec.cluster.device.peak(Precision::Bf16), std::optional(5e14));
    }

    /// No preset is of its kind: any rates would be another device's.
    void aDeviceWithoutRatesIsNotGuessed()
    {
        TraceInfo info = imported({{"layers", "2"}, {"hidden", "256"}, {"device", "Quantum Abacus 9"}});
        QVERIFY(!guessSpec(info));
    }

    void partsThatDoNotFitAreTakenBack()
    {
        // 12 heads cannot be cut in 5.
        const auto guess = guessSpec(
            imported({{"layers", "12"}, {"hidden", "768"}, {"heads", "12"}, {"tp", "5"}, {"world_size", "5"}}));
        QVERIFY(guess);
        QCOMPARE(guess->spec.plan.tp, 1);
        QCOMPARE(guess->spec.plan.dp, 5);
        QVERIFY(assumed(*guess, "tp"));
        // Heads that do not divide the width.
        const auto heads = guessSpec(imported({{"hidden", "1000"}, {"heads", "7"}}));
        QVERIFY(heads);
        QCOMPARE(heads->spec.model.transformer()->hidden % heads->spec.model.transformer()->heads, 0);
        QVERIFY(assumed(*heads, "heads"));
    }

    void strangersNumbersAreNotBelieved()
    {
        QVERIFY(!guessSpec(imported({{"layers", "-3"}, {"hidden", "99999999999999999999"}, {"heads", "x"}})));
        const auto guess = guessSpec(imported({{"layers", "2"},
                                               {"hidden", "64"},
                                               {"heads", "1"},
                                               {"dp", "60000"},
                                               {"tp", "60000"},
                                               {"microbatches", "60000"}}));
        QVERIFY(guess);
        QCOMPARE(guess->spec.plan.worldSize(), 1);
        QCOMPARE(guess->spec.training.batch, 60000);
        QVERIFY(assumed(*guess, "tp"));
    }

    void tracesThatKnowAreNotGuessed()
    {
        TraceInfo info = imported({{"layers", "2"}});
        info.header.spec = RunSpec{};
        QVERIFY(!guessSpec(info));
        QVERIFY(!guessSpec(imported({{"device", "NVIDIA H100 80GB HBM3"}})));
    }
};

FOURWALLS_TEST(TestSpecGuess, QCoreApplication)

} // namespace tst_spec_guess

#include "tst_spec_guess.moc"
