// SPDX-License-Identifier: GPL-3.0-or-later
// See scaling_page.h.
#include "views/communication/scaling_page.h"

#include "views/communication/collectives_card.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"
#include "views/words/words.h"

#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

QString percentText(double value)
{
    return formatPercent(value, value < 0.01 ? 2 : value < 0.1 ? 1 : 0);
}

QPen predictedPen()
{
    QPen pen(currentTheme().prediction, 1.8, Qt::CustomDashLine);
    pen.setDashPattern({4, 3});
    return pen;
}

} // namespace

ScalingPage::ScalingPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* rows = cardSplitter(Qt::Vertical, this);
    auto* plots = cardSplitter(Qt::Horizontal, rows);
    layout->addWidget(rows);
    m_devicesCard = new PlotCard(plots);
    m_devices = new XyPlot(m_devicesCard);
    m_devicesCard->addContent(m_devices, 1);
    m_linksCard = new PlotCard(plots);
    m_links = new XyPlot(m_linksCard);
    m_linksCard->addContent(m_links, 1);
    plots->setSizes({5000, 5000});
    m_tableCard = new PlotCard(rows);
    m_table = new CellTable(m_tableCard);
    m_tableCard->addContent(m_table, 1);
    rows->setSizes({6200, 3800});
    retranslate();
}

void ScalingPage::retranslate()
{
    m_devicesCard->title().setText(tr("Scaling efficiency"));
    m_linksCard->title().setText(tr("Use of the link"));
    m_tableCard->title().setText(tr("What one step sends"));
    m_devices->setAccessibleName(tr("Scaling efficiency over devices"));
    m_links->setAccessibleName(tr("Utilisation over link speed"));
    m_table->setAccessibleName(tr("Bytes by algorithm"));
}

void ScalingPage::present(std::shared_ptr<const CommunicationData> facts, std::shared_ptr<const ScalingData> scaling,
                          ByteUnit unit)
{
    fillDevices(scaling.get());
    fillLinks(scaling.get());
    fillTable(facts.get(), unit);
}

void ScalingPage::fillDevices(const ScalingData* scaling)
{
    const Theme& t = currentTheme();
    if (!scaling || !scaling->problem.empty() || scaling->devices.points.empty()) {
        const QString why = !scaling ? QString()
                            : scaling->problem == "specification"
                                ? tr("The trace does not say what was trained and on what: fill it in under What if.")
                                : QString::fromStdString(scaling->problem);
        m_devices->setNothing(why);
        return m_devicesCard->finding().setText({});
    }
    XyContent content;
    XyLine line;
    line.pen = predictedPen();
    line.dots = true;
    double own = 0;
    int smallest = -1; // number of devices from which on it fits; -1: on any, 0: on none
    for (const cost::ScalingPoint& point : scaling->devices.points) {
        line.points.emplace_back(point.devices, point.efficiency);
        if (point.devices == scaling->ownDevices) own = point.efficiency;
        XyPoint target;
        target.x = point.devices;
        target.y = point.efficiency;
        target.size = 6;
        target.colour = t.prediction;
        target.id = point.devices;
        if (!point.fits) { // a device that would have to hold it all
            target.mark = XyMark::Ring;
            target.size = 8;
            smallest = 0;
        } else if (smallest == 0) {
            smallest = point.devices;
        }
        content.points.push_back(std::move(target));
    }
    content.lines.push_back(std::move(line));
    content.walls.push_back({{{0.5, 1.0}, {1e7, 1.0}}, tr("T_n = n · T_1")});
    double top = 1.12;
    if (scaling->ownEfficiency && *scaling->ownEfficiency < 3) {
        XyPoint recorded;
        recorded.x = scaling->ownDevices;
        recorded.y = *scaling->ownEfficiency;
        recorded.size = 11;
        recorded.mark = XyMark::Ring;
        recorded.colour = scaling->source == TraceSource::Predicted ? t.prediction : t.text;
        recorded.label = tr("%1, %2").arg(words(scaling->source), percentText(*scaling->ownEfficiency));
        top = std::max(top, *scaling->ownEfficiency * 1.1);
        content.points.push_back(std::move(recorded));
    }
    const int base = scaling->devices.baseDevices;
    m_devices->setToolTips([points = scaling->devices.points](int id) {
        for (const cost::ScalingPoint& point : points)
            if (point.devices == id)
                return tr("%1 devices: %2 efficiency\nstep %3, %4 samples/s")
                           .arg(formatCount(id), percentText(point.efficiency),
                                formatDuration(Duration::fromSeconds(std::min(point.stepSeconds, 1e9)), 3),
                                formatFigure(point.samplesPerSecond, 4)) +
                       (point.fits ? QString() : QLatin1Char('\n') + tr("does not fit into the memory of a device"));
        return QString();
    });
    const double last = scaling->devices.points.back().devices;
    m_devices->setContent(
        {tr("devices, each with the same share of the batch"), true,
         [](double v) { return formatRate(v, QString(), 3); },
         std::pair(std::max(0.8, base * 0.8), std::max(2.0, last * 1.2))},
        {tr("T_n / (n T_1)"), false, [](double v) { return formatPercent(v, 0); }, std::pair(0.0, top)},
        std::move(content));
    const auto& lastPoint = scaling->devices.points.back();
    const QString devices = formatCount(scaling->ownDevices);
    QString text =
        lastPoint.devices == scaling->ownDevices
            ? tr("%1 at %2 devices (cost model)").arg(percentText(own), devices)
            : tr("%1 at %2 devices, %3 at %4 (cost model)")
                  .arg(percentText(own), devices, percentText(lastPoint.efficiency), formatCount(lastPoint.devices));
    if (smallest == 0) text += tr(" · ○ fits into no device's memory");
    if (smallest > 0) text += tr(" · ○ fits into memory from %1 devices on").arg(formatCount(smallest));
    if (scaling->assumed) text += tr(" · part of the specification is guessed");
    m_devicesCard->finding().setText(text);
}

void ScalingPage::fillLinks(const ScalingData* scaling)
{
    const Theme& t = currentTheme();
    if (!scaling || scaling->links.empty()) {
        m_links->setNothing(!scaling                                              ? QString()
                            : scaling->ownDevices < 2 && scaling->problem.empty() ? tr("One device sends nothing.")
                            : scaling->problem == "specification"                 ? QString()
                                                                  : QString::fromStdString(scaling->linksProblem));
        return m_linksCard->finding().setText({});
    }
    XyContent content;
    XyLine used, kept;
    used.pen = predictedPen();
    used.dots = true;
    kept.pen = QPen(t.secondaryText, 1.4, Qt::DotLine);
    int id = 0;
    for (const cost::LinkPoint& point : scaling->links) {
        used.points.emplace_back(point.bitsPerSecond, point.utilisation);
        kept.points.emplace_back(point.bitsPerSecond, point.efficiency);
        XyPoint target;
        target.x = point.bitsPerSecond;
        target.y = point.utilisation;
        target.size = 6;
        target.colour = t.prediction;
        target.id = id++;
        content.points.push_back(std::move(target));
    }
    XyPoint name;
    name.size = 0;
    name.colour = Qt::transparent;
    const auto& middle = scaling->links[scaling->links.size() / 2];
    name.x = middle.bitsPerSecond;
    name.y = middle.efficiency;
    name.label = tr("speed of the step, of what it could be");
    content.points.push_back(name);
    name.x = scaling->links[scaling->links.size() / 3].bitsPerSecond;
    name.y = scaling->links[scaling->links.size() / 3].utilisation;
    name.label = tr("utilisation");
    content.points.push_back(name);
    content.lines.push_back(std::move(used));
    content.lines.push_back(std::move(kept));
    content.walls.push_back({{{1e7, 1.0}, {1e14, 1.0}}, tr("all that the link carries")});
    const bool marked = scaling->ownLinkBits && scaling->ownUtilisation && *scaling->ownLinkBits >= 5e8 &&
                        *scaling->ownLinkBits <= 2e13;
    if (marked) {
        XyPoint recorded;
        recorded.x = *scaling->ownLinkBits;
        recorded.y = *scaling->ownUtilisation;
        recorded.size = 11;
        recorded.mark = XyMark::Ring;
        recorded.colour = scaling->source == TraceSource::Predicted ? t.prediction : t.text;
        recorded.label = tr("%1: %2 at %3")
                             .arg(words(scaling->source), percentText(*scaling->ownUtilisation),
                                  formatRate(*scaling->ownLinkBits, QStringLiteral("b/s")));
        content.points.insert(content.points.begin(), std::move(recorded));
    }
    m_links->setToolTips([points = scaling->links](int at) {
        if (at < 0 || at >= static_cast<int>(points.size())) return QString();
        const cost::LinkPoint& point = points[static_cast<std::size_t>(at)];
        return tr("every link at %1: step %2, the busiest rank uses %3 of it")
            .arg(formatRate(point.bitsPerSecond, QStringLiteral("b/s")),
                 formatDuration(Duration::fromSeconds(std::min(point.stepSeconds, 1e9)), 3),
                 percentText(point.utilisation));
    });
    const double right =
        std::max({1e12, scaling->links.back().bitsPerSecond * 1.2, marked ? *scaling->ownLinkBits * 1.6 : 0});
    m_links->setContent({tr("speed of every link [b/s]"), true, [](double v) { return formatRate(v, QString()); },
                         std::pair(8e8, right)},
                        {tr("bytes sent / (step time × link)"), false, [](double v) { return formatPercent(v, 0); },
                         std::pair(0.0, 1.12)},
                        std::move(content));
    const auto& first = scaling->links.front();
    const auto& last = scaling->links.back();
    m_linksCard->finding().setText(
        tr("a faster network is used less well: %1 at %2, %3 at %4")
            .arg(percentText(first.utilisation), formatRate(first.bitsPerSecond, QStringLiteral("b/s")),
                 percentText(last.utilisation), formatRate(last.bitsPerSecond, QStringLiteral("b/s"))));
}

void ScalingPage::fillTable(const CommunicationData* facts, ByteUnit unit)
{
    const Theme& t = currentTheme();
    std::vector<CellColumn> columns{
        {tr("group"), {}, false, 110},
        {tr("ranks"), tr("Members of one group"), true, 56},
        {tr("operations"),
         tr("Of all groups of that name, in %1").arg(facts ? stepName(facts->step.window) : QString()), true, 88},
        {tr("buffers"), tr("Payload of all operations"), true, 92},
        {tr("published formula"),
         tr("As articles count it, everybody sends everything to everybody, 2 bytes per number; hover for the formula"),
         true, 132},
        {tr("naive broadcast"), tr("n(n−1) times each of the step's buffers"), true, 118},
        {tr("ring"), tr("2(n−1) times each all-reduce's buffer, n−1 times each gather's or scatter's"), true, 92},
        {tr("tree"), tr("2(n−1) times each all-reduce's buffer, fewer rounds"), true, 92},
        {tr("hierarchical"), tr("Inside nodes, then between them; only where groups span nodes"), true, 104},
        {tr("sent"), tr("What all ranks together sent (predictions: would send)"), true, 92},
        {tr("sent / naive"), {}, false, 0}};
    std::vector<std::vector<CellValue>> rows;
    double sent = 0, naive = 0;
    if (facts)
        for (const GroupTraffic& row : facts->formulas) {
            const auto bytes = [&](std::optional<double> value, const QString& tip = {}) {
                return CellValue{.text = value ? formatBytes(*value, unit) : QString(kDash),
                                 .exact = value ? QVariant(*value) : QVariant(-1.0),
                                 .toolTip = tip};
            };
            if (std::llround(row.operations) == 0) continue; // a fraction of one operation per job
            const double share = row.naive > 0 ? row.measured / row.naive : 0;
            sent += row.measured;
            naive += row.naive;
            rows.push_back(
                {{.text = groupText(row.group), .colour = t.communication},
                 {.text = QString::number(row.members), .exact = row.members},
                 {.text = formatCount(static_cast<qint64>(std::llround(row.operations))), .exact = row.operations},
                 bytes(row.payload),
                 bytes(row.published, QString::fromStdString(row.formula)),
                 bytes(row.naive),
                 bytes(row.ring),
                 bytes(row.tree),
                 bytes(row.hierarchical),
                 bytes(row.measured),
                 {.text = formatPercent(share, 0), .exact = share, .share = share, .colour = t.communication}});
        }
    m_table->setContent(std::move(columns), std::move(rows));
    QString text;
    if (naive > 0)
        text = (facts->step.window.steps > 1
                    ? tr("%1 sent in a step, the mean of %3; sending everything to everybody would be %2")
                    : tr("%1 sent in %3; sending everything to everybody would be %2"))
                   .arg(formatBytes(sent, unit), formatBytes(naive, unit), stepName(facts->step.window));
    m_tableCard->finding().setText(text);
}

} // namespace fourwalls::views
