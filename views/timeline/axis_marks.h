// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes of the marks of events and notes on the timeline's axis, as they are painted and as the pointer finds them.
#pragma once

namespace fourwalls::views {

inline constexpr int kEventSize = 7; ///< of an event's mark [px]
inline constexpr int kNoteFlag = 9;  ///< of a note's flag [px]

} // namespace fourwalls::views
