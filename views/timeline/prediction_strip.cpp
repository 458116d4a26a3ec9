// SPDX-License-Identifier: GPL-3.0-or-later
// See prediction_strip.h.
#include "views/timeline/prediction_strip.h"

#include "views/words/format.h"
#include "views/words/words.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

struct Words {
    Q_DECLARE_TR_FUNCTIONS(PredictionStrip)
};

constexpr int kPredictedTop = 8, kPredictedHeight = 24;
constexpr std::size_t kMostStepsShown = 400; ///< more on one screen are a few pixels each

QColor workColour(const Theme& theme, const DrawnInterval& work)
{
    if (work.kind != SliceKind::Phase) return theme.communication; // with what ranks agree on before the optimizer
    return work.phase == Phase::None ? theme.otherCompute : colourOf(theme, work.phase);
}

QString workWords(const DrawnInterval& work)
{
    const bool isMessage = work.activity == Activity::PipelineTransfer;
    switch (work.kind) {
    case SliceKind::Phase:
        if (work.phase != Phase::None) return views::words(work.phase);
        return work.activity == Activity::Synchronisation ? Words::tr("outside of the network")
                                                          : views::words(work.activity);
    case SliceKind::Wait:
        if (isMessage) return Words::tr("receiving");
        if (work.activity == Activity::PipelineWait) return Words::tr("waiting for a neighbour");
        return work.phase == Phase::Optimizer ? Words::tr("waiting for the other ranks") : views::words(work.activity);
    default:
        if (isMessage) return Words::tr("sending");
        return views::words(work.phase == Phase::None ? Phase::GradientSync : work.phase);
    }
}

/// The first interval that ends after an instant of the predicted step.
std::vector<DrawnInterval>::const_iterator firstAfter(const DrawnLane& lane, Instant at)
{
    return std::upper_bound(lane.intervals.begin(), lane.intervals.end(), at,
                            [](Instant value, const DrawnInterval& each) { return value < each.range.end; });
}

} // namespace

void PredictionStrip::set(StripGhost ghost, std::shared_ptr<const StepSpans> steps)
{
    m_ghost = std::move(ghost);
    m_steps = std::move(steps);
}

const DrawnLane* PredictionStrip::lane() const
{
    return isShown() ? m_ghost.step->laneOf(m_ghost.rank, m_ghost.stage) : nullptr;
}

TimeRange PredictionStrip::rangeOf(std::size_t step) const
{
    const Instant begin = (*m_steps)[step].range.begin;
    Instant end = begin + m_ghost.step->length;
    if (step + 1 < m_steps->size()) end = std::min(end, (*m_steps)[step + 1].range.begin);
    return {begin, std::max(begin, end)};
}

std::optional<double> PredictionStrip::difference() const
{
    if (!isShown() || !m_stepTime || m_stepTime->ns <= 0) return std::nullopt;
    return m_ghost.step->length.seconds() / m_stepTime->seconds() - 1;
}

std::optional<PredictedBar> PredictionStrip::barAt(Instant at) const
{
    const DrawnLane* lane = this->lane();
    if (!lane) return std::nullopt;
    const auto after = std::upper_bound(m_steps->begin(), m_steps->end(), at,
                                        [](Instant value, const StepSpan& step) { return value < step.range.begin; });
    if (after == m_steps->begin()) return std::nullopt;
    const auto index = static_cast<std::size_t>(after - m_steps->begin()) - 1;
    const TimeRange whole = rangeOf(index);
    if (at >= whole.end) return std::nullopt;
    // From the step's begin of all ranks on, as the lane's times are.
    const Duration offset = whole.begin - lane->step.begin;
    const Instant inStep = Instant{} + (at - (Instant{} + offset));
    const auto found = firstAfter(*lane, inStep);
    if (found == lane->intervals.end() || found->range.begin > inStep) return std::nullopt;
    PredictedBar bar;
    const Instant end = found->range.end + offset;
    bar.range = {found->range.begin + offset, std::min(end, whole.end)};
    bar.cut = end > whole.end;
    bar.work = *found;
    return bar;
}

void PredictionStrip::render(const TimeCamera& camera, QSize size, double ratio, const Theme& theme)
{
    const QSize pixels = (QSizeF(size) * ratio).toSize();
    if (m_image.size() != pixels) m_image = QImage(pixels, QImage::Format_RGB32);
    if (m_image.isNull()) return;
    m_image.setDevicePixelRatio(ratio);
    m_image.fill(theme.card.rgb());
    const DrawnLane* lane = this->lane();
    if (!lane) return;
    QPainter painter(&m_image);
    const TimeRange visible = camera.range();
    const auto after = std::upper_bound(m_steps->begin(), m_steps->end(), visible.end,
                                        [](Instant value, const StepSpan& step) { return value < step.range.begin; });
    auto last = static_cast<std::size_t>(after - m_steps->begin());
    const auto from = std::upper_bound(m_steps->begin(), m_steps->end(), visible.begin,
                                       [](Instant value, const StepSpan& step) { return value < step.range.begin; });
    const std::size_t first = from == m_steps->begin() ? 0 : static_cast<std::size_t>(from - m_steps->begin()) - 1;
    const bool onlyHulls = last - first > kMostStepsShown;
    const double width = size.width();
    QPen outline(theme.prediction, 1.2);
    outline.setDashPattern({4, 3});
    double free = -1; // right end of the last hull: steps of a pixel are one line
    for (std::size_t i = first; i < last; ++i) {
        const TimeRange whole = rangeOf(i);
        const double left = camera.xOf(whole.begin), right = camera.xOf(whole.end);
        if (right < 0 || left > width || right < free + 1) continue;
        free = right;
        if (onlyHulls || right - left < 3) {
            painter.fillRect(QRectF(left, kPredictedTop + kPredictedHeight / 2.0 - 1, std::max(1.0, right - left), 2),
                             theme.prediction);
            continue;
        }
        const Duration offset = whole.begin - lane->step.begin;
        auto each = firstAfter(*lane, visible.begin - offset);
        int drawn = -1; // last pixel that has a bar: many short passes are one column
        for (; each != lane->intervals.end(); ++each) {
            const double x0 = camera.xOf(each->range.begin + offset);
            const double x1 = std::min(right, camera.xOf(each->range.end + offset));
            if (x0 > std::min(width, right)) break;
            const int begin = std::max(drawn, static_cast<int>(std::lround(std::max(-1.0, x0))));
            const int end = std::max(begin + 1, static_cast<int>(std::lround(std::min(width + 1, x1))));
            if (x1 < drawn) continue;
            drawn = end;
            // One pixel between bars that are wide enough to be told apart.
            const QRect bar(begin, kPredictedTop, std::max(1, end - begin - (end - begin > 3 ? 1 : 0)),
                            kPredictedHeight);
            if (isIdle(*each)) {
                paintHatch(painter, bar, theme);
                continue;
            }
            QColor fill = workColour(theme, *each);
            constexpr int kGhostly = 150;
            fill.setAlpha(kGhostly);
            painter.fillRect(bar, fill);
            constexpr int kRoomForNumber = 16;
            if (each->microbatch && bar.width() >= kRoomForNumber) {
                painter.setFont(fontOf(TextRole::Small));
                painter.setPen(theme.text);
                painter.drawText(bar, Qt::AlignCenter, QString::number(each->microbatch->value));
            }
        }
        painter.setPen(outline);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(
            QRectF(left + 0.5, kPredictedTop - 3.5, std::max(1.0, right - left - 1), kPredictedHeight + 6));
    }
}

QString PredictionStrip::whose() const
{
    const DrawnLane* lane = this->lane();
    if (!lane) return {};
    return m_ghost.step->byRank ? Words::tr("rank %1").arg(lane->rank.value) : Words::tr("stage %1").arg(lane->stage);
}

QString PredictionStrip::figure() const
{
    const QString length = formatDuration(m_ghost.step->length, 3);
    const std::optional<double> more = difference();
    return more ? length + QStringLiteral(" (%1)").arg(formatChange(*more)) : length;
}

QString PredictionStrip::label() const
{
    if (!isShown()) return {};
    QStringList parts{m_ghost.name + m_ghost.note, figure()};
    if (!whose().isEmpty()) parts.insert(1, whose());
    return parts.join(QStringLiteral(" · "));
}

void PredictionStrip::paintLabels(QPainter& painter, const QRect& rect, const Theme& theme) const
{
    if (!isShown()) return;
    QFont bold = fontOf(TextRole::Small);
    bold.setWeight(QFont::Bold);
    const QRect place = rect.adjusted(18, 4, -8, -4);
    const QRect upper(place.left(), place.top(), place.width(), place.height() / 2);
    painter.setFont(bold);
    painter.setPen(theme.prediction);
    // Which step it is, and what it rests on, before whose it is: the rows above say that, too.
    QString heading = m_ghost.name + m_ghost.note;
    if (painter.fontMetrics().horizontalAdvance(heading) > upper.width())
        heading = heading.section(QStringLiteral(" · "), 0, 1); // which step it is stays whole
    painter.drawText(upper, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(heading, Qt::ElideRight, upper.width()));
    QString below = figure();
    painter.setFont(fontOf(TextRole::Small));
    const QString whole = whose() + QStringLiteral(" · ") + below;
    if (!whose().isEmpty() && painter.fontMetrics().horizontalAdvance(whole) <= upper.width()) below = whole;
    painter.setPen(theme.secondaryText);
    painter.drawText(upper.translated(0, upper.height()), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(below, Qt::ElideRight, upper.width()));
}

QStringList PredictionStrip::readout(Instant at) const
{
    const auto bar = barAt(at);
    if (!bar) return {};
    QStringList lines{m_ghost.name + QStringLiteral(": ") + workWords(bar->work) + m_ghost.note};
    QStringList facts{formatDuration(bar->range.length())};
    if (bar->work.microbatch) facts << Words::tr("micro-batch %1").arg(bar->work.microbatch->value);
    if (bar->cut) facts << Words::tr("goes on where the next recorded step begins");
    lines << facts.join(QStringLiteral(" · "));
    return lines;
}

} // namespace fourwalls::views
