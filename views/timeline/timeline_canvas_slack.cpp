// SPDX-License-Identifier: GPL-3.0-or-later
// The overlay of slack over the timeline's bars.
#include "views/timeline/slack_overlay.h"
#include "views/timeline/timeline_canvas.h"
#include "views/words/format.h"

#include <QPainter>

namespace fourwalls::views {

namespace {
constexpr int kPaleness = 170; ///< of 255, of the background over a bar
constexpr int kPathLine = 2;   ///< pixels
} // namespace

void TimelineCanvas::setSlack(std::shared_ptr<const StepSlack> slack)
{
    if (m_slack == slack) return;
    m_slack = std::move(slack);
    update();
}

void TimelineCanvas::paintSlack(QPainter& painter) const
{
    if (!m_slack) return;
    const Theme& theme = currentTheme();
    QColor pale = theme.card;
    pale.setAlpha(kPaleness);
    const Duration least = m_slack->least();
    for (std::size_t i = 0; i < m_slack->pieces.size();) {
        const SlackPiece& first = m_slack->pieces[i];
        const auto lane = slackOfLane(*m_slack, first.track, first.lane);
        i += lane.size();
        const QRect rect = laneRect(first.track, first.lane);
        if (rect.isNull()) continue;
        const std::vector<SlackColumn> columns = slackColumns(lane, least, range(), rect.width());
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

QString TimelineCanvas::slackLine(const SliceView& slice) const
{
    const SlackPiece* piece =
        m_slack ? slackOfSlice(*m_slack, slice.track, slice.lane, {slice.start, slice.end()}) : nullptr;
    if (!piece) return {};
    if (piece->onPath) return tr("on the critical path: every bit longer makes the step longer");
    if (piece->slack < m_slack->least()) return tr("as tight as the critical path");
    return tr("could take %1 longer without harm").arg(formatDuration(piece->slack, 3));
}

} // namespace fourwalls::views
