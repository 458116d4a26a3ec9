// SPDX-License-Identifier: GPL-3.0-or-later
// Draws who is where: a row for each rank, or for ranks that came equally far, with its last operations.
#pragma once

#include "model/present/hang_rows.h"
#include "views/plot/spoken.h"

#include <QAbstractScrollArea>

namespace fourwalls::views {

struct Theme;

/// Of an operation that a rank finished.
QColor finishedColour(const Theme& theme);

class HangMatrixPlot : public QAbstractScrollArea, public SpokenTable {
    Q_OBJECT
public:
    explicit HangMatrixPlot(QWidget* parent = nullptr);

    void setRows(HangRows rows);
    const HangRows& rows() const { return m_rows; }
    void setChosen(int rank);
    QSize minimumSizeHint() const override { return {320, 120}; }
    QSize sizeHint() const override { return {700, 380}; }

    int spokenColumns() const override;
    QString spokenHeading(Qt::Orientation orientation, int section) const override;

signals:
    void rankChosen(int rank);

protected:
    int spokenRows() const override;
    QString spokenCell(Cell cell) const override;
    QRect spokenCellPlace(Cell cell) const override;
    std::optional<Cell> spokenCurrentCell() const override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Layout {
        int label = 0; ///< width of the first column
        int cell = 0;
        int shown = 0; ///< columns that fit
    };
    Layout layoutOf(int width) const;
    std::optional<std::size_t> rowAt(QPoint place) const;
    std::optional<std::size_t> chosenRow() const;
    QString labelOf(const HangRow& row) const;
    QString tipOf(const HangRow& row) const;
    QString lagOf(const HangRow& row, std::size_t column) const; ///< empty: it is in no group of that kind
    static QString lossOf(const HangRow& row);                   ///< why nothing is known of it; empty: it is
    void fitScrollBar();

    HangRows m_rows;
    int m_labelWidth = 0; ///< of the widest label
    std::optional<int> m_chosen;
};

} // namespace fourwalls::views
