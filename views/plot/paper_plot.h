// SPDX-License-Identifier: GPL-3.0-or-later
// A QCustomPlot that draws shapes, not its pixels, when its window is printed, and that screen readers know as a chart.
#pragma once

#include "views/plot/spoken.h"

#include <qcustomplot.h>

namespace fourwalls::views {

class PaperPlot : public QCustomPlot, public Spoken {
public:
    using QCustomPlot::QCustomPlot;

    /// The plot has the focus, `content` knows what its points are. content: the widget around the plot.
    void speakFor(const Spoken& content) { m_content = &content; }
    const Spoken& speaker() const override { return m_content ? *m_content : *this; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const Spoken* m_content = nullptr;
};

} // namespace fourwalls::views
