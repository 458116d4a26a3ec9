// SPDX-License-Identifier: Apache-2.0
// The training loop of one rank. All ranks of a run call the same functions in the same order.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"
#include "profiler/engine/train/checkpoint.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/optimizer.h"
#include "profiler/engine/train/parameter_store.h"
#include "profiler/engine/train/pipeline_executor.h"
#include "profiler/engine/train/step_recorder.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::engine {

class Trainer {
public:
    /// Builds network, data and optimizer. `rank` outlives the trainer. Errors: those of makeNetwork.
    static Result<std::unique_ptr<Trainer>> create(RankContext& rank, const RunSpec& spec);

    /// The numbers of the batches that are left out; step `i` takes the i-th of the others.
    void skipData(std::vector<std::int64_t> batches) { m_skipped = std::move(batches); }

    /// One step: micro-batches forward and backward, reduction over ranks, clipping, update; recorded with its phases
    /// and counters.
    StepProgress step(std::int64_t index);

    /// The gradients of a step's global batch, added up over all ranks, without the update (tests). Returns this
    /// rank's share of the mean loss over the global batch.
    double accumulateGradients(std::int64_t index);

    /// Bytes of the file with all weights, on the rank that writes it; 0 on others.
    std::int64_t savedBytes() const;
    /// Bytes that this rank reads of such a file, and has in its shard of a checkpoint of weights.
    std::int64_t loadedBytes() const;
    /// Tensors of a checkpoint for each parameter: its weights and what the optimizer remembers.
    std::int64_t tensorsPerParameter() const { return 1 + static_cast<std::int64_t>(m_optimizer->states().size()); }
    /// What the plan offloads; null: nothing.
    const HostPool* hostPool() const { return m_host.get(); }

    /// The mean loss over `batches` global batches that training does not see, without gradients: an evaluation phase.
    double evaluate(std::int64_t batches);

    /// Takes the gradients of `batches` global batches that training does not see, without an update: what they say of the
    /// gradients' noise is added to noise(). A phase of its own. `probe` counts from the job's first step, so that a job
    /// that goes on sees the batches that it would have seen.
    void probeNoise(std::int64_t probe, std::int64_t batches);
    const GradientNoise& noise() const { return m_noise; }

    /// All ranks' weights as one file, and back. Errors: see checkpoint.h.
    Status saveWeights(const std::string& directory);
    Status loadWeights(const std::string& directory);

    /// A checkpoint of the training after so many steps, and back. Errors: see checkpoint.h.
    Result<StateFiles> gatherState(std::int64_t step);
    StateFiles copyShard(std::int64_t step, const std::string& folder);
    Status loadState(const SavedState& saved);

    /// Turns over the highest bit of the exponent of one of a rank's weights. Called by all ranks.
    void flipWeight(RankId who);
    /// What is wrong with this rank's weights, in words; absent: all are sound numbers.
    std::optional<std::string> weightProblem() const;
    /// From here on the learning rate is so many times as high.
    void setRateFactor(double factor);

    /// Called in every step between the reduction of the gradients and the update. May be empty.
    std::function<void(const Trainer&)> onGradients;

    /// The chunk nearest the input.
    TrainingModel& model() { return *m_network.chunks.front(); }
    const std::vector<std::unique_ptr<TrainingModel>>& chunks() const { return m_network.chunks; }
    /// What this rank updates: pieces of parameters with their weights and gradients.
    const ParameterStore& store() const { return *m_store; }
    const PipelineExecutor& executor() const { return *m_executor; }
    const DataSource& data() const { return *m_network.data; }

    ~Trainer();

private:
    Trainer(RankContext& rank, const RunSpec& spec, Network network);
    Status setUp();
    Batch loadBatch(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t length);
    /// The same for stages in the middle of a pipeline, which need no tokens, but what attention stays within.
    Batch unreadBatch(std::int64_t step, std::int64_t first, std::int64_t count, std::int64_t length) const;

    RankContext& m_rank;
    RunSpec m_spec;
    std::unique_ptr<HostPool> m_host; // outlives everything that has tensors in it
    Network m_network;
    std::unique_ptr<ParameterStore> m_store;
    std::unique_ptr<PipelineExecutor> m_executor;
    std::unique_ptr<ParameterOptimizer> m_optimizer;
    CounterId m_evaluation; // its loss
    CounterId m_noiseScale;
    GradientNoise m_noise;               // so far
    std::vector<std::int64_t> m_skipped; // ascending
    double m_rateFactor = 1;
    StepRecorder m_steps;
    std::int64_t m_layers = 0; // whose gradients have norms of their own: each takes a wait on a GPU, which has none
};

} // namespace fourwalls::engine
