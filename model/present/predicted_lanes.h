// SPDX-License-Identifier: Apache-2.0
// The lanes of a predicted or replayed step, from its drawable form. Those of a prediction are the passes that its trace will
// have, some milliseconds before that is written, so that they follow a slider. Without Qt.
#pragma once

#include "model/present/pipeline_questions.h"
#include "model/trace/drawn_step.h"

namespace fourwalls {

/// The picture of a step, one lane per stage, from instant 0 on. The shares of a backward's parts are of its whole time.
/// ranks: of the pipeline that is shown, where the step has a lane for every rank; none of them there: all lanes.
PipelinePicture predictedPicture(const DrawnStep& predicted, std::span<const RankId> ranks = {});

} // namespace fourwalls
