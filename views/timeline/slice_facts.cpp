// SPDX-License-Identifier: GPL-3.0-or-later
// The texts of the details panel.
#include "views/timeline/slice_facts.h"

#include "model/trace/peak_facts.h"

#include "model/trace/collective_timing.h"
#include "model/trace/group_label.h"
#include "model/trace/short_name.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <cstddef>

namespace fourwalls::views {

namespace {

struct Facts {
    Q_DECLARE_TR_FUNCTIONS(fourwalls::views::SliceFacts)
};

constexpr int kMostOfChain = 24;
constexpr std::size_t kMostReached = 6;
constexpr int kMostMembersShown = 16;

/// A step and a phase by their words, all else by its short name.
QString sliceName(const OpInfo& op)
{
    const QString shown = opName(op);
    return shown == QString::fromStdString(op.name) ? QString::fromStdString(shortName(op.name, op.detail)) : shown;
}

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

/// Innermost first, as a stack is read.
SliceFact chainFact(const QString& label, const std::vector<NamedSlice>& outermostFirst)
{
    SliceFact fact{label, {}, {}, true};
    QStringList names;
    for (auto each = outermostFirst.rbegin(); each != outermostFirst.rend(); ++each) {
        const QString text = each->op ? sliceName(*each->op) : Facts::tr("unknown operator");
        if (names.size() == kMostOfChain) {
            const auto left = static_cast<int>(outermostFirst.size()) - kMostOfChain;
            names << Facts::tr("%n more", nullptr, left);
            fact.parts.push_back({names.back(), {}});
            break;
        }
        names << text;
        fact.parts.push_back({text, sliceLink(each->slice.id)});
    }
    fact.value = names.join(QStringLiteral(" \u203a "));
    return fact;
}

QString whereOf(const SliceView& slice, const SliceContext& context)
{
    const auto index = static_cast<std::size_t>(slice.track.value);
    return context.tracks && index < context.tracks->size() ? trackName((*context.tracks)[index].info) : QString();
}

void addLaunches(std::vector<SliceFact>& facts, const SliceView& slice, const SliceContext& context)
{
    const SliceSurroundings& around = *context.around;
    if (const SliceArrow* launch = launchOf(around, slice)) {
        const SliceView& from = launch->from->slice;
        const QString name = launch->from->op ? sliceName(*launch->from->op) : Facts::tr("unknown operator");
        const QString text = Facts::tr("%1 on %2").arg(name, whereOf(from, context));
        const QString before = Facts::tr(", %1 before").arg(formatDuration(slice.start - from.start));
        facts.push_back({Facts::tr("launched by"), text + before, {{text, sliceLink(from.id)}, {before, {}}}});
        const Duration queued = slice.start - from.end();
        if (queued.ns > 0) facts.push_back({Facts::tr("queued"), formatDuration(queued)});
        if (!around.launchParents.empty()) facts.push_back(chainFact(Facts::tr("called from"), around.launchParents));
    }
    // What left it, and messages that came.
    std::vector<FactPart> reached;
    QStringList texts;
    int more = 0;
    for (const SliceArrow& arrow : around.arrows) {
        const bool leaves = arrow.from && arrow.flow.fromTrack == slice.track && arrow.flow.from >= slice.start &&
                            arrow.flow.from <= slice.end();
        const std::optional<NamedSlice>& other = leaves ? arrow.to : arrow.from;
        if (!other || other->slice.id == slice.id || (!leaves && arrow.flow.kind == "launch")) continue;
        if (reached.size() == kMostReached) {
            ++more;
            continue;
        }
        const QString name = other->op ? sliceName(*other->op) : Facts::tr("unknown operator");
        const QString text =
            leaves ? Facts::tr("%1 on %2, %3 later")
                         .arg(name, whereOf(other->slice, context), formatDuration(other->slice.start - slice.start))
                   : Facts::tr("from %1 on %2").arg(name, whereOf(other->slice, context));
        reached.push_back({text, sliceLink(other->slice.id)});
        texts << text;
    }
    if (reached.empty()) return;
    if (more > 0) {
        texts << Facts::tr("%n more", nullptr, more);
        reached.push_back({texts.back(), {}});
    }
    facts.push_back({Facts::tr("leads to"), texts.join(QStringLiteral("; ")), std::move(reached), true});
}

void addFamily(std::vector<SliceFact>& facts, const SliceContext& context)
{
    const SliceSurroundings& around = *context.around;
    if (!around.parents.empty()) facts.push_back(chainFact(Facts::tr("in"), around.parents));
    if (!around.stack.empty()) facts.push_back(chainFact(Facts::tr("stack"), around.stack));
    if (around.children.empty()) return;
    SliceFact fact{Facts::tr("longest of %n inside", nullptr, static_cast<int>(around.childCount)), {}, {}, true};
    QStringList texts;
    for (const NamedSlice& child : around.children) {
        texts << (child.op ? sliceName(*child.op) : Facts::tr("unknown operator")) + QLatin1Char(' ') +
                     formatDuration(child.slice.duration, 3);
        fact.parts.push_back({texts.back(), sliceLink(child.slice.id)});
    }
    fact.value = texts.join(QStringLiteral(", "));
    facts.push_back(std::move(fact));
}

void addMembers(std::vector<SliceFact>& facts, const SliceContext& context)
{
    const std::vector<CollectiveMember>& members = context.around->members;
    if (members.size() < 2) return;
    const CollectiveMember& last = members.back();
    const Duration late = last.start - members[members.size() - 2].start;
    SliceFact fact{Facts::tr("members"), {}, {}, true};
    QStringList texts;
    const auto add = [&](const QString& text, const CollectiveMember& member) {
        texts << text;
        fact.parts.push_back({text, placeLink(member.track, member.start)});
    };
    add(Facts::tr("rank %1 came last, by %2").arg(last.rank.value).arg(formatDuration(late, 3)), last);
    for (const CollectiveMember& member : members) {
        if (texts.size() > kMostMembersShown) {
            texts << Facts::tr("%n more", nullptr, static_cast<int>(members.size()) - kMostMembersShown);
            fact.parts.push_back({texts.back(), {}});
            break;
        }
        add(Facts::tr("rank %1 +%2")
                .arg(member.rank.value)
                .arg(formatDuration(member.start - members.front().start, 3)),
            member);
    }
    fact.value = texts.join(QStringLiteral(", "));
    facts.push_back(std::move(fact));
}

/// Of the slice's rank; 0: unknown.
std::int64_t capacityOf(const SliceContext& context)
{
    if (!context.trace || !context.track) return 0;
    for (const RankInfo& rank : context.trace->header.ranks)
        if (rank.rank == context.track->info.rank) return rank.memoryBytes;
    return 0;
}

QString durationAmongNamesakes(const SliceView& slice, const NamesakePlace* place)
{
    QString text = formatDuration(slice.duration);
    if (!place || place->count < 2 || place->median.ns <= 0) return text;
    const double times = static_cast<double>(slice.duration.ns) / static_cast<double>(place->median.ns);
    return Facts::tr("%1 (median %2: %3 times)")
        .arg(text, formatDuration(place->median, 3), formatFigure(times, times < 10 ? 2 : 3));
}

} // namespace

QString sliceLink(SliceId slice)
{
    return QStringLiteral("slice:%1").arg(slice.value);
}

QString placeLink(TrackId track, Instant at)
{
    return QStringLiteral("at:%1:%2").arg(track.value).arg(at.ns);
}

QString SliceFacts::asText() const
{
    QStringList lines{title};
    if (!chips.isEmpty()) lines << chips.join(QStringLiteral(", "));
    for (const auto& fact : facts) lines << fact.label + QStringLiteral(": ") + fact.value;
    if (!place.isEmpty()) lines << place;
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
    facts.push_back({Facts::tr("duration"), durationAmongNamesakes(slice, context.place.get())});
    if (context.around && context.around->childCount > 0 && context.around->self)
        facts.push_back({Facts::tr("self"), formatDuration(*context.around->self)});
    if (context.around && context.around->emptyBefore.value_or(Duration{}).ns > 0)
        facts.push_back({Facts::tr("empty before"), formatDuration(*context.around->emptyBefore)});
    if (context.around) {
        addLaunches(facts, slice, context);
        addFamily(facts, context);
        addMembers(facts, context);
    }
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
    if (context.around && context.around->collective)
        addCollective(facts, *context.around->collective, context.trace, unit);
    if (context.around && context.around->aliveBytes) {
        QString alive = formatBytes(static_cast<double>(*context.around->aliveBytes), unit);
        if (const std::int64_t capacity = capacityOf(context); capacity > 0)
            alive = Facts::tr("%1 of %2").arg(alive, formatBytes(static_cast<double>(capacity), unit));
        facts.push_back({Facts::tr("memory then"), alive});
    }
    if (slice.correlation) facts.push_back({Facts::tr("correlation"), QString::number(slice.correlation->value)});
    if (context.place && context.place->count > 1) {
        result.place = Facts::tr("%1 of %2 of its name here")
                           .arg(formatCount(context.place->position), formatCount(context.place->count));
        if (context.place->previous) result.previous = sliceLink(context.place->previous->id);
        if (context.place->next) result.next = sliceLink(context.place->next->id);
    }
    return result;
}

} // namespace fourwalls::views
