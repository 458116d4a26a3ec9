// SPDX-License-Identifier: Apache-2.0
// The maximal update parametrisation against table 8 of Yang et al. 2022 by hand, updates with rates of single parameters
// against closed forms, and what it is for: what a step changes does not grow with the width.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/spec/width_transfer.h"
#include "profiler/engine/nn/maximal_update.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/optimizer.h"
#include "tests/profiler/engine/engine_fixture.h"
#include "tests/support/test_program.h"

#include <algorithm>
#include <cmath>

namespace tst_maximal_update {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

RunSpec specOf(std::int64_t width, std::int64_t base, Optimizer optimizer = Optimizer::AdamW, bool tied = true)
{
    TransformerSpec t;
    t.layers = 2;
    t.hidden = 32;
    t.heads = 4;
    t.kvHeads = 4;
    t.ffnHidden = 64;
    t.vocabulary = 256;
    t.sequence = 16;
    t.tiedEmbeddings = tied;
    RunSpec spec;
    spec.model = *withWidth({"small", t}, width);
    spec.training.steps = 4;
    spec.training.batch = 4;
    spec.training.warmupFraction = 0;
    spec.training.optimizer = optimizer;
    spec.cluster.name = "this-machine";
    if (base > 0) setMupBaseWidth(spec, base);
    const Status status = resolve(spec);
    Q_ASSERT(status.ok());
    return spec;
}

double deviationOf(const Parameter& parameter)
{
    double squares = 0;
    const std::int64_t n = std::min<std::int64_t>(parameter.shape.elements(), 4096);
    for (std::int64_t i = 0; i < n; ++i) squares += parameter.initial(i) * parameter.initial(i);
    return std::sqrt(squares / static_cast<double>(n));
}

std::vector<StepProgress> train(const RunSpec& spec)
{
    RunOptions options;
    options.measurePeak = false;
    const auto report = runTraining(spec, options);
    Q_ASSERT(report.ok());
    return report->steps;
}

} // namespace

class MaximalUpdateTest : public QObject {
    Q_OBJECT

private slots:
    void factorsOfTable8_data()
    {
        QTest::addColumn<bool>("sgd");
        QTest::newRow("adamw") << false;
        QTest::newRow("sgd") << true;
    }

    void factorsOfTable8()
    {
        QFETCH(bool, sgd);
        constexpr double m = 4;
        for (const bool tied : {true, false}) {
            const RunSpec spec = specOf(128, 32, sgd ? Optimizer::Sgd : Optimizer::AdamW, tied);
            TestRank rank(DType::F32);
            rank.context->describeOnly = true;
            const auto network = makeNetwork(*rank.context, spec);
            QVERIFY(network.ok());
            const ParameterList& list = network->chunks.front()->parameters();
            applyMaximalUpdate(list, spec);
            int hidden = 0, finalNorms = 0, others = 0;
            for (const auto& p : list.all()) {
                const QString name = QString::fromStdString(p->name);
                QVERIFY2(std::abs(p->rateScale * p->decayScale - 1) < 1e-12, qPrintable(name));
                if (name.contains(QLatin1String(".h.")) && p->decays) {
                    // A fan-in m times as wide: variance 1/m; Adam's rate 1/m, that of SGD as it is.
                    ++hidden;
                    const double plain = name.contains(QLatin1String("c_proj")) ? 0.02 / std::sqrt(4.0) : 0.02;
                    QVERIFY2(std::abs(deviationOf(*p) / (plain / 2) - 1) < 0.05, qPrintable(name));
                    QCOMPARE(p->rateScale, sgd ? 1.0 : 1 / m);
                } else if (name.contains(QLatin1String("ln_f"))) {
                    // The factor of the logits.
                    ++finalNorms;
                    QCOMPARE(p->initial(0), name.endsWith(QLatin1String("weight")) ? 1 / m : 0.0);
                    QCOMPARE(p->rateScale, 1 / m);
                } else {
                    ++others;
                    if (p->decays) QVERIFY2(std::abs(deviationOf(*p) / 0.02 - 1) < 0.05, qPrintable(name));
                    QCOMPARE(p->rateScale, sgd ? m : 1.0);
                }
            }
            QCOMPARE(hidden, 2 * 4);
            QCOMPARE(finalNorms, 2);
            QVERIFY(others > 10);
        }
    }

    void atTheBaseWidthNothingChanges()
    {
        for (const Optimizer optimizer : {Optimizer::AdamW, Optimizer::Sgd}) {
            const auto plain = train(specOf(32, 0, optimizer)), mup = train(specOf(32, 32, optimizer));
            for (std::size_t i = 0; i < plain.size(); ++i) {
                QCOMPARE(mup[i].loss, plain[i].loss);
                QCOMPARE(mup[i].gradientNorm, plain[i].gradientNorm);
            }
        }
    }

    void updatesFollowTheParametersRate_data()
    {
        QTest::addColumn<bool>("fuse");
        QTest::newRow("one kernel") << true;
        QTest::newRow("elementary passes") << false;
    }

    void updatesFollowTheParametersRate()
    {
        // Under a constant gradient AdamW moves by its rate after a decay by 1 - rate x decay, and momentum by the sums of a
        // geometric series (tst_optimizer); here with a rate and a decay of the parameter's own.
        QFETCH(bool, fuse);
        constexpr double w0 = 2, g = 0.5, rate = 0.01, scale = 0.25;
        constexpr int steps = 20;
        for (const Optimizer kind : {Optimizer::AdamW, Optimizer::Sgd}) {
            TestRank rank(DType::F64);
            ParameterList list;
            Parameter& p = list.addMatrix(*rank.context, 1, "m", 1, 1, 0.0);
            p.rateScale = scale;
            p.decayScale = 1 / scale;
            TrainingSettings settings;
            settings.optimizer = kind;
            settings.learningRate = rate;
            settings.steps = 1'000'000'000;
            settings.warmupFraction = 0;
            settings.clipNorm = 0;
            UpdateOptions options;
            options.fuse = fuse;
            ParameterOptimizer optimizer(*rank.context, wholePieces(list), settings, options);
            setElement(p.weight, 0, w0);
            double expected = w0, velocity = 0;
            const double own = scale * rate, decay = settings.weightDecay / scale;
            for (int t = 0; t < steps; ++t) {
                setElement(p.gradient, 0, g);
                p.gradientEmpty = false;
                if (kind == Optimizer::AdamW) {
                    expected = expected * (1 - own * decay) - own * g / (g + settings.epsilon);
                } else {
                    velocity = settings.momentum * velocity + g + decay * expected;
                    expected -= own * velocity;
                }
                optimizer.update(*rank.context, 1, t);
            }
            QVERIFY(std::abs(element(p.weight, 0) - expected) < 1e-10);
        }
    }

    void whatAStepChangesDoesNotGrowWithTheWidth()
    {
        // The first update changes the loss by about as much at all widths (a "coordinate check" in short); without the
        // parametrisation the same rate changes it by more and more.
        const auto fall = [](std::int64_t width, std::int64_t base) {
            RunSpec spec = specOf(width, base);
            spec.training.learningRate = 0.001;
            const auto steps = train(spec);
            return steps[0].loss - steps[1].loss;
        };
        const double narrow = fall(32, 32), wide = fall(256, 32), plain = fall(256, 0);
        QVERIFY(narrow > 0);
        QVERIFY2(wide > 0.5 * narrow && wide < 2 * narrow, qPrintable(QString("%1 %2").arg(narrow).arg(wide)));
        QVERIFY2(plain > 2 * narrow, qPrintable(QString("%1 %2").arg(narrow).arg(plain)));
    }

    void plansAgree()
    {
        // Rates of single parameters reach every piece of a cut network.
        const auto whole = train(specOf(64, 32));
        for (const char* plan : {"dp=2 zero=3", "tp=2", "pp=2 microbatches=2", "offload=optimizer", "fuse=0"}) {
            RunSpec spec = specOf(64, 32);
            spec.plan = *parsePlan(plan);
            QVERIFY(resolve(spec).ok());
            const auto cut = train(spec);
            for (std::size_t i = 0; i < whole.size(); ++i)
                QVERIFY2(std::abs(cut[i].loss - whole[i].loss) < 2e-4 * whole[i].loss, plan);
        }
    }

    void refusesWhatItIsNotFor()
    {
        for (const char* name : {"resnet50", "moe-tiny", "bert-tiny", "dlrm-tiny", "deepseek-tiny"}) {
            RunSpec spec = specOf(32, 32);
            spec.model = *loadModel(name);
            QCOMPARE(checkMaximalUpdate(spec).error().code, ErrorCode::Unsupported);
            setMupBaseWidth(spec, 0);
            QVERIFY(checkMaximalUpdate(spec).ok());
        }
        RunSpec served = specOf(32, 32);
        served.plan = *parsePlan("dp=2 ps=sync servers=1");
        QCOMPARE(checkMaximalUpdate(served).error().code, ErrorCode::Unsupported);
    }
};

FOURWALLS_TEST(MaximalUpdateTest, QCoreApplication)

} // namespace tst_maximal_update

#include "tst_maximal_update.moc"
