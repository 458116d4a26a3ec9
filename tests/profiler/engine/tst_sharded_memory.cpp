// SPDX-License-Identifier: Apache-2.0
// What ranks hold: weights, gradients and optimizer state of every ZeRO stage, of tensor-parallel ranks and of pipelines
// against what the papers say, and how many micro-batches a stage of each schedule holds at once.
#include <QtTest> // first: moc stumbles over <compare> otherwise

#include "model/spec/pipeline_schedule.h"
#include "tests/profiler/engine/parity_fixture.h"
#include "tests/support/test_program.h"

namespace tst_sharded_memory {

using namespace fourwalls;
using namespace fourwalls::engine;
using namespace fourwalls::engine::testing;

namespace {

constexpr NumberFormat kSingle{DType::F32, DType::F32}, kMixed{DType::Bf16, DType::F32};

RunSpec memorySpec(const std::string& plan, Optimizer optimizer)
{
    RunSpec spec = paritySpec(plan, 4, 8);
    auto& t = std::get<TransformerSpec>(spec.model.architecture);
    t.hidden = 32;
    t.ffnHidden = 128;
    spec.training.steps = 2;
    spec.training.optimizer = optimizer;
    return spec;
}

double peak(const MemoryStatistics& memory, MemoryCategory category)
{
    return static_cast<double>(memory.categoryPeaks[static_cast<std::size_t>(category)]);
}

// Weights, gradients and optimizer state that a rank should hold [bytes].
struct Share {
    double weights = 0, gradients = 0, states = 0;
};

// The largest share by which any rank's peaks are off; prints rank 0's. A plan's cuts are the same on all ranks, or those
// of the rank's stage.
double printAndCompare(const char* plan, const std::vector<MemoryStatistics>& ranks, const std::vector<Share>& theory)
{
    double largest = 0;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto off = [&](MemoryCategory category, double expected) {
            return std::abs(peak(ranks[rank], category) / expected - 1);
        };
        largest = std::max({largest, off(MemoryCategory::Weights, theory[rank].weights),
                            off(MemoryCategory::Gradients, theory[rank].gradients),
                            off(MemoryCategory::OptimizerState, theory[rank].states)});
    }
    const MemoryStatistics& first = ranks.front();
    qInfo(
        "%-40s weights %6.0f B (theory %6.0f), gradients %6.0f (%6.0f), optimizer %6.0f (%6.0f), largest deviation of "
        "a rank %.2f %%",
        plan, peak(first, MemoryCategory::Weights), theory.front().weights, peak(first, MemoryCategory::Gradients),
        theory.front().gradients, peak(first, MemoryCategory::OptimizerState), theory.front().states, 100 * largest);
    return largest;
}

} // namespace

class ShardedMemory : public QObject {
    Q_OBJECT

private slots:
    void zeroStagesHoldTheirShare_data()
    {
        QTest::addColumn<int>("zero");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<bool>("mixed");
        for (const bool mixed : {false, true})
            for (int zero = 0; zero <= 3; ++zero)
                for (const int ranks : {2, 4})
                    QTest::addRow("zero=%d dp=%d %s", zero, ranks, mixed ? "bf16" : "f32") << zero << ranks << mixed;
    }

    void zeroStagesHoldTheirShare()
    {
        QFETCH(int, zero);
        QFETCH(int, ranks);
        QFETCH(bool, mixed);
        if (mixed && !OneDnnMatmul::supportsBf16()) QSKIP("this processor has no bf16 products in oneDNN");
        const RunSpec spec =
            memorySpec("dp=" + std::to_string(ranks) + " zero=" + std::to_string(zero), Optimizer::AdamW);
        const PlanOutcome outcome = runPlan(spec, mixed ? kMixed : kSingle);
        QVERIFY2(outcome.error.empty(), outcome.error.c_str());
        // Rajbhandari et al. 2020, figure 1, with 4 bytes each for gradients and both moments. Weights: 4 bytes, in
        // mixed precision 2 for the copies of matrices (all but norms, biases and learned positions) beside them, whose
        // master weights belong to what is cut from stage 1 on.
        double matrices = 0, vectors = 0;
        for (const auto& [name, values] : outcome.weights) {
            const bool rounded = values.size() > 128 && name.find("wpe") == std::string::npos;
            (rounded && name.find("bias") == std::string::npos ? matrices : vectors) +=
                static_cast<double>(values.size());
        }
        const double all = matrices + vectors, n = ranks;
        double weights = 4 * all;
        if (mixed) {
            weights = 6 * matrices + 4 * vectors;
            if (zero == 1 || zero == 2) weights = 2 * matrices + 4 * matrices / n + 4 * vectors;
        }
        if (zero == 3) weights /= n;
        const double gradients = 4 * all / (zero >= 2 ? n : 1), states = 8 * all / (zero >= 1 ? n : 1);
        const std::vector<Share> theory(outcome.memory.size(), Share{weights, gradients, states});
        QVERIFY(printAndCompare(QTest::currentDataTag(), outcome.memory, theory) < 0.02);
    }

    void tensorRanksHoldTheirPart_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"tp=2", "tp=4", "tp=2 sp=1", "tp=2 recompute=full", "recompute=full",
                                 "recompute=selective attention=unfused", "tp=2 pp=2 microbatches=2 recompute=full"})
            QTest::newRow(plan) << plan;
    }

    void tensorRanksHoldTheirPart()
    {
        QFETCH(QString, plan);
        const RunSpec spec = memorySpec(plan.toStdString(), Optimizer::AdamW);
        const PlanOutcome outcome = runPlan(spec, kSingle);
        QVERIFY2(outcome.error.empty(), outcome.error.c_str());
        // Shoeybi et al. 2019, section 3: matrices and the table are cut, with the biases of what is cut by columns; norms,
        // positions and the biases behind the sums are whole. Recomputation changes none of it.
        const auto ends = [](const std::string& name, const char* end) { return name.ends_with(end); };
        const std::size_t stages = static_cast<std::size_t>(spec.plan.pp),
                          tensor = static_cast<std::size_t>(spec.plan.tp);
        std::vector<double> held(stages);
        for (const auto& [name, values] : outcome.weights) {
            const bool cut = name.find("wte") != std::string::npos || name.find("c_attn") != std::string::npos ||
                             name.find("c_fc") != std::string::npos || ends(name, "c_proj.weight");
            const auto elements = static_cast<double>(values.size()) / (cut ? static_cast<double>(tensor) : 1);
            const std::size_t layer = name.find(".h.");
            if (layer != std::string::npos)
                held[static_cast<std::size_t>(name[layer + 3] - '0') * stages / 4] += elements;
            else if (name.find("wte") != std::string::npos && stages > 1)
                held.front() += elements, held.back() += elements; // tied: a copy on either end
            else
                (name.find("ln_f") != std::string::npos ? held.back() : held.front()) += elements;
        }
        std::vector<Share> theory;
        for (std::size_t rank = 0; rank < outcome.memory.size(); ++rank) { // tensor ranks are counted fastest
            const double bytes = 4 * held[rank / tensor];
            theory.push_back({bytes, bytes, 2 * bytes});
        }
        QVERIFY(printAndCompare(QTest::currentDataTag(), outcome.memory, theory) < 0.02);
    }

    void stagesHoldTheirLayers()
    {
        const RunSpec spec = memorySpec("pp=4 microbatches=4", Optimizer::AdamW);
        const PlanOutcome outcome = runPlan(spec, kSingle);
        QVERIFY2(outcome.error.empty(), outcome.error.c_str());
        double layer = 0, table = 0, rest = 0, positions = 0;
        for (const auto& [name, values] : outcome.weights) {
            const auto n = static_cast<double>(values.size());
            (name.find(".h.") != std::string::npos   ? layer
             : name.find("wte") != std::string::npos ? table
             : name.find("wpe") != std::string::npos ? positions
                                                     : rest) += n;
        }
        const double expected[] = {table + positions + layer / 4, layer / 4, layer / 4, layer / 4 + rest + table};
        std::vector<Share> theory;
        for (const double elements : expected) theory.push_back({4 * elements, 4 * elements, 8 * elements});
        QVERIFY(printAndCompare("pp=4 microbatches=4", outcome.memory, theory) < 0.02);
    }

    void stagesHoldAsManyMicrobatchesAsTheScheduleSays_data()
    {
        QTest::addColumn<QString>("plan");
        for (const char* plan : {"pp=4 schedule=naive microbatches=8", "pp=4 schedule=gpipe microbatches=8",
                                 "pp=4 microbatches=8", "pp=2 vpp=2 microbatches=8", "pp=4 schedule=zb microbatches=8",
                                 "pp=4 schedule=zb2p microbatches=8", "pp=2 schedule=zbv microbatches=8"})
            QTest::newRow(plan) << plan;
    }

    void stagesHoldAsManyMicrobatchesAsTheScheduleSays()
    {
        QFETCH(QString, plan);
        const RunSpec spec = memorySpec(plan.toStdString(), Optimizer::Sgd);
        const PlanOutcome outcome = runPlan(spec, kSingle);
        QVERIFY2(outcome.error.empty(), outcome.error.c_str());
        const PipelineShape shape = pipelineShape(spec.plan);
        const auto actions = pipelineActions(shape);
        QVERIFY(actions.ok());
        std::string held, said;
        for (std::size_t stage = 0; stage < actions->size(); ++stage) {
            held += ' ' + std::to_string(outcome.mostInFlight[stage]);
            said += ' ' + std::to_string(mostInFlight((*actions)[stage]));
        }
        qInfo("%s: micro-batches in flight by stage%s, by the schedule%s", qPrintable(plan), held.c_str(),
              said.c_str());
        QCOMPARE(held, said);
        // Equal inner stages: memory follows the number held. (First and last have the embedding's and the head's.)
        if (shape.stages < 4 || shape.splitsBackward()) return;
        const double one = peak(outcome.memory[1], MemoryCategory::Activations) / outcome.mostInFlight[1];
        const double other = peak(outcome.memory[2], MemoryCategory::Activations) / outcome.mostInFlight[2];
        QVERIFY2(std::abs(one / other - 1) < 0.1, qPrintable(QString("%1 %2").arg(one).arg(other)));
    }
};

FOURWALLS_TEST(ShardedMemory, QCoreApplication)

} // namespace tst_sharded_memory

#include "tst_sharded_memory.moc"
