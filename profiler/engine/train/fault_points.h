// SPDX-License-Identifier: Apache-2.0
// Where the faults of a run happen to a rank (core/fault.h).
#pragma once

#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"
#include "profiler/engine/train/trainer.h"

#include <cstdint>
#include <vector>

namespace fourwalls::engine {

/// The faults that this attempt at the job still has before it: those that have not happened. Spikes happen whenever their
/// batch is taken. ranks: that the attempt has; a rank whose device is lost has no more faults.
struct PendingFault {
    Fault fault;
    std::int64_t number = 0; ///< in the run's list
};
std::vector<PendingFault> pendingFaults(const std::vector<Fault>& all, const AttemptStart& start, int ranks);

class FaultPoints {
public:
    /// options, rank and trainer outlive this. All ranks have the same faults.
    FaultPoints(const RunOptions& options, RankContext& rank, Trainer& trainer, std::vector<PendingFault> faults);

    /// Before a step. batch: its number.
    void before(std::int64_t step, std::int64_t batch);
    /// Where every rank has its gradients, and no weight is changed yet. Throws EngineError, or does not come back.
    void during();

private:
    void tell(const PendingFault& fault, bool isEnd);
    [[noreturn]] void kill(const PendingFault& fault);
    [[noreturn]] void fillMemory();

    const RunOptions& m_options;
    RankContext& m_rank;
    Trainer& m_trainer;
    std::vector<PendingFault> m_faults;
    std::int64_t m_step = 0;
};

} // namespace fourwalls::engine
