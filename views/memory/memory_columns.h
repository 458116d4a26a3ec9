// SPDX-License-Identifier: GPL-3.0-or-later
// From samples of live bytes to the pixel columns of the stacked area, and what one instant's bytes are.
#pragma once

#include "model/trace/trace_query.h"
#include "views/memory/memory_scale.h"
#include "views/plot/plot_area.h"
#include "views/plot/time_camera.h"

#include <span>
#include <vector>

namespace fourwalls::views {

/// The sample that holds at `at`; null before the first sample or outside the window's range.
const MemorySample* sampleAt(const MemoryWindow& window, Instant at);

/// The stack of all categories (weights at the bottom, in the order of the vocabulary) in the camera's columns.
/// A column shows the instant of its largest total, so that no peak is lost between pixels. Columns outside the
/// window's range are empty: every edge lies on the axis.
/// resolution: width of the columns that the window was asked with [ns], 0 exact. Their largest instants may lie just
/// before a column of ours in which only a low one is left, so a column also looks that far back.
/// columns: device pixels across the camera's width; ratio: device pixels per pixel, both ways. Edges are device
/// pixels counted from the top of the image whose row 0 is the scale's pixel `top`.
AreaStack stackOf(const MemoryWindow& window, const TimeCamera& camera, const MemoryScale& scale, int columns,
                  double ratio, double top, double resolution = 0);

/// Heights of a step curve in the columns of stackOf, for paintColumnLine: the largest value in each column; NaN before
/// the first point and after `end`. points: time and bytes, by time.
struct CurvePoint {
    Instant at;
    double bytes = 0;
};
std::vector<float> lineOf(std::span<const CurvePoint> points, Instant end, const TimeCamera& camera,
                          const MemoryScale& scale, int columns, double ratio, double top);

/// Bytes of the categories that stay between steps.
std::int64_t staticBytes(const CategoryBytes& bytes);

} // namespace fourwalls::views
