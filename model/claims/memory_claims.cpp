// SPDX-License-Identifier: Apache-2.0
// Claims about memory: states of parameters by arithmetic, activations by the cost model.
#include "model/claims/claim_predictions.h"
#include "model/claims/claim_text.h"
#include "model/claims/claims.h"
#include "model/cost/priced_step.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::claims {

namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

Claim memoryClaim(std::string id, std::string statement, double claimed, std::string unit, std::string because,
                  std::string working)
{
    return claimOf(Wall::Memory, std::move(id), std::move(statement), claimed, std::move(unit), std::move(because),
                   std::move(working));
}

/// Bytes that one image leaves behind for the backward pass, and the parameters.
struct ImageNetwork {
    double activationBytes = 0, workingBytes = 0, parameters = 0;
};

Result<ImageNetwork> imageNetwork(std::int64_t depth, std::int64_t size)
{
    ClaimedRun run{ModelSpec{"resnet", ResNetSpec{depth, size, 1000}}, "v100-pcie", "", "fourwalls"};
    run.precision = Precision::F32;
    FOURWALLS_TRY_ASSIGN(const cost::PredictedStep step, predictRun(run));
    const cost::SimulatedStage& stage = step.priced->step.stages.front();
    return ImageNetwork{stage.peakActivations, stage.peakTransient, static_cast<double>(parameterCount(run.model))};
}

Status addImageClaims(std::vector<Claim>& claims)
{
    FOURWALLS_TRY_ASSIGN(const ImageNetwork r50, imageNetwork(50, 224));
    const double states = r50.parameters * 12; // weights, gradients, momentum in fp32
    const double dynamic = 32 * r50.activationBytes;
    claims.push_back(
        judged(memoryClaim("resnet50-peak", "ResNet-50, batch 32, 224 x 224: a step climbs to 1.2 GB", 1.2, "GB",
                           "keeping every convolution's and normalisation's input in fp32 takes more; 1.2 GB needs "
                           "in-place activations and normalisations that recompute their input",
                           figure(r50.parameters) + " parameters x 12 B + 32 x " + figure(r50.activationBytes / 1e6) +
                               " MB of activations"),
               (states + dynamic) / kGiga, 0.2));
    claims.push_back(
        judged(memoryClaim("resnet50-resident", "After the step 320 MB stay resident", 320, "MB",
                           "weights, gradients and momentum in fp32; the rest is what the allocator rounds up",
                           figure(r50.parameters) + " parameters x 3 x 4 B"),
               states / 1e6, 0.1));
    claims.push_back(
        judged(memoryClaim("resnet50-weights", "ResNet-50's weights take 250 MB", 250, "MB",
                           "25.6 million parameters are 102 MB in fp32; 250 MB is neither fp32 nor a checkpoint with "
                           "momentum",
                           figure(r50.parameters) + " x 4 B"),
               r50.parameters * 4 / 1e6, 0.1));
    claims.push_back(judged(memoryClaim("resnet50-optimizer", "ResNet-50's optimizer takes 900 MB", 900, "MB",
                                        "gradients and two moments of Adam in fp32 are a third of it",
                                        figure(r50.parameters) + " x 12 B"),
                            r50.parameters * 12 / 1e6, 0.1));
    claims.push_back(memoryClaim("resnet50-dynamic", "ResNet-50's dynamic memory is 25 GB", 25, "GB",
                                 "no batch is given; it holds at " + figure(25e9 / r50.activationBytes) +
                                     " images of 224 x 224 in "
                                     "fp32",
                                 "25 GB / " + figure(r50.activationBytes / 1e6) + " MB per image"));
    FOURWALLS_TRY_ASSIGN(const ImageNetwork r152, imageNetwork(152, 512));
    claims.push_back(judged(memoryClaim("resnet152-16gb", "ResNet-152, batch 128, 512 x 512, takes 16 GB", 16, "GB",
                                        "activations grow with the square of the image: one image of 512 x 512 keeps " +
                                            figure(r152.activationBytes / kGiga) + " GB in fp32; 16 GB hold " +
                                            figure(std::floor(16e9 / r152.activationBytes)) + " of them",
                                        figure(r152.parameters) + " parameters x 12 B + 128 x " +
                                            figure(r152.activationBytes / kGiga) + " GB"),
                            (r152.parameters * 12 + 128 * r152.activationBytes) / kGiga, 0.2));
    return {};
}

Status addStateClaims(std::vector<Claim>& claims)
{
    claims.push_back(
        judged(memoryClaim("16gb-2b",
                           "A 16 GB device holds at most 2+ billion parameters with nothing left for "
                           "activations",
                           2, "billion",
                           "weights and gradients in fp32; with mixed precision and Adam (16 B per parameter) it is "
                           "1.0 billion",
                           "16e9 B / (4 + 4) B"),
               16e9 / 8 / 1e9, 0.1));
    claims.push_back(
        judged(memoryClaim("pangu-parameters", "PanGu with 200 B parameters has 754 GB of parameters", 754, "GiB",
                           "fp32, counted in GiB: 745; 754 may have two digits swapped", "200e9 x 4 B / 2^30"),
               200e9 * 4 / (1024.0 * 1024 * 1024), 0.02));
    claims.push_back(judged(
        memoryClaim("pangu-training", "It takes 3500 GB and more in training", 3500, "GB",
                    "16 B per parameter, the least that Adam needs, are 3200 GB; 3500 and more takes gradients in fp32 "
                    "beside fp16 weights (18 B: 3600 GB), or 300 GB of activations over all devices",
                    "200e9 x 16 B"),
        200e9 * 16 / kGiga, 0, Relation::AtLeast));
    claims.push_back(judged(memoryClaim("pangu-devices", "It needs 100+ devices of 32 GB", 100, "devices",
                                        "states alone", "200e9 x 16 B / 32e9 B"),
                            std::ceil(200e9 * 16 / 32e9), 0, Relation::AtLeast));

    FOURWALLS_TRY_ASSIGN(const ModelSpec gpt3, loadModel("gpt3-175b"));
    const auto n = static_cast<double>(parameterCount(gpt3));
    const std::string parameters = figure(n / 1e9) + "e9 parameters of the preset";
    claims.push_back(judged(
        memoryClaim("gpt3-fp32", "GPT-3 175 B takes 700 GB in fp32", 700, "GB", "weights only", parameters + " x 4 B"),
        n * 4 / kGiga, 0.02));
    claims.push_back(judged(
        memoryClaim("gpt3-fp16", "GPT-3 175 B takes 350 GB in fp16", 350, "GB", "weights only", parameters + " x 2 B"),
        n * 2 / kGiga, 0.02));
    claims.push_back(
        judged(memoryClaim("gpt3-training", "GPT-3 takes 3.5 TB in training", 3.5, "TB",
                           "mixed precision and Adam hold 16 B per parameter (arXiv:1910.02054); 3.5 TB are 20 B, "
                           "as with gradients and weights kept in fp32 beside fp16 copies",
                           parameters + " x 16 B"),
               n * 16 / kTera, 0.1));
    claims.push_back(judged(memoryClaim("gpt3-44-devices", "GPT-3 needs at least 44 devices of 80 GB", 44, "devices",
                                        "follows from 3.5 TB; from 16 B per parameter it would be " +
                                            figure(std::ceil(n * 16 / 80e9)) + ", both without activations",
                                        "ceil(3.5e12 / 80e9)"),
                            std::ceil(3.5e12 / 80e9), 0));
    claims.push_back(
        judged(memoryClaim("bloom-1.4tb", "BLOOM and OPT-176B take 1.4 TB", 1.4, "TB",
                           "1.4 TB are 8 B per parameter: weights and gradients in fp32, or inference state, but not "
                           "training with Adam; BLOOM's own checkpoint with optimizer states has 2.3 TB",
                           "176e9 x 16 B"),
               176e9 * 16 / kTera, 0.1));
    claims.push_back(judged(memoryClaim("embedding-1250mb", "An embedding of 64,000 x 5120 in fp32 takes 1250 MB", 1250,
                                        "MB", "exactly 1250 MiB, 1311 MB of 10^6", "64,000 x 5120 x 4 B"),
                            64'000.0 * 5120 * 4 / 1e6, 0.1));
    claims.push_back(judged(memoryClaim("embedding-gradient", "Its gradient takes as much again", 1250, "MB",
                                        "a dense gradient has the shape of the weights", "64,000 x 5120 x 4 B"),
                            64'000.0 * 5120 * 4 / 1e6, 0.1));
    return {};
}

Status addBert(std::vector<Claim>& claims)
{
    ClaimedRun run{bertLarge(), "v100-pcie", "attention=unfused", "fourwalls"};
    run.sequence = 512;
    run.precision = Precision::F32;
    int largest = 0;
    double peak = 0;
    for (int batch = 1; batch <= 64; ++batch) {
        run.batch = batch;
        FOURWALLS_TRY_ASSIGN(const cost::PredictedStep step, predictRun(run));
        if (!step.feasible) break;
        largest = batch;
        peak = step.peakBytes;
    }
    claims.push_back(
        judged(memoryClaim("bert-large-batch-8", "BERT-large (340 M) fits a 16 GB V100 with a batch of 8 at most", 8,
                           "samples", "512 tokens, fp32, Adam, attention scores kept",
                           "largest batch whose predicted peak fits: " + figure(peak / kGiga) + " GB"),
               largest, 0.3));
    return {};
}

} // namespace

Result<std::vector<Claim>> memoryClaims()
{
    std::vector<Claim> claims;
    FOURWALLS_TRY(addImageClaims(claims));
    FOURWALLS_TRY(addStateClaims(claims));
    FOURWALLS_TRY(addBert(claims));
    return claims;
}

} // namespace fourwalls::claims
