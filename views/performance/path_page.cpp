// SPDX-License-Identifier: GPL-3.0-or-later
// See path_page.h.
#include "views/performance/path_page.h"

#include "views/performance/path_strip.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>

namespace fourwalls::views {

PathPage::PathPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* rows = cardSplitter(Qt::Vertical, this);
    layout->addWidget(rows);
    m_stripCard = new PlotCard(rows);
    m_legend = new PlotLegend(m_stripCard);
    m_strip = new PathStrip(m_stripCard);
    m_stripCard->addContent(m_legend);
    m_stripCard->addContent(m_strip, 1);
    auto* tables = cardSplitter(Qt::Horizontal, rows);
    m_tableCard = new PlotCard(tables);
    m_table = new CellTable(m_tableCard);
    m_tableCard->addContent(m_table, 1);
    m_rankCard = new PlotCard(tables);
    m_ranks = new CellTable(m_rankCard);
    m_rankCard->addContent(m_ranks, 1);
    rows->setSizes({5600, 4400});
    tables->setSizes({6400, 3600});
    connect(m_strip, &PathStrip::segmentActivated, this, [this](int at) {
        const PathSegment& segment = m_path->segments[static_cast<std::size_t>(at)];
        emit segmentActivated(segment.rank, segment.range);
    });
    connect(m_table, &CellTable::rowActivated, this, [this](int row) {
        if (row >= 0 && row < static_cast<int>(m_shares.size())) {
            const PathSegment& longest = m_shares[static_cast<std::size_t>(row)].kind;
            emit segmentActivated(longest.rank, longest.range);
        }
    });
    retranslate();
}

void PathPage::retranslate()
{
    m_stripCard->title().setText(tr("Critical path"));
    m_tableCard->title().setText(tr("What the path is made of"));
    m_rankCard->title().setText(tr("Whose time it is"));
    m_strip->setAccessibleName(tr("Critical path over the ranks"));
    m_table->setAccessibleName(tr("Critical path by kind"));
    m_ranks->setAccessibleName(tr("Critical path by rank"));
}

void PathPage::present(std::shared_ptr<const CriticalPath> path, const TraceInfo& info)
{
    const Theme& t = currentTheme();
    m_path = std::move(path);
    m_shares = m_path ? m_path->shares() : std::vector<PathShare>();
    m_finding.clear();
    m_legend->setEntries({{PlotLegend::Mark::Area, colourOf(t, Phase::Forward), words(Phase::Forward)},
                          {PlotLegend::Mark::Area, colourOf(t, Phase::BackwardInput), words(Phase::BackwardInput)},
                          {PlotLegend::Mark::Area, colourOf(t, Phase::BackwardWeight), words(Phase::BackwardWeight)},
                          {PlotLegend::Mark::Area, colourOf(t, Phase::Optimizer), words(Phase::Optimizer)},
                          {PlotLegend::Mark::Area, t.communication, tr("transfer")},
                          {PlotLegend::Mark::Hatch, {}, tr("nothing ran on the path's rank")}});
    if (m_path && !m_shares.empty()) {
        const auto share = [this](Duration part) {
            return formatPercent(static_cast<double>(part.ns) /
                                     static_cast<double>(std::max<std::int64_t>(1, m_path->window.range.length().ns)),
                                 0);
        };
        const auto ranks = m_path->byRank();
        const bool waits = std::any_of(m_path->segments.begin(), m_path->segments.end(),
                                       [](const PathSegment& segment) { return segment.holdsWaiting; });
        m_finding =
            (waits ? tr("%1 work, %2 communication (wait + transfer), %3 gaps; %4 of it on rank %5, %6 changes of rank")
                   : tr("%1 work, %2 transfers, %3 gaps; %4 of it on rank %5, %6 changes of rank"))
                .arg(share(m_path->time(PathPart::Work)), share(m_path->time(PathPart::Transfer)),
                     share(m_path->time(PathPart::Gap)), share(ranks.front().second))
                .arg(ranks.front().first.value)
                .arg(m_path->jumps);
    } else if (m_path) {
        m_finding = tr("nothing ran in this step");
    }
    m_stripCard->finding().setText(m_finding);
    m_strip->setPath(m_path, info);
    fillTable(info);
    fillRanks();
}

void PathPage::fillTable(const TraceInfo& info)
{
    const Theme& t = currentTheme();
    std::vector<std::vector<CellValue>> rows;
    for (const PathShare& each : m_shares) {
        const PathSegment& kind = each.kind;
        const QColor colour = kind.part == PathPart::Transfer      ? t.communication
                              : kind.part == PathPart::Gap         ? t.hatchLine
                              : kind.activity == Activity::Compute ? colourOf(t, kind.phase)
                                                                   : t.copy;
        const QString where = each.anyRank ? tr("between ranks") : tr("rank %1").arg(kind.rank.value);
        rows.push_back({{.text = pathWords(kind, info), .colour = colour},
                        {.text = where, .exact = each.anyRank ? -1 : kind.rank.value},
                        {.text = formatPercent(each.share, each.share < 0.0995 ? 1 : 0),
                         .exact = each.share,
                         .share = each.share,
                         .colour = colour},
                        {.text = formatDuration(each.time, 3), .exact = static_cast<qlonglong>(each.time.ns)},
                        {.text = formatCount(each.segments), .exact = static_cast<qlonglong>(each.segments)},
                        {.text = kind.name.empty() ? QString(kDash) : QString::fromStdString(kind.name)}});
    }
    m_table->setContent(
        {{tr("what"), {}, false, 168},
         {tr("where"), {}, false, 104},
         {tr("share"), tr("Of the step's time"), false, 130},
         {tr("time"), {}, true, 80},
         {tr("pieces"), tr("Times that the path goes through it"), true, 64},
         {tr("longest operator"), tr("Double click shows the longest piece on the timeline"), false, 0}},
        std::move(rows));
    if (m_shares.empty()) return m_tableCard->finding().setText({});
    m_tableCard->finding().setText(m_shares.front().kind.part == PathPart::Gap
                                       ? tr("most of it is time in which nothing ran")
                                       : tr("%1 determines most").arg(pathWords(m_shares.front().kind, info)));
}

void PathPage::fillRanks()
{
    const Theme& t = currentTheme();
    std::vector<std::vector<CellValue>> rows;
    if (m_path) {
        const double length = static_cast<double>(std::max<std::int64_t>(1, m_path->window.range.length().ns));
        for (const auto& [rank, time] : m_path->byRank()) {
            const double share = static_cast<double>(time.ns) / length;
            rows.push_back({{.text = tr("rank %1").arg(rank.value), .exact = rank.value},
                            {.text = formatPercent(share, share < 0.0995 ? 1 : 0),
                             .exact = share,
                             .share = share,
                             .colour = t.otherCompute},
                            {.text = formatDuration(time, 3), .exact = static_cast<qlonglong>(time.ns)}});
        }
    }
    m_ranks->setContent({{tr("rank"), {}, false, 84}, {tr("share"), {}, false, 0}, {tr("time"), {}, true, 84}},
                        std::move(rows));
}

} // namespace fourwalls::views
