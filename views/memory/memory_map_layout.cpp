// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_map_layout.h.
#include "views/memory/memory_map_layout.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace fourwalls::views {

namespace {

constexpr double kNarrowestSegment = 2, kBetweenSegments = 3;
constexpr double kSliver = 8; ///< less than this at the end of a line is left empty

double widthOf(const MapRow& row, double pixelsPerByte)
{
    return std::max(kNarrowestSegment, static_cast<double>(row.segment.bytes) * pixelsPerByte);
}

/// Goes along the lines. visit(line, left, right, offset): a part of the present segment, which begins so many pixels
/// behind the segment's begin.
class LineWalk {
public:
    explicit LineWalk(double width) : m_width(width) {}

    template <class Visit>
    void place(double length, const Visit& visit)
    {
        if (m_x > 0) m_x += kBetweenSegments;
        double done = 0;
        while (done < length) {
            const double room = m_width - m_x;
            if (room < std::min(kSliver, length - done)) {
                ++m_line;
                m_x = 0;
                continue;
            }
            const double part = std::min(room, length - done);
            visit(m_line, m_x, m_x + part, done);
            done += part;
            m_x += part;
        }
    }
    int lines() const { return m_line + (m_x > 0 ? 1 : 0); }

private:
    double m_width, m_x = 0;
    int m_line = 0;
};

int linesAt(const AllocatorMap& map, const std::vector<std::size_t>& order, double width, double pixelsPerByte)
{
    LineWalk walk(width);
    for (const std::size_t row : order)
        walk.place(widthOf(map.rows[row], pixelsPerByte), [](int, double, double, double) {});
    return walk.lines();
}

} // namespace

std::vector<std::size_t> orderedRows(const AllocatorMap& map, MapOrder order)
{
    std::vector<std::size_t> rows(map.rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const auto by = [&](const auto& key) {
        std::stable_sort(rows.begin(), rows.end(), [&](std::size_t left, std::size_t right) {
            return key(map.rows[left]) < key(map.rows[right]);
        });
    };
    switch (order) {
    case MapOrder::Address: break; // the map's own
    case MapOrder::Size: by([](const MapRow& row) { return -row.segment.bytes; }); break;
    case MapOrder::Holes: by([](const MapRow& row) { return -row.freeBytes; }); break;
    case MapOrder::Pool:
        by([](const MapRow& row) {
            return std::tuple(row.segment.privatePool, row.segment.small, row.segment.stream);
        });
        break;
    }
    return rows;
}

MapLayout layoutMap(const AllocatorMap& map, MapOrder order, QSizeF size)
{
    MapLayout layout;
    const std::vector<std::size_t> rows = orderedRows(map, order);
    const int most = static_cast<int>((size.height() + kMapLineGap) / (kMapLine + kMapLineGap));
    if (rows.empty() || most < 1 || size.width() < kSliver) return layout;
    double low = 0;
    double high = size.width() * most / std::max(1.0, static_cast<double>(map.all.reservedBytes));
    constexpr int kHalvings = 30;
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (linesAt(map, rows, size.width(), middle) <= most ? low : high) = middle;
    }
    layout.bytesPerPixel = low > 0 ? 1 / low : 0;
    LineWalk walk(size.width());
    for (const std::size_t index : rows) {
        const MapRow& row = map.rows[index];
        const double length = widthOf(row, low);
        const double scale = length / static_cast<double>(row.segment.bytes);
        std::size_t first = 0;
        walk.place(length, [&](int line, double left, double right, double offset) {
            if (line >= most) return;
            const double top = line * (kMapLine + kMapLineGap);
            layout.runs.push_back({QRectF(left, top, right - left, kMapLine), index});
            const double end = offset + right - left;
            for (std::size_t i = first; i < row.pieces.size(); ++i) {
                const MapPiece& piece = row.pieces[i];
                const double begin = static_cast<double>(piece.address - row.segment.address) * scale;
                const double pieceEnd = begin + static_cast<double>(piece.bytes) * scale;
                if (begin >= end) break;
                if (pieceEnd <= end) first = i + 1;
                const double from = std::max(begin, offset), to = std::min(pieceEnd, end);
                if (to > from)
                    layout.boxes.push_back({QRectF(left + from - offset, top, to - from, kMapLine), index, i});
            }
        });
    }
    return layout;
}

} // namespace fourwalls::views
