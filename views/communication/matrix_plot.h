// SPDX-License-Identifier: GPL-3.0-or-later
// A matrix of ranks, darker for more: who sends how much to whom, or how late each rank came to each operation.
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
    /// names: of ranks, the rows, and numbers of what is in the columns. The cells take all the room there is.
    void setTable(std::vector<int> ranks, std::vector<int> columns, std::vector<double> values);
    /// What stands there instead while the matrix is empty.
    void setNothing(const QString& why);
    void setText(std::function<QString(double)> text) { m_text = std::move(text); }
    /// What a cell's tool tip says, in the place of "rank 1 → rank 2: 3 MB".
    void setCellText(std::function<QString(int row, int column, double value)> text) { m_cellText = std::move(text); }
    void setAxisNames(const QString& rows, const QString& columns);
    /// Texts shown for a cell; for tests and tool tips.
    QString cellText(int row, int column) const;
    std::pair<int, int> cellAt(QPointF at) const; ///< (row, column); -1: outside

    double valueAt(int row, int column) const;

    QSize sizeHint() const override { return {300, 240}; }
    QSize minimumSizeHint() const override { return {150, 110}; }

    int spokenColumns() const override;
    QString spokenHeading(Qt::Orientation orientation, int section) const override;

signals:
    void cellChosen(int row, int column);

protected:
    int spokenRows() const override;
    QString spokenCell(Cell cell) const override;
    QRect spokenCellPlace(Cell cell) const override;
    std::optional<Cell> spokenCurrentCell() const override;
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QRectF boxOf(int row, int column) const;
    QRectF area() const;
    QSizeF cellSize() const;
    void paintCells(QPainter& painter, const QRectF& box) const;
    void paintFine(QPainter& painter, const QRectF& box) const; ///< cells smaller than pixels
    void paintNames(QPainter& painter, const QRectF& box) const;
    void paintLegend(QPainter& painter, const QRectF& box) const;
    QColor colourOf(double value) const;

    std::vector<int> m_rowNames, m_columnNames;
    bool m_isSquare = true; ///< rows and columns are the same ranks
    std::vector<double> m_values;
    int m_every = 0;
    double m_largest = 0;
    QString m_rows, m_columns, m_nothing;
    std::function<QString(double)> m_text;
    std::function<QString(int, int, double)> m_cellText;
    std::pair<int, int> m_hover{-1, -1};
};

} // namespace fourwalls::views
