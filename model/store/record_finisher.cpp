// SPDX-License-Identifier: Apache-2.0
// Sorting and writing of the smaller kinds.
#include "model/store/record_finisher.h"

#include "model/base/sorted_rows.h"
#include "model/store/duration_class.h"
#include "model/trace/collective_timing.h"

#include <algorithm>
#include <cmath>

namespace fourwalls::store {
namespace {

/// Counters get bins from the first level on that has an eighth as many bins as samples.
constexpr std::size_t kSamplesPerBin = 8;

std::vector<CounterBin> binsOf(const std::vector<CounterRow>& rows, int level)
{
    std::vector<CounterBin> bins;
    for (const CounterRow& row : rows) {
        const std::int64_t index = binOf(row.at, level);
        if (bins.empty() || bins.back().index != index) bins.push_back({index, row.value, row.value, row.value});
        CounterBin& bin = bins.back();
        bin.min = std::min(bin.min, row.value);
        bin.max = std::max(bin.max, row.value);
        bin.last = row.value;
    }
    return bins;
}

std::vector<CounterBin> coarser(const std::vector<CounterBin>& bins)
{
    std::vector<CounterBin> wider;
    for (const CounterBin& child : bins) {
        const std::int64_t index = child.index >> 2;
        if (wider.empty() || wider.back().index != index) {
            wider.push_back({index, child.min, child.max, child.last});
            continue;
        }
        CounterBin& bin = wider.back();
        bin.min = std::min(bin.min, child.min);
        bin.max = std::max(bin.max, child.max);
        bin.last = child.last;
    }
    return wider;
}

std::size_t countBins(const std::vector<CounterRow>& rows, int level)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (i == 0 || binOf(rows[i].at, level) != binOf(rows[i - 1].at, level)) ++count;
    return count;
}

class CounterWriter {
public:
    explicit CounterWriter(FinishContext& context) : m_context(context) {}

    void put(std::int64_t id, const CounterInfo& info, const std::vector<CounterRow>& rows)
    {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::int64_t seq = i > 0 && rows[i].at == rows[i - 1].at ? m_seq + 1 : 0;
            m_seq = seq;
            m_context.out.put(Table::CounterSample, {id, rows[i].at, seq, rows[i].value});
            m_context.cover(rows[i].at, rows[i].at);
        }
        int finest = 0;
        for (int level = 1; level < kClassCount && finest == 0; ++level)
            if (countBins(rows, level) * kSamplesPerBin <= rows.size() && !rows.empty()) finest = level;
        int top = finest;
        if (finest > 0) {
            std::vector<CounterBin> bins = binsOf(rows, finest);
            for (;; ++top) {
                putTiles(id, top, bins);
                if (bins.size() <= kBinsAtTop || top + 1 >= kClassCount) break;
                bins = coarser(bins);
            }
        }
        m_context.out.put(Table::Counter, {id, info.rank ? Value(info.rank->value) : Value(), info.name,
                                           static_cast<int>(info.unit), static_cast<std::int64_t>(rows.size()),
                                           finest > 0 ? Value(finest) : Value(), finest > 0 ? Value(top) : Value()});
    }

private:
    void putTiles(std::int64_t id, int level, const std::vector<CounterBin>& bins)
    {
        for (std::size_t i = 0; i < bins.size();) {
            const std::int64_t tile = tileOf(bins[i].index);
            m_tile.clear();
            for (; i < bins.size() && tileOf(bins[i].index) == tile; ++i) m_tile.push_back(bins[i]);
            m_bytes.clear();
            encodeCounterTile(m_bytes, tile, m_tile);
            m_context.out.put(Table::CounterBin, {m_nextBin++, id, level, tile, Value::blob(m_bytes)});
        }
    }

    FinishContext& m_context;
    std::int64_t m_nextBin = 1;
    std::int64_t m_seq = 0;
    std::vector<CounterBin> m_tile;
    std::string m_bytes;
};

} // namespace

void encodeCounterTile(std::string& out, std::int64_t tile, const std::vector<CounterBin>& bins)
{
    std::int64_t next = tile * kBinsPerTile;
    for (const CounterBin& bin : bins) {
        putVarint(out, static_cast<std::uint64_t>(bin.index - next));
        putReal(out, bin.min);
        putReal(out, bin.max);
        putReal(out, bin.last);
        next = bin.index + 1;
    }
}

bool decodeCounterTile(std::string_view bytes, std::int64_t tile, std::vector<CounterBin>& bins)
{
    const std::int64_t end = (tile + 1) * kBinsPerTile;
    std::int64_t next = tile * kBinsPerTile;
    Decoder in(bytes);
    while (!in.atEnd()) {
        CounterBin bin;
        bin.index = next + in.bounded(kBinsPerTile);
        bin.min = in.real();
        bin.max = in.real();
        bin.last = in.real();
        if (!in.ok() || bin.index >= end) return false;
        bins.push_back(bin);
        next = bin.index + 1;
    }
    return in.ok();
}

Status finishSteps(FinishContext& context)
{
    for (const std::int32_t rank : context.source.ranks()) {
        std::vector<StepRecord> rows;
        FOURWALLS_TRY(context.source.steps(rank, rows));
        context.invalid += static_cast<std::int64_t>(std::erase_if(rows, [](const StepRecord& row) {
            return !validTime(row.range.begin.ns) || !validTime(row.range.end.ns) || row.range.end < row.range.begin;
        }));
        if (rows.empty()) continue;
        std::stable_sort(rows.begin(), rows.end(), [](const StepRecord& a, const StepRecord& b) {
            return std::tie(a.range.begin, a.step) < std::tie(b.range.begin, b.step);
        });
        if (context.definitions().marksLost) markLost(rows);
        const std::size_t kept = keptSteps(rows).size();
        context.stepCount = std::max(context.stepCount, static_cast<int>(kept));
        context.lostSteps = std::max(context.lostSteps, static_cast<int>(rows.size() - kept));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const StepRecord& row = rows[i];
            context.cover(row.range.begin.ns, row.range.end.ns);
            context.out.put(Table::Step, {rank, static_cast<std::int64_t>(i), row.step.value, row.range.begin.ns,
                                          row.range.end.ns, row.loss, row.learningRate, row.gradientNorm, row.samples,
                                          row.tokens, static_cast<int>(row.state)});
        }
        context.lookups.emplace(rank, StepLookup(rows));
        context.steps[RankId(rank)] = std::move(rows);
    }
    // Stages of a pipeline begin one after the other: what the first one does alone is part of the step.
    const bool byEnds =
        context.definitions().jobStepRule == JobStepRule::Ends && !isPipelined(context.definitions().header);
    const JobStepRule rule = byEnds ? JobStepRule::Ends : JobStepRule::Hull;
    const std::vector<JobStep> job = jobSteps(context.steps, rule);
    for (const auto& [rank, rows] : context.steps)
        context.shared.emplace(rank.value,
                               StepLookup(rule == JobStepRule::Ends ? sharedSteps(rows, job) : keptSteps(rows)));
    for (const JobStep& step : job)
        context.out.put(Table::JobStep,
                        {step.step.value, step.range.begin.ns, step.range.end.ns, static_cast<int>(step.state),
                         step.complete, step.loss, step.learningRate, step.gradientNorm, step.samples, step.tokens});
    return context.checkpoint(-1);
}

Status finishCounters(FinishContext& context)
{
    CounterWriter writer(context);
    const std::vector<CounterInfo>& counters = context.definitions().counters;
    for (std::size_t id = 0; id < counters.size(); ++id) {
        std::vector<CounterRow> rows;
        FOURWALLS_TRY(context.source.counters(static_cast<std::int32_t>(id), rows));
        // A database has no NaN: it would come back as NULL.
        context.invalid += static_cast<std::int64_t>(
            std::erase_if(rows, [](const CounterRow& row) { return !validTime(row.at) || std::isnan(row.value); }));
        std::stable_sort(rows.begin(), rows.end(),
                         [](const CounterRow& a, const CounterRow& b) { return a.at < b.at; });
        context.counts.counterSamples += static_cast<std::int64_t>(rows.size());
        writer.put(static_cast<std::int64_t>(id), counters[id], rows);
        if (counters[id].rank && counters[id].name == "reserved_bytes") {
            auto& reserved = context.reserved[counters[id].rank->value];
            for (const CounterRow& row : rows)
                if (std::abs(row.value) < 9e18) reserved.push_back(row);
        }
        FOURWALLS_TRY(context.checkpoint(-1));
    }
    return {};
}

Status finishCollectives(FinishContext& context)
{
    const Definitions& definitions = context.definitions();
    std::map<std::int32_t, StepLookup> marked; // steps as the programs mark them
    for (const auto& [rank, marks] : context.marks)
        if (std::vector<StepRecord> steps = marks.marked(context.steps[RankId(rank)]); !steps.empty())
            marked.emplace(rank, StepLookup(steps));
    const auto isMeasured = [&](std::int32_t rank, const CollectiveRow& row) {
        const bool isRequest = definitions.groups[static_cast<std::size_t>(row.group)].transport == kRequestsOnly;
        const auto marks = isRequest ? marked.find(rank) : marked.end();
        if (marks != marked.end()) return isMeasuredAt(marks->second, Instant{row.start});
        return context.isMeasured(rank, row.start);
    };
    std::map<std::int32_t, std::vector<std::int32_t>> tracksOfRank;
    for (std::size_t track = 0; track < definitions.tracks.size(); ++track)
        tracksOfRank[definitions.tracks[track].rank.value].push_back(static_cast<std::int32_t>(track));

    CollectiveSummarizer summaries(definitions.groups);
    std::int64_t nextId = 1;
    for (const auto& [rank, tracks] : tracksOfRank) {
        std::vector<CollectiveRow> rows;
        for (const std::int32_t track : tracks) FOURWALLS_TRY(context.source.collectives(track, rows));
        context.invalid += static_cast<std::int64_t>(std::erase_if(rows, [&](const CollectiveRow& row) {
            return !context.isTrack(row.track) || row.group < 0 ||
                   static_cast<std::size_t>(row.group) >= definitions.groups.size() ||
                   row.operation > static_cast<int>(CollectiveOp::Other) || !validTime(row.start) ||
                   !validTime(row.end) || row.start > row.lastArrival || row.lastArrival > row.end ||
                   !context.isString(row.algorithm) || !context.isString(row.protocol);
        }));
        std::sort(rows.begin(), rows.end(), [](const CollectiveRow& a, const CollectiveRow& b) {
            const int classA = durationClass(a.end - a.start), classB = durationClass(b.end - b.start);
            if (classA != classB) return classA < classB;
            return a.start != b.start ? a.start < b.start : a < b;
        });
        for (const CollectiveRow& row : rows) {
            context.cover(row.start, row.end);
            context.out.put(Table::Collective,
                            {nextId++, rank, durationClass(row.end - row.start), row.track, row.start, row.lastArrival,
                             row.end, row.operation, row.group, row.sequence, Value::orNull(row.payloadBytes),
                             Value::orNull(row.wireBytes), Value::orNull(row.peer), row.algorithm, row.protocol});
            if (!isMeasured(rank, row)) continue;
            CollectiveRecord record;
            record.start = Instant{row.start};
            record.lastArrival = Instant{row.lastArrival};
            record.end = Instant{row.end};
            record.operation = static_cast<CollectiveOp>(row.operation);
            record.group = GroupId(row.group);
            record.sequence = row.sequence;
            if (row.payloadBytes != kAbsent) record.payloadBytes = row.payloadBytes;
            if (row.wireBytes != kAbsent) record.wireBytes = row.wireBytes;
            summaries.add(record);
        }
        context.counts.collectives += static_cast<std::int64_t>(rows.size());
        FOURWALLS_TRY(context.checkpoint(-1));
    }
    std::vector<CollectiveSummary> totals = summaries.finish();
    std::sort(totals.begin(), totals.end(), [](const CollectiveSummary& a, const CollectiveSummary& b) {
        return std::tie(a.operation, a.group) < std::tie(b.operation, b.group);
    });
    for (const CollectiveSummary& s : totals)
        context.out.put(Table::CollectiveSummary, {static_cast<int>(s.operation), s.group.value, s.count,
                                                   Value::orNull(s.payloadBytes.value_or(kAbsent)),
                                                   Value::orNull(s.wireBytes.value_or(kAbsent)), s.time.ns, s.wait.ns});
    return {};
}

Status finishFlows(FinishContext& context)
{
    SortedRows<FlowRow> rows(context.chunks);
    FOURWALLS_TRY(context.source.flows([&](const FlowRow& row) {
        const bool valid = context.isTrack(row.fromTrack) && context.isTrack(row.toTrack) && validTime(row.from) &&
                           validTime(row.to) && context.isString(row.kind);
        if (valid)
            rows.add(row);
        else
            ++context.invalid;
    }));
    std::int64_t id = 1;
    rows.forEach([&](const FlowRow& row) {
        context.out.put(Table::Flow, {id++, row.kind, row.fromTrack, row.from, row.toTrack, row.to});
    });
    context.counts.flows = static_cast<std::int64_t>(rows.size());
    return context.checkpoint(-1);
}

Status finishEvents(FinishContext& context)
{
    std::vector<EventRow> rows;
    FOURWALLS_TRY(context.source.events(rows));
    context.invalid += static_cast<std::int64_t>(std::erase_if(rows, [](const EventRow& row) {
        return !validTime(row.at) || row.kind > static_cast<int>(EventKind::Rollback) ||
               (row.rank != kAbsent && row.rank < 0);
    }));
    std::sort(rows.begin(), rows.end());
    std::int64_t id = 1;
    for (const EventRow& row : rows) {
        context.cover(row.at, row.at);
        context.out.put(Table::Event, {id++, row.at, row.kind, Value::orNull(row.rank), row.text});
    }
    context.counts.events = static_cast<std::int64_t>(rows.size());
    return context.checkpoint(-1);
}

} // namespace fourwalls::store
