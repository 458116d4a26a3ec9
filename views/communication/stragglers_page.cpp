// SPDX-License-Identifier: GPL-3.0-or-later
// See stragglers_page.h.
#include "views/communication/stragglers_page.h"

#include "views/communication/collectives_card.h"
#include "views/communication/matrix_plot.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/plot_xy.h"
#include "views/plot/theme.h"
#include "views/whatif/gain_line.h"

#include <QHBoxLayout>
#include <QSplitter>

#include <algorithm>
#include <set>

namespace fourwalls::views {

StragglersPage::StragglersPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_plotCard = new PlotCard(splitter);
    m_plot = new XyPlot(m_plotCard);
    m_plotCard->addContent(m_plot, 1);
    auto* right = cardSplitter(Qt::Vertical, splitter);
    m_tableCard = new PlotCard(right);
    m_table = new CellTable(m_tableCard);
    m_tableCard->addContent(m_table, 1);
    m_gain = new GainLine(m_tableCard);
    m_tableCard->addContent(m_gain);
    m_mapCard = new PlotCard(right);
    m_map = new MatrixPlot(m_mapCard);
    m_mapCard->addContent(m_map, 1);
    right->setSizes({5000, 5000});
    connect(m_map, &MatrixPlot::cellChosen, this, [this](int, int column) {
        if (column < static_cast<int>(m_mapped.size()))
            emit operationChosen(static_cast<int>(m_mapped[static_cast<std::size_t>(column)]));
    });
    splitter->setSizes({5200, 4800});
    connect(m_plot, &XyPlot::pointChosen, this, &StragglersPage::operationChosen);
    connect(m_plot, &XyPlot::pointActivated, this, &StragglersPage::operationActivated);
    connect(m_table, &CellTable::rowChosen, this, [this](int row) {
        if (!m_data || row < 0 || row >= static_cast<int>(m_data->step.skew.ranks.size())) return;
        m_rank = m_data->step.skew.ranks[static_cast<std::size_t>(row)].rank;
        askGain();
        emit rankChosen(*m_rank);
    });
    retranslate();
}

void StragglersPage::askGain()
{
    std::optional<RankId> rank = m_rank;
    if (!rank && m_data && m_data->step.late) rank = m_data->step.late->rank;
    std::vector<replay::GainSubject> subjects;
    if (rank) subjects.push_back({replay::GainSubject::Kind::Rank, {}, *rank});
    m_gain->ask(subjects);
}

void StragglersPage::retranslate()
{
    m_gain->retranslate();
    m_plotCard->title().setText(tr("Arrival skew"));
    m_tableCard->title().setText(tr("Who is late"));
    m_plot->setAccessibleName(tr("Skew of arrivals over the step"));
    m_table->setAccessibleName(tr("Lateness by rank"));
    m_mapCard->title().setText(tr("Lateness by operation"));
    m_map->setAccessibleName(tr("Lateness of each rank in each operation"));
    m_map->setAxisNames(tr("rank"), tr("operations, by time"));
}

void StragglersPage::setChosen(int operation)
{
    m_plot->setChosen(operation);
}

void StragglersPage::present(std::shared_ptr<const CommunicationData> facts, const TraceInfo& info, ByteUnit unit)
{
    m_data = std::move(facts);
    m_unit = unit;
    m_finding.clear();
    if (m_data && m_data->step.skew.operations > 0) {
        const std::optional<RankLateness>& late = m_data->step.late;
        const double all = static_cast<double>(m_data->step.skew.totalWait.ns);
        const QString scope = stepName(m_data->step.window);
        m_finding =
            late && all > 0
                ? tr("rank %1 comes last in %2 of %3 operations and causes %4 of all waiting, %5")
                      .arg(late->rank.value)
                      .arg(formatCount(late->last), formatCount(late->operations),
                           formatPercent(static_cast<double>(late->caused.ns) / all, 0), scope)
                : tr("nobody is late: no rank is last more often than by chance, or it costs under 1 %, %1").arg(scope);
    } else if (m_data) {
        m_finding = tr("no operation of %1 has all its ranks in this trace").arg(stepName(m_data->step.window));
    }
    fillPlot(info);
    fillTable();
    fillMap(info);
    m_tableCard->finding().setText(m_finding);
    askGain();
}

void StragglersPage::fillPlot(const TraceInfo& info)
{
    const Theme& t = currentTheme();
    XyContent content;
    Duration longest;
    if (m_data) longest = m_data->step.skew.longestSkew;
    const RankLateness* worst = m_data && m_data->step.late ? &*m_data->step.late : nullptr;
    if (m_data) {
        const auto& operations = m_data->step.operations;
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const JoinedOperation& operation = operations[i];
            if (operation.isMessage() || operation.skew().ns <= 0) continue;
            if (collectiveTiming(info, operation.group, operation.operation) != CollectiveTiming::Separated) continue;
            XyPoint point;
            point.x = (operation.firstArrival() - m_data->step.window.range.begin).milliseconds();
            point.y = static_cast<double>(operation.skew().ns);
            const bool byWorst = worst && operation.skew().ns > 0 && operation.late() == worst->rank;
            point.colour = byWorst ? t.wallEdge : t.communication;
            point.mark = byWorst ? XyMark::Diamond : XyMark::Disc;
            point.id = static_cast<int>(i);
            content.points.push_back(std::move(point));
        }
    }
    m_plot->setToolTips([this, info](int id) {
        const JoinedOperation& operation = m_data->step.operations[static_cast<std::size_t>(id)];
        QStringList arrivals;
        for (const CollectiveView& member : operation.members) {
            if (arrivals.size() >= 12) {
                arrivals << QStringLiteral("…");
                break;
            }
            arrivals << tr("rank %1 +%2")
                            .arg(member.rank.value)
                            .arg(formatDuration(member.record.start - operation.firstArrival(), 3));
        }
        return tr("%1, %2\narrivals: %3")
            .arg(kindName(operation.operation, groupName(info, operation.group)),
                 operation.payloadBytes ? formatBytes(static_cast<double>(*operation.payloadBytes), m_unit)
                                        : QString(kDash),
                 arrivals.join(QStringLiteral(", ")));
    });
    const bool several = m_data && m_data->step.window.steps > 1;
    XyAxis x{several ? tr("since the begin of the first measured step [ms]") : tr("since the step's begin [ms]"),
             false,
             {},
             {}};
    if (m_data && !content.points.empty())
        x.range = {0.0, std::max(1e-6, m_data->step.window.range.length().milliseconds())};
    XyAxis y{tr("last arrival − first arrival"),
             true,
             [](double ns) { return formatDuration(Duration{static_cast<std::int64_t>(ns)}, 3); },
             {}};
    m_plotCard->finding().setText(
        m_data && m_data->step.skew.operations > 0
            ? (worst ? tr("median %1, longest %2; ◆ rank %3 came last")
                           .arg(formatDuration(m_data->step.skew.medianSkew, 3), formatDuration(longest, 3))
                           .arg(worst->rank.value)
                     : tr("median %1, longest %2")
                           .arg(formatDuration(m_data->step.skew.medianSkew, 3), formatDuration(longest, 3)))
            : QString());
    if (content.points.empty())
        return m_plot->setNothing(
            !m_data ? QString()
            : m_data->step.skew.operations > 0
                ? tr("All members of every operation arrive at the same instant.")
                : tr("No operation has all its ranks in this trace: who was waited for cannot be told."));
    m_plot->setContent(std::move(x), std::move(y), std::move(content));
}

void StragglersPage::fillMap(const TraceInfo& info)
{
    constexpr std::size_t kMostMapColumns = 1000; // of more, neighbours share one: the latest of them is shown
    std::vector<std::size_t> shown;
    std::set<RankId> members;
    for (std::size_t i = 0; m_data && i < m_data->step.operations.size(); ++i) {
        const JoinedOperation& operation = m_data->step.operations[i];
        if (operation.isMessage() || operation.members.size() < 2) continue;
        if (collectiveTiming(info, operation.group, operation.operation) != CollectiveTiming::Separated) continue;
        shown.push_back(i);
        for (const CollectiveView& member : operation.members) members.insert(member.rank);
    }
    const std::size_t each = std::max<std::size_t>(1, (shown.size() + kMostMapColumns - 1) / kMostMapColumns);
    const std::size_t columns = (shown.size() + each - 1) / each;
    const std::vector<RankId> ranks(members.begin(), members.end());
    std::vector<double> values(ranks.size() * columns, 0.0);
    m_mapped.clear();
    for (std::size_t at = 0; at < shown.size(); ++at) {
        if (at % each == 0) m_mapped.push_back(shown[at]);
        const JoinedOperation& operation = m_data->step.operations[shown[at]];
        for (const CollectiveView& member : operation.members) {
            const auto row =
                static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), member.rank) - ranks.begin());
            double& late = values[row * columns + at / each];
            late = std::max(late, static_cast<double>((member.record.start - operation.firstArrival()).ns));
        }
    }
    std::vector<int> names, numbers(columns);
    for (const RankId rank : ranks) names.push_back(rank.value);
    for (std::size_t column = 0; column < columns; ++column) numbers[column] = static_cast<int>(column * each) + 1;
    m_map->setText([](double ns) { return formatDuration(Duration{static_cast<std::int64_t>(ns)}, 3); });
    m_map->setCellText([this, info, names](int row, int column, double ns) {
        const JoinedOperation& operation = m_data->step.operations[m_mapped[static_cast<std::size_t>(column)]];
        const QString late = formatDuration(Duration{static_cast<std::int64_t>(ns)}, 3);
        return tr("rank %1, %2: %3 after the first")
            .arg(names[static_cast<std::size_t>(row)])
            .arg(kindName(operation.operation, groupName(info, operation.group)), late);
    });
    m_map->setNothing(m_data ? tr("No operation has all its ranks in this trace: who was waited for cannot be told.")
                             : QString());
    m_map->setTable(std::move(names), std::move(numbers), std::move(values));
    m_mapCard->finding().setText(each > 1 ? tr("of %1 operations a column each, the latest of them").arg(each)
                                          : QString());
}

void StragglersPage::fillTable()
{
    const Theme& t = currentTheme();
    std::vector<CellColumn> columns{
        {tr("rank"), {}, true, 56},
        {tr("came last"), tr("Share of its operations in which this rank arrived last"), false, 120},
        {tr("times"), tr("Operations in which it came last, of all that it took part in with others"), true, 92},
        {tr("behind"), tr("Own arrival minus first arrival, mean per operation"), true, 84, true},
        {tr("waited"), tr("Own arrival to last arrival, added up"), true, 84},
        {tr("others waited for it"),
         tr("What the others waited in operations in which this rank came last, added up over them"), false, 0}};
    std::vector<std::vector<CellValue>> rows;
    if (m_data) {
        Duration most;
        for (const RankLateness& rank : m_data->step.skew.ranks) most = std::max(most, rank.caused);
        const RankLateness* worst = m_data->step.late ? &*m_data->step.late : nullptr;
        for (const RankLateness& rank : m_data->step.skew.ranks) {
            const QColor ink = worst && worst->rank == rank.rank ? t.wallEdge : QColor();
            const QColor bar = worst && worst->rank == rank.rank ? t.wallEdge : t.communication;
            const Duration behind{rank.operations > 0 ? rank.behind.ns / rank.operations : 0};
            rows.push_back(
                {{.text = QString::number(rank.rank.value), .exact = rank.rank.value, .ink = ink},
                 {.text = formatPercent(rank.lastShare(), 0),
                  .exact = rank.lastShare(),
                  .share = rank.lastShare(),
                  .colour = bar},
                 {.text = tr("%1 of %2").arg(formatCount(rank.last), formatCount(rank.operations)),
                  .exact = static_cast<qlonglong>(rank.last),
                  .ink = ink},
                 {.text = formatDuration(behind, 3), .exact = static_cast<qlonglong>(behind.ns), .ink = ink},
                 {.text = formatDuration(rank.waited, 3), .exact = static_cast<qlonglong>(rank.waited.ns), .ink = ink},
                 {{},
                  static_cast<qlonglong>(rank.caused.ns),
                  {},
                  {},
                  {},
                  formatDuration(rank.caused, 4),
                  {{most.ns > 0 ? static_cast<double>(rank.caused.ns) / static_cast<double>(most.ns) : 0, bar}}}});
        }
    }
    m_table->setContent(std::move(columns), std::move(rows), 5);
}

} // namespace fourwalls::views
