// SPDX-License-Identifier: GPL-3.0-or-later
// A step that nobody recorded, with its figures, as views show it beside what was recorded: predicted, or the recorded one
// replayed with changes. What is drawn of it at once is WhatIf::drawn().
#pragma once

#include "model/trace/drawn_step.h"
#include "model/trace/in_memory_trace.h"
#include "model/trace/metrics.h"

#include <memory>

namespace fourwalls::views {

struct Prediction;
struct ReplayedStep;

struct Ghost {
    std::shared_ptr<const DrawnStep> drawn;         ///< never null
    std::shared_ptr<const InMemoryTraceData> trace; ///< never null
    std::shared_ptr<const TraceMetrics> metrics;    ///< never null
    double peakBytes = 0;                           ///< of the fullest rank or stage; 0: not known
    bool replayed = false;                          ///< its times were measured, else modelled

    static std::shared_ptr<const Ghost> of(const std::shared_ptr<const Prediction>& prediction);
    static std::shared_ptr<const Ghost> of(const std::shared_ptr<const ReplayedStep>& step);
};

} // namespace fourwalls::views
