// SPDX-License-Identifier: Apache-2.0
// Counts of rows by kind.
#include "model/import/common/row_facts.h"

namespace fourwalls::importers {

void RowFacts::add(const ProfileRow& row, bool communication)
{
    const FineTime length = row.end - row.start;
    m_span.add(row.start, row.end);
    m_steps += row.step.has_value();
    switch (row.category) {
    case Category::Memcpy:
        ++m_copies;
        m_copyTime.add(length);
        break;
    case Category::Memset: ++m_sets; break;
    case Category::Kernel:
    case Category::CollectiveWork:
        if (row.role != LaneRole::Stream) break;
        ++m_kernels;
        m_kernelTime.add(length);
        if (!m_lastBusy || row.rank != m_busyRank) {
            m_lastBusy = &m_busy.try_emplace(row.rank, m_scratchFolder).first->second;
            m_busyRank = row.rank;
        }
        m_lastBusy->add(row.start, row.end);
        if (row.rank != m_lastRank || row.lane != m_lastLane) {
            m_lastRank = row.rank;
            m_lastLane.assign(row.lane);
            if (m_streams.size() < 100'000) m_streams.insert({row.rank, m_lastLane});
        }
        if (communication) {
            ++m_collectives;
            m_collectiveTime.add(length);
        }
        break;
    case Category::CpuOp: ++m_operators; break;
    default: m_calls += isRuntimeCall(row.category); return;
    }
    if (row.role == LaneRole::Stream) m_deviceSpan.add(row.start, row.end);
}

TraceFacts RowFacts::finish(std::int64_t events)
{
    TraceFacts facts;
    facts.eventsTotal = events;
    facts.gpuKernelEvents = m_kernels;
    facts.gpuKernelTimeNs = m_kernelTime.rounded();
    facts.gpuKernelBusyNs = 0;
    for (auto& [rank, busy] : m_busy) {
        const auto total = busy.total();
        if (facts.gpuKernelBusyNs && total)
            *facts.gpuKernelBusyNs += *total;
        else
            facts.gpuKernelBusyNs.reset();
    }
    facts.ncclKernels = m_collectives;
    facts.ncclTimeNs = m_collectiveTime.rounded();
    facts.memcpyEvents = m_copies;
    facts.memcpyTimeNs = m_copyTime.rounded();
    facts.memsetEvents = m_sets;
    facts.spanNs = m_span.length();
    facts.gpuSpanNs = m_deviceSpan.length();
    if (m_span.begin) facts.firstEventNs = m_span.begin->rounded();
    facts.streams = static_cast<std::int64_t>(m_streams.size());
    facts.runtimeEvents = m_calls;
    facts.cpuOpEvents = m_operators;
    facts.profilerSteps = m_steps;
    return facts;
}

} // namespace fourwalls::importers
