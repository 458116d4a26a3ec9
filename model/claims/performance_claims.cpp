// SPDX-License-Identifier: Apache-2.0
// Claims about speed: whole trainings by the cost model's step, schedules by simulation.
#include "model/claims/claim_predictions.h"
#include "model/claims/claim_text.h"
#include "model/claims/claims.h"
#include "model/cost/schedule_simulation.h"

#include <algorithm>

namespace fourwalls::claims {

namespace {

Claim performanceClaim(std::string id, std::string statement, double claimed, std::string unit, std::string because,
                       std::string working)
{
    return claimOf(Wall::Performance, std::move(id), std::move(statement), claimed, std::move(unit), std::move(because),
                   std::move(working));
}

std::string stepText(const ClaimedRun& run, const cost::PredictedStep& step)
{
    return (run.plan.empty() ? "one device" : run.plan) + " on " + run.cluster + ", " + run.framework + ": step " +
           formatTime(Duration::fromSeconds(step.seconds)) + " of " + figure(step.tokensPerStep) +
           (run.sequence > 0 ? " tokens" : " samples");
}

double days(const cost::PredictedStep& step, double tokens)
{
    return deviceHours(step, tokens) / step.devices / 24;
}

Status addTrainings(std::vector<Claim>& claims)
{
    FOURWALLS_TRY_ASSIGN(const ModelSpec gpt3, loadModel("gpt3-175b"));
    constexpr double kGpt3Tokens = 300e9;
    for (const auto& [id, claimed, devices, dp] :
         {std::tuple{"gpt3-2k-devices", 100.0, "2 K", 16}, {"gpt3-8k-devices", 30.0, "8 K", 64}}) {
        ClaimedRun run{gpt3,
                       "dgx-a100",
                       "tp=8 pp=16 sp=1 recompute=selective microbatches=" + std::to_string(1536 / dp) +
                           " dp=" + std::to_string(dp),
                       "megatron-2022",
                       1536,
                       2048};
        FOURWALLS_TRY_ASSIGN(const cost::PredictedStep step, predictRun(run));
        claims.push_back(
            judged(performanceClaim(id,
                                    std::string("175 B parameters take ") + (claimed > 50 ? "over 100" : "about 30") +
                                        " days on " + devices + " devices",
                                    claimed, "days",
                                    "the source names neither device nor tokens; on A100s with 300 B tokens it is much "
                                    "shorter, so that the "
                                    "claim is about devices of a third of their speed or about more tokens",
                                    stepText(run, step) + "; 300e9 tokens"),
                   days(step, kGpt3Tokens), 0.2));
    }
    FOURWALLS_TRY_ASSIGN(const ModelSpec opt, loadModel("opt-175b"));
    ClaimedRun optRun{opt, "dgx-a100", "tp=8 dp=124 zero=3 recompute=full microbatches=1", "fsdp", 992, 2048};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep optStep, predictRun(optRun));
    claims.push_back(
        judged(performanceClaim("opt-two-months", "OPT-175B took about 2 months on 992 A100-80G", 60, "days",
                                "180 B tokens at the predicted speed take less; the rest were restarts, roll-backs and "
                                "standing still: the source counts at least 35 manual and 70 automatic restarts",
                                stepText(optRun, optStep) + "; 180e9 tokens"),
               days(optStep, 180e9), 0.2));

    FOURWALLS_TRY_ASSIGN(const ModelSpec bloom, loadModel("bloom-176b"));
    ClaimedRun bloomRun{
        bloom, "jean-zay-a100", "tp=4 pp=12 dp=8 recompute=full microbatches=128", "deepspeed-megatron-bf16", 2048,
        2048};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep bloomStep, predictRun(bloomRun));
    claims.push_back(judged(performanceClaim("bloom-384", "BLOOM's TP 4 x PP 12 x DP 8 are 384 A100, 48 nodes of 8",
                                             384, "devices", "the product of the degrees", "4 x 12 x 8 = 48 x 8"),
                            bloomStep.devices, 0));
    claims.push_back(judged(
        performanceClaim("bloom-3.5-months", "BLOOM took 3.5 months", 3.5, "months",
                         "366 B tokens at the predicted speed, without interruptions and the changes made on the "
                         "way; the first part ran with a smaller batch",
                         stepText(bloomRun, bloomStep) + "; 366e9 tokens, 30.4 days a month"),
        days(bloomStep, 366e9) / 30.4, 0.25));
    return {};
}

Status addLlama(std::vector<Claim>& claims)
{
    struct Row {
        int billions;
        double hours, tokens;
        const char* plan;
        std::int64_t batch;
    };
    // Degrees are not published; these are the tensor degrees of the released checkpoints, 4 M tokens a step.
    constexpr Row kRows[] = {{7, 82'432, 1.0e12, "dp=256 zero=1 microbatches=8", 2048},
                             {13, 135'168, 1.0e12, "tp=2 dp=256 zero=1 sp=1 microbatches=8", 2048},
                             {33, 530'432, 1.4e12, "tp=4 dp=256 zero=1 sp=1 microbatches=8", 2048},
                             {65, 1'022'362, 1.4e12, "tp=8 dp=256 zero=1 sp=1 microbatches=8", 2048}};
    for (const Row& row : kRows) {
        ClaimedRun run{llama1(row.billions), "dgx-a100", row.plan, "megatron-core", row.batch, 2048};
        FOURWALLS_TRY_ASSIGN(const cost::PredictedStep step, predictRun(run));
        const std::string size = std::to_string(row.billions);
        claims.push_back(judged(
            performanceClaim("llama-" + size + "b-hours",
                             "LLaMA " + size + "B took " + formatCount(static_cast<std::int64_t>(row.hours)) +
                                 " GPU-hours on A100-80G",
                             row.hours, "GPU-hours",
                             "the plan is an assumption, and the published hours contain restarts and evaluation",
                             stepText(run, step) + "; " + figure(row.tokens) + " tokens"),
            deviceHours(step, row.tokens), 0.2));
    }
    claims.push_back(
        judged(performanceClaim("llama2-70b-days", "Llama-2 70B: 1.72 M GPU-hours on 1024 A100 are 70 days", 70, "days",
                                "the three figures agree", "1.72e6 h / 1024 / 24"),
               1.72e6 / 1024 / 24, 0.02));
    return {};
}

Status addSteps(std::vector<Claim>& claims)
{
    FOURWALLS_TRY_ASSIGN(const ModelSpec resnet, loadModel("resnet50"));
    ClaimedRun images{resnet, "v100-pcie", "", "fsdp", 64, 0, Precision::F16};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep imageStep, predictRun(images));
    claims.push_back(
        judged(performanceClaim("cnn-step", "A step of a CNN takes 100 to 500 ms", 500, "ms",
                                "ResNet-50 with 64 images on a V100 in f16; the range is one of batch sizes",
                                stepText(images, imageStep)),
               imageStep.seconds * 1e3, 0, Relation::AtMost));
    ClaimedRun text{bertLarge(), "v100-pcie", "attention=unfused recompute=full", "fsdp", 32, 512, Precision::F16};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep textStep, predictRun(text));
    claims.push_back(
        judged(performanceClaim("nlp-step", "A step of a language model takes 500 ms to 1 s", 1000, "ms",
                                "BERT-large with 32 x 512 tokens on a V100 in f16; large models today take 5 to 40 s, "
                                "because batches have grown to millions of tokens",
                                stepText(text, textStep)),
               textStep.seconds * 1e3, 0, Relation::AtMost));
    RecommendationSpec sparse;
    sparse.tables = 26;
    sparse.rowsPerTable = 1'000'000;
    sparse.embeddingWidth = 64;
    sparse.denseFeatures = 13;
    sparse.bottomLayers = {512, 256, 64};
    sparse.topLayers = {512, 256, 1};
    ClaimedRun clicks{ModelSpec{"recommendation", sparse}, "v100-pcie", "", "fsdp", 8192, 0, Precision::F32};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep clickStep, predictRun(clicks));
    claims.push_back(
        judged(performanceClaim("recommendation-step", "A step of a recommendation model takes 10 to 100 ms", 100, "ms",
                                "26 tables of a million rows of 64 and a small dense net, 8192 samples on a V100",
                                stepText(clicks, clickStep)),
               clickStep.seconds * 1e3, 0, Relation::AtMost));

    ClaimedRun dense{
        denseModel(48, 7168, 56), "dgx-a100", "dp=64 zero=3 recompute=full microbatches=1", "fsdp", 64, 2048};
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep denseStep, predictRun(dense));
    claims.push_back(judged(
        performanceClaim("no-tp-below-30b", "Below 30 B parameters no tensor parallelism is needed", 80, "GB",
                         "30 B with ZeRO-3 over 64 devices and full recomputation fits an 80 GB device without it",
                         stepText(dense, denseStep) + ", fullest rank"),
        denseStep.peakBytes / 1e9, 0, Relation::AtMost));
    return {};
}

Status addArithmetic(std::vector<Claim>& claims)
{
    claims.push_back(
        judged(performanceClaim("one-minute-68-hours", "On 4 K devices a minute saved per device is 68 hours overall",
                                68, "hours", "device-hours", "4096 min / 60"),
               4096.0 / 60, 0.02));
    claims.push_back(judged(
        performanceClaim("resnet152-40-days",
                         "ResNet-152 on 8 devices: 115 k images take 40 h, 1,740 k take 40 "
                         "days",
                         40, "days",
                         "the two figures do not agree: the time grows with the images, and 40 h x 1740 / 115 are "
                         "605 h",
                         "40 h x 1740 / 115 / 24"),
        40.0 * 1740 / 115 / 24, 0.1));
    const double weights = 2000.0 * 1024 + 1024.0 * 512 + 512.0 * 256;
    claims.push_back(
        judged(performanceClaim("dense-net-parameters", "A dense net 2000-1024-512-256 has 2,703,616 parameters",
                                2'703'616, "parameters",
                                "weights alone are 2,703,360; the claim adds 256 (one more layer to a single output), "
                                "while biases would add 1,792",
                                "2000 x 1024 + 1024 x 512 + 512 x 256 + 256"),
               weights + 256, 0));

    // Naive pipelining: every stage holds its own state, and each of the N - 1 boundaries a tensor.
    constexpr int kStages = 4;
    const auto lists = pipelineActions({PipelineSchedule::Naive, kStages, 1, 1});
    if (!lists) return lists.error();
    int states = 0, boundaries = 0;
    for (int stage = 0; stage < kStages; ++stage) {
        states += mostInFlight((*lists)[static_cast<std::size_t>(stage)]);
        for (const PipelineAction& action : (*lists)[static_cast<std::size_t>(stage)])
            if (action.pass == PipelinePass::Forward &&
                PipelineShape{PipelineSchedule::Naive, kStages, 1, 1}.gives(stage, action))
                ++boundaries;
    }
    claims.push_back(
        judged(performanceClaim("naive-2n-1", "Naive pipelining keeps 2N - 1 intermediate states for N stages",
                                2 * kStages - 1, "states",
                                "counting one state per stage and one tensor per boundary between them, for one "
                                "micro-batch; per device it is two",
                                "N = 4, from the schedule's lists: 4 states and 3 boundaries"),
               states + boundaries, 0));
    return {};
}

} // namespace

Result<std::vector<Claim>> performanceClaims()
{
    std::vector<Claim> claims;
    FOURWALLS_TRY(addTrainings(claims));
    FOURWALLS_TRY(addLlama(claims));
    FOURWALLS_TRY(addSteps(claims));
    FOURWALLS_TRY(addArithmetic(claims));
    return claims;
}

} // namespace fourwalls::claims
