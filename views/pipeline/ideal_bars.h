// SPDX-License-Identifier: GPL-3.0-or-later
// Bubbles beside one another: what was measured, what a model predicts, and what the schedules leave empty in theory.
#pragma once

#include "views/plot/spoken.h"

#include <QString>
#include <QWidget>

#include <vector>

namespace fourwalls::views {

struct BubbleBar {
    enum class Kind { Measured, Predicted, Ideal, OwnIdeal };
    QString name;
    double fraction = 0; ///< of the pipeline window, 0..1
    Kind kind = Kind::Ideal;
    QString note; ///< tool tip: the formula
};

class BubbleBars : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit BubbleBars(QWidget* parent = nullptr);
    void setBars(std::vector<BubbleBar> bars);
    const std::vector<BubbleBar>& bars() const { return m_bars; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    QAccessible::Role spokenRole() const override { return QAccessible::Chart; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    double rowHeight() const;
    std::vector<BubbleBar> m_bars;
};

} // namespace fourwalls::views
