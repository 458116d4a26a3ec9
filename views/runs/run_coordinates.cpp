// SPDX-License-Identifier: GPL-3.0-or-later
// See run_coordinates.h.
#include "views/runs/run_coordinates.h"

#include "views/plot/theme.h"

#include <QCoreApplication>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kCoordinateSide = 44, kCoordinateTop = 20, kCoordinateBottom = 50;
constexpr double kRunReach = 5;     ///< of a click [pixels]
constexpr double kBestShare = 0.12; ///< of the runs that stand out

struct RunCoordinateWords {
    Q_DECLARE_TR_FUNCTIONS(RunCoordinateWords)
};

QString wordsOf(RunSetting setting)
{
    switch (setting) {
    case RunSetting::LearningRate: return RunCoordinateWords::tr("learning rate");
    case RunSetting::Batch: return RunCoordinateWords::tr("batch");
    case RunSetting::Width: return RunCoordinateWords::tr("width");
    case RunSetting::Warmup: return RunCoordinateWords::tr("warm-up");
    case RunSetting::WeightDecay: return RunCoordinateWords::tr("weight decay");
    case RunSetting::Clip: return RunCoordinateWords::tr("clipping");
    case RunSetting::Loss: return RunCoordinateWords::tr("final loss");
    }
    return {};
}

std::optional<double> settingOf(const compare::RunCurves& run, RunSetting setting)
{
    const auto number = [](const auto& value) {
        return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
    };
    switch (setting) {
    case RunSetting::LearningRate: return run.learningRate;
    case RunSetting::Batch: return number(run.batch);
    case RunSetting::Width: return number(run.width);
    case RunSetting::Warmup: return run.warmup;
    case RunSetting::WeightDecay: return run.weightDecay;
    case RunSetting::Clip: return run.clip;
    case RunSetting::Loss: return run.finalLoss();
    }
    return std::nullopt;
}

bool endedWithALoss(const compare::RunCurves& run)
{
    return run.finalLoss() && std::none_of(run.spikes.begin(), run.spikes.end(),
                                           [](const compare::LossSpike& spike) { return !spike.loss; });
}

double distanceTo(QPointF at, QPointF a, QPointF b)
{
    const QPointF along = b - a, from = at - a;
    const double length = QPointF::dotProduct(along, along);
    const double share = length > 0 ? std::clamp(QPointF::dotProduct(from, along) / length, 0.0, 1.0) : 0;
    const QPointF apart = from - share * along;
    return std::sqrt(QPointF::dotProduct(apart, apart));
}

} // namespace

std::vector<RunCoordinate> runCoordinates(const RunList& list, const std::vector<bool>& shown)
{
    constexpr std::array kSettings = {RunSetting::LearningRate, RunSetting::Batch,       RunSetting::Width,
                                      RunSetting::Warmup,       RunSetting::WeightDecay, RunSetting::Clip,
                                      RunSetting::Loss};
    std::vector<RunCoordinate> coordinates;
    for (const RunSetting setting : kSettings) {
        RunCoordinate axis;
        axis.setting = setting;
        bool any = false;
        for (std::size_t i = 0; i < list.runs.size(); ++i) {
            const compare::RunCurves& run = list.runs[i].curves;
            axis.places.push_back(shown[i] && endedWithALoss(run) ? settingOf(run, setting) : std::nullopt);
            const auto& value = axis.places.back();
            if (!value) continue;
            axis.low = any ? std::min(axis.low, *value) : *value;
            axis.high = any ? std::max(axis.high, *value) : *value;
            any = true;
        }
        if (!any || (axis.low == axis.high && setting != RunSetting::Loss)) continue;
        axis.log = setting != RunSetting::Loss && axis.low > 0 && axis.high > 3 * axis.low;
        const auto scaled = [&axis](double value) { return axis.log ? std::log(value) : value; };
        const double span = scaled(axis.high) - scaled(axis.low);
        for (std::optional<double>& place : axis.places)
            if (place) place = span > 0 ? (scaled(*place) - scaled(axis.low)) / span : 0.5;
        coordinates.push_back(std::move(axis));
    }
    if (coordinates.size() < 3) coordinates.clear();
    return coordinates;
}

RunCoordinatePlot::RunCoordinatePlot(QWidget* parent) : QWidget(parent)
{
    setCursor(Qt::PointingHandCursor);
}

void RunCoordinatePlot::setCoordinates(std::vector<RunCoordinate> coordinates, std::vector<bool> chosen)
{
    m_coordinates = std::move(coordinates);
    m_chosen = std::move(chosen);
    update();
}

QRectF RunCoordinatePlot::field() const
{
    return QRectF(rect()).adjusted(kCoordinateSide, kCoordinateTop, -kCoordinateSide, -kCoordinateBottom);
}

double RunCoordinatePlot::across(std::size_t axis) const
{
    const QRectF inside = field();
    return inside.left() + inside.width() * static_cast<double>(axis) /
                               static_cast<double>(std::max<std::size_t>(2, m_coordinates.size()) - 1);
}

std::optional<QPointF> RunCoordinatePlot::pointOf(std::size_t run, std::size_t axis) const
{
    const std::optional<double>& place = m_coordinates[axis].places[run];
    if (!place) return std::nullopt;
    const QRectF inside = field();
    return QPointF(across(axis), inside.bottom() - *place * inside.height());
}

std::vector<std::size_t> RunCoordinatePlot::drawnOrder() const
{
    std::vector<std::size_t> order;
    if (m_coordinates.empty()) return order;
    const auto& losses = m_coordinates.back().places;
    for (std::size_t i = 0; i < losses.size(); ++i)
        if (losses[i]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return *losses[a] > *losses[b]; });
    return order;
}

int RunCoordinatePlot::runAt(QPointF at) const
{
    int found = -1;
    double least = kRunReach;
    for (const std::size_t run : drawnOrder()) {
        std::optional<QPointF> last;
        for (std::size_t axis = 0; axis < m_coordinates.size(); ++axis) {
            const std::optional<QPointF> point = pointOf(run, axis);
            if (last && point && distanceTo(at, *last, *point) <= least) {
                least = distanceTo(at, *last, *point);
                found = static_cast<int>(run);
            }
            if (point) last = point;
        }
    }
    return found;
}

void RunCoordinatePlot::mousePressEvent(QMouseEvent* event)
{
    if (const int run = runAt(event->position()); run >= 0) emit runChosen(run);
}

void RunCoordinatePlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    if (m_coordinates.empty()) return;
    const Theme& theme = currentTheme();
    const QRectF inside = field();
    painter.setRenderHint(QPainter::Antialiasing);
    const std::vector<std::size_t> order = drawnOrder();
    const bool anyChosen = std::find(m_chosen.begin(), m_chosen.end(), true) != m_chosen.end();
    const std::size_t best =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kBestShare * static_cast<double>(order.size()))));
    for (std::size_t i = 0; i < order.size(); ++i) {
        const bool stands = anyChosen ? m_chosen[order[i]] : i + best >= order.size();
        QColor ink = stands ? theme.accent : theme.secondaryText;
        if (!stands) ink.setAlphaF(0.35F);
        painter.setPen(QPen(ink, stands ? 2 : 1));
        QPolygonF line;
        for (std::size_t axis = 0; axis < m_coordinates.size(); ++axis)
            if (const auto point = pointOf(order[i], axis)) line << *point;
        painter.drawPolyline(line);
    }
    painter.setFont(fontOf(TextRole::Small));
    for (std::size_t axis = 0; axis < m_coordinates.size(); ++axis) {
        const RunCoordinate& shown = m_coordinates[axis];
        const double x = across(axis);
        painter.setPen(QPen(theme.line, 1.5));
        painter.drawLine(QPointF(x, inside.top()), QPointF(x, inside.bottom()));
        const double half = std::max(40.0, inside.width() / static_cast<double>(m_coordinates.size()) / 2);
        const auto write = [&](double y, const QString& text, const QColor& ink) {
            painter.setPen(ink);
            painter.drawText(QRectF(x - half, y, 2 * half, 16), Qt::AlignHCenter | Qt::AlignVCenter, text);
        };
        write(inside.top() - 18, QString::number(shown.high, 'g', 3), theme.secondaryText);
        write(inside.bottom() + 2, QString::number(shown.low, 'g', 3), theme.secondaryText);
        write(inside.bottom() + (axis % 2 == 0 ? 17 : 32), wordsOf(shown.setting),
              theme.text); // in turns: names are long
    }
}

} // namespace fourwalls::views
