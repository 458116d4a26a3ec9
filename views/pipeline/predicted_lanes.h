// SPDX-License-Identifier: GPL-3.0-or-later
// The lanes of a predicted or replayed step, from its drawable form. Those of a prediction are the passes that its trace will
// have, some milliseconds before that is written, so that they follow a slider. Without Qt.
#pragma once

#include "model/trace/drawn_step.h"
#include "views/pipeline/pipeline_questions.h"

namespace fourwalls::views {

/// The picture of a step, one lane per stage, from instant 0 on. The shares of a backward's parts are of its whole time.
/// ranks: of the pipeline that is shown, where the step has a lane for every rank; none of them there: all lanes.
PipelinePicture predictedPicture(const DrawnStep& predicted, std::span<const RankId> ranks = {});

} // namespace fourwalls::views
