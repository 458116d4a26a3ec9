// SPDX-License-Identifier: GPL-3.0-or-later
// See flame_graph.h.
#include "views/timeline/flame_graph.h"

#include "model/trace/short_name.h"
#include "views/plot/theme.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/call_tree_model.h"
#include "views/timeline/timeline_geometry.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr int kFlameHeight = 20;
constexpr int kNarrowestNamed = 24;

Duration timeOf(const CallNode& node, FlameMeasure measure)
{
    return measure == FlameMeasure::Host ? node.total : node.deviceTotal;
}

} // namespace

std::vector<FlameBar> flameBars(const CallTree& tree, std::uint32_t root, FlameMeasure measure, double narrowest)
{
    std::vector<FlameBar> bars;
    if (root >= tree.nodes.size()) return bars;
    const auto whole = static_cast<double>(timeOf(tree.nodes[root], measure).ns);
    if (whole <= 0) return bars;
    std::vector<std::vector<std::uint32_t>> children(tree.nodes.size());
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) children[tree.nodes[i].parent].push_back(i);
    std::vector<FlameBar> level;
    if (root != 0) level.push_back({root, 0, 0, 1});
    if (root == 0) level.push_back({0, -1, 0, 1});
    while (!level.empty()) {
        std::vector<FlameBar> next;
        for (const FlameBar& bar : level) {
            if (bar.node != 0) bars.push_back(bar);
            std::vector<std::uint32_t>& below = children[bar.node];
            std::stable_sort(below.begin(), below.end(), [&](std::uint32_t a, std::uint32_t b) {
                return timeOf(tree.nodes[a], measure) > timeOf(tree.nodes[b], measure);
            });
            double from = bar.from;
            for (const std::uint32_t child : below) {
                const double width = static_cast<double>(timeOf(tree.nodes[child], measure).ns) / whole;
                if (width < narrowest || width <= 0) break; // the others are narrower still
                next.push_back({child, bar.depth + 1, from, from + width});
                from += width;
            }
        }
        level = std::move(next);
    }
    return bars;
}

FlameGraph::FlameGraph(QWidget* parent) : QAbstractScrollArea(parent)
{
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Flame graph"));
}

void FlameGraph::setTree(std::shared_ptr<const CallTree> tree, FlameMeasure measure)
{
    m_tree = std::move(tree);
    m_measure = measure;
    m_root = 0;
    layOut();
}

void FlameGraph::setRoot(std::uint32_t node)
{
    if (!m_tree || node >= m_tree->nodes.size()) return;
    m_root = node;
    layOut();
}

void FlameGraph::layOut()
{
    m_bars.clear();
    int deepest = -1;
    if (m_tree) {
        m_bars = flameBars(*m_tree, m_root, m_measure, 0.5 / std::max(1, viewport()->width()));
        for (const FlameBar& bar : m_bars) deepest = std::max(deepest, bar.depth);
    }
    verticalScrollBar()->setRange(0, std::max(0, (deepest + 1) * kFlameHeight - viewport()->height()));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(kFlameHeight);
    setAccessibleDescription(m_root != 0 ? described(m_root) : QString());
    tellCurrent(*this);
    viewport()->update();
}

QString FlameGraph::described(std::uint32_t index) const
{
    const CallNode& node = m_tree->nodes[index];
    const auto whole = static_cast<double>(timeOf(m_tree->nodes[0], m_measure).ns);
    QStringList lines{callText(node, false)};
    const double share = whole > 0 ? static_cast<double>(timeOf(node, m_measure).ns) / whole : 0;
    lines << tr("%1 of all \u00b7 %2 times").arg(formatPercent(share), formatCount(node.count));
    lines << tr("host %1, own %2").arg(formatDuration(node.total), formatDuration(node.self));
    if (m_tree->hasDevice)
        lines
            << tr("device %1, launched here %2").arg(formatDuration(node.deviceTotal), formatDuration(node.deviceSelf));
    return lines.join(QLatin1Char('\n'));
}

QRect FlameGraph::boxOf(const FlameBar& bar) const
{
    const double width = viewport()->width();
    const int left = static_cast<int>(std::lround(bar.from * width)),
              right = static_cast<int>(std::lround(bar.to * width));
    return {left, bar.depth * kFlameHeight - verticalScrollBar()->value(), std::max(1, right - left - 1),
            kFlameHeight - 1};
}

int FlameGraph::spokenParts() const
{
    return static_cast<int>(m_bars.size());
}

QString FlameGraph::spokenText(int part) const
{
    return described(m_bars[static_cast<std::size_t>(part)].node).replace(QLatin1Char('\n'), QLatin1String(", "));
}

QRect FlameGraph::spokenPlace(int part) const
{
    return boxOf(m_bars[static_cast<std::size_t>(part)]).intersected(viewport()->rect());
}

int FlameGraph::spokenCurrent() const
{
    return m_root != 0 && !m_bars.empty() ? 0 : -1; // the root's bar is the first one
}

void FlameGraph::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const Theme& theme = currentTheme();
    painter.fillRect(viewport()->rect(), theme.card);
    if (!m_tree) return;
    const BarPalette palette = barPaletteOf(theme);
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetrics metrics(painter.font());
    const auto whole = static_cast<double>(timeOf(m_tree->nodes[0], m_measure).ns);
    for (const FlameBar& bar : m_bars) {
        const QRect rect = boxOf(bar);
        if (!rect.intersects(viewport()->rect())) continue;
        const CallNode& node = m_tree->nodes[bar.node];
        const auto op = m_tree->ops.find(node.op);
        const ColourKey key = op == m_tree->ops.end() ? ColourKey::Structure : colourKeyOf(*op->second);
        painter.fillRect(rect, QColor(palette.fill[static_cast<std::size_t>(key)]));
        if (rect.width() < kNarrowestNamed) continue;
        painter.setPen(QColor(palette.text[static_cast<std::size_t>(key)]));
        const int room = rect.width() - 7;
        QString text = QString::fromStdString(shortName(node.name));
        // Behind the name what fits whole: how long, and how much of all.
        const Duration time = timeOf(node, m_measure);
        for (const QString& more :
             {formatDuration(time, 3), formatPercent(whole > 0 ? static_cast<double>(time.ns) / whole : 0)}) {
            const QString longer = text + QStringLiteral(" \u00b7 ") + more;
            if (metrics.horizontalAdvance(longer) > room) break;
            text = longer;
        }
        painter.drawText(rect.adjusted(4, 0, -3, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         metrics.elidedText(text, Qt::ElideRight, room));
    }
}

void FlameGraph::resizeEvent(QResizeEvent*)
{
    layOut();
}

const FlameBar* FlameGraph::barAt(QPoint at) const
{
    const int depth = (at.y() + verticalScrollBar()->value()) / kFlameHeight;
    const double x = (at.x() + 0.5) / std::max(1, viewport()->width());
    for (const FlameBar& bar : m_bars)
        if (bar.depth == depth && bar.from <= x && x < bar.to) return &bar;
    return nullptr;
}

std::uint32_t FlameGraph::nodeAt(QPoint at) const
{
    const FlameBar* bar = barAt(at);
    return bar ? bar->node : 0;
}

void FlameGraph::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_tree) return;
    const std::uint32_t node = nodeAt(event->position().toPoint());
    if (node == 0) return setRoot(0);
    const QString name = QString::fromStdString(m_tree->nodes[node].name);
    setRoot(node == m_root ? m_tree->nodes[node].parent : node); // once more: back to the caller
    emit nodeClicked(name);
}

void FlameGraph::keyPressEvent(QKeyEvent* event)
{
    if (!m_tree) return QAbstractScrollArea::keyPressEvent(event);
    const auto sibling = [&](int direction) {
        // Along the bars of the root's depth: its callers' other calls are not seen, so they are looked up.
        std::vector<std::uint32_t> same;
        for (std::uint32_t i = 1; i < m_tree->nodes.size(); ++i)
            if (m_tree->nodes[i].parent == m_tree->nodes[m_root].parent && m_root != 0) same.push_back(i);
        const auto at = std::find(same.begin(), same.end(), m_root);
        if (at == same.end()) return m_root;
        const auto next = (at - same.begin()) + direction;
        return next < 0 || next >= static_cast<std::ptrdiff_t>(same.size()) ? m_root
                                                                            : same[static_cast<std::size_t>(next)];
    };
    switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Backspace: return setRoot(m_tree->nodes[m_root].parent);
    case Qt::Key_Down:
    case Qt::Key_Return: {
        const auto below = std::find_if(m_bars.begin(), m_bars.end(),
                                        [&](const FlameBar& bar) { return m_tree->nodes[bar.node].parent == m_root; });
        return below == m_bars.end() ? void() : setRoot(below->node);
    }
    case Qt::Key_Left: return setRoot(sibling(-1));
    case Qt::Key_Right: return setRoot(sibling(1));
    case Qt::Key_Home: return setRoot(0);
    default: return QAbstractScrollArea::keyPressEvent(event);
    }
}

bool FlameGraph::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && m_tree) {
        const auto* help = static_cast<QHelpEvent*>(event);
        if (const std::uint32_t node = nodeAt(help->pos()))
            QToolTip::showText(help->globalPos(), described(node), viewport());
        else
            QToolTip::hideText();
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void FlameGraph::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) viewport()->update();
}

} // namespace fourwalls::views
