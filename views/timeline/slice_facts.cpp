// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of the details panel.
#include "views/timeline/slice_facts.h"

#include "model/trace/peak_facts.h"

#include "model/trace/collective_timing.h"
#include "model/trace/group_label.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <cstddef>

namespace fourwalls::views {

namespace {

struct Facts {
    Q_DECLARE_TR_FUNCTIONS(fourwalls::views::SliceFacts)
};

void addCollective(std::vector<SliceFact>& facts, const CollectiveRecord& record, const TraceInfo* trace, ByteUnit unit)
{
    const CollectiveTiming timing =
        trace ? collectiveTiming(*trace, record.group, record.operation) : CollectiveTiming::Separated;
    facts.push_back({Facts::tr("operation"), words(record.operation)});
    const Duration transfer = record.end - record.lastArrival;
    if (timing == CollectiveTiming::RequestsOnly) {
        facts.push_back({Facts::tr("transfer"), Facts::tr("not in the trace, only the request")});
    } else if (timing == CollectiveTiming::WaitAndTransfer) {
        facts.push_back({Facts::tr("wait + transfer"), formatDuration(record.end - record.start)});
    } else {
        facts.push_back({Facts::tr("waited"), formatDuration(record.lastArrival - record.start)});
        facts.push_back({Facts::tr("transfer"), formatDuration(transfer)});
    }
    if (record.payloadBytes)
        facts.push_back({Facts::tr("payload"), formatBytes(static_cast<double>(*record.payloadBytes), unit)});
    if (record.wireBytes)
        facts.push_back({Facts::tr("wire"), formatBytes(static_cast<double>(*record.wireBytes), unit)});
    const GroupCoverage coverage = trace ? groupCoverage(*trace, record.group) : GroupCoverage{};
    const bool rated = timing == CollectiveTiming::Separated && coverage.members != std::size_t{1};
    if (rated && transfer.ns > 0 &&
        record.payloadBytes.value_or(0) > 0) // docs/metrics: algbw = payload / (last arrival to end)
        facts.push_back({Facts::tr("algbw"), formatRate(static_cast<double>(*record.payloadBytes) / transfer.seconds(),
                                                        QStringLiteral("B/s"))});
    const auto index = static_cast<std::size_t>(record.group.value);
    if (trace && record.group.value >= 0 && index < trace->groups.size()) {
        const auto& group = trace->groups[index];
        const QString label = QString::fromStdString(groupLabel(*trace, record.group)),
                      raw = QString::fromStdString(group.name);
        const QString shown = label == raw ? label : Facts::tr("%1 (named %2)").arg(label, raw);
        facts.push_back(
            {Facts::tr("group"), coverage.members
                                     ? Facts::tr("%1, %n ranks, no. %2", nullptr, static_cast<int>(*coverage.members))
                                           .arg(shown, formatCount(record.sequence))
                                     : Facts::tr("%1, no. %2").arg(shown, formatCount(record.sequence))});
        if (timing == CollectiveTiming::WaitAndTransfer && coverage.members && coverage.present < *coverage.members)
            facts.push_back({Facts::tr("in the trace"),
                             Facts::tr("%1 of its %2 ranks").arg(coverage.present).arg(*coverage.members)});
        if (!group.transport.empty() && timing != CollectiveTiming::RequestsOnly)
            facts.push_back({Facts::tr("transport"), QString::fromStdString(group.transport)});
    }
    if (record.peer) facts.push_back({Facts::tr("peer"), Facts::tr("rank %1").arg(record.peer->value)});
    QStringList how;
    if (!record.algorithm.empty()) how << QString::fromStdString(record.algorithm);
    if (!record.protocol.empty()) how << QString::fromStdString(record.protocol);
    if (!how.isEmpty()) facts.push_back({Facts::tr("algorithm"), how.join(QStringLiteral(", "))});
}

} // namespace

QString SliceFacts::asText() const
{
    QStringList lines{title};
    if (!chips.isEmpty()) lines << chips.join(QStringLiteral(", "));
    for (const auto& fact : facts) lines << fact.label + QStringLiteral(": ") + fact.value;
    if (!detail.isEmpty()) lines << detail;
    return lines.join(QLatin1Char('\n'));
}

SliceFacts factsOf(const SelectedSlice& selected, const SliceContext& context, ByteUnit unit)
{
    const SliceView& slice = selected.slice;
    const OpInfo* op = selected.op.get();
    SliceFacts result;
    result.title = op ? opName(*op) : Facts::tr("unknown operator");
    if (op) result.detail = QString::fromStdString(op->detail);

    if (context.track) {
        result.chips << Facts::tr("rank %1").arg(context.track->info.rank.value) << trackName(context.track->info);
    }
    if (op && op->layer) result.chips << Facts::tr("layer %1").arg(op->layer->value);
    if (slice.microbatch) result.chips << Facts::tr("micro-batch %1").arg(slice.microbatch->value);
    if (op && op->phase != Phase::None) result.chips << words(op->phase);

    auto& facts = result.facts;
    facts.push_back({Facts::tr("duration"), formatDuration(slice.duration)});
    if (op) facts.push_back({Facts::tr("kind"), words(op->kind)});
    if (context.step) {
        facts.push_back({Facts::tr("starts"), Facts::tr("%1 into step %2")
                                                  .arg(formatDuration(slice.start - context.step->range.begin, 6))
                                                  .arg(context.step->step.value)});
    } else if (context.trace) {
        facts.push_back(
            {Facts::tr("starts"),
             Facts::tr("%1 into the trace").arg(formatDuration(slice.start - context.trace->range.begin, 6))});
    }
    if (op && op->flops > 0) {
        facts.push_back({Facts::tr("work"), formatRate(op->flops, QStringLiteral("FLOP"))});
        if (slice.duration.ns > 0) {
            const double rate = op->flops / slice.duration.seconds();
            QString text = formatRate(rate, QStringLiteral("FLOP/s"));
            const auto peak =
                context.trace && context.track ? roofOf(*context.trace, context.track->info.rank, *op) : std::nullopt;
            if (peak && *peak > 0) text = Facts::tr("%1 (%2 of peak)").arg(text, formatPercent(rate / *peak));
            facts.push_back({Facts::tr("achieved"), text});
        }
    }
    if (op && op->bytes > 0) {
        facts.push_back({Facts::tr("memory"), formatBytes(static_cast<double>(op->bytes), unit)});
        if (slice.duration.ns > 0)
            facts.push_back(
                {Facts::tr("bandwidth"),
                 formatRate(static_cast<double>(op->bytes) / slice.duration.seconds(), QStringLiteral("B/s"))});
        if (op->flops > 0)
            facts.push_back({Facts::tr("intensity"), formatFigure(op->flops / static_cast<double>(op->bytes), 3) +
                                                         kThinSpace + QStringLiteral("FLOP/B")});
    }
    if (context.collective) addCollective(facts, *context.collective, context.trace, unit);
    if (slice.correlation) facts.push_back({Facts::tr("correlation"), QString::number(slice.correlation->value)});
    return result;
}

} // namespace fourwalls::views
