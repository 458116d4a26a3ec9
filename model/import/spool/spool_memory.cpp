// SPDX-License-Identifier: Apache-2.0
// Buffers replayed by address; samples against what was held at their time.
#include "model/import/spool/spool_memory.h"

#include "model/trace/audit_counter.h"
#include "model/trace/lowered_clocks.h"
#include "model/trace/saturating_sum.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

namespace fourwalls::importers {

SpoolMemoryWriter::SpoolMemoryWriter(const SpoolTables& tables, TraceSink& sink, TraceProducer& producer, RankId rank,
                                     std::int64_t shiftNs, std::int64_t firstId)
    : m_tables(tables)
    , m_sink(sink)
    , m_producer(producer)
    , m_rank(rank)
    , m_shiftNs(shiftNs)
    , m_nextId(firstId)
{}

bool SpoolMemoryWriter::inRange(std::int64_t at) const
{
    return at > 0 && at + m_shiftNs >= -kLargestTimeNs && at + m_shiftNs <= kLargestTimeNs;
}

void SpoolMemoryWriter::count(std::optional<CounterId>& id, const char* name, CounterUnit unit, std::int64_t at,
                              double value)
{
    if (!inRange(at)) return;
    if (!id) id = m_sink.defineCounter({m_rank, name + m_tables.suffix, unit});
    m_producer.counter({*id, Instant{at + m_shiftNs}, value});
}

/// Closed ranges of NCCL's own domain by lane: what is allocated inside them is NCCL's.
std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> SpoolMemoryWriter::rangesOfNccl() const
{
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> byLane(m_tables.lanes.size());
    for (const SpoolRange& range : m_tables.ranges) {
        const auto domain = m_tables.domains.find(range.domain);
        if (domain == m_tables.domains.end() || domain->second != "NCCL" || range.lane < 0) continue;
        if (static_cast<std::size_t>(range.lane) < byLane.size())
            byLane[static_cast<std::size_t>(range.lane)].emplace_back(range.begin, range.end);
    }
    for (auto& ranges : byLane) {
        std::sort(ranges.begin(), ranges.end());
        // Only outermost ones, so that one look behind the last begin suffices.
        std::vector<std::pair<std::int64_t, std::int64_t>> outer;
        for (const auto& range : ranges)
            if (outer.empty() || range.second > outer.back().second) outer.push_back(range);
        ranges = std::move(outer);
    }
    return byLane;
}

std::int64_t SpoolMemoryWriter::writeBuffers()
{
    const auto ncclRanges = rangesOfNccl();
    const auto isNccl = [&](std::uint32_t correlation) {
        const std::optional<Launch> launch = correlation != 0 ? m_tables.links.find(correlation) : std::nullopt;
        if (!launch || launch->lane < 0 || static_cast<std::size_t>(launch->lane) >= ncclRanges.size()) return false;
        const auto& ranges = ncclRanges[static_cast<std::size_t>(launch->lane)];
        const auto behind = std::upper_bound(ranges.begin(), ranges.end(), std::pair(launch->at, INT64_MAX));
        return behind != ranges.begin() && std::prev(behind)->second >= launch->at;
    };
    OpId ops[2][3];
    const char* const names[] = {"cudaMalloc", "cudaMallocAsync", "cuMemCreate"};
    const auto opOf = [&](const SpoolMemory& memory, bool nccl) {
        const int which = memory.physical ? 2 : memory.fromPool ? 1 : 0;
        OpId& id = ops[nccl ? 1 : 0][which];
        if (m_definedOps.insert((nccl ? 3 : 0) + which).second) {
            OpInfo info;
            info.name = nccl ? std::string("NCCL: ") + names[which] : names[which];
            info.kind = SliceKind::HostCall;
            id = m_sink.defineOp(info);
        }
        return id;
    };
    std::vector<SpoolMemory> sorted = m_tables.memory;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const SpoolMemory& a, const SpoolMemory& b) { return a.time < b.time; });
    struct Live {
        AllocationId id;
        std::int64_t bytes;
        std::uint32_t device;
    };
    std::unordered_map<std::uint64_t, Live> live[2]; // by address; by handle
    std::map<std::uint32_t, std::int64_t> now;
    const auto allocate = [&](const SpoolMemory& memory, std::int64_t at) {
        AllocationRecord record;
        record.id = AllocationId{m_nextId++};
        record.at = Instant{at + m_shiftNs};
        record.bytes = memory.bytes;
        record.address = static_cast<std::int64_t>(memory.key & 0x7fffffffffffffff);
        const bool nccl = isNccl(memory.correlation);
        record.category = nccl ? MemoryCategory::CommBuffers : MemoryCategory::Other;
        record.op = opOf(memory, nccl);
        m_producer.allocated(m_rank, record);
        live[memory.physical ? 1 : 0][memory.key] = {record.id, memory.bytes, memory.device};
        ++m_buffers;
    };
    // What is freed without having been allocated was there from the start.
    std::unordered_map<std::uint64_t, bool> seen[2];
    for (const SpoolMemory& memory : sorted) {
        if (!inRange(memory.time)) continue;
        const auto [found, isNew] = seen[memory.physical ? 1 : 0].try_emplace(memory.key, memory.allocates);
        if (!isNew || memory.allocates || memory.bytes <= 0) continue;
        allocate(memory, std::max<std::int64_t>(1, m_tables.firstNs));
        addTo(now[memory.device], memory.bytes);
        ++m_beforeWindow;
    }
    for (const auto& [device, bytes] : now) m_held[device].push_back({m_tables.firstNs, bytes});
    const auto level = [&](std::uint32_t device, std::int64_t at) {
        m_held[device].push_back({at, now[device]});
        if (device == m_tables.mainDevice()) m_peakHeld = std::max(m_peakHeld, now[device]);
    };
    for (const SpoolMemory& memory : sorted) {
        if (!inRange(memory.time)) continue;
        auto& alive = live[memory.physical ? 1 : 0];
        const auto found = alive.find(memory.key);
        if (found != alive.end()) {
            m_producer.freed(m_rank, found->second.id, Instant{memory.time + m_shiftNs});
            addTo(now[found->second.device], -found->second.bytes);
            level(found->second.device, memory.time);
            alive.erase(found);
            if (memory.allocates) ++m_again;
        }
        if (!memory.allocates || memory.bytes <= 0) continue;
        allocate(memory, memory.time);
        addTo(now[memory.device], memory.bytes);
        level(memory.device, memory.time);
    }
    // The curve as a counter, too: it stays where a framework's own buffers take the place of these.
    for (const Level& each : m_held[m_tables.mainDevice()])
        count(m_allocated, "cuda_allocated_bytes", CounterUnit::Bytes, each.at, static_cast<double>(each.bytes));
    return m_nextId;
}

std::int64_t SpoolMemoryWriter::heldAt(std::uint32_t device, std::int64_t at) const
{
    const auto found = m_held.find(device);
    if (found == m_held.end()) return 0;
    const auto behind = std::upper_bound(found->second.begin(), found->second.end(), at,
                                         [](std::int64_t time, const Level& level) { return time < level.at; });
    return behind == found->second.begin() ? 0 : std::prev(behind)->bytes;
}

void SpoolMemoryWriter::used(std::uint32_t device, std::int64_t at, std::int64_t bytes, bool ofProcess)
{
    // The collector's own buffers are no part of what the job needs.
    const auto own = m_own.find(device);
    const std::int64_t ofJob = std::max<std::int64_t>(0, bytes - (own == m_own.end() ? 0 : own->second));
    count(ofProcess ? m_process : m_used, ofProcess ? "process_used_bytes" : "device_used_bytes", CounterUnit::Bytes,
          at, static_cast<double>(ofJob));
    if (!ofProcess && m_tables.processMemory) return; // the device's other users are no gap of this process
    m_peakUsed = std::max(m_peakUsed, ofJob);
    const std::int64_t gap = std::max<std::int64_t>(0, ofJob - heldAt(device, at));
    count(m_gap, "memory_gap_bytes", CounterUnit::Bytes, at, static_cast<double>(gap));
    m_largestGap = std::max(m_largestGap, gap);
}

void SpoolMemoryWriter::sample(const collect::NvmlSample& sample)
{
    const auto time = spoolTime(sample.time);
    const std::uint32_t device = m_tables.mainDevice();
    const auto known = m_tables.devices.find(device);
    // Of a MIG instance, NVML may name the instance or its card, and CUPTI before CUDA 13.3 has the instance's name wrong.
    // A process sees one instance only.
    const auto isThis = [&](const collect::Device& each) {
        return std::memcmp(each.uuid, sample.uuid, sizeof sample.uuid) == 0 ||
               std::memcmp(each.migUuid, sample.uuid, sizeof sample.uuid) == 0 ||
               (each.migEnabled != 0 && m_tables.devices.size() == 1);
    };
    if (!time || (known != m_tables.devices.end() && !isThis(known->second))) return;
    const auto has = [&](std::uint32_t bit) { return (sample.valid & bit) != 0; };
    if (has(collect::kNvmlProcessMemory) && sample.processMemory < kMostMemoryBytes)
        used(device, *time, static_cast<std::int64_t>(sample.processMemory), true);
    else if (has(collect::kNvmlMemory) && sample.memoryUsed < kMostMemoryBytes)
        used(device, *time, static_cast<std::int64_t>(sample.memoryUsed), false);
    if (has(collect::kNvmlSmClock))
        count(m_smClock, kClockCounter.data(), CounterUnit::Hertz, *time, sample.smClockMhz * 1e6);
    if (has(collect::kNvmlMemoryClock))
        count(m_memoryClock, "memory_clock", CounterUnit::Hertz, *time, sample.memoryClockMhz * 1e6);
    if (has(collect::kNvmlPower)) count(m_power, "power", CounterUnit::Watt, *time, sample.powerMilliwatt * 1e-3);
    if (has(collect::kNvmlTemperature))
        count(m_temperature, "temperature", CounterUnit::Celsius, *time, sample.temperatureC);
    if (has(collect::kNvmlUtilization))
        count(m_utilization, "gpu_utilization", CounterUnit::Percent, *time, sample.utilizationPercent);
    if (!has(collect::kNvmlThrottle)) return;
    const std::uint64_t costly = costlyClockReasons(sample.throttleReasons);
    count(m_throttle, kClockReasonsCounter.data(), CounterUnit::None, *time, static_cast<double>(costly));
    if (costly != 0) ++m_throttled;
    if (costly != m_lastThrottle && inRange(*time)) {
        const std::string text =
            costly != 0 ? "clocks lowered: " + clockReasonsText(costly) : "clocks no longer lowered";
        m_producer.event({EventKind::Annotation, m_rank, Instant{*time + m_shiftNs}, text});
    }
    m_lastThrottle = costly;
}

void SpoolMemoryWriter::sample(const collect::MemoryInfo& info)
{
    const auto time = spoolTime(info.time);
    if (!time || info.device < 0 || info.totalBytes > kMostMemoryBytes || info.freeBytes > info.totalBytes ||
        info.ownBytes > info.totalBytes)
        return;
    const auto device = static_cast<std::uint32_t>(info.device);
    m_own[device] = static_cast<std::int64_t>(info.ownBytes);
    if (device == m_tables.mainDevice())
        used(device, *time, static_cast<std::int64_t>(info.totalBytes - info.freeBytes), false);
}

void SpoolMemoryWriter::finish()
{
    const std::string rank = std::to_string(m_rank.value);
    auditCount(m_sink, AuditCounter::MemoryPeakAllocated, m_peakHeld, {}, rank);
    auditCount(m_sink, AuditCounter::MemoryPeakUsed, m_peakUsed, {}, rank);
    auditCount(m_sink, AuditCounter::MemoryGap, m_largestGap, {}, rank);
    const auto own = m_own.find(m_tables.mainDevice());
    if (own != m_own.end()) auditCount(m_sink, AuditCounter::CollectorDeviceBytes, own->second, {}, rank);
    auditCount(m_sink, AuditCounter::ImportBuffers, m_buffers);
    auditCount(m_sink, AuditCounter::BuffersBeforeWindow, m_beforeWindow);
    auditCount(m_sink, AuditCounter::AllocatedTwice, m_again);
    auditCount(m_sink, AuditCounter::ClocksLoweredSamples, m_throttled);
}

} // namespace fourwalls::importers
