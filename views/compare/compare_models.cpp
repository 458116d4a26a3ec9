// SPDX-License-Identifier: GPL-3.0-or-later
// See compare_models.h.
#include "views/compare/compare_models.h"

#include "views/chrome/header_bar.h"
#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/figure_words.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

struct CompareFigures {
    Q_DECLARE_TR_FUNCTIONS(CompareFigures)
};

std::int64_t nsOf(const std::optional<Duration>& time)
{
    return time ? time->ns : 0;
}

std::int64_t addedNs(const compare::ComparedLayer& row)
{
    return nsOf(row.b) - nsOf(row.a);
}

std::optional<double> percentOf(const compare::ComparedLayer& row)
{
    if (!row.a || !row.b || row.a->ns == 0) return std::nullopt;
    return 100.0 * static_cast<double>(row.b->ns - row.a->ns) / static_cast<double>(row.a->ns);
}

QString durationText(const std::optional<Duration>& time)
{
    return time ? formatDuration(*time) : QString(kDash);
}

bool isShare(const compare::ComparedFigure& figure)
{
    return figure.info->unit == FigureUnit::Share || figure.info->unit == FigureUnit::OfPeak;
}

QString signedDuration(std::int64_t ns)
{
    const QString sign = ns < 0 ? QString(QChar(0x2212)) : ns > 0 ? QStringLiteral("+") : QString();
    return sign + formatDuration(Duration{std::abs(ns)});
}

} // namespace

QString figureName(const compare::ComparedFigure& figure)
{
    return figure.part ? CompareFigures::tr("of the step: %1").arg(briefWords(*figure.part)) : words(*figure.info);
}

QString changeText(std::optional<double> percent)
{
    if (!percent || !std::isfinite(*percent)) return kDash;
    constexpr double kTimes = 900; // what grew tenfold is told as a factor
    if (*percent >= kTimes) return QChar(0x00d7) + formatCount(std::llround(1 + *percent / 100));
    const double magnitude = std::fabs(*percent);
    const QString sign = magnitude < 0.05 ? QString() : *percent < 0 ? QString(QChar(0x2212)) : QStringLiteral("+");
    return sign + formatPercent(magnitude / 100, magnitude < 99.5 ? 1 : 0);
}

QString changeText(const compare::ComparedFigure& figure)
{
    if (!isShare(figure)) return changeText(figure.percent());
    const auto difference = figure.difference();
    if (!difference || !std::isfinite(*difference)) return kDash;
    const double points = std::round(1000 * *difference) / 10;
    const QString sign = points == 0 ? QString() : points < 0 ? QString(QChar(0x2212)) : QStringLiteral("+");
    return CompareFigures::tr("%1 pp", "percentage points").arg(sign + QString::number(std::fabs(points)));
}

std::optional<double> worseBy(const compare::ComparedFigure& figure)
{
    if (!isShare(figure)) return figure.worsePercent();
    const auto difference = figure.difference();
    if (!difference || figure.info->better == Better::Neither) return std::nullopt;
    return 100 * (figure.info->better == Better::Less ? *difference : -*difference);
}

QString contrastText(const compare::TraceContrast& contrast, const TraceInfo& a, const TraceInfo& b)
{
    const QString arrow = QStringLiteral(" \u2192 ");
    const auto name = [](const TraceInfo& trace) { return QString::fromStdString(trace.header.spec->model.name); };
    const auto batch = [](const TraceInfo& trace) { return formatCount(trace.header.spec->training.batch); };
    const auto devices = [](const TraceInfo& trace) {
        const QString text = deviceWords(trace);
        return text.isEmpty() ? QString(kDash) : text; // a kind that the file only numbers
    };
    QStringList parts;
    if (contrast.network) parts << CompareFigures::tr("network: %1").arg(name(a) + arrow + name(b));
    if (contrast.batch) parts << CompareFigures::tr("batch: %1").arg(batch(a) + arrow + batch(b));
    if (contrast.plan) parts << CompareFigures::tr("plan: %1").arg(planWords(a) + arrow + planWords(b));
    if (contrast.devices) parts << CompareFigures::tr("devices: %1").arg(devices(a) + arrow + devices(b));
    if (contrast.clock)
        parts << CompareFigures::tr("clock: %1").arg(words(a.header.clock) + arrow + words(b.header.clock));
    return parts.join(QStringLiteral("; "));
}

void CompareFigureModel::setJudged(bool judged)
{
    if (judged == m_judged) return;
    m_judged = judged;
    if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1), {Qt::ForegroundRole});
}

void CompareFigureModel::setComparison(SharedComparison comparison)
{
    beginResetModel();
    m_comparison = std::move(comparison);
    m_rows.clear();
    if (m_comparison)
        for (const compare::ComparedFigure& figure : m_comparison->figures)
            if (figure.a || figure.b) m_rows.push_back(&figure);
    endResetModel();
}

void CompareFigureModel::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    retranslate();
}

void CompareFigureModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int CompareFigureModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int CompareFigureModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant CompareFigureModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const compare::ComparedFigure& row = *m_rows[static_cast<std::size_t>(index.row())];
    const auto exact = [](std::optional<double> value) { return value ? QVariant(*value) : QVariant(); };
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case Name: return figureName(row);
        case A: return figureText(*row.info, row.a, m_unit);
        case B: return figureText(*row.info, row.b, m_unit);
        case Difference: return isShare(row) ? changeText(row) : figureText(*row.info, row.difference(), m_unit);
        case Change: return changeText(row);
        default: return {};
        }
    case Qt::TextAlignmentRole:
        return int(index.column() == Name ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
    case Qt::ForegroundRole: {
        const auto worse = worseBy(row);
        if (!m_judged || index.column() != Change || !worse || std::fabs(*worse) < kLeastChange) return {};
        return *worse > 0 ? currentTheme().error : currentTheme().ok;
    }
    case Qt::ToolTipRole: return meaningOf(*row.info);
    case kExactRole:
        switch (index.column()) {
        case Name: return QString::fromStdString(row.name());
        case A: return exact(row.a);
        case B: return exact(row.b);
        case Difference: return exact(row.difference());
        case Change: return exact(row.percent());
        default: return {};
        }
    default: return {};
    }
}

QVariant CompareFigureModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section == Name ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Name: return tr("figure");
    case A: return tr("A");
    case B: return tr("B");
    case Difference: return tr("B − A");
    case Change: return tr("change");
    default: return {};
    }
}

void CompareLayerModel::setComparison(SharedComparison comparison)
{
    beginResetModel();
    m_comparison = std::move(comparison);
    m_rows.clear();
    if (m_comparison) m_rows = m_comparison->layers;
    std::stable_sort(m_rows.begin(), m_rows.end(),
                     [](const auto& a, const auto& b) { return std::abs(addedNs(a)) > std::abs(addedNs(b)); });
    endResetModel();
}

void CompareLayerModel::retranslate()
{
    emit headerDataChanged(Qt::Horizontal, 0, ColumnCount - 1);
    if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

QString CompareLayerModel::sentence() const
{
    if (m_rows.empty()) return {};
    const compare::ComparedLayer& row = m_rows.front();
    const QString layer = row.layer ? tr("layer %1").arg(row.layer->value) : tr("outside of layers");
    return tr("most: %1, %2: %3 → %4 (%5)")
        .arg(layer, words(row.phase), durationText(row.a), durationText(row.b), changeText(percentOf(row)));
}

int CompareLayerModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}
int CompareLayerModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString CompareLayerModel::text(const compare::ComparedLayer& row, int column) const
{
    switch (column) {
    case Layer: return row.layer ? QString::number(row.layer->value) : QString(kDash);
    case PhaseName: return words(row.phase);
    case A: return durationText(row.a);
    case B: return durationText(row.b);
    case Difference: return signedDuration(addedNs(row));
    case Change: return changeText(percentOf(row));
    default: return {};
    }
}

QVariant CompareLayerModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const compare::ComparedLayer& row = m_rows[static_cast<std::size_t>(index.row())];
    const auto milliseconds = [](const std::optional<Duration>& time) {
        return time ? QVariant(time->milliseconds()) : QVariant();
    };
    switch (role) {
    case Qt::DisplayRole: return text(row, index.column());
    case Qt::TextAlignmentRole:
        return int(index.column() == PhaseName ? Qt::AlignLeft | Qt::AlignVCenter : Qt::AlignRight | Qt::AlignVCenter);
    case kColourRole: return index.column() == PhaseName ? QVariant(colourOf(currentTheme(), row.phase)) : QVariant();
    case kExactRole:
        switch (index.column()) {
        case Layer: return row.layer ? QVariant(row.layer->value) : QVariant();
        case PhaseName: return words(row.phase);
        case A: return milliseconds(row.a);
        case B: return milliseconds(row.b);
        case Difference: return static_cast<double>(addedNs(row)) * 1e-6;
        case Change: {
            const auto percent = percentOf(row);
            return percent ? QVariant(*percent) : QVariant();
        }
        default: return {};
        }
    default: return {};
    }
}

QVariant CompareLayerModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole) // as the column's cells
        return int((section == PhaseName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
    case Layer: return tr("layer");
    case PhaseName: return tr("phase");
    case A: return tr("A");
    case B: return tr("B");
    case Difference: return tr("B − A");
    case Change: return tr("change");
    default: return {};
    }
}

} // namespace fourwalls::views
