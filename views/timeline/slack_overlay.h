// SPDX-License-Identifier: GPL-3.0-or-later
// What of a step could take longer without harm, as the timeline shows it: those bars are pale, and a line below the others
// marks the critical path.
#pragma once

#include "model/replay/step_slack.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace fourwalls::views {

/// What a column of a lane shows.
enum class SlackColumn : std::uint8_t { Nothing, Pale, Tight, Path };

/// The pieces of one lane, by time.
std::span<const SlackPiece> slackOfLane(const StepSlack& slack, TrackId track, int lane);
/// The piece that begins and ends there; null: none.
const SlackPiece* slackOfSlice(const StepSlack& slack, TrackId track, int lane, TimeRange range);

/// By column of `width` pixels that show `visible`: where several pieces meet, the one that matters most. A piece that could
/// take longer, but not by `least`, is tight.
std::vector<SlackColumn> slackColumns(std::span<const SlackPiece> pieces, Duration least, TimeRange visible, int width);

} // namespace fourwalls::views
