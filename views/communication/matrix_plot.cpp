// SPDX-License-Identifier: GPL-3.0-or-later
// See matrix_plot.h.
#include "views/communication/matrix_plot.h"

#include "views/plot/paper.h"
#include "views/plot/theme.h"

#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kMatrixLeft = 46, kMatrixTop = 34, kLegend = 74;
constexpr double kTextCell = 40;  ///< cells at least this wide say their value
constexpr double kFineCell = 1.5; ///< narrower ones are drawn as pixels
constexpr double kLeastNode = 8;  ///< between the lines that part nodes [pixels]
} // namespace

MatrixPlot::MatrixPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void MatrixPlot::setMatrix(std::vector<int> names, std::vector<double> values, int every)
{
    m_names = std::move(names);
    m_values = std::move(values);
    m_values.resize(m_names.size() * m_names.size(), 0.0);
    m_every = every;
    m_largest = m_values.empty() ? 0 : *std::max_element(m_values.begin(), m_values.end());
    m_hover = {-1, -1};
    update();
}

void MatrixPlot::setAxisNames(const QString& rows, const QString& columns)
{
    m_rows = rows;
    m_columns = columns;
    update();
}

void MatrixPlot::setNothing(const QString& why)
{
    m_nothing = why;
    update();
}

QRectF MatrixPlot::square() const
{
    const double side = std::max(20.0, std::min(width() - kMatrixLeft - kLegend, height() - kMatrixTop - 6.0));
    return {kMatrixLeft, kMatrixTop, side, side};
}

std::pair<int, int> MatrixPlot::cellAt(QPointF at) const
{
    const QRectF box = square();
    if (m_names.empty() || !box.contains(at)) return {-1, -1};
    const double cell = box.width() / static_cast<double>(m_names.size());
    const int last = static_cast<int>(m_names.size()) - 1;
    return {std::clamp(static_cast<int>((at.y() - box.top()) / cell), 0, last),
            std::clamp(static_cast<int>((at.x() - box.left()) / cell), 0, last)};
}

QColor MatrixPlot::colourOf(double value) const
{
    const Theme& t = currentTheme();
    if (value <= 0 || m_largest <= 0) return t.card;
    // The root spreads the small ones, so that a pipeline's messages are seen beside a tensor group's.
    const double share = 0.12 + 0.88 * std::pow(value / m_largest, 0.4);
    const auto mix = [share](int from, int to) { return static_cast<int>(from + (to - from) * share); };
    return {mix(t.card.red(), t.communication.red()), mix(t.card.green(), t.communication.green()),
            mix(t.card.blue(), t.communication.blue())};
}

QString MatrixPlot::cellText(int row, int column) const
{
    const auto n = m_names.size();
    if (row < 0 || column < 0 || static_cast<std::size_t>(std::max(row, column)) >= n) return {};
    const double value = m_values[static_cast<std::size_t>(row) * n + static_cast<std::size_t>(column)];
    const QString what = value > 0 ? (m_text ? m_text(value) : QString::number(value)) : tr("nothing");
    return tr("rank %1 → rank %2: %3")
        .arg(m_names[static_cast<std::size_t>(row)])
        .arg(m_names[static_cast<std::size_t>(column)])
        .arg(what);
}

void MatrixPlot::paintFine(QPainter& painter, const QRectF& box) const
{
    // Cells of about a pixel and less: each pixel shows the largest of those that it covers.
    const double ratio = imageRatio(painter, *this);
    const int side = std::max(1, static_cast<int>(std::floor(box.width() * ratio)));
    const std::size_t n = m_names.size();
    std::vector<double> most(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 0.0);
    const auto pixels = [&](std::size_t i) {
        const int first = static_cast<int>(i * static_cast<std::size_t>(side) / n);
        const int last = static_cast<int>((i + 1) * static_cast<std::size_t>(side) / n);
        return std::pair(first, std::max(first + 1, std::min(last, side)));
    };
    for (std::size_t row = 0; row < n; ++row)
        for (std::size_t column = 0; column < n; ++column) {
            const double value = m_values[row * n + column];
            if (value <= 0) continue;
            const auto [top, bottom] = pixels(row);
            const auto [left, right] = pixels(column);
            for (int y = top; y < bottom; ++y)
                for (int x = left; x < right; ++x) {
                    double& here = most[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) +
                                        static_cast<std::size_t>(x)];
                    here = std::max(here, value);
                }
        }
    QImage image(side, side, QImage::Format_RGB32);
    image.fill(currentTheme().window);
    for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
            const double value =
                most[static_cast<std::size_t>(y) * static_cast<std::size_t>(side) + static_cast<std::size_t>(x)];
            if (value > 0) image.setPixel(x, y, colourOf(value).rgb());
        }
    image.setDevicePixelRatio(ratio);
    painter.drawImage(box.topLeft(), image);
}

void MatrixPlot::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    if (m_names.empty()) {
        painter.setPen(t.secondaryText);
        painter.setFont(fontOf(TextRole::Body));
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, m_nothing);
        return;
    }
    const QRectF box = square();
    const auto n = static_cast<int>(m_names.size());
    const double cell = box.width() / n;
    const QFontMetricsF metrics(painter.font());
    const bool isFine = cell < kFineCell;
    if (isFine) paintFine(painter, box);
    for (int row = 0; row < n && !isFine; ++row)
        for (int column = 0; column < n; ++column) {
            const double value =
                m_values[static_cast<std::size_t>(row) * m_names.size() + static_cast<std::size_t>(column)];
            const double gap = cell > 6 ? 1 : 0;
            const QRectF where(box.left() + column * cell, box.top() + row * cell, cell - gap, cell - gap);
            if (row == column) {
                painter.fillRect(where, t.raised);
                continue;
            }
            if (value <= 0) {
                if (cell > 6) painter.fillRect(where, t.window);
                continue;
            }
            const QColor fill = colourOf(value);
            painter.fillRect(where, fill);
            const QString text = m_text ? m_text(value) : QString();
            if (cell >= kTextCell && metrics.horizontalAdvance(text) < cell - 6) {
                painter.setPen(textOn(fill));
                painter.drawText(where, Qt::AlignCenter, text);
            }
        }
    painter.setPen(QPen(cell >= 6 ? t.secondaryText : t.line, 1));
    const bool separates = m_every > 0 && m_every * cell >= kLeastNode; // else the lines would hide what they divide
    for (int i = m_every; separates && i < n; i += m_every) {
        const double at = std::round(i * cell) - 0.5;
        painter.drawLine(QPointF(box.left() + at, box.top()), QPointF(box.left() + at, box.bottom()));
        painter.drawLine(QPointF(box.left(), box.top() + at), QPointF(box.right(), box.top() + at));
    }
    if (m_hover.first >= 0) {
        painter.setPen(QPen(t.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(boxOf(m_hover.first, m_hover.second).adjusted(0, 0, -1, -1));
    }
    paintNames(painter, box);
    paintLegend(painter, box);
}

/// Numbers of ranks, as many as have room, and what rows and columns are.
void MatrixPlot::paintNames(QPainter& painter, const QRectF& box) const
{
    const auto n = static_cast<int>(m_names.size());
    const double cell = box.width() / n;
    const QFontMetricsF metrics(painter.font());
    const int step =
        std::max(1, static_cast<int>(std::ceil(
                        std::max(16.0, metrics.horizontalAdvance(QString::number(m_names.back())) + 6) / cell)));
    painter.setPen(currentTheme().secondaryText);
    for (int i = 0; i < n; i += step) {
        const QString name = QString::number(m_names[static_cast<std::size_t>(i)]);
        painter.drawText(QRectF(box.left() + i * cell, box.top() - 16, std::max(cell, 26.0), 14),
                         cell >= 18 ? Qt::AlignCenter : Qt::AlignLeft | Qt::AlignVCenter, name);
        painter.drawText(QRectF(box.left() - 30, box.top() + i * cell, 25, std::max(cell, 12.0)),
                         Qt::AlignRight | (cell >= 14 ? Qt::AlignVCenter : Qt::AlignTop), name);
    }
    painter.drawText(QRectF(box.left(), 0, box.width() + kLegend, 16), Qt::AlignLeft | Qt::AlignVCenter, m_columns);
    painter.save();
    painter.translate(2, box.bottom());
    painter.rotate(-90);
    painter.drawText(QRectF(0, 0, box.height(), 14), Qt::AlignLeft | Qt::AlignVCenter, m_rows);
    painter.restore();
}

/// What the colours mean: the largest and steps below it.
void MatrixPlot::paintLegend(QPainter& painter, const QRectF& box) const
{
    if (m_largest <= 0) return;
    double y = box.top();
    for (const double share : {1.0, 0.3, 0.1, 0.03, 0.01}) {
        if (y + 18 > box.bottom()) break;
        painter.fillRect(QRectF(box.right() + 12, y + 2, 12, 12), colourOf(m_largest * share));
        painter.setPen(currentTheme().secondaryText);
        painter.drawText(QRectF(box.right() + 29, y, 60, 16), Qt::AlignLeft | Qt::AlignVCenter,
                         m_text ? m_text(m_largest * share) : QString());
        y += 18;
    }
}

void MatrixPlot::mouseMoveEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->position());
    if (cell == m_hover) return;
    m_hover = cell;
    if (cell.first >= 0)
        QToolTip::showText(event->globalPosition().toPoint(), cellText(cell.first, cell.second), this);
    else
        QToolTip::hideText();
    update();
}

void MatrixPlot::leaveEvent(QEvent*)
{
    if (hasFocus()) return; // the keys go on from here
    m_hover = {-1, -1};
    update();
}

void MatrixPlot::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_hover = {-1, -1};
    update();
}

void MatrixPlot::keyPressEvent(QKeyEvent* event)
{
    const auto next = cellByKey(event->key(), spokenCurrentCell());
    if (!next) return QWidget::keyPressEvent(event);
    m_hover = *next;
    const QPoint middle = boxOf(m_hover.first, m_hover.second).center().toPoint();
    QToolTip::showText(mapToGlobal(middle), cellText(m_hover.first, m_hover.second), this);
    tellCurrent(*this);
    update();
}

QRectF MatrixPlot::boxOf(int row, int column) const
{
    const QRectF box = square();
    const double cell = box.width() / static_cast<double>(m_names.size());
    return {box.left() + column * cell, box.top() + row * cell, cell, cell};
}

int MatrixPlot::spokenColumns() const
{
    return static_cast<int>(m_names.size());
}

int MatrixPlot::spokenRows() const
{
    return static_cast<int>(m_names.size());
}

QString MatrixPlot::spokenCell(Cell cell) const
{
    return cellText(cell.first, cell.second);
}

QRect MatrixPlot::spokenCellPlace(Cell cell) const
{
    return boxOf(cell.first, cell.second).toRect();
}

std::optional<SpokenTable::Cell> MatrixPlot::spokenCurrentCell() const
{
    return m_hover.first < 0 ? std::nullopt : std::optional(m_hover);
}

QString MatrixPlot::spokenHeading(Qt::Orientation, int section) const
{
    return tr("rank %1").arg(m_names[static_cast<std::size_t>(section)]);
}

} // namespace fourwalls::views
