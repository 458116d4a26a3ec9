// SPDX-License-Identifier: GPL-3.0-or-later
// Every table of the trace: sort, filter, copy, export. Rows of slices, collectives, allocations, counters and events
// are those of the visible range. And a box for SQL of one's own.
#pragma once

#include "views/base/view.h"
#include "views/tables/query_table.h"
#include "views/tables/trace_table_model.h"

class QAction;
class QComboBox;
class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QPushButton;
class QStackedWidget;
class QTableView;
class QTimer;

namespace fourwalls::views {

class GainLine;
class PlotCard;
class QueryPanel;
class XyPlot;

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
    /// Shows the box for SQL and, unless it is empty, asks that.
    void showQuery(const QString& sql = {});
    bool showsQuery() const { return m_isQuery; }
    QueryPanel& queryPanel() { return *m_query; }
    QueryTableModel& queryModel() { return *m_answer; }
    /// The answer as a plot in the table's place.
    void showPlot(bool shown);
    XyPlot& plot() { return *m_plot; }
    TraceTableModel& model() { return *m_model; }
    QTableView& table() { return *m_table; }
    GainLine& gain() { return *m_gain; }
    QLineEdit& filter() { return *m_filter; }

protected:
    void traceChanged() override;
    void languageChanged() override;
    void themeChanged() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void ask();
    /// Those of the table that is shown, after its sums.
    void askPercentiles();
    void askQuery(const QString& sql);
    void stopQuery();
    void setQuery(bool shown);
    QString queryState() const;
    void retranslate();
    void describe();
    void markSlice(); ///< the row of what is selected in another view
    void askGain();   ///< of the selected row
    bool isGainPending() const;
    void widen();
    void widen(int column);
    void fillPlot();
    /// Shows on the timeline what a row of the answer speaks of; nothing for rows that name no time or slice.
    void jumpTo(std::size_t row);

    TableKind m_kind = TableKind::Operators;
    QLabel* m_nothing; ///< over the rows: why there are none
    TraceTableModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QueryTableModel* m_answer;
    PlotCard* m_card;
    GainLine* m_gain;
    QueryPanel* m_query;
    QComboBox* m_kinds;
    QLineEdit* m_filter;
    QTableView* m_table;
    XyPlot* m_plot;
    QPushButton* m_plotted;
    QStackedWidget* m_rows; ///< table or plot
    QTimer* m_settle;       ///< while the range moves, nothing is read
    QAction *m_next, *m_sql;
    bool m_waiting = false, m_failed = false;
    bool m_spreading = false;                 ///< percentiles are on their way
    bool m_isQuery = false, m_asking = false; ///< the box for SQL is shown; its answer is outstanding
    QString m_problem, m_queryProblem;
};

} // namespace fourwalls::views
