// SPDX-License-Identifier: Apache-2.0
// Synthetic traces of any size for scale tests: they look like a training run (nested operators, kernels, streams,
// collectives, memory, counters) and are the same for the same seed.
#pragma once

#include "model/base/result.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

namespace fourwalls::store {

struct SyntheticOptions {
    std::int64_t slices = 1'000'000; ///< about this many (within one training step)
    int ranks = 8;
    std::uint64_t seed = 1;
};

/// Writes a finished trace (source: synthetic) through TraceWriter. progress: 0..1, may be empty.
/// Errors: InvalidArgument for slices or ranks below 1; Cancelled; those of TraceWriter.
Status generateSynthetic(const SyntheticOptions& options, const std::string& path,
                         const std::function<void(double)>& progress = {}, std::stop_token stop = {});

} // namespace fourwalls::store
