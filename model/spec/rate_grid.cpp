// SPDX-License-Identifier: Apache-2.0
// Interpolation in a grid of rates, and its JSON form.
#include "model/spec/rate_grid.h"

#include "model/spec/json_fields.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls {

namespace {

using nlohmann::json;

constexpr std::size_t kMostAxes = 3;

/// The point below a coordinate, and how far it is to the next one (0 to 1, over logarithms).
struct Place {
    std::size_t below = 0;
    double share = 0;
};

Place placeOn(const std::vector<double>& axis, double at)
{
    if (!(at > axis.front())) return {};
    if (at >= axis.back()) return {axis.size() - 1, 0};
    const auto above = static_cast<std::size_t>(std::upper_bound(axis.begin(), axis.end(), at) - axis.begin());
    return {above - 1, std::log(at / axis[above - 1]) / std::log(axis[above] / axis[above - 1])};
}

/// A list of positive numbers.
std::vector<double> readList(JsonFields& fields, const char* key, const json& list)
{
    std::vector<double> numbers;
    if (!list.is_array() || list.empty() || list.size() > 100'000) {
        fields.fail(key, "is not a list of numbers");
        return numbers;
    }
    for (const json& item : list) {
        const double value = item.is_number() ? item.get<double>() : 0;
        if (!(value > 0 && value < 1e24)) {
            fields.fail(key, "holds something that is not a positive number");
            return numbers;
        }
        numbers.push_back(value);
    }
    return numbers;
}

} // namespace

double RateGrid::at(std::span<const double> point) const
{
    std::array<Place, kMostAxes> places;
    const std::size_t count = std::min({axes.size(), point.size(), kMostAxes});
    for (std::size_t i = 0; i < count; ++i) places[i] = placeOn(axes[i], point[i]);
    double logarithm = 0;
    for (std::size_t corner = 0; corner < (std::size_t{1} << count); ++corner) {
        double weight = 1;
        std::size_t index = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const bool above = (corner >> i) & 1;
            weight *= above ? places[i].share : 1 - places[i].share;
            index = index * axes[i].size() + std::min(places[i].below + (above ? 1 : 0), axes[i].size() - 1);
        }
        if (weight > 0) logarithm += weight * std::log(rates[index]);
    }
    return std::exp(logarithm);
}

Result<OperatorRates> operatorRatesFromJson(const json& object, std::string_view where, const std::string& path)
{
    JsonFields all(object, where, path);
    FOURWALLS_TRY(all.status());
    OperatorRates operators;
    for (const auto& [name, value] : object.items()) {
        JsonFields fields(value, where, path + "." + name);
        const json* axes = fields.find("axes", true);
        const json* rates = fields.find("rates", true);
        FOURWALLS_TRY(fields.status());
        RateGrid grid;
        std::size_t points = 1;
        if (!axes->is_array() || axes->empty() || axes->size() > kMostAxes)
            fields.fail("axes", "is not a list of one to three lists");
        else
            for (const json& axis : *axes) {
                grid.axes.push_back(readList(fields, "axes", axis));
                FOURWALLS_TRY(fields.status());
                if (std::adjacent_find(grid.axes.back().begin(), grid.axes.back().end(),
                                       [](double a, double b) { return a >= b; }) != grid.axes.back().end())
                    fields.fail("axes", "does not rise");
                points *= grid.axes.back().size();
            }
        FOURWALLS_TRY(fields.status());
        grid.rates = readList(fields, "rates", *rates);
        if (fields.status().ok() && grid.rates.size() != points)
            fields.fail("rates", "has " + std::to_string(grid.rates.size()) + " numbers for " + std::to_string(points) +
                                     " points of the axes");
        FOURWALLS_TRY(fields.status());
        operators.emplace(name, std::move(grid));
    }
    return operators;
}

json toJson(const OperatorRates& rates)
{
    json object = json::object();
    for (const auto& [name, grid] : rates) object[name] = {{"axes", grid.axes}, {"rates", grid.rates}};
    return object;
}

} // namespace fourwalls
