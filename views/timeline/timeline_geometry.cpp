// SPDX-License-Identifier: GPL-3.0-or-later
// Rectangles, labels and hits of one lane.
#include "views/timeline/timeline_geometry.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

ColourKey colourKeyOf(const OpInfo& op)
{
    // The same order of questions as colourOf of the theme; a test compares the two.
    switch (op.activity) {
    case Activity::CollectiveWait:
    case Activity::PipelineWait:
    case Activity::Synchronisation: return ColourKey::Waiting;
    default: break;
    }
    if (op.kind == SliceKind::Wait) return ColourKey::Waiting;
    if (op.kind == SliceKind::Collective || op.kind == SliceKind::Hop || op.activity == Activity::Transfer ||
        op.activity == Activity::PipelineTransfer)
        return ColourKey::Communication;
    if (op.kind == SliceKind::Copy || op.activity == Activity::Copy || op.kind == SliceKind::Checkpoint ||
        op.kind == SliceKind::DataLoading || op.activity == Activity::DataLoading)
        return ColourKey::Copy;
    if (op.kind == SliceKind::Step || op.kind == SliceKind::Marker || op.kind == SliceKind::HostCall)
        return ColourKey::Structure;
    if (isHostOperator(op)) return static_cast<ColourKey>(kHostOperatorKey);
    if (op.phase == Phase::None)
        if (const auto kernel = kernelClassOf(op)) return keyOf(*kernel);
    if (op.phase == Phase::None) return op.kind == SliceKind::Layer ? ColourKey::Structure : ColourKey::Compute;
    return keyOf(op.phase);
}

namespace {

/// The same name has the same colour in every trace.
ColourKey nameColourKey(const std::string& name)
{
    std::uint32_t hash = 2166136261u; // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return groupColourKey(hash >> 8);
}

} // namespace

ColourKey colourKeyOf(const OpInfo& op, ColourBy by)
{
    const ColourKey work = colourKeyOf(op);
    if (work == ColourKey::Waiting) return work;
    switch (by) {
    case ColourBy::Work:
    case ColourBy::Stream: break;
    case ColourBy::Phase: return op.phase == Phase::None ? ColourKey::Structure : keyOf(op.phase);
    case ColourBy::Kind:
        if (op.kind == SliceKind::Step) return ColourKey::Structure;
        if (work == ColourKey::Communication || work == ColourKey::Copy) return work;
        return groupColourKey(static_cast<std::size_t>(op.kind));
    case ColourBy::Name: return nameColourKey(op.name);
    case ColourBy::Module:
        // A layer by its number where the trace has one, so that all that belongs to it looks alike; an nn.Module of an
        // import by its name.
        if (op.layer) return groupColourKey(static_cast<std::size_t>(std::max(0, op.layer->value)));
        return op.kind == SliceKind::Layer ? nameColourKey(op.name) : ColourKey::Structure;
    }
    return work;
}

namespace {

SliceStyle styleOf(std::span<const SliceStyle> styles, OpId op)
{
    const auto index = static_cast<std::size_t>(op.value);
    return op.value >= 0 && index < styles.size() ? styles[index] : SliceStyle{};
}

bool sameLook(SliceStyle a, SliceStyle b)
{
    return a.key == b.key && a.dimmed == b.dimmed;
}

/// First slice of a piece that reaches into its clip.
auto firstIn(const LanePiece& piece)
{
    const auto& exact = piece.slices->exact;
    return std::partition_point(exact.begin(), exact.end(), [&](const SliceView& slice) {
        return slice.end() <= piece.clip.begin && slice.start < piece.clip.begin;
    });
}

auto firstBinIn(const LanePiece& piece)
{
    const auto& bins = piece.slices->bins;
    return std::partition_point(bins.begin(), bins.end(),
                                [&](const SliceBin& bin) { return bin.start + bin.width <= piece.clip.begin; });
}

} // namespace

void LaneGeometry::build(std::span<const LanePiece> pieces, const TimeToPixel& map, std::span<const SliceStyle> styles,
                         LaneBars& bars)
{
    m_columns.assign(static_cast<std::size_t>(map.width), Column{});
    m_firstColumn = map.width;
    m_lastColumn = -1;

    for (const auto& piece : pieces) {
        for (auto bin = firstBinIn(piece); bin != piece.slices->bins.end() && bin->start < piece.clip.end; ++bin) {
            const double width = static_cast<double>(std::max<std::int64_t>(1, bin->width.ns)) / map.nsPerPixel;
            const double busy = std::min(1.0, static_cast<double>(bin->busy.ns) / std::max<double>(1, bin->width.ns));
            const double from = map.x(std::max(bin->start, piece.clip.begin));
            const double to = std::min(map.x(bin->start) + width, map.x(piece.clip.end));
            addShare(from, to, busy, styleOf(styles, bin->dominant));
        }
    }

    std::optional<SliceId> last;
    const auto rectsBefore = bars.rects.size();
    for (const auto& piece : pieces) {
        for (auto slice = firstIn(piece); slice != piece.slices->exact.end() && slice->start < piece.clip.end;
             ++slice) {
            if (last == slice->id) continue;
            last = slice->id;
            const double x0 = map.x(slice->start);
            const double x1 = map.x(slice->end());
            if (x1 < 0 || x0 >= map.width) continue;
            const auto style = styleOf(styles, slice->op);
            if (style.hidden) continue;
            if (x1 - x0 < 1) {
                // Zero-length marks still have a place.
                addShare(x0, std::max(x1, x0 + 0.05), 1, style);
                continue;
            }
            const int left = static_cast<int>(std::lround(std::max(x0, -2.0)));
            const int right = static_cast<int>(std::lround(std::min(x1, map.width + 2.0)));
            BarRect rect;
            rect.x0 = static_cast<std::int16_t>(std::clamp(left, 0, map.width));
            rect.x1 = static_cast<std::int16_t>(std::clamp(std::max(right, left + 1), 0, map.width));
            rect.key = style.key;
            rect.dimmed = style.dimmed;
            rect.whole = true;
            if (rect.x1 <= rect.x0) continue;
            bars.rects.push_back(rect);
            if (rect.x1 - rect.x0 >= kNarrowestLabel) bars.labels.push_back({rect.x0, rect.x1, *slice});
        }
    }

    // Columns go below the single slices.
    const auto columnsFrom = bars.rects.size();
    emitColumns(bars);
    std::rotate(bars.rects.begin() + static_cast<std::ptrdiff_t>(rectsBefore),
                bars.rects.begin() + static_cast<std::ptrdiff_t>(columnsFrom), bars.rects.end());
}

void LaneGeometry::addShare(double x0, double x1, double busyPerPixel, SliceStyle style)
{
    const int columns = static_cast<int>(m_columns.size());
    x0 = std::max(x0, 0.0);
    x1 = std::min(x1, static_cast<double>(columns));
    if (x1 <= x0 || busyPerPixel <= 0 || style.hidden) return;
    const int first = static_cast<int>(x0);
    const int last = std::min(columns - 1, static_cast<int>(std::ceil(x1)) - 1);
    m_firstColumn = std::min(m_firstColumn, first);
    m_lastColumn = std::max(m_lastColumn, last);
    for (int at = first; at <= last; ++at) {
        const double part = std::min(x1, at + 1.0) - std::max(x0, static_cast<double>(at));
        const auto share = static_cast<float>(part * busyPerPixel);
        auto& column = m_columns[static_cast<std::size_t>(at)];
        column.share += share;
        if (column.lead <= 0 || (column.style.dimmed && !style.dimmed)) {
            column.style = style;
            column.lead = share;
        } else if (sameLook(column.style, style)) {
            column.lead += share;
        } else if (style.dimmed == column.style.dimmed) {
            column.lead -= share;
            if (column.lead < 0) {
                column.lead = -column.lead;
                column.style = style;
            }
        }
    }
}

void LaneGeometry::emitColumns(LaneBars& bars)
{
    const auto coverageOf = [](const Column& column) {
        if (column.share <= 0) return 0;
        const float share = std::min(1.0f, column.share);
        // Sixteen steps are more than the eye tells apart and let neighbours join into one rectangle.
        const int fine =
            kFaintestCoverage + static_cast<int>(share * static_cast<float>(255 - kFaintestCoverage) + 0.5f);
        return std::min(255, (fine + 7) / 15 * 15);
    };
    for (int at = m_firstColumn; at <= m_lastColumn;) {
        const auto& column = m_columns[static_cast<std::size_t>(at)];
        const int coverage = coverageOf(column);
        int end = at + 1;
        while (end <= m_lastColumn && coverageOf(m_columns[static_cast<std::size_t>(end)]) == coverage &&
               sameLook(m_columns[static_cast<std::size_t>(end)].style, column.style))
            ++end;
        if (coverage > 0) {
            BarRect rect;
            rect.x0 = static_cast<std::int16_t>(at);
            rect.x1 = static_cast<std::int16_t>(end);
            rect.key = column.style.key;
            rect.dimmed = column.style.dimmed;
            rect.coverage = static_cast<std::uint8_t>(coverage);
            bars.rects.push_back(rect);
        }
        at = end;
    }
}

LaneHit hitLane(std::span<const LanePiece> pieces, const TimeToPixel& map, double x, double tolerance)
{
    LaneHit hit;
    double nearest = tolerance;
    for (const auto& piece : pieces) {
        const double from = map.x(piece.clip.begin), to = map.x(piece.clip.end);
        if (x < from - tolerance || x > to + tolerance) continue;
        const auto& exact = piece.slices->exact;
        // Ends rise with starts within a lane: only the neighbours of x can be hit.
        auto at = std::partition_point(exact.begin(), exact.end(),
                                       [&](const SliceView& slice) { return map.x(slice.end()) < x - tolerance; });
        for (; at != exact.end() && map.x(at->start) <= x + tolerance; ++at) {
            const double distance = std::max({0.0, map.x(at->start) - x, x - map.x(at->end())});
            if (distance < nearest || (distance == 0 && !hit.slice) || (hit.slice && distance < nearest)) {
                nearest = distance;
                hit.slice = *at;
            }
        }
        for (auto bin = firstBinIn(piece); bin != piece.slices->bins.end() && bin->start < piece.clip.end; ++bin) {
            const double left = map.x(bin->start), right = map.x(bin->start + bin->width);
            if (left > x + tolerance) break;
            if (right >= x - tolerance && !hit.bin) hit.bin = *bin;
        }
    }
    if (hit.slice) hit.bin.reset();
    return hit;
}

} // namespace fourwalls::views
