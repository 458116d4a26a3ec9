// SPDX-License-Identifier: GPL-3.0-or-later
// What a widget that waits for data says of the frames that it paints.
#pragma once

namespace fourwalls::views {

/// How good a painted frame is. Stale: of another range than asked for. Coarse: the right range at a level of detail
/// of more than a pixel, or still without labels. Full: nothing better will follow.
enum class FrameQuality { Blank, Stale, Coarse, Full };

/// How long a repaint waits for data when it would show nothing or next to nothing: less than a frame, so that quick
/// answers do not flicker.
inline constexpr int kHoldMs = 12;

} // namespace fourwalls::views
