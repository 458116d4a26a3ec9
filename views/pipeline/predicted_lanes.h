// SPDX-License-Identifier: GPL-3.0-or-later
// The lanes of a predicted step, from its drawable form: the passes that its trace will have, some milliseconds before
// that is written, so that they follow a slider. Without Qt.
#pragma once

#include "model/trace/drawn_step.h"
#include "views/pipeline/pipeline_questions.h"

namespace fourwalls::views {

/// The picture of a predicted step, one lane per stage, from instant 0 on. The shares of a backward's parts are of its
/// whole time.
PipelinePicture predictedPicture(const DrawnStep& predicted);

} // namespace fourwalls::views
