// SPDX-License-Identifier: Apache-2.0
// Claims about availability, checkpoints, batches and the search for settings.
#include "model/claims/claim_text.h"
#include "model/claims/claims.h"
#include "model/cost/goodput.h"
#include "model/spec/run_spec.h"

#include <cmath>

namespace fourwalls::claims {

namespace {

Claim interruption(std::string id, std::string statement, double claimedPercent, double availability, double devices,
                   double tolerance, std::string because)
{
    const double computed = 100 * cost::interruptionProbability(availability, devices);
    return judged(claimOf(Wall::Tuning, std::move(id), std::move(statement), claimedPercent, "%", std::move(because),
                          "1 - " + figure(availability) + "^" + figure(devices)),
                  computed, tolerance);
}

/// Claims about checkpoints, batches and searches for settings.
Status addTrainingClaims(std::vector<Claim>& claims)
{
    FOURWALLS_TRY_ASSIGN(const ModelSpec trillion, loadModel("megatron-1t"));
    const auto parameters = static_cast<double>(parameterCount(trillion));
    constexpr double kBytesOfParameter = 14, kTerabyte = 1e12;
    claims.push_back(
        judged(claimOf(Wall::Tuning, "checkpoint-1t",
                       "The checkpoint of a GPT model with a trillion parameters has 13.8 TB "
                       "(arXiv:2104.04473)",
                       13.8, "TB", "16-bit weights, their 32-bit originals and two moments are 14 B per parameter",
                       figure(parameters / kTerabyte) + "e12 x 14 B"),
               parameters * kBytesOfParameter / kTerabyte, 0.05));
    constexpr double kBatchExponent = 0.21; // of the loss, inverted
    claims.push_back(judged(claimOf(Wall::Tuning, "critical-batch-loss",
                                    "The critical batch doubles with every 13 % that the loss falls (arXiv:2001.08361)",
                                    13, "%", "it is a power of the loss: B = B* / L^(1/0.21)", "1 - 2^-0.21"),
                            100 * (1 - std::pow(2, -kBatchExponent)), 0.1));
    constexpr double kBest = 0.05, kDraws = 60;
    claims.push_back(judged(claimOf(Wall::Tuning, "random-search-60",
                                    "60 random settings find one of the best 5 % with a probability of 95 %", 95, "%",
                                    "independent draws, however many settings there are to choose", "1 - 0.95^60"),
                            100 * (1 - std::pow(1 - kBest, kDraws)), 0.02));
    return {};
}

} // namespace

Result<std::vector<Claim>> tuningClaims()
{
    std::vector<Claim> claims;
    claims.push_back(interruption("interrupted-1k",
                                  "With 99.9 % monthly availability per device, a job of 1 K devices "
                                  "is interrupted within the month with probability 60 %",
                                  60, 0.999, 1000, 0.1, "independent failures; 63 % rounded down"));
    claims.push_back(interruption("interrupted-8k",
                                  "With 99.9 %, a job of 8 K devices is interrupted with probability "
                                  "99 %",
                                  99, 0.999, 8000, 0.02, "independent failures; it is 99.97 %"));
    claims.push_back(interruption("interrupted-8k-9999",
                                  "With 99.99 %, a job of 8 K devices is interrupted with "
                                  "probability about 50 %",
                                  50, 0.9999, 8000, 0.15, "independent failures; 55 %"));
    // Wasted time = interruptions x (recovery + recomputation) + checkpoint writing.
    cost::GoodputInput input;
    input.devices = 16'384;
    input.deviceMtbfHours = 54 * 24.0 * 16'384 / 419;
    input.checkpointSeconds = 60;
    input.restartSeconds = 600;
    FOURWALLS_TRY_ASSIGN(const cost::Goodput goodput, cost::computeGoodput(input));
    cost::GoodputInput quicker = input;
    quicker.checkpointSeconds = 20;
    quicker.restartSeconds = 300;
    FOURWALLS_TRY_ASSIGN(const cost::Goodput possible, cost::computeGoodput(quicker));
    Claim llama =
        claimOf(Wall::Tuning, "goodput-llama3",
                "Llama 3 on 16,384 devices kept more than 90 % of its time effective despite 419 unexpected "
                "stops in 54 days",
                90, "%",
                "how long a restart and a checkpoint took is not published: 10 min and 60 s give " +
                    figure(100 * goodput.goodput) + " %, 5 min and 20 s " + figure(100 * possible.goodput) + " %",
                "M = 54 x 24 h / 419 = " + figure(goodput.jobMtbfSeconds / 3600) + " h, best interval " +
                    figure(goodput.intervalSeconds / 60) + " min for a checkpoint of 60 s");
    llama.verdict = Verdict::CannotBeChecked;
    claims.push_back(std::move(llama));
    FOURWALLS_TRY(addTrainingClaims(claims));
    return claims;
}

} // namespace fourwalls::claims
