// SPDX-License-Identifier: GPL-3.0-or-later
// See area_model.h.
#include "views/timeline/area_model.h"

#include "model/trace/short_name.h"
#include "views/plot/plot_table.h"
#include "views/timeline/bar_painter.h"
#include "views/timeline/timeline_geometry.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QPainter>

#include <algorithm>
#include <cmath>
#include <map>

namespace fourwalls::views {

namespace {

constexpr double kWholePercents = 0.0995; ///< from here on without a decimal
constexpr int kMostRows = 5000;           ///< that a person reads; the copy has no more either and says so

} // namespace

AreaTable areaTableOf(const RangeStatistics& statistics, std::span<const TrackView> tracks, RangeGrouping grouping)
{
    AreaTable table;
    table.grouping = grouping;
    table.rows = groupRange(statistics, tracks, grouping);
    const auto kindOf = [&](const RangeRow& row) {
        const auto op = statistics.ops.find(row.op);
        return op == statistics.ops.end() ? SliceKind::Operator : op->second->kind;
    };
    std::map<SliceKind, Duration> ofKind;
    for (const RangeRow& row : table.rows) ofKind[kindOf(row)] += row.self;
    if (table.rows.size() > kMostRows) table.rows.resize(kMostRows);
    for (const RangeRow& row : table.rows) {
        const Duration all = ofKind[kindOf(row)];
        table.shares.push_back(grouping != RangeGrouping::Name ? row.share
                               : all.ns == 0                   ? 0
                                             : static_cast<double>(row.self.ns) / static_cast<double>(all.ns));
    }
    std::vector<std::string> names;
    for (const RangeRow& row : table.rows) {
        names.push_back(row.text);
        table.tracks.push_back(tracks[static_cast<std::size_t>(row.track.value)].info);
        if (const auto op = statistics.ops.find(row.op); op != statistics.ops.end()) table.ops.insert(*op);
    }
    table.texts = grouping == RangeGrouping::Name ? fourwalls::shortNames(names) : std::move(names);
    return table;
}

void AreaModel::setTable(AreaTable table)
{
    beginResetModel();
    m_table = std::move(table);
    endResetModel();
}

void AreaModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, kColumns - 1);
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

int AreaModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_table.rows.size());
}

int AreaModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : kColumns;
}

QString AreaModel::nameOf(std::size_t row) const
{
    const auto op = m_table.ops.find(m_table.rows[row].op);
    const OpInfo* info = op == m_table.ops.end() ? nullptr : op->second.get();
    const TrackInfo& track = m_table.tracks[row];
    switch (m_table.grouping) {
    case RangeGrouping::Name: {
        // Steps and phases are words of the screen, all else keeps its name.
        const QString whole = QString::fromStdString(m_table.rows[row].text);
        const QString shown = info ? opName(*info) : whole;
        return shown != whole ? shown : QString::fromStdString(m_table.texts[row]);
    }
    case RangeGrouping::Kind: return info ? words(info->kind) : QString();
    case RangeGrouping::Phase: return info && info->phase != Phase::None ? words(info->phase) : tr("no phase");
    case RangeGrouping::Layer: return info && info->layer ? tr("layer %1").arg(info->layer->value) : tr("no layer");
    case RangeGrouping::Stream: return trackName(track);
    case RangeGrouping::Rank: return tr("rank %1").arg(track.rank.value);
    }
    return {};
}

QVariant AreaModel::exact(std::size_t row, int column) const
{
    const RangeRow& each = m_table.rows[row];
    const auto ns = [](Duration duration) { return QVariant(static_cast<qlonglong>(duration.ns)); };
    if (!each.hasSpread && column >= Shortest) return {};
    switch (column) {
    case Name: return nameOf(row);
    case Count: return static_cast<qlonglong>(each.count);
    case Total: return ns(each.total);
    case Share: return m_table.shares[row];
    case Self: return ns(each.self);
    case Shortest: return ns(each.spread.shortest);
    case Median: return ns(each.spread.median);
    case Percentile99: return ns(each.spread.percentile99);
    case Longest: return ns(each.spread.longest);
    default: return {};
    }
}

QString AreaModel::written(std::size_t row, int column) const
{
    const RangeRow& each = m_table.rows[row];
    const auto rough = [&](Duration duration) {
        return each.exact ? formatDuration(duration, 3) : QStringLiteral("\u2248 ") + formatDuration(duration, 2);
    };
    if (!each.hasSpread && column >= Shortest) return column == Spread ? QString() : QStringLiteral("\u2026");
    switch (column) {
    case Name: return nameOf(row);
    case Count: return formatCount(each.count);
    case Total: return formatDuration(each.total, 3);
    case Share: return formatPercent(m_table.shares[row], m_table.shares[row] < kWholePercents ? 1 : 0);
    case Self: return formatDuration(each.self, 3);
    case Shortest: return formatDuration(each.spread.shortest, 3);
    case Median: return rough(each.spread.median);
    case Percentile99: return rough(each.spread.percentile99);
    case Longest: return formatDuration(each.spread.longest, 3);
    default: return {};
    }
}

QVariant AreaModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) return {};
    const auto row = static_cast<std::size_t>(index.row());
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole: return written(row, column);
    case Qt::ToolTipRole: return column == Name ? QVariant(QString::fromStdString(m_table.rows[row].text)) : QVariant();
    case Qt::TextAlignmentRole:
        return column == Name ? QVariant() : QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
    case kExactRole: return exact(row, column);
    case kShareRole: return column == Share ? QVariant(m_table.shares[row]) : QVariant();
    case kBarsRole: {
        if (column != Spread || !m_table.rows[row].hasSpread) return {};
        QVariantList bars;
        for (const std::int64_t bar : m_table.rows[row].spread.bars) bars << static_cast<qlonglong>(bar);
        return bars;
    }
    case kColourRole: {
        if (column == Share) return currentTheme().otherCompute;
        const bool coloured = m_table.grouping == RangeGrouping::Name || m_table.grouping == RangeGrouping::Kind ||
                              m_table.grouping == RangeGrouping::Phase;
        const auto op = m_table.ops.find(m_table.rows[row].op);
        if (column != Name || !coloured || op == m_table.ops.end()) return {};
        const BarPalette palette = barPaletteOf(currentTheme());
        return QColor(palette.fill[static_cast<std::size_t>(colourKeyOf(*op->second))]);
    }
    default: return {};
    }
}

QVariant AreaModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            Qt::Alignment((section == Name || section == Share || section == Spread ? Qt::AlignLeft : Qt::AlignRight) |
                          Qt::AlignVCenter));
    if (role == Qt::ToolTipRole) {
        switch (section) {
        case Count: return tr("Slices that are seen in the range");
        case Total: return tr("Their time within the range, with what is nested in them");
        case Share:
            return m_table.grouping == RangeGrouping::Name
                       ? tr("Own time, as a share of what is of the same kind: steps, phases, operators, kernels …")
                       : tr("Own time, as a share of all own time that is selected");
        case Self: return tr("Own time: without what is nested in them");
        case Median: return tr("Half of the slices are not longer. Whole slices count, also those that the range cuts");
        case Percentile99: return tr("99 of 100 slices are not longer");
        case Spread: return tr("How many are how long, from the shortest to the longest on a logarithmic scale");
        default: return {};
        }
    }
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("name");
    case Count: return tr("count");
    case Total: return tr("total");
    case Share: return tr("share");
    case Self: return tr("self");
    case Shortest: return tr("min");
    case Median: return tr("p50");
    case Percentile99: return tr("p99");
    case Longest: return tr("max");
    case Spread: return tr("distribution");
    default: return {};
    }
}

QString AreaModel::tsv() const
{
    // Names of columns are those of the command line, in every language.
    QString text = QStringLiteral("%1\tcount\ttotal_ns\tshare\tself_ns\tmin_ns\tp50_ns\tp99_ns\tmax_ns\n")
                       .arg(QString::fromUtf8(fourwalls::name(m_table.grouping).data()));
    for (std::size_t row = 0; row < m_table.rows.size(); ++row) {
        QStringList cells;
        const bool whole = m_table.grouping == RangeGrouping::Name;
        cells << (whole ? QString::fromStdString(m_table.rows[row].text) : nameOf(row));
        cells.back().replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
        for (int column = Count; column <= Longest; ++column) {
            // Shares are of all that is selected, as on the command line.
            const QVariant value = column == Share ? QVariant(m_table.rows[row].share) : exact(row, column);
            cells << (column == Share ? QString::number(value.toDouble(), 'g', 6) : value.toString());
        }
        text += cells.join(QLatin1Char('\t')) + QLatin1Char('\n');
    }
    return text;
}

void BarsDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QStyledItemDelegate::paint(painter, option, index); // the selection behind
    const QVariantList bars = index.data(kBarsRole).toList();
    if (bars.isEmpty()) return;
    double most = 1;
    for (const QVariant& bar : bars) most = std::max(most, bar.toDouble());
    const QRect cell = option.rect.adjusted(4, 4, -8, -4);
    const double width = static_cast<double>(cell.width()) / static_cast<double>(bars.size());
    const Theme& theme = currentTheme();
    painter->save();
    painter->setPen(theme.line);
    painter->drawLine(cell.bottomLeft() + QPoint(0, 1), cell.bottomRight() + QPoint(0, 1));
    for (qsizetype i = 0; i < bars.size(); ++i) {
        const double value = bars[i].toDouble();
        if (value <= 0) continue;
        const int height = std::max(1, static_cast<int>(std::lround(value / most * cell.height())));
        const int left = cell.left() + static_cast<int>(static_cast<double>(i) * width),
                  right = cell.left() + static_cast<int>(static_cast<double>(i + 1) * width) - 1;
        painter->fillRect(QRect(left, cell.bottom() + 1 - height, std::max(1, right - left), height),
                          theme.secondaryText);
    }
    painter->restore();
}

} // namespace fourwalls::views
