// SPDX-License-Identifier: GPL-3.0-or-later
// A heat map of tokens: a row for each layer of a mixture, a column for each expert, coloured by the mean of the layer.
#pragma once

#include "model/trace/expert_load.h"
#include "views/plot/spoken.h"

#include <QWidget>

#include <optional>
#include <utility>
#include <vector>

namespace fourwalls::views {

/// The arrow keys go from cell to cell.
class ExpertPlot : public QWidget, public SpokenTable {
    Q_OBJECT
public:
    explicit ExpertPlot(QWidget* parent = nullptr);

    void setLayers(std::vector<ExpertLayer> layers);
    /// What stands there while there are no layers.
    void setNothing(const QString& why);
    /// "layer 3, expert 5: 1,234 tokens, 1.82 × the mean"; empty outside of the map.
    QString cellText(int row, int column) const;
    std::optional<std::pair<int, int>> cellAt(QPointF at) const; ///< (row, column)

    QSize sizeHint() const override { return {420, 260}; }
    QSize minimumSizeHint() const override { return {180, 90}; }

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
    QRectF map() const;
    double cellWidth() const { return map().width() / m_columns; }
    double cellHeight() const { return map().height() / static_cast<double>(m_layers.size()); }
    /// A cell's tokens by the mean of its layer.
    std::optional<double> valueOf(int row, int column) const;
    void paintCells(QPainter& painter) const;
    void paintNames(QPainter& painter) const;
    void paintLegend(QPainter& painter) const;

    std::vector<ExpertLayer> m_layers;
    std::vector<double> m_totals; ///< tokens, by layer
    int m_columns = 0;
    QString m_nothing;
    std::optional<std::pair<int, int>> m_hover;
};

} // namespace fourwalls::views
