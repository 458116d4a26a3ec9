// SPDX-License-Identifier: Apache-2.0
// The sink: definitions, producers and the hand-over to the finishing step.
#include "model/trace/in_memory_trace.h"

#include "model/trace/audit_counter.h"
#include "model/trace/in_memory_finish.h"

namespace fourwalls {

/// The records of destroyed producers.
struct InMemoryTrace::Shared {
    std::mutex mutex;
    InMemoryRecords records;
};

class InMemoryTrace::Producer : public TraceProducer {
public:
    explicit Producer(std::shared_ptr<Shared> shared) : m_shared(std::move(shared)) {}
    ~Producer() override
    {
        const std::lock_guard lock(m_shared->mutex);
        m_shared->records.take(m_own);
    }
    void slice(const SliceRecord& record) override { add(m_own.slices, record); }
    void allocated(RankId rank, const AllocationRecord& record) override
    {
        add(m_own.allocations, RankAllocation{rank, record});
    }
    void freed(RankId rank, AllocationId id, Instant at) override { add(m_own.frees, RankFree{rank, id, at}); }
    void counter(const CounterRecord& record) override { add(m_own.counters, record); }
    void collective(const CollectiveRecord& record) override { add(m_own.collectives, record); }
    void flow(const FlowRecord& record) override { add(m_own.flows, record); }
    void step(RankId rank, const StepRecord& record) override { add(m_own.steps, StepView{rank, record}); }
    void event(const EventRecord& record) override { add(m_own.events, record); }

private:
    template <class T>
    void add(std::vector<T>& to, const T& record)
    {
        to.push_back(record);
        ++m_own.count;
    }

    InMemoryRecords m_own;
    std::shared_ptr<Shared> m_shared;
};

InMemoryTrace::InMemoryTrace(TraceHeader header) : m_header(std::move(header)), m_shared(std::make_shared<Shared>()) {}

OpId InMemoryTrace::defineOp(const OpInfo& info)
{
    const std::lock_guard lock(m_mutex);
    return m_ops.intern(info);
}

TrackId InMemoryTrace::defineTrack(const TrackInfo& info)
{
    const std::lock_guard lock(m_mutex);
    return m_tracks.intern(info);
}

GroupId InMemoryTrace::defineGroup(const ProcessGroupInfo& info)
{
    const std::lock_guard lock(m_mutex);
    return m_groups.intern(info);
}

CounterId InMemoryTrace::defineCounter(const CounterInfo& info)
{
    const std::lock_guard lock(m_mutex);
    return m_counters.intern(info);
}

std::unique_ptr<TraceProducer> InMemoryTrace::openProducer()
{
    return std::make_unique<Producer>(m_shared);
}

void InMemoryTrace::audit(const AuditRecord& record)
{
    const std::lock_guard lock(m_mutex);
    for (AuditRecord& known : m_audit) {
        if (known.name != record.name || known.severity != record.severity) continue;
        known.count += record.count;
        return;
    }
    m_audit.push_back(record);
}

SinkStatistics InMemoryTrace::statistics() const
{
    const std::lock_guard lock(m_shared->mutex);
    return {m_shared->records.count, {}, {}};
}

Status InMemoryTrace::finish(const TraceClosing& closing)
{
    const std::scoped_lock lock(m_mutex, m_shared->mutex);
    if (m_data) return Error{ErrorCode::Internal, "finished twice", "in-memory trace", ""};
    auto data = std::make_shared<InMemoryTraceData>();
    data->info.header = m_header;
    data->info.closing = closing;
    data->info.groups.assign(m_groups.items().begin(), m_groups.items().end());
    data->info.counters.assign(m_counters.items().begin(), m_counters.items().end());
    for (const OpInfo& op : m_ops.items()) data->ops.push_back(std::make_shared<OpInfo>(op));
    for (const TrackInfo& track : m_tracks.items())
        data->tracks.push_back({TrackId{static_cast<std::int32_t>(data->tracks.size())}, track, 1, 0});

    const std::int64_t invalid = finishInMemory(*data, std::move(m_shared->records));
    TraceCounts& counts = data->info.counts;
    counts.slices = static_cast<std::int64_t>(data->slices.size());
    for (const auto& [rank, list] : data->allocations) counts.allocations += static_cast<std::int64_t>(list.size());
    counts.collectives = static_cast<std::int64_t>(data->collectives.size());
    for (const auto& samples : data->counters) counts.counterSamples += static_cast<std::int64_t>(samples.size());
    counts.flows = static_cast<std::int64_t>(data->flows.size());
    counts.events = static_cast<std::int64_t>(data->events.size());
    counts.ops = static_cast<std::int64_t>(data->ops.size());
    data->info.audit = m_audit;
    if (invalid > 0) {
        data->info.audit.push_back(auditRecord(AuditCounter::InvalidRecords, invalid));
    }
    m_shared->records = {};
    m_data = std::move(data);
    return {};
}

} // namespace fourwalls
