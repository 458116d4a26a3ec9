// SPDX-License-Identifier: GPL-3.0-or-later
// Where the segments of an allocator and the pieces in them stand: one behind the other along lines, as text is written,
// so that thousands of segments of very different sizes are seen at once and to one scale.
#pragma once

#include "model/trace/allocator_map.h"

#include <QRectF>
#include <QSizeF>

#include <cstddef>
#include <vector>

namespace fourwalls::views {

enum class MapOrder { Address, Size, Holes, Pool };

/// Places in map.rows. Size and Holes: largest first; Pool: large, small and private ones, each by stream.
std::vector<std::size_t> orderedRows(const AllocatorMap& map, MapOrder order);

/// A part of a segment on one line.
struct MapRun {
    QRectF box;
    std::size_t row = 0; ///< its place in map.rows
};
/// A part of a piece on one line.
struct MapBox {
    QRectF box;
    std::size_t row = 0, piece = 0; ///< places in map.rows and its pieces
};

struct MapLayout {
    std::vector<MapRun> runs;
    std::vector<MapBox> boxes;
    double bytesPerPixel = 1;
};

inline constexpr double kMapLine = 15, kMapLineGap = 4;

/// Fills `size` as far as the segments reach, at the largest scale at which all of them are in it; where even the
/// narrowest ones do not fit, the rest is left out.
MapLayout layoutMap(const AllocatorMap& map, MapOrder order, QSizeF size);

} // namespace fourwalls::views
