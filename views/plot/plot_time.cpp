// SPDX-License-Identifier: GPL-3.0-or-later
// See plot_time.h.
#include "views/plot/plot_time.h"

#include "views/plot/paper.h"
#include "views/plot/theme.h"
#include "views/plot/time_ticks.h"
#include "views/words/words.h"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kPlotLeft = 54, kPlotRight = 14, kPlotTop = 22, kPlotAxis = 22;
constexpr double kStripRow = 15;
constexpr int kLeastTickSpacing = 48; ///< of a narrow plot, which shall have some, too
constexpr double kLeastNamed = 12;    ///< a narrower bar has no room for a letter

} // namespace

TimePlot::TimePlot(QWidget* parent) : TimeSurface(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void TimePlot::setContext(std::shared_ptr<const StepSpans> steps, std::vector<PhaseSpan> phases)
{
    m_steps = std::move(steps);
    m_phases = std::move(phases);
    invalidate();
}

void TimePlot::setZero(std::optional<Instant> zero)
{
    m_zero = zero;
    invalidate();
}

void TimePlot::rangeMoved()
{
    m_pictureValid = false;
    emit shownRangeChanged();
}

double TimePlot::stripHeight() const
{
    if (m_steps->empty() && m_phases.empty()) return 0;
    // A low plot keeps its height for the curve.
    return height() < 200 ? kStripRow + 3 : 2 * kStripRow + 4;
}

QRectF TimePlot::plotRect() const
{
    return QRectF(QPointF(kPlotLeft, kPlotTop),
                  QPointF(std::max(kPlotLeft + 1.0, width() - kPlotRight),
                          std::max(kPlotTop + 1.0, height() - kPlotAxis - stripHeight())));
}

int TimePlot::deviceColumns() const
{
    return std::max(1, static_cast<int>(std::lround(plotRect().width() * devicePixelRatioF())));
}

void TimePlot::invalidate()
{
    m_pictureValid = false;
    dataArrived();
}

std::optional<QPointF> TimePlot::hover() const
{
    const QRectF inside = plotRect();
    const std::optional<QPointF> at = pointer();
    return at && at->x() >= inside.left() && at->x() <= inside.right() ? at : std::nullopt;
}

void TimePlot::paintTo(QPainter& painter)
{
    paintPlot(painter);
    paintTimeAxis(painter);
    paintStrip(painter);
}

void TimePlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const double ratio = devicePixelRatioF();
    const QSize pixels = (QSizeF(size()) * ratio).toSize();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(fontOf(TextRole::Small));
    if (isPaper(painter)) {
        paintTo(painter);
        paintSlice(painter);
        paintMeasure(painter);
        return;
    }
    if (!m_pictureValid || m_picture.size() != pixels) {
        if (m_picture.size() != pixels) m_picture = QImage(pixels, QImage::Format_ARGB32_Premultiplied);
        m_picture.setDevicePixelRatio(ratio);
        m_picture.fill(Qt::transparent);
        QPainter onImage(&m_picture);
        onImage.setRenderHint(QPainter::Antialiasing);
        onImage.setFont(fontOf(TextRole::Small));
        paintTo(onImage);
        m_pictureValid = true;
    }
    painter.drawImage(QPointF(0, 0), m_picture);
    paintSlice(painter);
    paintMeasure(painter);
    paintHover(painter);
    painter.end();
    emit painted(camera().range(), quality());
}

void TimePlot::paintTimeAxis(QPainter& painter) const
{
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    const double y = height() - kPlotAxis;
    const TimeTicks ticks = timeTicks(camera().range(), zero(), camera().width(),
                                      std::clamp(camera().width() / 4, kLeastTickSpacing, kTickSpacing));
    const QFontMetricsF metrics(painter.font());
    double free = -1e9; // where the last label ended: labels never touch
    for (const TimeTick& tick : ticks.ticks) {
        const double x = xOf(tick.at);
        if (!tick.major || x < inside.left() - 0.5 || x > inside.right() + 0.5) continue;
        painter.setPen(t.line);
        painter.drawLine(QPointF(std::floor(x) + 0.5, y), QPointF(std::floor(x) + 0.5, y + 4));
        const double width = metrics.horizontalAdvance(tick.text);
        const double left = std::clamp(x - width / 2, 2.0, std::max(2.0, this->width() - width - 2));
        if (left < free + 8) continue;
        free = left + width;
        painter.setPen(t.secondaryText);
        painter.drawText(QPointF(left, y + 5 + metrics.ascent()), tick.text);
    }
}

void TimePlot::paintValueAxis(QPainter& painter, const QRectF& inside, const std::vector<ValueTick>& ticks,
                              const std::function<double(double)>& y, const QString& unit) const
{
    const Theme& t = currentTheme();
    const QFontMetricsF metrics(painter.font());
    painter.setPen(t.secondaryText);
    painter.drawText(QRectF(0, 2, inside.left() - 8, kPlotTop - 4), Qt::AlignRight | Qt::AlignVCenter, unit);
    for (const ValueTick& tick : ticks) {
        const double line = std::floor(y(tick.value)) + 0.5;
        if (line < inside.top() - 1 || line > inside.bottom() + 1) continue;
        // As a rectangle: a line of this length takes QPainter longer than the label.
        painter.fillRect(QRectF(inside.left(), line - 0.5, inside.width(), 1), t.line);
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(0, line - metrics.height() / 2, inside.left() - 8, metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
}

void TimePlot::paintStrip(QPainter& painter) const
{
    if (stripHeight() <= 0) return;
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    painter.save();
    painter.setClipRect(QRectF(inside.left(), inside.bottom(), inside.width(), stripHeight() + 1));
    painter.setRenderHint(QPainter::Antialiasing, false);
    double top = inside.bottom() + 3;
    // Where backward was not recorded in halves, its one phase is not called a half.
    const bool halves = std::any_of(m_phases.begin(), m_phases.end(),
                                    [](const PhaseSpan& p) { return p.phase == Phase::BackwardWeight; });
    for (const PhaseSpan& phase : m_phases) {
        const bool whole = phase.phase == Phase::BackwardInput && !halves;
        QStringList names;
        if (xOf(phase.range.end) - xOf(phase.range.begin) >= kLeastNamed)
            names = QStringList{whole ? tr("backward") : words(phase.phase)};
        paintBar(painter, phase.range, top, colourOf(t, phase.phase), names);
    }
    if (stripHeight() > kStripRow + 4) {
        top += kStripRow;
        paintSteps(painter, top);
    }
    painter.restore();
}

void TimePlot::paintBar(QPainter& painter, const TimeRange& range, double top, const QColor& fill,
                        const QStringList& names) const
{
    const QRectF inside = plotRect();
    const double left = std::max(xOf(range.begin), inside.left());
    const double right = std::min(xOf(range.end), inside.right());
    if (right <= inside.left() || left >= inside.right()) return;
    const QRectF box(left, top, std::max(1.0, right - left - 1), kStripRow - 2);
    painter.fillRect(box, fill);
    const QFontMetricsF metrics(painter.font());
    // The longest name that fits; none rather than a cut one.
    for (const QString& name : names) {
        if (metrics.horizontalAdvance(name) + 8 > box.width()) continue;
        painter.setPen(textOn(fill));
        painter.drawText(box.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
        break;
    }
}

void TimePlot::paintSteps(QPainter& painter, double top) const
{
    // Costs what is seen: of thousands of steps only those in the range, and of steps that share a pixel only one.
    const TimeRange shown = camera().range();
    const auto endsBefore = [](Instant at) { return [at](const StepSpan& step) { return step.range.end <= at; }; };
    auto step = std::partition_point(m_steps->begin(), m_steps->end(), endsBefore(shown.begin));
    while (step != m_steps->end() && step->range.begin < shown.end) {
        const double width = xOf(step->range.end) - xOf(step->range.begin);
        QStringList names;
        if (width >= kLeastNamed) {
            const QString name = tr("step %1").arg(step->step.value);
            const QString length = formatDuration(step->range.length(), 3);
            const QString longest = step->state == StepState::Measured
                                        ? tr("%1 · %2").arg(name, length)
                                        : tr("%1 · %2 · %3").arg(name, length, words(step->state));
            names = QStringList{longest, name, QString::number(step->step.value)};
        }
        paintBar(painter, step->range, top, currentTheme().structure, names);
        ++step;
        if (width < 1)
            step = std::partition_point(step, m_steps->end(),
                                        endsBefore(instantAt(xOf(std::prev(step)->range.begin) + 1)));
    }
}

void TimePlot::paintMeasure(QPainter& painter) const
{
    if (!selection() || !selection()->measured()) return;
    const TimeRange range = *selection()->measured();
    const QRectF inside = plotRect();
    const double left = std::clamp(xOf(range.begin), inside.left(), inside.right());
    const double right = std::clamp(xOf(range.end), inside.left(), inside.right());
    const QRectF box(left, inside.top(), right - left, inside.height());
    painter.fillRect(box, currentTheme().selectionFill);
    painter.setPen(currentTheme().accent);
    const QRectF words(box.left() - 60, measureTop() + 4, box.width() + 120, box.height());
    painter.drawText(words, Qt::AlignHCenter | Qt::AlignTop, formatDuration(range.length()));
}

void TimePlot::paintSlice(QPainter& painter) const
{
    const std::optional<SelectedSlice> slice = selection() ? selection()->slice() : std::nullopt;
    if (!slice) return;
    const SelectedSlice& chosen = *slice;
    const QRectF inside = plotRect();
    const double from = xOf(chosen.slice.start), to = std::max(from + 1, xOf(chosen.slice.end()));
    if (to < inside.left() || from > inside.right()) return;
    const Theme& t = currentTheme();
    const double left = std::max(from, inside.left()), right = std::min(to, inside.right());
    QColor fill = t.accent;
    fill.setAlpha(40);
    painter.fillRect(QRectF(left, inside.top(), right - left, inside.height()), fill);
    painter.setPen(QPen(t.accent, 1));
    for (const double x : {from, to})
        if (x >= inside.left() && x <= inside.right())
            painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
    if (!chosen.op) return;
    // Its name at the lower end, where the fewest labels stand.
    const QFontMetricsF metrics(painter.font());
    const QString name = metrics.elidedText(opName(*chosen.op), Qt::ElideRight, std::max(80.0, inside.width() / 4));
    const double width = metrics.horizontalAdvance(name) + 8;
    QRectF plate(right + 4, inside.bottom() - metrics.height() - 6, width, metrics.height() + 2);
    if (plate.right() > inside.right()) plate.moveRight(left - 4);
    if (plate.left() < inside.left()) return;
    painter.fillRect(plate, t.card);
    painter.drawText(plate, Qt::AlignCenter, name);
}

QString TimePlot::textOf(const std::vector<ReadoutLine>& lines)
{
    QStringList texts;
    for (const ReadoutLine& line : lines)
        texts << (line.value.isEmpty() ? line.text : line.text + QStringLiteral(": ") + line.value);
    return texts.join(QStringLiteral(", "));
}

void TimePlot::paintReadout(QPainter& painter, QPointF at, const std::vector<ReadoutLine>& lines) const
{
    if (lines.empty()) return;
    const Theme& t = currentTheme();
    QFont bold = fontOf(TextRole::Small);
    bold.setBold(true);
    const QFontMetricsF metrics(fontOf(TextRole::Small)), boldMetrics(bold);
    const QRectF inside = plotRect();
    const double widest = std::max(140.0, inside.width() * 0.5);
    double width = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const QFontMetricsF& m = i == 0 ? boldMetrics : metrics;
        width = std::max(width, m.horizontalAdvance(lines[i].text) + (lines[i].chip.isValid() ? 14 : 0) +
                                    (lines[i].value.isEmpty() ? 0 : 16 + m.horizontalAdvance(lines[i].value)));
    }
    width = std::min(width, widest);
    const double row = metrics.height() + 2;
    const QSizeF size(width + 16, row * static_cast<double>(lines.size()) + 10);
    double left = at.x() + 14;
    if (left + size.width() > inside.right()) left = at.x() - 14 - size.width();
    left = std::clamp(left, 2.0, std::max(2.0, this->width() - size.width() - 2));
    const double top = std::clamp(at.y() - size.height() / 2, 2.0, std::max(2.0, height() - size.height() - 2));
    const QRectF box(QPointF(std::round(left), std::round(top)), size);
    QPainterPath path;
    path.addRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
    painter.fillPath(path, t.card);
    painter.strokePath(path, QPen(t.dark ? t.secondaryText : t.line, 1));
    double y = box.top() + 5;
    for (std::size_t i = 0; i < lines.size(); ++i, y += row) {
        const ReadoutLine& line = lines[i];
        painter.setFont(i == 0 ? bold : fontOf(TextRole::Small));
        QRectF cell(box.left() + 8, y, width, row);
        if (line.chip.isValid()) {
            painter.fillRect(QRectF(cell.left(), cell.center().y() - 4, 9, 9), line.chip);
            cell.setLeft(cell.left() + 14);
        }
        painter.setPen(i == 0 ? t.text : t.secondaryText);
        const QString text =
            painter.fontMetrics().elidedText(line.text, Qt::ElideRight, static_cast<int>(cell.width()) + 1);
        painter.drawText(cell, Qt::AlignLeft | Qt::AlignVCenter, text);
        painter.setPen(t.text);
        painter.drawText(cell, Qt::AlignRight | Qt::AlignVCenter, line.value);
    }
}

void TimePlot::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    ownCamera().setWidth(static_cast<int>(std::lround(plotRect().width())));
    invalidate();
    emit shownRangeChanged();
}

void TimePlot::measureTo(QPointF to, bool finished, bool still)
{
    if (!selection()) return;
    const Instant a = pressedTime(), b = instantAt(to.x());
    if (!finished) selection()->setMeasured(TimeRange{std::min(a, b), std::max(a, b)});
    if (finished && still) selection()->setMeasured(std::nullopt);
}

void TimePlot::clicked(QPointF at)
{
    if (plotRect().contains(at)) emit instantClicked(instantAt(at.x()), at);
}

void TimePlot::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) emit doubleClicked(instantAt(event->position().x()), event->position());
}

void TimePlot::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::LanguageChange) invalidate();
}

} // namespace fourwalls::views
