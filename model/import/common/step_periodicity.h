// SPDX-License-Identifier: Apache-2.0
// Training steps of a job that marks none: the kernels of a stream repeat from step to step, and what repeats as a
// whole is a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace fourwalls::importers {

/// One kernel of the stream that does most of the work, in the order of their starts.
struct StreamKernel {
    std::int64_t start = 0, end = 0; ///< [ns]
    std::int32_t name = 0;           ///< equal for equal kernels; dense from 0
};

struct FoundPeriod {
    std::size_t kernels = 0;  ///< of one step: the median
    double likeness = 0;      ///< 0..1: share of a step's kernels (by name) that occur as often in the others
    bool byOptimizer = false; ///< steps begin where an optimizer's kernels end; else behind the longest gap
    /// Index of each step's first kernel, and one past the last kernel of the last step. Steps that the window cuts are
    /// left out.
    std::vector<std::size_t> boundaries;
};

/// Finds the shortest stretch of kernels that the stream repeats as a whole: windows of 1 to 32 kernels that come back
/// at regular distances are candidates, and one is a step if the names between two of them occur equally often each
/// time. So neither the layers of a network (whose backward pass is no repetition of the forward one) nor the
/// micro-batches of a step with a recognisable optimizer count as steps.
/// isOptimizer: by name, from optimizerKernel(). Absent if less than two whole steps are there, or nothing repeats.
/// Takes O(n log n) for the first half million kernels and O(n) for the rest.
std::optional<FoundPeriod> findPeriod(const std::vector<StreamKernel>& kernels, const std::vector<bool>& isOptimizer);

/// Whether kernels [from, to) repeat themselves within: some four of them come again at least four times at regular
/// distances over half of the stretch, as the layers of a network do. A layer by itself has none of that, so that this
/// tells the passes of a network from the layers of a single pass.
bool hasLayers(const std::vector<StreamKernel>& kernels, std::size_t from, std::size_t to);

/// Whether a kernel updates weights, by its name: those of PyTorch's fused and foreach optimizers, Apex and DeepSpeed.
bool optimizerKernel(std::string_view name);

} // namespace fourwalls::importers
