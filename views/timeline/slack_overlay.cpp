// SPDX-License-Identifier: GPL-3.0-or-later
// See slack_overlay.h.
#include "views/timeline/slack_overlay.h"

#include "views/plot/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fourwalls::views {

namespace {
constexpr int kPaleness = 170; ///< of 255, of the background over a bar
constexpr int kPathLine = 2;   ///< pixels
} // namespace

std::span<const SlackPiece> slackOfLane(const StepSlack& slack, TrackId track, int lane)
{
    const auto key = [](const SlackPiece& piece) { return std::tuple(piece.track, piece.lane); };
    const auto less = [&](const SlackPiece& piece, const std::tuple<TrackId, int>& wanted) {
        return key(piece) < wanted;
    };
    const auto more = [&](const std::tuple<TrackId, int>& wanted, const SlackPiece& piece) {
        return wanted < key(piece);
    };
    const std::tuple<TrackId, int> wanted(track, lane);
    const auto first = std::lower_bound(slack.pieces.begin(), slack.pieces.end(), wanted, less);
    const auto last = std::upper_bound(first, slack.pieces.end(), wanted, more);
    return {first, last};
}

const SlackPiece* slackOfSlice(const StepSlack& slack, TrackId track, int lane, TimeRange range)
{
    const auto pieces = slackOfLane(slack, track, lane);
    auto at = std::lower_bound(pieces.begin(), pieces.end(), range.begin,
                               [](const SlackPiece& piece, Instant t) { return piece.range.begin < t; });
    for (; at != pieces.end() && at->range.begin == range.begin; ++at)
        if (at->range.end == range.end) return &*at;
    return nullptr;
}

std::vector<SlackColumn> slackColumns(std::span<const SlackPiece> pieces, Duration least, TimeRange visible, int width)
{
    std::vector<SlackColumn> columns(static_cast<std::size_t>(std::max(0, width)), SlackColumn::Nothing);
    if (width <= 0 || visible.empty()) return columns;
    const double perPixel = static_cast<double>(visible.length().ns) / width;
    auto at = std::lower_bound(pieces.begin(), pieces.end(), visible.begin,
                               [](const SlackPiece& piece, Instant t) { return piece.range.end <= t; });
    for (; at != pieces.end() && at->range.begin < visible.end; ++at) {
        const SlackColumn is = at->onPath          ? SlackColumn::Path
                               : at->slack < least ? SlackColumn::Tight
                                                   : SlackColumn::Pale;
        const double from = static_cast<double>((at->range.begin - visible.begin).ns) / perPixel;
        const double to = static_cast<double>((at->range.end - visible.begin).ns) / perPixel;
        const int first = std::clamp(static_cast<int>(std::lround(from)), 0, width - 1);
        const int last = std::clamp(static_cast<int>(std::lround(to)) - 1, first, width - 1);
        for (int x = first; x <= last; ++x) {
            SlackColumn& column = columns[static_cast<std::size_t>(x)];
            column = std::max(column, is);
        }
    }
    return columns;
}

void paintSlack(QPainter& painter, const StepSlack& slack, TimeRange visible,
                const std::function<QRect(TrackId, int)>& laneRect)
{
    const Theme& theme = currentTheme();
    QColor pale = theme.card;
    pale.setAlpha(kPaleness);
    const Duration least = slack.least();
    for (std::size_t i = 0; i < slack.pieces.size();) {
        const SlackPiece& first = slack.pieces[i];
        const auto lane = slackOfLane(slack, first.track, first.lane);
        i += lane.size();
        const QRect rect = laneRect(first.track, first.lane);
        if (rect.isNull()) continue;
        const std::vector<SlackColumn> columns = slackColumns(lane, least, visible, rect.width());
        for (std::size_t x = 0; x < columns.size();) {
            std::size_t end = x + 1;
            while (end < columns.size() && columns[end] == columns[x]) ++end;
            const QRect part(rect.left() + static_cast<int>(x), rect.top(), static_cast<int>(end - x), rect.height());
            if (columns[x] == SlackColumn::Pale) painter.fillRect(part, pale);
            if (columns[x] == SlackColumn::Path)
                painter.fillRect(part.left(), part.bottom() + 1 - kPathLine, part.width(), kPathLine, theme.text);
            x = end;
        }
    }
}

} // namespace fourwalls::views
