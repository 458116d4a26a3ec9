// SPDX-License-Identifier: Apache-2.0
// Another plan, batch or cluster for a recorded step: the recording scaled by what the cost model says of both.
#pragma once

#include "model/base/sentence.h"
#include "model/replay/replay_change.h"
#include "model/spec/calibration.h"
#include "model/spec/run_spec.h"
#include "model/trace/trace_sink.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fourwalls::replay {

/// Predictions of the recorded specification and of the changed one, as a ratio.
struct SpecRatio {
    /// Changed by recorded; low and high: the cost model's band around it, and at least what such answers were off by.
    double time = 1, low = 1, high = 1;
    /// Shares of the changed step: in operators of shapes that the recorded step has, too, which take what they took there;
    /// in parts that the recorded one has none of. The rest are other shapes, at the rate of the recorded ones near them.
    double measured = 0, modelled = 0;
    double bytes = 1; ///< of the peak of the fullest rank
    std::vector<Sentence> assumed;
};

/// Machines with the rates that the cost model shall take of them.
struct MachineRates {
    ClusterSpec cluster;
    Calibration calibration;
    bool fromRecording = false; ///< learned from the recording itself: what it has, takes what it took
};

/// The specification after the changes of kinds Plan, Batch and Cluster. Errors: those of the plan and the preset.
Result<RunSpec> changedSpec(const RunSpec& recorded, std::span<const ReplayChange> changes);

/// Of the changes of kinds Plan, Batch and Cluster. rates: of the recorded machines; null: of cores those that do not depend
/// on shapes, else the published ones. Errors: Unsupported if the trace has no specification, or does not say how fast its
/// ranks are connected where that is to change; those of the plan, the preset and the cost model, naming the field.
Result<SpecRatio> ratioOfSpecs(const Recording& recording, std::span<const ReplayChange> changes,
                               const MachineRates* rates = nullptr);

/// The cost model's step of the changed specification with all times scaled to a length.
struct ScaledStep {
    TraceHeader header;
    std::function<Status(TraceSink& sink)> write; ///< finishes the sink, which was made with the header
};

/// Errors: as ratioOfSpecs.
Result<ScaledStep> scaledStep(const Recording& recording, std::span<const ReplayChange> changes, Duration length,
                              const MachineRates* rates = nullptr);

} // namespace fourwalls::replay
