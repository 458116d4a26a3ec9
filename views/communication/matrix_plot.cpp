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
    std::vector<int> columns = names;
    setTable(std::move(names), std::move(columns), std::move(values));
    m_every = every;
    m_isSquare = true;
}

void MatrixPlot::setTable(std::vector<int> ranks, std::vector<int> columns, std::vector<double> values)
{
    m_rowNames = std::move(ranks);
    m_columnNames = std::move(columns);
    m_values = std::move(values);
    m_values.resize(m_rowNames.size() * m_columnNames.size(), 0.0);
    m_every = 0;
    m_isSquare = false;
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

QRectF MatrixPlot::area() const
{
    const double wide = width() - kMatrixLeft - kLegend, high = height() - kMatrixTop - 6.0;
    const double side = std::min(wide, high);
    return {kMatrixLeft, kMatrixTop, std::max(20.0, m_isSquare ? side : wide),
            std::max(20.0, m_isSquare ? side : high)};
}

QSizeF MatrixPlot::cellSize() const
{
    const QRectF box = area();
    return {box.width() / static_cast<double>(std::max<std::size_t>(1, m_columnNames.size())),
            box.height() / static_cast<double>(std::max<std::size_t>(1, m_rowNames.size()))};
}

std::pair<int, int> MatrixPlot::cellAt(QPointF at) const
{
    const QRectF box = area();
    if (m_values.empty() || !box.contains(at)) return {-1, -1};
    const QSizeF cell = cellSize();
    return {std::clamp(static_cast<int>((at.y() - box.top()) / cell.height()), 0, spokenRows() - 1),
            std::clamp(static_cast<int>((at.x() - box.left()) / cell.width()), 0, spokenColumns() - 1)};
}

double MatrixPlot::valueAt(int row, int column) const
{
    if (row < 0 || column < 0 || row >= spokenRows() || column >= spokenColumns()) return 0;
    return m_values[static_cast<std::size_t>(row) * m_columnNames.size() + static_cast<std::size_t>(column)];
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
    if (row < 0 || column < 0 || row >= spokenRows() || column >= spokenColumns()) return {};
    const double value = valueAt(row, column);
    if (m_cellText) return m_cellText(row, column, value);
    const QString what = value > 0 ? (m_text ? m_text(value) : QString::number(value)) : tr("nothing");
    return tr("rank %1 → rank %2: %3")
        .arg(m_rowNames[static_cast<std::size_t>(row)])
        .arg(m_columnNames[static_cast<std::size_t>(column)])
        .arg(what);
}

void MatrixPlot::paintFine(QPainter& painter, const QRectF& box) const
{
    // Cells of about a pixel and less: each pixel shows the largest of those that it covers.
    const double ratio = imageRatio(painter, *this);
    const int wide = std::max(1, static_cast<int>(std::floor(box.width() * ratio))),
              high = std::max(1, static_cast<int>(std::floor(box.height() * ratio)));
    const std::size_t rows = m_rowNames.size(), columns = m_columnNames.size();
    std::vector<double> most(static_cast<std::size_t>(wide) * static_cast<std::size_t>(high), 0.0);
    const auto pixels = [](std::size_t i, std::size_t count, int side) {
        const int first = static_cast<int>(i * static_cast<std::size_t>(side) / count);
        const int last = static_cast<int>((i + 1) * static_cast<std::size_t>(side) / count);
        return std::pair(first, std::max(first + 1, std::min(last, side)));
    };
    const auto at = [&](int x, int y) -> double& {
        return most[static_cast<std::size_t>(y) * static_cast<std::size_t>(wide) + static_cast<std::size_t>(x)];
    };
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns; ++column) {
            const double value = m_values[row * columns + column];
            if (value <= 0) continue;
            const auto [top, bottom] = pixels(row, rows, high);
            const auto [left, right] = pixels(column, columns, wide);
            for (int y = top; y < bottom; ++y)
                for (int x = left; x < right; ++x) at(x, y) = std::max(at(x, y), value);
        }
    QImage image(wide, high, QImage::Format_RGB32);
    image.fill(currentTheme().window);
    for (int y = 0; y < high; ++y)
        for (int x = 0; x < wide; ++x)
            if (at(x, y) > 0) image.setPixel(x, y, colourOf(at(x, y)).rgb());
    image.setDevicePixelRatio(ratio);
    painter.drawImage(box.topLeft(), image);
}

void MatrixPlot::paintCells(QPainter& painter, const QRectF& box) const
{
    constexpr double kMatrixGapFrom = 6;
    const Theme& t = currentTheme();
    const QSizeF cell = cellSize();
    const QFontMetricsF metrics(painter.font());
    const auto gapOf = [](double side) { return side > kMatrixGapFrom ? 1.0 : 0.0; };
    for (int row = 0; row < spokenRows(); ++row)
        for (int column = 0; column < spokenColumns(); ++column) {
            const double value = valueAt(row, column);
            const QRectF where(box.left() + column * cell.width(), box.top() + row * cell.height(),
                               cell.width() - gapOf(cell.width()), cell.height() - gapOf(cell.height()));
            if (m_isSquare && row == column) {
                painter.fillRect(where, t.raised);
                continue;
            }
            if (value <= 0) {
                if (cell.width() > kMatrixGapFrom) painter.fillRect(where, t.window);
                continue;
            }
            const QColor fill = colourOf(value);
            painter.fillRect(where, fill);
            const QString text = m_text ? m_text(value) : QString();
            if (cell.width() >= kTextCell && cell.height() >= metrics.height() &&
                metrics.horizontalAdvance(text) < cell.width() - 6) {
                painter.setPen(textOn(fill));
                painter.drawText(where, Qt::AlignCenter, text);
            }
        }
    painter.setPen(QPen(cell.width() >= kMatrixGapFrom ? t.secondaryText : t.line, 1));
    const bool separates =
        m_every > 0 && m_every * cell.width() >= kLeastNode; // else the lines would hide what they divide
    for (int i = m_every; separates && i < spokenRows(); i += m_every) {
        const double at = std::round(i * cell.width()) - 0.5;
        painter.drawLine(QPointF(box.left() + at, box.top()), QPointF(box.left() + at, box.bottom()));
        painter.drawLine(QPointF(box.left(), box.top() + at), QPointF(box.right(), box.top() + at));
    }
}

void MatrixPlot::paintEvent(QPaintEvent*)
{
    const Theme& t = currentTheme();
    QPainter painter(this);
    painter.setFont(fontOf(TextRole::Small));
    if (m_values.empty()) {
        painter.setPen(t.secondaryText);
        painter.setFont(fontOf(TextRole::Body));
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, m_nothing);
        return;
    }
    const QRectF box = area();
    const QSizeF cell = cellSize();
    if (std::min(cell.width(), cell.height()) < kFineCell)
        paintFine(painter, box);
    else
        paintCells(painter, box);
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
    const QSizeF cell = cellSize();
    const QFontMetricsF metrics(painter.font());
    const auto stepOf = [](double wanted, double size) {
        return std::max(1, static_cast<int>(std::ceil(std::max(16.0, wanted) / size)));
    };
    painter.setPen(currentTheme().secondaryText);
    const double widest = metrics.horizontalAdvance(QString::number(m_columnNames.back())) + 6;
    for (int i = 0, step = stepOf(widest, cell.width()); i < spokenColumns(); i += step)
        painter.drawText(QRectF(box.left() + i * cell.width(), box.top() - 16, std::max(cell.width(), 26.0), 14),
                         cell.width() >= 18 ? Qt::AlignCenter : Qt::AlignLeft | Qt::AlignVCenter,
                         QString::number(m_columnNames[static_cast<std::size_t>(i)]));
    for (int i = 0, step = stepOf(m_isSquare ? widest : 0, cell.height()); i < spokenRows(); i += step)
        painter.drawText(QRectF(box.left() - 30, box.top() + i * cell.height(), 25, std::max(cell.height(), 12.0)),
                         Qt::AlignRight | (cell.height() >= 14 ? Qt::AlignVCenter : Qt::AlignTop),
                         QString::number(m_rowNames[static_cast<std::size_t>(i)]));
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
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && m_hover.first >= 0)
        return void(emit cellChosen(m_hover.first, m_hover.second));
    const auto next = cellByKey(event->key(), spokenCurrentCell());
    if (!next) return QWidget::keyPressEvent(event);
    m_hover = *next;
    const QPoint middle = boxOf(m_hover.first, m_hover.second).center().toPoint();
    QToolTip::showText(mapToGlobal(middle), cellText(m_hover.first, m_hover.second), this);
    tellCurrent(*this);
    update();
}

void MatrixPlot::mousePressEvent(QMouseEvent* event)
{
    const auto cell = cellAt(event->position());
    if (event->button() == Qt::LeftButton && cell.first >= 0) emit cellChosen(cell.first, cell.second);
    QWidget::mousePressEvent(event);
}

QRectF MatrixPlot::boxOf(int row, int column) const
{
    const QRectF box = area();
    const QSizeF cell = cellSize();
    return {box.topLeft() + QPointF(column * cell.width(), row * cell.height()), cell};
}

int MatrixPlot::spokenColumns() const
{
    return static_cast<int>(m_columnNames.size());
}

int MatrixPlot::spokenRows() const
{
    return static_cast<int>(m_rowNames.size());
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

QString MatrixPlot::spokenHeading(Qt::Orientation orientation, int section) const
{
    const auto at = static_cast<std::size_t>(section);
    if (orientation == Qt::Vertical || m_isSquare) return tr("rank %1").arg(m_rowNames[at]);
    return tr("operation %1").arg(m_columnNames[at]);
}

} // namespace fourwalls::views
