// SPDX-License-Identifier: GPL-3.0-or-later
// See collectives_card.h.
#include "views/communication/collectives_card.h"

#include "views/plot/plot_cells.h"
#include "views/plot/theme.h"
#include "views/whatif/gain_line.h"
#include "views/words/words.h"

#include <algorithm>

namespace fourwalls::views {

QString groupShape(std::int64_t groups, std::size_t members)
{
    const QString size = QString::number(members);
    return groups > 1 ? QStringLiteral("%1 × %2").arg(groups).arg(size) : size;
}

QString groupText(const std::string& group)
{
    if (group == "unknown group") return CollectivesCard::tr("unknown group");
    const QString text = QString::fromStdString(group);
    if (group.starts_with("ranks ")) return CollectivesCard::tr("ranks %1").arg(text.mid(6));
    return text;
}

QString kindName(CollectiveOp operation, const std::string& group)
{
    return words(operation) + QStringLiteral(" · ") + groupText(group);
}

QString kindName(CollectiveOp operation, const std::string& group, CollectiveTiming timing)
{
    const QString name = kindName(operation, group);
    switch (timing) {
    case CollectiveTiming::Separated: break;
    case CollectiveTiming::WaitAndTransfer: return CollectivesCard::tr("%1 (wait + transfer)").arg(name);
    case CollectiveTiming::RequestsOnly: return CollectivesCard::tr("%1 (requests only)").arg(name);
    }
    return name;
}

QString noRatesText(const TransferRates& rates)
{
    switch (rates.why) {
    case NoRates::None: break;
    case NoRates::NoCollectives: return CollectivesCard::tr("This trace has no collectives.");
    case NoRates::NotInStep:
        return rates.inTrace ? CollectivesCard::tr("None of the trace's %1 collectives is in what is looked at.")
                                   .arg(formatCount(*rates.inTrace))
                             : CollectivesCard::tr("None of the trace's collectives is in what is looked at.");
    case NoRates::OneRankGroups: return CollectivesCard::tr("All groups have one rank: nothing is sent.");
    case NoRates::RequestsOnly:
        return CollectivesCard::tr(
            "Only the requests for collectives are in this trace, not the transfers.\nRecord the "
            "device's activity too (ProfilerActivity.CUDA).");
    case NoRates::SomeRanks:
        if (rates.members == rates.present)
            return CollectivesCard::tr("The clocks of the ranks could not be aligned: waiting and transfer cannot be "
                                       "told apart.");
        return rates.members
                   ? CollectivesCard::tr("Only %1 of %2 ranks are in this trace: waiting and transfer cannot be told "
                                         "apart.\nOpen the traces of all ranks together.")
                         .arg(rates.present)
                         .arg(*rates.members)
                   : CollectivesCard::tr(
                         "This trace does not say how many ranks take part, so waiting and transfer cannot "
                         "be told apart.\nOpen the traces of all ranks together.");
    case NoRates::UnknownBytes:
        return CollectivesCard::tr("This trace does not say how many bytes its operations sent.");
    case NoRates::NoTime:
        return CollectivesCard::tr(
            "Transfers take no time on this clock, because no link speed is known.\nRecord with a "
            "cluster whose links are known, or on the wall clock.");
    }
    return {};
}

QString stepName(const StepWindow& window)
{
    if (window.steps > 1) return CollectivesCard::tr("%1 measured steps").arg(formatCount(window.steps));
    return window.step ? CollectivesCard::tr("step %1").arg(window.step->value)
                       : CollectivesCard::tr("the whole trace");
}

CollectivesCard::CollectivesCard(QWidget* parent)
    : PlotCard(parent)
    , m_table(new CellTable(this))
    , m_gain(new GainLine(this))
    , m_legend(new PlotLegend(this))
{
    addControl(m_legend);
    addContent(m_table, 1);
    addContent(m_gain);
    connect(m_table, &CellTable::rowChosen, this, &CollectivesCard::kindChosen);
    retranslate();
}

void CollectivesCard::retranslate()
{
    title().setText(tr("Collectives"));
    m_table->setAccessibleName(tr("Collectives by kind and group"));
    m_gain->retranslate();
}

namespace {

QColor hiddenColour()
{
    QColor hidden = currentTheme().communication;
    hidden.setAlphaF(0.42F);
    return hidden;
}

/// predicted: the name of a column for that; empty: there is none.
std::vector<CellColumn> collectiveColumns(const CommunicationData& facts, const QString& predicted)
{
    const QString step = stepName(facts.step.window);
    std::vector<CellColumn> columns{
        {CollectivesCard::tr("operation"), {}, false, 250},
        {CollectivesCard::tr("ranks"), CollectivesCard::tr("Groups × members of each"), true, 60},
        {CollectivesCard::tr("count"),
         CollectivesCard::tr("Operations in %1, each counted once for all its members").arg(step), true, 64},
        {CollectivesCard::tr("payload"), CollectivesCard::tr("The buffers handed to the operations, added up"), true,
         80},
        {CollectivesCard::tr("wire"),
         CollectivesCard::tr(
             "What the busiest member really sends, added up: for a ring all-reduce 2(n−1)/n of the buffer"),
         true, 80, true},
        {CollectivesCard::tr("transfer"),
         CollectivesCard::tr(
             "Last arrival to end, added up over operations; where ranks are missing, with the waiting"),
         true, 80},
        {CollectivesCard::tr("wait"),
         CollectivesCard::tr(
             "Own arrival to last arrival, added up over members; of a receive: until its sender sends, which is the "
             "pipeline's bubble"),
         true, 80},
        {CollectivesCard::tr("algbw"), CollectivesCard::tr("Payload / transfer time"), true, 86, true},
        {CollectivesCard::tr("busbw"),
         CollectivesCard::tr(
             "algbw × 2(n−1)/n for all-reduce, (n−1)/n for all-gather and reduce-scatter: comparable with the link's "
             "rate"),
         true, 86},
        {CollectivesCard::tr("hidden"),
         CollectivesCard::tr("Share of the transfers in %1 during which the rank computed").arg(step), true, 68},
        {CollectivesCard::tr("time, %1").arg(words(facts.ranks)),
         CollectivesCard::tr(
             "Transfer and waiting in %1, added up over those ranks; the longest bar is the kind that takes most")
             .arg(step),
         false, 0}};
    if (!predicted.isEmpty())
        columns.insert(
            columns.begin() + 7,
            {predicted, CollectivesCard::tr("Transfer per operation in what if, beside the recorded one"), true, 118});
    return columns;
}

CellValue predictedTransfer(const CollectiveRow& row, const std::vector<CollectiveRow>& predicted)
{
    CellValue cell{.text = QString(kDash), .exact = -1.0, .ink = currentTheme().prediction};
    for (const CollectiveRow& other : predicted)
        if (other.operation == row.operation && other.group == row.group && other.count > 0 && row.count > 0) {
            const Duration each{other.time.ns / other.count}, own{row.time.ns / row.count};
            cell.text = QStringLiteral("%1 / %2").arg(formatDuration(each, 3), formatDuration(own, 3));
            cell.exact = static_cast<qlonglong>(each.ns);
        }
    return cell;
}

/// The share that computation hides, and the bar of its time in the step. longest: of the longest bar [ns].
std::pair<CellValue, CellValue> timeInStep(const CollectiveRow& row, double longest)
{
    CellValue share{.text = QString(kDash), .exact = -1.0}, bar;
    if (row.inStep && row.inStep->time().ns > 0 && longest > 0) {
        if (const std::optional<double> hiddenShare = row.inStep->hiddenShare()) {
            share.text = formatPercent(*hiddenShare, 0);
            share.exact = *hiddenShare;
        }
        const auto piece = [&](Duration part) { return static_cast<double>(part.ns) / longest; };
        bar.exact = static_cast<qlonglong>(row.inStep->time().ns);
        bar.pieces = {{piece(row.inStep->exposedTransfer), currentTheme().communication},
                      {piece(row.inStep->transfer - row.inStep->exposedTransfer), hiddenColour()},
                      {piece(row.inStep->wait), {}}};
        const QString toolTip =
            row.timing == CollectiveTiming::WaitAndTransfer
                ? CollectivesCard::tr("wait and transfer together: exposed %1, hidden %2")
                : CollectivesCard::tr(
                      "exposed transfer %1, hidden transfer %2, waiting %3 (%4 of it while nothing was computed)");
        bar.toolTip =
            row.timing == CollectiveTiming::WaitAndTransfer
                ? toolTip.arg(formatDuration(row.inStep->exposedTransfer, 3),
                              formatDuration(row.inStep->transfer - row.inStep->exposedTransfer, 3))
                : toolTip.arg(formatDuration(row.inStep->exposedTransfer, 3),
                              formatDuration(row.inStep->transfer - row.inStep->exposedTransfer, 3),
                              formatDuration(row.inStep->wait, 3), formatDuration(row.inStep->exposedWait, 3));
    }
    return {std::move(share), std::move(bar)};
}

/// predicted: the same kinds in a prediction; null: there is no such column.
std::vector<CellValue> cellsOf(const CollectiveRow& row, const std::vector<CollectiveRow>* predicted, double longest,
                               ByteUnit unit)
{
    const auto bytes = [&](std::optional<std::int64_t> value) {
        return CellValue{.text = value ? formatBytes(static_cast<double>(*value), unit) : QString(kDash),
                         .exact = static_cast<qlonglong>(value.value_or(-1))};
    };
    const auto time = [&](Duration value) {
        return CellValue{.text = formatDuration(value, 3), .exact = static_cast<qlonglong>(value.ns)};
    };
    const auto rate = [&](const std::optional<double>& value) {
        return CellValue{.text = value ? formatRate(*value, QStringLiteral("B/s")) : QString(kDash),
                         .exact = value ? QVariant(*value) : QVariant(-1.0)};
    };
    std::vector<CellValue> cells;
    cells.push_back({.text = kindName(row.operation, row.group, row.timing),
                     .colour = currentTheme().communication,
                     .toolTip = row.raw});
    cells.push_back({.text = row.members > 0 ? groupShape(row.groups, row.members) : QString(kDash),
                     .exact = static_cast<qlonglong>(row.members)});
    cells.push_back({.text = formatCount(row.count), .exact = static_cast<qlonglong>(row.count)});
    cells.push_back(bytes(row.payloadBytes));
    cells.push_back(bytes(row.wireBytes));
    const CellValue unknown{.text = QString(kDash), .exact = -1};
    cells.push_back(row.timing != CollectiveTiming::RequestsOnly ? time(row.time) : unknown);
    cells.push_back(row.timing == CollectiveTiming::Separated ? time(row.wait) : unknown);
    if (predicted) cells.push_back(predictedTransfer(row, *predicted));
    cells.push_back(rate(row.algorithmBytesPerSecond));
    cells.push_back(rate(row.busBytesPerSecond));
    if (!row.algorithmBytesPerSecond && row.operation == CollectiveOp::Receive && row.time.ns > 0)
        for (std::size_t i = cells.size() - 2; i < cells.size(); ++i)
            cells[i].toolTip =
                CollectivesCard::tr("A receive is timed from when its receiver asks, often while the message is under "
                                    "way: what is left says nothing of the link. The rate is that of its send.");
    auto [share, bar] = timeInStep(row, longest);
    cells.push_back(std::move(share));
    cells.push_back(std::move(bar));
    return cells;
}

/// The kind that takes most; null without any. Waiting for a neighbour in the pipeline is its bubble, not the
/// network's fault.
const KindOfStep* largestKind(const std::vector<KindOfStep>& kinds)
{
    const KindOfStep* largest = nullptr;
    for (const KindOfStep& kind : kinds) {
        if (kind.operation == CollectiveOp::Send || kind.operation == CollectiveOp::Receive) continue;
        if (kind.time().ns > 0 && (!largest || kind.time() > largest->time())) largest = &kind;
    }
    return largest;
}

QString collectivesFinding(const CommunicationData& facts)
{
    QStringList sentences;
    if (const KindOfStep* const largest = largestKind(facts.step.kinds))
        sentences << CollectivesCard::tr("of the collectives, %1 takes most")
                         .arg(kindName(largest->operation, largest->group));
    if (const std::optional<double> hiddenShare = facts.step.hiddenShare())
        sentences << (facts.step.holdsWaiting()
                          ? CollectivesCard::tr("computation hides %1 of the communication in %2, waiting included")
                          : CollectivesCard::tr("computation hides %1 of the transfers in %2"))
                         .arg(formatPercent(*hiddenShare), stepName(facts.step.window));
    QString text = sentences.join(QStringLiteral(" · "));
    if (sentences.isEmpty() && !facts.rows.empty()) text = noRatesText(facts.rates).section(QLatin1Char('\n'), 0, 0);
    if (facts.step.limited)
        text += CollectivesCard::tr(" · only the first %1 records were read").arg(formatCount(kMostOperationsAnalysed));
    return text;
}

} // namespace

void CollectivesCard::present(const CommunicationData* facts, const std::vector<CollectiveRow>* predicted,
                              const QString& name, ByteUnit unit)
{
    const bool together = facts && facts->step.holdsWaiting();
    m_legend->setEntries(
        {{PlotLegend::Mark::Area, currentTheme().communication,
          together ? tr("exposed (wait + transfer where they cannot be told apart)") : tr("exposed transfer")},
         {PlotLegend::Mark::Area, hiddenColour(), tr("hidden behind computation")},
         {PlotLegend::Mark::Hatch, {}, tr("waiting for others")}});
    if (!facts) {
        finding().setText({});
        return m_table->setContent({}, {});
    }
    if (predicted && predicted->empty()) predicted = nullptr;
    double longest = 0;
    for (const KindOfStep& kind : facts->step.kinds) longest = std::max(longest, static_cast<double>(kind.time().ns));
    std::vector<std::vector<CellValue>> rows;
    for (const CollectiveRow& row : facts->rows) rows.push_back(cellsOf(row, predicted, longest, unit));
    m_table->setContent(collectiveColumns(*facts, predicted ? name : QString()), std::move(rows));
    finding().setText(collectivesFinding(*facts));
}

} // namespace fourwalls::views
