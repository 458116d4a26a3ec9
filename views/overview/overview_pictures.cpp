// SPDX-License-Identifier: GPL-3.0-or-later
// The overview's four small plots, as data for MiniPlot.
#include "views/overview/mini_plot.h"
#include "views/overview/overview_view.h"
#include "views/overview/overview_words.h"
#include "views/plot/plot_ticks.h"
#include "views/whatif/what_if.h"
#include "views/words/words.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

/// Above this multiple of what is drawn, a limit would press everything flat: it is drawn out of scale and says so.
constexpr double kFarLimit = 3;
constexpr double kOutOfScale = 0.9;  ///< of the axis: where such a limit stands
constexpr double kBrokenAxis = 0.82; ///< of the axis: where it is broken below such a limit
constexpr int kGhostPoints = 300;

/// Why a card is empty, and the lines that fill it.
QString withAdvice(const QString& why, Lack lack, Recorder recorder)
{
    const QString how = howToRecord({lack}, recorder);
    return how.isEmpty() ? why : why + QLatin1Char('\n') + how;
}

QColor translucent(QColor colour, int alpha)
{
    colour.setAlpha(alpha);
    return colour;
}

/// A vertical axis from 0 with room for `largest` and, where it is not too far, for the limit (0: none); else it is broken
/// below the limit. Returns where the limit stands on it.
double scaleTo(MiniPicture& picture, double largest, double limit)
{
    MiniAxis& axis = picture.y;
    axis.low = 0;
    if (!(limit > 0)) {
        axis.high = largest > 0 ? largest * 1.15 : 1;
        return 0;
    }
    if (limit <= kFarLimit * largest) {
        axis.high = std::max(limit * 1.12, largest * 1.08);
        return limit;
    }
    axis.high = largest > 0 ? largest * 1.35 : limit;
    picture.breakAt = axis.high * kBrokenAxis;
    return axis.high * kOutOfScale;
}

std::vector<QPointF> levelWall(const MiniAxis& x, double level)
{
    return level > 0 ? std::vector<QPointF>{{x.low, level}, {x.high, level}} : std::vector<QPointF>{};
}

QString plainFigure(double value)
{
    return formatFigure(value, 3);
}

struct TimeScale {
    double ns = 1e6;
    QString name = QStringLiteral("ms");
};

TimeScale timeScale(double largestNs)
{
    if (largestNs >= 1e9) return {1e9, QStringLiteral("s")};
    if (largestNs >= 1e6) return {1e6, QStringLiteral("ms")};
    return {1e3, QStringLiteral("µs")};
}

/// The live bytes of the fullest lane, thinned by maximum, from the step's begin.
std::vector<QPointF> ghostCurve(const DrawnStep& drawn, double nsPerUnit, double bytesPerUnit)
{
    std::vector<QPointF> points;
    const auto fullest =
        std::max_element(drawn.lanes.begin(), drawn.lanes.end(),
                         [](const DrawnLane& a, const DrawnLane& b) { return a.peakBytes < b.peakBytes; });
    if (fullest == drawn.lanes.end() || fullest->memory.empty()) return points;
    const std::vector<MemorySample> samples = memoryCurve(*fullest);
    const std::size_t stride = samples.size() / kGhostPoints + 1;
    double last = 0;
    for (std::size_t i = 0; i < samples.size(); i += stride) {
        std::int64_t bytes = 0;
        for (std::size_t k = i; k < std::min(i + stride, samples.size()); ++k)
            bytes = std::max(bytes, samples[k].total());
        const double x = static_cast<double>((samples[i].at - fullest->step.begin).ns) / nsPerUnit;
        if (!points.empty()) points.emplace_back(x, last);
        last = static_cast<double>(bytes) / bytesPerUnit;
        points.emplace_back(x, last);
    }
    points.emplace_back(static_cast<double>(fullest->step.length().ns) / nsPerUnit, last);
    return points;
}

} // namespace

MiniPicture OverviewView::memoryPicture() const
{
    const Theme& t = currentTheme();
    MiniPicture picture;
    if (!m_facts->fullest || m_facts->memory.samples.empty()) {
        if (m_facts->allocator) return allocatorPicture();
        picture.empty = withAdvice(tr("No allocations are in this trace."), Lack::Memory, m_facts->recorder);
        return picture;
    }
    const TimeRange range = m_facts->memory.range;
    const auto& fullest = *m_facts->fullest;
    double largest = 0;
    for (const MemorySample& sample : m_facts->memory.samples)
        largest = std::max(largest, static_cast<double>(sample.total()));
    const std::shared_ptr<const Ghost> ghost = shownGhost();
    double drawn = largest;
    if (ghost) drawn = std::max(drawn, ghost->peakBytes);
    const ByteScale scale = byteScale(drawn, selection()->byteUnit());
    const TimeScale time = timeScale(static_cast<double>(range.length().ns));
    const std::optional<double> capacity =
        fullest.capacityBytes ? std::optional(*fullest.capacityBytes / scale.bytes) : std::nullopt;
    const double wall = scaleTo(picture, drawn / scale.bytes, capacity.value_or(0));
    picture.y.unit = scale.name;
    picture.y.label = plainFigure;
    picture.x.high = std::max(1e-9, static_cast<double>(range.length().ns) / time.ns);
    picture.x.unit = time.name;
    picture.x.label = plainFigure;
    for (const MemorySample& sample : m_facts->memory.samples)
        picture.places.push_back(static_cast<double>((sample.at - range.begin).ns) / time.ns);
    for (int category = 0; category < kMemoryCategoryCount; ++category) {
        MiniArea area;
        area.colour = colourOf(t, static_cast<MemoryCategory>(category));
        bool any = false;
        for (const MemorySample& sample : m_facts->memory.samples) {
            const std::int64_t bytes = sample.bytes[static_cast<std::size_t>(category)];
            any = any || bytes > 0;
            area.values.push_back(static_cast<double>(bytes) / scale.bytes);
        }
        if (any) picture.stack.push_back(std::move(area));
    }
    picture.wall = levelWall(picture.x, wall);
    if (capacity) {
        const QString text = formatBytes(*fullest.capacityBytes, selection()->byteUnit());
        picture.wallNames = {tr("%1 capacity").arg(text), text};
        if (picture.breakAt) picture.wallNames.prepend(tr("%1 capacity, not to scale").arg(text));
    }
    if (ghost)
        picture.lines.push_back({ghostCurve(*ghost->drawn, time.ns, scale.bytes), t.prediction, 1.6, true, false});
    const auto peak =
        std::max_element(m_facts->memory.samples.begin(), m_facts->memory.samples.end(),
                         [](const MemorySample& a, const MemorySample& b) { return a.total() < b.total(); });
    picture.marks.push_back(
        {{static_cast<double>((peak->at - range.begin).ns) / time.ns, static_cast<double>(peak->total()) / scale.bytes},
         formatBytes(static_cast<double>(peak->total()), selection()->byteUnit()),
         t.text,
         false});
    picture.spoken = tr("Memory of rank %1 over one step, peak %2")
                         .arg(fullest.rank.value)
                         .arg(formatBytes(largest, selection()->byteUnit()));
    return picture;
}

/// The profiler's own count of bytes, where it recorded no buffers: a line, from the start of the profile on.
MiniPicture OverviewView::allocatorPicture() const
{
    const Theme& t = currentTheme();
    const AllocatorCurve& curve = *m_facts->allocator;
    MiniPicture picture;
    const TimeRange range = m_facts->step ? m_facts->step->range : session()->info().range;
    const ByteScale scale =
        byteScale(std::max(std::abs(curve.lowest), std::abs(curve.highest)), selection()->byteUnit());
    const TimeScale time = timeScale(static_cast<double>(range.length().ns));
    picture.x.high = std::max(1e-9, static_cast<double>(range.length().ns) / time.ns);
    picture.x.unit = time.name;
    picture.x.label = plainFigure;
    const double span = std::max(1e-9, (curve.highest - std::min(0.0, curve.lowest)) / scale.bytes);
    picture.y.low = curve.lowest < 0 ? curve.lowest / scale.bytes - 0.05 * span : 0;
    picture.y.high = std::max(curve.highest / scale.bytes, picture.y.low) + 0.15 * span;
    picture.y.unit = scale.name;
    if (curve.relative) picture.y.what = tr("%1 since the start").arg(scale.name);
    picture.y.label = plainFigure;
    MiniLine line{{}, colourOf(t, MemoryCategory::Other), 1.6, false, false};
    const CounterSample* top = nullptr;
    for (const CounterSample& sample : curve.samples) {
        const double x = static_cast<double>((sample.at - range.begin).ns) / time.ns;
        if (!line.points.empty()) line.points.emplace_back(x, line.points.back().y());
        line.points.emplace_back(x, sample.max / scale.bytes);
        if (!top || sample.max > top->max) top = &sample;
    }
    if (!line.points.empty()) line.points.emplace_back(picture.x.high, line.points.back().y());
    picture.lines.push_back(std::move(line));
    if (top)
        picture.marks.push_back({{static_cast<double>((top->at - range.begin).ns) / time.ns, top->max / scale.bytes},
                                 curve.relative ? signedBytes(top->max, selection()->byteUnit())
                                                : formatBytes(top->max, selection()->byteUnit()),
                                 t.text,
                                 false});
    picture.spoken = tr("Allocated memory by the profiler's count");
    return picture;
}

MiniPicture OverviewView::linkPicture() const
{
    const Theme& t = currentTheme();
    MiniPicture picture;
    if (m_facts->links.empty()) {
        picture.empty = whyNoRates(*m_facts);
        return picture;
    }
    double largest = 0, least = 1e300, most = 0;
    for (const LinkDot& dot : m_facts->links) {
        largest = std::max(largest, dot.busBytesPerSecond);
        least = std::min(least, dot.payloadBytes);
        most = std::max(most, dot.payloadBytes);
    }
    const double unit = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : 1e3;
    const QString unitName = unit == 1e9   ? QStringLiteral("GB/s")
                             : unit == 1e6 ? QStringLiteral("MB/s")
                                           : QStringLiteral("kB/s");
    picture.x = {std::max(1.0, least / 4), std::max(most * 4, 16.0), true, {}, [](double bytes) {
                     return formatBytes(bytes, ByteUnit::GB);
                 }};
    const std::optional<double> limit =
        m_facts->linkBytesPerSecond ? std::optional(*m_facts->linkBytesPerSecond / unit) : std::nullopt;
    const double wall = scaleTo(picture, largest / unit, limit.value_or(0));
    picture.y.unit = unitName;
    picture.y.what = tr("bus bandwidth, %1").arg(unitName);
    picture.y.label = plainFigure;
    for (const LinkDot& dot : m_facts->links) {
        const bool message = dot.operation == CollectiveOp::Send || dot.operation == CollectiveOp::Receive;
        picture.dots.push_back({{dot.payloadBytes, dot.busBytesPerSecond / unit},
                                3,
                                translucent(message ? t.structure : t.communication, 150)});
    }
    picture.wall = levelWall(picture.x, wall);
    if (limit) {
        const QString text = formatRate(*m_facts->linkBytesPerSecond, QStringLiteral("B/s"));
        picture.wallNames = {tr("link %1").arg(text), text};
        if (picture.breakAt) picture.wallNames.prepend(tr("link %1, not to scale").arg(text));
    }
    picture.spoken = tr("Bus bandwidth of %1 collectives by message size").arg(m_facts->links.size());
    return picture;
}

MiniPicture OverviewView::rooflinePicture() const
{
    const Theme& t = currentTheme();
    MiniPicture picture;
    if (m_facts->roofline.empty()) {
        picture.empty =
            m_facts->memoryOnly ? tr("A memory snapshot records no kernels. Open the run's profile beside it.")
            : m_facts->metrics.mfuAbsent == NoMfu::NotLinked
                ? tr("Operators of this trace say how much they compute, but no kernel is known to be theirs: there is "
                     "no roofline.")
            : m_facts->metrics.mfuAbsent == NoMfu::NoDevice
                ? tr("No device's work is in this trace: an operator's time is that of launching it, which is no rate.")
                : withAdvice(
                      tr("No operator of this trace says how much it computes: without FLOPs there is no roofline."),
                      Lack::Flops, m_facts->recorder);
        return picture;
    }
    if (m_facts->roofline.front().flopsPerByte <= 0) return ratesPicture();
    double left = 1e300, right = 0, low = 1e300, high = 0;
    for (const RooflineDot& dot : m_facts->roofline) {
        left = std::min(left, dot.flopsPerByte);
        right = std::max(right, dot.flopsPerByte);
        low = std::min(low, dot.flopsPerSecond);
        high = std::max(high, dot.flopsPerSecond);
    }
    const bool roof =
        m_facts->peakFlops && m_facts->bytesPerSecond && *m_facts->peakFlops > 0 && *m_facts->bytesPerSecond > 0;
    if (roof) {
        const double ridge = *m_facts->peakFlops / *m_facts->bytesPerSecond;
        right = std::max(right, ridge * 4);
        high = std::max(high, *m_facts->peakFlops);
    }
    picture.x = {left / 2, right * 2, true, tr("FLOP/byte"), plainFigure};
    picture.y = {low / 2, high * 3, true, QStringLiteral("FLOP/s"),
                 [](double rate) { return formatRate(rate, QString()); }};
    for (const RooflineDot& dot : m_facts->roofline)
        picture.dots.push_back({{dot.flopsPerByte, dot.flopsPerSecond},
                                2.5 + 14 * std::sqrt(dot.share),
                                translucent(dot.memoryBound ? t.memory[4] : colourOf(t, Phase::Forward), 170)});
    if (roof) {
        const double peak = *m_facts->peakFlops, rate = *m_facts->bytesPerSecond;
        const auto at = [&](double x) { return QPointF(x, std::min(peak, x * rate)); };
        picture.wall = {at(picture.x.low)};
        const double ridge = peak / rate;
        if (ridge > picture.x.low && ridge < picture.x.high) picture.wall.push_back(at(ridge));
        picture.wall.push_back(at(picture.x.high));
        picture.wallNames = {tr("peak %1").arg(formatRate(peak, QStringLiteral("FLOP/s")))};
    }
    picture.spoken = tr("%1 operators below the roofline").arg(m_facts->roofline.size());
    return picture;
}

/// Without bytes there is no place under the slanted roof: the rates alone, under the flat one.
MiniPicture OverviewView::ratesPicture() const
{
    const Theme& t = currentTheme();
    constexpr std::size_t kMostDots = 40;
    std::vector<RooflineDot> dots = m_facts->roofline;
    std::stable_sort(dots.begin(), dots.end(),
                     [](const RooflineDot& a, const RooflineDot& b) { return a.share > b.share; });
    dots.resize(std::min(dots.size(), kMostDots));
    MiniPicture picture;
    double low = 1e300, high = 0;
    for (std::size_t i = 0; i < dots.size(); ++i) {
        low = std::min(low, dots[i].flopsPerSecond);
        high = std::max(high, dots[i].flopsPerSecond);
        picture.dots.push_back({{static_cast<double>(i) + 0.5, dots[i].flopsPerSecond},
                                2.5 + 14 * std::sqrt(dots[i].share),
                                translucent(colourOf(t, Phase::Forward), 170)});
    }
    picture.x = {0, static_cast<double>(dots.size()), false, tr("operators by time, bytes unknown"),
                 [](double) { return QString(); }};
    if (m_facts->peakFlops && *m_facts->peakFlops > 0) {
        high = std::max(high, *m_facts->peakFlops);
        picture.wallNames = {tr("peak %1").arg(formatRate(*m_facts->peakFlops, QStringLiteral("FLOP/s")))};
    }
    picture.y = {low / 2, high * 3, true, QStringLiteral("FLOP/s"),
                 [](double rate) { return formatRate(rate, QString()); }};
    if (!picture.wallNames.isEmpty()) picture.wall = levelWall(picture.x, *m_facts->peakFlops);
    picture.spoken = tr("%1 operators by time, bytes unknown").arg(m_facts->roofline.size());
    return picture;
}

MiniPicture OverviewView::planPicture() const
{
    const Theme& t = currentTheme();
    MiniPicture picture;
    if (!m_plans) {
        picture.empty = m_plansPending ? tr("Searching other plans…")
                        : !m_planError.isEmpty()
                            ? m_planError
                            : tr("Without a specification of network, plan and devices no other plan can be "
                                 "predicted.\nFill them in under What if to compare plans.");
        return picture;
    }
    const compare::PlanSuggestions& present = m_plans->suggestions;
    double fastest = present.seconds, largest = present.peakBytes;
    for (const cost::SearchedPlan& plan : m_plans->plans)
        if (plan.feasible) fastest = std::min(fastest, plan.seconds);
    const double slowest = std::max(present.seconds * 1.6, fastest * 3);
    for (const cost::SearchedPlan& plan : m_plans->plans)
        if (plan.seconds <= slowest && plan.feasible) largest = std::max(largest, plan.peakBytes);
    const ByteScale scale = byteScale(largest, selection()->byteUnit());
    const TimeScale time = timeScale(slowest * 1e9);
    picture.x = {fastest * 1e9 / time.ns * 0.9, slowest * 1e9 / time.ns, false, time.name, plainFigure};
    const std::optional<double> limit = m_plans->suggestions.usableBytes > 0
                                            ? std::optional(m_plans->suggestions.usableBytes / scale.bytes)
                                            : std::nullopt;
    const double wall = scaleTo(picture, largest / scale.bytes, limit.value_or(0));
    if (limit && wall == *limit) picture.y.high = *limit * 1.35; // room for the plans that are too large
    picture.y.unit = scale.name;
    picture.y.label = plainFigure;
    const auto place = [&](double seconds, double bytes) {
        return QPointF(seconds * 1e9 / time.ns, bytes / scale.bytes);
    };
    for (const cost::SearchedPlan& plan : m_plans->plans) {
        const QPointF at = place(plan.seconds, plan.peakBytes);
        if (at.x() > picture.x.high || at.y() > picture.y.high) continue;
        picture.dots.push_back(
            {at, 2, translucent(plan.feasible ? t.prediction : t.wallEdge, plan.feasible ? 110 : 80)});
    }
    MiniLine front;
    front.colour = t.prediction;
    for (const cost::SearchedPlan& plan : paretoFront(m_plans->plans)) {
        const QPointF at = place(plan.seconds, plan.peakBytes);
        if (at.x() > picture.x.high) continue;
        picture.dots.push_back({at, 3, t.prediction});
        front.points.push_back(at);
    }
    picture.lines.push_back(std::move(front));
    picture.wall = levelWall(picture.x, wall);
    if (limit) {
        const QString text = formatBytes(m_plans->suggestions.usableBytes, selection()->byteUnit());
        picture.wallNames = {tr("%1 usable").arg(text), text};
        if (picture.breakAt) picture.wallNames.prepend(tr("%1 usable, not to scale").arg(text));
    }
    picture.marks.push_back({place(present.seconds, std::min(present.peakBytes, picture.y.high * scale.bytes)),
                             tr("this plan"), t.text, true});
    const auto sliders = whatIf() && whatIf()->isActive() && !whatIf()->isAsRecorded() ? whatIf()->step() : nullptr;
    if (sliders)
        picture.marks.push_back(
            {place(std::clamp(sliders->seconds, picture.x.low * time.ns / 1e9, picture.x.high * time.ns / 1e9),
                   std::min(sliders->peakBytes, picture.y.high * scale.bytes)),
             tr("sliders"), t.prediction, true});
    picture.spoken = tr("%1 plans by predicted step time and memory").arg(m_plans->searched);
    return picture;
}

} // namespace fourwalls::views
