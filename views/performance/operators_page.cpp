// SPDX-License-Identifier: GPL-3.0-or-later
// See operators_page.h.
#include "views/performance/operators_page.h"

#include "views/performance/roofline_card.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"
#include "views/whatif/gain_line.h"
#include "views/words/utilisation.h"
#include "views/words/words.h"

#include <QHBoxLayout>
#include <QSplitter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {

constexpr std::size_t kMostOperatorRows = 500;

} // namespace

OperatorsPage::OperatorsPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_roofline = new RooflineCard(splitter);
    auto* right = cardSplitter(Qt::Vertical, splitter);
    m_utilisationCard = new PlotCard(right);
    m_utilisation = new XyPlot(m_utilisationCard);
    m_utilisationCard->addContent(m_utilisation, 1);
    m_tableCard = new PlotCard(right);
    m_table = new CellTable(m_tableCard);
    m_tableCard->addContent(m_table, 1);
    m_gain = new GainLine(m_tableCard);
    m_tableCard->addContent(m_gain);
    splitter->setSizes({4500, 5500});
    right->setSizes({3600, 6400});
    connect(m_utilisation, &XyPlot::pointChosen, this, [this](int step) { emit stepChosen(StepIndex(step)); });
    connect(m_utilisation, &XyPlot::pointActivated, this, [this](int step) { emit stepActivated(StepIndex(step)); });
    connect(m_table, &CellTable::rowChosen, this, [this](int row) {
        if (!m_facts || row < 0 || static_cast<std::size_t>(row) >= m_facts->roofline.operators.size()) return;
        m_shown = m_facts->roofline.operators[static_cast<std::size_t>(row)].name;
        askGain();
    });
    retranslate();
}

void OperatorsPage::askGain()
{
    // Launches and what else the replayed step has no work of is answered with its reason.
    std::vector<replay::GainSubject> subjects;
    if (!m_shown.empty() && m_facts &&
        std::ranges::any_of(m_facts->roofline.operators,
                            [this](const RooflinePoint& each) { return each.name == m_shown; }))
        subjects.push_back({replay::GainSubject::Kind::Kernel, m_shown, {}});
    m_gain->ask(subjects);
}

void OperatorsPage::retranslate()
{
    m_roofline->retranslate();
    m_gain->retranslate();
    m_utilisationCard->title().setText(tr("Utilisation"));
    m_tableCard->title().setText(tr("Operators"));
    m_utilisation->setAccessibleName(tr("MFU and HFU of each step"));
    m_table->setAccessibleName(tr("Operators by time"));
}

void OperatorsPage::present(std::shared_ptr<const PerformanceData> facts, const PredictedUtilisation& predicted)
{
    m_facts = std::move(facts);
    m_roofline->present(m_facts);
    fillUtilisation(predicted);
    fillTable();
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
        XyAxis x{tr("step"), false, [](double v) { return QString::number(std::llround(v)); }, {}, true};
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
            const QString at = m_facts->step ? tr("step %1").arg(m_facts->step->value) : tr("the median step");
            const TraceMetrics& metrics = m_facts->metrics;
            text = differs ? tr("MFU %1, HFU %2 at %3")
                                 .arg(formatPercent(*metrics.mfu), formatPercent(metrics.hfu.value_or(0)), at)
                           : tr("MFU %1 at %2").arg(formatUtilisation(*metrics.mfu), at);
            if (predicted.mfu) text += QStringLiteral(" · %1 %2").arg(predicted.name, formatPercent(*predicted.mfu));
        }
        m_utilisationCard->finding().setText(text);
        if (any)
            m_utilisation->setContent(std::move(x), std::move(y), std::move(content));
        else
            m_utilisation->setNothing(m_facts->steps.empty() ? tr("The trace has no training steps.")
                                                             : tr("No MFU: %1.").arg(whyNoMfu(m_facts->metrics)) +
                                                                   QLatin1Char('\n') + howToGetMfu(*m_facts));
    } else {
        m_utilisation->setNothing({});
    }
}

void OperatorsPage::showOperator(const std::string& name)
{
    m_shown = name;
    askGain();
    if (!m_facts) return;
    const auto& all = m_facts->roofline.operators;
    const auto at = std::find_if(all.begin(), all.end(), [&](const RooflinePoint& each) { return each.name == name; });
    const auto row = at - all.begin();
    m_table->showRow(at == all.end() || static_cast<std::size_t>(row) >= kMostOperatorRows ? -1
                                                                                           : static_cast<int>(row));
}

void OperatorsPage::fillTable()
{
    const Theme& t = currentTheme();
    // What the trace says of no operator leaves its room to the names.
    const auto nobodyHas = [this](auto value) {
        return !m_facts || std::none_of(m_facts->roofline.operators.begin(), m_facts->roofline.operators.end(), value);
    };
    const bool noFlops = nobodyHas([](const RooflinePoint& each) { return each.flopsPerSecond().has_value(); });
    const bool noBytes = nobodyHas([](const RooflinePoint& each) { return each.bytesPerSecond().has_value(); });
    const bool noBounds = nobodyHas([](const RooflinePoint& each) { return each.bound != BoundBy::Unknown; });
    std::vector<CellColumn> columns{
        {tr("operator"), {}, false, 0},
        {tr("share"), tr("Of the time of all compute operators, over all ranks and measured steps"), false, 96},
        {tr("time"), tr("Added up over all ranks and measured steps"), true, 76},
        {tr("count"), tr("Added up over all ranks and measured steps"), true, 62, true},
        {tr("FLOP/s"), tr("FLOPs / time"), true, 66, false, noFlops},
        {tr("B/s"), tr("Bytes it must move in memory / time"), true, 66, false, noBytes},
        {tr("bound by"),
         tr("memory: bytes / bandwidth > FLOPs / peak; launch: shorter than %1").arg(formatDuration(kLaunchBound, 2)),
         false, 74, false, noBounds}};
    std::vector<std::vector<CellValue>> rows;
    if (m_facts)
        for (const RooflinePoint& each : m_facts->roofline.operators) {
            if (rows.size() >= kMostOperatorRows) break;
            const auto rate = [](const std::optional<double>& value) {
                return CellValue{.text = value ? formatRate(*value, QString()) : QString(kDash),
                                 .exact = value ? QVariant(*value) : QVariant(-1.0)};
            };
            const QString name = operatorWords(*m_facts, each);
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
            tr("%1 takes %2, layers together").arg(operatorWords(*m_facts, first), formatPercent(first.share, 0));
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
    showOperator(m_shown);
}

} // namespace fourwalls::views
