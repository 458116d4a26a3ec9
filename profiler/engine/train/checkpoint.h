// SPDX-License-Identifier: Apache-2.0
// Weights of a run of many ranks as one file, equal to that of a run on one rank.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/parameter_store.h"

#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// Puts every parameter together from all ranks' pieces, in rank 0's memory, and writes it there (see saveWeights).
/// Called by all ranks. Errors: Io on rank 0. Throws EngineError if another rank fails.
Status saveCheckpoint(RankContext& rank, const RunSpec& spec, const std::string& directory, const ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// Every rank reads what it holds (see loadPieces), and gives copies to those that hold the same. Called by all ranks.
Status loadCheckpoint(RankContext& rank, const std::string& directory, ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks);

} // namespace fourwalls::engine
