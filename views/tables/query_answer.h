// SPDX-License-Identifier: GPL-3.0-or-later
// What can be done with the answer to a query: where on the timeline a row leads, and what it is as a plot.
#pragma once

#include "model/base/ids.h"
#include "model/base/time.h"
#include "model/trace/user_query.h"
#include "views/plot/plot_xy.h"

#include <cstddef>
#include <optional>

namespace fourwalls::views {

/// A place that a row speaks of. By the names of its columns, as the tables and views of a trace have them.
struct RowPlace {
    std::optional<SliceId> slice;   ///< "slice"
    std::optional<TimeRange> range; ///< "start_ns" or "start", with "duration_ns", "dur" or "end_ns"; "at_ns" or "at"
    std::optional<RankId> rank;     ///< "rank"
    bool empty() const { return !slice && !range; }
};
RowPlace placeOfRow(const UserRows& rows, std::size_t row);

/// The first column of numbers along the axis (if the first column is no number, the rows in their order), each other one
/// a curve; points where the values of the first column do not rise. Absent: no numbers to draw.
struct AnswerPlot {
    XyAxis x, y;
    XyContent content;
};
std::optional<AnswerPlot> plotOfAnswer(const UserRows& rows);

} // namespace fourwalls::views
