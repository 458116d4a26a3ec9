// SPDX-License-Identifier: GPL-3.0-or-later
// See roofline_card.h.
#include "views/performance/roofline_card.h"

#include "views/plot/theme.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <set>

namespace fourwalls::views {

namespace {

constexpr std::size_t kMostPoints = 1500, kMostInStrip = 60;
constexpr int kStripWidth = 168;
constexpr double kRounding = 1.05; ///< of a measured roof

bool isOnlyFlops(const RooflinePoint& point)
{
    return point.flopsPerSecond() && point.bytes <= 0;
}

bool isOnlyBytes(const RooflinePoint& point)
{
    return point.flops <= 0 && point.bytes > 0 && point.total.ns > 0;
}

double sizeOf(const RooflinePoint& point, double most)
{
    return std::clamp(5 + 45 * std::sqrt(point.share), 5.0, most);
}

/// A name beside nothing: what a line is.
XyPoint nameAt(double x, double y, const QString& text)
{
    XyPoint label;
    label.x = x;
    label.y = y;
    label.size = 0;
    label.colour = Qt::transparent;
    label.label = text;
    return label;
}

} // namespace

bool isFedByCache(const OperatorRoofline& roofs, const RooflinePoint& point)
{
    if (!roofs.bytesPerSecond || !point.bytesPerSecond()) return false;
    if (isOnlyBytes(point)) return *point.bytesPerSecond() > kRounding * *roofs.bytesPerSecond;
    const auto intensity = point.intensity();
    if (!intensity) return false;
    const auto roof = roofs.attainable(*intensity, point.peak);
    if (!roof || !point.peak || *roof >= *point.peak) return false;
    return point.flopsPerSecond().value_or(0) > kRounding * *roof;
}

QString operatorWords(const PerformanceData& facts, const RooflinePoint& point)
{
    QStringList parts{facts.nameOf(point.name)};
    if (point.phase != Phase::None) parts << words(point.phase);
    return parts.join(QStringLiteral(" · "));
}

struct RooflineCard::Extent {
    double left = 1e300, right = 0, low = 1e300, high = 0;

    void add(double x, double y)
    {
        left = std::min(left, x);
        right = std::max(right, x);
        addRate(y);
    }
    void addRate(double y)
    {
        low = std::min(low, y);
        high = std::max(high, y);
    }
};

RooflineCard::RooflineCard(QWidget* parent)
    : PlotCard(parent)
    , m_legend(new PlotLegend(this))
    , m_plot(new XyPlot(this))
    , m_memory(new XyPlot(this))
    , m_rates(new XyPlot(this))
{
    auto* row = new QWidget(this);
    auto* plots = new QHBoxLayout(row);
    plots->setContentsMargins(0, 0, 0, 0);
    plots->setSpacing(4);
    plots->addWidget(m_plot, 1);
    auto* strips = new QVBoxLayout;
    for (XyPlot* strip : {m_memory, m_rates}) {
        strip->setMinimumWidth(kStripWidth);
        strip->hide();
        strips->addWidget(strip, 1);
    }
    plots->addLayout(strips);
    addContent(m_legend);
    addContent(row, 1);
    retranslate();
}

void RooflineCard::retranslate()
{
    title().setText(tr("Roofline"));
    m_plot->setAccessibleName(tr("Operators by arithmetic intensity and achieved rate"));
    m_memory->setAccessibleName(tr("Operators without FLOPs, by bytes per second"));
    m_rates->setAccessibleName(tr("Operators whose bytes are not known, by FLOP/s"));
}

std::size_t RooflineCard::shown() const
{
    return std::min(kMostPoints, m_facts->roofline.points.size());
}

bool RooflineCard::isDisproved() const
{
    const OperatorRoofline& roofs = m_facts->roofline;
    return m_facts->metrics.mfuAbsent == NoMfu::AboveRoof ||
           (roofs.peakFlops && std::ranges::any_of(roofs.operators, [&](const RooflinePoint& each) {
                return each.flopsPerSecond().value_or(0) > kRounding * each.peak.value_or(*roofs.peakFlops);
            }));
}

void RooflineCard::present(std::shared_ptr<const PerformanceData> facts)
{
    m_facts = std::move(facts);
    const bool any =
        m_facts && (!m_facts->roofline.points.empty() || std::ranges::any_of(m_facts->roofline.operators, isOnlyFlops));
    if (!any) {
        m_plot->show();
        QString why;
        if (m_facts && m_facts->metrics.mfuAbsent == NoMfu::NotLinked)
            why = tr("Operators of this trace say how much they compute, but no kernel is known to be theirs.");
        else if (m_facts && m_facts->metrics.mfuAbsent == NoMfu::NoDevice)
            why =
                tr("No device's work is in this trace: an operator's time is that of launching it, which is no rate.");
        else if (m_facts)
            why = tr("No operator of this trace says how much it computes.") + QLatin1Char('\n') +
                  howToRecord({Lack::Flops}, m_facts->recorder);
        m_plot->setNothing(why);
        m_memory->hide();
        m_rates->hide();
        m_legend->setEntries({});
        return finding().setText({});
    }
    fillPlot();
    fillStrip(*m_memory, true);
    fillStrip(*m_rates, false);
    m_legend->setEntries(legend());
    finding().setText(sentence());
}

void RooflineCard::addPoints(XyContent& content, Extent& extent) const
{
    const Theme& t = currentTheme();
    const OperatorRoofline& roofs = m_facts->roofline;
    std::set<std::string> named; // those that take most, once each
    // The largest are painted first, so that small ones stay in sight.
    for (std::size_t i = 0; i < shown(); ++i) {
        const RooflinePoint& each = roofs.points[i];
        XyPoint point;
        point.x = *each.intensity();
        point.y = *each.flopsPerSecond();
        point.size = sizeOf(each, 34);
        point.colour = colourOf(t, each.phase);
        point.mark = isFedByCache(roofs, each) ? XyMark::Triangle : XyMark::Disc;
        point.id = static_cast<int>(i);
        if (named.size() < 5 && named.insert(each.name).second) point.label = m_facts->nameOf(each.name).left(28);
        extent.add(point.x, point.y);
        content.points.push_back(std::move(point));
    }
}

void RooflineCard::addRoofs(XyContent& content, Extent& extent) const
{
    const Theme& t = currentTheme();
    const OperatorRoofline& roofs = m_facts->roofline;
    double& left = extent.left;
    double& right = extent.right;
    XyWall wall;
    const auto nameFirst = [&content](XyPoint label) {
        content.points.insert(content.points.begin(), std::move(label));
    };
    if (roofs.peakFlops && roofs.bytesPerSecond) {
        const double ridge = *roofs.peakFlops / *roofs.bytesPerSecond;
        right = std::max(right, ridge * 6);
        wall.limit = {
            {left / 10, left / 10 * *roofs.bytesPerSecond}, {ridge, *roofs.peakFlops}, {right * 10, *roofs.peakFlops}};
        nameFirst(nameAt(left * 3, left * 3 * *roofs.bytesPerSecond,
                         tr("memory %1").arg(formatRate(*roofs.bytesPerSecond, QStringLiteral("B/s")))));
        extent.low = std::min(extent.low, left * *roofs.bytesPerSecond * 4);
    } else if (roofs.peakFlops) {
        wall.limit = {{left / 10, *roofs.peakFlops}, {right * 10, *roofs.peakFlops}};
    } else if (roofs.bytesPerSecond) {
        wall.limit = {{left / 10, left / 10 * *roofs.bytesPerSecond}, {right * 10, right * 10 * *roofs.bytesPerSecond}};
    }
    if (roofs.peakFlops) {
        const PeakFacts& peak = m_facts->metrics.peak;
        const QString source = peak.source == "datasheet" ? tr("data sheet") : tr("measured");
        const QString of =
            peak.arithmetic == Arithmetic::Unknown
                ? source
                : QString::fromUtf8(fourwalls::name(peak.arithmetic).data()) + QStringLiteral(", ") + source;
        wall.label = tr("peak %1, %2").arg(formatRate(*roofs.peakFlops, QStringLiteral("FLOP/s")), of);
        extent.high = std::max(extent.high, *roofs.peakFlops);
    }
    // A roof that kernels are above is none: a thin line says where it was thought to be.
    const auto thinRoof = [&](double rate, const QString& text) {
        XyLine line;
        line.pen = QPen(t.wallEdge, 1.2, Qt::DashLine);
        line.points = {{left / 10, rate}, {right * 10, rate}};
        content.lines.push_back(std::move(line));
        nameFirst(nameAt(left * 3, rate, text));
        extent.high = std::max(extent.high, rate);
    };
    if (isDisproved() && roofs.peakFlops)
        thinRoof(*roofs.peakFlops, tr("%1: not the roof of all that ran").arg(wall.label));
    else if (!wall.limit.empty())
        content.walls.push_back(std::move(wall));
    for (const auto& [arithmetic, rate] : roofs.peaks)
        if (!roofs.peakFlops || rate != *roofs.peakFlops)
            thinRoof(
                rate,
                tr("peak %1, %2").arg(formatRate(rate, QStringLiteral("FLOP/s")), QString::fromStdString(arithmetic)));
}

void RooflineCard::fillPlot()
{
    const OperatorRoofline& roofs = m_facts->roofline;
    // Without both coordinates of anything the strip is the picture.
    m_plot->setVisible(!roofs.points.empty());
    for (XyPlot* strip : {m_memory, m_rates})
        strip->setMaximumWidth(roofs.points.empty() ? QWIDGETSIZE_MAX : kStripWidth);
    if (roofs.points.empty()) return;
    XyContent content;
    Extent extent;
    addPoints(content, extent);
    extent.left = std::min(extent.left / 2, 0.1);
    extent.right *= 4;
    addRoofs(content, extent);
    m_plot->setToolTips([this](int id) { return pointText(m_facts->roofline.points[static_cast<std::size_t>(id)]); });
    XyAxis x{tr("arithmetic intensity [FLOP/byte]"), true, [](double v) { return formatRate(v, QString()); },
             std::pair(extent.left, extent.right)};
    if (extent.left < 1)
        x.text = [](double v) { return v >= 1000 ? formatRate(v, QString()) : QString::number(v, 'g', 3); };
    XyAxis y{tr("achieved [FLOP/s]"), true, [](double v) { return formatRate(v, QString()); },
             std::pair(extent.low / 2, extent.high * 3)};
    m_plot->setContent(std::move(x), std::move(y), std::move(content));
}

void RooflineCard::fillStrip(XyPlot& strip, bool ofMemory)
{
    const Theme& t = currentTheme();
    const OperatorRoofline& roofs = m_facts->roofline;
    XyContent content;
    Extent extent;
    for (std::size_t i = 0; i < roofs.operators.size() && content.points.size() < kMostInStrip; ++i) {
        const RooflinePoint& each = roofs.operators[i];
        if (!(ofMemory ? isOnlyBytes(each) : isOnlyFlops(each))) continue;
        XyPoint point;
        point.x = static_cast<double>(content.points.size()) + 1;
        point.y = ofMemory ? *each.bytesPerSecond() : *each.flopsPerSecond();
        point.size = sizeOf(each, 22);
        point.colour = colourOf(t, each.phase);
        point.mark = ofMemory && isFedByCache(roofs, each) ? XyMark::Triangle : XyMark::Disc;
        point.id = static_cast<int>(i);
        extent.add(point.x, point.y);
        content.points.push_back(std::move(point));
    }
    strip.setVisible(!content.points.empty());
    if (content.points.empty()) return;
    const std::optional<double> limit = ofMemory ? roofs.bytesPerSecond : roofs.peakFlops;
    const double right = static_cast<double>(content.points.size()) + 1;
    if (limit && (ofMemory || !isDisproved()))
        content.walls.push_back({{{0, *limit}, {right, *limit}}, QString()});
    else if (limit)
        content.lines.push_back({{{0, *limit}, {right, *limit}}, QPen(t.wallEdge, 1.2, Qt::DashLine), false});
    if (limit) extent.addRate(*limit);
    strip.setToolTips([this](int id) { return pointText(m_facts->roofline.operators[static_cast<std::size_t>(id)]); });
    XyAxis x{ofMemory ? tr("without FLOPs, by time") : tr("bytes not known, by time"), false,
             [](double) { return QString(); }, std::pair(0.0, right)};
    XyAxis y{ofMemory ? tr("memory [B/s]") : tr("achieved [FLOP/s]"), true,
             [](double v) { return formatRate(v, QString()); }, std::pair(extent.low / 2, extent.high * 3)};
    strip.setContent(std::move(x), std::move(y), std::move(content));
}

std::vector<PlotLegend::Entry> RooflineCard::legend() const
{
    const Theme& t = currentTheme();
    const OperatorRoofline& roofs = m_facts->roofline;
    std::vector<PlotLegend::Entry> entries;
    std::set<Phase> phases;
    for (const RooflinePoint& each : roofs.operators)
        if (each.flops > 0 || each.bytes > 0) phases.insert(each.phase);
    for (const Phase phase : phases) entries.push_back({PlotLegend::Mark::Area, colourOf(t, phase), words(phase)});
    entries.push_back({PlotLegend::Mark::Wall, t.wallEdge, tr("the device's roofs")});
    const auto cached = [&roofs](const RooflinePoint& point) { return isFedByCache(roofs, point); };
    if (std::ranges::any_of(roofs.points, cached) || std::ranges::any_of(roofs.operators, cached))
        entries.push_back(
            {PlotLegend::Mark::Sign, t.secondaryText, tr("above the memory roof: from a cache"), QStringLiteral("▲")});
    if (shown() < roofs.points.size())
        entries.push_back({PlotLegend::Mark::Note, t.secondaryText,
                           tr("the %1 longest of %2")
                               .arg(formatCount(static_cast<qint64>(shown())),
                                    formatCount(static_cast<qint64>(roofs.points.size())))});
    // What says neither has no place here, but a part of the time.
    Duration without;
    for (const RooflinePoint& each : roofs.operators)
        if (each.flops <= 0 && each.bytes <= 0) without += each.total;
    const double notShown =
        static_cast<double>(without.ns) / static_cast<double>(std::max<std::int64_t>(1, roofs.total.ns));
    if (notShown > 0.001)
        entries.push_back(
            {PlotLegend::Mark::Note, t.secondaryText,
             tr("not shown: %1 of the time, in operators without FLOPs and bytes").arg(formatPercent(notShown, 0))});
    return entries;
}

QString RooflineCard::pointText(const RooflinePoint& point) const
{
    const OperatorRoofline& roofs = m_facts->roofline;
    QString text = operatorWords(*m_facts, point);
    if (point.layer) text += tr(" · layer %1").arg(point.layer->value);
    const auto rate = [](const std::optional<double>& value, const char* unit) {
        return formatRate(value.value_or(0), QString::fromLatin1(unit));
    };
    if (isOnlyFlops(point)) {
        text += tr("\n%1, bytes not known").arg(rate(point.flopsPerSecond(), "FLOP/s"));
    } else if (isOnlyBytes(point)) {
        text += tr("\n%1, no FLOPs").arg(rate(point.bytesPerSecond(), "B/s"));
        if (roofs.bytesPerSecond)
            text +=
                tr(", %1 of the memory's rate").arg(formatPercent(*point.bytesPerSecond() / *roofs.bytesPerSecond, 0));
    } else {
        text += tr("\n%1 at %2 FLOP/byte")
                    .arg(rate(point.flopsPerSecond(), "FLOP/s"), formatFigure(point.intensity().value_or(0), 3));
        if (const auto possible = roofs.attainable(point.intensity().value_or(0), point.peak))
            text += tr(", %1 of what its roof allows")
                        .arg(formatPercent(point.flopsPerSecond().value_or(0) / *possible, 0));
    }
    if (isFedByCache(roofs, point)) text += tr(": its data came from a cache");
    return text + tr("\n%1 × %2, %3 of all compute time")
                      .arg(formatCount(point.count), formatDuration(point.mean(), 3), formatPercent(point.share));
}

QString RooflineCard::sentence() const
{
    const OperatorRoofline& roofs = m_facts->roofline;
    const TraceMetrics& metrics = m_facts->metrics;
    if (metrics.mfuAbsent == NoMfu::AboveRoof) return whyNoMfu(metrics);
    if (isDisproved()) return tr("some operators run above the peak: it is not theirs, and no roof of them");
    if (!roofs.peakFlops || !roofs.bytesPerSecond)
        return metrics.mfuAbsent == NoMfu::None || metrics.mfuAbsent == NoMfu::NoFlops
                   ? tr("the device's peak is not known, so neither is what is possible")
                   : whyNoMfu(metrics);
    const double all = static_cast<double>(std::max<std::int64_t>(1, roofs.total.ns));
    const QString text = tr("%1 of the time under the memory roof, %2 under the compute roof")
                             .arg(formatPercent(static_cast<double>(roofs.memoryBound.ns) / all, 0),
                                  formatPercent(static_cast<double>(roofs.computeBound.ns) / all, 0));
    const bool above =
        std::ranges::any_of(roofs.points, [&](const RooflinePoint& point) { return isFedByCache(roofs, point); });
    return above ? text + tr(" · above the memory roof: data from a cache") : text;
}

} // namespace fourwalls::views
