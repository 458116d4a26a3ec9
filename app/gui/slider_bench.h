// SPDX-License-Identifier: GPL-3.0-or-later
// The part of `--bench` that moves sliders: from a key posted to a slider of the What-if dock to the end of the repaint
// of the visible view (and of whatever else of the window was out of date) that shows the prediction for it.
#pragma once

#include "app/gui/frame_recorder.h"

#include <QString>

namespace fourwalls::gui {

class MainWindow;

/// Sets the sliders of the current trace to 16 stages x 128 micro-batches and moves several of them over `view`.
/// wallMs and missed of the result are filled: an input is either shown, a frame, or missed, once. Empty where the view
/// has nothing to show the prediction over.
FrameTimes benchSliders(MainWindow& window, const QString& view);

} // namespace fourwalls::gui
