// SPDX-License-Identifier: Apache-2.0
// See sweep_space.h.
#include "app/cli/sweep_space.h"

#include "app/cli/suite_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <sstream>

namespace fourwalls::cli {

namespace {

constexpr std::int64_t kMostSweepRuns = 10'000;

constexpr std::array<std::string_view, kSweepAxisCount> kAxisNames = {"lr",        "batch", "warmup", "decay",
                                                                      "precision", "clip",  "width"};

bool isWhole(SweepAxis axis)
{
    return axis == SweepAxis::Batch || axis == SweepAxis::Width;
}

std::optional<double> numberOf(std::string_view text)
{
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

Error wrongValue(SweepAxis axis, std::string_view text, const char* hint)
{
    return wrongArgument("--grid", fmt::format("{} cannot be '{}'", axisName(axis), text), hint);
}

/// Three digits are enough for a drawn number, and readable.
std::string rounded(double value)
{
    return fmt::format("{:.3g}", value);
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::string drawn(SweepAxis axis, std::pair<double, double> range, Draw& draw)
{
    const auto [low, high] = range;
    if (isWhole(axis)) {
        const int doublings = static_cast<int>(std::floor(std::log2(high / low) + 1e-9));
        return fmt::format("{:.0f}", low * std::pow(2.0, draw.below(doublings + 1)));
    }
    if (axis == SweepAxis::Warmup) return rounded(low + (high - low) * std::log2(draw.between(1, 2)));
    return rounded(draw.between(low, high));
}

} // namespace

std::string_view axisName(SweepAxis axis)
{
    return kAxisNames[static_cast<std::size_t>(axis)];
}

Status SweepPoint::set(SweepAxis axis, std::string_view text)
{
    std::string& value = m_values[static_cast<std::size_t>(axis)];
    if (axis == SweepAxis::Precision) {
        if (text != "f32" && text != "bf16") return wrongValue(axis, text, "f32 or bf16");
        value = text;
        return {};
    }
    const std::optional<double> number = numberOf(text);
    if (!number) return wrongValue(axis, text, "a number");
    if (isWhole(axis) && (*number < 1 || *number > 1e9 || *number != std::floor(*number)))
        return wrongValue(axis, text, "a whole number from 1");
    if (axis == SweepAxis::LearningRate && !(*number > 0 && *number <= 1e6))
        return wrongValue(axis, text, "a number above 0, up to 1e6");
    if (axis == SweepAxis::Warmup && !(*number >= 0 && *number <= 1))
        return wrongValue(axis, text, "a share of the steps from 0 to 1");
    if (*number < 0 || *number > 1e30) return wrongValue(axis, text, "a number from 0");
    value = isWhole(axis) ? fmt::format("{:.0f}", *number) : fmt::format("{}", *number);
    return {};
}

std::optional<double> SweepPoint::number(SweepAxis axis) const
{
    return numberOf((*this)[axis]);
}

std::string SweepPoint::text(std::optional<SweepAxis> without) const
{
    std::string all;
    for (std::size_t i = 0; i < kSweepAxisCount; ++i) {
        if (m_values[i].empty() || without == static_cast<SweepAxis>(i)) continue;
        if (!all.empty()) all += ' ';
        all += fmt::format("{}={}", kAxisNames[i], m_values[i]);
    }
    return all;
}

void SweepPoint::applyTo(RecordArguments& arguments) const
{
    const auto put = [this](SweepAxis axis, std::optional<double>& target) {
        if (const auto value = number(axis)) target = *value;
    };
    put(SweepAxis::LearningRate, arguments.learningRate);
    put(SweepAxis::Warmup, arguments.warmup);
    put(SweepAxis::WeightDecay, arguments.weightDecay);
    put(SweepAxis::Clip, arguments.clip);
    if (const auto batch = number(SweepAxis::Batch)) arguments.batch = std::llround(*batch);
    if (const auto width = number(SweepAxis::Width)) arguments.width = std::llround(*width);
    if (!(*this)[SweepAxis::Precision].empty()) arguments.precision = (*this)[SweepAxis::Precision];
}

Result<SweepSpace> SweepSpace::parse(const std::string& text)
{
    SweepSpace space;
    space.m_text = text;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string_view key = std::string_view(word).substr(0, equals);
        const auto found = std::find(kAxisNames.begin(), kAxisNames.end(), key);
        if (equals == std::string::npos || found == kAxisNames.end())
            return wrongArgument("--grid", "does not know '" + word + "'",
                                 "lr=, batch=, warmup=, decay=, precision=, clip= or width= with values");
        Axis axis;
        axis.axis = static_cast<SweepAxis>(found - kAxisNames.begin());
        if (std::any_of(space.m_axes.begin(), space.m_axes.end(),
                        [&](const Axis& other) { return other.axis == axis.axis; }))
            return wrongArgument("--grid", fmt::format("has {} twice", key), "one list of values for each");
        const std::string_view values = std::string_view(word).substr(equals + 1);
        SweepPoint checked;
        if (const std::size_t dots = values.find(".."); dots != std::string_view::npos) {
            const auto low = numberOf(values.substr(0, dots)), high = numberOf(values.substr(dots + 2));
            const bool mayBeZero = axis.axis == SweepAxis::Warmup;
            if (!low || !high || !(*low < *high) || (!mayBeZero && !(*low > 0)) || axis.axis == SweepAxis::Precision)
                return wrongValue(axis.axis, values, "LOW..HIGH with numbers above 0");
            for (const std::string_view end : {values.substr(0, dots), values.substr(dots + 2)})
                FOURWALLS_TRY(checked.set(axis.axis, end));
            axis.range = {*low, *high};
        } else {
            for (const std::string_view value : split(values, ',')) {
                FOURWALLS_TRY(checked.set(axis.axis, value));
                if (std::find(axis.values.begin(), axis.values.end(), checked[axis.axis]) == axis.values.end())
                    axis.values.push_back(checked[axis.axis]);
            }
        }
        space.m_axes.push_back(std::move(axis));
    }
    if (space.m_axes.empty()) return wrongArgument("--grid", "names nothing to vary", "--grid \"lr=1e-3,3e-3,1e-2\"");
    return space;
}

bool SweepSpace::hasRange() const
{
    return std::any_of(m_axes.begin(), m_axes.end(), [](const Axis& axis) { return axis.range.has_value(); });
}

Result<std::vector<SweepPoint>> SweepSpace::grid() const
{
    if (hasRange())
        return wrongArgument("--grid", "has a range, of which points are drawn", "--random N or --halving N beside it");
    std::vector<SweepPoint> points(1);
    for (const Axis& axis : m_axes) {
        if (static_cast<std::int64_t>(points.size() * axis.values.size()) > kMostSweepRuns)
            return wrongArgument("--grid", "has more than " + std::to_string(kMostSweepRuns) + " combinations",
                                 "--random N");
        std::vector<SweepPoint> more;
        for (const SweepPoint& point : points)
            for (const std::string& value : axis.values) {
                more.push_back(point);
                FOURWALLS_TRY(more.back().set(axis.axis, value));
            }
        points = std::move(more);
    }
    return points;
}

std::vector<SweepPoint> SweepSpace::draw(std::int64_t count, std::uint64_t seed) const
{
    constexpr int kTries = 50; // for each point, until everything there is has been drawn
    Draw draw(seed);
    std::vector<SweepPoint> points;
    for (std::int64_t i = 0; i < count * kTries && static_cast<std::int64_t>(points.size()) < count; ++i) {
        SweepPoint point;
        for (const Axis& axis : m_axes) {
            const std::string value = axis.range ? drawn(axis.axis, *axis.range, draw) : draw.oneOf(axis.values);
            (void)point.set(axis.axis, value); // parse has checked both ends of the range
        }
        if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
    }
    return points;
}

} // namespace fourwalls::cli
