// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_findings.h.
#include "views/compare/compare_findings.h"

#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/finding_words.h"
#include "views/words/format.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

using diagnose::Diagnosis;
using diagnose::Finding;

const Finding* ofKey(const diagnose::FindingKey& key, const Diagnosis& of)
{
    const auto found = std::find_if(of.findings.begin(), of.findings.end(),
                                    [&](const Finding& each) { return findingKey(each, of) == key; });
    return found == of.findings.end() ? nullptr : &*found;
}

/// As a share of the step; absent: not of time, or not estimated.
std::optional<double> gainShare(const Finding* finding)
{
    return finding && finding->gain ? std::optional(finding->gain->share) : std::nullopt;
}

} // namespace

void CompareFindingModel::add(const std::vector<diagnose::FindingChange>& changes)
{
    for (const diagnose::FindingChange& each : changes)
        m_rows.push_back({each.before > 0 ? ofKey(each.key, m_diagnoses->a) : nullptr,
                          each.after > 0 ? ofKey(each.key, m_diagnoses->b) : nullptr});
}

void CompareFindingModel::setDiagnoses(SharedDiagnoses diagnoses)
{
    beginResetModel();
    m_diagnoses = std::move(diagnoses);
    m_rows.clear();
    if (m_diagnoses) {
        const diagnose::FindingChanges changes = diagnose::changesOf({&m_diagnoses->a, 1}, {&m_diagnoses->b, 1});
        add(changes.gone);
        add(changes.added);
        add(changes.kept);
    }
    endResetModel();
}

void CompareFindingModel::retranslate()
{
    beginResetModel();
    endResetModel();
}

QString CompareFindingModel::sentence() const
{
    if (m_rows.empty()) return {};
    const auto gone = std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return !row.b; });
    const auto added = std::count_if(m_rows.begin(), m_rows.end(), [](const Row& row) { return !row.a; });
    return tr("gone: %1 \u00b7 new: %2 \u00b7 still there: %3")
        .arg(formatCount(gone), formatCount(added), formatCount(static_cast<qint64>(m_rows.size()) - gone - added));
}

int CompareFindingModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int CompareFindingModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

std::optional<double> CompareFindingModel::difference(const Row& row)
{
    const std::optional<double> a = gainShare(row.a), b = gainShare(row.b);
    if ((row.a && !a) || (row.b && !b)) return std::nullopt;
    return b.value_or(0) - a.value_or(0);
}

QString CompareFindingModel::text(const Row& row, int column) const
{
    const std::optional<double> a = gainShare(row.a), b = gainShare(row.b);
    switch (column) {
    case Change: return !row.b ? tr("gone") : !row.a ? tr("new") : tr("still there");
    case Name: return findingTitle(row.b ? *row.b : *row.a);
    case A: return a ? formatPercent(*a) : QString(kDash);
    case B: return b ? formatPercent(*b) : QString(kDash);
    case Difference: return difference(row) ? signedPercent(*difference(row), 1) : QString(kDash);
    default: return {};
    }
}

QVariant CompareFindingModel::exact(const Row& row, int column) const
{
    const std::optional<double> a = gainShare(row.a), b = gainShare(row.b);
    switch (column) {
    case Change: return !row.b ? 0 : !row.a ? 1 : 2;
    case A: return a ? QVariant(*a) : QVariant();
    case B: return b ? QVariant(*b) : QVariant();
    case Difference: return difference(row) ? QVariant(*difference(row)) : QVariant();
    default: return text(row, column);
    }
}

QVariant CompareFindingModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Row& row = m_rows[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::TextAlignmentRole:
        return int((index.column() <= Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ToolTipRole: {
        QStringList lines{text(row, Name)};
        if (row.a) lines << tr("A: %1").arg(findingFigures(*row.a));
        if (row.b) lines << tr("B: %1").arg(findingFigures(*row.b));
        return lines.join(QLatin1Char('\n'));
    }
    case Qt::ForegroundRole: {
        if (index.column() == Change && row.a && row.b) return {};
        if (index.column() == Change) return row.a ? currentTheme().ok : currentTheme().error;
        const double more = difference(row).value_or(0);
        constexpr double kShown = 0.0005; // what is not "0 %"
        if (index.column() != Difference || std::abs(more) < kShown) return {};
        return more > 0 ? currentTheme().error : currentTheme().ok;
    }
    case kExactRole: return exact(row, index.column());
    default: return {};
    }
}

QVariant CompareFindingModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section <= Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Change: return tr("from A to B");
    case Name: return tr("finding");
    case A: return tr("gain A");
    case B: return tr("gain B");
    case Difference: return tr("B \u2212 A");
    default: return {};
    }
}

} // namespace fourwalls::views
