// SPDX-License-Identifier: GPL-3.0-or-later
// See operators_page.h.
#include "views/performance/operators_page.h"

#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QHBoxLayout>
#include <QSplitter>

#include <algorithm>
#include <cmath>
#include <set>

namespace fourwalls::views {

namespace {

constexpr std::size_t kMostPoints = 1500;
constexpr std::size_t kMostOperatorRows = 500;
constexpr int kHeightOnly = 1'000'000; ///< ids of points without bytes, from here on

/// Faster than memory could feed it, by more than the rounding of a measured roof.
bool isAboveMemoryRoof(const OperatorRoofline& roofs, const RooflinePoint& point)
{
    constexpr double kRounding = 1.05;
    const auto roof = roofs.attainable(*point.intensity(), point.peak);
    if (!roof || !point.peak || roof.value() >= *point.peak) return false;
    return point.flopsPerSecond().value() > kRounding * roof.value();
}

QString pointWords(const PerformanceData& facts, const RooflinePoint& point)
{
    QStringList parts{facts.nameOf(point.name)};
    if (point.phase != Phase::None) parts << words(point.phase);
    return parts.join(QStringLiteral(" · "));
}

} // namespace

OperatorsPage::OperatorsPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_rooflineCard = new PlotCard(splitter);
    m_legend = new PlotLegend(m_rooflineCard);
    m_roofline = new XyPlot(m_rooflineCard);
    m_rooflineCard->addContent(m_legend);
    m_rooflineCard->addContent(m_roofline, 1);
    auto* right = cardSplitter(Qt::Vertical, splitter);
    m_utilisationCard = new PlotCard(right);
    m_utilisation = new XyPlot(m_utilisationCard);
    m_utilisationCard->addContent(m_utilisation, 1);
    m_tableCard = new PlotCard(right);
    m_table = new CellTable(m_tableCard);
    m_tableCard->addContent(m_table, 1);
    splitter->setSizes({4500, 5500});
    right->setSizes({3600, 6400});
    connect(m_utilisation, &XyPlot::pointChosen, this, [this](int step) { emit stepChosen(StepIndex(step)); });
    connect(m_utilisation, &XyPlot::pointActivated, this, [this](int step) { emit stepActivated(StepIndex(step)); });
    retranslate();
}

void OperatorsPage::retranslate()
{
    m_rooflineCard->title().setText(tr("Roofline"));
    m_utilisationCard->title().setText(tr("Utilisation"));
    m_tableCard->title().setText(tr("Operators"));
    m_roofline->setAccessibleName(tr("Operators by arithmetic intensity and achieved rate"));
    m_utilisation->setAccessibleName(tr("MFU and HFU of each step"));
    m_table->setAccessibleName(tr("Operators by time"));
}

void OperatorsPage::present(std::shared_ptr<const PerformanceData> facts, const PredictedUtilisation& predicted)
{
    m_facts = std::move(facts);
    fillRoofline();
    fillUtilisation(predicted);
    fillTable();
}

void OperatorsPage::fillRoofline()
{
    const Theme& t = currentTheme();
    m_finding.clear();
    const auto onlyFlops = [](const RooflinePoint& point) {
        return point.flops > 0 && point.bytes <= 0 && point.total.ns > 0;
    };
    const bool any =
        m_facts && (!m_facts->roofline.points.empty() ||
                    std::any_of(m_facts->roofline.operators.begin(), m_facts->roofline.operators.end(), onlyFlops));
    if (!any) {
        m_roofline->setNothing(m_facts
                                   ? tr("No operator of this trace says how much it computes.\n"
                                        "Record with torch.profiler.profile(…, with_flops=True, record_shapes=True).")
                                   : QString());
        m_legend->setEntries({});
        return m_rooflineCard->finding().setText({});
    }
    const OperatorRoofline& roofs = m_facts->roofline;
    XyContent content;
    std::set<Phase> phases;
    double left = 1e300, right = 0, low = 1e300, high = 0;
    std::vector<const RooflinePoint*> shown;
    for (const RooflinePoint& point : roofs.points)
        if (shown.size() < kMostPoints) shown.push_back(&point);
    // The largest are painted first, so that small ones stay in sight.
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const RooflinePoint& each = *shown[i];
        XyPoint point;
        point.x = *each.intensity();
        point.y = *each.flopsPerSecond();
        point.size = std::clamp(5 + 45 * std::sqrt(each.share), 5.0, 34.0);
        point.colour = colourOf(t, each.phase);
        point.id = static_cast<int>(i);
        phases.insert(each.phase);
        left = std::min(left, point.x);
        right = std::max(right, point.x);
        low = std::min(low, point.y);
        high = std::max(high, point.y);
        content.points.push_back(std::move(point));
    }
    // Names for those that take most, once each.
    std::set<std::string> named;
    for (std::size_t i = 0; i < shown.size() && named.size() < 5; ++i)
        if (named.insert(shown[i]->name).second) content.points[i].label = m_facts->nameOf(shown[i]->name).left(28);
    if (shown.empty()) left = right = 1;
    left = std::min(left / 2, 0.1);
    right *= 4;
    XyWall wall;
    if (roofs.peakFlops && roofs.bytesPerSecond) {
        const double ridge = *roofs.peakFlops / *roofs.bytesPerSecond;
        right = std::max(right, ridge * 6);
        wall.limit = {
            {left / 10, left / 10 * *roofs.bytesPerSecond}, {ridge, *roofs.peakFlops}, {right * 10, *roofs.peakFlops}};
        XyPoint label;
        label.x = left * 3;
        label.y = left * 3 * *roofs.bytesPerSecond;
        label.size = 0;
        label.colour = Qt::transparent;
        label.label = tr("memory %1").arg(formatRate(*roofs.bytesPerSecond, QStringLiteral("B/s")));
        content.points.insert(content.points.begin(), std::move(label));
        low = std::min(low, left * *roofs.bytesPerSecond * 4);
    } else if (roofs.peakFlops) {
        wall.limit = {{left / 10, *roofs.peakFlops}, {right * 10, *roofs.peakFlops}};
    } else if (roofs.bytesPerSecond) {
        wall.limit = {{left / 10, left / 10 * *roofs.bytesPerSecond}, {right * 10, right * 10 * *roofs.bytesPerSecond}};
    }
    const PeakFacts& peak = m_facts->metrics.peak;
    const bool wrong = m_facts->metrics.mfuAbsent == NoMfu::AboveRoof;
    if (roofs.peakFlops) {
        const QString source = peak.source == "datasheet" ? tr("data sheet") : tr("measured");
        const QString of =
            peak.arithmetic == Arithmetic::Unknown
                ? source
                : QString::fromUtf8(fourwalls::name(peak.arithmetic).data()) + QStringLiteral(", ") + source;
        wall.label = tr("peak %1, %2").arg(formatRate(*roofs.peakFlops, QStringLiteral("FLOP/s")), of);
        high = std::max(high, *roofs.peakFlops);
    }
    // A roof that kernels are above is none: a thin line says where it was thought to be.
    const auto thinRoof = [&](double rate, const QString& text) {
        XyLine line;
        line.pen = QPen(t.wallEdge, 1.2, Qt::DashLine);
        line.points = {{left / 10, rate}, {right * 10, rate}};
        content.lines.push_back(std::move(line));
        XyPoint label;
        label.x = left * 3;
        label.y = rate;
        label.size = 0;
        label.colour = Qt::transparent;
        label.label = text;
        content.points.insert(content.points.begin(), std::move(label));
        high = std::max(high, rate);
    };
    if (wrong && roofs.peakFlops)
        thinRoof(*roofs.peakFlops, tr("%1: not the roof of all that ran").arg(wall.label));
    else if (!wall.limit.empty())
        content.walls.push_back(std::move(wall));
    for (const auto& [arithmetic, rate] : roofs.peaks)
        if (!roofs.peakFlops || rate != *roofs.peakFlops)
            thinRoof(
                rate,
                tr("peak %1, %2").arg(formatRate(rate, QStringLiteral("FLOP/s")), QString::fromStdString(arithmetic)));
    // Operators whose bytes nobody counted stand at the right edge: only their height says something.
    int heightOnly = 0;
    for (std::size_t i = 0; i < roofs.operators.size() && i < kMostPoints; ++i) {
        const RooflinePoint& each = roofs.operators[i];
        if (!onlyFlops(each)) continue;
        XyPoint point;
        point.x = right * 0.6;
        point.y = *each.flopsPerSecond();
        point.size = std::clamp(5 + 45 * std::sqrt(each.share), 5.0, 26.0);
        point.colour = colourOf(t, each.phase);
        point.mark = XyMark::Diamond;
        point.id = kHeightOnly + static_cast<int>(i);
        phases.insert(each.phase);
        low = std::min(low, point.y);
        high = std::max(high, point.y);
        ++heightOnly;
        content.points.push_back(std::move(point));
    }

    std::vector<PlotLegend::Entry> legend;
    for (const Phase phase : phases) legend.push_back({PlotLegend::Mark::Area, colourOf(t, phase), words(phase)});
    if (heightOnly > 0)
        legend.push_back({PlotLegend::Mark::Line, t.secondaryText, tr("◆ at the right: bytes not known")});
    if (shown.size() < roofs.points.size())
        legend.push_back({PlotLegend::Mark::Dotted, t.secondaryText,
                          tr("the %1 longest of %2")
                              .arg(formatCount(static_cast<qint64>(shown.size())),
                                   formatCount(static_cast<qint64>(roofs.points.size())))});
    legend.push_back({PlotLegend::Mark::Wall, t.wallEdge, tr("the device's roofs")});
    // What has no FLOPs has no place between these axes, but a part of the time.
    Duration without;
    for (const RooflinePoint& each : roofs.operators)
        if (each.flops <= 0) without += each.total;
    const double notShown =
        static_cast<double>(without.ns) / static_cast<double>(std::max<std::int64_t>(1, roofs.total.ns));
    if (notShown > 0.001)
        legend.push_back({PlotLegend::Mark::Dotted, t.secondaryText,
                          tr("not shown: %1 of the time, in operators without FLOPs").arg(formatPercent(notShown, 0))});
    m_legend->setEntries(std::move(legend));
    m_roofline->setToolTips([facts = m_facts](int id) {
        if (id >= kHeightOnly) {
            const RooflinePoint& point = facts->roofline.operators[static_cast<std::size_t>(id - kHeightOnly)];
            return tr("%1\n%2, bytes not known\n%3 × %4, %5 of all compute time")
                .arg(pointWords(*facts, point), formatRate(*point.flopsPerSecond(), QStringLiteral("FLOP/s")),
                     formatCount(point.count), formatDuration(point.mean(), 3), formatPercent(point.share));
        }
        const RooflinePoint& point = facts->roofline.points[static_cast<std::size_t>(id)];
        const auto possible = facts->roofline.attainable(*point.intensity(), point.peak);
        QString text = pointWords(*facts, point);
        if (point.layer) text += tr(" · layer %1").arg(point.layer->value);
        text += tr("\n%1 at %2 FLOP/byte")
                    .arg(formatRate(*point.flopsPerSecond(), QStringLiteral("FLOP/s")),
                         formatFigure(*point.intensity(), 3));
        if (isAboveMemoryRoof(facts->roofline, point))
            text += tr(", %1 of what memory could feed: its data came from a cache")
                        .arg(formatPercent(*point.flopsPerSecond() / *possible, 0));
        else if (possible)
            text += tr(", %1 of what its roof allows").arg(formatPercent(*point.flopsPerSecond() / *possible, 0));
        return text + tr("\n%1 × %2, %3 of all compute time")
                          .arg(formatCount(point.count), formatDuration(point.mean(), 3), formatPercent(point.share));
    });
    XyAxis x{tr("arithmetic intensity [FLOP/byte]"), true, [](double v) { return formatRate(v, QString()); },
             std::pair(left, right)};
    if (left < 1) x.text = [](double v) { return v >= 1000 ? formatRate(v, QString()) : QString::number(v, 'g', 3); };
    XyAxis y{tr("achieved [FLOP/s]"), true, [](double v) { return formatRate(v, QString()); },
             std::pair(low / 2, high * 3)};
    m_roofline->setContent(std::move(x), std::move(y), std::move(content));

    const double all = static_cast<double>(std::max<std::int64_t>(1, roofs.total.ns));
    if (roofs.peakFlops && roofs.bytesPerSecond) {
        m_finding = tr("%1 of the time under the memory roof, %2 under the compute roof")
                        .arg(formatPercent(static_cast<double>(roofs.memoryBound.ns) / all, 0),
                             formatPercent(static_cast<double>(roofs.computeBound.ns) / all, 0));
        const bool above = std::any_of(roofs.points.begin(), roofs.points.end(),
                                       [&](const RooflinePoint& point) { return isAboveMemoryRoof(roofs, point); });
        if (above) m_finding += tr(" · above the memory roof: data from a cache");
    } else {
        m_finding = m_facts->metrics.mfuAbsent == NoMfu::None || m_facts->metrics.mfuAbsent == NoMfu::NoFlops
                        ? tr("the device's peak is not known, so neither is what is possible")
                        : whyNoMfu(m_facts->metrics);
    }
    if (wrong) m_finding = whyNoMfu(m_facts->metrics);
    m_rooflineCard->finding().setText(m_finding);
}

void OperatorsPage::fillUtilisation(const PredictedUtilisation& predicted)
{
    const Theme& t = currentTheme();
    XyContent content;
    if (m_facts) {
        XyLine mfu, hfu;
        mfu.pen = QPen(t.text, 1.6);
        hfu.pen = QPen(t.phases[static_cast<std::size_t>(Phase::Recompute)], 1.6);
        bool differs = false;
        double top = 0;
        for (const StepUtilisation& step : m_facts->steps) {
            if (!step.mfu) continue;
            mfu.points.emplace_back(step.step.value, *step.mfu);
            XyPoint point;
            point.x = step.step.value;
            point.y = *step.mfu;
            point.size = 7;
            point.colour = t.text;
            point.mark = step.state != StepState::Measured ? XyMark::Ring : XyMark::Disc;
            point.id = step.step.value;
            if (m_facts->steps.size() <= 400) content.points.push_back(std::move(point));
            if (step.hfu) {
                hfu.points.emplace_back(step.step.value, *step.hfu);
                differs = differs || *step.hfu > *step.mfu * 1.0001;
                top = std::max(top, *step.hfu);
            }
            top = std::max(top, *step.mfu);
        }
        if (differs) content.lines.push_back(hfu);
        const bool any = !mfu.points.empty();
        if (any) content.lines.push_back(std::move(mfu));
        const auto ghost = [&](std::optional<double> value) {
            if (!value || !any) return;
            XyLine line;
            line.pen = QPen(t.prediction, 1.6, Qt::CustomDashLine);
            line.pen.setDashPattern({4, 3});
            line.points = {{m_facts->steps.front().step.value - 0.5, *value},
                           {m_facts->steps.back().step.value + 0.5, *value}};
            content.lines.push_back(std::move(line));
            top = std::max(top, *value);
        };
        ghost(predicted.mfu);
        XyAxis x{
            tr("step"),
            false,
            [](double v) { return std::abs(v - std::round(v)) < 1e-6 ? QString::number(std::llround(v)) : QString(); },
            {}};
        if (any) x.range = {m_facts->steps.front().step.value - 0.5, m_facts->steps.back().step.value + 0.5};
        XyAxis y{differs ? tr("MFU, and HFU with recomputation") : tr("MFU"), false,
                 [top](double v) {
                     return formatPercent(v, top < 0.005 ? 3 : top < 0.05 ? 1 : 0);
                 },
                 std::pair(0.0, std::max(1e-4, top * 1.2))};
        m_utilisation->setToolTips([facts = m_facts](int id) {
            for (const StepUtilisation& step : facts->steps)
                if (step.step.value == id)
                    return tr("step %1%2: %3\nMFU %4, HFU %5")
                        .arg(id)
                        .arg(stepStateNote(step.state))
                        .arg(formatDuration(step.range.length(), 4),
                             step.mfu ? formatPercent(*step.mfu, 2) : QString(kDash),
                             step.hfu ? formatPercent(*step.hfu, 2) : QString(kDash));
            return QString();
        });
        QString text = whyNoMfu(m_facts->metrics);
        if (text.isEmpty()) text = tr("FLOPs or the peak are not known");
        if (any && m_facts->metrics.mfu) {
            text = differs
                       ? tr("MFU %1, HFU %2 at the median step")
                             .arg(formatPercent(*m_facts->metrics.mfu), formatPercent(m_facts->metrics.hfu.value_or(0)))
                       : tr("MFU %1 at the median step")
                             .arg(formatPercent(*m_facts->metrics.mfu, *m_facts->metrics.mfu < 0.01 ? 3 : 1));
            if (predicted.mfu) text += tr(" · predicted %1").arg(formatPercent(*predicted.mfu));
        }
        m_utilisationCard->finding().setText(text);
        if (any)
            m_utilisation->setContent(std::move(x), std::move(y), std::move(content));
        else
            m_utilisation->setNothing(m_facts->steps.empty() ? tr("The trace has no training steps.")
                                                             : tr("No MFU: %1.").arg(whyNoMfu(m_facts->metrics)) +
                                                                   QLatin1Char('\n') + howToGetMfu(m_facts->metrics));
    } else {
        m_utilisation->setNothing({});
    }
}

void OperatorsPage::fillTable()
{
    const Theme& t = currentTheme();
    std::vector<CellColumn> columns{
        {tr("operator"), {}, false, 0},
        {tr("share"), tr("Of the time of all compute operators, over all ranks and measured steps"), false, 96},
        {tr("time"), tr("Added up over all ranks and measured steps"), true, 76},
        {tr("count"), tr("Added up over all ranks and measured steps"), true, 62, true},
        {tr("FLOP/s"), tr("FLOPs / time"), true, 66},
        {tr("B/s"), tr("Bytes it must move in memory / time"), true, 66},
        {tr("bound by"),
         tr("memory: bytes / bandwidth > FLOPs / peak; launch: shorter than %1").arg(formatDuration(kLaunchBound, 2)),
         false, 74}};
    std::vector<std::vector<CellValue>> rows;
    if (m_facts)
        for (const RooflinePoint& each : m_facts->roofline.operators) {
            if (rows.size() >= kMostOperatorRows) break;
            const auto rate = [](const std::optional<double>& value) {
                return CellValue{.text = value ? formatRate(*value, QString()) : QString(kDash),
                                 .exact = value ? QVariant(*value) : QVariant(-1.0)};
            };
            const QString name = pointWords(*m_facts, each);
            rows.push_back(
                {{.text = name, .colour = colourOf(t, each.phase), .toolTip = QString::fromStdString(each.name)},
                 {.text = formatPercent(each.share, each.share < 0.0995 ? 1 : 0),
                  .exact = each.share,
                  .share = each.share,
                  .colour = colourOf(t, each.phase)},
                 {.text = formatDuration(each.total, 3),
                  .exact = static_cast<qlonglong>(each.total.ns),
                  .toolTip = tr("%1 each").arg(formatDuration(each.mean(), 3))},
                 {.text = formatCount(each.count), .exact = static_cast<qlonglong>(each.count)},
                 rate(each.flopsPerSecond()),
                 rate(each.bytesPerSecond()),
                 {.text = words(each.bound)}});
        }
    const auto n = static_cast<qint64>(m_facts ? m_facts->roofline.operators.size() : 0);
    const auto listed = static_cast<qint64>(rows.size());
    m_table->setContent(std::move(columns), std::move(rows));
    if (m_facts && n > 0) {
        const RooflinePoint& first = m_facts->roofline.operators.front();
        QString text =
            tr("%1 takes %2, layers together").arg(pointWords(*m_facts, first), formatPercent(first.share, 0));
        if (m_facts->ranks > 1 || m_facts->measuredSteps > 1)
            text +=
                QStringLiteral(" · ") + tr("sums over %n rank(s)", nullptr, static_cast<int>(m_facts->ranks)) +
                (m_facts->measuredSteps > 0 ? tr(" and %n step(s)", nullptr, static_cast<int>(m_facts->measuredSteps))
                                            : QString());
        if (listed < n)
            text = tr("the %1 longest of %2").arg(formatCount(listed), formatCount(n)) + QStringLiteral(" · ") + text;
        m_tableCard->finding().setText(text);
    } else {
        m_tableCard->finding().setText(m_facts ? tr("no compute operators") : QString());
    }
}

} // namespace fourwalls::views
