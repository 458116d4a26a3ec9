// SPDX-License-Identifier: GPL-3.0-or-later
// See paper_plot.h.
#include "views/plot/paper_plot.h"

#include "views/plot/paper.h"

namespace fourwalls::views {

void PaperPlot::paintEvent(QPaintEvent* event)
{
    {
        QCPPainter painter(this);
        if (isPaper(painter)) {
            toPainter(&painter, width(), height());
            return;
        }
    }
    QCustomPlot::paintEvent(event);
}

} // namespace fourwalls::views
