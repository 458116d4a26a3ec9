// SPDX-License-Identifier: GPL-3.0-or-later
// See query_answer.h.
#include "views/tables/query_answer.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QString>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

namespace fourwalls::views {

namespace {

constexpr std::size_t kMostCurves = 6;
constexpr std::size_t kMostHitPoints = 4000; ///< that can be hit

std::optional<std::size_t> columnNamed(const UserRows& rows, std::initializer_list<std::string_view> names)
{
    for (const std::string_view name : names) {
        const auto at = std::find(rows.columns.begin(), rows.columns.end(), name);
        if (at != rows.columns.end()) return static_cast<std::size_t>(at - rows.columns.begin());
    }
    return std::nullopt;
}

std::optional<double> number(const UserValue& value)
{
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
}

/// Numbers, and at least one of them.
bool isNumeric(const UserRows& rows, std::size_t column)
{
    bool any = false;
    for (const auto& row : rows.rows) {
        const bool isNull = std::holds_alternative<std::monostate>(row[column]);
        if (!isNull && !number(row[column])) return false;
        any = any || !isNull;
    }
    return any;
}

} // namespace

RowPlace placeOfRow(const UserRows& rows, std::size_t row)
{
    RowPlace place;
    if (row >= rows.rows.size()) return place;
    const auto integer = [&](std::initializer_list<std::string_view> names) -> std::optional<std::int64_t> {
        const auto column = columnNamed(rows, names);
        const auto* value = column ? std::get_if<std::int64_t>(&rows.rows[row][*column]) : nullptr;
        return value ? std::optional(*value) : std::nullopt;
    };
    if (const auto slice = integer({"slice"})) place.slice = SliceId(*slice);
    if (const auto rank = integer({"rank"}); rank && *rank >= 0 && *rank <= std::numeric_limits<std::int32_t>::max())
        place.rank = RankId(static_cast<std::int32_t>(*rank));
    const auto start = integer({"start_ns", "start", "at_ns", "at", "begin_ns", "begin"});
    const auto isTime = [](std::int64_t ns) { return ns > -kLargestTimeNs && ns < kLargestTimeNs; };
    if (!start || !isTime(*start)) return place;
    std::int64_t end = *start;
    if (const auto length = integer({"duration_ns", "dur"}); length && *length > 0 && isTime(*length))
        end = *start + *length;
    else if (const auto until = integer({"end_ns", "end"}); until && *until > *start && isTime(*until))
        end = *until;
    place.range = TimeRange{Instant{*start}, Instant{end}};
    return place;
}

std::optional<AnswerPlot> plotOfAnswer(const UserRows& rows)
{
    if (rows.rows.empty() || rows.columns.empty()) return std::nullopt;
    std::vector<std::size_t> columns;
    for (std::size_t column = 0; column < rows.columns.size(); ++column)
        if (isNumeric(rows, column)) columns.push_back(column);
    if (columns.empty()) return std::nullopt;
    const bool named = columns.front() != 0, byOrder = named || columns.size() == 1;
    const std::size_t first = byOrder ? 0 : columns.front();
    if (!byOrder) columns.erase(columns.begin());
    // Where a row is, is no curve, if there is any other.
    const auto isPlace = [&](std::size_t column) {
        constexpr std::string_view kPlaces[] = {"start_ns", "start", "at_ns", "at",    "begin_ns", "begin", "end_ns",
                                                "end",      "slice", "rank",  "track", "id",       "op",    "run"};
        return std::find(std::begin(kPlaces), std::end(kPlaces), rows.columns[column]) != std::end(kPlaces);
    };
    if (!std::all_of(columns.begin(), columns.end(), isPlace)) std::erase_if(columns, isPlace);
    if (columns.size() > kMostCurves) columns.resize(kMostCurves);

    AnswerPlot plot;
    const auto xOf = [&](std::size_t row) -> std::optional<double> {
        return byOrder ? std::optional(static_cast<double>(row)) : number(rows.rows[row][first]);
    };
    bool rising = true;
    std::optional<double> lastX;
    for (std::size_t row = 0; row < rows.rows.size(); ++row) {
        const auto x = xOf(row);
        if (!x) continue;
        rising = rising && (!lastX || *x >= *lastX);
        lastX = x;
    }
    const Theme& theme = currentTheme();
    const QColor colours[] = {theme.accent,        theme.text,      theme.otherCompute,
                              theme.secondaryText, theme.structure, theme.copy};
    const auto nameOf = [&](std::size_t column) { return QString::fromStdString(rows.columns[column]); };
    QStringList names;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        XyLine line;
        const std::size_t before = plot.content.points.size();
        line.pen = QPen(colours[i], 1.6, i < 3 ? Qt::SolidLine : Qt::DotLine);
        for (std::size_t row = 0; row < rows.rows.size(); ++row) {
            const auto x = xOf(row), y = number(rows.rows[row][columns[i]]);
            if (!x || !y) continue;
            if (rising) line.points.emplace_back(*x, *y);
            if (plot.content.points.size() >= kMostHitPoints) continue;
            XyPoint point;
            point.x = *x;
            point.y = *y;
            point.size = rising ? 4 : 6;
            point.colour = colours[i];
            point.id = static_cast<int>(row);
            plot.content.points.push_back(std::move(point));
        }
        if (rising && line.points.size() > 1) plot.content.lines.push_back(std::move(line));
        names << nameOf(columns[i]);
        if (columns.size() > 1 && plot.content.points.size() > before) plot.content.points.back().label = names.back();
    }
    plot.x.title = byOrder ? (named ? nameOf(0) : QStringLiteral("#")) : nameOf(first);
    plot.y.title = names.join(QStringLiteral(", "));
    plot.y.text = plot.x.text = [](double value) { return formatFigure(value, 4); };
    if (named)
        plot.x.text = [labels = [&] {
            std::vector<QString> texts;
            for (const auto& row : rows.rows) {
                const auto* text = std::get_if<std::string>(&row[0]);
                texts.push_back(text ? QString::fromStdString(*text).left(18) : QString());
            }
            return texts;
        }()](double value) {
            const auto index = static_cast<std::size_t>(std::lround(std::max(0.0, value)));
            const bool isRow =
                value >= 0 && index < labels.size() && std::abs(value - static_cast<double>(index)) < 1e-6;
            return isRow ? labels[index] : QString();
        };
    return plot;
}

} // namespace fourwalls::views
