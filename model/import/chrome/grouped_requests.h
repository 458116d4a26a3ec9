// SPDX-License-Identifier: Apache-2.0
// Requests that were grouped (batch_isend_irecv, coalescing managers): each says what it wants and launches nothing, and
// one kernel behind them carries all of them out. Such a kernel says nothing of itself.
#pragma once

#include "model/import/chrome/chrome_survey.h"

namespace fourwalls::importers {

/// Fills ChromeSurvey::grouped. Call once, when requests are joined and launches are linked.
void groupRequests(ChromeSurvey& survey);

} // namespace fourwalls::importers
