// SPDX-License-Identifier: Apache-2.0
// See nsight_beside.h.
#include "model/import/nsight/nsight_beside.h"

#include "model/import/common/decimal_time.h"
#include "model/trace/audit_counter.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostNsightCounters = 10'000;
constexpr std::size_t kMostLiveBuffers = 10'000'000;

/// "GPC Clock Frequency [MHz]": the unit, and what a value is in it.
std::pair<CounterUnit, double> unitOfMetric(std::string_view metric)
{
    const std::string_view unit = metric.substr(std::min(metric.size(), metric.rfind('[')));
    if (unit.find('%') != std::string_view::npos) return {CounterUnit::Percent, 1};
    if (unit.find("MHz") != std::string_view::npos) return {CounterUnit::Hertz, 1e6};
    return {CounterUnit::None, 1};
}

class BesideWork {
public:
    BesideWork(NsightTables& tables, const NsightPlaces& places, TraceSink& sink)
        : m_tables(tables)
        , m_places(places)
        , m_sink(sink)
        , m_producer(sink.openProducer())
    {}

    Status write(const std::stop_token& stop)
    {
        FOURWALLS_TRY(m_tables.eachSample([&](const NsightSample& sample) { add(sample); }, stop));
        FOURWALLS_TRY(m_tables.eachAllocation([&](const NsightAllocation& event) { add(event); }, stop));
        m_producer.reset();
        auditCount(m_sink, AuditCounter::ImportCounterEvents, m_samples, "samples of GPU metrics kept");
        auditCount(m_sink, AuditCounter::ImportMemoryEvents, m_buffers, "buffers of devices kept");
        auditCount(m_sink, AuditCounter::FreeWithoutBuffer, m_unknownFrees);
        auditCount(m_sink, AuditCounter::CounterEventUnread, m_leftOut,
                   "samples of too many metrics, or buffers of too many alive");
        return {};
    }

private:
    struct Counter {
        CounterId id;
        double factor = 1;
    };

    bool inRange(std::int64_t at) const
    {
        return at + m_places.shift >= -kLargestTimeNs && at + m_places.shift <= kLargestTimeNs;
    }

    void add(const NsightSample& sample)
    {
        const auto key = std::make_pair(sample.gpu, std::string(sample.metric));
        auto counter = m_counters.find(key);
        if (counter == m_counters.end()) {
            if (m_counters.size() >= kMostNsightCounters) return void(++m_leftOut);
            const std::optional<RankId> rank = m_places.rankOfGpu(sample.gpu);
            const auto [unit, factor] = unitOfMetric(sample.metric);
            const std::string name = rank ? key.second : "GPU " + std::to_string(sample.gpu) + ": " + key.second;
            counter = m_counters.emplace(key, Counter{m_sink.defineCounter({rank, name, unit}), factor}).first;
        }
        if (!inRange(sample.at)) return void(++m_leftOut);
        m_producer->counter(
            {counter->second.id, Instant{sample.at + m_places.shift}, sample.value * counter->second.factor});
        ++m_samples;
    }

    void add(const NsightAllocation& event)
    {
        if (!inRange(event.at)) return void(++m_leftOut);
        const RankId rank = m_places.rankOfProcess(event.process);
        const Instant at{event.at + m_places.shift};
        const auto key = std::make_pair(event.process, event.address);
        const auto live = m_live.find(key);
        if (live != m_live.end()) {
            m_producer->freed(rank, live->second, at);
            m_live.erase(live);
        } else if (event.freed) {
            ++m_unknownFrees;
        }
        if (event.freed || event.bytes == 0) return;
        if (m_live.size() >= kMostLiveBuffers) return void(++m_leftOut);
        AllocationRecord record;
        record.id = AllocationId{++m_buffers};
        record.at = at;
        record.bytes = event.bytes;
        record.address = event.address;
        m_producer->allocated(rank, record);
        m_live.emplace(key, record.id);
    }

    NsightTables& m_tables;
    const NsightPlaces& m_places;
    TraceSink& m_sink;
    std::unique_ptr<TraceProducer> m_producer;
    std::map<std::pair<std::int64_t, std::string>, Counter> m_counters;
    std::map<std::pair<std::int64_t, std::int64_t>, AllocationId> m_live; ///< by process and address
    std::int64_t m_samples = 0, m_buffers = 0, m_unknownFrees = 0, m_leftOut = 0;
};

} // namespace

Status writeBesideWork(NsightTables& tables, const NsightPlaces& places, TraceSink& sink, const std::stop_token& stop)
{
    return BesideWork(tables, places, sink).write(stop);
}

} // namespace fourwalls::importers
