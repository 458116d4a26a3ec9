// SPDX-License-Identifier: GPL-3.0-or-later
// See run_table.h.
#include "views/runs/run_table.h"

#include "views/plot/plot_table.h"
#include "views/words/format.h"

#include <algorithm>

namespace fourwalls::views {

namespace {

QStringList listOf(const std::vector<std::string>& tags)
{
    QStringList list;
    for (const std::string& tag : tags) list << QString::fromStdString(tag);
    return list;
}

} // namespace

void RunTable::setRuns(std::shared_ptr<RunList> list, std::vector<QColor> colours)
{
    beginResetModel();
    m_list = std::move(list);
    m_colours = std::move(colours);
    endResetModel();
}

void RunTable::setColours(std::vector<QColor> colours)
{
    m_colours = std::move(colours);
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

void RunTable::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

bool RunTable::hasAny(int column) const
{
    if (column == Tags || column == Name) return true;
    if (!m_list) return false;
    return std::any_of(m_list->runs.begin(), m_list->runs.end(),
                       [&](const ListedRun& run) { return shown(run.curves, column) != QString(kDash); });
}

int RunTable::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_list ? 0 : static_cast<int>(m_list->runs.size());
}

int RunTable::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant RunTable::exact(const compare::RunCurves& run, int column) const
{
    const auto number = [](const std::optional<double>& value) { return value ? QVariant(*value) : QVariant(); };
    switch (column) {
    case Rate: return number(run.learningRate);
    case Batch: return run.batch ? QVariant(static_cast<qlonglong>(*run.batch)) : QVariant();
    case Steps: return static_cast<qulonglong>(run.points.size());
    case Loss: return number(run.finalLoss());
    case Time: return run.seconds();
    default: return shown(run, column);
    }
}

QString RunTable::shown(const compare::RunCurves& run, int column) const
{
    const auto text = [](const std::string& value) {
        return value.empty() ? QString(kDash) : QString::fromStdString(value);
    };
    switch (column) {
    case Name: return text(run.name);
    case Model: return text(run.model);
    case Rate: return run.learningRate ? QString::number(*run.learningRate, 'g', 3) : QString(kDash);
    case Batch: return run.batch ? QString::number(*run.batch) : QString(kDash);
    case Steps: return formatCount(static_cast<qint64>(run.points.size()));
    case Loss: return run.finalLoss() ? QString::number(*run.finalLoss(), 'f', 4) : QString(kDash);
    case Time: return run.seconds() > 0 ? formatDuration(Duration::fromSeconds(run.seconds()), 3) : QString(kDash);
    case Plan: return text(run.plan);
    case Tags: return listOf(run.tags).join(QStringLiteral(", "));
    default: return {};
    }
}

QVariant RunTable::data(const QModelIndex& index, int role) const
{
    if (!m_list || !index.isValid()) return {};
    const auto row = static_cast<std::size_t>(index.row());
    const compare::RunCurves& run = m_list->runs[row].curves;
    switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole: return shown(run, index.column());
    case kExactRole: return exact(run, index.column());
    case Qt::DecorationRole: return index.column() == Name ? QVariant(m_colours[row]) : QVariant();
    case Qt::ToolTipRole:
        if (index.column() == Name) return QString::fromStdString(m_list->runs[row].file);
        if (index.column() == Tags) return tr("Double click: tags, separated by commas");
        return shown(run, index.column());
    case Qt::TextAlignmentRole: {
        const bool isNumber = index.column() >= Rate && index.column() <= Time;
        return static_cast<int>((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    default: return {};
    }
}

QVariant RunTable::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>((section >= Rate && section <= Time ? Qt::AlignRight : Qt::AlignLeft) |
                                Qt::AlignVCenter);
    if (role == Qt::ToolTipRole && section == Loss) return tr("Mean of the last tenth of the steps");
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("run");
    case Model: return tr("model");
    case Rate: return tr("learning rate");
    case Batch: return tr("batch");
    case Steps: return tr("steps");
    case Loss: return tr("final loss");
    case Time: return tr("time");
    case Plan: return tr("plan");
    case Tags: return tr("tags");
    default: return {};
    }
}

Qt::ItemFlags RunTable::flags(const QModelIndex& index) const
{
    Qt::ItemFlags flags = QAbstractTableModel::flags(index);
    if (index.column() == Tags) flags |= Qt::ItemIsEditable;
    return flags;
}

bool RunTable::setData(const QModelIndex& index, const QVariant& value, int role)
{
    if (!m_list || role != Qt::EditRole || index.column() != Tags) return false;
    ListedRun& run = m_list->runs[static_cast<std::size_t>(index.row())];
    QStringList tags;
    for (const QString& each : value.toString().split(QLatin1Char(',')))
        if (const QString tag = each.trimmed(); !tag.isEmpty() && !tags.contains(tag)) tags << tag;
    if (tags == listOf(run.curves.tags)) return false;
    run.curves.tags.clear();
    for (const QString& tag : tags) run.curves.tags.push_back(tag.toStdString());
    emit dataChanged(index, index);
    emit tagsChanged(QString::fromStdString(run.file), tags);
    return true;
}

void RunSearch::setRuns(std::shared_ptr<const RunList> list)
{
    m_list = std::move(list);
    invalidateFilter();
}

void RunSearch::setText(const QString& text)
{
    m_text = text.toStdString();
    invalidateFilter();
}

bool RunSearch::filterAcceptsRow(int row, const QModelIndex&) const
{
    if (!m_list || static_cast<std::size_t>(row) >= m_list->runs.size()) return false;
    return m_list->runs[static_cast<std::size_t>(row)].curves.matches(m_text);
}

} // namespace fourwalls::views
