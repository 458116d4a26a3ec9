// SPDX-License-Identifier: Apache-2.0
// What else an assumption about a row of published measurements could have been.
#pragma once

#include "model/compare/published_row.h"
#include "model/compare/published_words.h"

namespace fourwalls::compare {

/// Fills in the row's doubts, one for each assumption that has another plausible reading: another framework, half of a
/// link, recomputation where memory is short or where a framework can do some, other micro-batches, sharding, schedule,
/// precision or offload, work that was said and is not priced.
/// Errors: of the presets.
Status addDoubts(const Cells& cells, PublishedRow& row);

} // namespace fourwalls::compare
