// SPDX-License-Identifier: Apache-2.0
// Between two pairs the offset goes over from the one to the other evenly.
#include "model/import/spool/spool_device_clock.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

namespace fourwalls::importers {

namespace {

using collect::RecordKind;

constexpr std::uint64_t kOtherClock = 10'000'000'000; ///< clocks that are apart by more are not the same [ns]
constexpr std::uint64_t kLatestTime = std::uint64_t{1} << 62;
constexpr int kMostRecordsToLook = 200'000;

std::uint64_t distanceOf(std::uint64_t a, std::uint64_t b)
{
    return a > b ? a - b : b - a;
}

/// How many times of CUPTI's clock a record begins with.
std::size_t deviceTimesOf(RecordKind kind)
{
    switch (kind) {
    case RecordKind::Kernel:
    case RecordKind::Memcpy:
    case RecordKind::Memset:
    case RecordKind::ApiCall:
    case RecordKind::Synchronization:
    case RecordKind::Overhead:
    case RecordKind::GraphTrace: return 2;
    case RecordKind::Memory:
    case RecordKind::MemoryPool:
    case RecordKind::CudaEvent: return 1;
    default: return 0;
    }
}

} // namespace

Result<SpoolDeviceClock> SpoolDeviceClock::of(const std::string& path)
{
    SpoolDeviceClock clock;
    FOURWALLS_TRY_ASSIGN(collect::SpoolReader reader, collect::SpoolReader::open(path));
    std::optional<std::uint64_t> device;
    std::optional<bool> other;
    for (int i = 0; other.value_or(i < kMostRecordsToLook); ++i) {
        FOURWALLS_TRY_ASSIGN(const std::optional<collect::SpoolRecord> record, reader.next());
        if (!record) break;
        if (record->kind == RecordKind::ClockPair) {
            const auto pair = record->as<collect::ClockPair>();
            if (pair.cupti == 0 || pair.cupti >= kLatestTime || pair.realtime >= kLatestTime) continue;
            clock.m_pairs.emplace_back(pair.cupti, static_cast<std::int64_t>(pair.realtime) -
                                                       static_cast<std::int64_t>(pair.cupti));
        } else if (!device && deviceTimesOf(record->kind) == 2) {
            std::uint64_t start = 0;
            if (record->bytes.size() >= sizeof start) std::memcpy(&start, record->bytes.data(), sizeof start);
            if (start != 0 && start < kLatestTime) device = start;
        }
        if (other || !device || clock.m_pairs.empty()) continue;
        // Another clock only if the records say so, too: what CUPTI answers and what it writes may differ.
        const auto& [cupti, add] = clock.m_pairs.front();
        const std::uint64_t real = static_cast<std::uint64_t>(static_cast<std::int64_t>(cupti) + add);
        other = distanceOf(cupti, real) > kOtherClock && distanceOf(*device, cupti) < distanceOf(*device, real);
    }
    if (!other.value_or(false)) clock.m_pairs.clear();
    std::sort(clock.m_pairs.begin(), clock.m_pairs.end());
    return clock;
}

std::uint64_t SpoolDeviceClock::moved(std::uint64_t time) const
{
    if (time == 0 || time >= kLatestTime) return time;
    const auto behind = std::upper_bound(m_pairs.begin(), m_pairs.end(), time,
                                         [](std::uint64_t at, const auto& pair) { return at < pair.first; });
    std::int64_t add = behind == m_pairs.begin() ? behind->second : std::prev(behind)->second;
    if (behind != m_pairs.begin() && behind != m_pairs.end()) {
        const auto& before = *std::prev(behind);
        const double part =
            static_cast<double>(time - before.first) / static_cast<double>(behind->first - before.first);
        add += static_cast<std::int64_t>(part * (static_cast<double>(behind->second - before.second)));
    }
    const std::int64_t at = static_cast<std::int64_t>(time) + add;
    return at > 0 ? static_cast<std::uint64_t>(at) : time;
}

collect::SpoolRecord SpoolDeviceClock::place(const collect::SpoolRecord& record)
{
    const std::size_t times = m_pairs.empty() ? 0 : deviceTimesOf(record.kind);
    if (times == 0 || record.bytes.size() < times * sizeof(std::uint64_t)) return record;
    m_bytes.assign(record.bytes.begin(), record.bytes.end());
    for (std::size_t i = 0; i < times; ++i) {
        std::uint64_t time = 0;
        std::memcpy(&time, m_bytes.data() + i * sizeof time, sizeof time);
        time = moved(time);
        std::memcpy(m_bytes.data() + i * sizeof time, &time, sizeof time);
    }
    collect::SpoolRecord placed = record;
    placed.bytes = m_bytes;
    return placed;
}

} // namespace fourwalls::importers
