// SPDX-License-Identifier: GPL-3.0-or-later
// A small live curve of the loss while a recording runs.
#pragma once

#include "views/plot/spoken.h"

#include <QPointF>
#include <QVector>
#include <QWidget>

namespace fourwalls::views {

class LossPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit LossPlot(QWidget* parent = nullptr);
    void clear(int steps);
    void addPoint(int step, double loss);
    QSize sizeHint() const override { return {360, 160}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QVector<QPointF> m_points; ///< (step, loss)
    int m_steps = 1;
};

} // namespace fourwalls::views
