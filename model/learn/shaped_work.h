// SPDX-License-Identifier: Apache-2.0
// Which of the cost model's operators a recorded kernel is, and how large: so that its time becomes a rate at a shape.
#pragma once

#include "model/trace/records.h"

#include <optional>
#include <string>
#include <vector>

namespace fourwalls::learn {

/// A kernel in the terms of the rates that the cost model takes (model/cost/device_rates.h).
struct ShapedWork {
    std::string name;          ///< "gemm", "attention.fused", "norm.backward", …
    std::vector<double> shape; ///< the coordinates that its rate is looked up at
    double work = 0;           ///< FLOPs or bytes as the cost model counts them: rate = work / seconds
    double inside = 0;         ///< bytes of the residual that a product adds as well
};

/// elementBytes: of an activation; lossBytes: per logit, as the framework's preset says.
/// Absent: a kernel that the cost model has no rate by shape for, or whose shape is not recorded.
std::optional<ShapedWork> shapedWork(const OpInfo& op, double elementBytes, double lossBytes);

/// The same of a product of two matrices that a PyTorch program asked for ("aten::mm", "aten::addmm"), by its arguments'
/// sizes.
std::optional<ShapedWork> programProduct(const OpInfo& op);

} // namespace fourwalls::learn
