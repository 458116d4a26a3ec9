// SPDX-License-Identifier: Apache-2.0
// See robust_choice.h.
#include "model/cost/robust_choice.h"

#include <algorithm>
#include <limits>

namespace fourwalls::cost {

std::array<double, kRateKinds> rateShares(const PartSeconds& parts)
{
    std::array<double, kRateKinds> shares{};
    const double total = parts.total();
    if (!(total > 0)) return shares;
    for (std::size_t i = 0; i < kCostParts; ++i) {
        const auto part = static_cast<CostPart>(i);
        shares[static_cast<std::size_t>(rateKindOf(part))] += parts[part] / total;
    }
    return shares;
}

std::vector<double> expectedRegrets(std::span<const UncertainPlan> plans, const Calibration& calibration)
{
    constexpr std::size_t kLevels = 3;
    static_assert(kRateKinds == 3, "there is a loop for each");
    std::array<std::array<double, kLevels>, kRateKinds> factors{};
    for (std::size_t kind = 0; kind < kRateKinds; ++kind) {
        const RateBand band = rateBandOf(static_cast<RateKind>(kind), calibration);
        factors[kind] = {band.low, 1, band.high};
    }
    constexpr double kCases = kLevels * kLevels * kLevels;
    std::vector<double> regrets(plans.size(), 0), values(plans.size());
    for (const double compute : factors[0])
        for (const double memory : factors[1])
            for (const double communication : factors[2]) {
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t i = 0; i < plans.size(); ++i) {
                    const auto& shares = plans[i].shares;
                    values[i] = plans[i].value * (shares[0] * compute + shares[1] * memory + shares[2] * communication);
                    least = std::min(least, values[i]);
                }
                if (!(least > 0)) continue;
                for (std::size_t i = 0; i < plans.size(); ++i) regrets[i] += (values[i] / least - 1) / kCases;
            }
    return regrets;
}

} // namespace fourwalls::cost
