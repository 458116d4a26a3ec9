// SPDX-License-Identifier: GPL-3.0-or-later
// A QCustomPlot that draws shapes, not its pixels, when its window is printed.
#pragma once

#include <qcustomplot.h>

namespace fourwalls::views {

class PaperPlot : public QCustomPlot {
public:
    using QCustomPlot::QCustomPlot;

protected:
    void paintEvent(QPaintEvent* event) override;
};

} // namespace fourwalls::views
