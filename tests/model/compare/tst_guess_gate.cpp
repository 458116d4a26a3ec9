// SPDX-License-Identifier: Apache-2.0
// A guess is shown beside a trace only if what it implies was recorded.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/compare/guess_gate.h"
#include "tests/support/test_program.h"

namespace tst_guess_gate {

using namespace fourwalls;
using namespace fourwalls::compare;

namespace {

/// Two layers of width 64 with 4 heads, an inner width of 256, 1000 words; one rank, one micro-batch of 2 times 32 tokens.
RunSpec smallSpec()
{
    RunSpec spec;
    TransformerSpec network;
    network.layers = 2;
    network.hidden = 64;
    network.heads = network.kvHeads = 4;
    network.ffnHidden = 256;
    network.vocabulary = 1000;
    network.sequence = 32;
    spec.model = {"inferred", network};
    spec.training.batch = 2;
    spec.training.sequence = 32;
    return spec;
}

TraceInfo infoOf(const char* device)
{
    TraceInfo info;
    info.header.source = TraceSource::Imported;
    info.header.ranks.push_back({RankId(0), device, "", 0, 0, 1});
    return info;
}

/// What a step of smallSpec leaves: each product forward, and backward for both operands.
SpecEvidenceData recordedWork()
{
    SpecEvidenceData data;
    data.hasForward = data.hasBackward = data.hasOptimizer = true;
    data.steps = 1;
    const auto product = [&data](std::int64_t from, std::int64_t to, std::int64_t times) {
        data.products[{64, from, to}] += times;
        data.products[{64, to, from}] += times;
        data.products[{from, 64, to}] += times;
    };
    product(64, 192, 2);
    product(64, 64, 2);
    product(64, 256, 2);
    product(256, 64, 2);
    product(64, 1000, 1);
    data.attention[{2, 4, 32, 16}] = 2;
    return data;
}

constexpr const char* kKnownDevice = "NVIDIA A100-SXM4-80GB";

GateReason reasonOf(const SpecEvidenceData& data, std::optional<double> predicted = 1.0,
                    const char* device = kKnownDevice)
{
    const RunSpec spec = smallSpec();
    return judgeGuess(infoOf(device), data, &spec, {}, 1.0, predicted).reason;
}

} // namespace

class TestGuessGate : public QObject {
    Q_OBJECT
private slots:
    void whatMatchesIsAllowed()
    {
        QCOMPARE(reasonOf(recordedWork()), GateReason::Allowed);
        QCOMPARE(reasonOf(recordedWork(), std::nullopt), GateReason::Allowed);
        const RunSpec spec = smallSpec();
        const GuessVerdict verdict = judgeGuess(infoOf(kKnownDevice), recordedWork(), &spec, {}, 1.0, 1.0);
        // Nine products three times each: (4 x 2 + 1) x 3.
        QCOMPARE(verdict.facts[2].expected, std::string("27"));
        QCOMPARE(verdict.facts[2].found, std::string("27"));
        QCOMPARE(verdict.facts[1].expected, std::string("2"));
    }

    void onlyTraining()
    {
        SpecEvidenceData forwardOnly = recordedWork();
        forwardOnly.hasBackward = false;
        QCOMPARE(reasonOf(forwardOnly), GateReason::NotTraining);
        SpecEvidenceData noUpdate = recordedWork();
        noUpdate.hasOptimizer = false;
        QCOMPARE(reasonOf(noUpdate), GateReason::NotTraining);
    }

    void anUnknownDeviceHasNoRates()
    {
        QCOMPARE(reasonOf(recordedWork(), 1.0, "CPU"), GateReason::UnknownDevice);
        QCOMPARE(reasonOf(recordedWork(), 1.0, ""), GateReason::UnknownDevice);
    }

    /// Near the step by luck, and yet another network.
    void factsCountMoreThanTheStep()
    {
        SpecEvidenceData layers = recordedWork();
        layers.attention[{2, 4, 32, 16}] = 4;
        QCOMPARE(reasonOf(layers), GateReason::FactsDiffer);
        SpecEvidenceData larger = recordedWork();
        larger.products[{64, 4096, 4096}] = 6; // work that the guess knows nothing of
        QCOMPARE(reasonOf(larger), GateReason::FactsDiffer);
        SpecEvidenceData shapeless = recordedWork();
        shapeless.products.clear();
        QCOMPARE(reasonOf(shapeless), GateReason::FactsDiffer);
        SpecEvidenceData ranks = recordedWork();
        ranks.worldSize = 8;
        QCOMPARE(reasonOf(ranks), GateReason::FactsDiffer);
    }

    void theStepHasToBeNear()
    {
        QCOMPARE(reasonOf(recordedWork(), 1.29), GateReason::Allowed);
        QCOMPARE(reasonOf(recordedWork(), 1.31), GateReason::StepDiffers);
        QCOMPARE(reasonOf(recordedWork(), 0.69), GateReason::StepDiffers);
        const RunSpec spec = smallSpec();
        QCOMPARE(judgeGuess(infoOf(kKnownDevice), recordedWork(), &spec, {}, std::nullopt, 1.0).reason,
                 GateReason::StepUnknown);
        QCOMPARE(judgeGuess(infoOf(kKnownDevice), recordedWork(), nullptr, {}, 1.0, 1.0).reason, GateReason::NoGuess);
    }
};

FOURWALLS_TEST(TestGuessGate, QCoreApplication)

} // namespace tst_guess_gate

#include "tst_guess_gate.moc"
