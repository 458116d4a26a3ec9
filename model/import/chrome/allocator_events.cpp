// SPDX-License-Identifier: Apache-2.0
// Replay in time order. What was allocated before the window is known from the first entry's total: frees without an
// allocation take their bytes from it, and the rest is one buffer that stays.
#include "model/import/chrome/allocator_events.h"

#include "model/import/common/decimal_time.h"
#include "model/import/common/memory_categories.h"
#include "model/trace/audit_counter.h"
#include "model/trace/memory_facts.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 20; ///< 48 MB; sorted within that
constexpr std::int64_t kMostTotal = std::int64_t{1} << 50;
/// Not said. Addresses of some accelerators have the highest bit, so that they are negative here.
constexpr std::int64_t kNoAddress = std::numeric_limits<std::int64_t>::min();

std::int64_t numberOr(const JsonToken& token, std::int64_t fallback)
{
    return token ? integerFromText(token.text).value_or(fallback) : fallback;
}

} // namespace

AllocatorEvents::AllocatorEvents(TraceSink& sink, TraceProducer& producer, RankId rank, bool cpuOnly,
                                 std::function<Instant(std::int64_t)> instant)
    : m_sink(sink)
    , m_producer(producer)
    , m_rank(rank)
    , m_cpuOnly(cpuOnly)
    , m_instant(std::move(instant))
{}

bool AllocatorEvents::add(const ChromeEvent& event, std::int64_t ts)
{
    const std::int64_t bytes = numberOr(event[ArgKey::Bytes], 0);
    if (!event[ArgKey::Bytes] || bytes > kMostBufferBytes || bytes < -kMostBufferBytes) return false;
    const std::int64_t device = numberOr(event[ArgKey::DeviceId], 0);
    Entry entry{ts,
                bytes,
                numberOr(event[ArgKey::Address], kNoAddress),
                numberOr(event[ArgKey::TotalAllocated], -1),
                numberOr(event[ArgKey::TotalReserved], -1),
                static_cast<std::int32_t>(std::clamp<std::int64_t>(device, -1, 1 << 20)),
                m_cpuOnly || numberOr(event[ArgKey::DeviceType], 1) != 0};
    if (entry.allocated > kMostTotal) entry.allocated = -1;
    if (entry.reserved > kMostTotal) entry.reserved = -1;
    m_entries.push_back(entry);
    if (m_entries.size() >= kMostEntries) replay();
    return true;
}

void AllocatorEvents::count(std::optional<CounterId>& id, const char* name, std::int64_t at, std::int64_t value)
{
    if (!id) id = m_sink.defineCounter({m_rank, name, CounterUnit::Bytes});
    m_producer.counter({*id, m_instant(at), static_cast<double>(value)});
}

void AllocatorEvents::allocate(const Entry& entry, std::int64_t at, std::int64_t bytes)
{
    AllocationRecord record;
    record.id = AllocationId{m_nextId++};
    record.at = m_instant(at);
    record.bytes = bytes;
    record.address = std::max<std::int64_t>(entry.address, 0);
    m_producer.allocated(m_rank, record);
    ++m_allocations;
    m_live[entry.device].insert_or_assign(entry.address, Live{bytes, record.id});
}

void AllocatorEvents::replay()
{
    std::stable_sort(m_entries.begin(), m_entries.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
    for (const Entry& entry : m_entries) {
        if (!m_first) m_first = entry.at;
        if (!entry.ofDevice) {
            if (entry.allocated >= 0) count(m_cpuAllocated, "cpu_allocated_bytes", entry.at, entry.allocated);
            continue;
        }
        if (entry.reserved >= (m_cpuOnly ? 1 : 0)) count(m_reserved, "reserved_bytes", entry.at, entry.reserved);
        if (entry.address == kNoAddress) {
            if (entry.allocated >= 0) {
                count(m_absolute, "device_allocated_bytes", entry.at, entry.allocated);
                continue;
            }
            // The form of 2021 has neither addresses nor totals: only the sum since the window began is known.
            m_sum = std::clamp(m_sum + entry.bytes, -kMostTotal, kMostTotal);
            count(m_allocated, "allocated_bytes_since_start", entry.at, m_sum);
            continue;
        }
        (entry.allocated >= 0 ? m_withTotal : m_withoutTotal) += 1;
        if (entry.allocated >= 0 && m_unknownAtStart.count(entry.device) == 0)
            m_unknownAtStart[entry.device] = std::max<std::int64_t>(0, entry.allocated - entry.bytes);
        auto& live = m_live[entry.device];
        auto found = live.find(entry.address);
        if (entry.bytes >= 0) {
            if (found != live.end()) {
                ++m_reusedWithoutFree;
                m_producer.freed(m_rank, found->second.id, m_instant(entry.at));
                live.erase(found);
            }
            allocate(entry, entry.at, entry.bytes);
            continue;
        }
        if (found == live.end()) {
            ++m_freesBeforeWindow;
            allocate(entry, *m_first, -entry.bytes);
            auto& unknown = m_unknownAtStart[entry.device];
            unknown = std::max<std::int64_t>(0, unknown + entry.bytes);
            found = live.find(entry.address);
        }
        m_producer.freed(m_rank, found->second.id, m_instant(entry.at));
        live.erase(found);
    }
    m_entries.clear();
}

void AllocatorEvents::finish()
{
    replay();
    for (const auto& [device, bytes] : m_unknownAtStart)
        if (bytes > 0) allocate({*m_first, bytes, kNoAddress, -1, -1, device, true}, *m_first, bytes);
    if (m_withoutTotal > 0 && m_withTotal == 0) m_sink.audit(auditRecord(AuditCounter::MemoryRelative, m_withoutTotal));
    m_entries = {};
    m_live.clear();
}

void describeOutOfMemory(const ChromeEvent& event, EventRecord& record)
{
    const auto bytes = [&](ArgKey key) {
        const std::int64_t value = numberOr(event[key], -1);
        return value >= 0 ? std::optional(value) : std::nullopt;
    };
    OutOfMemory moment;
    moment.askedBytes = bytes(ArgKey::Bytes);
    moment.allocatedBytes = bytes(ArgKey::TotalAllocated);
    moment.reservedBytes = bytes(ArgKey::TotalReserved);
    record.kind = EventKind::OutOfMemory;
    record.text = textOf(moment);
}

} // namespace fourwalls::importers
