// SPDX-License-Identifier: GPL-3.0-or-later
// See trace_table.h.
#include "views/tables/trace_table.h"

#include "model/trace/audit_counter.h"
#include "model/trace/short_name.h"
#include "model/trace/vocabulary.h"
#include "views/tables/table_cells.h"
#include "views/words/words.h"

#include <QCoreApplication>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace fourwalls::views {

namespace {

struct TraceTables {
    Q_DECLARE_TR_FUNCTIONS(TraceTables)
};

/// What the names of a table are called on the screen.
void addShortNames(TraceTable& table)
{
    std::set<std::string> distinct;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        if (table.columns[column].kind != CellKind::Name) continue;
        for (const CellRow& row : table.rows) distinct.insert(row[column].toString().toStdString());
    }
    const std::vector<std::string> names(distinct.begin(), distinct.end());
    const std::vector<std::string> shown = fourwalls::shortNames(names);
    for (std::size_t i = 0; i < names.size(); ++i)
        table.shortNames.insert(QString::fromStdString(names[i]), QString::fromStdString(shown[i]));
}

Status readSteps(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "step"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "left out as"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "begin"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "time"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "loss"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "learning rate"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "gradient norm"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "samples"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "tokens"), CellKind::Count}};
    FOURWALLS_TRY_ASSIGN(const std::vector<StepView> steps, trace.steps(question.rank));
    table.total = static_cast<qint64>(steps.size());
    for (const StepView& step : steps) {
        if (table.rows.size() == question.limit) break;
        const StepRecord& r = step.record;
        table.rows.push_back({figure(r.step.value), words(r.state), figure(r.range.begin.ns),
                              figure(r.range.length().ns), known(r.loss), known(r.learningRate), known(r.gradientNorm),
                              figure(r.samples), figure(r.tokens)});
    }
    return {};
}

Status readRanks(TraceQuery& trace, const TableQuestion&, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "device"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "host"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "pipeline stage"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "memory"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "stands for"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "compute"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "exposed communication"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "bubble"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "idle"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "waiting"), CellKind::Duration}};
    FOURWALLS_TRY_ASSIGN(const std::vector<StepSummary> steps, trace.stepSummaries());
    for (const RankInfo& rank : trace.info().header.ranks) {
        StepSummary sum;
        std::int64_t count = 0;
        for (const StepSummary& step : steps) {
            if (step.rank != rank.rank || step.state != StepState::Measured) continue;
            ++count;
            sum.compute += step.compute;
            sum.exposedComm += step.exposedComm;
            sum.bubble += step.bubble;
            sum.idleOther += step.idle();
            sum.collectiveWait += step.collectiveWait;
        }
        const auto mean = [count](Duration value) { return count ? figure(value.ns / count) : QVariant(); };
        table.rows.push_back({figure(rank.rank.value), textCell(rank.device), textCell(rank.host),
                              figure(rank.pipelineStage), rank.memoryBytes > 0 ? figure(rank.memoryBytes) : QVariant(),
                              figure(rank.multiplicity), mean(sum.compute), mean(sum.exposedComm), mean(sum.bubble),
                              mean(sum.idleOther), mean(sum.collectiveWait)});
    }
    return {};
}

Status readMemory(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "step"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "peak"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "at"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "weights"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "gradients"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "optimizer state"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "activations"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "temporaries"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "communication buffers"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "workspace"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "other"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "resident"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "reserved"), CellKind::Bytes}};
    FOURWALLS_TRY_ASSIGN(const std::vector<MemorySummary> summaries, trace.memorySummaries());
    table.total = static_cast<qint64>(summaries.size());
    for (const MemorySummary& summary : summaries) {
        if (table.rows.size() == question.limit) break;
        CellRow row{figure(summary.rank.value), idOf(summary.step), figure(summary.peakBytes),
                    figure(summary.peakAt.ns)};
        for (const std::int64_t bytes : summary.atPeak) row.push_back(figure(bytes));
        row.push_back(figure(summary.residentBytes));
        row.push_back(summary.peakReservedBytes ? figure(*summary.peakReservedBytes) : QVariant());
        table.rows.push_back(std::move(row));
    }
    return {};
}

Status readCollectives(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "operation"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "group"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "number"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "begin"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "waiting"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "transfer"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "payload"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "sent"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "peer"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "algorithm"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "protocol"), CellKind::Text}};
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveView> list,
                         trace.collectives(std::nullopt, question.range, question.limit));
    const auto& groups = trace.info().groups;
    for (const CollectiveView& each : list) {
        const CollectiveRecord& r = each.record;
        const auto group = static_cast<std::size_t>(r.group.value);
        table.rows.push_back({figure(each.rank.value), words(r.operation),
                              r.group.value >= 0 && group < groups.size() ? textCell(groups[group].name) : QVariant(),
                              figure(r.sequence), figure(r.start.ns), figure((r.lastArrival - r.start).ns),
                              figure((r.end - r.lastArrival).ns), figure(r.payloadBytes), figure(r.wireBytes),
                              idOf(r.peer), textCell(r.algorithm), textCell(r.protocol)});
    }
    table.limited = list.size() == question.limit;
    return {};
}

Status readCollectiveSums(TraceQuery& trace, const TableQuestion&, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "operation"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "group"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "count"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "payload"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "sent"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "transfer"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "waiting"), CellKind::Duration}};
    FOURWALLS_TRY_ASSIGN(const std::vector<CollectiveSummary> list, trace.collectiveSummaries());
    const auto& groups = trace.info().groups;
    for (const CollectiveSummary& each : list) {
        const auto group = static_cast<std::size_t>(each.group.value);
        table.rows.push_back(
            {words(each.operation),
             each.group.value >= 0 && group < groups.size() ? textCell(groups[group].name) : QVariant(),
             figure(each.count), figure(each.payloadBytes), figure(each.wireBytes), figure(each.time.ns),
             figure(each.wait.ns)});
    }
    return {};
}

Status readAllocations(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "bytes"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "category"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "operator"), CellKind::Name},
                     {QT_TRANSLATE_NOOP("TraceTables", "phase"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "layer"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "micro-batch"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "begin"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "life"), CellKind::Duration},
                     {QT_TRANSLATE_NOOP("TraceTables", "address"), CellKind::Text}};
    FOURWALLS_TRY_ASSIGN(const AllocationList list, trace.allocations(question.rank, question.range, question.limit,
                                                                      10 * static_cast<std::int64_t>(question.limit)));
    for (const AllocationView& item : list.items) {
        CellRow row{figure(item.bytes), words(item.category)};
        addOp(row, list.ops, item.op);
        row.push_back(idOf(item.microbatch));
        row.push_back(figure(item.start.ns));
        row.push_back(item.end ? figure((*item.end - item.start).ns) : QVariant());
        row.push_back(item.address != 0 ? QStringLiteral("0x") + QString::number(static_cast<quint64>(item.address), 16)
                                        : QVariant());
        table.rows.push_back(std::move(row));
    }
    table.total = list.totalCount + list.leftOut;
    return {};
}

Status readCounters(TraceQuery& trace, const TableQuestion& question, TraceTable& table, std::stop_token stop)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "counter"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "at"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "value"), CellKind::Number}};
    const auto& counters = trace.info().counters;
    return trace.scanCounters(
        [&](const CounterRecord& record) {
            if (!question.range.contains(record.at)) return true;
            ++table.total;
            if (table.rows.size() >= question.limit) return true;
            const auto index = static_cast<std::size_t>(record.counter.value);
            const bool has = record.counter.value >= 0 && index < counters.size();
            table.rows.push_back({has ? textCell(counters[index].name) : QVariant(),
                                  has ? idOf(counters[index].rank) : QVariant(), figure(record.at.ns), record.value});
            return true;
        },
        stop);
}

Status readEvents(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "event"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "rank"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "at"), CellKind::Instant},
                     {QT_TRANSLATE_NOOP("TraceTables", "text"), CellKind::Text}};
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> list, trace.events(question.range, question.limit));
    for (const EventRecord& event : list)
        table.rows.push_back({textCell(name(event.kind)), idOf(event.rank), figure(event.at.ns), textCell(event.text)});
    table.limited = list.size() == question.limit;
    return {};
}

Status readTraffic(TraceQuery& trace, const TableQuestion& question, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "group"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "from"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "to"), CellKind::Number},
                     {QT_TRANSLATE_NOOP("TraceTables", "payload"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "sent"), CellKind::Bytes},
                     {QT_TRANSLATE_NOOP("TraceTables", "messages"), CellKind::Count}};
    for (const TrafficRecord& each : trace.info().closing.traffic) {
        if (table.rows.size() == question.limit) break;
        table.rows.push_back({textCell(each.group), figure(each.from.value), figure(each.to.value),
                              figure(each.payloadBytes), figure(each.wireBytes), figure(each.messages)});
    }
    table.total = static_cast<qint64>(trace.info().closing.traffic.size());
    return {};
}

Status readGroups(TraceQuery& trace, const TableQuestion&, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "group"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "members"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "ranks"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "transport"), CellKind::Text}};
    constexpr std::size_t kMostNamed = 64;
    for (const ProcessGroupInfo& group : trace.info().groups) {
        QStringList ranks;
        for (const RankId rank : group.ranks)
            if (static_cast<std::size_t>(ranks.size()) < kMostNamed) ranks.append(QString::number(rank.value));
        if (group.ranks.size() > kMostNamed) ranks.append(QStringLiteral("…"));
        table.rows.push_back({textCell(group.name), figure(static_cast<std::int64_t>(group.ranks.size())),
                              ranks.join(QStringLiteral(", ")), textCell(group.transport)});
    }
    return {};
}

Status readAudit(TraceQuery& trace, const TableQuestion&, TraceTable& table)
{
    table.columns = {{QT_TRANSLATE_NOOP("TraceTables", "what"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "kind"), CellKind::Text},
                     {QT_TRANSLATE_NOOP("TraceTables", "count"), CellKind::Count},
                     {QT_TRANSLATE_NOOP("TraceTables", "why"), CellKind::Text}};
    for (const AuditRecord& record : trace.info().audit) {
        if (isCounter(record, AuditCounter::ImportFacts)) continue; // the figures of the raw events, for programs
        table.rows.push_back(
            {textCell(record.name), words(record.severity), figure(record.count), textCell(record.detail)});
    }
    return {};
}

} // namespace

QString tableId(TableKind kind)
{
    static const char* const ids[kTableKindCount] = {
        "steps",           "ranks",       "memory",   "operators", "operator_sums", "slices", "collectives",
        "collective_sums", "allocations", "counters", "events",    "traffic",       "groups", "audit"};
    return QString::fromLatin1(ids[static_cast<int>(kind)]);
}

QString tableTitle(TableKind kind)
{
    switch (kind) {
    case TableKind::Steps: return TraceTables::tr("Steps");
    case TableKind::Ranks: return TraceTables::tr("Ranks");
    case TableKind::Memory: return TraceTables::tr("Memory peaks");
    case TableKind::Operators: return TraceTables::tr("Operators");
    case TableKind::OperatorSums: return TraceTables::tr("Operators, layers together");
    case TableKind::Slices: return TraceTables::tr("Slices");
    case TableKind::Collectives: return TraceTables::tr("Collectives");
    case TableKind::CollectiveSums: return TraceTables::tr("Collectives, added up");
    case TableKind::Allocations: return TraceTables::tr("Allocations");
    case TableKind::Counters: return TraceTables::tr("Counters");
    case TableKind::Events: return TraceTables::tr("Events");
    case TableKind::Traffic: return TraceTables::tr("Traffic");
    case TableKind::Groups: return TraceTables::tr("Process groups");
    case TableKind::Audit: return TraceTables::tr("Audit");
    }
    return {};
}

bool followsRange(TableKind kind)
{
    return kind == TableKind::Slices || kind == TableKind::Collectives || kind == TableKind::Allocations ||
           kind == TableKind::Counters || kind == TableKind::Events;
}

bool followsRank(TableKind kind)
{
    return kind == TableKind::Steps || kind == TableKind::Allocations;
}

Result<TraceTable> askTable(TraceQuery& trace, const TableQuestion& question, std::stop_token stop)
{
    TraceTable table;
    table.kind = question.kind;
    const auto read = [&]() -> Status {
        switch (question.kind) {
        case TableKind::Steps: return readSteps(trace, question, table);
        case TableKind::Ranks: return readRanks(trace, question, table);
        case TableKind::Memory: return readMemory(trace, question, table);
        case TableKind::Operators: return readOperators(trace, question, table, stop);
        case TableKind::OperatorSums: return readOperatorSums(trace, question, table, stop);
        case TableKind::Slices: return readSlices(trace, question, table, stop);
        case TableKind::Collectives: return readCollectives(trace, question, table);
        case TableKind::CollectiveSums: return readCollectiveSums(trace, question, table);
        case TableKind::Allocations: return readAllocations(trace, question, table);
        case TableKind::Counters: return readCounters(trace, question, table, stop);
        case TableKind::Events: return readEvents(trace, question, table);
        case TableKind::Traffic: return readTraffic(trace, question, table);
        case TableKind::Groups: return readGroups(trace, question, table);
        case TableKind::Audit: return readAudit(trace, question, table);
        }
        return {};
    };
    FOURWALLS_TRY(read());
    addShortNames(table);
    const auto rows = static_cast<qint64>(table.rows.size());
    table.total = std::max(table.total, rows);
    table.limited = table.limited || table.total > rows;
    return table;
}

} // namespace fourwalls::views
