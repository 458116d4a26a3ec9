// SPDX-License-Identifier: GPL-3.0-or-later
// See plan_scatter.h.
#include "views/tuning/plan_scatter.h"

#include "views/plot/paper.h"
#include "views/plot/theme.h"
#include "views/session/gui_call.h"
#include "views/whatif/cost_words.h"
#include "views/words/plan_words.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kScatterLeft = 54, kScatterRight = 10, kScatterTop = 18, kScatterBottom = 34;
constexpr double kPlanReach = 9; ///< of a click [pixels]
constexpr double kBrokenWall = 24;

/// Ink over the picture by how many plans share a pixel: one is clearly seen, hundreds saturate.
double inkOf(std::uint32_t count)
{
    return std::min(1.0, 0.35 + 0.13 * std::log2(static_cast<double>(count)));
}

/// How plans are drawn.
struct Dots {
    int columns = 1, rows = 1; ///< of the picture [pixels of the device]
    double ratio = 1;
    LogAxis time, memory; ///< in pixels of the device
    PlanBrushes brushes;
    std::array<QColor, 3> inks; ///< of plans that are brushed away, do not fit, fit
};

/// On any thread.
QImage dotsPicture(const Dots& dots, const std::vector<PlanPoint>& points)
{
    // Counted first per layer, then inked: order does not matter.
    const auto columns = static_cast<std::size_t>(dots.columns);
    const std::size_t cells = columns * static_cast<std::size_t>(dots.rows);
    std::array<std::vector<std::uint32_t>, 3> counts;
    for (auto& layer : counts) layer.assign(cells, 0);
    // Few plans are dots, many are single pixels.
    const std::size_t total = points.size();
    const int dot = static_cast<int>(std::lround((total < 3000      ? 4
                                                  : total < 30'000  ? 3
                                                  : total < 300'000 ? 2
                                                                    : 1) *
                                                 dots.ratio));
    for (const PlanPoint& point : points) {
        const double px = dots.time.pixel(point.seconds), py = dots.memory.pixel(point.bytes);
        if (!(px >= 0 && px < dots.columns && py >= 0 && py < dots.rows)) continue;
        const std::size_t layer = !PlanCloud::passes(point, dots.brushes) ? 0 : point.feasible ? 2 : 1;
        const int x0 = static_cast<int>(px) - dot / 2, y0 = static_cast<int>(py) - dot / 2;
        for (int y = std::max(0, y0); y < std::min(dots.rows, y0 + dot); ++y)
            for (int x = std::max(0, x0); x < std::min(dots.columns, x0 + dot); ++x)
                ++counts[layer][static_cast<std::size_t>(y) * columns + static_cast<std::size_t>(x)];
    }
    QImage picture(dots.columns, dots.rows, QImage::Format_ARGB32_Premultiplied);
    picture.setDevicePixelRatio(dots.ratio);
    picture.fill(Qt::transparent);
    for (std::size_t layer = 0; layer < counts.size(); ++layer) {
        const std::uint32_t* count = counts[layer].data();
        for (int y = 0; y < dots.rows; ++y) {
            auto* line = reinterpret_cast<QRgb*>(picture.scanLine(y));
            for (std::size_t x = 0; x < columns; ++x, ++count) {
                if (*count == 0) continue;
                QColor ink = dots.inks[layer];
                ink.setAlphaF(static_cast<float>(inkOf(*count)));
                line[x] = qPremultiply(ink.rgba());
            }
        }
    }
    return picture;
}

} // namespace

PlanScatter::PlanScatter(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setCursor(Qt::CrossCursor);
}

void PlanScatter::setCloud(const PlanCloud* cloud)
{
    m_cloud = cloud;
    m_selected.reset();
    m_hovered.reset();
    refresh();
}

void PlanScatter::refresh()
{
    m_valid = false;
    update();
}

void PlanScatter::setBrushes(const PlanBrushes& brushes)
{
    m_brushes = brushes;
    refresh();
}

void PlanScatter::setCapacity(double bytes)
{
    m_capacity = bytes;
    refresh();
}

void PlanScatter::setByteUnit(ByteUnit unit)
{
    m_unit = unit;
    update();
}

void PlanScatter::setRecorded(std::optional<Mark> mark)
{
    m_recorded = std::move(mark);
    refresh();
}

void PlanScatter::setSliders(std::optional<Mark> mark)
{
    m_sliders = std::move(mark);
    refresh();
}

void PlanScatter::setSelected(std::optional<std::uint32_t> index)
{
    m_selected = index;
    update();
}

QRectF PlanScatter::plotRect() const
{
    return QRectF(rect()).adjusted(kScatterLeft, kScatterTop, -kScatterRight, -kScatterBottom);
}

void PlanScatter::layoutAxes()
{
    const QRectF inside = plotRect();
    auto [fast, slow] = m_cloud->limits(PlanAxis::Time);
    auto [low, high] = m_cloud->limits(PlanAxis::Memory);
    for (const std::optional<Mark>* mark : {&m_recorded, &m_sliders}) {
        if (!*mark || !((*mark)->seconds > 0) || !((*mark)->bytes > 0)) continue;
        fast = fast > 0 ? std::min(fast, (*mark)->seconds) : (*mark)->seconds;
        slow = std::max(slow, (*mark)->seconds);
        low = low > 0 ? std::min(low, (*mark)->bytes) : (*mark)->bytes;
        high = std::max(high, (*mark)->bytes);
    }
    fast = std::max(fast, 1e-9);
    low = std::max(low, 1.0);
    // Plans a hundred times slower or larger than the best are no choice: the plot need not reach them.
    slow = std::min(slow, 100 * fast);
    // A wall far above all plans would press them into a corner.
    m_axes.broken = m_capacity > 8 * high;
    if (m_capacity > 0 && !m_axes.broken)
        high = std::min(std::max(high, m_capacity * 1.4), std::max(m_capacity * 4, low * 2));
    m_axes.time = LogAxis(fast / 1.12, std::max(slow, fast * 1.5) * 1.12, inside.left(), inside.right());
    m_axes.memory = LogAxis(low / 1.15, std::max(high, low * 1.5) * (m_axes.broken ? 1.2 : 1.1), inside.bottom(),
                            inside.top() + (m_axes.broken ? kBrokenWall + 12 : 0));
}

void PlanScatter::drawPoints(double ratio, bool atOnce)
{
    const Axes before = m_axes;
    layoutAxes();
    const QRectF inside = plotRect();
    const Theme& t = currentTheme();
    Dots dots;
    dots.columns = std::max(1, static_cast<int>(inside.width() * ratio));
    dots.rows = std::max(1, static_cast<int>(inside.height() * ratio));
    dots.ratio = ratio;
    dots.time = LogAxis(m_axes.time.low(), m_axes.time.high(), 0, dots.columns);
    dots.memory =
        LogAxis(m_axes.memory.low(), m_axes.memory.high(), dots.rows, m_axes.broken ? (kBrokenWall + 12) * ratio : 0);
    dots.brushes = m_brushes;
    dots.inks = {t.line, t.wallEdge, colourOf(t, Phase::Forward)};
    m_valid = true;
    constexpr std::size_t kPlansAtOnce = 20'000; // some milliseconds
    if (atOnce || m_cloud->points().size() <= kPlansAtOnce) {
        m_picture = dotsPicture(dots, m_cloud->points());
        return;
    }
    m_drawing = true;
    const auto draw = [dots, points = m_cloud->points()] { return dotsPicture(dots, points); };
    runLater(this, draw, [this, axes = m_axes](const QImage& picture) {
        m_picture = picture;
        m_axes = axes;
        m_drawing = false;
        update();
    });
    if (!m_picture.isNull()) m_axes = before; // until then what is shown keeps its own
}

void PlanScatter::paintAxes(QPainter& painter) const
{
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    painter.setFont(fontOf(TextRole::Small));
    const QFontMetricsF metrics(painter.font());
    for (const LogAxis::Mark& mark : m_axes.memory.marks(24)) {
        const double y = std::round(m_axes.memory.pixel(mark.value)) + 0.5;
        if (!mark.labelled) continue;
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(inside.left(), y), QPointF(inside.right(), y));
        painter.setPen(t.secondaryText);
        painter.drawText(QRectF(0, y - 8, kScatterLeft - 6, 16), Qt::AlignRight | Qt::AlignVCenter,
                         formatBytes(mark.value, m_unit, 2));
    }
    for (const LogAxis::Mark& mark : m_axes.time.marks(64)) {
        const double x = std::round(m_axes.time.pixel(mark.value)) + 0.5;
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(x, inside.bottom()), QPointF(x, inside.bottom() + (mark.labelled ? 5 : 3)));
        if (!mark.labelled) continue;
        const QString text = formatDuration(Duration::fromSeconds(mark.value), 2);
        const double width = metrics.horizontalAdvance(text);
        const double left = std::clamp(x - width / 2, 0.0, this->width() - width);
        painter.setPen(t.secondaryText);
        painter.drawText(QPointF(left, inside.bottom() + 17), text);
    }
    painter.setPen(t.secondaryText);
    painter.drawText(QRectF(inside.left(), inside.bottom() + 18, inside.width(), 16), Qt::AlignRight | Qt::AlignVCenter,
                     tr("step time"));
    painter.drawText(QRectF(0, 0, 200, kScatterTop - 4), Qt::AlignLeft | Qt::AlignVCenter, tr("peak memory of a rank"));
}

void PlanScatter::paintFront(QPainter& painter) const
{
    const Theme& t = currentTheme();
    QPolygonF line;
    for (const std::uint32_t index : m_cloud->front()) {
        const PlanPoint& point = m_cloud->points()[index];
        line << at(point.seconds, point.bytes);
    }
    painter.setPen(QPen(t.ok, 1.6));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(line);
    painter.setBrush(t.ok);
    painter.setPen(QPen(t.card, 1));
    if (line.size() <= 200)
        for (const QPointF& each : line) painter.drawEllipse(each, 3.2, 3.2);
}

void PlanScatter::paintMark(QPainter& painter, const Mark& mark, bool recorded, std::vector<QRectF>& taken) const
{
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    QPointF place = at(mark.seconds, mark.bytes);
    place = {std::clamp(place.x(), inside.left(), inside.right()),
             std::clamp(place.y(), inside.top(), inside.bottom())};
    painter.setBrush(t.card);
    painter.setPen(QPen(recorded ? t.text : t.prediction, 2));
    if (recorded) {
        painter.drawEllipse(place, 6, 6);
    } else {
        painter.drawPolygon(
            QPolygonF{place + QPointF(0, -7), place + QPointF(7, 0), place + QPointF(0, 7), place + QPointF(-7, 0)});
    }
    painter.setFont(fontOf(TextRole::Small));
    const double width = painter.fontMetrics().horizontalAdvance(mark.name) + 6;
    const bool right = place.x() + 12 + width < inside.right();
    QRectF plate(right ? place.x() + 10 : place.x() - 10 - width, place.y() - (recorded ? 17 : -2), width, 15);
    plate.moveTop(std::clamp(plate.top(), inside.top(), inside.bottom() - 15));
    const auto other = [&] {
        return std::ranges::find_if(taken, [&](const QRectF& each) { return plate.intersects(each); });
    };
    if (auto found = other(); found != taken.end()) {
        const QRectF before = plate;
        plate.moveBottom(found->top());
        found = other();
        if (plate.top() < inside.top() || found != taken.end()) {
            plate = before;
            for (found = other(); found != taken.end(); found = other()) plate.moveTop(found->bottom());
        }
    }
    taken.push_back(plate);
    QColor behind = t.card;
    behind.setAlpha(215);
    painter.fillRect(plate, behind);
    painter.setPen(recorded ? t.text : t.prediction);
    painter.drawText(plate, Qt::AlignCenter, mark.name);
}

void PlanScatter::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (!m_cloud) return;
    if (const double ratio = imageRatio(painter, *this);
        !m_drawing && (!m_valid || m_picture.devicePixelRatio() != ratio))
        drawPoints(ratio, isPaper(painter));
    const Theme& t = currentTheme();
    painter.setRenderHint(QPainter::Antialiasing, true);
    paintAxes(painter);
    const QRectF inside = plotRect();
    painter.setClipRect(inside.adjusted(-8, -8, 8, 8));
    const double wall = m_axes.broken    ? inside.top() + kBrokenWall
                        : m_capacity > 0 ? m_axes.memory.pixel(m_capacity)
                                         : inside.top();
    if (m_capacity > 0 && wall > inside.top() + 2) {
        const QRectF band(inside.left(), inside.top(), inside.width(), wall - inside.top());
        paintWall(painter, band, t);
    }
    painter.drawImage(inside.topLeft(), m_picture);
    paintFront(painter);
    std::vector<QRectF> taken; // by names
    if (m_capacity > 0 && wall > inside.top() + 18) {
        painter.setFont(fontOf(TextRole::Small));
        const QString size = formatBytes(m_capacity, m_unit);
        QStringList names{m_axes.broken ? tr("%1: the device's memory, not to scale").arg(size)
                                        : tr("%1: the device's memory").arg(size),
                          m_axes.broken ? tr("%1, not to scale").arg(size) : size};
        if (painter.fontMetrics().horizontalAdvance(names[0]) + 16 > inside.width()) names.removeFirst();
        const QString& text = names[0];
        const double width = painter.fontMetrics().horizontalAdvance(text) + 10;
        const QRectF plate(inside.right() - width - 6, inside.top() + 4, width, 16);
        taken.push_back(plate);
        painter.fillRect(plate, t.card);
        painter.setPen(t.wallEdge);
        painter.drawText(plate, Qt::AlignCenter, text);
    }
    if (m_sliders) paintMark(painter, *m_sliders, false, taken);
    if (m_recorded) paintMark(painter, *m_recorded, true, taken);
    painter.setBrush(Qt::NoBrush);
    for (const auto& [index, ink] : {std::pair{m_selected, t.accent}, std::pair{m_hovered, t.text}}) {
        if (!index || *index >= m_cloud->points().size()) continue;
        painter.setPen(QPen(ink, 2));
        painter.drawEllipse(placeOf(*index), 6, 6);
    }
    painter.end();
    if (m_valid && !m_drawing) emit painted();
}

QPointF PlanScatter::placeOf(std::uint32_t index) const
{
    const PlanPoint& point = m_cloud->points()[index];
    return at(point.seconds, point.bytes);
}

std::optional<std::uint32_t> PlanScatter::pointAt(QPointF where) const
{
    if (!m_cloud || !m_valid) return std::nullopt;
    std::optional<std::uint32_t> best;
    double least = kPlanReach * kPlanReach;
    const auto consider = [&](std::uint32_t index, double handicap) {
        const QPointF away = placeOf(index) - where;
        const double distance = away.x() * away.x() + away.y() * away.y() + handicap;
        if (distance >= least) return;
        least = distance;
        best = index;
    };
    // The front first: among plans that lie on each other it is the one to take.
    for (const std::uint32_t index : m_cloud->front()) consider(index, 0);
    constexpr double kBehindFront = 4;
    for (std::size_t i = 0; i < m_cloud->points().size(); ++i)
        if (m_cloud->passes(m_cloud->points()[i], m_brushes)) consider(static_cast<std::uint32_t>(i), kBehindFront);
    return best;
}

void PlanScatter::resizeEvent(QResizeEvent*)
{
    m_valid = false;
}

void PlanScatter::mouseMoveEvent(QMouseEvent* event)
{
    // A look at a million plans takes milliseconds: only while none but the pointer moves.
    const auto found = pointAt(event->position());
    if (found == m_hovered) return;
    m_hovered = found;
    if (found) {
        const PlanPoint& point = m_cloud->points()[*found];
        setToolTip(QStringLiteral("%1\n%2, %3%4")
                       .arg(planSummary(m_cloud->plan(*found)), formatDuration(Duration::fromSeconds(point.seconds), 3),
                            formatBytes(point.bytes, m_unit), point.feasible ? QString() : tr(", does not fit")));
    } else {
        setToolTip({});
    }
    update();
}

void PlanScatter::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton) return;
    if (const auto found = pointAt(event->position())) emit planClicked(*found);
}

void PlanScatter::leaveEvent(QEvent*)
{
    m_hovered.reset();
    update();
}

void PlanScatter::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) refresh();
}

} // namespace fourwalls::views
