// SPDX-License-Identifier: Apache-2.0
// Lives, curve and peaks.
#include "model/store/memory_finisher.h"

#include "model/store/duration_class.h"
#include "model/trace/memory_curve.h"

#include <algorithm>
#include <array>
#include <limits>

namespace fourwalls::store {
namespace {

/// Bins of the curve start at the first level with an eighth as many bins as changes: below it, the buffers of a
/// screen are few enough to be swept.
constexpr std::size_t kChangesPerBin = 8;
constexpr std::size_t kBinsAtTop = 16;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 58;

int classOf(const AllocationRow& row)
{
    return row.duration == kAbsent ? kUnboundedClass : durationClass(row.duration);
}

std::int64_t binAt(const MemorySample& sample, int level) { return binOf(sample.at.ns, level); }

std::size_t countBins(const std::vector<MemorySample>& curve, int level)
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < curve.size(); ++i)
        if (i == 0 || binAt(curve[i], level) != binAt(curve[i - 1], level)) ++count;
    return count;
}

std::vector<MemoryBin> binsOf(const std::vector<MemorySample>& curve, int level)
{
    std::vector<MemoryBin> bins;
    for (const MemorySample& sample : curve) {
        const std::int64_t index = binAt(sample, level);
        if (bins.empty() || bins.back().index != index) bins.push_back({index, sample, sample});
        MemoryBin& bin = bins.back();
        if (sample.total() > bin.peak.total()) bin.peak = sample;
        bin.last = sample;
    }
    return bins;
}

/// Four bins become one: the child with the largest total, whole, and the last child's end.
std::vector<MemoryBin> coarser(const std::vector<MemoryBin>& bins)
{
    std::vector<MemoryBin> wider;
    for (const MemoryBin& child : bins) {
        const std::int64_t index = child.index >> 2;
        if (wider.empty() || wider.back().index != index) {
            wider.push_back({index, child.peak, child.last});
            continue;
        }
        MemoryBin& bin = wider.back();
        if (child.peak.total() > bin.peak.total()) bin.peak = child.peak;
        bin.last = child.last;
    }
    return wider;
}

void putSample(std::string& out, const MemorySample& sample, std::int64_t base, CategoryBytes& previous)
{
    putVarint(out, static_cast<std::uint64_t>(sample.at.ns - base));
    for (std::size_t c = 0; c < previous.size(); ++c) putSigned(out, wrappingSub(sample.bytes[c], previous[c]));
    previous = sample.bytes;
}

bool takeSample(Decoder& in, MemorySample& sample, std::int64_t base, int level, CategoryBytes& previous)
{
    sample.at.ns = base + in.bounded(levelWidth(level) - 1);
    for (std::size_t c = 0; c < previous.size(); ++c) {
        previous[c] = wrappingAdd(previous[c], in.signedVarint());
        // Keeps every total that can be formed from the categories inside 64 bits.
        if (previous[c] < 0 || previous[c] > kMostBytes) return false;
    }
    sample.bytes = previous;
    return in.ok();
}

} // namespace

void encodeMemoryTile(std::string& out, std::int64_t tile, int level, const std::vector<MemoryBin>& bins)
{
    std::int64_t next = tile * kMemoryBinsPerTile;
    CategoryBytes previous{};
    for (const MemoryBin& bin : bins) {
        const std::int64_t base = bin.index * levelWidth(level);
        putVarint(out, static_cast<std::uint64_t>(bin.index - next));
        next = bin.index + 1;
        putSample(out, bin.peak, base, previous);
        const bool same = bin.last.at == bin.peak.at;
        putVarint(out, same ? 0 : 1);
        if (!same) putSample(out, bin.last, base, previous);
    }
}

bool decodeMemoryTile(std::string_view bytes, std::int64_t tile, int level, std::vector<MemoryBin>& bins)
{
    const std::int64_t end = (tile + 1) * kMemoryBinsPerTile;
    std::int64_t next = tile * kMemoryBinsPerTile;
    CategoryBytes previous{};
    Decoder in(bytes);
    while (!in.atEnd()) {
        MemoryBin bin;
        bin.index = next + in.bounded(kMemoryBinsPerTile);
        if (!in.ok() || bin.index >= end) return false;
        const std::int64_t base = bin.index * levelWidth(level);
        if (!takeSample(in, bin.peak, base, level, previous)) return false;
        bin.last = bin.peak;
        if (in.bounded(1) == 1 && !takeSample(in, bin.last, base, level, previous)) return false;
        if (!in.ok()) return false;
        bins.push_back(bin);
        next = bin.index + 1;
    }
    return in.ok();
}

void encodeIds(std::string& out, const std::vector<std::int64_t>& ids)
{
    std::int64_t previous = 0;
    for (const std::int64_t id : ids) {
        putVarint(out, static_cast<std::uint64_t>(id - previous));
        previous = id;
    }
}

bool decodeIds(std::string_view bytes, std::vector<std::int64_t>& ids)
{
    Decoder in(bytes);
    std::int64_t id = 0;
    while (!in.atEnd()) {
        id = wrappingAdd(id, in.bounded(std::numeric_limits<std::int64_t>::max()));
        if (!in.ok() || id < 0) return false;
        ids.push_back(id);
    }
    return true;
}

void MemoryFinisher::putLives(std::int32_t rank, const std::vector<AllocationRow>& rows)
{
    m_firstRow = m_nextRow;
    m_firstRun = m_nextRun;
    m_byRow.clear();
    for (int c = 0; c <= kUnboundedClass; ++c) {
        const std::int64_t first = m_nextRow;
        for (const AllocationRow& row : rows) { // sorted by start
            if (classOf(row) != c) continue;
            const std::int64_t id = m_nextRow++;
            if ((id - first) % kFenceEvery == 0) m_context.out.put(Table::AllocationFence, {m_nextRun, row.start, id});
            m_context.out.put(Table::Allocation,
                              {id, m_nextRun, row.start, Value::orNull(row.duration), row.bytes, row.address,
                               static_cast<int>(row.category), Value::orNull(row.op), Value::orNull(row.microbatch),
                               row.buffer});
            m_byRow.push_back(&row);
        }
        if (m_nextRow > first) m_context.out.put(Table::AllocationRun, {m_nextRun++, rank, c, first, m_nextRow - 1});
    }
}

void MemoryFinisher::putBins(std::int32_t rank, const std::vector<MemorySample>& curve, std::int64_t allocations)
{
    int finest = 0;
    for (int level = 1; level < kClassCount && finest == 0; ++level)
        if (countBins(curve, level) * kChangesPerBin <= curve.size()) finest = level;
    int top = finest;
    if (finest > 0) {
        std::string bytes;
        std::vector<MemoryBin> tileBins;
        std::vector<MemoryBin> bins = binsOf(curve, finest);
        for (;; ++top) {
            for (std::size_t i = 0; i < bins.size();) {
                const std::int64_t tile = tileOf(bins[i].index, kMemoryBinsPerTile);
                tileBins.clear();
                for (; i < bins.size() && tileOf(bins[i].index, kMemoryBinsPerTile) == tile; ++i)
                    tileBins.push_back(bins[i]);
                bytes.clear();
                encodeMemoryTile(bytes, tile, top, tileBins);
                m_context.out.put(Table::MemoryBin, {m_nextBin++, rank, top, tile, Value::blob(bytes)});
            }
            if (bins.size() <= kBinsAtTop || top + 1 >= kClassCount) break;
            bins = coarser(bins);
        }
    }
    m_context.out.put(Table::MemoryTimeline,
                      {rank, allocations, finest > 0 ? Value(finest) : Value(), finest > 0 ? Value(top) : Value(),
                       m_firstRun, m_nextRun - 1});
}

void MemoryFinisher::putPeaks(std::int32_t rank, const std::vector<MemorySummary>& summaries)
{
    // The sets at all peaks in one sweep over the lives: what begins at or before a peak and ends after it.
    std::vector<std::int64_t> instants;
    for (const MemorySummary& summary : summaries)
        if (summary.peakBytes > 0) instants.push_back(summary.peakAt.ns);
    std::sort(instants.begin(), instants.end());
    instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
    std::vector<std::vector<std::int64_t>> alive(instants.size());
    for (std::size_t i = 0; i < m_byRow.size(); ++i) {
        const AllocationRow& row = *m_byRow[i];
        const auto first = std::lower_bound(instants.begin(), instants.end(), row.start);
        for (auto at = first; at != instants.end(); ++at) {
            if (row.duration != kAbsent && *at >= row.start + row.duration) break;
            alive[static_cast<std::size_t>(at - instants.begin())].push_back(m_firstRow + static_cast<std::int64_t>(i));
        }
    }
    std::string bytes;
    for (std::size_t i = 0; i < instants.size(); ++i) {
        bytes.clear();
        encodeIds(bytes, alive[i]);
        m_context.out.put(Table::PeakAlive, {m_nextPeak++, rank, instants[i],
                                             static_cast<std::int64_t>(alive[i].size()), Value::blob(bytes)});
    }
    for (std::size_t i = 0; i < summaries.size(); ++i) {
        const MemorySummary& s = summaries[i];
        std::vector<Value> row{rank, static_cast<std::int64_t>(i), s.step ? Value(s.step->value) : Value(),
                               s.peakBytes, s.peakAt.ns};
        for (const std::int64_t bytesAtPeak : s.atPeak) row.emplace_back(bytesAtPeak);
        for (const std::int64_t peak : s.categoryPeaks) row.emplace_back(peak);
        row.emplace_back(s.residentBytes);
        row.push_back(s.peakReservedBytes ? Value(*s.peakReservedBytes) : Value());
        m_context.out.row(Table::MemorySummary, row);
    }
}

Status MemoryFinisher::finishRank(std::int32_t rank)
{
    std::vector<AllocationRow> rows;
    FOURWALLS_TRY(m_context.source.allocations(rank, rows));
    std::int64_t sum = 0; // over all buffers, so that no total can overflow
    m_context.invalid += static_cast<std::int64_t>(std::erase_if(rows, [&](const AllocationRow& row) {
        if (row.bytes < 0 || row.bytes > kMostBytes - sum) return true;
        sum += row.bytes;
        return !validSpan(row.start, row.duration == kAbsent ? 0 : row.duration) ||
               !validMicrobatch(row.microbatch) || (row.op != kAbsent && !m_context.isOp(row.op));
    }));
    if (rows.empty()) return {};
    std::sort(rows.begin(), rows.end());
    for (const AllocationRow& row : rows)
        m_context.cover(row.start, row.duration == kAbsent ? row.start : row.start + row.duration);
    m_context.counts.allocations += static_cast<std::int64_t>(rows.size());
    putLives(rank, rows);

    std::vector<MemoryEvent> events;
    events.reserve(rows.size() * 2);
    for (const AllocationRow& row : rows) {
        if (row.duration != kAbsent && row.duration <= 0) continue;
        events.push_back({Instant{row.start}, row.bytes, row.category});
        if (row.duration != kAbsent)
            events.push_back({Instant{row.start + row.duration}, -row.bytes, row.category});
    }
    std::sort(events.begin(), events.end(), memoryEventOrder);

    const auto steps = m_context.steps.find(RankId(rank));
    MemorySummarizer summarizer(RankId(rank), steps == m_context.steps.end() ? std::span<const StepRecord>()
                                                                             : std::span(steps->second));
    for (const MemoryEvent& event : events) summarizer.add(event);
    const auto reserved = m_context.reserved.find(rank);
    if (reserved != m_context.reserved.end()) {
        for (const CounterRow& sample : reserved->second)
            summarizer.addReserved(Instant{sample.at}, static_cast<std::int64_t>(sample.value));
    }
    const std::vector<MemorySummary> summaries = summarizer.finish();

    putBins(rank, memoryCurve(events), static_cast<std::int64_t>(rows.size()));
    putPeaks(rank, summaries);
    return {};
}

} // namespace fourwalls::store
