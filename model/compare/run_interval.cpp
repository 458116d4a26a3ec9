// SPDX-License-Identifier: Apache-2.0
// See run_interval.h.
#include "model/compare/run_interval.h"

#include "model/base/median.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace fourwalls::compare {

namespace {

constexpr int kDraws = 1000;

double middleOf(std::vector<double>& values, RunMiddle middle)
{
    if (middle == RunMiddle::Mean)
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    return median(values);
}

double meanOfRuns(const RunValues& runs, RunMiddle middle)
{
    double sum = 0;
    for (std::vector<double> steps : runs) sum += middleOf(steps, middle);
    return sum / static_cast<double>(runs.size());
}

/// Variance of a side's mean, and its degrees of freedom; absent: one value.
struct Spread {
    double variance = 0, degrees = 1;
};

std::optional<Spread> spreadOf(const RunValues& runs, RunMiddle middle, std::mt19937_64& random)
{
    const std::size_t count = runs.size();
    if (count == 1 && runs.front().size() < 2) return std::nullopt;
    std::vector<double> drawn;
    double sum = 0, squares = 0;
    const double centre = meanOfRuns(runs, middle);
    for (int draw = 0; draw < kDraws; ++draw) {
        double mean = 0;
        for (std::size_t i = 0; i < count; ++i) {
            // Not std::uniform_int_distribution, whose draws differ between libraries.
            const std::vector<double>& steps = runs[random() % count];
            drawn.resize(steps.size());
            for (double& each : drawn) each = steps[random() % steps.size()];
            mean += middleOf(drawn, middle);
        }
        const double off = mean / static_cast<double>(count) - centre;
        sum += off;
        squares += off * off;
    }
    Spread spread;
    spread.variance = std::max(0.0, (squares - sum * sum / kDraws) / (kDraws - 1));
    const auto units = static_cast<double>(count > 1 ? count : runs.front().size());
    spread.variance *= units / (units - 1);
    spread.degrees = units - 1;
    return spread;
}

/// Continued fraction of the incomplete beta function. Source: Lentz's method, DLMF 8.17.22.
double betaFraction(double a, double b, double x)
{
    constexpr double kTiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    double result = d;
    for (int m = 1; m <= 300; ++m) {
        for (const bool isEven : {true, false}) {
            const double term = isEven ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                       : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
            d = 1 + term * d;
            d = 1 / (std::abs(d) < kTiny ? kTiny : d);
            c = 1 + term / c;
            if (std::abs(c) < kTiny) c = kTiny;
            result *= c * d;
        }
        if (std::abs(c * d - 1) < 1e-14) break;
    }
    return result;
}

/// Regularised: I_x(a, b).
double incompleteBeta(double a, double b, double x)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const double front =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
}

} // namespace

double studentQuantile(double p, double degrees)
{
    if (p == 0.5) return 0;
    const double tail = std::min(p, 1 - p);
    // Twice the tail beyond t is I_x(degrees/2, 1/2) with x = degrees / (degrees + t^2), which grows with x.
    double low = 0, high = 1;
    for (int i = 0; i < 200; ++i) {
        const double x = 0.5 * (low + high);
        (incompleteBeta(degrees / 2, 0.5, x) < 2 * tail ? low : high) = x;
    }
    const double x = std::max(0.5 * (low + high), 1e-300);
    const double t = std::sqrt(degrees * (1 - x) / x);
    return p < 0.5 ? -t : t;
}

RunDifference differenceOfRuns(const RunValues& runs, const RunValues& against, RunMiddle middle, double confidence,
                               std::uint64_t seed)
{
    RunDifference result;
    result.runs = meanOfRuns(runs, middle);
    result.against = meanOfRuns(against, middle);
    std::mt19937_64 random(seed);
    const auto a = spreadOf(runs, middle, random), b = spreadOf(against, middle, random);
    if (!a || !b) return result;
    result.stepsOnly = runs.size() == 1 || against.size() == 1;
    const double variance = a->variance + b->variance;
    double half = 0;
    if (variance > 0) {
        const double degrees =
            variance * variance / (a->variance * a->variance / a->degrees + b->variance * b->variance / b->degrees);
        half = studentQuantile(0.5 + confidence / 2, degrees) * std::sqrt(variance);
    }
    result.low = result.difference() - half;
    result.high = result.difference() + half;
    return result;
}

} // namespace fourwalls::compare
