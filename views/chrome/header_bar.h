// SPDX-License-Identifier: GPL-3.0-or-later
// The header: the product's name (which opens the menu), the open traces, chips of the current one, and what opens
// the box "Find anything".
#pragma once

#include "model/trace/trace_query.h"

#include <QWidget>

class QMenu;
class QToolButton;
class QPushButton;

namespace fourwalls::views {

class Chip;
class TraceTabs;

/// The plan as the chip shows it: "dp 4 · tp 1 · pp 4 · 1F1B · m 8"; "1 rank" for the default plan.
QString planWords(const TraceInfo& info);
/// The device as the chip shows it: "16 × H100".
QString deviceWords(const TraceInfo& info);

class HeaderBar : public QWidget {
    Q_OBJECT
public:
    explicit HeaderBar(QWidget* parent = nullptr);

    TraceTabs* tabs() const { return m_tabs; }
    void setMenu(QMenu* menu);
    /// Null takes the chips away.
    void setTrace(const TraceInfo* info);
    void retranslate();
    /// Where that box opens: below this widget.
    QWidget* searchBox() const;
    /// The button of the What-if dock: whether it can be pressed, and whether it is down.
    void setWhatIf(bool enabled, bool shown);

signals:
    void whatIfToggled(bool shown);
    void findRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    void arrangeChips();

    QToolButton* m_product;
    TraceTabs* m_tabs;
    Chip* m_clock;
    Chip* m_device;
    Chip* m_plan;
    QToolButton* m_whatIf;
    QPushButton* m_search;
    bool m_hasTrace = false;
};

} // namespace fourwalls::views
