// SPDX-License-Identifier: Apache-2.0
// See claim_predictions.h.
#include "model/claims/claim_predictions.h"

namespace fourwalls::claims {

Result<cost::PredictedStep> predictRun(const ClaimedRun& run)
{
    RunSpec spec;
    spec.model = run.model;
    FOURWALLS_TRY_ASSIGN(spec.cluster, loadCluster(run.cluster));
    FOURWALLS_TRY_ASSIGN(spec.plan, parsePlan(run.plan));
    spec.framework = run.framework;
    spec.training.batch = run.batch;
    spec.training.sequence = run.sequence;
    spec.training.precision = run.precision;
    spec.training.device = DeviceKind::Cuda;
    return cost::predictStep(spec);
}

double deviceHours(const cost::PredictedStep& step, double tokens)
{
    return tokens / step.tokensPerStep * step.seconds * step.devices / 3600;
}

ModelSpec denseModel(std::int64_t layers, std::int64_t hidden, std::int64_t heads)
{
    TransformerSpec t;
    t.layers = layers;
    t.hidden = hidden;
    t.heads = t.kvHeads = heads;
    t.ffnHidden = 4 * hidden;
    t.vocabulary = 51'200;
    t.sequence = 2048;
    return {"dense " + std::to_string(layers) + " x " + std::to_string(hidden), t};
}

ModelSpec bertLarge()
{
    ModelSpec model = denseModel(24, 1024, 16);
    TransformerSpec& t = std::get<TransformerSpec>(model.architecture);
    t.vocabulary = 30'522;
    t.sequence = 512;
    t.causal = false;
    t.embeddingNorm = true;
    t.postNorm = true;
    t.tokenTypes = 2;
    model.name = "BERT-large";
    return model;
}

ModelSpec llama1(int billions)
{
    struct Size {
        int billions;
        std::int64_t layers, hidden, heads, inner;
    };
    constexpr Size kSizes[] = {
        {7, 32, 4096, 32, 11'008}, {13, 40, 5120, 40, 13'824}, {33, 60, 6656, 52, 17'920}, {65, 80, 8192, 64, 22'016}};
    ModelSpec model;
    for (const Size& size : kSizes) {
        if (size.billions != billions) continue;
        model = denseModel(size.layers, size.hidden, size.heads);
        TransformerSpec& t = std::get<TransformerSpec>(model.architecture);
        t.ffnHidden = size.inner;
        t.vocabulary = 32'000;
        t.positions = Positions::Rotary;
        t.activation = Activation::SwiGlu;
        t.normalization = Normalization::RmsNorm;
        t.biases = false;
        t.tiedEmbeddings = false;
    }
    model.name = "LLaMA " + std::to_string(billions) + "B";
    return model;
}

} // namespace fourwalls::claims
