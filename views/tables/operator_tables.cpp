// SPDX-License-Identifier: GPL-3.0-or-later
// The tables about operators and slices; see table_cells.h.
#include "model/trace/op_durations.h"
#include "model/trace/vocabulary.h"
#include "views/tables/table_cells.h"
#include "views/words/words.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::views {

namespace {

using KindTotals = std::map<SliceKind, Duration>;

constexpr const char* kMedianName = QT_TRANSLATE_NOOP("TraceTables", "p50");
constexpr const char* kMedianTip =
    QT_TRANSLATE_NOOP("TraceTables", "Half of the slices that are counted are not longer");
constexpr const char* kTailName = QT_TRANSLATE_NOOP("TraceTables", "p99");
constexpr const char* kTailTip =
    QT_TRANSLATE_NOOP("TraceTables", "99 of 100 of the slices that are counted are not longer");

/// The place of the first of the two.
std::size_t placeOfPercentiles(const std::vector<TraceTableColumn>& columns)
{
    const auto found = std::ranges::find(columns, kMedianName, &TraceTableColumn::name);
    return static_cast<std::size_t>(found - columns.begin());
}

/// Time by kind: kinds lie within one another (a step holds its phases, a layer its operators), so that only a share of
/// the own kind says something.
Result<KindTotals> totalsOfKinds(TraceQuery& trace, const std::vector<OpSummary>& ops)
{
    KindTotals totals;
    for (const OpSummary& summary : ops) {
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        totals[op->kind] += summary.total;
    }
    return totals;
}

QVariant shareOf(Duration part, Duration whole)
{
    return whole.ns > 0 ? QVariant(static_cast<double>(part.ns) / static_cast<double>(whole.ns)) : QVariant();
}

} // namespace

Status readOperatorSums(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "operator"), CellKind::Name},
                     {QT_TRANSLATE_NOOP("TraceTables", "phase"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "kind"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "layers"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "count"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "total"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "share"), CellKind::Share},
                     {QT_TRANSLATE_NOOP("TraceTables", "mean"), CellKind::Duration},
                     {kMedianName, CellKind::Duration, kMedianTip},
                     {kTailName, CellKind::Duration, kTailTip},
                     {QT_TRANSLATE_NOOP("TraceTables", "longest"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "FLOP/s"), CellKind::PerSecond}};
    struct Sum {
        std::string name;
        std::set<std::int32_t> layers;
        std::vector<OpId> ops;
        OpSummary all;
        double flops = 0;
    };
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> ops, trace.opSummaries(question.limit));
    FOURWALLS_TRY_ASSIGN(const KindTotals totals, totalsOfKinds(trace, ops));
    std::map<std::tuple<QString, Phase, SliceKind>, Sum> sums;
    for (const OpSummary& summary : ops) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}, {}};
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        Sum& sum = sums[{opName(*op), op->phase, op->kind}];
        if (op->layer) sum.layers.insert(op->layer->value);
        sum.ops.push_back(summary.op);
        sum.all.count += summary.count;
        sum.all.total += summary.total;
        sum.all.longest = std::max(sum.all.longest, summary.longest);
        sum.flops += op->flops * static_cast<double>(summary.count);
    }
    std::vector<const decltype(sums)::value_type*> order;
    for (const auto& sum : sums) order.push_back(&sum);
    std::ranges::stable_sort(order, std::greater(), [](const auto* sum) { return sum->second.all.total.ns; });
    for (const auto* sum : order) {
        const auto& [name, phase, kind] = sum->first;
        const OpSummary& all = sum->second.all;
        const double seconds = all.total.seconds();
        const auto layers = static_cast<std::int64_t>(sum->second.layers.size());
        table.rows.push_back(
            {name, phaseText(phase), words(kind), layers > 0 ? figure(layers) : QVariant(), figure(all.count),
             figure(all.total.ns), shareOf(all.total, totals.at(kind)),
             figure(all.count > 0 ? all.total.ns / all.count : 0), QVariant(), QVariant(), figure(all.longest.ns),
             sum->second.flops > 0 && seconds > 0 ? QVariant(sum->second.flops / seconds) : QVariant()});
        table.ops.push_back(sum->second.ops);
    }
    table.percentilesAt = placeOfPercentiles(table.columns);
    table.limited = ops.size() == question.limit;
    return {};
}

Status readOperators(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "operator"), CellKind::Name},
                     {QT_TRANSLATE_NOOP("TraceTables", "phase"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "layer"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "kind"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "count"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "total"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "share"), CellKind::Share},
                     {QT_TRANSLATE_NOOP("TraceTables", "mean"), CellKind::Duration},
                     {kMedianName, CellKind::Duration, kMedianTip},
                     {kTailName, CellKind::Duration, kTailTip},
                     {QT_TRANSLATE_NOOP("TraceTables", "longest"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "FLOP/s"), CellKind::PerSecond},
                     {QT_TRANSLATE_NOOP("TraceTables", "details"), CellKind::Text}};
    FOURWALLS_TRY_ASSIGN(const std::vector<OpSummary> ops, trace.opSummaries(question.limit));
    FOURWALLS_TRY_ASSIGN(const KindTotals totals, totalsOfKinds(trace, ops));
    for (const OpSummary& summary : ops) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}, {}};
        FOURWALLS_TRY_ASSIGN(const std::shared_ptr<const OpInfo> op, trace.op(summary.op));
        const double seconds = summary.total.seconds();
        const bool rated = op->flops > 0 && seconds > 0;
        table.rows.push_back({textCell(opName(*op).toStdString()), phaseText(op->phase), idOf(op->layer),
                              words(op->kind), figure(summary.count), figure(summary.total.ns),
                              shareOf(summary.total, totals.at(op->kind)),
                              figure(summary.count > 0 ? summary.total.ns / summary.count : 0), QVariant(), QVariant(),
                              figure(summary.longest.ns),
                              rated ? QVariant(op->flops * static_cast<double>(summary.count) / seconds) : QVariant(),
                              textCell(op->detail)});
        table.ops.push_back({summary.op});
    }
    table.percentilesAt = placeOfPercentiles(table.columns);
    table.limited = ops.size() == question.limit;
    return {};
}

Result<TraceTable> withPercentiles(TraceQuery& trace, TraceTable table, const std::stop_token& stop)
{
    if (table.ops.empty()) return table;
    FOURWALLS_TRY_ASSIGN(const std::vector<DurationDistribution> durations, opDurations(trace, stop));
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
        if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", {}, {}};
        DurationDistribution all;
        for (const OpId op : table.ops[row])
            if (static_cast<std::size_t>(op.value) < durations.size())
                all.add(durations[static_cast<std::size_t>(op.value)]);
        constexpr double kPercentiles[] = {0.5, 0.99};
        for (std::size_t i = 0; i < std::size(kPercentiles); ++i)
            if (const auto value = all.percentile(kPercentiles[i]))
                table.rows[row][table.percentilesAt + i] = figure(value->ns);
        table.roughPercentiles = table.roughPercentiles || !all.isExact();
    }
    return table;
}

namespace {

/// Where there are more slices than rows: the longest ones, in their order, and how many there are.
Status takeLongest(TraceQuery& trace, const TableQuestion& question, SearchResult& found, TraceTable& table,
                   std::stop_token stop)
{
    const auto isLonger = [](const SliceView& a, const SliceView& b) {
        return std::tuple(-a.duration.ns, a.start, a.id) < std::tuple(-b.duration.ns, b.start, b.id);
    };
    // The first of a heap is the shortest that was kept.
    std::vector<SliceView>& kept = found.slices;
    kept.clear();
    const auto visit = [&](const SliceView& slice) {
        if (slice.start >= question.range.end || slice.end() <= question.range.begin) return true;
        ++table.total;
        if (kept.size() == question.limit) {
            if (!isLonger(slice, kept.front())) return true;
            std::ranges::pop_heap(kept, isLonger);
            kept.pop_back();
        }
        kept.push_back(slice);
        std::ranges::push_heap(kept, isLonger);
        return true;
    };
    FOURWALLS_TRY(trace.scanSlices(visit, stop));
    std::ranges::sort_heap(kept, isLonger);
    for (const SliceView& slice : kept) {
        if (found.ops.contains(slice.op)) continue;
        FOURWALLS_TRY_ASSIGN(std::shared_ptr<const OpInfo> op, trace.op(slice.op));
        found.ops.emplace(slice.op, std::move(op));
    }
    table.longestFirst = true;
    return {};
}

} // namespace

Status readSlices(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "name"), CellKind::Name},
                     {QT_TRANSLATE_NOOP("TraceTables", "phase"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "layer"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "track"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "begin"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "time"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "micro-batch"), CellKind::Number}};
    SearchQuery everything;
    everything.range = question.range;
    everything.limit = question.limit;
    FOURWALLS_TRY_ASSIGN(SearchResult found, trace.search(everything, stop));
    if (found.limited) FOURWALLS_TRY(takeLongest(trace, question, found, table, stop));
    const std::vector<TrackView>& tracks = trace.tracks();
    for (const SliceView& slice : found.slices) {
        CellRow row;
        addOp(row, found.ops, slice.op);
        const auto index = static_cast<std::size_t>(slice.track.value);
        const bool has = slice.track.value >= 0 && index < tracks.size();
        row.push_back(has ? textCell(tracks[index].info.name) : QVariant());
        row.push_back(has ? figure(tracks[index].info.rank.value) : QVariant());
        row.push_back(figure(slice.start.ns));
        row.push_back(figure(slice.duration.ns));
        row.push_back(idOf(slice.microbatch));
        table.rows.push_back(std::move(row));
    }
    table.limited = found.limited;
    return {};
}

} // namespace fourwalls::views
