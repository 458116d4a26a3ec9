// SPDX-License-Identifier: GPL-3.0-or-later
// The table of steps, and the bar that shows where a step's time went.
#pragma once

#include "model/present/steps_table.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QStyledItemDelegate>

#include <memory>

namespace fourwalls::views {

/// "compute", "exposed communication", …
QString words(StepPart part);
/// The colour of a part; invalid for bubble and idle, which are hatched.
QColor colourOf(StepPart part);

/// A figure that may be very small: 4 digits, below a thousandth as "3×10⁻⁵".
QString smallFigure(double value);

class StepsModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        Step,
        Time,
        Loss,
        LearningRate,
        GradientNorm,
        Throughput, ///< tokens per second, of samples where there are no tokens
        Where,
        Compute,
        Communication,
        Copy,
        Bubble,
        Idle,
        ColumnCount
    };
    using QAbstractTableModel::QAbstractTableModel;

    /// Null empties the table.
    void setTable(std::shared_ptr<const StepTable> table);
    const StepRow& row(int index) const { return m_table->rows[static_cast<std::size_t>(index)]; }
    int rowOf(StepIndex step) const; ///< -1 if it is not there

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QVariant exact(const StepRow& row, int column) const;
    QString shown(const StepRow& row, int column) const;
    QString partsText(const StepRow& row) const;

    std::shared_ptr<const StepTable> m_table;
    bool m_inTokens = true; ///< see StepTable::hasTokens
};

/// Draws the column Where: the parts of a step side by side.
class StepPartsDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// The shares of a row as a list of doubles, under this role of the column Where.
inline constexpr int kPartsRole = Qt::UserRole + 10;

} // namespace fourwalls::views
