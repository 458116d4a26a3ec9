// SPDX-License-Identifier: GPL-3.0-or-later
// The statistics of a dragged area, docked below the timeline: totals, a table by name, kind, phase, layer, stream or
// rank, and what can be done with a row.
#pragma once

#include "views/session/trace_session.h"
#include "views/timeline/area_model.h"

#include <QPointer>
#include <QWidget>

class QButtonGroup;
class QLabel;
class QStackedWidget;
class QSortFilterProxyModel;
class QTableView;
class QToolButton;

namespace fourwalls::views {

class ElidedText;
class CallTreePanel;
class ColumnFit;

/// A range of time on some tracks.
struct TimelineArea {
    TimeRange range;
    std::vector<TrackId> tracks;
    friend bool operator==(const TimelineArea&, const TimelineArea&) = default;
};

class AreaPanel : public QWidget {
    Q_OBJECT
public:
    explicit AreaPanel(QWidget* parent = nullptr);

    void setSession(TraceSession* session);
    /// Asks for the area's statistics; shows what is known while the rest is read. Absent: forgets all.
    void setArea(const std::optional<TimelineArea>& area);
    const std::optional<TimelineArea>& area() const { return m_area; }
    void setGrouping(RangeGrouping grouping);
    RangeGrouping grouping() const { return m_grouping; }
    /// The pages behind the groupings.
    enum class Page { Table, CallTree, FlameGraph };
    void setPage(Page page);
    CallTreePanel& callTree() { return *m_tree; }
    /// The answer is there and complete.
    bool isComplete() const;
    const RangeStatistics* statistics() const { return m_statistics.get(); }
    const AreaModel& model() const { return *m_model; }
    QTableView& table() { return *m_table; }
    /// Of all rows, for the clipboard.
    QString tsv() const;
    /// Marks the row of that name once it is there.
    void markName(const QString& name);

    QSize sizeHint() const override { return {640, 230}; }

signals:
    /// Find what has this name (whole, as in the trace).
    void findAsked(const QString& name);
    /// The statistics of all that has this name, over the whole trace.
    void likeThisAsked(const QString& name);
    void closeAsked();
    /// Another answer: more is known.
    void changed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void buildTable();
    void ask();
    void regroup();
    void show(AreaTable table);
    void describe();
    void retranslate();
    void openMenu(const QPoint& at);
    QString nameAt(const QModelIndex& index) const;

    QPointer<TraceSession> m_session;
    std::optional<TimelineArea> m_area;
    RangeGrouping m_grouping = RangeGrouping::Name;
    std::shared_ptr<const RangeStatistics> m_statistics; ///< complete ones
    /// Sums of what is known, also while reading.
    struct Totals {
        std::int64_t count = 0;
        Duration busy;
        std::size_t tracks = 0, asked = 0;
    } m_totals;
    int m_generation = 0; ///< of the area: what an older one still sends is dropped
    bool m_regrouping = false;
    Page m_page = Page::Table;
    QString m_problem, m_marked;

    AreaModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QLabel* m_title;
    ElidedText* m_summary;
    QButtonGroup* m_groupings; ///< by RangeGrouping, then the pages CallTree and FlameGraph
    QStackedWidget* m_pages;
    CallTreePanel* m_tree;
    QToolButton* m_copy;
    QToolButton* m_close;
    QTableView* m_table;
    ColumnFit* m_fit;
};

} // namespace fourwalls::views
