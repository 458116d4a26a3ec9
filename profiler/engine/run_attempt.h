// SPDX-License-Identifier: Apache-2.0
// One attempt at a run, from its checkpoint to its report. run_attempt.cpp has what its ranks share, run_ranks.cpp what each
// of them does.
#pragma once

#include "model/base/result.h"
#include "model/spec/run_spec.h"
#include "profiler/engine/core/core_exchange.h"
#include "profiler/engine/core/job_notes.h"
#include "profiler/engine/core/run_options.h"
#include "profiler/engine/device/machine_peak.h"
#include "profiler/engine/train/checkpoint.h"
#include "profiler/engine/train/fault_points.h"
#include "profiler/engine/train/kernel_table.h"
#include "profiler/engine/train/loss_watch.h"
#include "profiler/engine/train/rank_world.h"
#include "profiler/engine/train/stop_vote.h"
#include "profiler/engine/train/trainer.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// What is measured once, however often a job is restarted.
struct ProbedMachine {
    MachinePeak peak;
    double eventCostNs = 0;
    bool isProbed = false;
};

/// All of one run, or of one attempt at it: what its ranks share and what they come to.
class RunAttempt {
public:
    RunAttempt(const RunSpec& spec, const RunOptions& options, const RunCallbacks& callbacks, AttemptStart start,
               ProbedMachine& machine);

    /// Errors: see runTraining.
    Result<RunReport> go();

private:
    void say(const std::string& message) const
    {
        if (m_callbacks.onMessage) m_callbacks.onMessage(message);
    }
    void addHangs(WorldOptions& world) const;

    // The checkpoint to go on from: after a failure the newest that the job has taken, else the one that is asked for.
    Status findCheckpoint();

    // What the steps before this attempt's came to.
    void takeOver();

    // Measures the machine before anything runs on it; in a thread of its own, whose OpenMP settings it changes. Of
    // several processes rank 0 does it, while the others wait.
    Status probe(const NumberFormat& format);

    // What the other processes' ranks came to, on rank 0. All of them run this program.
    Status exchangeReports();

    Status runRank(RankSlot& slot);

    // How the time went by since the attempt before has failed.
    void recordRecovery(Recorder& recorder) const;

    // One step with what happens in it on purpose, and whether its loss can be gone on with.
    StepProgress takeStep(Trainer& trainer, FaultPoints& points, LossWatch& watch, Recorder& recorder,
                          std::int64_t step);

    Status train(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept);

    void saveState(Trainer& trainer, Recorder& recorder, StateWriter& writer, std::int64_t step);

    // A job that can go back keeps nothing that a bit which was turned over has spoilt.
    void checkWeights(const Trainer& trainer, Recorder& recorder) const;

    // A checkpoint that cannot be written ends itself, not the run.
    void sayWritten(Recorder& recorder, std::int64_t step, const Result<bool>& whole);

    // For a checkpoint that is written beside the training, if there is one.
    void waitForWriter(Recorder& recorder, StateWriter& writer);

    // A worker of parameter servers.
    Status trainServed(RankSlot& slot, RankReport& report, std::shared_ptr<void>& kept);

    Status serve(RankSlot& slot, std::shared_ptr<void>& kept);

    void takeSteps(RankSlot& slot, const std::function<StepProgress(std::int64_t)>& step, RankReport& report,
                   const std::function<double()>& evaluate = {}, const std::function<void(std::int64_t)>& save = {},
                   const std::function<void(std::int64_t)>& probe = {});

    void addTraffic(RankId from, const TrafficLedger& ledger);

    Duration sinkTime() const;

    void summarize();

    void summarizeMemory();

    const RunSpec& m_spec;
    const RunOptions& m_options;
    const RunCallbacks& m_callbacks;
    const AttemptStart m_start;
    ProbedMachine& m_machine;
    const std::vector<PendingFault> m_faults;         // that this attempt has before it
    std::shared_ptr<DeviceCollectives> m_collectives; // null: none
    std::atomic<bool> m_failed{false};
    KernelMedians m_medians;
    RunReport m_report;                // each rank writes its own entry of ranks, rank 0 the steps
    Duration m_sinkBefore, m_sinkTime; // rank 0's

    std::optional<SavedState> m_saved;   // to go on from
    std::vector<std::int64_t> m_skipped; // batches
    std::optional<StopVote> m_stop;
    std::optional<CoreExchange> m_cores; // of threads that compute on cores and wait for each other in every step

    std::mutex m_mutex;
    double m_fastest = 0;
};

} // namespace fourwalls::engine
