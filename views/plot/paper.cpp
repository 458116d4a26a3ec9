// SPDX-License-Identifier: GPL-3.0-or-later
// See paper.h.
#include "views/plot/paper.h"

#include <QPaintEngine>
#include <QPainter>
#include <QWidget>

namespace fourwalls::views {

namespace {
constexpr double kPaperRatio = 4; ///< a view of 1100 pixels across A4 has about 400 dots per inch
}

bool isPaper(const QPainter& painter)
{
    const QPaintEngine* engine = painter.paintEngine();
    return engine && engine->type() != QPaintEngine::Raster;
}

double imageRatio(const QPainter& painter, const QWidget& widget)
{
    return isPaper(painter) ? kPaperRatio : widget.devicePixelRatioF();
}

} // namespace fourwalls::views
