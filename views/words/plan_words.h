// SPDX-License-Identifier: GPL-3.0-or-later
// A plan and its switches in the user's language.
#pragma once

#include "model/spec/parallel_plan.h"
#include "model/spec/training_settings.h"

#include <QString>

#include <string_view>

namespace fourwalls::views {

/// "1F1B", "interleaved", "ZB-1p". chunks: per stage, told where there are several: "interleaved ×2".
QString words(PipelineSchedule schedule, int chunks = 1);
/// The same where there is room: "zero-bubble (ZB-1p)".
QString longWords(PipelineSchedule schedule, int chunks = 1);
QString words(Recompute recompute); ///< "selective"
/// What a plan recomputes: "selective", or by stage "full-none-none".
QString recomputeWords(const ParallelPlan& plan);
QString words(Precision precision); ///< "bf16"

/// What a plan says of one of its parts, by the key of its text: "tp 4", "m 8", "ZeRO 2", "recompute full", "1F1B".
QString partWords(std::string_view key, const ParallelPlan& plan);

/// "dp 4 · tp 2 · pp 2 · ZeRO 1 · 1F1B · m 16": a plan in few words, with all that is not at its default except documents, so
/// that two plans for a job have two texts.
QString planSummary(const ParallelPlan& plan);

} // namespace fourwalls::views
