// SPDX-License-Identifier: GPL-3.0-or-later
// The two cards under the memory plot: what is alive at one instant, and the buffers of the shown range.
#pragma once

#include "views/memory/memory_allocation_model.h"
#include "views/memory/memory_group_model.h"
#include "views/plot/plot_card.h"

#include <memory>
#include <optional>

class QButtonGroup;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace fourwalls::views {

class ColumnFit;

/// What was alive at the peak (or at a clicked instant), grouped, with shares.
class MemoryAlivePanel : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryAlivePanel(QWidget* parent = nullptr);

    /// title: "Alive at the peak". Null: not known yet. isPeak: nothing to go back to.
    void setAlive(std::shared_ptr<const AllocationList> alive, const QString& title, bool isPeak);
    void setByteUnit(ByteUnit unit);
    MemoryGrouping grouping() const { return m_by; }
    void setGrouping(MemoryGrouping by);
    QString tableAsCsv() const;
    bool tableHasFocus() const;
    void retranslate();

signals:
    void backToPeak();
    void showOnTimeline();

private:
    void regroup();

    std::shared_ptr<const AllocationList> m_alive;
    MemoryGrouping m_by = MemoryGrouping::Category;
    ByteUnit m_unit = ByteUnit::GB;
    MemoryGroupModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTableView* m_table;
    ColumnFit* m_columns = nullptr;
    QButtonGroup* m_groupings;
    QPushButton *m_back, *m_timeline;
};

/// The buffers as a table, sortable and filtered by text.
class MemoryBufferPanel : public PlotCard {
    Q_OBJECT
public:
    explicit MemoryBufferPanel(QWidget* parent = nullptr);

    void setList(std::shared_ptr<const AllocationList> list, Instant origin);
    bool isEmpty() const { return m_list == nullptr; }
    void setByteUnit(ByteUnit unit);
    /// Scrolls to a buffer and selects its row; nothing if the filter hides it.
    void select(AllocationId id);
    QString tableAsCsv() const;
    void retranslate();

signals:
    void bufferSelected(fourwalls::AllocationId id);
    /// Asks to see a buffer's whole life.
    void bufferActivated(fourwalls::AllocationId id);

private:
    void describe();

    std::shared_ptr<const AllocationList> m_list;
    ByteUnit m_unit = ByteUnit::GB;
    MemoryAllocationModel* m_model;
    QSortFilterProxyModel* m_sorted;
    QTableView* m_table;
    ColumnFit* m_columns = nullptr;
    QLineEdit* m_filter;
};

} // namespace fourwalls::views
