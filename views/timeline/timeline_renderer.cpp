// SPDX-License-Identifier: GPL-3.0-or-later
// One frame of bars and names.
#include "views/timeline/timeline_renderer.h"

#include "views/words/format.h"
#include "views/words/words.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr int kLowestNamedLane = 12;
}

void keepWidest(std::vector<PlacedName>& names, std::size_t limit)
{
    if (names.size() <= limit) return;
    std::vector<float> widths;
    widths.reserve(names.size());
    for (const auto& name : names) widths.push_back(name.width);
    std::nth_element(widths.begin(), widths.begin() + static_cast<std::ptrdiff_t>(limit), widths.end(),
                     std::greater<>());
    const float narrowest = widths[limit];
    std::erase_if(names, [&](const auto& name) { return name.width <= narrowest; });
}

std::optional<StepIndex> stepNumberOf(const SliceView& slice, const OpInfo& op, std::span<const StepSpan> steps)
{
    if (op.kind != SliceKind::Step || op.name.find_first_of("0123456789") != std::string::npos) return std::nullopt;
    const Instant middle = slice.start + Duration{slice.duration.ns / 2};
    const StepSpan* step = stepAt(steps, middle);
    return step ? std::optional(step->step) : std::nullopt;
}

TimelineRenderer::TimelineRenderer() : m_texts(fontOf(TextRole::Small)) {}

TimeToPixel TimelineRenderer::mapOf(const TimeCamera& camera)
{
    return {camera.bounds().begin, camera.beginNs(), camera.nsPerPixel(), camera.width()};
}

Coverage TimelineRenderer::render(const TimelineFrame& frame, const Theme& theme)
{
    const QSize pixels = (QSizeF(frame.size) * frame.ratio).toSize();
    if (m_image.size() != pixels) m_image = QImage(pixels, QImage::Format_RGB32);
    if (m_image.isNull()) return Coverage::Exact;
    m_image.setDevicePixelRatio(frame.ratio);
    m_fine = *frame.camera;
    m_fine.setWidth(pixels.width());
    const BarPalette palette = barPaletteOf(theme);
    m_names.clear();
    m_barCount = 0;
    Coverage worst = Coverage::Exact;
    {
        BarPainter painter(m_image, palette);
        std::vector<int> grid;
        for (const auto& tick : frame.ticks.ticks)
            if (tick.major) grid.push_back(static_cast<int>(std::lround(m_fine.xOf(tick.at))));
        painter.clear(grid);

        const int pinnedEnd = lineOf(frame.rows->layout().pinnedHeight);
        painter.setClip(0, pinnedEnd);
        for (const auto& row : frame.rows->layout().pinned) worst = std::min(worst, renderRow(painter, frame, row));

        painter.setClip(pinnedEnd, pixels.height());
        for (const auto& row : frame.rows->visible()) {
            if (row.startsGroup) painter.horizontalLine(lineOf(frame.rows->topOf(row) - 2), palette.groupLine);
            worst = std::min(worst, renderRow(painter, frame, row));
        }
        if (frame.rows->layout().pinnedHeight > 0) painter.horizontalLine(pinnedEnd, palette.groupLine);
    }
    drawNames(frame, palette);
    return worst;
}

int TimelineRenderer::lineOf(int y) const
{
    return static_cast<int>(std::lround(y * m_image.devicePixelRatio()));
}

Coverage TimelineRenderer::renderRow(BarPainter& painter, const TimelineFrame& frame, const TimelineRow& row)
{
    if (row.kind == TimelineRow::Kind::Counter) return Coverage::Exact; // the canvas paints them
    const int top = frame.rows->topOf(row);
    if (row.kind == TimelineRow::Kind::Activity || !row.track) return renderActivity(painter, frame, row, top);

    const TrackPieces pieces = frame.source->tiles().pieces(*row.track, frame.camera->range(), frame.source->level());
    const TimeToPixel map = mapOf(m_fine);
    const double ratio = m_image.devicePixelRatio();
    const int lanes = std::min(row.lanes, static_cast<int>(pieces.lanes.size()));
    const auto styles = frame.source->styles();
    std::optional<ColourKey> byStream; // instead of what the operators have
    if (frame.source->colourBy() == ColourBy::Stream && row.kind == TimelineRow::Kind::Track)
        byStream = groupColourKey(row.group);
    for (int lane = 0; lane < lanes; ++lane) {
        const int laneTop = top + row.laneTop(lane);
        const int height = row.barHeight(lane);
        if (laneTop >= frame.size.height() || laneTop + height <= 0) continue;
        m_bars.clear();
        m_geometry.build(pieces.lanes[static_cast<std::size_t>(lane)], map, frame.source->styles(), m_bars);
        if (byStream)
            for (BarRect& rect : m_bars.rects)
                if (rect.key != ColourKey::Waiting) rect.key = *byStream;
        painter.lane(lineOf(laneTop), lineOf(laneTop + height) - lineOf(laneTop), m_bars.rects);
        m_barCount += m_bars.rects.size();
        if (height < kLowestNamedLane) continue;
        for (const auto& label : m_bars.labels) {
            const double width = (label.x1 - label.x0) / ratio;
            if (width < kNarrowestLabel) continue;
            const auto op = static_cast<std::size_t>(label.slice.op.value);
            ColourKey key = label.slice.op.value >= 0 && op < styles.size() ? styles[op].key : ColourKey::Structure;
            if (byStream && key != ColourKey::Waiting) key = *byStream;
            m_names.push_back({static_cast<float>(label.x0 / ratio + kNamePadding),
                               static_cast<float>(width - 2 * kNamePadding), laneTop + height / 2, row.pinned, key,
                               label.slice});
        }
    }
    return pieces.coverage;
}

Coverage TimelineRenderer::renderActivity(BarPainter& painter, const TimelineFrame& frame, const TimelineRow& row,
                                          int top)
{
    Coverage coverage = Coverage::Exact;
    const auto pieces =
        frame.source->tiles().activity(row.rank, frame.camera->range(), frame.source->level(), coverage);
    const TimeToPixel map = mapOf(m_fine);
    m_columns.assign(static_cast<std::size_t>(map.width), {});
    for (const auto& piece : pieces) {
        const double left = map.x(piece.range.begin);
        const double columnWidth = (map.x(piece.range.end) - left) / static_cast<double>(piece.columns.size());
        const int first = std::max(0, static_cast<int>(std::floor(map.x(piece.clip.begin))));
        const int last = std::min(map.width - 1, static_cast<int>(std::ceil(map.x(piece.clip.end))) - 1);
        for (int x = first; x <= last; ++x) {
            // The mean of the stored columns under this pixel, or the one that it lies in.
            const double from = std::max(0.0, (x - left) / columnWidth);
            const double to = std::min(static_cast<double>(piece.columns.size()), (x + 1 - left) / columnWidth);
            auto& sum = m_columns[static_cast<std::size_t>(x)];
            const double pixels = std::max(1e-9, 1 / columnWidth);
            for (auto at = static_cast<std::size_t>(from); static_cast<double>(at) < to && at < piece.columns.size();
                 ++at) {
                const double part = std::min(to, static_cast<double>(at) + 1) - std::max(from, static_cast<double>(at));
                const auto weight = static_cast<float>(part / pixels);
                sum.compute += weight * piece.columns[at].compute;
                sum.communication += weight * piece.columns[at].communication;
                sum.other += weight * piece.columns[at].other;
                sum.waiting += weight * piece.columns[at].waiting;
            }
        }
    }
    const int padding = row.height > 12 ? TimelineRow::kPadding : TimelineRow::kPadding / 2;
    const int from = lineOf(top + padding);
    painter.activity(from, lineOf(top + padding + row.laneHeight) - from, m_columns);
    return coverage;
}

void TimelineRenderer::drawNames(const TimelineFrame& frame, const BarPalette& palette)
{
    keepWidest(m_names, kMostNames);
    if (m_names.empty()) return;
    QPainter painter(&m_image);
    painter.setRenderHint(QPainter::TextAntialiasing);
    const auto styles = frame.source->styles();
    // A name ends where its rows end: those that are scrolled go on below the pinned ones.
    const int pinnedEnd = frame.rows->layout().pinnedHeight;
    const QRect pinned(0, 0, frame.size.width(), pinnedEnd);
    const QRect scrolled(0, pinnedEnd, frame.size.width(), frame.size.height() - pinnedEnd);
    std::optional<bool> clippedTo; // the pinned ones
    QRgb pen = 0;
    for (const auto& name : m_names) {
        const auto op = frame.source->op(name.slice.op);
        if (!op) continue;
        if (clippedTo != name.pinned) {
            clippedTo = name.pinned;
            painter.setClipRect(name.pinned ? pinned : scrolled);
        }
        const auto style = styles[static_cast<std::size_t>(name.slice.op.value)];
        const QRgb colour = style.dimmed ? palette.dimmedText : palette.text[static_cast<std::size_t>(name.key)];
        if (colour != pen) painter.setPen(QColor(pen = colour));
        const float x = name.x, y = static_cast<float>(name.centreY);
        // Only of communication says the detail what the name does not.
        const bool isSaid = op->activity == Activity::Transfer || op->activity == Activity::PipelineTransfer;
        QString text = m_texts.nameOnBar(opName(*op), isSaid ? QString::fromStdString(op->detail) : QString());
        if (const auto number = stepNumberOf(name.slice, *op, frame.steps))
            text += QLatin1Char(' ') + QString::number(number->value);
        // Hatching is hard to read on: only a whole name is worth it.
        if (name.key == ColourKey::Waiting && m_texts.shaped(text).width() > name.width) continue;
        const float used = m_texts.draw(painter, x, y, name.width, text);
        // The duration follows when the whole of both fits.
        if (used <= 0 || used < m_texts.shaped(text).width()) continue;
        const float room = name.width - used;
        if (room < 48) continue;
        const QString duration = QStringLiteral(" \u00b7 ") + formatDuration(name.slice.duration);
        if (m_texts.shaped(duration).width() <= room) m_texts.draw(painter, x + used, y, room, duration);
    }
}

} // namespace fourwalls::views
