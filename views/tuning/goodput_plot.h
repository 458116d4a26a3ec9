// SPDX-License-Identifier: GPL-3.0-or-later
// What failures and checkpoints leave of the devices' time: against the interval between checkpoints, and against the
// number of devices.
#pragma once

#include "model/cost/goodput.h"
#include "views/plot/spoken.h"
#include "views/tuning/log_axis.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace fourwalls::views {

class GoodputPlot : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit GoodputPlot(QWidget* parent = nullptr);

    /// input: its interval is not used, the plot goes over all of them.
    void setInput(const cost::GoodputInput& input);
    /// At the best interval for the present number of devices; absent where the job would never end.
    const std::optional<cost::Goodput>& best() const { return m_best; }
    QString sentence() const;

    QSize sizeHint() const override { return {420, 180}; }
    QSize minimumSizeHint() const override { return {220, 110}; }
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Point {
        double x = 0, goodput = 0;
    };
    void compute();
    static QString title(bool intervals);
    static QString unit(bool intervals); ///< below the axis
    void paintCurve(QPainter& painter, const QRectF& area, const std::vector<Point>& points, bool intervals) const;

    cost::GoodputInput m_input;
    std::vector<Point> m_byInterval, m_byDevices;
    std::optional<cost::Goodput> m_best;
};

} // namespace fourwalls::views
