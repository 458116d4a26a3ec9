// SPDX-License-Identifier: GPL-3.0-or-later
// See pipeline_plot.h.
#include "views/pipeline/pipeline_plot.h"

#include "views/plot/paper.h"
#include "views/plot/plot_blocks.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr double kMostLaneHeight = 46, kLaneGapShare = 0.16;
constexpr double kLeastNumbered = 9, kLeastNumberedHeight = 9;
/// Pieces narrower than this on average are drawn as shares, one above the other: they would be a bar code.
constexpr double kLeastPiece = 5;
constexpr int kLaterChunkWeight = 70; ///< of 255: how much lighter the passes of every second chunk are

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto mix = [&](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * share)); };
    return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

QString passWords(const StagePass& pass)
{
    if (pass.phase == Phase::BackwardInput && pass.withWeights) return PipelinePlot::tr("backward");
    return words(pass.phase);
}

} // namespace

QColor microbatchColour(Microbatch microbatch, bool dark)
{
    // The golden angle: neighbours are far apart, and no two of the first dozen look alike.
    const int hue = static_cast<int>(std::fmod(210.0 + 137.508 * microbatch.value, 360.0));
    return QColor::fromHsl(std::clamp(hue, 0, 359), 120, dark ? 120 : 130);
}

PipelinePlot::PipelinePlot(QWidget* parent) : TimePlot(parent), m_texts(fontOf(TextRole::Small))
{
    setAccessibleName(tr("Pipeline stages over time"));
}

void PipelinePlot::setPicture(std::shared_ptr<const PipelinePicture> picture, Duration shift)
{
    if (m_picture == picture && m_shift == shift) return;
    m_picture = std::move(picture);
    m_shift = shift;
    m_selected = {};
    invalidate();
}

void PipelinePlot::setPredicted(bool predicted)
{
    m_predicted = predicted;
    invalidate();
}

void PipelinePlot::setColours(PassColours colours)
{
    m_colours = colours;
    invalidate();
}

void PipelinePlot::setSelected(PassPlace place)
{
    m_selected = place;
    tellCurrent(*this);
    update();
}

void PipelinePlot::setHighlighted(std::optional<Microbatch> microbatch)
{
    if (m_highlighted == microbatch) return;
    m_highlighted = microbatch;
    update();
}

const StagePass* PipelinePlot::pass(PassPlace place) const
{
    if (!m_picture || !place.isValid() || place.lane >= static_cast<int>(m_picture->lanes.size())) return nullptr;
    const StageLane& lane = m_picture->lanes[static_cast<std::size_t>(place.lane)];
    return place.pass < static_cast<int>(lane.passes.size()) ? &lane.passes[static_cast<std::size_t>(place.pass)]
                                                             : nullptr;
}

PipelinePlot::Lane PipelinePlot::laneBox(int lane) const
{
    const QRectF inside = plotRect();
    const auto count = m_picture ? std::max<std::size_t>(1, m_picture->lanes.size()) : 1;
    const double pitch = std::min(inside.height() / static_cast<double>(count), kMostLaneHeight);
    const double gap = std::min(6.0, pitch * kLaneGapShare);
    return {inside.top() + pitch * lane + gap / 2, std::max(2.0, pitch - gap)};
}

QRectF PipelinePlot::boxOf(PassPlace place) const
{
    const StagePass* found = pass(place);
    if (!found) return {};
    const Lane lane = laneBox(place.lane);
    return {QPointF(xOfPass(found->range.begin), lane.top), QPointF(xOfPass(found->range.end), lane.top + lane.height)};
}

PassPlace PipelinePlot::placeAt(QPointF where) const
{
    if (!m_picture || !plotRect().contains(where)) return {};
    for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
        const Lane box = laneBox(static_cast<int>(i));
        if (where.y() < box.top || where.y() >= box.top + box.height) continue;
        const std::vector<StagePass>& passes = m_picture->lanes[i].passes;
        const Instant at = instantAt(where.x()) - m_shift;
        auto after = std::partition_point(passes.begin(), passes.end(),
                                          [at](const StagePass& pass) { return pass.range.begin <= at; });
        // Passes of damaged or overlapping recordings may lie under one another: the latest begun counts.
        for (int tries = 0; after != passes.begin() && tries < 4; ++tries) {
            --after;
            if (after->range.contains(at)) return {static_cast<int>(i), static_cast<int>(after - passes.begin())};
        }
        return {static_cast<int>(i), -1};
    }
    return {};
}

QColor PipelinePlot::fillOf(const StagePass& pass, Phase phase) const
{
    const Theme& t = currentTheme();
    QColor fill = colourOf(t, phase);
    if (m_colours == PassColours::ByMicrobatch && pass.microbatch) {
        fill = microbatchColour(*pass.microbatch, t.dark);
        if (phase == Phase::BackwardInput) fill = mixed(fill, t.dark ? QColor(Qt::black) : QColor(Qt::white), 0.28);
        if (phase == Phase::BackwardWeight) fill = mixed(fill, t.dark ? QColor(Qt::black) : QColor(Qt::white), 0.5);
        if (phase == Phase::Recompute) fill = mixed(fill, colourOf(t, phase), 0.6);
    }
    return pass.chunk % 2 == 1 ? mixed(fill, t.card, kLaterChunkWeight / 255.0) : fill;
}

void PipelinePlot::paintPasses(QImage& image, const QRectF& inside, double ratio)
{
    const Theme& t = currentTheme();
    BlockPainter blocks(image, t.card.rgb());
    // All passes are drawn in one manner: passes that last about as long must not look different.
    const bool piecewise = std::ranges::all_of(m_picture->lanes, [&](const StageLane& each) {
        return std::ranges::all_of(each.passes, [&](const StagePass& pass) {
            const double width = xOfPass(pass.range.end) - xOfPass(pass.range.begin);
            return pass.pieces.size() <= 3 || width >= kLeastPiece * static_cast<double>(pass.pieces.size());
        });
    });
    for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
        const Lane lane = laneBox(static_cast<int>(i));
        const double top = (lane.top - inside.top()) * ratio, height = lane.height * ratio;
        const auto fill = [&](double from, double to, double share, double until, const QColor& colour) {
            const double left = (from - inside.left()) * ratio, right = (to - inside.left()) * ratio;
            blocks.fill(QRectF(QPointF(left, std::round(top + height * share)),
                               QPointF(right, std::round(top + height * until))),
                        colour.rgb());
        };
        const auto across = [&](Instant at) { return inside.left() + camera().xOf(at + m_shift); };
        for (const StagePass& pass : m_picture->lanes[i].passes) {
            const double from = across(pass.range.begin), to = across(pass.range.end);
            if (to < inside.left() || from > inside.right()) continue;
            const bool showsPieces = !pass.pieces.empty() && (piecewise || pass.pieces.size() <= 3);
            if (showsPieces && (to - from) >= kLeastPiece) {
                for (const PassPiece& piece : pass.pieces)
                    fill(across(piece.range.begin), across(piece.range.end), 0, 1, fillOf(pass, piece.phase));
            } else {
                // Recomputation above, the weight gradient below, as much of the height as of the time.
                fill(from, to, 0, 1, fillOf(pass, pass.phase));
                if (pass.recompute > 0) fill(from, to, 0, pass.recompute, fillOf(pass, Phase::Recompute));
                if (pass.weight > 0) fill(from, to, 1 - pass.weight, 1, fillOf(pass, Phase::BackwardWeight));
            }
        }
    }
}

void PipelinePlot::paintNumbers(QPainter& painter, const QRectF& inside)
{
    for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
        const Lane lane = laneBox(static_cast<int>(i));
        if (lane.height < kLeastNumberedHeight) return;
        for (const StagePass& pass : m_picture->lanes[i].passes) {
            if (!pass.microbatch) continue;
            const double from = std::max(xOfPass(pass.range.begin), inside.left());
            const double to = std::min(xOfPass(pass.range.end), inside.right());
            const double width = to - from;
            if (width < kLeastNumbered) continue;
            const ShapedText& number = m_texts.shaped(QString::number(pass.microbatch->value));
            if (number.width() + 3 > width) continue;
            const Phase shown = pass.recompute > 0.5 ? Phase::Recompute : pass.phase;
            painter.setPen(textOn(fillOf(pass, pass.pieces.empty() ? shown : pass.pieces.front().phase)));
            const double left = width > number.width() + 12 ? from + 5 : from + (width - number.width()) / 2;
            m_texts.draw(painter, static_cast<float>(left), static_cast<float>(lane.top + lane.height / 2),
                         static_cast<float>(width), QString::number(pass.microbatch->value));
        }
    }
}

void PipelinePlot::paintLanes(QPainter& painter)
{
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const std::optional<TimeRange> window = m_picture->window;
    const QFontMetricsF metrics(painter.font());
    for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
        const Lane lane = laneBox(static_cast<int>(i));
        if (window) {
            const double left = std::max(inside.left(), xOfPass(window->begin));
            const double right = std::min(inside.right(), xOfPass(window->end));
            if (right > left)
                paintHatch(painter,
                           QRectF(std::round(left), std::round(lane.top), std::round(right) - std::round(left),
                                  std::round(lane.top + lane.height) - std::round(lane.top)),
                           t);
        }
        if (lane.height < metrics.height() - 5 && i % 2 == 1) continue; // names of low lanes would overlap
        painter.setPen(t.text);
        // Where the word has no room the number says enough.
        QString name = tr("stage %1").arg(m_picture->lanes[i].stage);
        if (metrics.horizontalAdvance(name) > inside.left() - 6) name = QString::number(m_picture->lanes[i].stage);
        painter.drawText(QRectF(0, lane.top - 4, inside.left() - 6, lane.height + 8), Qt::AlignRight | Qt::AlignVCenter,
                         name);
    }
}

void PipelinePlot::paintPlot(QPainter& painter)
{
    if (!m_picture || m_picture->lanes.empty()) return;
    const Theme& t = currentTheme();
    const QRectF inside = plotRect();
    paintLanes(painter);
    const double ratio = imageRatio(painter, *this);
    QImage image((inside.size() * ratio).toSize().expandedTo({1, 1}), QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    paintPasses(image, inside, ratio);
    image.setDevicePixelRatio(ratio);
    painter.drawImage(inside.topLeft(), image);
    paintNumbers(painter, inside);
    if (m_predicted) {
        QPen pen(t.prediction, 1.4);
        pen.setDashPattern({4, 3});
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        // The window of the prediction, so that its end can be compared with the recording above.
        if (m_picture->window) {
            const Lane first = laneBox(0), last = laneBox(static_cast<int>(m_picture->lanes.size()) - 1);
            for (const Instant at : {m_picture->window->begin, m_picture->window->end}) {
                const double x = std::floor(xOfPass(at)) + 0.5;
                if (x >= inside.left() - 1 && x <= inside.right() + 1)
                    painter.drawLine(QPointF(x, first.top - 3), QPointF(x, last.top + last.height + 3));
            }
        }
    }
}

void PipelinePlot::outline(QPainter& painter, PassPlace place, const QPen& pen) const
{
    const QRectF box = boxOf(place).intersected(plotRect());
    if (box.width() < 1) return;
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

void PipelinePlot::pointerMoved()
{
    const StagePass* under = hover() ? pass(placeAt(*hover())) : nullptr;
    const std::optional<Microbatch> microbatch = under ? under->microbatch : std::nullopt;
    if (microbatch == m_highlighted) return;
    m_highlighted = microbatch;
    emit microbatchHovered(microbatch);
}

int PipelinePlot::spokenParts() const
{
    std::size_t parts = 0;
    if (m_picture)
        for (const StageLane& lane : m_picture->lanes) parts += lane.passes.size();
    return static_cast<int>(parts);
}

PassPlace PipelinePlot::placeOf(int part) const
{
    for (std::size_t lane = 0; m_picture && lane < m_picture->lanes.size(); ++lane) {
        const auto passes = static_cast<int>(m_picture->lanes[lane].passes.size());
        if (part < passes) return {static_cast<int>(lane), part};
        part -= passes;
    }
    return {};
}

QString PipelinePlot::spokenText(int part) const
{
    QStringList lines = describe(placeOf(part));
    if (const StagePass* found = pass(placeOf(part))) lines << formatDuration(found->range.length());
    return lines.join(QStringLiteral(", "));
}

QRect PipelinePlot::spokenPlace(int part) const
{
    return boxOf(placeOf(part)).intersected(plotRect()).toAlignedRect();
}

int PipelinePlot::spokenCurrent() const
{
    if (!pass(m_selected)) return -1;
    int part = m_selected.pass;
    for (int lane = 0; lane < m_selected.lane; ++lane)
        part += static_cast<int>(m_picture->lanes[static_cast<std::size_t>(lane)].passes.size());
    return part;
}

QStringList PipelinePlot::describe(PassPlace place) const
{
    const StagePass* found = pass(place);
    if (!found) return {};
    const StageLane& lane = m_picture->lanes[static_cast<std::size_t>(place.lane)];
    QStringList lines;
    lines << (found->microbatch ? tr("micro-batch %1 · %2").arg(found->microbatch->value).arg(passWords(*found))
                                : passWords(*found));
    lines << tr("stage %1 · rank %2").arg(lane.stage).arg(lane.rank.value);
    if (m_picture->chunks > 1 && found->microbatch)
        lines.last() += QStringLiteral(" · ") + tr("chunk %1 of %2").arg(found->chunk + 1).arg(m_picture->chunks);
    return lines;
}

void PipelinePlot::readBubble(QPainter& painter, QPointF at) const
{
    const PassPlace place = placeAt(at);
    if (place.lane < 0 || !m_picture->window) return;
    const Instant instant = instantAt(at.x()) - m_shift;
    if (!m_picture->window->contains(instant)) return;
    TimeRange gap = *m_picture->window;
    const StageLane& lane = m_picture->lanes[static_cast<std::size_t>(place.lane)];
    for (const StagePass& pass : lane.passes) {
        if (pass.range.end <= instant) gap.begin = std::max(gap.begin, pass.range.end);
        if (pass.range.begin > instant) {
            gap.end = std::min(gap.end, pass.range.begin);
            break;
        }
    }
    paintReadout(painter, at,
                 {{{}, m_picture->bubble() ? tr("bubble") : tr("waiting or empty"), formatDuration(gap.length(), 3)},
                  {{}, tr("stage %1 · rank %2").arg(lane.stage).arg(lane.rank.value), {}},
                  {{},
                   tr("of the pipeline window"),
                   formatPercent(static_cast<double>(gap.length().ns) /
                                 static_cast<double>(std::max<std::int64_t>(1, m_picture->window->length().ns)))}});
}

void PipelinePlot::paintHover(QPainter& painter)
{
    if (!m_picture) return;
    const Theme& t = currentTheme();
    if (m_highlighted) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        for (std::size_t i = 0; i < m_picture->lanes.size(); ++i) {
            const std::vector<StagePass>& passes = m_picture->lanes[i].passes;
            for (std::size_t k = 0; k < passes.size(); ++k)
                if (passes[k].microbatch == m_highlighted)
                    outline(painter, {static_cast<int>(i), static_cast<int>(k)}, QPen(t.text, 1));
        }
    }
    if (m_selected.isValid()) outline(painter, m_selected, QPen(t.accent, 3));
    if (!hover()) return;
    const PassPlace place = placeAt(*hover());
    const StagePass* under = pass(place);
    if (!under) return readBubble(painter, *hover());
    const QStringList names = describe(place);
    std::vector<ReadoutLine> lines{{fillOf(*under, under->phase), names.value(0), {}}, {{}, names.value(1), {}}};
    lines.push_back({{}, tr("duration"), formatDuration(under->range.length(), 3)});
    lines.push_back({{}, tr("begins at"), formatDuration(under->range.begin - m_picture->step.range.begin, 4)});
    const auto share = [&](Phase phase, double part) {
        if (part > 0) lines.push_back({fillOf(*under, phase), words(phase), formatPercent(part)});
    };
    if (under->recompute > 0 || under->weight > 0) {
        share(Phase::Recompute, under->recompute);
        share(Phase::BackwardInput, 1 - under->recompute - under->weight);
        share(Phase::BackwardWeight, under->weight);
    }
    const StageLane& lane = m_picture->lanes[static_cast<std::size_t>(place.lane)];
    int alive = 0;
    for (const InFlightStep& step : lane.inFlight)
        if (step.at <= under->range.begin) alive = step.count;
    if (isPipelinePass(*under)) lines.push_back({{}, tr("activations in flight"), QString::number(alive)});
    paintReadout(painter, *hover(), lines);
}

} // namespace fourwalls::views
