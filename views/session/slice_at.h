// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank was doing at an instant, as one selects it.
#pragma once

#include "model/base/result.h"
#include "views/session/selection.h"

#include <optional>

namespace fourwalls::views {

/// The innermost slice of the rank at an instant with its operator; absent where nothing ran.
Result<std::optional<SelectedSlice>> askSliceAt(TraceQuery& trace, RankId rank, Instant at);

} // namespace fourwalls::views
