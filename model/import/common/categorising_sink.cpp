// SPDX-License-Identifier: Apache-2.0
// Watching slices, holding buffers.
#include "model/import/common/categorising_sink.h"

#include "model/trace/audit_counter.h"

#include <algorithm>

namespace fourwalls::importers {

class CategorisingProducer final : public TraceProducer {
public:
    CategorisingProducer(CategorisingSink& sink, std::unique_ptr<TraceProducer> target)
        : m_sink(sink)
        , m_target(std::move(target))
    {}

    void slice(const SliceRecord& record) override
    {
        {
            const std::lock_guard lock(m_sink.m_lock);
            const auto track = m_sink.m_tracks.find(record.track);
            if (track != m_sink.m_tracks.end() && m_sink.m_optimizers.contains(record.op))
                m_sink.m_runs.ranges[track->second].push_back({record.start, record.start + record.duration});
        }
        m_target->slice(record);
    }
    void allocated(RankId rank, const AllocationRecord& record) override
    {
        if (!m_sink.m_holds || record.category != MemoryCategory::Other) return m_target->allocated(rank, record);
        const std::lock_guard lock(m_sink.m_lock);
        auto& buffers = m_sink.m_buffers[rank];
        m_sink.m_open[rank][record.id] = buffers.size();
        buffers.push_back({record, std::nullopt});
    }
    void freed(RankId rank, AllocationId id, Instant at) override
    {
        {
            const std::lock_guard lock(m_sink.m_lock);
            auto& open = m_sink.m_open[rank];
            if (const auto found = open.find(id); found != open.end()) {
                m_sink.m_buffers[rank][found->second].end = at;
                open.erase(found);
                return;
            }
        }
        m_target->freed(rank, id, at);
    }
    void counter(const CounterRecord& record) override { m_target->counter(record); }
    void collective(const CollectiveRecord& record) override { m_target->collective(record); }
    void flow(const FlowRecord& record) override { m_target->flow(record); }
    void step(RankId rank, const StepRecord& record) override { m_target->step(rank, record); }
    void event(const EventRecord& record) override { m_target->event(record); }

private:
    CategorisingSink& m_sink;
    std::unique_ptr<TraceProducer> m_target;
};

OpId CategorisingSink::defineOp(const OpInfo& info)
{
    const OpId id = m_target.defineOp(info);
    if (info.name.starts_with("Optimizer.")) {
        const std::lock_guard lock(m_lock);
        m_optimizers.insert(id);
        m_runs.adam = m_runs.adam || info.name.find("Adam") != std::string::npos;
    }
    return id;
}

TrackId CategorisingSink::defineTrack(const TrackInfo& info)
{
    const TrackId id = m_target.defineTrack(info);
    // What a profiler projects on streams is not when the host asked for memory.
    const bool host = info.kind == TrackKind::CpuThread || info.kind == TrackKind::Phases;
    const std::lock_guard lock(m_lock);
    if (host) m_tracks[id] = info.rank;
    return id;
}

std::unique_ptr<TraceProducer> CategorisingSink::openProducer()
{
    return std::make_unique<CategorisingProducer>(*this, m_target.openProducer());
}

void CategorisingSink::release()
{
    const auto producer = m_target.openProducer();
    std::int64_t inferred = 0;
    for (auto& [rank, buffers] : m_buffers) {
        std::vector<TimeRange> runs = m_runs.ranges[rank];
        std::sort(runs.begin(), runs.end(), [](const TimeRange& a, const TimeRange& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
        });
        std::vector<TimeRange> apart; // the same run may have been seen by two profilers
        for (const TimeRange& run : runs) {
            if (apart.empty() || run.begin >= apart.back().end)
                apart.push_back(run);
            else
                apart.back().end = std::max(apart.back().end, run.end);
        }
        std::vector<BufferLife> lives;
        lives.reserve(buffers.size());
        for (const Held& held : buffers)
            lives.push_back({held.record.at, held.end, held.record.bytes, held.record.address});
        const std::vector<MemoryCategory> categories = inferCategories(lives, apart, m_runs.adam);
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            Held& held = buffers[i];
            held.record.category = categories[i];
            inferred += categories[i] == MemoryCategory::Other ? 0 : 1;
            producer->allocated(rank, held.record);
            if (held.end) producer->freed(rank, held.record.id, *held.end);
        }
    }
    m_buffers.clear();
    m_open.clear();
    auditCount(m_target, AuditCounter::MemoryCategoriesInferred, inferred);
}

} // namespace fourwalls::importers
