// SPDX-License-Identifier: Apache-2.0
// The training loop of one rank.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/run.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/optimizer.h"

#include <cstdint>
#include <memory>

namespace fourwalls::engine {

class Trainer {
public:
    /// Builds network, data and optimizer. `rank` outlives the trainer. Errors: those of makeNetwork.
    static Result<std::unique_ptr<Trainer>> create(RankContext& rank, const RunSpec& spec);

    /// One step: micro-batches forward and backward, clipping, update; recorded with its phases and counters.
    StepProgress step(std::int64_t index);

    /// The gradients and the mean loss of a step's global batch, without the update (tests).
    double accumulateGradients(std::int64_t index);

    TrainingModel& model() { return *m_network.model; }
    const DataSource& data() const { return *m_network.data; }

private:
    Trainer(RankContext& rank, const RunSpec& spec, Network network);

    RankContext& m_rank;
    RunSpec m_spec;
    Network m_network;
    ParameterOptimizer m_optimizer;
    CounterId m_loss, m_rate, m_norm, m_throughput;
};

} // namespace fourwalls::engine
