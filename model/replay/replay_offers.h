// SPDX-License-Identifier: Apache-2.0
// What could be changed of a step, and which of the usual changes would make it shorter, for a panel that offers them.
#pragma once

#include "model/replay/replay.h"
#include "model/spec/pipeline_schedule.h"
#include "model/spec/run_spec.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fourwalls::replay {

enum class OfferKind : std::uint8_t { Stragglers, Rank, Stage, Launches, Host, Reading, Link, Kernel, Hide, Schedule };

struct ReplayOffer {
    OfferKind kind = OfferKind::Stragglers;
    std::string what; ///< the rank, stage, group, kernel, transfer or schedule; empty for the others
    ReplayChange change;
    ReplayOutcome outcome;

    /// How much shorter the step gets; negative: longer.
    Duration gain(Duration replayed) const { return replayed - outcome.changed; }
};

/// What the trace has that a change can name.
struct ReplayKnobs {
    std::vector<RankId> ranks;           ///< with work; of one alone there are no peers
    std::vector<std::string> groups;     ///< that move something
    std::vector<std::string> kernels;    ///< on the path, most time first
    std::vector<std::string> transfers;  ///< of the engine, which may be hidden
    std::vector<std::string> reading;    ///< names of data loading
    std::vector<int> stages;             ///< of the pipeline; empty: one, or not known
    bool hasCalls = false;               ///< that launch work
    std::optional<PipelineShape> passes; ///< as recorded; absent: no pipeline, or none whose passes are known
    std::string noPasses;                ///< why they are absent
    std::optional<RunSpec> spec;         ///< absent: plan and batch cannot be changed
};

struct ReplayOffers {
    std::shared_ptr<const Replay> replay; ///< to run with other changes
    ReplayQuality quality;
    /// Of the unchanged replay of the steps around it, of which every one has the delays of the others: mean [%]. That of
    /// quality where there are none, or they cannot be run.
    double error = 0;
    std::size_t errorSteps = 1; ///< it is the mean of
    ReplayKnobs knobs;
    std::vector<ReplayOffer> offers; ///< most gain first; those that change nothing are left out

    /// The offer of a kind for something, if it changes the step.
    const ReplayOffer* find(OfferKind kind, const std::string& what = {}) const;
};

/// Kernels in half their time that are offered, at most.
inline constexpr std::size_t kMostKernelOffers = 3;

/// Of the step that stepWindow chooses: without stragglers, each rank and stage like its peers, launches as a graph, half the program's work, nothing to read,
/// links of each group twice as fast, the kernels with most time on the path in half of it, transfers hidden, and the
/// other schedules of its pipeline. Errors: those of Replay::of.
Result<ReplayOffers> replayOffers(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop = {});

} // namespace fourwalls::replay
