// SPDX-License-Identifier: Apache-2.0
// The registry of what the engine can train: from a specification to a network and the data it is fed with.
#pragma once

#include "model/base/result.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/data_source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fourwalls::engine {

struct Network {
    std::vector<std::unique_ptr<TrainingModel>> chunks; ///< of this rank, the one nearest the input first
    std::unique_ptr<DataSource> data;
};

/// Whether the engine has this architecture; says which field does not fit. Errors: Unsupported, InvalidArgument.
Status checkNetwork(const RunSpec& spec);

/// The part of a network of `layers` layers that a chunk of a pipeline holds: what the plan says of it, or else layers
/// are shared out evenly, and the first positions get those that are left over.
ChunkRange chunkRange(const ParallelPlan& plan, int stage, int chunk, std::int64_t layers);

/// Builds this rank's chunks with random weights (from the seed) and opens the data.
/// Errors: Io, InvalidArgument from the data. Throws EngineError if the memory runs out.
Result<Network> makeNetwork(RankContext& rank, const RunSpec& spec);

} // namespace fourwalls::engine
