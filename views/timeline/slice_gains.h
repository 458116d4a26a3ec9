// SPDX-License-Identifier: GPL-3.0-or-later
// What the step would gain if the selected slice were better, from a replay of the recorded step: its kernel in half the
// time, the links of its operation twice as fast, its rank like the others.
#pragma once

#include "views/timeline/slice_facts.h"

#include <vector>

namespace fourwalls::views {

class Replayer;

/// Asks the replayer for what is not known yet (Replayer::gainsChanged follows). Empty: of this slice nothing can be changed.
std::vector<SliceFact> gainFacts(const SelectedSlice& selected, const SliceContext& context, Replayer& replayer);
/// Adds them once it is known what surrounds the slice.
void addGains(SliceFacts& facts, const SelectedSlice& selected, const SliceContext& context, Replayer& replayer);

} // namespace fourwalls::views
