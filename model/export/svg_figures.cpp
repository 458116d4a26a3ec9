// SPDX-License-Identifier: Apache-2.0
// See svg_figures.h. Coordinates are in a box of fixed size that the page scales to its width.
#include "model/export/svg_figures.h"

#include "model/export/export_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace fourwalls {

namespace {

constexpr double kWidth = 1000, kLeft = 78, kRight = 14, kTop = 10, kBottom = 26;
constexpr double kLabelCharacter = 7.4; ///< width of a character of a label, about

/// Coordinates with one decimal, the same in every locale.
std::string at(double value)
{
    std::array<char, 64> buffer;
    const auto [end, failure] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, 1);
    return failure == std::errc{} ? std::string(buffer.data(), end) : "0";
}

std::string opening(double height, const std::string& title)
{
    return "<svg viewBox=\"0 0 " + at(kWidth) + ' ' + at(height) + "\" role=\"img\" aria-label=\"" + htmlText(title) +
           "\">";
}

std::string text(double x, double y, const char* anchor, const char* style, const std::string& words)
{
    return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\" class=\"" + style + "\">" +
           htmlText(words) + "</text>";
}

std::string line(double x1, double y1, double x2, double y2, const char* style)
{
    return "<line x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) + "\" y2=\"" + at(y2) + "\" class=\"" +
           style + "\"/>";
}

/// From positions and values to places in the box.
struct Frame {
    double begin, end, bottom, top, height;

    double x(double position) const
    {
        const double share = end > begin ? std::clamp((position - begin) / (end - begin), 0.0, 1.0) : 0.0;
        return kLeft + share * (kWidth - kLeft - kRight);
    }
    double y(double value) const
    {
        const double share = top > bottom ? std::clamp((value - bottom) / (top - bottom), 0.0, 1.0) : 0.0;
        return height - kBottom - share * (height - kBottom - kTop);
    }
};

using Ticks = std::vector<std::pair<double, std::string>>;

std::string axes(const Frame& frame, const Ticks& values, const Ticks& positions)
{
    std::string svg;
    for (const auto& [value, words] : values) {
        svg += line(kLeft, frame.y(value), kWidth - kRight, frame.y(value), "grid");
        svg += text(kLeft - 8, frame.y(value) + 4, "end", "tick", words);
    }
    for (const auto& [position, words] : positions) {
        const double x = frame.x(position);
        const char* anchor = x < kLeft + 30 ? "start" : x > kWidth - kRight - 40 ? "end" : "middle";
        svg += text(x, frame.height - 8, anchor, "tick", words);
    }
    return svg;
}

} // namespace

std::string svgBar(const std::vector<BarPart>& parts, const std::string& title)
{
    constexpr double kHeight = 44;
    std::string svg = opening(kHeight, title);
    double x = 0;
    for (const BarPart& part : parts) {
        if (!(part.share > 0) || !std::isfinite(part.share)) continue;
        const double width = std::min(part.share * kWidth, kWidth - x);
        svg += "<g><title>" + htmlText(part.label) + "</title><rect x=\"" + at(x) + "\" y=\"0\" width=\"" +
               at(std::max(width - 1, 0.5)) + "\" height=\"" + at(kHeight) + "\" class=\"" + part.style + "\"/>";
        if (static_cast<double>(part.label.size()) * kLabelCharacter + 12 < width)
            svg += text(x + width / 2, kHeight / 2 + 5, "middle", "on", part.label);
        svg += "</g>";
        x += width;
    }
    return svg + "</svg>";
}

std::string svgStackedCurve(const StackedCurve& curve, const std::string& title)
{
    const Frame frame{curve.begin, curve.end, 0, curve.top, 300};
    std::string svg = opening(frame.height, title);
    std::vector<double> below(curve.samples.size(), 0.0);
    for (std::size_t layer = 0; layer < curve.styles.size(); ++layer) {
        const std::size_t count = curve.samples.size();
        std::vector<std::string> low(count), high(count);
        bool any = false;
        for (std::size_t i = 0; i < count; ++i) {
            const std::vector<double>& values = curve.samples[i].second;
            const double value = layer < values.size() && values[layer] > 0 ? values[layer] : 0;
            low[i] = at(frame.y(below[i]));
            high[i] = at(frame.y(below[i] + value));
            below[i] += value;
            any = any || value > 0;
        }
        if (!any) continue;
        // Along the upper edge forwards, along the lower one back; only where the height changes.
        const auto x = [&](std::size_t i) { return at(frame.x(curve.samples[i].first)); };
        std::string path = 'M' + x(0) + ' ' + high[0];
        for (std::size_t i = 1; i < count; ++i)
            if (high[i] != high[i - 1]) path += 'H' + x(i) + 'V' + high[i];
        path += 'H' + at(frame.x(curve.end)) + 'V' + low[count - 1];
        for (std::size_t i = count - 1; i > 0; --i)
            if (low[i] != low[i - 1]) path += 'H' + x(i) + 'V' + low[i - 1];
        svg += "<path class=\"" + curve.styles[layer] + "\" d=\"" + path + "Z\"/>";
    }
    svg += axes(frame, curve.valueTicks, curve.positionTicks);
    if (curve.mark) svg += line(frame.x(*curve.mark), kTop, frame.x(*curve.mark), frame.height - kBottom, "mark");
    if (curve.limit && *curve.limit <= curve.top)
        svg += line(kLeft, frame.y(*curve.limit), kWidth - kRight, frame.y(*curve.limit), "wall");
    return svg + "</svg>";
}

std::string svgPoints(const PointCurve& curve, const std::string& title)
{
    const Frame frame{curve.begin, curve.end, curve.bottom, curve.top, 200};
    std::string svg = opening(frame.height, title) + axes(frame, curve.valueTicks, curve.positionTicks);
    std::string path, dots;
    for (const auto& [position, value] : curve.points) {
        const std::string x = at(frame.x(position)), y = at(frame.y(value));
        path += (path.empty() ? "M" : "L") + x + ' ' + y;
        if (curve.points.size() <= 60)
            dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3.2\" class=\"dot " + curve.style + "\"/>";
    }
    if (!path.empty()) svg += "<path class=\"curve " + curve.style + "\" d=\"" + path + "\"/>";
    return svg + dots + "</svg>";
}

std::vector<double> roundTicks(double from, double to, int count)
{
    std::vector<double> ticks;
    const double span = to - from;
    if (!(span > 0) || !std::isfinite(span) || count < 1) return ticks;
    const double rough = span / count, power = std::pow(10, std::floor(std::log10(rough)));
    double apart = 10 * power;
    for (const double each : {1.0, 2.0, 5.0})
        if (each * power >= rough) {
            apart = each * power;
            break;
        }
    for (double tick = std::ceil(from / apart) * apart; tick <= to + apart * 1e-9 && ticks.size() < 100; tick += apart)
        ticks.push_back(tick);
    return ticks;
}

} // namespace fourwalls
