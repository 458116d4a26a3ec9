// SPDX-License-Identifier: Apache-2.0
// See memory_facts.h.
#include "model/trace/memory_facts.h"

#include "model/trace/audit_counter.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace fourwalls {

namespace {

constexpr std::size_t kMostMoments = 100'000; // a job that fails and goes on may have many
constexpr std::string_view kSnapshotProducer = "PyTorch memory snapshot";
constexpr std::string_view kRelativeCounter = "allocated_bytes_since_start", kDeviceCounter = "device_allocated_bytes",
                           kProcessorCounter = "cpu_allocated_bytes";

constexpr std::pair<std::string_view, std::optional<std::int64_t> OutOfMemory::*> kParts[] = {
    {" bytes wanted", &OutOfMemory::askedBytes},
    {" bytes free on the device", &OutOfMemory::freeBytes},
    {" bytes allocated", &OutOfMemory::allocatedBytes},
    {" bytes reserved", &OutOfMemory::reservedBytes}};

std::optional<CounterId> memoryCounter(const TraceInfo& info, std::optional<RankId> rank, std::string_view name)
{
    for (std::size_t i = 0; i < info.counters.size(); ++i)
        if (info.counters[i].name == name && (!rank || info.counters[i].rank == rank))
            return CounterId(static_cast<std::int32_t>(i));
    return std::nullopt;
}

} // namespace

std::string textOf(const OutOfMemory& moment)
{
    std::string text;
    for (const auto& [words, member] : kParts) {
        if (!(moment.*member)) continue;
        text += (text.empty() ? ": " : ", ") + std::to_string(*(moment.*member)) + std::string(words);
    }
    return "out of memory" + text;
}

OutOfMemory outOfMemoryOf(const EventRecord& event)
{
    OutOfMemory moment;
    moment.rank = event.rank;
    moment.at = event.at;
    moment.text = event.text;
    for (const auto& [words, member] : kParts) {
        const std::size_t end = event.text.find(words);
        if (end == std::string::npos || end == 0) continue;
        const std::size_t before = event.text.find_last_not_of("0123456789", end - 1);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        std::int64_t value = 0;
        const char* const last = event.text.data() + end;
        const auto read = std::from_chars(event.text.data() + begin, last, value);
        if (begin < end && read.ptr == last && read.ec == std::errc{}) moment.*member = value;
    }
    return moment;
}

Result<std::vector<OutOfMemory>> outOfMemoryMoments(TraceQuery& trace)
{
    std::vector<OutOfMemory> moments;
    const TraceInfo& info = trace.info();
    if (info.header.source == TraceSource::Predicted) return moments;
    // The failure may stand behind the last slice.
    constexpr TimeRange kAlways{Instant{std::numeric_limits<std::int64_t>::min()},
                                Instant{std::numeric_limits<std::int64_t>::max()}};
    FOURWALLS_TRY_ASSIGN(const std::vector<EventRecord> events,
                         trace.events(kAlways, kMostMoments, EventKind::OutOfMemory));
    for (const EventRecord& event : events) moments.push_back(outOfMemoryOf(event));
    return moments;
}

bool isMemoryOnly(const TraceInfo& info)
{
    if (info.header.source != TraceSource::Imported) return false;
    return info.header.producer == kSnapshotProducer ||
           (info.counts.slices == 0 && (info.counts.allocations > 0 || hasAllocatorCurve(info)));
}

bool isLogOnly(const TraceInfo& info)
{
    return info.header.computeLabel == "none" && info.header.communicationLabel == "none" && !isMemoryOnly(info);
}

bool hasOrderOnly(const TraceInfo& info)
{
    return hasCounter(info.audit, AuditCounter::NoTimes);
}

bool hasMemorySnapshot(const TraceInfo& info)
{
    return info.header.source == TraceSource::Imported &&
           info.header.producer.find(kSnapshotProducer) != std::string::npos;
}

bool isMemoryRelative(const TraceInfo& info)
{
    return hasCounter(info.audit, AuditCounter::MemoryRelative);
}

bool hasAllocatorCurve(const TraceInfo& info)
{
    for (const std::string_view name : {kDeviceCounter, kRelativeCounter, kProcessorCounter})
        if (memoryCounter(info, std::nullopt, name)) return true;
    return false;
}

Result<std::optional<AllocatorCurve>> allocatorCurve(TraceQuery& trace, RankId rank, TimeRange range, int pixels)
{
    for (const std::string_view name : {kDeviceCounter, kRelativeCounter, kProcessorCounter}) {
        const std::optional<CounterId> counter = memoryCounter(trace.info(), rank, name);
        if (!counter) continue;
        AllocatorCurve curve;
        curve.relative = name == kRelativeCounter;
        curve.ofProcessor = name == kProcessorCounter;
        FOURWALLS_TRY_ASSIGN(curve.samples, trace.counter(*counter, range, pixels));
        if (curve.samples.empty()) continue;
        // Where the profile begins, nothing has been added yet.
        curve.lowest = curve.relative ? 0 : curve.samples.front().min;
        curve.highest = curve.relative ? 0 : curve.samples.front().max;
        for (const CounterSample& sample : curve.samples) {
            curve.lowest = std::min(curve.lowest, sample.min);
            curve.highest = std::max(curve.highest, sample.max);
        }
        return std::optional<AllocatorCurve>(std::move(curve));
    }
    return std::optional<AllocatorCurve>();
}

Result<std::int64_t> standingMemory(TraceQuery& trace, RankId rank, TimeRange range)
{
    constexpr int kColumns = 2000;
    FOURWALLS_TRY_ASSIGN(const MemoryWindow window, trace.memory(rank, range, kColumns));
    std::optional<std::int64_t> least;
    for (const MemorySample& sample : window.samples)
        if (sample.at < range.end) least = std::min(least.value_or(sample.total()), sample.total());
    return least.value_or(0);
}

bool isStanding(const MemorySummary& summary, std::int64_t standing)
{
    constexpr double kHardly = 0.02;
    std::int64_t known = 0;
    for (std::size_t i = 0; i < summary.atPeak.size(); ++i)
        if (static_cast<MemoryCategory>(i) != MemoryCategory::Other) known += summary.atPeak[i];
    const double peak = static_cast<double>(summary.peakBytes);
    return peak > 0 && peak - static_cast<double>(standing) < kHardly * peak &&
           static_cast<double>(known) < kHardly * peak;
}

} // namespace fourwalls
