// SPDX-License-Identifier: GPL-3.0-or-later
// See steps_model.h.
#include "views/steps/steps_model.h"

#include "views/plot/plot_table.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QCoreApplication>
#include <QPainter>

#include <cmath>

namespace fourwalls::views {

namespace {

/// Three decimals in the usual range, so that a column's points stand under one another.
QString columnFigure(double value)
{
    const double size = std::abs(value);
    return size >= 1e-2 && size < 1e4 ? QString::number(value, 'f', 3) : formatFigure(value);
}

} // namespace

QString smallFigure(double value)
{
    const double size = std::abs(value);
    if (size == 0 || size >= 1e-3 || !std::isfinite(value)) return formatFigure(value);
    // "2.98e-04" apart: three digits without superfluous zeros, and the power as people write it.
    const QStringList parts = QString::number(value, 'e', 2).split(QLatin1Char('e'));
    QString text = QString::number(parts[0].toDouble(), 'g', 3) + QStringLiteral("×10⁻");
    static const QString kDigits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    for (const QChar digit : QString::number(-parts[1].toInt())) text += kDigits[digit.digitValue()];
    return text;
}

QString words(StepPart part)
{
    switch (part) {
    case StepPart::Compute: return QCoreApplication::translate("StepPart", "compute");
    case StepPart::Communication: return QCoreApplication::translate("StepPart", "exposed communication");
    case StepPart::Copy: return QCoreApplication::translate("StepPart", "exposed copies");
    case StepPart::Bubble: return QCoreApplication::translate("StepPart", "bubble");
    case StepPart::Idle: return QCoreApplication::translate("StepPart", "idle");
    }
    return {};
}

QColor colourOf(StepPart part)
{
    switch (part) {
    case StepPart::Compute: return currentTheme().otherCompute;
    case StepPart::Communication: return currentTheme().communication;
    case StepPart::Copy: return currentTheme().copy;
    case StepPart::Bubble:
    case StepPart::Idle: return {};
    }
    return {};
}

void StepsModel::setTable(std::shared_ptr<const StepTable> table)
{
    beginResetModel();
    m_table = std::move(table);
    m_inTokens = !m_table || m_table->hasTokens();
    endResetModel();
}

int StepsModel::rowOf(StepIndex step) const
{
    for (int i = 0; i < rowCount(); ++i) {
        if (row(i).step == step) return i;
    }
    return -1;
}

int StepsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_table ? 0 : static_cast<int>(m_table->rows.size());
}

int StepsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QVariant StepsModel::exact(const StepRow& row, int column) const
{
    const auto known = [](const std::optional<double>& value) { return value ? QVariant(*value) : QVariant(); };
    switch (column) {
    case Step: return row.step.value;
    case Time: return static_cast<qlonglong>(row.range.length().ns);
    case Loss: return known(row.loss);
    case LearningRate: return known(row.learningRate);
    case GradientNorm: return known(row.gradientNorm);
    case Throughput: return known(m_inTokens ? row.tokensPerSecond() : row.samplesPerSecond());
    case Where: return row.parts ? QVariant((*row.parts)[0]) : QVariant();
    default: break;
    }
    if (column < Compute || column > Idle || !row.parts) return {};
    return (*row.parts)[static_cast<std::size_t>(column - Compute)];
}

QString StepsModel::partsText(const StepRow& row) const
{
    QStringList parts;
    for (int i = 0; row.parts && i < kStepPartCount; ++i) {
        const double share = (*row.parts)[static_cast<std::size_t>(i)];
        if (share > 0) parts << words(static_cast<StepPart>(i)) + QLatin1Char(' ') + formatPercent(share);
    }
    return parts.join(QStringLiteral(", "));
}

QString StepsModel::shown(const StepRow& row, int column) const
{
    const QVariant value = exact(row, column);
    if (column == Where) return {};
    if (!value.isValid()) return QString(kDash);
    switch (column) {
    case Step: return QString::number(row.step.value) + stepStateNote(row.state);
    case Time: return formatDuration(row.range.length());
    case Throughput: return formatRate(value.toDouble(), QString());
    case Loss:
    case GradientNorm: return columnFigure(value.toDouble());
    case LearningRate: return smallFigure(value.toDouble());
    default: return formatPercent(value.toDouble());
    }
}

QVariant StepsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || !m_table) return {};
    const StepRow& step = row(index.row());
    switch (role) {
    case Qt::DisplayRole: return shown(step, index.column());
    case kExactRole: return exact(step, index.column());
    case Qt::ToolTipRole: return index.column() == Where ? QVariant(partsText(step)) : QVariant();
    case Qt::AccessibleTextRole: return index.column() == Where ? partsText(step) : shown(step, index.column());
    case Qt::ForegroundRole:
        return step.state != StepState::Measured ? QVariant(currentTheme().secondaryText) : QVariant();
    case Qt::TextAlignmentRole:
        return index.column() == Step ? QVariant() : QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case kPartsRole: {
        if (index.column() != Where || !step.parts) return {};
        QVariantList parts;
        for (const double share : *step.parts) parts << share;
        return parts;
    }
    default: return {};
    }
}

QVariant StepsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole && section != Step && section != Where) {
        return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    }
    if (role == Qt::ToolTipRole && section >= Compute) return words(static_cast<StepPart>(section - Compute));
    if (role != Qt::DisplayRole) return {};
    switch (section) {
    case Step: return tr("step");
    case Time: return tr("time");
    case Loss: return tr("loss");
    case LearningRate: return tr("learning rate");
    case GradientNorm: return tr("gradient norm");
    case Throughput: return m_inTokens ? tr("tokens/s") : tr("samples/s");
    case Where: return tr("where the time went");
    case Compute: return tr("compute");
    case Communication: return tr("comm.");
    case Copy: return tr("copies");
    case Bubble: return tr("bubble");
    case Idle: return tr("idle");
    }
    return {};
}

void StepPartsDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& t = currentTheme();
    if (option.state.testFlag(QStyle::State_Selected)) painter->fillRect(option.rect, option.palette.highlight());
    const QVariantList parts = index.data(kPartsRole).toList();
    const QRectF cell = QRectF(option.rect).adjusted(6, 5, -6, -5);
    double left = cell.left();
    for (int i = 0; i < parts.size(); ++i) {
        const double right = left + parts[i].toDouble() * cell.width();
        const QRectF box(QPointF(std::round(left), cell.top()), QPointF(std::round(right), cell.bottom()));
        const QColor colour = colourOf(static_cast<StepPart>(i));
        if (box.width() >= 1) {
            if (colour.isValid())
                painter->fillRect(box, colour);
            else
                paintHatch(*painter, box, t);
        }
        left = right;
    }
}

} // namespace fourwalls::views
