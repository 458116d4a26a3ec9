// SPDX-License-Identifier: Apache-2.0
// What a run is asked for, what it tells while it goes on, and what it came to.
#pragma once

#include "model/spec/run_spec.h"
#include "model/trace/records.h"
#include "model/trace/trace_sink.h"
#include "profiler/engine/core/clock_origin.h"
#include "profiler/engine/core/disturbance.h"
#include "profiler/engine/core/fault.h"
#include "profiler/engine/core/gradient_noise.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::engine {

/// What a step came to, as soon as it is over.
struct StepProgress {
    std::int64_t step = 0;  ///< from 0
    std::int64_t steps = 0; ///< of so many
    double loss = 0;        ///< mean over the global batch, before the update
    double learningRate = 0;
    double gradientNorm = 0;        ///< before clipping
    std::vector<double> layerNorms; ///< the same of what is of no layer, then of each layer; empty: not known
    Duration duration;
    Instant end;                          ///< where its record in the trace ends
    bool warmup = false;                  ///< left out of the metrics
    std::optional<double> evaluationLoss; ///< mean over the held-out batches, where an evaluation followed the step
    double staleness = 0; ///< parameter servers: updates by others between fetching weights and applying the gradients
};

struct RunCallbacks {
    std::function<void(const StepProgress&)> onStep;   ///< after each step, on the training thread; may be empty
    std::function<void(const std::string&)> onMessage; ///< one line of progress (set-up, peak probe); may be empty
};

/// What is wrong with the link between two ranks, on the device clock.
struct LinkFault {
    RankId a, b;
    double bandwidthFactor = 1; ///< of what the cluster's description says
    Duration addedLatency;
    double loss = 0; ///< share of the bytes that must be sent again, below 1
};

/// When a run hangs, and what processes leave to read then.
struct HangOptions {
    std::string folder;                         ///< for the dumps; empty: none are written
    std::chrono::milliseconds timeout{600'000}; ///< an operation that takes longer hangs, and the run ends
};

class JobNotes;     // core/job_notes.h
class ProcessWorld; // comm/process_world.h

struct RunOptions {
    TraceSink* sink = nullptr;         ///< null: run untraced
    ClockOrigin origin;                ///< that the sink's TraceHeader was made with; ignored without a sink
    std::string saveWeightsDirectory;  ///< empty: do not save. Else model.safetensors is written there at the end
    std::string loadWeightsDirectory;  ///< empty: random weights. Else model.safetensors is read from there
    std::string checkpointFolder;      ///< of checkpoints; needed where checkpointEvery is set
    std::int64_t checkpointEvery = 0;  ///< steps between checkpoints; 0: none
    bool checkpointsBeside = false;    ///< they are written while the training goes on
    bool checkpointShards = false;     ///< every rank writes what it updates, instead of rank 0 everything
    std::string resumeFolder;          ///< empty: begin with step 0. Else go on from the newest whole checkpoint there
    bool measurePeak = true;           ///< the 100 ms matrix-product sweep before the first step
    ClockKind clock = ClockKind::Wall; ///< Wall, or Device: needs at least 3 steps, of which 2 measure the operators
    std::string kernelTimesFile; ///< of the device clock: times are taken from there, and new ones added. Empty: none
    std::vector<Disturbance> disturbances; ///< what is done on purpose
    bool blind = false;                    ///< the trace does not say what was done on purpose
    std::vector<LinkFault> linkFaults;     ///< of the device clock
    std::int64_t evaluateEvery = 0;        ///< steps between evaluations; 0: none
    std::int64_t evaluateBatches = 1;      ///< global batches of one evaluation, which training does not see
    std::int64_t noiseEvery = 0;           ///< steps between probes of the gradients' noise; 0: none
    std::int64_t noiseBatches = 4;         ///< global batches of one probe, which training does not see; at least 2
    std::stop_token stop;                  ///< checked between steps; a stopped run reports what it did
    bool nccl = false;                     ///< on GPUs: one for each rank, and NCCL between them; else all share one
    bool separateProcesses = false;        ///< the ranks are processes, or will be
    HangOptions hang;
    std::vector<Fault> faults;             ///< each once in a job, restarts included
    std::vector<std::int64_t> skippedData; ///< numbers of the batches that are left out
    int restarts = 0; ///< after a failure the job goes on from its last good checkpoint, at most so often
    /// Devices that stand by. Each that fails is lost, and where too few are left the job goes on with a smaller dp. Absent:
    /// each that fails is replaced.
    std::optional<int> spares;
    int attempt = 0;                   ///< at the job, from 0, where somebody else restarts it; needs notes then
    JobNotes* notes = nullptr;         ///< of the attempts before, for this and the next one; null: none
    ProcessWorld* processes = nullptr; ///< those: this one is one rank, and all call the same. Null for threads
};

/// What one rank came to.
struct RankReport {
    RankId rank;
    std::array<std::int64_t, kMemoryCategoryCount> peakBytesByCategory{}; ///< each at its own time
    std::int64_t peakBytes = 0;
    std::int64_t peakReservedBytes = 0;
    std::int64_t peakHostBytes = 0; ///< of what the plan offloads
    std::int64_t parameters = 0;    ///< that it holds
    std::int64_t events = 0;        ///< recorded
    Duration stepWall, stepCpu;     ///< of the measured steps together, whatever the clock
};

struct RunReport {
    std::vector<StepProgress> steps; ///< as rank 0 saw them
    GradientNoise noise;             ///< of all probes; without probes if none were asked for
    std::int64_t firstStep = 0;      ///< that it took; not 0: it went on from a checkpoint
    std::vector<RankReport> ranks;
    bool stopped = false;                                                 ///< ended early by the stop token
    int restarts = 0;                                                     ///< that there were
    TraceClosing closing;                                                 ///< hand this to TraceSink::finish
    std::array<std::int64_t, kMemoryCategoryCount> peakBytesByCategory{}; ///< of the rank with the largest total
    std::int64_t peakBytes = 0;                                           ///< largest total of any rank
    std::int64_t peakReservedBytes = 0;
    std::int64_t parameters = 0; ///< of the whole network
};

} // namespace fourwalls::engine
