// SPDX-License-Identifier: GPL-3.0-or-later
// See experts_page.h.
#include "views/performance/experts_page.h"

#include "views/performance/expert_plot.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/words/format.h"
#include "views/words/words.h"

#include <QHBoxLayout>
#include <QSplitter>

#include <algorithm>
#include <cmath>

namespace fourwalls::views {

namespace {
constexpr double kEvenLoad = 1.005; ///< of the busiest expert by the mean, below which the loads are called even
}

ExpertsPage::ExpertsPage(QWidget* parent) : QWidget(parent)
{
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* splitter = cardSplitter(Qt::Horizontal, this);
    layout->addWidget(splitter);
    m_plotCard = new PlotCard(splitter);
    m_plot = new ExpertPlot(m_plotCard);
    m_plotCard->addContent(m_plot, 1);
    auto* right = cardSplitter(Qt::Vertical, splitter);
    m_rankCard = new PlotCard(right);
    m_ranks = new CellTable(m_rankCard);
    m_rankCard->addContent(m_ranks, 1);
    m_capacityCard = new PlotCard(right);
    m_capacity = new CellTable(m_capacityCard);
    m_capacityCard->addContent(m_capacity, 1);
    right->setSizes({6200, 3800});
    splitter->setSizes({5600, 4400});
    connect(m_ranks, &CellTable::rowChosen, this, [this](int row) {
        if (m_facts && row >= 0 && row < static_cast<int>(m_facts->ranks.size()))
            emit rankChosen(m_facts->ranks[static_cast<std::size_t>(row)].rank);
    });
    retranslate();
}

void ExpertsPage::retranslate()
{
    m_plotCard->title().setText(tr("Tokens by expert"));
    m_rankCard->title().setText(tr("Ranks"));
    m_capacityCard->title().setText(tr("If experts had a capacity"));
    m_plot->setAccessibleName(tr("Tokens of each expert of each layer"));
    m_ranks->setAccessibleName(tr("Tokens and time of the experts by rank"));
    m_capacity->setAccessibleName(tr("Tokens that would be dropped"));
}

void ExpertsPage::present(std::shared_ptr<const ExpertLoad> facts, const TraceInfo& info)
{
    m_facts = std::move(facts);
    fillPlot(info);
    fillRanks();
    fillCapacity();
}

void ExpertsPage::fillPlot(const TraceInfo& info)
{
    m_finding.clear();
    std::vector<ExpertLayer> layers;
    if (m_facts) layers = m_facts->layers;
    if (!layers.empty()) {
        const auto worst = std::max_element(layers.begin(), layers.end(), [](const auto& a, const auto& b) {
            return a.mostOverMean() < b.mostOverMean();
        });
        const auto busiest = std::max_element(worst->tokens.begin(), worst->tokens.end()) - worst->tokens.begin();
        m_finding = worst->mostOverMean() < kEvenLoad ? tr("all experts get the same")
                                                      : tr("layer %1: expert %2 gets %3 × the mean")
                                                            .arg(worst->layer)
                                                            .arg(busiest)
                                                            .arg(worst->mostOverMean(), 0, 'f', 2);
        if (m_facts->window.step) m_finding += tr(", step %1").arg(m_facts->window.step->value);
    }
    m_plot->setNothing(
        !m_facts ? QString()
        : info.header.source == TraceSource::Predicted
            ? tr("A prediction takes experts as equally loaded.")
            : tr("This trace does not count the tokens of experts.\nTo see them, record a mixture of experts:\n"
                 "fourwalls-cli record -o moe.fourwalls --model moe-tiny --plan \"dp=2 ep=2 routing=natural\""));
    m_plot->setLayers(std::move(layers));
    m_plotCard->finding().setText(m_finding);
}

void ExpertsPage::fillRanks()
{
    const Theme& t = currentTheme();
    std::vector<std::vector<CellValue>> rows;
    double most = 0;
    if (m_facts)
        for (const ExpertRank& rank : m_facts->ranks) most = std::max(most, rank.tokens);
    for (const ExpertRank& rank : m_facts ? m_facts->ranks : std::vector<ExpertRank>{}) {
        const double share = most > 0 ? rank.tokens / most : 0;
        rows.push_back({{.text = QString::number(rank.rank.value), .exact = rank.rank.value},
                        {.text = formatCount(rank.experts), .exact = static_cast<qlonglong>(rank.experts)},
                        {.text = formatCount(std::llround(rank.tokens)),
                         .exact = rank.tokens,
                         .share = share,
                         .colour = t.phases[static_cast<std::size_t>(Phase::Forward)]},
                        {.text = formatDuration(rank.products, 3), .exact = static_cast<qlonglong>(rank.products.ns)},
                        {.text = m_facts->exchanged ? formatDuration(rank.waited, 3) : QString(kDash),
                         .exact = static_cast<qlonglong>(rank.waited.ns)}});
    }
    m_ranks->setContent({{tr("rank"), {}, true, 56},
                         {tr("experts"), tr("That this rank holds, of each layer"), true, 70, true},
                         {tr("tokens"), tr("That its experts got in the step, all layers"), false, 0},
                         {tr("products"), tr("Time of its experts' products, forward and backward"), true, 88},
                         {tr("waited"), tr("For the last rank of its all-to-alls, added up"), true, 88}},
                        std::move(rows), 0, Qt::AscendingOrder);
    QString text;
    if (m_facts && m_facts->exchanged && !m_facts->layers.empty()) {
        const double step = static_cast<double>(std::max<std::int64_t>(1, m_facts->window.range.length().ns));
        text = tr("even loads would save at most %1, %2 of the step")
                   .arg(formatDuration(m_facts->lost, 3), formatPercent(static_cast<double>(m_facts->lost.ns) / step));
    } else if (m_facts && !m_facts->layers.empty()) {
        text = tr("every rank has all experts: no rank waits for another one's");
    }
    if (m_facts && m_facts->ranksLeftOut > 0)
        text += tr(" · ranks left out: %1").arg(formatCount(static_cast<std::int64_t>(m_facts->ranksLeftOut)));
    m_rankCard->finding().setText(text);
}

void ExpertsPage::fillCapacity()
{
    const Theme& t = currentTheme();
    std::vector<std::vector<CellValue>> rows;
    for (const CapacityDrop& drop : m_facts ? m_facts->drops : std::vector<CapacityDrop>{}) {
        rows.push_back({{.text = QString::number(drop.factor, 'f', 2), .exact = drop.factor},
                        {.text = formatPercent(drop.dropped, drop.dropped < 0.0995 ? 1 : 0),
                         .exact = drop.dropped,
                         .share = drop.dropped,
                         .colour = t.wallEdge}});
    }
    const QString meaning =
        tr("An expert of capacity factor c takes at most c times the mean of a micro-batch; the tokens "
           "beyond it skip the layer (Fedus et al. 2021, Switch Transformers)");
    m_capacity->setContent({{tr("capacity factor"), meaning, true, 120}, {tr("tokens dropped"), meaning, false, 0}},
                           std::move(rows));
    m_capacityCard->finding().setText(m_facts && !m_facts->drops.empty() ? tr("the recording dropped none")
                                                                         : QString());
}

} // namespace fourwalls::views
