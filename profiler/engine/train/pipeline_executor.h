// SPDX-License-Identifier: Apache-2.0
// Carries out the action list of one pipeline stage (model/spec/pipeline_schedule.h). One rank is a pipeline of one
// stage.
#pragma once

#include "model/spec/pipeline_schedule.h"
#include "profiler/engine/nn/deferred_work.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/parameter_store.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace fourwalls::engine {

class PipelineExecutor {
public:
    /// Makes the micro-batch of the given number, of those that this copy of the network works on. Not `read`: only how many
    /// samples it has and how long they are.
    using Loader = std::function<Batch(int microbatch, bool read)>;

    /// chunks: of this rank. Everything outlives the executor. Errors: those of pipelineActions.
    static Result<std::unique_ptr<PipelineExecutor>> create(RankContext& rank, const ParallelPlan& plan,
                                                            std::vector<TrainingModel*> chunks, ParameterStore& store);

    /// All micro-batches of a step, forward and backward. lossScale: gradients are those of lossScale times the sum of the
    /// micro-batches' losses. Returns that sum; 0 if the last position is elsewhere.
    double run(double lossScale, const Loader& load);

    /// The forward passes alone, without keeping anything (evaluation). Returns the sum of the losses likewise.
    double evaluate(int microbatches, const Loader& load);

    /// Most (micro-batch, chunk) pairs that were between forward and the end of backward at once.
    int mostInFlight() const { return m_mostInFlight; }

private:
    PipelineExecutor(RankContext& rank, const PipelineShape& shape, std::vector<TrainingModel*> chunks,
                     ParameterStore& store, const std::vector<std::vector<PipelineAction>>& actions);

    using Key = std::pair<std::int32_t, std::int32_t>; // micro-batch, chunk
    struct InFlight {
        std::unique_ptr<ForwardState> state;
        Shape output; // of the chunk
        DeferredWork deferred;
    };

    bool isFirst(std::int32_t chunk) const { return m_shape.positionOf(m_stage, chunk) == 0; }
    bool isLast(std::int32_t chunk) const { return m_shape.positionOf(m_stage, chunk) + 1 == m_shape.positions(); }
    const Batch& batchFor(const PipelineAction& action);
    void forward(const PipelineAction& action);
    void backward(const PipelineAction& action);
    void backwardWeight(const PipelineAction& action);
    void flush();
    Tensor take(const PipelineTransfer& transfer);
    Tensor receive(const PipelineTransfer& transfer);
    void give(const PipelineTransfer& transfer, const Tensor& tensor);
    Phase phaseOf(const PipelineTransfer& transfer) const;

    RankContext& m_rank;
    PipelineShape m_shape;
    int m_stage = 0;
    std::vector<TrainingModel*> m_chunks;
    ParameterStore& m_store;
    std::vector<PipelineAction> m_actions;

    Loader m_load; // of this step
    double m_lossScale = 1, m_lossSum = 0;
    std::map<std::int32_t, Batch> m_batches;
    std::map<Key, InFlight> m_inFlight;
    // Between two stages both activations and gradients may go the same way, and messages arrive in the order sent.
    struct Incoming {
        std::vector<PipelineTransfer> order; // of a step
        std::size_t next = 0;
    };
    std::vector<Incoming> m_incoming;                                       // by sending stage
    using Arrived = std::tuple<PipelineTensor, std::int32_t, std::int32_t>; // tensor, micro-batch, position it is for
    static Arrived arrivedKey(const PipelineTransfer& t) { return {t.tensor, t.microbatch, t.toPosition}; }
    std::map<Arrived, Tensor> m_arrived; // before it is needed
    int m_mostInFlight = 0;
};

} // namespace fourwalls::engine
