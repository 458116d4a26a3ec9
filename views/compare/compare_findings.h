// SPDX-License-Identifier: GPL-3.0-or-later
// Which findings of A are gone in B, which are new, and which both have, with what each would gain, as a table.
#pragma once

#include "model/diagnose/finding_changes.h"

#include <QAbstractTableModel>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

/// What is wrong with either trace.
struct BothDiagnoses {
    diagnose::Diagnosis a, b;
};
using SharedDiagnoses = std::shared_ptr<const BothDiagnoses>;

/// One row per finding: those that are gone, then new ones, then those of both; of each the most gain first.
class CompareFindingModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Change, Name, A, B, Difference, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setDiagnoses(SharedDiagnoses diagnoses);
    void retranslate();
    /// "gone: 1 · new: 2 · still there: 3"; empty without rows.
    QString sentence() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Row {
        const diagnose::Finding *a, *b; ///< at least one is not null
    };
    void add(const std::vector<diagnose::FindingChange>& changes);
    /// Of the gains, B's less A's. What one trace does not have costs nothing there; absent where a gain is not estimated.
    static std::optional<double> difference(const Row& row);
    QString text(const Row& row, int column) const;
    QVariant exact(const Row& row, int column) const;

    SharedDiagnoses m_diagnoses;
    std::vector<Row> m_rows;
};

} // namespace fourwalls::views
