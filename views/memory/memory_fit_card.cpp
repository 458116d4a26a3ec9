// SPDX-License-Identifier: GPL-3.0-or-later
// See memory_fit_card.h.
#include "views/memory/memory_fit_card.h"

#include "views/plot/plot_ticks.h"
#include "views/plot/theme.h"

#include <QCoreApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kFitAxis = 46, kTitle = 18, kFitBottom = 18, kBetween = 14;
constexpr double kFitReach = 9;

struct FitWords {
    Q_DECLARE_TR_FUNCTIONS(FitWords)
};

/// Places of values: those that double are evenly spread.
double alongAxis(const FitCurve& curve, double value)
{
    const double low = curve.points.front().value, high = curve.points.back().value;
    if (curve.knob == Knob::Zero) return (value - low) / (high - low);
    return std::log2((value + 1e-9) / (low + 1e-9)) / std::log2((high + 1e-9) / (low + 1e-9));
}

} // namespace

QString fitName(Knob knob)
{
    switch (knob) {
    case Knob::MicrobatchSize: return FitWords::tr("micro-batch size");
    case Knob::Sequence: return FitWords::tr("sequence");
    case Knob::Zero: return FitWords::tr("ZeRO stage");
    case Knob::Tensor: return FitWords::tr("tensor parallel");
    case Knob::Pipeline: return FitWords::tr("pipeline stages");
    case Knob::Data: return FitWords::tr("data parallel");
    default: return {};
    }
}

MemoryFitPlot::MemoryFitPlot(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
}

void MemoryFitPlot::setFit(std::shared_ptr<const MemoryFit> fit)
{
    m_fit = std::move(fit);
    update();
}

void MemoryFitPlot::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    update();
}

double MemoryFitPlot::top() const
{
    double least = 0, most = 0;
    for (const FitCurve& curve : m_fit->curves) {
        for (const FitPoint& point : curve.points) {
            most = std::max(most, point.bytes);
            if (point.value == curve.present) least = std::max(least, point.bytes);
        }
    }
    // The wall is in the picture where it is not absurdly far above the present peak.
    const double wall = m_fit->capacity;
    if (wall <= 0) return std::max(most, 1.0) * 1.06;
    if (least < wall / 12 && most < wall) return std::max(most, 1.0) * 1.06;
    return std::min(std::max(most * 1.06, wall * 1.2), wall * 1.8);
}

QRectF MemoryFitPlot::areaOf(std::size_t curve) const
{
    const double n = static_cast<double>(std::max<std::size_t>(1, m_fit->curves.size()));
    const double width = (this->width() - kFitAxis - kBetween * (n - 1)) / n;
    return QRectF(kFitAxis + static_cast<double>(curve) * (width + kBetween), kTitle, width,
                  height() - kTitle - kFitBottom);
}

QPointF MemoryFitPlot::placeOf(std::size_t index, std::size_t point) const
{
    const FitCurve& curve = m_fit->curves[index];
    const QRectF area = areaOf(index).adjusted(10, 0, -10, 0);
    return {area.left() + alongAxis(curve, curve.points[point].value) * area.width(),
            area.bottom() - curve.points[point].bytes / top() * area.height()};
}

void MemoryFitPlot::paintCurve(QPainter& painter, std::size_t index) const
{
    const Theme& t = currentTheme();
    const FitCurve& curve = m_fit->curves[index];
    const QRectF area = areaOf(index);
    const double limit = top();
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(t.text);
    painter.drawText(
        QRectF(area.left(), 0, area.width(), kTitle - 2), Qt::AlignLeft | Qt::AlignVCenter,
        painter.fontMetrics().elidedText(fitName(curve.knob), Qt::ElideRight, static_cast<int>(area.width())));
    for (const ValueTick& tick : byteTicks(limit, m_unit, 4)) {
        const double y = std::round(area.bottom() - tick.value / limit * area.height()) + 0.5;
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        if (index > 0) continue;
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(0, y - 8, kFitAxis - 5, 16), Qt::AlignRight | Qt::AlignVCenter,
                         tick.label + QString(kThinSpace) + byteScale(limit, m_unit).name);
    }
    painter.save();
    painter.setClipRect(area.adjusted(-6, -1, 6, 6));
    if (m_fit->capacity > 0 && m_fit->capacity < limit) {
        const double y = area.bottom() - m_fit->capacity / limit * area.height();
        paintWall(painter, QRectF(area.left(), area.top(), area.width(), y - area.top()), t);
    }
    QPolygonF line;
    for (std::size_t i = 0; i < curve.points.size(); ++i) line << placeOf(index, i);
    QPen pen(t.prediction, 1.8);
    pen.setDashPattern({4, 3});
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(pen);
    painter.drawPolyline(line);
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
        const bool present = curve.points[i].value == curve.present;
        painter.setPen(QPen(t.card, 1));
        painter.setBrush(present ? t.text : t.prediction);
        painter.drawEllipse(line[static_cast<qsizetype>(i)], present ? 4.5 : 3, present ? 4.5 : 3);
    }
    painter.restore();
    // Labels below, the present value first, then from both ends inwards where there is room.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < curve.points.size(); ++i)
        if (curve.points[i].value == curve.present) order.push_back(i);
    order.push_back(0);
    order.push_back(curve.points.size() - 1);
    for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) order.push_back(i);
    std::vector<QRectF> taken;
    for (const std::size_t i : order) {
        const QString text = formatCount(std::llround(curve.points[i].value));
        const double width = painter.fontMetrics().horizontalAdvance(text);
        const double end = std::min(area.right() + 4, static_cast<double>(this->width())) - width;
        const double left = std::clamp(placeOf(index, i).x() - width / 2, std::min(area.left() - 4, end), end);
        const QRectF box(left, area.bottom() + 3, width, 14);
        if (std::any_of(taken.begin(), taken.end(),
                        [&](const QRectF& other) { return other.adjusted(-6, 0, 6, 0).intersects(box); }))
            continue;
        taken.push_back(box);
        painter.setPen(curve.points[i].value == curve.present ? t.text : t.secondaryText);
        painter.drawText(box, Qt::AlignCenter, text);
    }
}

void MemoryFitPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (!m_fit) return;
    for (std::size_t i = 0; i < m_fit->curves.size(); ++i) paintCurve(painter, i);
    if (!hasFocus() || spokenCurrent() < 0) return;
    painter.setPen(QPen(currentTheme().accent, 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(QRectF(spokenPlace(m_current)).center(), kFitReach - 2, kFitReach - 2);
}

int MemoryFitPlot::spokenParts() const
{
    std::size_t parts = 0;
    if (m_fit)
        for (const FitCurve& curve : m_fit->curves) parts += curve.points.size();
    return static_cast<int>(parts);
}

std::pair<std::size_t, std::size_t> MemoryFitPlot::partAt(int part) const
{
    std::size_t curve = 0, point = static_cast<std::size_t>(part);
    while (point >= m_fit->curves[curve].points.size()) point -= m_fit->curves[curve++].points.size();
    return {curve, point};
}

QString MemoryFitPlot::textOf(const FitCurve& curve, const FitPoint& point) const
{
    return tr("%1 %2: %3")
        .arg(fitName(curve.knob), formatCount(std::llround(point.value)), formatBytes(point.bytes, m_unit));
}

QString MemoryFitPlot::spokenText(int part) const
{
    const FitCurve& curve = m_fit->curves[partAt(part).first];
    return textOf(curve, curve.points[partAt(part).second]);
}

QRect MemoryFitPlot::spokenPlace(int part) const
{
    const auto at = partAt(part);
    const QPointF reach(kFitReach, kFitReach);
    return QRectF(placeOf(at.first, at.second) - reach, placeOf(at.first, at.second) + reach).toRect();
}

void MemoryFitPlot::keyPressEvent(QKeyEvent* event)
{
    const int key = event->key(), last = spokenParts() - 1;
    if (spokenCurrent() >= 0 && (key == Qt::Key_Return || key == Qt::Key_Enter)) {
        const FitCurve& curve = m_fit->curves[partAt(m_current).first];
        return emit valueClicked(curve.knob, curve.points[partAt(m_current).second].value);
    }
    if (last < 0 || (key != Qt::Key_Left && key != Qt::Key_Right)) return QWidget::keyPressEvent(event);
    m_current = spokenCurrent() < 0 ? 0 : std::clamp(m_current + (key == Qt::Key_Right ? 1 : -1), 0, last);
    QToolTip::showText(mapToGlobal(spokenPlace(m_current).center()), spokenText(m_current), this);
    tellCurrent(*this);
    update();
}

std::optional<std::pair<Knob, double>> MemoryFitPlot::pointAt(QPointF where) const
{
    if (!m_fit) return std::nullopt;
    for (std::size_t curve = 0; curve < m_fit->curves.size(); ++curve) {
        for (std::size_t i = 0; i < m_fit->curves[curve].points.size(); ++i) {
            const QPointF away = placeOf(curve, i) - where;
            if (std::hypot(away.x(), away.y()) <= kFitReach)
                return std::pair{m_fit->curves[curve].knob, m_fit->curves[curve].points[i].value};
        }
    }
    return std::nullopt;
}

void MemoryFitPlot::mousePressEvent(QMouseEvent* event)
{
    if (const auto found = pointAt(event->position())) emit valueClicked(found->first, found->second);
}

bool MemoryFitPlot::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || !m_fit) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto found = pointAt(help->pos());
    if (!found) {
        QToolTip::hideText();
        return true;
    }
    for (const FitCurve& curve : m_fit->curves) {
        for (const FitPoint& point : curve.points) {
            if (curve.knob == found->first && point.value == found->second)
                QToolTip::showText(help->globalPos(), textOf(curve, point), this);
        }
    }
    return true;
}

MemoryFitCard::MemoryFitCard(QWidget* parent) : PlotCard(parent), m_plot(new MemoryFitPlot(this))
{
    addContent(m_plot, 1);
    retranslate();
}

void MemoryFitCard::setFit(std::shared_ptr<const MemoryFit> fit, const QString& why)
{
    m_fit = std::move(fit);
    m_why = why;
    m_plot->setFit(m_fit);
    describe();
}

void MemoryFitCard::setByteUnit(ByteUnit unit)
{
    m_plot->setByteUnit(unit);
}

void MemoryFitCard::retranslate()
{
    title().setText(tr("What fits (predicted)"));
    m_plot->setAccessibleName(tr("Predicted peak against micro-batch, sequence, sharding and degrees"));
    describe();
}

void MemoryFitCard::describe()
{
    QString text = m_why;
    if (m_fit && m_fit->largestSize) {
        text = *m_fit->largestSize > 0 ? tr("largest micro-batch that fits: %1 (global batch %2)")
                                             .arg(formatCount(*m_fit->largestSize), formatCount(*m_fit->largestBatch))
                                       : tr("not even one sample fits");
    }
    finding().setText(text);
    finding().setTone(m_fit && m_fit->largestSize == 0 ? ElidedText::Tone::Alarm : ElidedText::Tone::Quiet);
}

} // namespace fourwalls::views
