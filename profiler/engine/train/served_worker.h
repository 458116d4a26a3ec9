// SPDX-License-Identifier: Apache-2.0
// A rank that trains with parameter servers: it fetches weights (and of large tables only the rows that its samples ask
// for), computes gradients on its share of the batch and sends them off. It keeps no optimizer state and no tables.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/run_options.h"
#include "profiler/engine/nn/recommendation.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/server_protocol.h"
#include "profiler/engine/train/step_recorder.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

class ServedWorker {
public:
    /// rank: in the world of worldOf(spec.plan); outlives the worker. Errors: those of makeNetwork.
    static Result<std::unique_ptr<ServedWorker>> create(RankContext& rank, const RunSpec& spec);

    /// One step. Synchronous: the loss is the mean over all workers, and all of them have the same new weights
    /// afterwards. Asynchronous: everything is this worker's own.
    StepProgress step(std::int64_t index);

    /// After the last step: fetches all weights and writes them to a file. Errors: Io.
    Status save(const std::string& directory);
    /// After that: the servers need not wait for this worker any more.
    void finish();

    ParameterList& parameters() { return m_network.chunks.front()->parameters(); }

private:
    struct FetchedRows {
        std::vector<std::vector<std::int32_t>> ids;       ///< by table, ascending
        std::vector<std::vector<std::int64_t>> perServer; ///< rows by server, then table
    };

    ServedWorker(RankContext& rank, const RunSpec& spec, Network network);
    int server(int index) const { return m_spec.plan.worldSize() + index; }
    void say(int index, ServerMessage kind, const std::vector<std::int64_t>& rows = {});
    void pullWeights();
    double trainMicrobatch(std::int64_t step, int microbatch, double scale);
    FetchedRows chooseRows(Batch& batch) const;
    std::vector<Tensor> pullRows(const FetchedRows& rows);
    void pushRows(const FetchedRows& rows, const std::vector<Tensor>& gradients);
    void pushGradients(StepProgress& progress);
    Tensor numbers(std::int64_t count, DType type) const;

    RankContext& m_rank;
    RankContext m_alone; // the network must not see the groups: they hold servers, too
    RunSpec m_spec;
    Network m_network;
    Recommendation* m_recommendation = nullptr; // whose tables are on the servers
    ServerLayout m_layout;
    Tensor m_weights, m_gradients;  // all parameters, one behind the other
    std::vector<double> m_versions; // of the weights, by server
    double m_rowSquares = 0;
    StepRecorder m_steps;
    CounterId m_staleness;
};

} // namespace fourwalls::engine
