// SPDX-License-Identifier: GPL-3.0-or-later
// Every table of the trace: sort, filter, copy, export. Rows of slices, collectives, allocations, counters and events
// are those of the visible range.
#pragma once

#include "views/tables/trace_table_model.h"
#include "views/view.h"

class QAction;
class QComboBox;
class QLineEdit;
class QSortFilterProxyModel;
class QTableView;
class QTimer;

namespace fourwalls::views {

class PlotCard;

class TablesView : public View {
    Q_OBJECT
public:
    explicit TablesView(QWidget* parent = nullptr);

    QString id() const override { return QStringLiteral("tables"); }
    QString title() const override { return tr("Tables"); }
    bool showsFinalData() const override;
    QString emptyReason() const override;
    QString tableAsCsv() const override;

    TableKind kind() const { return m_kind; }
    void showTable(TableKind kind);
    TraceTableModel& model() { return *m_model; }
    QTableView& table() { return *m_table; }
    QLineEdit& filter() { return *m_filter; }

protected:
    void traceChanged() override;
    void languageChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void ask();
    void retranslate();
    void describe();
    void widen();

    TableKind m_kind = TableKind::Operators;
    TraceTableModel* m_model;
    QSortFilterProxyModel* m_sorted;
    PlotCard* m_card;
    QComboBox* m_kinds;
    QLineEdit* m_filter;
    QTableView* m_table;
    QTimer* m_settle;  ///< while the range moves, nothing is read
    QAction* m_next;
    bool m_waiting = false, m_failed = false;
    QString m_problem;
};

} // namespace fourwalls::views
