// SPDX-License-Identifier: GPL-3.0-or-later
// See bandwidth_card.h.
#include "views/communication/bandwidth_card.h"

#include "model/trace/collective_rows.h"
#include "views/communication/collectives_card.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"

#include <QButtonGroup>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace fourwalls::views {

namespace {
constexpr std::size_t kMostOperations = 3000;
/// One for each group of a trace (dp, tp, pp, cp, ep, embedding, world), with the sign that names it in the legend.
constexpr std::pair<XyMark, const char*> kMarks[] = {
    {XyMark::Disc, "●"}, {XyMark::Square, "■"}, {XyMark::Diamond, "◆"}, {XyMark::Triangle, "▲"},
    {XyMark::Down, "▼"}, {XyMark::Bar, "▬"},    {XyMark::Upright, "▮"}};
} // namespace

std::optional<double> leastRateShown(std::vector<std::pair<double, double>> operations)
{
    std::ranges::sort(operations);
    double all = 0, passed = 0;
    for (const auto& [rate, bytes] : operations) all += bytes;
    for (const auto& [rate, bytes] : operations) {
        passed += bytes;
        if (passed * 1000 < all) continue;
        const double least = rate / 10;
        return operations.front().first < least ? std::optional(least) : std::nullopt;
    }
    return std::nullopt;
}

BandwidthCard::BandwidthCard(QWidget* parent)
    : PlotCard(parent)
    , m_plot(new XyPlot(this))
    , m_legend(new PlotLegend(this))
    , m_bus(choiceButton(this))
    , m_algorithm(choiceButton(this))
{
    auto* group = new QButtonGroup(this);
    for (QToolButton* button : {m_bus, m_algorithm}) {
        group->addButton(button);
        addControl(button);
        connect(button, &QToolButton::clicked, this, &BandwidthCard::fill);
    }
    m_bus->setChecked(true);
    addContent(m_legend);
    addContent(m_plot, 1);
    connect(m_plot, &XyPlot::pointChosen, this, &BandwidthCard::operationChosen);
    connect(m_plot, &XyPlot::pointActivated, this, &BandwidthCard::operationActivated);
    retranslate();
}

bool BandwidthCard::showsBusRate() const
{
    return m_bus->isChecked();
}

void BandwidthCard::retranslate()
{
    title().setText(tr("Bandwidth"));
    m_bus->setText(tr("busbw"));
    m_bus->setToolTip(
        tr("Bus bandwidth: payload / transfer × 2(n−1)/n for all-reduce, (n−1)/n for all-gather and reduce-scatter"));
    m_algorithm->setText(tr("algbw"));
    m_algorithm->setToolTip(tr("Algorithm bandwidth: payload / transfer"));
    m_plot->setAccessibleName(tr("Bandwidth of operations over their size"));
}

void BandwidthCard::present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit)
{
    m_data = std::move(facts);
    m_info = info;
    m_unit = unit;
    fill();
}

void BandwidthCard::setChosen(int operation)
{
    m_plot->setChosen(operation);
}

std::size_t BandwidthCard::membersOf(const JoinedOperation& operation) const
{
    const auto index = static_cast<std::size_t>(std::max(0, operation.group.value));
    return index < m_info.groups.size() ? m_info.groups[index].ranks.size() : operation.members.size();
}

/// A point for each operation with a rate; of many every n-th.
BandwidthCard::Best BandwidthCard::addOperations(XyContent& content, std::vector<PlotLegend::Entry>& legend) const
{
    const Theme& t = currentTheme();
    const auto& operations = m_data->step.operations;
    std::map<std::string, std::size_t> marks;
    const bool repeated = receivesRepeatSends(operations, &JoinedOperation::operation);
    const std::size_t every = operations.size() / kMostOperations + 1;
    Best best;
    for (std::size_t i = 0; i < operations.size(); i += every) {
        const JoinedOperation& operation = operations[i];
        if (repeated && operation.operation == CollectiveOp::Receive) continue;
        const auto rate = busRate(m_info, operation);
        if (!rate) continue;
        const double factor = showsBusRate() ? 1 : 1 / busBandwidthFactor(operation.operation, membersOf(operation));
        const std::string group = groupName(m_info, operation.group);
        const std::size_t mark = marks.try_emplace(group, marks.size() % std::size(kMarks)).first->second;
        XyPoint point;
        point.x = static_cast<double>(operation.payloadBytes.value_or(0));
        point.y = *rate * factor;
        point.colour = t.communication;
        point.mark = kMarks[mark].first;
        point.id = static_cast<int>(i);
        if (*rate > best.rate) best = {*rate, point.x};
        content.points.push_back(std::move(point));
    }
    for (const auto& [group, mark] : marks)
        legend.push_back({PlotLegend::Mark::Sign, t.communication, QString::fromStdString(group),
                          QString::fromUtf8(kMarks[mark].second)});
    return best;
}

void BandwidthCard::addCurves(XyContent& content, std::vector<PlotLegend::Entry>& legend) const
{
    const Theme& t = currentTheme();
    for (const ModelCurve& curve : m_data->curves) {
        XyLine line;
        line.pen = QPen(t.prediction, 1.6, Qt::CustomDashLine);
        line.pen.setDashPattern({4, 3});
        for (const auto& [bytes, rate] : curve.points)
            line.points.emplace_back(bytes,
                                     showsBusRate() ? rate : rate / busBandwidthFactor(curve.operation, curve.members));
        content.lines.push_back(std::move(line));
    }
    if (m_data->curves.empty()) return;
    const ModelCurve& first = m_data->curves.front();
    legend.push_back({PlotLegend::Mark::Dashed, t.prediction,
                      m_data->curves.size() == 1 ? tr("cost model, %1").arg(kindName(first.operation, first.group))
                                                 : tr("cost model")});
}

std::optional<double> BandwidthCard::leastRate(const XyContent& content, std::vector<PlotLegend::Entry>& legend) const
{
    std::vector<std::pair<double, double>> operations;
    for (const XyPoint& point : content.points) operations.emplace_back(point.y, point.x);
    const auto least = leastRateShown(std::move(operations));
    if (!least) return {};
    const auto below = std::ranges::count_if(content.points, [&](const XyPoint& point) { return point.y < *least; });
    legend.push_back({PlotLegend::Mark::Sign, currentTheme().communication,
                      tr("%n slower than the axis shows", nullptr, static_cast<int>(below)),
                      QString(QChar(0x25BD))}); // a hollow triangle, pointing down
    return least;
}

/// The wall is the quicker of the links in use; the slower one is a line below it. Returns the wall's rate; 0: none.
double BandwidthCard::addLinks(XyContent& content, std::vector<PlotLegend::Entry>& legend, double left,
                               double right) const
{
    const Theme& t = currentTheme();
    double wall = 0, lower = 0; // [bytes/s]; 0: none
    QString wallName, lowerName;
    if (m_data->groupsInside && m_data->insideNode) {
        wall = *m_data->insideNode;
        const QString rate = formatRate(wall, QStringLiteral("B/s"));
        wallName = m_data->linkOf.empty() ? tr("link inside a node %1").arg(rate)
                   : m_data->linkGuessed
                       ? tr("guessed: %1, %2").arg(QString::fromStdString(m_data->linkOf), rate)
                       : tr("link of the %1 by its data sheet %2").arg(QString::fromStdString(m_data->linkOf), rate);
    }
    if (m_data->groupsBetween && m_data->betweenNodes) {
        lower = *m_data->betweenNodes;
        lowerName = tr("network, a device's share %1").arg(formatRate(lower, QStringLiteral("B/s")));
        if (wall <= 0) {
            std::swap(wall, lower);
            std::swap(wallName, lowerName);
        }
    }
    if (m_data->linkGuessed && wall > 0) {
        // A guess is no wall: a dashed line with its name.
        lower = wall;
        lowerName = wallName;
        wall = 0;
    }
    if (wall > 0 && right > 0) {
        content.walls.push_back({{{left / 1e3, wall}, {right * 1e3, wall}}, wallName});
        legend.push_back({PlotLegend::Mark::Wall, t.wallEdge, tr("the link's limit")});
    }
    if (lower > 0 && right > 0) {
        content.lines.push_back({{{left / 1e3, lower}, {right * 1e3, lower}},
                                 QPen(t.wallEdge, 1.4, m_data->linkGuessed ? Qt::DashLine : Qt::SolidLine),
                                 false});
        XyPoint label;
        label.x = right;
        label.y = lower;
        label.size = 0;
        label.label = lowerName;
        label.colour = Qt::transparent;
        content.points.push_back(std::move(label));
    }
    return wall;
}

QString BandwidthCard::tipOf(int id) const
{
    const JoinedOperation& operation = m_data->step.operations[static_cast<std::size_t>(id)];
    const auto rate = busRate(m_info, operation);
    return tr("%1, %2 ranks\n%3 in %4 = %5 bus bandwidth\nskew of arrivals %6 · click to look at its hops, double "
              "click for the timeline")
        .arg(kindName(operation.operation, groupName(m_info, operation.group)))
        .arg(membersOf(operation))
        .arg(operation.payloadBytes ? formatBytes(static_cast<double>(*operation.payloadBytes), m_unit)
                                    : QString(kDash),
             formatDuration(operation.transfer(), 3), rate ? formatRate(*rate, QStringLiteral("B/s")) : QString(kDash),
             formatDuration(operation.skew(), 3));
}

void BandwidthCard::fill()
{
    finding().setTone(ElidedText::Tone::Quiet);
    if (!m_data) {
        finding().setText({});
        m_legend->setEntries({});
        return m_plot->setNothing({});
    }
    XyContent content;
    std::vector<PlotLegend::Entry> legend;
    const Best best = addOperations(content, legend);
    const std::optional<double> least = leastRate(content, legend);
    addCurves(content, legend);
    double left = 1e300, right = 0;
    for (const XyPoint& point : content.points) {
        left = std::min(left, point.x);
        right = std::max(right, point.x);
    }
    const double wall = addLinks(content, legend, left, right);
    const QString step = stepName(m_data->step.window);
    if (content.points.empty()) {
        const auto operations = static_cast<qint64>(m_data->step.operations.size());
        m_legend->setEntries({});
        m_plot->setNothing(operations == 0 ? QString() : noRatesText(m_data->rates));
        return finding().setText(tr("%1 operations in %2").arg(formatCount(operations), step));
    }
    XyAxis x{tr("payload of one operation"), true, [unit = m_unit](double v) { return formatBytes(v, unit); }, {}};
    if (right > 0) {
        const double room = right > left * 4 ? std::pow(right / left, 0.05) : 2.0;
        x.range = {left / room, right * room};
    }
    XyAxis y{showsBusRate() ? tr("bus bandwidth [B/s]") : tr("algorithm bandwidth [B/s]"),
             true,
             [](double v) { return formatRate(v, QString()); },
             {}};
    y.least = least;
    m_plot->setToolTips([this](int id) { return tipOf(id); });
    m_plot->setContent(std::move(x), std::move(y), std::move(content));
    m_legend->setEntries(std::move(legend));
    const QString bytes = formatBytes(best.bytes, m_unit);
    if (wall > 0) {
        const double share = best.rate / wall;
        finding().setText(
            tr("at best %1 of the link's rate, at %2, %3").arg(formatPercent(share, share < 0.1 ? 1 : 0), bytes, step));
    } else {
        finding().setText(tr("at best %1 at %2, %3; the link's limit is not known")
                              .arg(formatRate(best.rate, QStringLiteral("B/s")), bytes, step));
    }
}

} // namespace fourwalls::views
