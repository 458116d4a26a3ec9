// SPDX-License-Identifier: Apache-2.0
// Several runs against several others: which figures differ for sure, and which operators, transfers or waits carry the
// difference of the step.
#pragma once

#include "model/compare/run_interval.h"
#include "model/compare/step_carriers.h"
#include "model/trace/figures.h"
#include "model/trace/metrics.h"

#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace fourwalls::compare {

/// What a gate needs of one run.
struct GateRun {
    std::string file;
    ClockKind clock = ClockKind::Wall;
    std::string job; ///< network and plan; empty: not known
    TraceMetrics metrics;
    std::vector<double> steps; ///< lengths of the measured steps [ms]
    StepParts parts;           ///< empty: see whyNoParts
    std::string whyNoParts;
};

/// Errors: those of the queries; Cancelled.
Result<GateRun> readGateRun(TraceQuery& trace, std::string file, std::stop_token stop = {});

enum class Verdict : std::uint8_t {
    Worse,    ///< the whole interval is
    Better,   ///< the whole interval is
    Changed,  ///< the whole interval lies on one side of 0; neither is better
    NotShown, ///< the interval holds 0
    Unknown   ///< a side does not have the figure, or its spread is not known
};
/// "worse", "better", "changed", "not_shown", "unknown".
std::string_view name(Verdict verdict);

struct GateFigure {
    const FigureInfo* info = nullptr;
    std::optional<WaterfallPart> part;   ///< present: a share of the step
    std::optional<RunDifference> values; ///< absent: a run does not have it
    bool isMissing = false;              ///< one side has it, the other does not

    std::string name() const; ///< as ComparedFigure::name
    Verdict verdict() const;
    /// Ends of the interval as a share of `against` [%]; absent where that is 0 or there is no interval.
    std::optional<double> lowPercent() const, highPercent() const, percent() const;
    /// How much worse it is at least, whatever the chance [%]; without an interval, how much worse it is. Negative: it may
    /// be better. Absent: not known, or neither direction is worse.
    std::optional<double> leastWorsePercent() const;
};

/// One part of the step's critical path.
struct GateCarrier {
    StepCarrier of;
    RunDifference values; ///< per step [ms]
};

struct GateReport {
    std::vector<GateFigure> figures;
    RunDifference meanStep;            ///< [ms]; what the carriers add up to
    std::vector<GateCarrier> carriers; ///< by the size of their difference; those that matter
    double rest = 0;                   ///< difference of all the others together [ms]
    std::vector<std::string> notes;    ///< what limits the answer, in sentences

    const GateFigure* find(Figure figure) const;
    /// The judged figure that is worse by the most for sure; null: none is.
    const GateFigure* worst() const;
};

struct GateOptions {
    double confidence = 0.99; ///< two-sided
    std::size_t mostCarriers = 10;
};

/// Precondition: both sides have a run.
GateReport gateRuns(std::span<const GateRun> runs, std::span<const GateRun> against, const GateOptions& options = {});

} // namespace fourwalls::compare
