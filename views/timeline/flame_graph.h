// SPDX-License-Identifier: GPL-3.0-or-later
// A call tree as a flame graph: each path of names is a bar below its caller, as wide as its share of time.
#pragma once

#include "model/trace/call_tree.h"
#include "views/plot/spoken.h"

#include <QAbstractScrollArea>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// Whose time decides the widths.
enum class FlameMeasure { Host, Device };

/// One bar, in shares of the width.
struct FlameBar {
    std::uint32_t node = 0;
    int depth = 0; ///< from 0, below the root that is shown
    double from = 0, to = 0;
};

/// The bars below `root` (0: of all), and root itself, that are at least `narrowest` of the width; by depth, then from left
/// to right, wider children first.
std::vector<FlameBar> flameBars(const CallTree& tree, std::uint32_t root, FlameMeasure measure, double narrowest);

class FlameGraph : public QAbstractScrollArea, public Spoken {
    Q_OBJECT
public:
    explicit FlameGraph(QWidget* parent = nullptr);

    void setTree(std::shared_ptr<const CallTree> tree, FlameMeasure measure);
    /// The node whose subtree fills the width; 0: everything.
    std::uint32_t root() const { return m_root; }
    void setRoot(std::uint32_t node);
    std::uint32_t nodeAt(QPoint at) const; ///< 0: none

    QAccessible::Role spokenRole() const override { return QAccessible::Tree; }
    int spokenParts() const override;
    QString spokenText(int part) const override;
    QRect spokenPlace(int part) const override;
    int spokenCurrent() const override;

signals:
    /// A bar was clicked: its whole name.
    void nodeClicked(const QString& name);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void layOut();
    const FlameBar* barAt(QPoint at) const;
    QRect boxOf(const FlameBar& bar) const; ///< in the viewport
    QString described(std::uint32_t node) const;

    std::shared_ptr<const CallTree> m_tree;
    FlameMeasure m_measure = FlameMeasure::Host;
    std::uint32_t m_root = 0;
    std::vector<FlameBar> m_bars;
};

} // namespace fourwalls::views
