// SPDX-License-Identifier: GPL-3.0-or-later
// See communication_view.h.
#include "views/communication/communication_view.h"

#include "views/communication/bandwidth_card.h"
#include "views/communication/collectives_card.h"
#include "views/communication/hop_plot.h"
#include "views/communication/hops_page.h"
#include "views/communication/scaling_page.h"
#include "views/communication/stragglers_page.h"
#include "views/communication/traffic_card.h"
#include "views/plot/plot_card.h"
#include "views/plot/plot_cells.h"
#include "views/whatif/cost_words.h"
#include "views/whatif/gain_line.h"
#include "views/whatif/what_if.h"
#include "views/words/figure_words.h"
#include "views/words/words.h"

#include <QAction>
#include <QComboBox>
#include <QSignalBlocker>
#include <QSplitter>

#include <algorithm>
#include <map>

namespace fourwalls::views {

CommunicationView::CommunicationView(QWidget* parent) : AnalysisView(QStringLiteral("communication"), parent)
{
    auto* rows = cardSplitter(Qt::Vertical);
    m_collectives = new CollectivesCard(rows);
    auto* plots = cardSplitter(Qt::Horizontal, rows);
    m_bandwidth = new BandwidthCard(plots);
    m_traffic = new TrafficCard(plots);
    plots->setSizes({5600, 4400});
    rows->setSizes({3600, 6400});
    m_hops = new HopsPage;
    m_stragglers = new StragglersPage;
    m_scaling = new ScalingPage;
    addPage("collectives", rows);
    addPage("hops", m_hops);
    addPage("stragglers", m_stragglers);
    addPage("scaling", m_scaling);

    m_ranks = new QComboBox(content());
    addPicker(m_ranks);
    connect(m_ranks, &QComboBox::activated, this, [this](int index) {
        chooseRank(index > 0 ? std::optional(RankId(m_ranks->itemData(index).toInt())) : std::nullopt);
    });

    connect(m_bandwidth, &BandwidthCard::operationChosen, this, &CommunicationView::takeOperation);
    connect(m_collectives, &CollectivesCard::kindChosen, this, &CommunicationView::chooseKind);
    connect(m_hops, &HopsPage::operationChosen, this, &CommunicationView::takeOperation);
    connect(m_stragglers, &StragglersPage::operationChosen, this, &CommunicationView::takeOperation);
    connect(m_bandwidth, &BandwidthCard::operationActivated, this, &CommunicationView::openOnTimeline);
    connect(m_hops, &HopsPage::operationActivated, this, &CommunicationView::openOnTimeline);
    connect(m_stragglers, &StragglersPage::operationActivated, this, &CommunicationView::openOnTimeline);
    connect(m_stragglers, &StragglersPage::rankChosen, this, [this](RankId rank) {
        if (selection()) selection()->setRank(rank);
    });
    connect(this, &AnalysisView::pageChanged, this, &CommunicationView::askPageData);
    for (GainLine* line : gains()) connect(line, &GainLine::changed, this, [this] { update(); });

    const auto add = [this](const char* name, const QKeySequence& key, auto run) {
        auto* action = new QAction(this);
        action->setObjectName(QString::fromLatin1(name));
        action->setShortcut(key);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        connect(action, &QAction::triggered, this, run);
        addAction(action);
    };
    add("communication.timeline", Qt::Key_T, [this] { openOnTimeline(m_chosen); });
    add("communication.play", Qt::Key_P, [this] { m_hops->plot().setPlaying(!m_hops->plot().isPlaying()); });
    retranslate();
}

void CommunicationView::retranslate()
{
    setPageTitle("collectives", tr("Collectives"), tr("What was sent, how fast, and what of it was hidden"));
    setPageTitle("hops", tr("Hops"), tr("One operation, message by message"));
    setPageTitle("stragglers", tr("Stragglers"), tr("Who comes late, and how often"));
    setPageTitle("scaling", tr("Scaling"), tr("More devices, other links, other algorithms"));
    const std::pair<const char*, QString> names[] = {
        {"communication.timeline", tr("Communication: show the operation on the timeline")},
        {"communication.play", tr("Communication: play or pause the hops")}};
    for (QAction* action : actions())
        for (const auto& [name, text] : names)
            if (action->objectName() == QLatin1String(name)) action->setText(text);
    m_ranks->setAccessibleName(tr("Rank"));
    m_ranks->setToolTip(tr("Whose operations this page shows, and whose time in them"));
    fillRanks();
    m_collectives->retranslate();
    m_bandwidth->retranslate();
    m_traffic->retranslate();
    m_hops->retranslate();
    m_stragglers->retranslate();
    m_scaling->retranslate();
}

void CommunicationView::forget()
{
    m_data.reset();
    m_scalingData.reset();
    m_predicted.clear();
    m_chosen = -1;
    m_hasKind = false;
    m_stragglers->forget();
    m_rank.reset();
    m_askedScaling = false;
    m_hops->setSchedule(nullptr);
}

void CommunicationView::fillRanks()
{
    const QSignalBlocker quiet(m_ranks);
    m_ranks->clear();
    m_ranks->addItem(tr("All ranks"));
    if (session() && session()->isOpen())
        for (const RankInfo& rank : session()->info().header.ranks)
            m_ranks->addItem(tr("Rank %1").arg(rank.rank.value), rank.rank.value);
    m_ranks->setVisible(m_ranks->count() > 2);
    m_ranks->setCurrentIndex(m_rank ? std::max(0, m_ranks->findData(m_rank->value)) : 0);
}

void CommunicationView::chooseRank(std::optional<RankId> rank)
{
    if (m_rank == rank) return;
    m_rank = rank;
    if (rank && selection()) selection()->setRank(*rank);
    again();
}

QString CommunicationView::scope() const
{
    return tr("%1, %2").arg(stepName(m_data->step.window), words(m_data->ranks));
}

void CommunicationView::askAll()
{
    fillRanks();
    connect(selection(), &Selection::sliceChanged, this, &CommunicationView::followSlice, Qt::UniqueConnection);
    ask<CommunicationData>(
        "communication",
        [step = selection()->step(), rank = m_rank](TraceQuery& trace, std::stop_token stop) {
            return askCommunication(trace, step, rank, stop);
        },
        [this](std::shared_ptr<const CommunicationData> facts) {
            m_data = std::move(facts);
            m_chosen = firstWorthwhile();
            showAll();
            askHops();
            followSlice();
        });
    askPageData();
}

void CommunicationView::askPageData()
{
    if (page() != QLatin1String("scaling") || m_askedScaling || !session() || !session()->isOpen()) return;
    m_askedScaling = true;
    ask<ScalingData>(
        "scaling", [](TraceQuery& trace, std::stop_token stop) { return askScaling(trace, stop); },
        [this](std::shared_ptr<const ScalingData> facts) {
            m_scalingData = std::move(facts);
            showAll();
        },
        Urgency::Background);
}

int CommunicationView::firstWorthwhile() const
{
    if (!m_data) return -1;
    // The largest operation of the kind that is most worth seeing hop by hop.
    int best = -1;
    std::int64_t most = -1;
    const auto& operations = m_data->step.operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].isMessage() || operations[i].operation == CollectiveOp::AllToAll ||
            operations[i].operation == CollectiveOp::Barrier)
            continue;
        const std::int64_t weight = operations[i].payloadBytes.value_or(0) *
                                    static_cast<std::int64_t>(std::min<std::size_t>(operations[i].members.size(), 64));
        if (weight > most) {
            most = weight;
            best = static_cast<int>(i);
        }
    }
    return best;
}

void CommunicationView::askHops()
{
    m_hops->setChosen(m_chosen);
    m_bandwidth->setChosen(m_chosen);
    m_stragglers->setChosen(m_chosen);
    askGains();
    if (!m_data || m_chosen < 0) return m_hops->setSchedule(nullptr);
    ask<HopSchedule>(
        "hops",
        [facts = m_data, index = static_cast<std::size_t>(m_chosen)](TraceQuery& trace, std::stop_token stop) {
            return hopSchedule(trace, facts->step.operations[index], stop);
        },
        [this](std::shared_ptr<const HopSchedule> schedule) { m_hops->setSchedule(std::move(schedule)); });
}

std::vector<GainLine*> CommunicationView::gains() const
{
    return {&m_hops->gain(), &m_collectives->gain(), &m_stragglers->gain()};
}

void CommunicationView::askGains()
{
    for (GainLine* line : gains()) line->setReplayer(whatIf() ? &whatIf()->replayer() : nullptr);
    std::vector<replay::GainSubject> links;
    if (m_data && session() && m_chosen >= 0 && m_chosen < static_cast<int>(m_data->step.operations.size())) {
        const GroupId group = m_data->step.operations[static_cast<std::size_t>(m_chosen)].group;
        const auto index = static_cast<std::size_t>(group.value);
        const std::vector<ProcessGroupInfo>& groups = session()->info().groups;
        if (group.value >= 0 && index < groups.size() && groups[index].ranks.size() > 1)
            links.push_back({replay::GainSubject::Kind::Link, groups[index].name, {}});
    }
    m_hops->gain().ask(links);
    m_collectives->gain().ask(m_hasKind ? links : std::vector<replay::GainSubject>());
}

bool CommunicationView::showsFinalData() const
{
    return AnalysisView::showsFinalData() &&
           std::ranges::none_of(gains(), [](const GainLine* line) { return line->isPending(); });
}

void CommunicationView::chooseOperation(int operation)
{
    if (!m_data || operation < 0 || operation >= static_cast<int>(m_data->step.operations.size()) ||
        operation == m_chosen)
        return;
    m_chosen = operation;
    askHops();
}

void CommunicationView::takeOperation(int operation)
{
    chooseOperation(operation);
    if (!m_data || !session() || operation < 0 || operation >= static_cast<int>(m_data->step.operations.size())) return;
    // Its slice, of the selected rank if that took part, is selected in all views.
    const auto& members = m_data->step.operations[static_cast<std::size_t>(operation)].members;
    if (members.empty()) return;
    auto member = std::ranges::find(members, selection()->rank(), &CollectiveView::rank);
    if (member == members.end()) member = members.begin();
    ask<std::optional<SelectedSlice>>(
        "slice",
        [record = member->record](TraceQuery& trace, std::stop_token) { return sliceOfCollective(trace, record); },
        [this](std::shared_ptr<const std::optional<SelectedSlice>> slice) {
            if (*slice) selection()->setSlice(**slice);
        });
}

void CommunicationView::followSlice()
{
    const auto chosen = selection() ? selection()->slice() : std::nullopt;
    if (!chosen || !m_data || !session()) return;
    const auto& operations = m_data->step.operations;
    const auto isIt = [&](const CollectiveView& member) {
        return member.record.track == chosen->slice.track && member.record.start == chosen->slice.start;
    };
    // Of several that begin together, the one that is chosen stays.
    if (m_chosen >= 0 && m_chosen < static_cast<int>(operations.size()) &&
        std::ranges::any_of(operations[static_cast<std::size_t>(m_chosen)].members, isIt))
        return;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (std::none_of(operations[i].members.begin(), operations[i].members.end(), isIt)) continue;
        chooseOperation(static_cast<int>(i));
        const auto kind = std::find_if(m_data->rows.begin(), m_data->rows.end(), [&](const CollectiveRow& row) {
            return row.operation == operations[i].operation &&
                   row.group == groupName(session()->info(), operations[i].group);
        });
        m_collectives->table().showRow(kind == m_data->rows.end() ? -1 : static_cast<int>(kind - m_data->rows.begin()));
        return;
    }
}

void CommunicationView::chooseKind(int row)
{
    if (!m_data || row < 0 || row >= static_cast<int>(m_data->rows.size())) return;
    const CollectiveRow& kind = m_data->rows[static_cast<std::size_t>(row)];
    const auto& operations = m_data->step.operations;
    int longest = -1;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (operations[i].operation != kind.operation) continue;
        if (groupName(session()->info(), operations[i].group) != kind.group) continue;
        if (longest < 0 || operations[i].transfer() > operations[static_cast<std::size_t>(longest)].transfer())
            longest = static_cast<int>(i);
    }
    m_hasKind = true;
    takeOperation(longest);
    askGains();
}

void CommunicationView::openOnTimeline(int operation)
{
    if (!m_data || !selection() || operation < 0 || operation >= static_cast<int>(m_data->step.operations.size()))
        return;
    const JoinedOperation& chosen = m_data->step.operations[static_cast<std::size_t>(operation)];
    const TimeRange range = chosen.range();
    const Duration room{range.length().ns / 2 + 1000};
    selection()->setRank(chosen.members.front().rank);
    selection()->setRange({range.begin - room, range.end + room});
    selection()->setMeasured(range);
    emit selection()->viewRequested(QStringLiteral("timeline"));
}

void CommunicationView::predictionChanged()
{
    // With every move of a slider: only what shows the prediction.
    if (m_data && session() && selection()) showPrediction();
}

void CommunicationView::showPrediction()
{
    m_predicted.clear();
    if (const WhatIf* dock = whatIf(); dock && dock->isActive())
        if (const auto ghost = dock->ghost()) m_predicted = collectiveRows(*ghost->metrics, ghost->trace->info, {});
    showFigures();
    m_collectives->present(m_data.get(), &m_predicted, ghostName(whatIf()), selection()->byteUnit());
}

void CommunicationView::showAll()
{
    if (!m_data || !session() || !selection()) return;
    const ByteUnit unit = selection()->byteUnit();
    const TraceInfo& info = session()->info();
    showPrediction();
    m_bandwidth->present(m_data, info, unit);
    m_traffic->present(m_data, unit);
    m_hops->present(m_data, info, unit);
    m_stragglers->present(m_data, info, unit);
    m_scaling->present(m_data, m_scalingData, unit);
    m_hops->setChosen(m_chosen);
    m_bandwidth->setChosen(m_chosen);
    m_stragglers->setChosen(m_chosen);
    askGains();
}

void CommunicationView::showFigures()
{
    const ByteUnit unit = selection()->byteUnit();
    const CommunicationData& d = *m_data;
    const auto percent = [](std::optional<double> value) { return value ? formatPercent(*value) : QString(kDash); };
    std::vector<PlotFigure> all;
    const WhatIf* dock = whatIf();
    const auto ghost = dock && dock->isActive() ? dock->ghost() : nullptr;
    const bool requests = d.rates.why == NoRates::RequestsOnly;
    all.push_back({titleOf(Figure::ExposedComm), requests ? QString(kDash) : percent(d.exposedShare),
                   ghost && ghost->metrics->exposedCommFraction
                       ? ghostFigure(dock, formatPercent(*ghost->metrics->exposedCommFraction))
                   : requests ? tr("only the requests are in the trace")
                              : tr("of %1").arg(scope()),
                   !requests && d.exposedShare.value_or(0) > 0.25, meaningOf(Figure::ExposedComm)});
    all.push_back(
        {d.step.holdsWaiting() ? tr("Communication hidden") : tr("Transfers hidden"), percent(d.step.hiddenShare()),
         d.step.holdsWaiting() ? tr("waiting included, %1").arg(scope()) : tr("behind computation, %1").arg(scope()),
         false});
    std::map<RankId, double> sent;
    qint64 known = 0;
    for (const JoinedOperation& operation : d.step.operations) {
        known += operation.wireBytes.has_value();
        for (const CollectiveView& member : operation.members) {
            if (d.step.rank && member.rank != *d.step.rank) continue;
            sent[member.rank] +=
                static_cast<double>(member.record.wireBytes.value_or(0)) / std::max(1, d.step.window.steps);
        }
    }
    const auto operations = static_cast<qint64>(d.step.operations.size());
    const auto most =
        std::max_element(sent.begin(), sent.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const QString busiest = most == sent.end() ? QString()
                            : sent.size() > 1  ? tr("rank %1, the busiest").arg(most->first.value)
                                               : words(d.ranks);
    const bool said = most != sent.end() && known > 0 && !requests;
    all.push_back(
        {tr("Sent per rank and step"), said ? formatBytes(most->second, unit) : QString(kDash),
         !said ? (requests ? tr("only the requests are in the trace") : tr("bytes are not recorded"))
         : known < operations
             ? tr("%1; known for %2 of %3 operations").arg(busiest, formatCount(known), formatCount(operations))
             : tr("%1, %2").arg(busiest, stepName(d.step.window)),
         false});
    all.push_back({requests ? tr("Requests") : tr("Operations"), formatCount(operations),
                   d.step.limited
                       ? tr("only the first %1 records of %2 were read")
                             .arg(formatCount(static_cast<qint64>(kMostOperationsAnalysed)), stepName(d.step.window))
                   : !d.step.rank && d.rates.inTrace && *d.rates.inTrace > operations
                       ? tr("in %1; %2 in the trace").arg(stepName(d.step.window), formatCount(*d.rates.inTrace))
                       : tr("in %1").arg(d.step.rank ? scope() : stepName(d.step.window)),
                   d.step.limited});
    const std::optional<RankLateness>& late = d.step.late;
    all.push_back({tr("Late rank"),
                   late                         ? tr("rank %1").arg(late->rank.value)
                   : d.step.skew.operations > 0 ? tr("none")
                                                : QString(kDash),
                   late ? tr("last in %1 of %2 operations, %3")
                              .arg(formatCount(late->last), formatCount(late->operations), stepName(d.step.window))
                   : d.step.skew.operations == 0
                       ? tr("no operation has all its ranks in the trace")
                       : tr("nobody is last more often than by chance, or it costs under 1 %"),
                   late.has_value()});
    figures().setFigures(std::move(all));
}

QString CommunicationView::nothingReason() const
{
    if (session()->info().counts.collectives > 0) return {};
    const TraceHeader& header = session()->info().header;
    // Of others nobody knows how many ranks the job had: one may stand for several, and its names may be unknown.
    if (header.source == TraceSource::Imported)
        return tr("Nothing in this trace was recognised as a collective.\nIf other ranks of the job were traced too, "
                  "import their files together.");
    return header.ranks.size() > 1
               ? tr("This trace has no collectives.\nIf other ranks of the job were traced too, import their "
                    "files together.")
               : tr("One rank talks to nobody.\nRecord with a plan such as dp=2, or import the traces of several "
                    "ranks together.");
}

QString CommunicationView::tableAsCsv() const
{
    if (!m_data) return {};
    if (page() == QLatin1String("hops")) return m_hops->table().asCsv();
    if (page() == QLatin1String("stragglers")) return m_stragglers->table().asCsv();
    if (page() == QLatin1String("scaling")) return m_scaling->table().asCsv();
    return m_collectives->table().asCsv();
}

} // namespace fourwalls::views
