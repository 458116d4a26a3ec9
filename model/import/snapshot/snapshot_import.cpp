// SPDX-License-Identifier: Apache-2.0
// A PyTorch memory snapshot as a trace: buffers from what was alive before the history's first entry to what is alive at
// its end, reserved memory, out-of-memory moments and annotations.
#include "model/import/common/duration_pairs.h"
#include "model/import/common/file_rank.h"
#include "model/import/common/import_format.h"
#include "model/import/common/text_window.h"
#include "model/import/snapshot/memory_snapshot.h"
#include "model/import/snapshot/snapshot_allocator.h"
#include "model/import/snapshot/snapshot_lives.h"
#include "model/trace/allocator_map.h"
#include "model/trace/audit_counter.h"
#include "model/trace/memory_facts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace fourwalls::importers {

namespace {

struct SnapshotFile {
    std::string path;
    MemorySnapshot snapshot;
    RankId rank; ///< of device 0, or of the only device with anything in it
};

/// The operators of a file's stacks, each defined when a buffer needs it.
class StackOperators {
public:
    StackOperators(const SnapshotStacks& stacks, TraceSink& sink) : m_stacks(stacks), m_sink(sink), m_ops(stacks.size())
    {}

    OpId of(std::int32_t stack)
    {
        auto& op = m_ops[static_cast<std::size_t>(stack)];
        if (op) return *op;
        OpInfo info;
        info.name = m_stacks.name(stack);
        switch (m_stacks.role(stack)) {
        case StackRole::Optimizer: info.phase = Phase::Optimizer; break;
        case StackRole::Backward: info.phase = Phase::BackwardInput; break;
        case StackRole::Module: info.phase = m_stacks.inBackward(stack) ? Phase::Recompute : Phase::Forward; break;
        default: break;
        }
        if (m_written < kMostText)
            info.detail = m_stacks.text(stack, m_written < kMostText / 2 ? SnapshotStacks::Frames::All
                                                                         : SnapshotStacks::Frames::Python);
        else
            ++m_withoutFrames;
        m_written += info.detail.size();
        op = m_sink.defineOp(info);
        return *op;
    }
    OpId without(std::string_view name)
    {
        OpInfo info;
        info.name = std::string(name);
        return m_sink.defineOp(info);
    }
    void close() { auditCount(m_sink, AuditCounter::StacksWithoutFrames, m_withoutFrames); }

private:
    static constexpr std::size_t kMostText = std::size_t{32} << 20;
    const SnapshotStacks& m_stacks;
    TraceSink& m_sink;
    std::vector<std::optional<OpId>> m_ops;
    std::size_t m_written = 0;
    std::int64_t m_withoutFrames = 0;
};

/// One device of one file, written as one rank.
class DeviceWriter {
public:
    DeviceWriter(const MemorySnapshot& snapshot, std::size_t device, RankId rank, std::int64_t originNs,
                 TraceSink& sink, StackOperators& ops, AllocatorKept& kept)
        : m_snapshot(snapshot)
        , m_device(device)
        , m_rank(rank)
        , m_originNs(originNs)
        , m_sink(sink)
        , m_ops(ops)
        , m_purposes(purposesOf(snapshot, device))
        , m_producer(sink.openProducer())
        , m_reserved(sink.defineCounter({rank, "reserved_bytes", CounterUnit::Bytes}))
        , m_largestFree(sink.defineCounter({rank, std::string(kLargestFreeCounter), CounterUnit::Bytes}))
        , m_allocator(
              snapshot, device, rank, [this](std::size_t index) { return at(index); }, kept)
    {
        if (device < snapshot.history.size()) m_history = &snapshot.history[device];
    }

    Status write(const std::stop_token& stop)
    {
        const SnapshotWalk walk = walkBack(m_snapshot, m_device);
        m_reservedNow = walk.reservedAtStart;
        m_producer->counter({m_reserved, at(0), static_cast<double>(std::max<std::int64_t>(0, m_reservedNow))});
        // With the sample at the end: what the history begins with.
        if (entries() > 0)
            m_producer->counter({m_sink.defineCounter({m_rank, "requested_bytes", CounterUnit::Bytes}), at(0),
                                 static_cast<double>(std::max<std::int64_t>(0, walk.requestedAtStart))});
        aliveAtStart();
        sampleLargestFree(at(0));
        for (std::size_t i = 0; i < entries(); ++i) {
            if (i % kEntriesBetweenLooks == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", "", ""};
            const SnapshotEntry each = (*m_history)[i];
            entry(each, at(each, i), i);
            sampleLargestFree(at(each, i));
        }
        m_producer.reset();
        m_allocator.end(m_sink);
        auditCount(m_sink, AuditCounter::FinalBlocksUnmatched, m_unmatched);
        state();
        return {};
    }

private:
    static constexpr std::size_t kEntriesBetweenLooks = 4096;
    struct Live {
        AllocationId id;
        std::int64_t bytes;
    };
    std::size_t entries() const { return m_history ? m_history->size() : 0; }

    /// Time of the i-th entry; one past the last is the end. Without times, entries are a microsecond apart.
    Instant at(std::size_t i) const
    {
        if (entries() == 0) return Instant{0};
        return at((*m_history)[std::min(i, entries() - 1)], i);
    }
    Instant at(const SnapshotEntry& entry, std::size_t i) const
    {
        return Instant{entry.timeUs >= 0 ? entry.timeUs * 1000 - m_originNs : static_cast<std::int64_t>(i) * 1000};
    }

    AllocationId allocate(std::int64_t address, std::int64_t bytes, std::int32_t stack, std::string_view unknown,
                          MemoryCategory category, Instant when)
    {
        AllocationRecord record;
        record.id = AllocationId{m_nextId++};
        record.at = when;
        record.bytes = bytes;
        record.address = std::max<std::int64_t>(0, address);
        record.category = category;
        record.op = stack >= 0 ? m_ops.of(stack) : m_ops.without(unknown);
        m_producer->allocated(m_rank, record);
        m_live[address] = {record.id, bytes};
        return record.id;
    }

    void sampleLargestFree(Instant when)
    {
        if (!m_allocator.knowsSegments() || m_largestFreeNow == m_allocator.largestHole()) return;
        m_largestFreeNow = m_allocator.largestHole();
        m_producer->counter({m_largestFree, when, static_cast<double>(*m_largestFreeNow)});
    }

    /// What the history frees without having allocated it, and what is alive at the end without being allocated in it.
    void aliveAtStart()
    {
        // Backwards, so that only what lives at one time is held.
        struct Freed {
            std::int64_t size;
            std::int32_t frame;
        };
        std::map<std::int64_t, Freed> before;                  // by address
        std::unordered_map<std::int64_t, SnapshotAction> last; // by address, of the blocks alive at the end
        const auto blocks = [this](const auto& visit) {
            for (const SnapshotSegment& segment : m_snapshot.segments)
                if (static_cast<std::size_t>(segment.device) == m_device)
                    for (const SnapshotBlock& block : segment.blocks)
                        if (!block.inactive) visit(block);
        };
        blocks([&](const SnapshotBlock& block) { last[block.address] = SnapshotAction::Other; });
        for (std::size_t i = entries(); i-- > 0;) {
            const SnapshotEntry each = (*m_history)[i];
            if (each.action == SnapshotAction::Alloc)
                before.erase(each.address);
            else if (each.action == SnapshotAction::FreeCompleted)
                before.insert_or_assign(each.address, Freed{each.size, each.frame});
            else
                continue;
            const auto found = last.find(each.address);
            if (found != last.end() && found->second == SnapshotAction::Other) found->second = each.action;
        }
        std::vector<SnapshotAllocator::Standing> standing;
        for (const auto& [address, freed] : before) {
            const auto purpose = m_purposes.before.find(address);
            const MemoryCategory category =
                purpose == m_purposes.before.end() ? MemoryCategory::Other : purpose->second;
            // Who frees a buffer is not who made it.
            const AllocationId id = allocate(address, freed.size, m_purposes.freesSayWho ? -1 : freed.frame,
                                             kBeforeHistory, category, at(0));
            standing.push_back({id, address, freed.size, std::nullopt});
        }
        blocks([&](const SnapshotBlock& block) {
            const SnapshotAction action = last[block.address];
            if (action == SnapshotAction::Alloc) return; // the history brings it
            if (action == SnapshotAction::FreeCompleted) ++m_unmatched;
            if (m_live.count(block.address) > 0) return;
            const AllocationId id = allocate(block.address, block.requested, block.frame, kBeforeHistory,
                                             purposeOfStack(m_snapshot.stacks, block.frame), at(0));
            standing.push_back({id, block.address, block.requested, block.size});
        });
        m_allocator.begin(std::move(standing));
    }

    void entry(const SnapshotEntry& each, Instant when, std::size_t i)
    {
        const auto reserve = [&](std::int64_t change) {
            m_reservedNow += change;
            m_producer->counter({m_reserved, when, static_cast<double>(std::max<std::int64_t>(0, m_reservedNow))});
        };
        switch (each.action) {
        case SnapshotAction::Alloc:
            release(each.address, when, i);
            m_allocator.taken(allocate(each.address, each.size, each.frame, kNoStack, m_purposes.of(i), when), each,
                              when);
            break;
        case SnapshotAction::FreeRequested: m_allocator.letGo(each, when, i); break;
        case SnapshotAction::FreeCompleted: release(each.address, when, i); break;
        case SnapshotAction::SegmentAlloc:
        case SnapshotAction::SegmentMap:
            m_allocator.segment(each, i);
            reserve(each.size);
            break;
        case SnapshotAction::SegmentFree:
        case SnapshotAction::SegmentUnmap:
            m_allocator.segment(each, i);
            reserve(-each.size);
            break;
        case SnapshotAction::OutOfMemory: {
            EventRecord event;
            event.kind = EventKind::OutOfMemory;
            event.rank = m_rank;
            event.at = when;
            OutOfMemory told;
            told.askedBytes = each.size;
            if (each.address >= 0) told.freeBytes = each.address;
            event.text = textOf(told);
            m_producer->event(event);
            break;
        }
        default: break;
        }
    }

    void release(std::int64_t address, Instant when, std::size_t index)
    {
        m_allocator.released(address, when, index);
        const auto found = m_live.find(address);
        if (found == m_live.end()) return;
        m_producer->freed(m_rank, found->second.id, when);
        m_live.erase(found);
    }

    /// Fragmentation at the end of the history, as counters with one sample.
    void state()
    {
        std::int64_t inactive = 0, rounded = 0, requested = 0, largestHole = 0;
        for (const SnapshotSegment& segment : m_snapshot.segments) {
            if (static_cast<std::size_t>(segment.device) != m_device) continue;
            for (const SnapshotBlock& block : segment.blocks) {
                if (block.inactive) {
                    inactive += block.size;
                    largestHole = std::max(largestHole, block.size);
                } else {
                    rounded += block.size;
                    requested += block.requested;
                }
            }
        }
        const auto producer = m_sink.openProducer();
        const auto sample = [&](const char* name, std::int64_t value) {
            producer->counter(
                {m_sink.defineCounter({m_rank, name, CounterUnit::Bytes}), at(entries()), static_cast<double>(value)});
        };
        sample("requested_bytes", requested);
        sample("allocated_bytes", rounded);
        sample("inactive_bytes", inactive);
        if (m_largestFreeNow != largestHole) sample(kLargestFreeCounter.data(), largestHole);
    }

    const MemorySnapshot& m_snapshot;
    std::size_t m_device;
    RankId m_rank;
    std::int64_t m_originNs;
    TraceSink& m_sink;
    StackOperators& m_ops;
    SnapshotPurposes m_purposes;
    std::unique_ptr<TraceProducer> m_producer;
    CounterId m_reserved, m_largestFree;
    SnapshotAllocator m_allocator;
    std::optional<std::int64_t> m_largestFreeNow;
    const SnapshotHistory* m_history = nullptr;
    std::unordered_map<std::int64_t, Live> m_live;
    std::int64_t m_reservedNow = 0, m_nextId = 1, m_unmatched = 0;
};

class SnapshotImport final : public TraceImport {
public:
    static Result<std::unique_ptr<TraceImport>> open(const std::vector<std::string>& paths,
                                                     const ImportOptions& options)
    {
        auto import = std::make_unique<SnapshotImport>();
        for (std::size_t i = 0; i < paths.size(); ++i) {
            SnapshotFile file;
            file.path = paths[i];
            auto snapshot = readMemorySnapshot(paths[i], options.stop, options.scratchFolder);
            if (leftOut(options, paths[i], snapshot)) continue;
            FOURWALLS_TRY_ASSIGN(file.snapshot, std::move(snapshot));
            file.rank = RankId{rankFromFileName(paths[i]).value_or(static_cast<int>(i))};
            import->m_files.push_back(std::move(file));
            if (options.progress)
                options.progress(0.5 * static_cast<double>(i + 1) / static_cast<double>(paths.size()));
        }
        if (import->m_files.empty()) return std::unique_ptr<TraceImport>();
        import->describe();
        return std::unique_ptr<TraceImport>(std::move(import));
    }

    const TraceHeader& header() const override { return m_header; }
    TraceClosing closing() const override { return m_closing; }

    Status write(TraceSink& sink, const ImportOptions& options) override
    {
        AllocatorKept kept;
        for (SnapshotFile& file : m_files) {
            if (options.stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", file.path, ""};
            MemorySnapshot& snapshot = file.snapshot;
            const auto devices = devicesOf(snapshot);
            StackOperators ops(snapshot.stacks, sink);
            for (const std::size_t device : devices) {
                DeviceWriter writer(snapshot, device, rankOf(file, device, devices), m_header.originUnixNs, sink, ops,
                                    kept);
                FOURWALLS_TRY(writer.write(options.stop));
                annotations(snapshot, device, devices, rankOf(file, device, devices), sink);
            }
            ops.close();
            if (!rankFromFileName(file.path))
                sink.audit(auditRecord(AuditCounter::RankUnknown, 1, "the file's name does not say which rank it is"));
            const TraceFacts facts = snapshotFacts(snapshot);
            sink.audit(auditRecord(AuditCounter::ImportEntries, *facts.memTraceEntries, "entries of the history"));
            sink.audit(auditRecord(AuditCounter::ImportBlocks, *facts.memBlocks));
            auditCount(sink, AuditCounter::SnapshotRecordsUnread, snapshot.unreadable);
            if (!snapshot.damage.empty()) sink.audit(damageRecord(snapshot.damage));
            if (m_files.size() == 1) sink.audit(toAudit(facts));
            FOURWALLS_TRY(snapshot.entries->chunks.status());
            snapshot = {}; // the finish needs the memory
        }
        kept.end(m_closing, sink);
        return {};
    }

private:
    /// Devices with anything in them; at least one.
    static std::vector<std::size_t> devicesOf(const MemorySnapshot& snapshot)
    {
        std::vector<std::size_t> devices;
        for (std::size_t i = 0; i < snapshot.history.size(); ++i)
            if (!snapshot.history[i].empty()) devices.push_back(i);
        for (const SnapshotSegment& segment : snapshot.segments)
            devices.push_back(static_cast<std::size_t>(segment.device));
        std::sort(devices.begin(), devices.end());
        devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
        if (devices.empty()) devices.push_back(0);
        return devices;
    }

    static RankId rankOf(const SnapshotFile& file, std::size_t device, const std::vector<std::size_t>& devices)
    {
        return devices.size() == 1 ? file.rank : RankId{file.rank.value + static_cast<int>(device)};
    }

    void describe()
    {
        m_header.source = TraceSource::Imported;
        m_header.clock = ClockKind::Wall;
        m_header.producer = "PyTorch memory snapshot";
        m_header.computeLabel = "none";
        m_header.communicationLabel = "none";
        std::optional<std::int64_t> first;
        for (const SnapshotFile& file : m_files) {
            const auto begin = snapshotFacts(file.snapshot).firstEventNs;
            if (begin) first = first ? std::min(*first, *begin) : *begin;
            const auto devices = devicesOf(file.snapshot);
            for (const std::size_t device : devices) {
                RankInfo info;
                info.rank = rankOf(file, device, devices);
                info.device = "device " + std::to_string(device);
                m_header.ranks.push_back(std::move(info));
            }
        }
        m_header.originUnixNs = first.value_or(0);
    }

    /// Those of the device; the first one also has those of devices with nothing else in the file.
    void annotations(const MemorySnapshot& snapshot, std::size_t device, const std::vector<std::size_t>& devices,
                     RankId rank, TraceSink& sink) const
    {
        if (snapshot.annotations.empty()) return;
        const TrackId track = sink.defineTrack({rank, TrackKind::Phases, "annotations", 0});
        const auto producer = sink.openProducer();
        DurationPairs pairs([&](const DurationPairs::Slice& slice) {
            SliceRecord record;
            record.track = track;
            record.op = slice.op;
            record.start = Instant{slice.begin};
            record.duration = Duration{slice.end - slice.begin};
            producer->slice(record);
        });
        std::int64_t last = 0;
        for (const SnapshotAnnotation& each : snapshot.annotations) {
            const auto named = static_cast<std::size_t>(each.device);
            const std::size_t owner =
                std::binary_search(devices.begin(), devices.end(), named) ? named : devices.front();
            if (owner != device) continue;
            const std::int64_t when = each.timeUs * 1000 - m_header.originUnixNs;
            last = std::max(last, when);
            const std::uint64_t key = std::hash<std::string>{}(each.name);
            OpInfo info;
            info.name = each.name;
            info.kind = SliceKind::Phase;
            if (each.name.compare(0, 10, "Optimizer.") == 0) info.phase = Phase::Optimizer;
            if (each.start)
                pairs.begin(key, 0, when, sink.defineOp(info));
            else
                pairs.end(key, when);
        }
        pairs.finish(last);
        auditCount(sink, AuditCounter::BeginWithoutEnd, pairs.beginsWithoutEnd(), "ended with the last annotation");
        auditCount(sink, AuditCounter::EndWithoutBegin, pairs.endsWithoutBegin());
    }

    std::vector<SnapshotFile> m_files;
    TraceHeader m_header;
    TraceClosing m_closing;
};

} // namespace

Result<std::unique_ptr<TraceImport>> openSnapshots(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return SnapshotImport::open(paths, options);
}

Result<TraceFacts> factsOfSnapshot(const std::string& path, const ImportOptions& options)
{
    FOURWALLS_TRY_ASSIGN(const MemorySnapshot snapshot, readMemorySnapshot(path, options.stop, options.scratchFolder));
    return snapshotFacts(snapshot);
}

} // namespace fourwalls::importers
