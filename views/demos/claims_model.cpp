// SPDX-License-Identifier: GPL-3.0-or-later
// See claims_model.h.
#include "views/demos/claims_model.h"

#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QCoreApplication>

#include <utility>

namespace fourwalls::views {

namespace {

struct ClaimUnits {
    Q_DECLARE_TR_FUNCTIONS(ClaimUnits)
};

/// Units that are words.
QString unitName(const std::string& unit)
{
    const std::pair<const char*, QString> names[] = {
        {"billion", ClaimUnits::tr("billion")},       {"devices", ClaimUnits::tr("devices")},
        {"samples", ClaimUnits::tr("samples")},       {"days", ClaimUnits::tr("days")},
        {"months", ClaimUnits::tr("months")},         {"hours", ClaimUnits::tr("hours")},
        {"switches", ClaimUnits::tr("switches")},     {"ports", ClaimUnits::tr("ports")},
        {"groups", ClaimUnits::tr("groups")},         {"buffers", ClaimUnits::tr("buffers")},
        {"parameters", ClaimUnits::tr("parameters")}, {"states", ClaimUnits::tr("states")},
        {"GPU-hours", ClaimUnits::tr("GPU-hours")}};
    for (const auto& [name, text] : names)
        if (unit == name) return text;
    return QString::fromStdString(unit);
}

/// How many of the unit that a language has for "billion" are a billion: Chinese counts in hundred millions.
double perBillion()
{
    bool isNumber = false;
    const double count =
        ClaimUnits::tr("1", "how many of what \"billion\" is translated with are 1,000,000,000").toDouble(&isNumber);
    return isNumber && count > 0 ? count : 1;
}

QString withUnit(double value, const std::string& unit)
{
    if (unit == "billion") value *= perBillion();
    const QString number = std::abs(value) >= 10'000 ? formatCount(static_cast<qint64>(value)) : formatFigure(value);
    return number + kThinSpace + unitName(unit);
}

QColor verdictColour(claims::Verdict verdict)
{
    const Theme& theme = currentTheme();
    switch (verdict) {
    case claims::Verdict::Reproduced: return theme.ok;
    case claims::Verdict::Differs: return theme.error;
    case claims::Verdict::CannotBeChecked: return theme.secondaryText;
    }
    return {};
}

} // namespace

void ClaimsModel::setClaims(std::vector<claims::Claim> claims, QHash<QString, double> recorded)
{
    beginResetModel();
    m_claims = std::move(claims);
    m_recorded = std::move(recorded);
    endResetModel();
}

void ClaimsModel::setWords(ClaimWords words)
{
    m_words = std::move(words);
    retranslate();
}

void ClaimsModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if (!m_claims.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int ClaimsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_claims.size());
}

int ClaimsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString ClaimsModel::words(claims::Wall wall)
{
    switch (wall) {
    case claims::Wall::Memory: return tr("memory");
    case claims::Wall::Communication: return tr("communication");
    case claims::Wall::Performance: return tr("performance");
    case claims::Wall::Tuning: return tr("tuning");
    }
    return {};
}

QString ClaimsModel::words(claims::Verdict verdict)
{
    switch (verdict) {
    case claims::Verdict::Reproduced: return tr("reproduced");
    case claims::Verdict::Differs: return tr("differs");
    case claims::Verdict::CannotBeChecked: return tr("cannot be checked");
    }
    return {};
}

QString ClaimsModel::text(const claims::Claim& claim, int column) const
{
    const QString id = QString::fromStdString(claim.id);
    switch (column) {
    case Wall: return words(claim.wall);
    case Statement: return m_words.statement(claim);
    case Claimed: return withUnit(claim.claimed, claim.unit);
    case Computed: return claim.computed ? withUnit(*claim.computed, claim.unit) : QString(kDash);
    case Recorded: return m_recorded.contains(id) ? withUnit(m_recorded.value(id), claim.unit) : QString(kDash);
    case Verdict: return words(claim.verdict);
    default: return {};
    }
}

QVariant ClaimsModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const claims::Claim& row = claim(index.row());
    const QString id = QString::fromStdString(row.id);
    switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::ToolTipRole: return index.column() == Statement ? m_words.statement(row) : m_words.because(row);
    case Qt::TextAlignmentRole:
        return int(index.column() >= Claimed && index.column() <= Recorded ? Qt::AlignRight | Qt::AlignVCenter
                                                                           : Qt::AlignLeft | Qt::AlignVCenter);
    case kColourRole: return index.column() == Verdict ? QVariant(verdictColour(row.verdict)) : QVariant();
    case kExactRole:
        if (index.column() == Claimed) return row.claimed;
        if (index.column() == Computed) return row.computed ? QVariant(*row.computed) : QVariant();
        if (index.column() == Recorded) return m_recorded.contains(id) ? QVariant(m_recorded.value(id)) : QVariant();
        return text(row, index.column());
    default: return {};
    }
}

QVariant ClaimsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section >= Claimed && section <= Recorded ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Wall: return tr("wall");
    case Statement: return tr("what was published");
    case Claimed: return tr("claimed");
    case Computed: return tr("computed");
    case Recorded: return tr("recorded");
    case Verdict: return tr("verdict");
    default: return {};
    }
}

} // namespace fourwalls::views
