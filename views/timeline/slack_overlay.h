// SPDX-License-Identifier: GPL-3.0-or-later
// What of a step could take longer without harm, as the timeline shows it: those bars are pale, and a line below the others
// marks the critical path.
#pragma once

#include "model/replay/step_slack.h"

#include <QRect>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

class QPainter;

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

/// Over the bars of what is visible. laneRect: where a lane's bars are, null when they are out of sight.
void paintSlack(QPainter& painter, const StepSlack& slack, TimeRange visible,
                const std::function<QRect(TrackId, int)>& laneRect);

} // namespace fourwalls::views
