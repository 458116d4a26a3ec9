// SPDX-License-Identifier: Apache-2.0
// Checkpoints on the disk: folders that appear complete or not at all, of the whole network or of every rank's shard.
#pragma once

#include "model/spec/run_spec.h"
#include "profiler/engine/train/network.h"
#include "profiler/engine/train/state_shard.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fourwalls::engine {

/// A folder of one checkpoint that is whole: all its files are there with the sums that they were written with.
struct SavedState {
    std::string directory;
    std::int64_t step = 0;             ///< steps that were taken before it: the number of the next one
    std::vector<std::int64_t> skipped; ///< batches that are left out, ascending
    int shards = 0;                    ///< of how many ranks; 0: its files are those of one rank
};

/// What one rank writes of a checkpoint: rank 0 the whole network's files, or every rank its shard. The data's place and all
/// randomness follow from the number of the next step and the seed. Its tensors go on the rank's thread.
class StateFiles {
public:
    StateFiles(std::int64_t step, std::vector<std::int64_t> skipped) : m_step(step), m_skipped(std::move(skipped)) {}
    void add(std::string name, Network network) { m_files.emplace_back(std::move(name), std::move(network)); }
    void add(StateShard shard) { m_shard = std::move(shard); }
    std::int64_t step() const { return m_step; }
    /// Of the values in them.
    std::int64_t bytes() const;

    /// Writes into `folder`/step-NUMBER, which appears complete or not at all; of older ones the newest is kept. True: with
    /// this it is complete; false: a shard, and others are missing. Any thread, where the tensors are in the processor's
    /// memory. Errors: Io.
    Result<bool> write(const std::string& folder, const RunSpec& spec) const;

private:
    Result<bool> writeWhole(const std::string& folder, const RunSpec& spec) const;
    Result<bool> writeShard(const std::string& folder, const RunSpec& spec) const;

    std::int64_t m_step;
    std::vector<std::int64_t> m_skipped;
    std::vector<std::pair<std::string, Network>> m_files;
    std::optional<StateShard> m_shard;
};

/// Makes the folder that all ranks write their shards of a checkpoint into, and removes others that were never completed.
void makeShardFolder(const std::string& folder, std::int64_t step);

/// What became of files that were written.
struct WrittenState {
    std::int64_t step = 0, bytes = 0;
    Result<bool> whole = false; ///< see StateFiles::write
    std::chrono::steady_clock::time_point begin, end;
};

/// Writes checkpoints beside the training, one at a time. Of the rank's thread.
class StateWriter {
public:
    ~StateWriter();
    /// Waits for the one under way, if there is one.
    void start(StateFiles files, const std::string& folder, const RunSpec& spec);
    bool busy() const { return m_thread.joinable(); }
    /// Waits for it and says what became of it; absent: there was none.
    std::optional<WrittenState> finish();

private:
    std::optional<StateFiles> m_files;
    std::optional<WrittenState> m_written;
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

} // namespace fourwalls::engine
