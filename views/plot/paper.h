// SPDX-License-Identifier: GPL-3.0-or-later
// Plots on paper and in files of shapes: lines and letters stay what they are, images get more pixels than a screen has.
#pragma once

class QPainter;
class QWidget;

namespace fourwalls::views {

/// The painter writes shapes (a printer, PDF, SVG), not the pixels of a screen.
bool isPaper(const QPainter& painter);

/// Pixels per unit of the painter for what a widget draws as an image.
double imageRatio(const QPainter& painter, const QWidget& widget);

} // namespace fourwalls::views
