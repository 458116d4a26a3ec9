// SPDX-License-Identifier: GPL-3.0-or-later
// What the tables beside plots have in common: exact values behind the shown text, CSV, a bar for shares.
#pragma once

#include <QColor>
#include <QStyledItemDelegate>
#include <QTableView>

namespace fourwalls::views {

/// The exact value behind a cell (a number where there is one, invalid where it is unknown): what sorting compares
/// and CSV prints.
inline constexpr int kExactRole = Qt::UserRole + 1;
/// A share 0..1 that ShareDelegate draws as a bar behind the text.
inline constexpr int kShareRole = Qt::UserRole + 2;
/// The colour of that bar, or of the square in front of a name.
inline constexpr int kColourRole = Qt::UserRole + 3;

/// The model's rows as CSV (RFC 4180, with the header row): exact values, empty where unknown.
QString csvOf(const QAbstractItemModel& model);

/// Draws kShareRole as a bar and kColourRole without a share as a small square before the text.
class ShareDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

/// Rows without grid, whole rows selected, sortable, Ctrl+C copies the selected rows as CSV.
void prepareTable(QTableView& table);

} // namespace fourwalls::views
