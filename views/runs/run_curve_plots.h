// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots of the runs page draw: curves of many runs over steps, tokens or hours, smoothed and raw, their spikes,
// and the final loss over the learning rate. Without widgets.
#pragma once

#include "model/compare/run_curves.h"
#include "views/plot/plot_xy.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fourwalls::views {

/// A run of the folder that is open.
struct ListedRun {
    std::string file; ///< path from the folder
    compare::RunCurves curves;
};

struct RunList {
    std::vector<ListedRun> runs;
    int leftOut = 0; ///< files that are no runs
};

enum class RunFigure : std::uint8_t { Loss, GradientNorm, LearningRate, LossScale, Throughput, Goodput };
enum class RunAxis : std::uint8_t { Steps, Tokens, Hours };

std::optional<double> figureOf(const compare::CurvePoint& point, RunFigure figure);
double placeOf(const compare::CurvePoint& point, RunAxis axis);

/// Exponential smoothing that begins at the first value instead of at zero. weight: of what came before, 0 to below 1.
/// A value that is absent keeps its place and changes nothing.
std::vector<std::optional<double>> smoothedValues(const std::vector<std::optional<double>>& values, double weight);

/// A colour for each run: one for each width where there are several, else one for each run of up to eight; else one ink.
std::vector<QColor> colourRuns(const RunList& list);

struct RunChoice {
    RunFigure figure = RunFigure::Loss;
    RunAxis axis = RunAxis::Steps;
    double smoothing = 0;
    std::vector<bool> shown;  ///< by run; those that search found
    std::vector<bool> chosen; ///< by run; all false: all stand out
};

/// Curves with their spikes (of the loss). The id of a spike's point is its place in `spikes`.
struct SpikePlace {
    std::size_t run = 0, spike = 0;
};
XyContent drawnCurves(const RunList& list, const std::vector<QColor>& colours, const RunChoice& choice,
                      std::vector<SpikePlace>& spikes);

/// The range of losses to begin with, so that a spike does not press the curves flat: up to a little above the highest
/// first loss; what is higher is at the edge. Absent without losses.
std::optional<std::pair<double, double>> lossRange(const RunList& list, const std::vector<bool>& shown);

/// Runs that differ in the learning rate only, two or more of them.
struct RateLine {
    std::string of;                    ///< model and what else it shares
    std::optional<std::int64_t> width; ///< of the network
    struct Place {
        double rate = 0, loss = 0;
        std::size_t run = 0;
    };
    std::vector<Place> places; ///< by rate
    std::size_t best = 0;      ///< of places
    bool atEdge() const { return best == 0 || best + 1 == places.size(); }
};
std::vector<RateLine> rateLines(const RunList& list, const std::vector<bool>& shown);

/// One line for each of them, the best rate marked; a point's id is its run.
XyContent drawnRates(const std::vector<RateLine>& lines, const std::vector<QColor>& colours);

} // namespace fourwalls::views
