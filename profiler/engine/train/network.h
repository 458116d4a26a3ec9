// SPDX-License-Identifier: Apache-2.0
// The registry of what the engine can train: from a specification to a network and the data it is fed with.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/data_source.h"

#include <memory>

namespace fourwalls::engine {

struct Network {
    std::unique_ptr<TrainingModel> model;
    std::unique_ptr<DataSource> data;
};

/// Whether the engine has this architecture; says which field does not fit. Errors: Unsupported, InvalidArgument.
Status checkNetwork(const RunSpec& spec);

/// Builds the network with random weights (from the seed) and opens its data.
/// Errors: Io, InvalidArgument from the data. Throws EngineError if the memory runs out.
Result<Network> makeNetwork(RankContext& rank, const RunSpec& spec);

} // namespace fourwalls::engine
