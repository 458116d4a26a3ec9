// SPDX-License-Identifier: Apache-2.0
// How much longer each piece of a step could have taken without the step becoming longer.
#pragma once

#include "model/trace/step_window.h"

#include <optional>
#include <stop_token>
#include <vector>

namespace fourwalls {

/// A slice of the step as the timeline draws it.
struct SlackPiece {
    TrackId track;
    int lane = 0;
    TimeRange range;
    Duration slack;      ///< 0: a longer one makes the step longer by as much
    bool onPath = false; ///< it is on the critical path; others without slack are so on another path of equal length
};

struct StepSlack {
    StepWindow window;
    std::vector<SlackPiece> pieces; ///< by track, lane and time
    double replayErrorPercent = 0;  ///< of the unchanged replay that this rests on (ReplayQuality::meanError)
    /// Slack below this is none: a thousandth of the step.
    Duration least() const { return Duration{window.range.length().ns / 1000}; }
};

/// Of the step that stepWindow chooses, with the delays that were recorded. Errors: those of replay::Replay::of; Cancelled.
Result<StepSlack> stepSlack(TraceQuery& trace, std::optional<StepIndex> wanted, std::stop_token stop = {});

} // namespace fourwalls
