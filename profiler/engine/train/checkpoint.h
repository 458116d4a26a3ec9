// SPDX-License-Identifier: Apache-2.0
// What a run of many ranks saves, as files equal to those of a run on one rank: its weights, and checkpoints, from which
// a training goes on, also on other ranks and with another plan.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/parameter_store.h"
#include "profiler/engine/train/state_files.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// Puts every parameter together from all ranks' pieces, in rank 0's memory, and writes it there (see saveWeights).
/// Called by all ranks. Errors: Io on rank 0. Throws EngineError if another rank fails.
Status saveCheckpoint(RankContext& rank, const RunSpec& spec, const std::string& directory, const ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// Every rank reads what it holds (see loadPieces), and gives copies to those that hold the same. Called by all ranks.
Status loadCheckpoint(RankContext& rank, const std::string& directory, ParameterStore& store,
                      const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// A state of the optimizer, in the place of the weights that it belongs to: "exp_avg".
using OptimizerState = std::pair<std::string, std::vector<ParameterPiece>>;

/// Puts a checkpoint together from all ranks' pieces. skipped: see SavedState. Called by all ranks; on others than rank 0 it stays without tensors.
/// Throws EngineError if another rank fails.
Result<StateFiles> gatherState(RankContext& rank, const RunSpec& spec, std::int64_t step,
                               std::vector<std::int64_t> skipped, const ParameterStore& store,
                               const std::vector<OptimizerState>& states,
                               const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// What this rank has of a checkpoint, copied for its shard in `folder`, where it makes room. Called by all ranks, none of
/// which writes an older one any more. Throws EngineError if another rank fails.
StateFiles copyShard(RankContext& rank, std::int64_t step, std::vector<std::int64_t> skipped, const std::string& folder,
                     const ParameterStore& store, const std::vector<OptimizerState>& states,
                     const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// Reads weights and states. Called by all ranks. Errors: Io, Format.
Status loadState(RankContext& rank, const SavedState& saved, ParameterStore& store,
                 const std::vector<OptimizerState>& states, const std::vector<std::unique_ptr<TrainingModel>>& chunks);

} // namespace fourwalls::engine
