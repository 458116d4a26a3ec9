// SPDX-License-Identifier: Apache-2.0
// What traces teach the cost model about the machines that they ran on: rates of operators by shape, curves of collectives,
// links, launches, slowdowns. Measured on the parts of the steps, never fitted to their length.
#pragma once

#include "model/base/result.h"
#include "model/learn/operator_levels.h"
#include "model/learn/operator_rates.h"
#include "model/learn/step_overheads.h"
#include "model/learn/transfer_times.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"
#include "model/trace/inferred_spec.h"
#include "model/trace/trace_query.h"

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::learn {

/// Machines and rates to begin with; what the traces do not show stays as it is there.
struct KnownMachine {
    ClusterSpec cluster;
    Calibration calibration;
};

struct LearnedCalibration {
    ClusterSpec cluster; ///< with a device for every rank of the largest trace
    Calibration calibration;
    std::vector<LearnedKernel> kernels; ///< most time first
    double kernelShare = 0;             ///< of the kernels' time: became rates by shape
    std::vector<LearnedTransfer> transfers;
    StepOverheads overheads;
    std::vector<LearnedLevel> levels; ///< empty: no trace says which network it ran
    std::vector<std::string> notes;   ///< what could not be learned, in sentences
};

/// A trace and the name it has in errors.
struct TeachingTrace {
    TraceQuery* trace = nullptr;
    std::string name;
};

/// From the measured steps of traces of one kind of device. Operator times hold what ranks cost each other, so neither
/// contention between ranks nor spread between devices is charged on top.
/// Errors: Unsupported where traces ran on different devices or in different precisions, or one says nothing of its device;
/// those of readRecording, with the trace's name; Cancelled.
Result<LearnedCalibration> learnCalibration(std::span<const TeachingTrace> traces,
                                            const std::optional<KnownMachine>& known = std::nullopt,
                                            std::stop_token stop = {});

/// What one trace teaches a prediction of it: its network, plan and settings, too.
struct LikeTrace {
    RunSpec spec;                       ///< as the trace ran; its cluster has a device for every rank
    LearnedCalibration learned;         ///< under which the trace's own operators take what they took
    std::vector<InferredField> assumed; ///< of the spec: what the trace does not say itself
    std::size_t operators = 0;          ///< of the engine that were learned by name; 0: computation as a whole
    double recordedSeconds = 0;         ///< median measured step
    double predictedSeconds = 0;        ///< of the same plan
};

/// Errors: those of learnCalibration; Unsupported for a trace that does not say its network; of the cost model.
Result<LikeTrace> likeTrace(TraceQuery& trace, std::stop_token stop = {});

} // namespace fourwalls::learn
