// SPDX-License-Identifier: GPL-3.0-or-later
// See goodput_plot.h.
#include "views/tuning/goodput_plot.h"

#include "views/plot/theme.h"
#include "views/words/format.h"

#include <QEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kShortestInterval = 10, kLongestInterval = 200'000; // [s]
constexpr double kLeastInterval = 1e-3;                              // [s]
constexpr double kRoundInterval = 100; ///< the plot reaches so many times below and above the best one
constexpr double kMostGoodputDevices = 65'536;
constexpr int kGoodputPoints = 120;
constexpr double kGoodputLeft = 40, kGoodputRight = 6, kGoodputMarks = 16, kGoodputGap = 8; ///< around a curve [pixels]

/// A text as high as it is where it wraps.
double goodputTextHeight(const QPainter& painter, const QString& text, double width)
{
    return painter.fontMetrics()
        .boundingRect(QRect(0, 0, static_cast<int>(width), QWIDGETSIZE_MAX), Qt::TextWordWrap, text)
        .height();
}

/// Intervals between checkpoints are minutes or hours.
QString intervalText(double seconds)
{
    if (seconds < 120) return formatDuration(Duration::fromSeconds(seconds), 2);
    if (seconds < 7200) return formatFigure(seconds / 60, 2) + kThinSpace + QStringLiteral("min");
    return formatFigure(seconds / 3600, 2) + kThinSpace + QStringLiteral("h");
}

} // namespace

GoodputPlot::GoodputPlot(QWidget* parent) : QWidget(parent)
{
    compute();
}

void GoodputPlot::setInput(const cost::GoodputInput& input)
{
    m_input = input;
    compute();
    setAccessibleName(sentence());
    update();
}

void GoodputPlot::compute()
{
    const auto at = [this](double interval, double devices) -> std::optional<cost::Goodput> {
        cost::GoodputInput input = m_input;
        input.checkpointIntervalSeconds = interval;
        input.devices = devices;
        const auto result = cost::computeGoodput(input);
        return result ? std::optional(*result) : std::nullopt;
    };
    const auto spread = [](double low, double high, int i) {
        return low * std::pow(high / low, i / (kGoodputPoints - 1.0));
    };
    m_byInterval.clear();
    m_byDevices.clear();
    m_best = at(0, m_input.devices);
    // A job that fails every few seconds has its best interval below those that are usual.
    const double middle = m_best ? m_best->intervalSeconds : m_input.deviceMtbfHours * 3600 / m_input.devices;
    const double shortest = std::clamp(middle / kRoundInterval, kLeastInterval, kShortestInterval);
    const double longest = shortest < kShortestInterval
                               ? std::clamp(middle * kRoundInterval, kShortestInterval, kLongestInterval)
                               : kLongestInterval;
    for (int i = 0; i < kGoodputPoints; ++i) {
        const double interval = spread(shortest, longest, i), devices = spread(1, kMostGoodputDevices, i);
        const auto byInterval = at(interval, m_input.devices), byDevices = at(0, devices);
        m_byInterval.push_back({interval, byInterval ? byInterval->goodput : 0});
        m_byDevices.push_back({devices, byDevices ? byDevices->goodput : 0});
    }
}

QString GoodputPlot::sentence() const
{
    if (!m_best) return tr("The job fails more often than it gets anything done.");
    return tr("%1 of the time trains; best checkpoint every %2")
        .arg(formatPercent(m_best->goodput), intervalText(m_best->intervalSeconds));
}

QString GoodputPlot::title(bool intervals)
{
    return intervals ? tr("goodput by interval") : tr("goodput by number of devices");
}

QString GoodputPlot::unit(bool intervals)
{
    return intervals ? tr("between two checkpoints") : tr("devices");
}

void GoodputPlot::paintCurve(QPainter& painter, const QRectF& area, const std::vector<Point>& points,
                             bool intervals) const
{
    const Theme& t = currentTheme();
    painter.setFont(fontOf(TextRole::Small));
    const double titles = std::max(goodputTextHeight(painter, title(true), area.width()),
                                   goodputTextHeight(painter, title(false), area.width()));
    const double units = std::max(goodputTextHeight(painter, unit(true), area.width() - kGoodputRight),
                                  goodputTextHeight(painter, unit(false), area.width() - kGoodputRight));
    const QRectF inside =
        area.adjusted(kGoodputLeft, titles + kGoodputGap, -kGoodputRight, -(kGoodputMarks + units + 2));
    const LogAxis x(points.front().x, points.back().x, inside.left(), inside.right());
    const auto y = [&](double share) { return inside.bottom() - share * inside.height(); };
    for (const double share : {0.0, 0.5, 1.0}) {
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(inside.left(), y(share)), QPointF(inside.right(), y(share)));
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(area.left(), y(share) - 8, kGoodputLeft - 5, 16), Qt::AlignRight | Qt::AlignVCenter,
                         formatPercent(share, 0));
    }
    for (const LogAxis::Mark& mark : x.marks(58)) {
        if (!mark.labelled) continue;
        const QString text = intervals ? intervalText(mark.value) : formatCount(std::llround(mark.value));
        // The last one ends with the plot.
        const double half = painter.fontMetrics().horizontalAdvance(text) / 2.0 + 1;
        const double middle = std::min(x.pixel(mark.value), area.right() - half);
        painter.drawText(QRectF(middle - half, inside.bottom() + 2, 2 * half, 14), Qt::AlignCenter, text);
    }
    painter.drawText(QRectF(area.left(), inside.bottom() + kGoodputMarks, inside.right() - area.left(), units),
                     Qt::AlignRight | Qt::TextWordWrap, unit(intervals));
    painter.setPen(t.text);
    painter.drawText(QRectF(area.left(), area.top(), area.width(), titles), Qt::AlignLeft | Qt::TextWordWrap,
                     title(intervals));
    QPolygonF line;
    for (const Point& point : points) line << QPointF(x.pixel(point.x), y(std::clamp(point.goodput, 0.0, 1.0)));
    QPen pen(t.prediction, 1.8);
    pen.setDashPattern({4, 3});
    painter.setPen(pen);
    painter.drawPolyline(line);
    if (!m_best) return;
    const double place = intervals ? m_best->intervalSeconds : m_input.devices;
    if (place < points.front().x || place > points.back().x) return;
    painter.setPen(QPen(t.card, 1.5));
    painter.setBrush(t.prediction);
    painter.drawEllipse(QPointF(x.pixel(place), y(m_best->goodput)), 4.5, 4.5);
    painter.setBrush(Qt::NoBrush);
}

void GoodputPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing, true);
    const double half = width() / 2.0;
    paintCurve(painter, QRectF(0, 0, half - 6, height()), m_byInterval, true);
    paintCurve(painter, QRectF(half + 6, 0, half - 6, height()), m_byDevices, false);
}

void GoodputPlot::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) update();
}

} // namespace fourwalls::views
