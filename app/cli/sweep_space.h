// SPDX-License-Identifier: Apache-2.0
// What a sweep varies: axes with values or ranges, and the points on them.
#pragma once

#include "app/cli/record_arguments.h"
#include "model/base/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fourwalls::cli {

enum class SweepAxis { LearningRate, Batch, Warmup, WeightDecay, Precision, Clip, Width };
inline constexpr std::size_t kSweepAxisCount = 7;

/// As --grid, file names and JSON call it: "lr", "batch", "warmup", "decay", "precision", "clip", "width".
std::string_view axisName(SweepAxis axis);

/// One run's values by axis, in the shortest text of the number; empty where record's default holds.
class SweepPoint {
public:
    const std::string& operator[](SweepAxis axis) const { return m_values[static_cast<std::size_t>(axis)]; }
    /// Errors: InvalidArgument for what the axis cannot be.
    Status set(SweepAxis axis, std::string_view text);
    std::optional<double> number(SweepAxis axis) const; ///< absent where it is not set, or is a word

    /// "lr=0.001 width=64"; without one axis, if it is given.
    std::string text(std::optional<SweepAxis> without = std::nullopt) const;
    /// Puts the values in the place of record's own.
    void applyTo(RecordArguments& arguments) const;

    friend bool operator==(const SweepPoint&, const SweepPoint&) = default;

private:
    std::array<std::string, kSweepAxisCount> m_values;
};

class SweepSpace {
public:
    /// Space-separated KEY=VALUE,VALUE,… or KEY=LOW..HIGH. Errors: InvalidArgument, naming --grid.
    static Result<SweepSpace> parse(const std::string& text);

    /// Every combination; the last axis changes fastest. Errors: InvalidArgument for a range, and for too many.
    Result<std::vector<SweepPoint>> grid() const;
    /// count different points, or as many as there are: of a list any value; of a range rates, decay and clipping as likely
    /// in each factor, batch and width in doublings of the least, warm-up evenly. Equal seeds draw equal points.
    std::vector<SweepPoint> draw(std::int64_t count, std::uint64_t seed) const;

    bool hasRange() const;
    std::string text() const { return m_text; }

private:
    struct Axis {
        SweepAxis axis = SweepAxis::LearningRate;
        std::vector<std::string> values;
        std::optional<std::pair<double, double>> range;
    };
    std::vector<Axis> m_axes;
    std::string m_text;
};

} // namespace fourwalls::cli
