// SPDX-License-Identifier: Apache-2.0
// What a run of many ranks saves, as files equal to those of a run on one rank: its weights, and checkpoints, from which
// a training goes on, also on other ranks and with another plan.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/nn/model.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/parameter_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
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

/// A folder of one checkpoint that is whole: all its files are there with the sums that they were written with.
struct SavedState {
    std::string directory;
    std::int64_t step = 0;             ///< steps that were taken before it: the number of the next one
    std::vector<std::int64_t> skipped; ///< batches that are left out, ascending
};

/// A checkpoint in rank 0's memory: weights, states and the number of the next step. The data's place and all randomness
/// follow from the step and the seed. Its tensors go on the rank's thread.
class StateFiles {
public:
    StateFiles(std::int64_t step, std::vector<std::int64_t> skipped) : m_step(step), m_skipped(std::move(skipped)) {}
    void add(std::string name, Network network) { m_files.emplace_back(std::move(name), std::move(network)); }
    std::int64_t step() const { return m_step; }

    /// Writes `folder`/step-NUMBER, which appears complete or not at all; of older ones the newest is kept. Any thread,
    /// where the tensors are in the processor's memory. Errors: Io.
    Status write(const std::string& folder, const RunSpec& spec) const;

private:
    std::int64_t m_step;
    std::vector<std::int64_t> m_skipped;
    std::vector<std::pair<std::string, Network>> m_files;
};

/// Puts a checkpoint together from all ranks' pieces. skipped: see SavedState. Called by all ranks; on others than rank 0 it stays without tensors.
/// Throws EngineError if another rank fails.
Result<StateFiles> gatherState(RankContext& rank, const RunSpec& spec, std::int64_t step,
                               std::vector<std::int64_t> skipped, const ParameterStore& store,
                               const std::vector<OptimizerState>& states,
                               const std::vector<std::unique_ptr<TrainingModel>>& chunks);

/// Writes checkpoints beside the training, one at a time. Of the rank's thread.
class StateWriter {
public:
    ~StateWriter();
    /// Waits for the one under way, if there is one.
    void start(StateFiles files, const std::string& folder, const RunSpec& spec);
    bool busy() const { return m_thread.joinable(); }
    /// Waits for it and says what became of it; absent: there was none.
    std::optional<Status> finish();

private:
    std::optional<StateFiles> m_files;
    Status m_status;
    std::thread m_thread;
};

/// The newest whole checkpoint in a folder of checkpoints, or the one that the folder itself is. torn: folders of checkpoints
/// that were passed over. Errors: NotFound if there is none that is whole; Unsupported if it is of another training (model,
/// optimizer, batch, sequence, seed or data), naming what differs. The plan may be another one.
Result<SavedState> newestState(const std::string& folder, const RunSpec& spec, std::vector<std::string>& torn);

/// Removes those of at least so many steps.
void dropStates(const std::string& folder, std::int64_t from);
/// Whether there is one, whole or not.
bool hasStates(const std::string& folder);

/// Reads weights and states. Called by all ranks. Errors: Io, Format.
Status loadState(RankContext& rank, const SavedState& saved, ParameterStore& store,
                 const std::vector<OptimizerState>& states, const std::vector<std::unique_ptr<TrainingModel>>& chunks);

} // namespace fourwalls::engine
