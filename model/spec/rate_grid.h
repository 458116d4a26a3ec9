// SPDX-License-Identifier: Apache-2.0
// What one kind of operator reached in micro-benchmarks, by its size: rates at the points of a grid.
#pragma once

#include "model/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// Rates at the points of a grid of one to three extents. Between the points rates are interpolated linearly over the
/// logarithms, beyond the ends they are held.
struct RateGrid {
    std::vector<std::vector<double>> axes; ///< rising, positive; the last axis runs fastest in `rates`
    std::vector<double> rates;             ///< [FLOP/s] or [bytes/s], positive

    /// The rate at a point with as many coordinates as axes. Coordinates below the first are taken as the first.
    double at(std::span<const double> point) const;
};

/// By the operator's name.
using OperatorRates = std::map<std::string, RateGrid, std::less<>>;

/// {"gemm.nn": {"axes": [[…], …], "rates": […]}, …}. Errors: Format with the field.
Result<OperatorRates> operatorRatesFromJson(const nlohmann::json& object, std::string_view where,
                                            const std::string& path);
nlohmann::json toJson(const OperatorRates& rates);

} // namespace fourwalls
