// SPDX-License-Identifier: GPL-3.0-or-later
// Goes to a place of the trace: what a click on a finding does.
#pragma once

#include "views/session/selection.h"

namespace fourwalls::views {

/// Chooses the rank, shows the range with a tenth of its length on either side and marks it as a measured one is, in the
/// view of that id.
void goTo(Selection& selection, std::optional<RankId> rank, std::optional<TimeRange> range, const QString& viewId);

} // namespace fourwalls::views
