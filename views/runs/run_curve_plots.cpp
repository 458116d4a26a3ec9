// SPDX-License-Identifier: GPL-3.0-or-later
// See run_curve_plots.h.
#include "views/runs/run_curve_plots.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace fourwalls::views {

namespace {

struct RunPlots {
    Q_DECLARE_TR_FUNCTIONS(RunPlots)
};

constexpr std::size_t kMostRawCurves = 12; ///< more of them would hide the smoothed ones
constexpr double kFaint = 0.28, kVeryFaint = 0.16;

// Eight that also people with weak colour sight tell apart (Okabe, Ito 2008), darker on white, lighter on black.
const std::array<QColor, 8>& runInks(bool dark)
{
    static const std::array<QColor, 8> onLight{
        QColor(0x00, 0x72, 0xb2), QColor(0xd5, 0x5e, 0x00), QColor(0x00, 0x8a, 0x66), QColor(0xb0, 0x4f, 0x8a),
        QColor(0x8a, 0x6d, 0x00), QColor(0x2f, 0x97, 0xc7), QColor(0x5b, 0x5b, 0x5b), QColor(0xa3, 0x2a, 0x2a)};
    static const std::array<QColor, 8> onDark{
        QColor(0x56, 0xb4, 0xe9), QColor(0xf0, 0x8c, 0x3c), QColor(0x2c, 0xc4, 0x98), QColor(0xe0, 0x8f, 0xc0),
        QColor(0xe6, 0xc8, 0x4a), QColor(0x7f, 0x9d, 0xff), QColor(0xb4, 0xb4, 0xb4), QColor(0xf0, 0x7a, 0x7a)};
    return dark ? onDark : onLight;
}

QColor withAlpha(QColor colour, double alpha)
{
    colour.setAlphaF(static_cast<float>(alpha));
    return colour;
}

} // namespace

std::optional<double> figureOf(const compare::CurvePoint& point, RunFigure figure)
{
    switch (figure) {
    case RunFigure::Loss: return point.loss;
    case RunFigure::GradientNorm: return point.gradientNorm;
    case RunFigure::LearningRate: return point.learningRate;
    case RunFigure::LossScale: return point.lossScale;
    case RunFigure::Throughput: return point.tokensPerSecond;
    case RunFigure::Goodput: return point.goodput;
    }
    return std::nullopt;
}

double placeOf(const compare::CurvePoint& point, RunAxis axis)
{
    switch (axis) {
    case RunAxis::Steps: return static_cast<double>(point.step);
    case RunAxis::Tokens: return point.tokens;
    case RunAxis::Hours: return point.seconds / 3600;
    }
    return 0;
}

std::vector<std::optional<double>> smoothedValues(const std::vector<std::optional<double>>& values, double weight)
{
    std::vector<std::optional<double>> smooth;
    smooth.reserve(values.size());
    double sum = 0, share = 0; // of what is not the zero that it began with
    for (const std::optional<double>& value : values) {
        if (!value || !std::isfinite(*value)) {
            smooth.emplace_back();
            continue;
        }
        sum = weight * sum + (1 - weight) * *value;
        share = weight * share + (1 - weight);
        smooth.emplace_back(sum / share);
    }
    return smooth;
}

std::vector<QColor> colourRuns(const RunList& list)
{
    const Theme& theme = currentTheme();
    const auto& inks = runInks(theme.dark);
    std::set<std::int64_t> widths;
    for (const ListedRun& run : list.runs)
        if (run.curves.width) widths.insert(*run.curves.width);
    std::vector<QColor> colours;
    colours.reserve(list.runs.size());
    for (std::size_t i = 0; i < list.runs.size(); ++i) {
        const auto& width = list.runs[i].curves.width;
        if (widths.size() > 1 && widths.size() <= inks.size() && width)
            colours.push_back(inks[static_cast<std::size_t>(std::distance(widths.begin(), widths.find(*width)))]);
        else if (list.runs.size() <= inks.size())
            colours.push_back(inks[i]);
        else
            colours.push_back(theme.text);
    }
    return colours;
}

XyContent drawnCurves(const RunList& list, const std::vector<QColor>& colours, const RunChoice& choice,
                      std::vector<SpikePlace>& spikes)
{
    XyContent content;
    spikes.clear();
    const bool anyChosen = std::find(choice.chosen.begin(), choice.chosen.end(), true) != choice.chosen.end();
    const auto shownCount = static_cast<std::size_t>(std::count(choice.shown.begin(), choice.shown.end(), true));
    const auto range = lossRange(list, choice.shown);
    const bool drawsRaw = choice.smoothing > 0 && shownCount <= kMostRawCurves;
    // Chosen runs are drawn last, above the others.
    for (const bool turn : {false, true})
        for (std::size_t i = 0; i < list.runs.size(); ++i) {
            const bool stands = !anyChosen || choice.chosen[i];
            if (!choice.shown[i] || stands != turn) continue;
            const compare::RunCurves& curves = list.runs[i].curves;
            std::vector<std::optional<double>> raw;
            raw.reserve(curves.points.size());
            for (const compare::CurvePoint& point : curves.points) raw.push_back(figureOf(point, choice.figure));
            const auto add = [&](const std::vector<std::optional<double>>& values, const QPen& pen) {
                XyLine line;
                line.pen = pen;
                for (std::size_t p = 0; p < values.size(); ++p)
                    if (values[p] && std::isfinite(*values[p]))
                        line.points.emplace_back(placeOf(curves.points[p], choice.axis), *values[p]);
                if (!line.points.empty()) content.lines.push_back(std::move(line));
            };
            const QColor ink = stands ? colours[i] : withAlpha(colours[i], kVeryFaint);
            if (drawsRaw && stands) add(raw, QPen(withAlpha(colours[i], kFaint), 1));
            add(smoothedValues(raw, choice.smoothing), QPen(ink, anyChosen && stands ? 2.2 : 1.5));
            if (choice.figure != RunFigure::Loss || !stands) continue;
            for (std::size_t s = 0; s < curves.spikes.size(); ++s) {
                const compare::LossSpike& spike = curves.spikes[s];
                const auto at =
                    std::find_if(curves.points.begin(), curves.points.end(),
                                 [&](const compare::CurvePoint& point) { return point.step == spike.step; });
                if (at == curves.points.end()) continue;
                const double before =
                    at == curves.points.begin() ? spike.before : (at - 1)->loss.value_or(spike.before);
                XyPoint point;
                point.x = placeOf(*at, choice.axis);
                point.y = std::min(spike.loss.value_or(before), range ? range->second : HUGE_VAL);
                point.mark = spike.loss ? XyMark::Down : XyMark::Diamond;
                point.size = 9;
                point.colour = currentTheme().error;
                point.id = static_cast<int>(spikes.size());
                if (shownCount <= kMostRawCurves) point.label = RunPlots::tr("step %1").arg(spike.step);
                spikes.push_back({i, s});
                content.points.push_back(std::move(point));
            }
        }
    return content;
}

std::optional<std::pair<double, double>> lossRange(const RunList& list, const std::vector<bool>& shown)
{
    constexpr double kRoom = 0.04;
    std::optional<double> least, first, most;
    const auto take = [](std::optional<double>& into, double value, bool larger) {
        if (!into || (larger ? value > *into : value < *into)) into = value;
    };
    for (std::size_t i = 0; i < list.runs.size(); ++i) {
        if (!shown[i]) continue;
        bool isFirst = true;
        for (const compare::CurvePoint& point : list.runs[i].curves.points) {
            if (!point.loss || !std::isfinite(*point.loss)) continue;
            take(least, *point.loss, false);
            take(most, *point.loss, true);
            if (std::exchange(isFirst, false)) take(first, *point.loss, true);
        }
    }
    if (!least || !first) return std::nullopt;
    const double high = std::min(*most, *first + 0.15 * std::max(*first - *least, 1e-9));
    const double room = kRoom * std::max(high - *least, 1e-3 * std::abs(high) + 1e-9);
    return std::pair(*least - room, high + room);
}

std::vector<RateLine> rateLines(const RunList& list, const std::vector<bool>& shown)
{
    using Key = std::tuple<std::string, std::string, std::int64_t, std::string, std::int64_t, std::size_t, std::string,
                           double, double, double>;
    std::map<Key, RateLine> lines;
    for (std::size_t i = 0; i < list.runs.size(); ++i) {
        const compare::RunCurves& curves = list.runs[i].curves;
        const std::optional<double> loss = curves.finalLoss();
        const bool diverged = std::any_of(curves.spikes.begin(), curves.spikes.end(),
                                          [](const compare::LossSpike& spike) { return !spike.loss; });
        if (!shown[i] || !curves.learningRate || !loss || diverged || curves.model.empty()) continue;
        const Key key{curves.model,
                      curves.plan,
                      curves.batch.value_or(0),
                      curves.precision,
                      curves.mupBaseWidth.value_or(0),
                      curves.points.size(),
                      curves.optimizer,
                      curves.warmup.value_or(-1),
                      curves.weightDecay.value_or(-1),
                      curves.clip.value_or(-1)};
        RateLine& line = lines[key];
        line.of = curves.model;
        line.width = curves.width;
        line.places.push_back({*curves.learningRate, *loss, i});
    }
    std::vector<RateLine> found;
    for (auto& [key, line] : lines) {
        std::stable_sort(line.places.begin(), line.places.end(),
                         [](const RateLine::Place& a, const RateLine::Place& b) { return a.rate < b.rate; });
        if (line.places.front().rate == line.places.back().rate) continue;
        for (std::size_t p = 1; p < line.places.size(); ++p)
            if (line.places[p].loss < line.places[line.best].loss) line.best = p;
        found.push_back(std::move(line));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const RateLine& a, const RateLine& b) { return a.width.value_or(0) < b.width.value_or(0); });
    return found;
}

XyContent drawnRates(const std::vector<RateLine>& lines, const std::vector<QColor>& colours)
{
    XyContent content;
    for (const RateLine& line : lines) {
        const QColor ink = colours[line.places.front().run];
        XyLine drawn;
        drawn.pen = QPen(ink, 1.6);
        for (std::size_t p = 0; p < line.places.size(); ++p) {
            const RateLine::Place& place = line.places[p];
            drawn.points.emplace_back(place.rate, place.loss);
            XyPoint point;
            point.x = place.rate;
            point.y = place.loss;
            point.id = static_cast<int>(place.run);
            point.colour = ink;
            const bool isBest = p == line.best;
            point.mark = isBest ? XyMark::Diamond : XyMark::Disc;
            point.size = isBest ? 12 : 6;
            if (isBest)
                point.label = line.width ? RunPlots::tr("width %1").arg(*line.width) : QString::fromStdString(line.of);
            content.points.push_back(std::move(point));
        }
        content.lines.push_back(std::move(drawn));
    }
    return content;
}

} // namespace fourwalls::views
