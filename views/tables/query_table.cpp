// SPDX-License-Identifier: GPL-3.0-or-later
// See query_table.h.
#include "views/tables/query_table.h"

#include "views/plot/plot_table.h"
#include "views/words/format.h"

namespace fourwalls::views {

namespace {

/// Control characters and overlong texts would break the rows.
QString oneLine(const std::string& text)
{
    constexpr qsizetype kLongest = 300;
    QString line = QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())).simplified();
    if (line.size() > kLongest) line = line.left(kLongest) + QStringLiteral("…");
    return line;
}

} // namespace

void QueryTableModel::setRows(std::shared_ptr<const UserRows> rows)
{
    beginResetModel();
    m_rows = std::move(rows);
    endResetModel();
}

int QueryTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_rows ? 0 : static_cast<int>(m_rows->rows.size());
}

int QueryTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_rows ? 0 : static_cast<int>(m_rows->columns.size());
}

QVariant QueryTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || !m_rows) return {};
    const UserValue& value =
        m_rows->rows[static_cast<std::size_t>(index.row())][static_cast<std::size_t>(index.column())];
    const auto* number = std::get_if<std::int64_t>(&value);
    const auto* real = std::get_if<double>(&value);
    const auto* text = std::get_if<std::string>(&value);
    const auto* blob = std::get_if<UserBlob>(&value);
    switch (role) {
    case Qt::TextAlignmentRole: return int((number || real ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case kExactRole:
        if (number) return QVariant::fromValue<qlonglong>(*number);
        if (real) return *real;
        if (text) return QString::fromStdString(*text);
        break;
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
        if (number) return QString::number(*number);
        if (real) return QString::number(*real, 'g', 10);
        if (text) return oneLine(*text);
        break;
    default: return {};
    }
    if (blob) return tr("(packed, %1)").arg(formatBytes(static_cast<double>(blob->bytes), ByteUnit::GB));
    return role == Qt::DisplayRole ? QVariant(QString(kDash)) : QVariant();
}

QVariant QueryTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || !m_rows || section < 0 || section >= columnCount()) return {};
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
    return QString::fromStdString(m_rows->columns[static_cast<std::size_t>(section)]).simplified();
}

} // namespace fourwalls::views
