// SPDX-License-Identifier: GPL-3.0-or-later
// Draws who waits for whom, from those who wait down to those who are at fault.
#pragma once

#include "model/diagnose/hang_report.h"
#include "views/plot/spoken.h"

#include <QWidget>

#include <vector>

namespace fourwalls::views {

class HangChain : public QWidget, public Spoken {
    Q_OBJECT
public:
    explicit HangChain(QWidget* parent = nullptr);

    void setReport(const diagnose::HangReport& report);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

    QAccessible::Role spokenRole() const override { return QAccessible::List; }
    int spokenParts() const override { return static_cast<int>(m_boxes.size()); }
    QString spokenText(int part) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Box {
        QString title, detail;
        bool isRoot = false;
    };
    std::vector<Box> m_boxes;
};

} // namespace fourwalls::views
