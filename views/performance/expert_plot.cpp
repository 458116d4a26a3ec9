// SPDX-License-Identifier: GPL-3.0-or-later
// See expert_plot.h.
#include "views/performance/expert_plot.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kExpertLeft = 62, kExpertTop = 36, kExpertLegend = 76;
constexpr double kTallestRow = 84, kWidestExpert = 96;
constexpr double kFarAboveMean = 2; ///< from here on the colour is the same

/// From the card over the forward pass's colour, which is the mean's, to the wall's.
QColor heatOf(const Theme& theme, double timesMean)
{
    const bool above = timesMean > 1;
    const QColor mean = theme.phases[static_cast<std::size_t>(Phase::Forward)];
    const QColor from = above ? mean : theme.card, to = above ? theme.wallEdge : mean;
    const double share = above ? std::min(1.0, (timesMean - 1) / (kFarAboveMean - 1)) : 0.08 + 0.92 * timesMean;
    const auto mix = [share](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * share)); };
    return {mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue())};
}

QString timesMeanText(double value)
{
    return QStringLiteral("%1×").arg(value, 0, 'f', value < 9.95 ? 2 : 1);
}

} // namespace

ExpertPlot::ExpertPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void ExpertPlot::setLayers(std::vector<ExpertLayer> layers)
{
    m_layers = std::move(layers);
    m_columns = 0;
    m_totals.clear();
    for (const ExpertLayer& layer : m_layers) m_totals.push_back(layer.total());
    for (const ExpertLayer& layer : m_layers) m_columns = std::max(m_columns, static_cast<int>(layer.tokens.size()));
    m_hover.reset();
    update();
}

void ExpertPlot::setNothing(const QString& why)
{
    m_nothing = why;
    update();
}

QRectF ExpertPlot::map() const
{
    const double wide = std::max(20.0, width() - kExpertLeft - kExpertLegend),
                 high = std::max(20.0, height() - kExpertTop - 4.0);
    return {kExpertLeft, kExpertTop, std::min(wide, kWidestExpert * m_columns),
            std::min(high, kTallestRow * static_cast<double>(m_layers.size()))};
}

std::optional<std::pair<int, int>> ExpertPlot::cellAt(QPointF at) const
{
    if (m_layers.empty() || !map().contains(at)) return std::nullopt;
    const int rows = static_cast<int>(m_layers.size());
    return std::pair(std::clamp(static_cast<int>((at.y() - map().top()) / cellHeight()), 0, rows - 1),
                     std::clamp(static_cast<int>((at.x() - map().left()) / cellWidth()), 0, m_columns - 1));
}

std::optional<double> ExpertPlot::valueOf(int row, int column) const
{
    if (row < 0 || column < 0 || static_cast<std::size_t>(row) >= m_layers.size()) return std::nullopt;
    const ExpertLayer& layer = m_layers[static_cast<std::size_t>(row)];
    if (static_cast<std::size_t>(column) >= layer.tokens.size()) return std::nullopt;
    const double total = m_totals[static_cast<std::size_t>(row)];
    return total > 0 ? layer.tokens[static_cast<std::size_t>(column)] * static_cast<double>(layer.tokens.size()) / total
                     : 0;
}

QString ExpertPlot::cellText(int row, int column) const
{
    const auto value = valueOf(row, column);
    if (!value) return {};
    const ExpertLayer& layer = m_layers[static_cast<std::size_t>(row)];
    return tr("layer %1, expert %2: %3 tokens, %4 × the mean")
        .arg(layer.layer)
        .arg(column)
        .arg(formatCount(std::llround(layer.tokens[static_cast<std::size_t>(column)])))
        .arg(*value, 0, 'f', 2);
}

void ExpertPlot::paintCells(QPainter& painter) const
{
    const Theme& t = currentTheme();
    const QRectF box = map();
    const double wide = cellWidth(), high = cellHeight(), gap = std::min(wide, high) > 6 ? 1 : 0;
    const QFontMetricsF metrics(painter.font());
    for (int row = 0; row < static_cast<int>(m_layers.size()); ++row)
        for (int column = 0; column < m_columns; ++column) {
            const auto value = valueOf(row, column);
            if (!value) continue;
            const QRectF cell(box.left() + column * wide, box.top() + row * high, std::max(1.0, wide - gap),
                              std::max(1.0, high - gap));
            const QColor fill = heatOf(t, *value);
            painter.fillRect(cell, fill);
            const QString text = timesMeanText(*value);
            if (metrics.horizontalAdvance(text) + 6 > wide || metrics.height() > high) continue;
            painter.setPen(textOn(fill));
            painter.drawText(cell, Qt::AlignCenter, text);
        }
    if (!m_hover) return;
    painter.setPen(QPen(t.accent, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(boxOf(m_hover->first, m_hover->second).adjusted(0, 0, -1, -1));
}

/// Numbers of layers and experts, as many as have room.
void ExpertPlot::paintNames(QPainter& painter) const
{
    const QRectF box = map();
    const QFontMetricsF metrics(painter.font());
    const double wide = cellWidth(), high = cellHeight();
    const int rows = static_cast<int>(m_layers.size());
    painter.setPen(currentTheme().secondaryText);
    const int everyRow = std::max(1, static_cast<int>(std::ceil((metrics.height() + 2) / high)));
    for (int row = 0; row < rows; row += everyRow)
        painter.drawText(QRectF(18, box.top() + row * high, kExpertLeft - 26, std::max(high, metrics.height())),
                         Qt::AlignRight | (everyRow == 1 ? Qt::AlignVCenter : Qt::AlignTop),
                         QString::number(m_layers[static_cast<std::size_t>(row)].layer));
    const double widest = metrics.horizontalAdvance(QString::number(m_columns)) + 8;
    const int everyColumn = std::max(1, static_cast<int>(std::ceil(widest / wide)));
    for (int column = 0; column < m_columns; column += everyColumn)
        painter.drawText(QRectF(box.left() + column * wide, box.top() - 18, std::max(wide, widest), 16),
                         everyColumn == 1 ? Qt::AlignCenter : Qt::AlignLeft | Qt::AlignVCenter,
                         QString::number(column));
    painter.drawText(QRectF(box.left(), 0, width() - box.left(), 16), Qt::AlignLeft | Qt::AlignVCenter, tr("expert"));
    painter.drawText(QRectF(0, box.top() - 18, kExpertLeft - 8, 16), Qt::AlignRight | Qt::AlignVCenter, tr("layer"));
}

void ExpertPlot::paintLegend(QPainter& painter) const
{
    const Theme& t = currentTheme();
    const double left = map().right() + 12;
    double y = kExpertTop;
    for (const double value : std::array{2.0, 1.5, 1.0, 0.5, 0.0}) {
        if (y + 16 > height()) break;
        painter.fillRect(QRectF(left, y + 2, 12, 12), heatOf(t, value));
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(left + 17, y, kExpertLegend, 16), Qt::AlignLeft | Qt::AlignVCenter,
                         value == 1.0             ? tr("mean")
                         : value == kFarAboveMean ? QStringLiteral("≥ 2×")
                                                  : QStringLiteral("%1×").arg(value));
        y += 18;
    }
}

void ExpertPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (m_layers.empty()) {
        painter.setFont(fontOf(TextRole::Body));
        painter.setPen(currentTheme().secondaryText);
        painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, m_nothing);
        return;
    }
    painter.setFont(fontOf(TextRole::Small));
    paintCells(painter);
    paintNames(painter);
    paintLegend(painter);
}

void ExpertPlot::mouseMoveEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->position());
    if (cell == m_hover) return;
    m_hover = cell;
    if (cell)
        QToolTip::showText(event->globalPosition().toPoint(), cellText(cell->first, cell->second), this);
    else
        QToolTip::hideText();
    update();
}

void ExpertPlot::leaveEvent(QEvent*)
{
    if (hasFocus()) return; // the keys go on from here
    m_hover.reset();
    update();
}

void ExpertPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_hover.reset();
    update();
}

void ExpertPlot::keyPressEvent(QKeyEvent* event)
{
    const auto next = cellByKey(event->key(), m_hover);
    if (!next) return QWidget::keyPressEvent(event);
    m_hover = next;
    const QPoint middle = boxOf(m_hover->first, m_hover->second).center().toPoint();
    QToolTip::showText(mapToGlobal(middle), cellText(m_hover->first, m_hover->second), this);
    tellCurrent(*this);
    update();
}

QRectF ExpertPlot::boxOf(int row, int column) const
{
    return {map().left() + column * cellWidth(), map().top() + row * cellHeight(), cellWidth(), cellHeight()};
}

int ExpertPlot::spokenColumns() const
{
    return m_columns;
}

int ExpertPlot::spokenRows() const
{
    return static_cast<int>(m_layers.size());
}

QString ExpertPlot::spokenCell(Cell cell) const
{
    return cellText(cell.first, cell.second);
}

QRect ExpertPlot::spokenCellPlace(Cell cell) const
{
    return boxOf(cell.first, cell.second).toRect();
}

std::optional<SpokenTable::Cell> ExpertPlot::spokenCurrentCell() const
{
    return m_hover;
}

QString ExpertPlot::spokenHeading(Qt::Orientation orientation, int section) const
{
    if (orientation == Qt::Horizontal) return tr("expert %1").arg(section);
    return tr("layer %1").arg(m_layers[static_cast<std::size_t>(section)].layer);
}

} // namespace fourwalls::views
