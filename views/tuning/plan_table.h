// SPDX-License-Identifier: GPL-3.0-or-later
// The best plans of a search as a table.
#pragma once

#include "model/present/plan_cloud.h"
#include "views/words/format.h"

#include <QAbstractTableModel>

#include <vector>

namespace fourwalls::views {

struct PlanRow {
    ParallelPlan plan;
    double seconds = 0, bytes = 0;
    double tokensPerSecond = 0; ///< 0: unknown
    bool feasible = true;
    std::optional<std::uint32_t> point; ///< in the cloud
    double joules = 0;                  ///< of a step, modelled; 0: unknown
};

class PlanTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Plan, Time, Memory, Throughput, Energy, ColumnCount };
    explicit PlanTableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    void setRows(std::vector<PlanRow> rows);
    void setByteUnit(ByteUnit unit);
    const PlanRow& row(int index) const { return m_rows[static_cast<std::size_t>(index)]; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<PlanRow> m_rows;
    ByteUnit m_unit = ByteUnit::GB;
};

} // namespace fourwalls::views
