// SPDX-License-Identifier: Apache-2.0
// Lives, curve and peaks.
#include "model/store/memory_finisher.h"

#include "model/base/paged_array.h"
#include "model/store/duration_class.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>

namespace fourwalls::store {
namespace {

/// Bins of the curve start at the first level with an eighth as many bins as changes: below it, the buffers of a
/// screen are few enough to be swept.
constexpr std::size_t kChangesPerBin = 8;

int classOf(const AllocationRow& row)
{
    return row.duration == kAbsent ? kUnboundedClass : durationClass(row.duration);
}

/// The curve, sample by sample: one per instant at which something changed.
template <class Events, class Visit>
void forEachSample(Events& events, Visit&& visit)
{
    typename Events::Cursor cursor(events);
    MemorySample now;
    while (const MemoryEvent* event = cursor.get()) {
        now.at = event->at;
        for (; cursor.get() && cursor.get()->at == now.at; cursor.next())
            now.bytes[static_cast<std::size_t>(cursor.get()->category)] += cursor.get()->delta;
        visit(now);
    }
}

/// Counts the bins that a curve has on every level.
class BinCounter {
public:
    void add(const MemorySample& sample)
    {
        ++m_samples;
        // What shares a bin shares all wider ones.
        for (int level = 1; level < kClassCount; ++level) {
            const auto i = static_cast<std::size_t>(level);
            const std::int64_t bin = binOf(sample.at.ns, level);
            if (m_samples > 1 && bin == m_last[i]) break;
            m_last[i] = bin;
            ++m_bins[i];
        }
    }
    /// The level where bins begin; 0: none.
    int finest() const
    {
        for (int level = 1; level < kClassCount; ++level)
            if (m_bins[static_cast<std::size_t>(level)] * kChangesPerBin <= m_samples) return level;
        return 0;
    }

private:
    std::size_t m_samples = 0;
    std::array<std::size_t, kClassCount> m_bins{};
    std::array<std::int64_t, kClassCount> m_last{};
};

/// The bins of one level, built by time.
class BinLevel {
public:
    explicit BinLevel(ChunkStore& chunks) : m_bins(chunks) {}

    /// The instant of the largest total and the last instant win; of equal totals, the first.
    void add(std::int64_t index, const MemorySample& peak, const MemorySample& last)
    {
        if (m_open && m_open->index == index) {
            if (peak.total() > m_open->peak.total()) m_open->peak = peak;
            m_open->last = last;
            return;
        }
        close();
        m_open = MemoryBin{index, peak, last};
    }
    void close()
    {
        if (m_open) m_bins.push_back(*m_open);
        m_open.reset();
    }
    const PagedArray<MemoryBin>& bins() const { return m_bins; }

private:
    PagedArray<MemoryBin> m_bins;
    std::optional<MemoryBin> m_open;
};

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

void IdEncoder::add(std::int64_t id)
{
    putVarint(m_bytes, static_cast<std::uint64_t>(id - m_previous));
    m_previous = id;
    ++m_count;
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

bool MemoryFinisher::TableOrder::operator()(const AllocationRow& a, const AllocationRow& b) const
{
    const int classA = classOf(a), classB = classOf(b);
    return classA != classB ? classA < classB : a < b;
}

void MemoryFinisher::putLives(std::int32_t rank, Lives& lives)
{
    m_firstRow = m_nextRow;
    m_firstRun = m_nextRun;
    std::int64_t first = m_nextRow;
    int runClass = 0;
    const auto endRun = [&] {
        if (m_nextRow > first)
            m_context.out.put(Table::AllocationRun, {m_nextRun++, rank, runClass, first, m_nextRow - 1});
        first = m_nextRow;
    };
    lives.forEach([&](const AllocationRow& row) {
        if (const int c = classOf(row); c != runClass) {
            endRun();
            runClass = c;
        }
        const std::int64_t id = m_nextRow++;
        if ((id - first) % kFenceEvery == 0) m_context.out.put(Table::AllocationFence, {m_nextRun, row.start, id});
        m_context.out.put(Table::Allocation, {id, m_nextRun, row.start, Value::orNull(row.duration), row.bytes,
                                              row.address, static_cast<int>(row.category), Value::orNull(row.op),
                                              Value::orNull(row.microbatch), row.buffer});
    });
    endRun();
}

void MemoryFinisher::putBins(std::int32_t rank, Events& events, std::int64_t allocations)
{
    BinCounter counter;
    forEachSample(events, [&](const MemorySample& sample) { counter.add(sample); });
    const int finest = counter.finest();
    int top = finest;
    if (finest > 0) {
        std::string bytes;
        std::vector<MemoryBin> tileBins;
        auto level = std::make_unique<BinLevel>(m_context.chunks);
        forEachSample(events,
                      [&](const MemorySample& sample) { level->add(binOf(sample.at.ns, finest), sample, sample); });
        for (;; ++top) {
            level->close();
            const PagedArray<MemoryBin>& bins = level->bins();
            const bool isTop = bins.size() <= kBinsAtTop || top + 1 >= kClassCount;
            auto wider = std::make_unique<BinLevel>(m_context.chunks);
            tileBins.clear();
            for (std::size_t i = 0; i < bins.size(); ++i) {
                const MemoryBin bin = bins[i];
                tileBins.push_back(bin);
                if (!isTop) wider->add(bin.index >> 2, bin.peak, bin.last);
                const std::int64_t tile = tileOf(bin.index, kMemoryBinsPerTile);
                if (i + 1 < bins.size() && tileOf(bins[i + 1].index, kMemoryBinsPerTile) == tile) continue;
                bytes.clear();
                encodeMemoryTile(bytes, tile, top, tileBins);
                m_context.out.put(Table::MemoryBin, {m_nextBin++, rank, top, tile, Value::blob(bytes)});
                tileBins.clear();
            }
            if (isTop) break;
            level = std::move(wider);
        }
    }
    m_context.out.put(Table::MemoryTimeline, {rank, allocations, finest > 0 ? Value(finest) : Value(),
                                              finest > 0 ? Value(top) : Value(), m_firstRun, m_nextRun - 1});
}

void MemoryFinisher::putPeaks(std::int32_t rank, Lives& lives, const std::vector<MemorySummary>& summaries)
{
    // The sets at all peaks in one sweep over the lives: what begins at or before a peak and ends after it.
    std::vector<std::int64_t> instants;
    for (const MemorySummary& summary : summaries)
        if (summary.peakBytes > 0) instants.push_back(summary.peakAt.ns);
    std::sort(instants.begin(), instants.end());
    instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
    std::vector<IdEncoder> alive(instants.size());
    std::int64_t id = m_firstRow;
    lives.forEach([&](const AllocationRow& row) {
        const auto first = std::lower_bound(instants.begin(), instants.end(), row.start);
        for (auto at = first; at != instants.end(); ++at) {
            if (row.duration != kAbsent && *at >= row.start + row.duration) break;
            alive[static_cast<std::size_t>(at - instants.begin())].add(id);
        }
        ++id;
    });
    for (std::size_t i = 0; i < instants.size(); ++i)
        m_context.out.put(Table::PeakAlive,
                          {m_nextPeak++, rank, instants[i], alive[i].count(), Value::blob(alive[i].bytes())});
    for (std::size_t i = 0; i < summaries.size(); ++i) {
        const MemorySummary& s = summaries[i];
        std::vector<Value> row{rank, static_cast<std::int64_t>(i), s.step ? Value(s.step->value) : Value(), s.peakBytes,
                               s.peakAt.ns};
        for (const std::int64_t bytesAtPeak : s.atPeak) row.emplace_back(bytesAtPeak);
        for (const std::int64_t peak : s.categoryPeaks) row.emplace_back(peak);
        row.emplace_back(s.residentBytes);
        row.push_back(s.peakReservedBytes ? Value(*s.peakReservedBytes) : Value());
        m_context.out.row(Table::MemorySummary, row);
    }
}

Status MemoryFinisher::read(std::int32_t rank, Lives& lives, Events& events)
{
    std::int64_t sum = 0; // over all buffers, so that no total can overflow
    FOURWALLS_TRY(m_context.source.allocations(rank, m_context.chunks, [&](const AllocationRow& row) {
        bool valid = row.bytes >= 0 && row.bytes <= kMostBytes - sum;
        if (valid) {
            sum += row.bytes;
            valid = validSpan(row.start, row.duration == kAbsent ? 0 : row.duration) &&
                    validMicrobatch(row.microbatch) && (row.op == kAbsent || m_context.isOp(row.op));
        }
        if (!valid) {
            ++m_context.invalid;
            return;
        }
        lives.add(row);
        const std::int64_t end = row.duration == kAbsent ? row.start : row.start + row.duration;
        m_context.cover(row.start, end);
        if (row.duration != kAbsent && row.duration <= 0) return;
        events.add({Instant{row.start}, row.bytes, row.category});
        if (row.duration != kAbsent) events.add({Instant{end}, -row.bytes, row.category});
    }));
    return m_context.chunks.status();
}

Status MemoryFinisher::finishRank(std::int32_t rank)
{
    Lives lives(m_context.chunks);
    Events events(m_context.chunks);
    FOURWALLS_TRY(read(rank, lives, events));
    if (lives.size() == 0) return {};
    m_context.counts.allocations += static_cast<std::int64_t>(lives.size());
    putLives(rank, lives);

    const auto steps = m_context.steps.find(RankId(rank));
    const std::vector<StepRecord> kept =
        steps == m_context.steps.end() ? std::vector<StepRecord>() : keptSteps(steps->second);
    MemorySummarizer summarizer(RankId(rank), kept);
    events.forEach([&](const MemoryEvent& event) { summarizer.add(event); });
    const auto reserved = m_context.reserved.find(rank);
    if (reserved != m_context.reserved.end()) {
        for (const CounterRow& sample : reserved->second)
            summarizer.addReserved(Instant{sample.at}, static_cast<std::int64_t>(sample.value));
    }
    const std::vector<MemorySummary> summaries = summarizer.finish();

    putBins(rank, events, static_cast<std::int64_t>(lives.size()));
    putPeaks(rank, lives, summaries);
    return m_context.chunks.status();
}

} // namespace fourwalls::store
