// SPDX-License-Identifier: GPL-3.0-or-later
// A matrix of ranks as squares: who sends how much to whom, darker for more.
#pragma once

#include "views/plot/spoken.h"
#include "views/words/format.h"

#include <QColor>
#include <QWidget>

#include <functional>
#include <vector>

namespace fourwalls::views {

/// The arrow keys go from cell to cell.
class MatrixPlot : public QWidget, public SpokenTable {
    Q_OBJECT
public:
    explicit MatrixPlot(QWidget* parent = nullptr);

    /// names: of rows (senders) and columns (receivers). values: row after row, 0 is empty. every: a stronger line
    /// after so many (nodes); 0: none.
    void setMatrix(std::vector<int> names, std::vector<double> values, int every);
    /// What stands there instead while the matrix is empty.
    void setNothing(const QString& why);
    void setText(std::function<QString(double)> text) { m_text = std::move(text); }
    void setAxisNames(const QString& rows, const QString& columns);
    /// Texts shown for a cell; for tests and tool tips.
    QString cellText(int row, int column) const;
    std::pair<int, int> cellAt(QPointF at) const; ///< (row, column); -1: outside

    QSize sizeHint() const override { return {300, 240}; }
    QSize minimumSizeHint() const override { return {150, 110}; }

    int spokenColumns() const override;
    QString spokenHeading(Qt::Orientation orientation, int section) const override;

protected:
    int spokenRows() const override;
    QString spokenCell(Cell cell) const override;
    QRect spokenCellPlace(Cell cell) const override;
    std::optional<Cell> spokenCurrentCell() const override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QRectF boxOf(int row, int column) const;
    QRectF square() const;
    void paintFine(QPainter& painter, const QRectF& box) const; ///< cells smaller than pixels
    void paintNames(QPainter& painter, const QRectF& box) const;
    void paintLegend(QPainter& painter, const QRectF& box) const;
    QColor colourOf(double value) const;

    std::vector<int> m_names;
    std::vector<double> m_values;
    int m_every = 0;
    double m_largest = 0;
    QString m_rows, m_columns, m_nothing;
    std::function<QString(double)> m_text;
    std::pair<int, int> m_hover{-1, -1};
};

} // namespace fourwalls::views
