// SPDX-License-Identifier: GPL-3.0-or-later
// Two traces side by side as tables: their figures, and the compute time of their layers.
#pragma once

#include "model/compare/trace_compare.h"
#include "model/compare/trace_contrast.h"
#include "views/words/format.h"

#include <QAbstractTableModel>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

namespace fourwalls::views {

using SharedComparison = std::shared_ptr<const compare::TraceComparison>;

/// What a figure is called on the screen.
QString figureName(const compare::ComparedFigure& figure);
/// "+12.3 %", "−4 %", "×14.3" from ten times as much on, a dash where unknown.
QString changeText(std::optional<double> percent);

/// The change of a figure from A to B: of shares in percentage points ("+16.6 pp"), of others as changeText.
QString changeText(const compare::ComparedFigure& figure);
/// How much worse B is [percent, of shares points]; negative where it is better, absent where unknown.
std::optional<double> worseBy(const compare::ComparedFigure& figure);
/// What the two traces differ in, each with both of its values; empty: in nothing that they say of themselves.
QString contrastText(const compare::TraceContrast& contrast, const TraceInfo& a, const TraceInfo& b);

/// Changes below it are not coloured and not called worse [percent, or points].
constexpr double kLeastChange = 1;

/// One row per figure: name, A, B, difference, change.
class CompareFigureModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Name, A, B, Difference, Change, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setComparison(SharedComparison comparison);
    /// Whether better and worse are coloured: not where the traces are of different things.
    void setJudged(bool judged);
    void setByteUnit(ByteUnit unit);
    void retranslate();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    SharedComparison m_comparison;
    std::vector<const compare::ComparedFigure*> m_rows; ///< those that at least one trace has
    ByteUnit m_unit = ByteUnit::GB;
    bool m_judged = true;
};

/// One row per layer and phase, what changed most first.
class CompareLayerModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Layer, PhaseName, A, B, Difference, Change, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;

    void setComparison(SharedComparison comparison);
    void retranslate();
    /// "layer 3, forward: 1.2 ms → 1.9 ms (+58 %)" of the first row; empty without rows.
    QString sentence() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    QString text(const compare::ComparedLayer& row, int column) const;

    SharedComparison m_comparison;
    std::vector<compare::ComparedLayer> m_rows;
};

} // namespace fourwalls::views
