// SPDX-License-Identifier: GPL-3.0-or-later
// The catalogue of runs as a table, and the search in it.
#pragma once

#include "views/runs/run_curve_plots.h"

#include <QAbstractTableModel>
#include <QColor>
#include <QSortFilterProxyModel>

#include <memory>

namespace fourwalls::views {

class RunTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, Model, Rate, Batch, Steps, Loss, Time, Plan, Tags, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setRuns(std::shared_ptr<RunList> list, std::vector<QColor> colours);
    void setColours(std::vector<QColor> colours);
    void retranslate();
    /// Whether some run has something to say in that column.
    bool hasAny(int column) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    /// Tags, separated by commas.
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

signals:
    void tagsChanged(const QString& file, const QStringList& tags);

private:
    QString shown(const compare::RunCurves& run, int column) const;
    QVariant exact(const compare::RunCurves& run, int column) const;

    std::shared_ptr<RunList> m_list;
    std::vector<QColor> m_colours;
};

/// Rows with all words of a text in name, model, plan or tags.
class RunSearch : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void setRuns(std::shared_ptr<const RunList> list);
    void setText(const QString& text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    std::shared_ptr<const RunList> m_list;
    std::string m_text;
};

} // namespace fourwalls::views
