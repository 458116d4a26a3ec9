// SPDX-License-Identifier: Apache-2.0
// The drawings of a report as inline SVG: shares as one bar, a stacked curve with a limit, points joined by lines. All
// colours are classes, so that the page's style sheet decides between light and dark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls {

/// One part of a bar; style: the CSS class that fills it. label: shown on the part where it has room, and as its title.
struct BarPart {
    std::string label, style;
    double share = 0; ///< of the bar's width; negative and not finite parts are left out
};

/// One horizontal bar of the page's width.
std::string svgBar(const std::vector<BarPart>& parts, const std::string& title);

/// A curve that holds each value until the next one, as stacked areas.
struct StackedCurve {
    std::vector<std::string> styles;                             ///< class of each layer, lowest first
    std::vector<std::pair<double, std::vector<double>>> samples; ///< position (ascending), value per layer
    double begin = 0, end = 1;                                   ///< of the axis
    std::optional<double> limit;                                 ///< drawn as the wall where it is within the picture
    std::optional<double> mark;                                  ///< a position to point at
    std::vector<std::pair<double, std::string>> valueTicks, positionTicks;
    double top = 1; ///< value of the upper edge
};
std::string svgStackedCurve(const StackedCurve& curve, const std::string& title);

/// Points joined by a line, with an axis of values from `bottom` to `top`.
struct PointCurve {
    std::vector<std::pair<double, double>> points;
    double begin = 0, end = 1, bottom = 0, top = 1;
    std::vector<std::pair<double, std::string>> valueTicks, positionTicks;
    std::string style;
};
std::string svgPoints(const PointCurve& curve, const std::string& title);

/// Round values from 0 (or `from`) to at most `to`, about `count` of them: 1, 2 or 5 times a power of ten apart.
std::vector<double> roundTicks(double from, double to, int count = 4);

} // namespace fourwalls
