// SPDX-License-Identifier: Apache-2.0
// Reading the records out of the pickle as they are completed, and the figures of a snapshot.
#include "model/import/snapshot/memory_snapshot.h"

#include "model/import/common/import_format.h"
#include "model/import/common/memory_categories.h"
#include "model/import/snapshot/pickle_reader.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace fourwalls::importers {

namespace {

using Kind = PickleValue::Kind;

constexpr std::int64_t kLastTimeUs = kLargestTimeNs / 1000;

constexpr std::array<std::pair<std::string_view, SnapshotAction>, 9> kActions{
    {{"alloc", SnapshotAction::Alloc},
     {"free_requested", SnapshotAction::FreeRequested},
     {"free_completed", SnapshotAction::FreeCompleted},
     {"segment_alloc", SnapshotAction::SegmentAlloc},
     {"segment_free", SnapshotAction::SegmentFree},
     {"segment_map", SnapshotAction::SegmentMap},
     {"segment_unmap", SnapshotAction::SegmentUnmap},
     {"snapshot", SnapshotAction::Snapshot},
     {"oom", SnapshotAction::OutOfMemory}}};

std::int64_t bytesOf(const PickleValue& value)
{
    return value.kind == Kind::Int ? std::clamp<std::int64_t>(value.integer, 0, kMostBufferBytes) : 0;
}
std::int64_t integerOr(const PickleValue& value, std::int64_t fallback)
{
    return value.kind == Kind::Int ? value.integer : fallback;
}

/// Turns records into plain structures as soon as the pickle has them complete, and lets go of the originals.
class SnapshotReducer {
public:
    explicit SnapshotReducer(MemorySnapshot& snapshot) : m_snapshot(snapshot) {}

    void operator()(Pickle& pickle, PickleValue& item)
    {
        const PickleValue action = pickle.get(item, "action");
        if (action.kind == Kind::Text) return entry(pickle, item, action);
        if (pickle.get(item, "total_size").kind == Kind::Int) return segment(pickle, item);
        if (pickle.get(item, "state").kind == Kind::Text) return block(pickle, item);
        call(pickle, item);
    }

private:
    void entry(Pickle& pickle, PickleValue& item, const PickleValue& action)
    {
        SnapshotEntry made;
        const std::string_view name = pickle.text(action);
        for (const auto& [text, value] : kActions)
            if (text == name) made.action = value;
        if (m_snapshot.actions.size() < 100 || m_snapshot.actions.count(std::string(name)) > 0)
            ++m_snapshot.actions[std::string(name.substr(0, 64))];
        made.address = made.action == SnapshotAction::OutOfMemory ? integerOr(pickle.get(item, "device_free"), -1)
                                                                  : integerOr(pickle.get(item, "addr"), 0);
        made.size = bytesOf(pickle.get(item, "size"));
        made.stream = integerOr(pickle.get(item, "stream"), 0);
        const std::int64_t time = integerOr(pickle.get(item, "time_us"), -1);
        made.timeUs = time >= 0 && time <= kLastTimeUs ? time : -1;
        made.frame = frame(pickle, pickle.get(item, "frames"));
        replace(pickle, item, {Kind::Run, 1, static_cast<std::int64_t>(m_snapshot.entries->list.size())});
        m_snapshot.entries->list.push_back(made);
    }

    void block(Pickle& pickle, PickleValue& item)
    {
        SnapshotBlock made;
        made.address = integerOr(pickle.get(item, "address"), -1);
        made.size = bytesOf(pickle.get(item, "size"));
        made.requested = pickle.get(item, "requested_size").kind == Kind::Int
                             ? bytesOf(pickle.get(item, "requested_size"))
                             : made.size;
        const std::string_view state = pickle.text(pickle.get(item, "state"));
        made.inactive = state == "inactive";
        made.awaited = state == "active_awaiting_free" || state == "active_pending_free";
        made.frame = frame(pickle, pickle.get(item, "frames"));
        replace(pickle, item, {Kind::Int, kBlockMark, static_cast<std::int64_t>(m_blocks.size())});
        m_blocks.push_back(made);
    }

    void segment(Pickle& pickle, PickleValue& item)
    {
        SnapshotSegment made;
        made.device = std::clamp<std::int64_t>(integerOr(pickle.get(item, "device"), 0), 0, 1 << 16);
        made.address = integerOr(pickle.get(item, "address"), 0);
        made.stream = integerOr(pickle.get(item, "stream"), 0);
        made.total = bytesOf(pickle.get(item, "total_size"));
        made.allocated = bytesOf(pickle.get(item, "allocated_size"));
        made.active = bytesOf(pickle.get(item, "active_size"));
        made.requested = bytesOf(pickle.get(item, "requested_size"));
        made.expandable =
            integerOr(pickle.get(item, "is_expandable"), 0) != 0 || pickle.get(item, "is_expandable").index == 1;
        const PickleValue type = pickle.get(item, "segment_type");
        made.small =
            type.kind == Kind::Text ? pickle.text(type) == "small" : isSmallSegment(made.total, made.expandable);
        for (const PickleValue& id : pickle.list(pickle.get(item, "segment_pool_id")))
            made.privatePool = made.privatePool || integerOr(id, 0) != 0;
        const PickleValue blocks = pickle.get(item, "blocks");
        std::int64_t address = made.address;
        for (const PickleValue& value : pickle.list(blocks)) {
            if (value.kind != Kind::Int || value.index != kBlockMark) {
                ++m_snapshot.unreadable;
                continue;
            }
            SnapshotBlock each = m_blocks[static_cast<std::size_t>(value.integer)];
            // Blocks tile the segment; older files do not say where each begins.
            if (each.address < 0) each.address = address;
            address = each.address + each.size;
            made.blocks.push_back(each);
        }
        pickle.release(blocks);
        replace(pickle, item, {});
        m_snapshot.segments.push_back(std::move(made));
    }

    static void replace(Pickle& pickle, PickleValue& item, PickleValue by)
    {
        pickle.release(item, by);
        item = by;
    }

    /// A frame, or one that the same list named before.
    void call(Pickle& pickle, PickleValue& item)
    {
        const PickleValue known = pickle.resolve(item);
        if (known.kind == Kind::Int && known.index == kCallMark) {
            item = known;
            return;
        }
        const PickleValue file = pickle.get(item, "filename");
        if (file.kind != Kind::Text) return;
        const std::int32_t id = m_snapshot.stacks.call(
            pickle.text(pickle.get(item, "name")).substr(0, kLongestFrameText),
            pickle.text(file).substr(0, kLongestFrameText), integerOr(pickle.get(item, "line"), 0));
        replace(pickle, item, {Kind::Int, kCallMark, id});
    }

    /// A list of frames is replaced by its stack, for the records that share it.
    std::int32_t frame(Pickle& pickle, const PickleValue& given)
    {
        const PickleValue frames = pickle.resolve(given);
        if (frames.kind == Kind::Int && frames.index == kFrameMark) return static_cast<std::int32_t>(frames.integer);
        m_calls.clear();
        for (const PickleValue& value : pickle.list(frames))
            if (value.kind == Kind::Int && value.index == kCallMark && m_calls.size() < kDeepestStack)
                m_calls.push_back(static_cast<std::int32_t>(value.integer));
        const std::int32_t stack = m_snapshot.stacks.stack(m_calls);
        pickle.release(frames, {Kind::Int, kFrameMark, stack});
        return stack;
    }

public:
    /// Marks of integers that stand for a record; those of the file have 0 there.
    static constexpr std::uint32_t kBlockMark = 1, kFrameMark = 2, kCallMark = 3;
    static constexpr std::size_t kLongestFrameText = 4000, kDeepestStack = 1000;

private:
    MemorySnapshot& m_snapshot;
    std::vector<SnapshotBlock> m_blocks;
    std::vector<std::int32_t> m_calls;
};

} // namespace

void SnapshotHistory::append(std::size_t first, std::size_t count)
{
    if (m_runs.empty() || m_runs.back().first + (m_size - m_runs.back().begin) != first)
        m_runs.push_back({m_size, first});
    m_size += count;
}

SnapshotEntry SnapshotHistory::operator[](std::size_t index) const
{
    const auto behind = std::upper_bound(m_runs.begin(), m_runs.end(), index,
                                         [](std::size_t at, const Run& run) { return at < run.begin; });
    const Run& run = *std::prev(behind);
    return m_entries->list[run.first + (index - run.begin)];
}

Result<MemorySnapshot> readMemorySnapshot(const std::string& path, std::stop_token stop,
                                          const std::string& scratchFolder)
{
    MemorySnapshot snapshot;
    snapshot.entries = std::make_unique<SnapshotEntries>(scratchFolder);
    SnapshotReducer reducer(snapshot);
    const PickleReduce reduce = [&reducer](Pickle& pickle, PickleValue& item) { reducer(pickle, item); };
    const Result<Pickle> read = readPickle(path, reduce, stop, scratchFolder);
    if (!read && read.error().code == ErrorCode::Format)
        return Error{ErrorCode::Format, "no memory snapshot that can be read: " + read.error().what, path,
                     "record it again with torch.cuda.memory._dump_snapshot"};
    if (!read) return read.error();
    const Pickle& pickle = *read;
    snapshot.damage = pickle.damage();
    const PickleValue traces = pickle.get(pickle.root(), "device_traces");
    // torch.cuda.memory_snapshot() gives the list of segments alone.
    const bool segmentsOnly = pickle.root().kind == Kind::List && !snapshot.segments.empty();
    if (pickle.get(pickle.root(), "pg_config").kind == Kind::Dict ||
        pickle.get(pickle.root(), "entries").kind == Kind::List)
        return flightRecorderDump(path);
    if (!segmentsOnly && (pickle.root().kind != Kind::Dict || pickle.get(pickle.root(), "segments").kind != Kind::List))
        return Error{ErrorCode::Unsupported, "a Python pickle, but no memory snapshot", path,
                     "give the file that torch.cuda.memory._dump_snapshot wrote"};
    std::vector<bool> used(snapshot.entries->list.size());
    for (const PickleValue& device : pickle.list(traces)) {
        if (snapshot.history.size() >= 4096) break;
        SnapshotHistory& history = snapshot.history.emplace_back(*snapshot.entries);
        for (const PickleValue& value : pickle.list(device)) {
            if (value.kind != Kind::Run) {
                ++snapshot.unreadable;
                continue;
            }
            for (std::uint32_t i = 0; i < value.index; ++i) {
                const std::size_t index = static_cast<std::size_t>(value.integer) + i;
                if (index >= used.size() || used[index]) {
                    ++snapshot.unreadable;
                    continue;
                }
                used[index] = true;
                history.append(index, 1);
            }
        }
    }
    for (const PickleValue& value : pickle.list(pickle.get(pickle.root(), "external_annotations"))) {
        const std::int64_t time = integerOr(pickle.get(value, "time_us"), -1);
        if (time < 0 || time > kLastTimeUs) {
            ++snapshot.unreadable;
            continue;
        }
        snapshot.annotations.push_back({std::string(pickle.text(pickle.get(value, "name")).substr(0, 200)),
                                        integerOr(pickle.get(value, "device"), 0), time,
                                        pickle.text(pickle.get(value, "stage")) == "START"});
    }
    FOURWALLS_TRY(snapshot.entries->chunks.status());
    return snapshot;
}

bool isSmallSegment(std::int64_t bytes, bool expandable)
{
    constexpr std::int64_t kSmallBuffer = std::int64_t{2} << 20, kLargeBuffer = std::int64_t{20} << 20;
    return expandable ? bytes % kLargeBuffer != 0 : bytes == kSmallBuffer;
}

SnapshotWalk walkBack(const MemorySnapshot& snapshot, std::size_t device)
{
    SnapshotWalk walk;
    for (const SnapshotSegment& segment : snapshot.segments) {
        if (static_cast<std::size_t>(segment.device) != device) continue;
        walk.reservedAtStart += segment.total;
        for (const SnapshotBlock& block : segment.blocks)
            if (!block.inactive) walk.requestedAtStart += block.requested;
    }
    walk.peakRequested = walk.requestedAtStart;
    walk.peakReserved = walk.reservedAtStart;
    if (device >= snapshot.history.size()) return walk;
    const auto& history = snapshot.history[device];
    for (std::size_t i = history.size(); i-- > 0;) {
        const SnapshotEntry entry = history[i];
        switch (entry.action) {
        case SnapshotAction::Alloc: walk.requestedAtStart -= entry.size; break;
        case SnapshotAction::FreeCompleted: walk.requestedAtStart += entry.size; break;
        case SnapshotAction::SegmentAlloc:
        case SnapshotAction::SegmentMap: walk.reservedAtStart -= entry.size; break;
        case SnapshotAction::SegmentFree:
        case SnapshotAction::SegmentUnmap: walk.reservedAtStart += entry.size; break;
        default: break;
        }
        walk.peakRequested = std::max(walk.peakRequested, walk.requestedAtStart);
        walk.peakReserved = std::max(walk.peakReserved, walk.reservedAtStart);
    }
    return walk;
}

TraceFacts snapshotFacts(const MemorySnapshot& snapshot)
{
    TraceFacts facts;
    facts.memSegments = static_cast<std::int64_t>(snapshot.segments.size());
    facts.memBlocks = 0;
    facts.memTraceEntries = 0;
    facts.memReservedBytes = 0;
    facts.memActiveRequestedBytes = 0;
    facts.memPeakRequestedBytes = 0;
    facts.memPeakReservedBytes = 0;
    std::size_t devices = snapshot.history.size();
    std::set<std::int64_t> streams;
    for (const SnapshotSegment& segment : snapshot.segments) {
        devices = std::max(devices, static_cast<std::size_t>(segment.device) + 1);
        *facts.memBlocks += static_cast<std::int64_t>(segment.blocks.size());
        *facts.memReservedBytes += segment.total;
        streams.insert(segment.stream);
        for (const SnapshotBlock& block : segment.blocks)
            if (!block.inactive) *facts.memActiveRequestedBytes += block.requested;
    }
    std::optional<std::int64_t> first, last;
    for (const auto& history : snapshot.history) {
        *facts.memTraceEntries += static_cast<std::int64_t>(history.size());
        for (std::size_t i = 0; i < history.size(); ++i) {
            const SnapshotEntry entry = history[i];
            streams.insert(entry.stream);
            if (entry.timeUs < 0) continue;
            first = first ? std::min(*first, entry.timeUs) : entry.timeUs;
            last = last ? std::max(*last, entry.timeUs) : entry.timeUs;
        }
    }
    for (std::size_t device = 0; device < devices; ++device) {
        const SnapshotWalk walk = walkBack(snapshot, device);
        *facts.memPeakRequestedBytes += walk.peakRequested;
        *facts.memPeakReservedBytes += walk.peakReserved;
    }
    facts.streams = static_cast<std::int64_t>(streams.size());
    if (first) {
        facts.spanNs = (*last - *first) * 1000;
        facts.firstEventNs = *first * 1000;
    }
    facts.memActions = snapshot.actions;
    return facts;
}

} // namespace fourwalls::importers
