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

using cost::SimulatedPart;

bool isWaiting(SimulatedPart part)
{
    return part == SimulatedPart::PipelineWait || part == SimulatedPart::OptimizerWait;
}

QColor partColour(const Theme& theme, SimulatedPart part)
{
    switch (part) {
    case SimulatedPart::Forward: return colourOf(theme, Phase::Forward);
    case SimulatedPart::Recompute: return colourOf(theme, Phase::Recompute);
    case SimulatedPart::BackwardInput: return colourOf(theme, Phase::BackwardInput);
    case SimulatedPart::BackwardWeight: return colourOf(theme, Phase::BackwardWeight);
    case SimulatedPart::Optimizer: return colourOf(theme, Phase::Optimizer);
    case SimulatedPart::Send:
    case SimulatedPart::Receive:
    case SimulatedPart::GradientSync: return theme.communication;
    case SimulatedPart::Fixed: return theme.otherCompute;
    default: return theme.communication; // what ranks agree on before the optimizer
    }
}

QString partWords(SimulatedPart part)
{
    switch (part) {
    case SimulatedPart::Fixed: return Words::tr("outside of the network");
    case SimulatedPart::Forward: return views::words(Phase::Forward);
    case SimulatedPart::Recompute: return views::words(Phase::Recompute);
    case SimulatedPart::BackwardInput: return views::words(Phase::BackwardInput);
    case SimulatedPart::BackwardWeight: return views::words(Phase::BackwardWeight);
    case SimulatedPart::Send: return Words::tr("sending");
    case SimulatedPart::Receive: return Words::tr("receiving");
    case SimulatedPart::PipelineWait: return Words::tr("waiting for a neighbour");
    case SimulatedPart::GradientSync: return views::words(Phase::GradientSync);
    case SimulatedPart::OptimizerWait: return Words::tr("waiting for the other stages");
    case SimulatedPart::Optimizer: return views::words(Phase::Optimizer);
    default: return views::words(Phase::GradientSync);
    }
}

} // namespace

void PredictionStrip::set(std::shared_ptr<const cost::PredictedStep> prediction, int stage,
                          std::shared_ptr<const StepSpans> steps)
{
    m_prediction = std::move(prediction);
    m_stage = stage;
    m_steps = std::move(steps);
}

const cost::SimulatedStage* PredictionStrip::stage() const
{
    if (!m_prediction || m_prediction->step.stages.empty()) return nullptr;
    const auto last = static_cast<int>(m_prediction->step.stages.size()) - 1;
    return &m_prediction->step.stages[static_cast<std::size_t>(std::clamp(m_stage, 0, last))];
}

Instant PredictionStrip::placed(Instant begin, double seconds)
{
    constexpr double kLongest = 1e9; // of what a timeline can hold [s]
    return begin + Duration::fromSeconds(std::clamp(seconds, 0.0, kLongest));
}

TimeRange PredictionStrip::rangeOf(std::size_t step) const
{
    const Instant begin = (*m_steps)[step].range.begin;
    Instant end = placed(begin, m_prediction->step.seconds);
    if (step + 1 < m_steps->size()) end = std::min(end, (*m_steps)[step + 1].range.begin);
    return {begin, std::max(begin, end)};
}

std::optional<double> PredictionStrip::difference() const
{
    if (!isShown() || !m_stepTime || m_stepTime->ns <= 0) return std::nullopt;
    return m_prediction->step.seconds / m_stepTime->seconds() - 1;
}

std::optional<PredictedBar> PredictionStrip::barAt(Instant at) const
{
    const cost::SimulatedStage* shown = stage();
    if (!shown || !isShown()) return std::nullopt;
    const auto after = std::upper_bound(m_steps->begin(), m_steps->end(), at,
                                        [](Instant value, const StepSpan& step) { return value < step.range.begin; });
    if (after == m_steps->begin()) return std::nullopt;
    const auto index = static_cast<std::size_t>(after - m_steps->begin()) - 1;
    const TimeRange whole = rangeOf(index);
    if (at >= whole.end) return std::nullopt;
    const double seconds = static_cast<double>((at - whole.begin).ns) * 1e-9;
    const auto& intervals = shown->intervals;
    const auto found =
        std::upper_bound(intervals.begin(), intervals.end(), seconds,
                         [](double value, const cost::SimulatedInterval& each) { return value < each.end; });
    if (found == intervals.end() || found->start > seconds) return std::nullopt;
    PredictedBar bar;
    const Instant end = placed(whole.begin, found->end);
    bar.range = {placed(whole.begin, found->start), std::min(end, whole.end)};
    bar.cut = end > whole.end;
    bar.part = found->part;
    bar.microbatch = found->microbatch;
    return bar;
}

void PredictionStrip::render(const TimeCamera& camera, QSize size, double ratio, const Theme& theme)
{
    const QSize pixels = (QSizeF(size) * ratio).toSize();
    if (m_image.size() != pixels) m_image = QImage(pixels, QImage::Format_RGB32);
    if (m_image.isNull()) return;
    m_image.setDevicePixelRatio(ratio);
    m_image.fill(theme.card.rgb());
    const cost::SimulatedStage* shown = stage();
    if (!shown || !isShown()) return;
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
        const auto& intervals = shown->intervals;
        const double seconds = static_cast<double>((visible.begin - whole.begin).ns) * 1e-9;
        auto each = std::upper_bound(intervals.begin(), intervals.end(), seconds,
                                     [](double value, const cost::SimulatedInterval& one) { return value < one.end; });
        int drawn = -1; // last pixel that has a bar: many short passes are one column
        for (; each != intervals.end(); ++each) {
            const double x0 = camera.xOf(placed(whole.begin, each->start));
            const double x1 = std::min(right, camera.xOf(placed(whole.begin, each->end)));
            if (x0 > std::min(width, right)) break;
            const int begin = std::max(drawn, static_cast<int>(std::lround(std::max(-1.0, x0))));
            const int end = std::max(begin + 1, static_cast<int>(std::lround(std::min(width + 1, x1))));
            if (x1 < drawn) continue;
            drawn = end;
            // One pixel between bars that are wide enough to be told apart.
            const QRect bar(begin, kPredictedTop, std::max(1, end - begin - (end - begin > 3 ? 1 : 0)),
                            kPredictedHeight);
            if (isWaiting(each->part)) {
                paintHatch(painter, bar, theme);
                continue;
            }
            QColor fill = partColour(theme, each->part);
            constexpr int kGhostly = 150;
            fill.setAlpha(kGhostly);
            painter.fillRect(bar, fill);
            constexpr int kRoomForNumber = 16;
            if (each->microbatch >= 0 && bar.width() >= kRoomForNumber) {
                painter.setFont(fontOf(TextRole::Small));
                painter.setPen(theme.text);
                painter.drawText(bar, Qt::AlignCenter, QString::number(each->microbatch));
            }
        }
        painter.setPen(outline);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(
            QRectF(left + 0.5, kPredictedTop - 3.5, std::max(1.0, right - left - 1), kPredictedHeight + 6));
    }
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
    const QString heading = Words::tr("predicted · stage %1")
                                .arg(std::clamp(m_stage, 0, static_cast<int>(m_prediction->step.stages.size()) - 1));
    painter.drawText(upper, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(heading + m_note, Qt::ElideRight, upper.width()));
    QString figure = formatDuration(Duration::fromSeconds(std::clamp(m_prediction->step.seconds, 0.0, 1e9)), 3);
    if (const auto more = difference()) figure += QStringLiteral(" (%1)").arg(formatChange(*more));
    painter.setFont(fontOf(TextRole::Small));
    painter.setPen(theme.secondaryText);
    painter.drawText(upper.translated(0, upper.height()), Qt::AlignLeft | Qt::AlignVCenter, figure);
}

QStringList PredictionStrip::readout(Instant at) const
{
    const auto bar = barAt(at);
    if (!bar) return {};
    QStringList lines{Words::tr("predicted: %1").arg(partWords(bar->part)) + m_note};
    QStringList facts{formatDuration(bar->range.length())};
    if (bar->microbatch >= 0) facts << Words::tr("micro-batch %1").arg(bar->microbatch);
    if (bar->cut) facts << Words::tr("goes on where the next recorded step begins");
    lines << facts.join(QStringLiteral(" · "));
    return lines;
}

} // namespace fourwalls::views
