// SPDX-License-Identifier: Apache-2.0
// A recorded step, run again as a graph: unchanged, to say how far the graph can be trusted, and changed, to say what the
// step would have taken.
#pragma once

#include "model/base/sentence.h"
#include "model/replay/replay_change.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::replay {

struct CoreShare;    // core_share.h
struct MachineRates; // spec_change.h

/// One step, recorded and replayed.
struct ReplayedStep {
    StepIndex step;
    Duration recorded, replayed;

    /// Replayed against recorded [%].
    double errorPercent() const;
};

/// How far an unchanged replay is from what was recorded, and what it rests on.
struct ReplayQuality {
    DelayRule delays = DelayRule::Class;
    std::vector<ReplayedStep> steps;
    double meanError = 0, maxError = 0; ///< mean and largest of the steps' errors, without sign [%]
    double errorWithoutDelays = 0;      ///< mean, with DelayRule::None [%]
    std::int64_t negativeDelays = 0;    ///< edges that a recorded time contradicts
    std::int64_t longDelaysOffPath = 0; ///< delays over 1 % of their step that did not make it longer
    Duration recorded, replayed,
        unexplained; ///< means over the steps; unexplained: that nothing on the recorded path covers
    std::int64_t nodes = 0, edges = 0, ranks = 0, derivedEdges = 0;
    bool restsOnItself = false;  ///< most delays are the only ones of their class: that it agrees says nothing
    std::vector<Sentence> notes; ///< what limits the answer
};

/// A changed replay.
struct ReplayOutcome {
    std::vector<Duration> steps;                   ///< by step of the quality
    Duration changed, low, high;                   ///< mean over the steps, and its band
    std::optional<double> peakBytes;               ///< of the fullest rank; absent: not known
    double measured = 0, scaled = 0, modelled = 0; ///< shares of the step's path, add up to 1
    std::vector<Sentence> assumed;
};

class Replay {
public:
    /// Reads the steps (see readRecording) and makes their graph. Errors: those of readRecording; Format where records
    /// contradict each other; Cancelled.
    static Result<Replay> of(TraceQuery& trace, std::optional<StepChoiceRange> steps, std::stop_token stop = {});

    const Recording& recording() const { return *m_recording; }
    /// The graph that a rule runs.
    const ReplayGraph& graph(DelayRule rule) const { return rule == DelayRule::None ? *m_plain : *m_full; }
    const PeerClasses& peers(DelayRule rule) const { return rule == DelayRule::None ? *m_plainPeers : *m_fullPeers; }

    ReplayQuality quality(DelayRule rule) const;
    /// Errors: those of applyChanges, orderPasses and ratioOfSpecs.
    /// rates: for changes of the specification, see ratioOfSpecs.
    Result<ReplayOutcome> run(DelayRule rule, std::span<const ReplayChange> changes,
                              const MachineRates* rates = nullptr) const;
    /// The times that the changes give, for what draws or writes the changed step.
    Result<ChangedTimes> timesAfter(DelayRule rule, std::span<const ReplayChange> changes) const;

    /// The same with the graph that the changes ask for: what `hide` names holds up nobody, and where the program's launches
    /// vanish, a step ends with its device's work, too.
    Result<Replay> restructured(std::span<const ReplayChange> changes) const;

private:
    Status build(const std::vector<bool>& hidden);
    /// By operator, whether a `hide` change names it; empty where none does.
    Result<std::vector<bool>> hiddenBy(std::span<const ReplayChange> changes) const;
    void endWithDevice();
    /// Errors: Unsupported for changes that tell working from waiting, where ranks waited for their cores.
    Status tellable(std::span<const ReplayChange> changes) const;
    /// What the ranks' cores do to an answer; absent: nothing, as far as is known. error: of the unchanged replay [%].
    std::optional<Sentence> coresNote(double error) const;

    std::optional<double> m_peakBytes;
    std::shared_ptr<const Recording> m_recording;
    std::shared_ptr<const ReplayGraph> m_full, m_plain; ///< with and without edges that explain waits
    std::shared_ptr<const PeerClasses> m_fullPeers, m_plainPeers;
    std::shared_ptr<const CoreShare> m_cores; ///< null: no question
    std::vector<Sentence> m_notes;
};

} // namespace fourwalls::replay
