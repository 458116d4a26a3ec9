// SPDX-License-Identifier: Apache-2.0
// The cascade of levels and the coding of tiles.
#include "model/store/slice_bins.h"

#include <algorithm>
#include <limits>
#include <memory>

namespace fourwalls::store {
namespace {

/// Lanes with fewer slices are drawn exactly at every zoom.
constexpr std::int64_t kFewSlices = 32;
/// The finest level has at most this share of bins (5 in 6) of the slices that it replaces. A smaller share saves a
/// few bytes and lets frames just below the level read many more slices, at five times a bin's cost each.
constexpr std::int64_t kMostBinsKept = 5, kBinsOutOf = 6;

/// A bin while it is built: with time per operator for the heaviest three.
struct OpenBin {
    struct Slot {
        std::int32_t op = -1;
        std::int64_t time = 0;
    };
    std::int64_t index = 0, count = 0, busy = 0, longest = 0;
    std::array<Slot, 3> slots;

    void addTime(std::int32_t op, std::int64_t time)
    {
        Slot* least = &slots[0];
        for (Slot& slot : slots) {
            if (slot.op == op) {
                slot.time += time;
                return;
            }
            if (slot.time < least->time || (slot.time == least->time && slot.op == -1 && least->op != -1))
                least = &slot;
        }
        // SpaceSaving (Metwally et al. 2005): the newcomer inherits the least slot's time, so that an operator with
        // more than a third of the time is always among the three.
        if (least->op == -1)
            *least = {op, time};
        else
            *least = {op, least->time + time};
    }

    void merge(const OpenBin& other)
    {
        count += other.count;
        busy += other.busy;
        longest = std::max(longest, other.longest);
        for (const Slot& slot : other.slots)
            if (slot.op >= 0) addTime(slot.op, slot.time);
    }

    Bin closed() const
    {
        const Slot* most = &slots[0];
        for (const Slot& slot : slots)
            if (slot.op >= 0 && (slot.time > most->time || most->op < 0)) most = &slot;
        return {index, count, busy, longest, most->op};
    }
};

/// The bins of one level by time, pulled from the level below and the slices of the class below.
class Level {
public:
    Level(int level, Level* below, ChunkStore& store, const SliceStream& stream)
        : m_level(level)
        , m_below(below)
        , m_slices(store, stream)
    {
        if (m_below) m_hasBelow = m_below->next(m_fromBelow);
    }

    void setVisit(std::function<void(int, const Bin&)> visit) { m_visit = std::move(visit); }

    /// The next bin of this level; false at the end.
    bool next(OpenBin& bin)
    {
        // Inputs come by their (first) bin; everything before the next input's bin is final.
        while (true) {
            const std::int64_t belowBin = m_hasBelow ? m_fromBelow.index >> 2 : kNever;
            const SliceRow* slice = m_slices.get();
            const std::int64_t sliceBin = slice ? binOf(slice->start, m_level) : kNever;
            const std::int64_t input = std::min(belowBin, sliceBin);
            if (m_open > 0 && m_bins[0].index < input) {
                bin = m_bins[0];
                if (--m_open > 0) m_bins[0] = m_bins[1];
                if (m_visit) m_visit(m_level, bin.closed());
                return true;
            }
            if (input == kNever) return false;
            if (m_open == 0 && belowBin < sliceBin) {
                if (takeAlone(bin, belowBin)) return true;
            } else if (belowBin <= sliceBin) {
                at(belowBin).merge(m_fromBelow);
                m_hasBelow = m_below->next(m_fromBelow);
            } else {
                take(*slice, sliceBin);
                m_slices.next();
            }
        }
    }

private:
    static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

    /// Takes the bin from below. Whether it is the only one in the next bin here, which is then the same but for its index:
    /// in sparse traces nearly all are.
    bool takeAlone(OpenBin& bin, std::int64_t index)
    {
        bin = m_fromBelow;
        bin.index = index;
        m_hasBelow = m_below->next(m_fromBelow);
        if (m_hasBelow && m_fromBelow.index >> 2 == index) {
            m_bins[0] = bin;
            m_open = 1;
            return false;
        }
        if (m_visit) m_visit(m_level, bin.closed());
        return true;
    }

    /// The open bin of that index: at most two are open at a time, ascending.
    OpenBin& at(std::int64_t index)
    {
        for (int i = 0; i < m_open; ++i)
            if (m_bins[i].index == index) return m_bins[i];
        m_bins[m_open] = {};
        m_bins[m_open].index = index;
        return m_bins[m_open++];
    }

    void take(const SliceRow& slice, std::int64_t index)
    {
        const std::int64_t boundary = (index + 1) * levelWidth(m_level);
        const std::int64_t inFirst = std::min(slice.end(), boundary) - slice.start;
        OpenBin& first = at(index);
        ++first.count;
        first.busy += inFirst;
        first.longest = std::max(first.longest, slice.duration);
        first.addTime(slice.op, inFirst);
        if (slice.end() <= boundary) return;
        OpenBin& second = at(index + 1);
        second.busy += slice.end() - boundary;
        second.longest = std::max(second.longest, slice.duration);
        second.addTime(slice.op, slice.end() - boundary);
    }

    int m_level;
    Level* m_below;
    SliceCursor m_slices;
    OpenBin m_fromBelow;
    bool m_hasBelow = false;
    std::array<OpenBin, 3> m_bins; ///< two, and room to shift
    int m_open = 0;
    std::function<void(int, const Bin&)> m_visit;
};

} // namespace

void LevelCounter::add(std::int64_t start, std::int64_t duration)
{
    const int own = durationClass(duration);
    ++m_slices[static_cast<std::size_t>(own)];
    const std::int64_t last = start + std::max<std::int64_t>(duration, 1) - 1;
    for (int level = own + 1; level <= kClassCount; ++level) {
        const auto i = static_cast<std::size_t>(level);
        const std::int64_t from = binOf(start, level), to = binOf(last, level);
        if (m_bins[i] > 0 && to <= m_last[i]) return; // then it is so on every level above, too
        m_bins[i] += m_bins[i] > 0 && from <= m_last[i] ? to - m_last[i] : to - from + 1;
        m_last[i] = to;
    }
}

std::optional<LevelCounter::Levels> LevelCounter::levels() const
{
    std::int64_t below = 0;
    std::optional<Levels> found;
    for (int level = 1; level <= kClassCount; ++level) {
        const auto i = static_cast<std::size_t>(level);
        below += m_slices[i - 1];
        if (!found && below >= kFewSlices && m_bins[i] * kBinsOutOf <= below * kMostBinsKept)
            found = Levels{level, level};
        if (!found) continue;
        found->top = level;
        if (m_bins[i] <= kBinsAtTop) break;
    }
    return found;
}

void buildBins(ChunkStore& store, const std::array<SliceStream, kClassCount>& byClass, LevelCounter::Levels levels,
               const std::function<void(int level, const Bin& bin)>& visit)
{
    std::vector<std::unique_ptr<Level>> cascade;
    for (int level = 1; level <= levels.top; ++level) {
        Level* below = cascade.empty() ? nullptr : cascade.back().get();
        if (below && level - 1 >= levels.finest) below->setVisit(visit);
        // A level pulls its first input when it is made, so the one below must be complete by then.
        cascade.push_back(std::make_unique<Level>(level, below, store, byClass[static_cast<std::size_t>(level - 1)]));
    }
    cascade.back()->setVisit(visit);
    OpenBin bin;
    while (cascade.back()->next(bin)) {
    }
}

void encodeTile(std::string& out, std::int64_t tile, const std::vector<Bin>& bins)
{
    std::int64_t next = tile * kBinsPerTile;
    std::int64_t op = 0;
    for (const Bin& bin : bins) {
        char bytes[5 * kLongestVarint];
        char* end = putVarint(bytes, static_cast<std::uint64_t>(bin.index - next));
        end = putVarint(end, static_cast<std::uint64_t>(bin.count));
        end = putVarint(end, static_cast<std::uint64_t>(bin.busy));
        end = putVarint(end, static_cast<std::uint64_t>(bin.longest));
        end = putVarint(end, zigzag(bin.op - op));
        out.append(bytes, static_cast<std::size_t>(end - bytes));
        next = bin.index + 1;
        op = bin.op;
    }
}

bool decodeTile(std::string_view bytes, std::int64_t tile, int level, std::vector<Bin>& bins)
{
    const std::int64_t end = (tile + 1) * kBinsPerTile;
    std::int64_t next = tile * kBinsPerTile;
    std::int64_t op = 0;
    Decoder in(bytes);
    while (!in.atEnd()) {
        Bin bin;
        const std::int64_t gap = in.bounded(kBinsPerTile);
        bin.index = next + gap;
        bin.count = in.bounded(std::numeric_limits<std::int64_t>::max());
        bin.busy = in.bounded(levelWidth(level));
        bin.longest = in.bounded(levelWidth(level));
        op = wrappingAdd(op, in.signedVarint());
        if (!in.ok() || bin.index >= end || op < 0 || op > std::numeric_limits<std::int32_t>::max()) return false;
        bin.op = static_cast<std::int32_t>(op);
        bins.push_back(bin);
        next = bin.index + 1;
    }
    return in.ok();
}

void SliceBinWriter::add(int level, const Bin& bin)
{
    std::vector<Bin>& open = m_open[static_cast<std::size_t>(level)];
    if (!open.empty() && tileOf(open.front().index) != tileOf(bin.index)) flush(level);
    open.push_back(bin);
}

void SliceBinWriter::flush(int level)
{
    std::vector<Bin>& open = m_open[static_cast<std::size_t>(level)];
    if (open.empty()) return;
    const std::int64_t tile = tileOf(open.front().index);
    m_bytes.clear();
    encodeTile(m_bytes, tile, open);
    m_out.put(Table::SliceBin, {m_nextId++, m_track, m_lane, level, tile, Value::blob(m_bytes)});
    open.clear();
}

void SliceBinWriter::finish()
{
    for (int level = 0; level <= kClassCount; ++level) flush(level);
}

} // namespace fourwalls::store
