// SPDX-License-Identifier: GPL-3.0-or-later
// What a page that lacks something offers to do at once: the same button for the same lack, in every view.
#pragma once

#include "views/plot/action_row.h"
#include "views/words/recording_advice.h"

namespace fourwalls::views {

PageAction openWhatIf();  ///< fill in the network and the machines
PageAction chooseSteps(); ///< say what a step of this trace is
PageAction addSnapshot(); ///< open a memory snapshot of the same run beside it

/// Whether a memory snapshot can be opened beside what it recorded.
bool takesSnapshot(Recorder recorder);

} // namespace fourwalls::views
