// SPDX-License-Identifier: Apache-2.0
// A rank that holds parameters for others (Li et al. 2014, "Scaling Distributed Machine Learning with the Parameter
// Server", OSDI): a share of the dense parameters and stretches of the tables, with their optimizer state. It answers
// whoever asks next. Synchronous: it waits for the gradients of all workers, adds them up in the workers' order and
// updates once. Asynchronous: it updates with every worker's gradients as they come; meanwhile others may have fetched
// older weights, and how much older (updates in between: the staleness) is recorded.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/train/optimizer.h"
#include "profiler/engine/train/server_protocol.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fourwalls::engine {

class ParameterServerRank {
public:
    /// rank: in the world of worldOf(spec.plan); outlives the server. weightsDirectory: empty for random weights.
    /// Errors: those of makeNetwork and loadWeights.
    static Result<std::unique_ptr<ParameterServerRank>> create(RankContext& rank, const RunSpec& spec,
                                                               const std::string& weightsDirectory);

    /// Serves until every worker is done. beforeStep: called with i once every worker has finished its steps before i.
    void serve(const std::function<void(std::int64_t)>& beforeStep);

    std::int64_t updates() const { return m_version; }
    double meanStaleness() const { return m_version > 0 ? m_stalenessSum / static_cast<double>(m_version) : 0; }

private:
    struct Worker {
        std::vector<Tensor> ids;                                          ///< of the rows asked for last, by table
        std::vector<std::vector<std::pair<Tensor, Tensor>>> rowGradients; ///< (ids, gradients) by table
        Tensor gradient;                                                  ///< waiting for the others (synchronous)
        double loss = 0, squares = 0, version = 0;
        std::int64_t pushes = 0;
        bool done = false, waiting = false;
    };

    ParameterServerRank(RankContext& rank, const RunSpec& spec);
    Status setUp(const std::string& weightsDirectory);
    void handle(int worker);
    void sendWeights(int worker);
    void sendRows(int worker, const Tensor& header);
    void takeRows(int worker, const Tensor& header);
    void takeGradients(int worker);
    void update(const std::vector<int>& workers);
    double normOf(const std::vector<int>& workers);
    void closeStep();
    Tensor buffer(const Shape& shape, DType type) const
    {
        return Tensor::make(m_rank.allocator, shape, type, MemoryCategory::CommBuffers);
    }
    std::int64_t steps() const; ///< that every worker has finished

    RankContext& m_rank;
    RunSpec m_spec;
    int m_index; // among the servers
    bool m_sync;
    ParameterList m_shares;           // one vector or matrix per stretch
    std::vector<Parameter*> m_tables; // this server's rows of each
    Tensor m_weights, m_gradients;    // the share, in one piece
    std::unique_ptr<ParameterOptimizer> m_optimizer;
    std::vector<Worker> m_workers;
    std::int64_t m_version = 0;
    double m_stalenessSum = 0;
    CounterId m_staleness, m_versionCounter;
    Instant m_stepStart;
    std::unique_ptr<Scope> m_step;
    std::int64_t m_closedSteps = 0;
};

} // namespace fourwalls::engine
